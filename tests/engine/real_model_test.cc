// The engine on compiled models: what a request gets does not depend on its neighbours, bit for
// bit.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>

#include "engine/engine.h"
#include "tests/engine/harness.h"
#include "tests/runtime/model_harness.h"

namespace moxie::engine {
namespace {

struct Answer {
  std::vector<int32_t> ids;
  std::vector<float> logprobs;
  std::string text;
  bool operator==(const Answer&) const = default;
};

// All of an answer, blocking.
Answer Collect(TokenStream& stream) {
  Answer answer;
  TokenEvent event;
  do {
    event = stream.WaitAndRead();
    answer.ids.insert(answer.ids.end(), event.token_ids.begin(), event.token_ids.end());
    answer.text += event.text;
  } while (event.finish == FinishReason::kNone);
  EXPECT_EQ(event.finish, FinishReason::kLength) << event.error.message();
  for (size_t i = 0; i < answer.ids.size(); ++i) {
    answer.logprobs.push_back(stream.logprobs(static_cast<int64_t>(i)).chosen.logprob);
  }
  return answer;
}

// Prompts from a word to longer than a chunk; greedy and sampled.
Request MixedRequest(int i) {
  std::mt19937 rng(static_cast<uint32_t>(i));
  Request request;
  request.prompt_ids.resize(1 + rng() % 150);
  for (int32_t& id : request.prompt_ids) id = static_cast<int32_t>(3 + rng() % 250);
  request.sampling.temperature = i % 2 == 0 ? 0.0 : 0.5 + 0.25 * (i % 5);
  request.sampling.top_p = i % 3 == 0 ? 0.9 : 1.0;
  request.sampling.top_k = i % 4 == 1 ? 40 : 0;
  request.sampling.seed = i;
  request.sampling.max_tokens = 1 + rng() % 40;
  request.sampling.ignore_eos = true;
  request.sampling.logprobs = 0;
  return request;
}

class RealModel : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(RealModel, ThirtyTwoMixedRequestsTogetherEqualEachAlone) {
  const auto& [name, compute] = GetParam();
  config::EngineConfig config = runtime::TestEngineConfig(compute);
  config.max_model_len = 256;
  config.max_num_batched_tokens = 64;  // prompts are cut, and mixed with decoding
  config.max_num_seqs = 12;            // fewer than the requests: some wait
  auto model = runtime::LoadModel(std::filesystem::path(MOXIE_TEST_DATA) / "tiny" / name, config,
                                  int64_t{64} << 20);
  ASSERT_NE(model, nullptr);
  const auto tokenizer = PiecesTokenizer(LetterPieces(model->limits().vocab_size));
  EngineOptions options;
  options.max_model_len = 256;
  options.max_queued_requests = 64;
  options.max_queued_tokens = 1 << 20;
  options.max_logprobs = 5;
  auto engine = Engine::Start(options, model.get(), tokenizer.get());
  ASSERT_TRUE(engine.ok()) << engine.status().message();

  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 32; ++i) {
    auto stream = (*engine)->Submit(MixedRequest(i));
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    streams.push_back(*stream);
  }
  std::vector<Answer> together;
  for (auto& stream : streams) together.push_back(Collect(*stream));
  for (int i = 0; i < 32; ++i) {
    auto stream = (*engine)->Submit(MixedRequest(i));
    ASSERT_TRUE(stream.ok());
    const Answer alone = Collect(**stream);
    EXPECT_EQ(alone, together[static_cast<size_t>(i)]) << "request " << i;
    EXPECT_EQ(static_cast<int64_t>(alone.ids.size()), *MixedRequest(i).sampling.max_tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RealModel,
                         testing::Combine(testing::Values("mixtral", "mixtral-swa", "llama"),
                                          testing::Values("f32", "bf16")),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param) + "_" + std::get<1>(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace moxie::engine
