// The engine on compiled models: what a request gets does not depend on its neighbours, bit for
// bit.
#include <gtest/gtest.h>

#include <map>
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

// Every other prompt begins as the first one of its ten does: the prefix cache has something to
// find.
Request RequestOf64(int i) {
  Request request = MixedRequest(i);
  request.sampling.max_tokens = 1 + i % 24;
  if (i % 2 == 0) return request;
  const std::vector<int32_t> other = MixedRequest(i - i % 10).prompt_ids;
  const size_t same = std::min(other.size(), request.prompt_ids.size());
  std::copy_n(other.begin(), same, request.prompt_ids.begin());
  return request;
}

// How requests are run together; no row may change a bit of an answer.
struct Setting {
  std::string name;
  int64_t max_seqs;
  int64_t chunk;  // max_num_batched_tokens
  bool prefix_caching;
  std::optional<int64_t> blocks;  // absent: all that sequences can use
  int threads;
};

const Setting kSettings[] = {
    {"OneByOne", 1, 1, false, {}, 1},
    {"ChunksOf3", 3, 3, true, {}, 2},
    {"ChunksOf17", 16, 17, false, {}, 3},
    {"ChunksOf64", 64, 64, true, {}, 4},
    {"ChunksOf256FewBlocks", 64, 256, true, 20, 1},
    {"ChunksOf4096", 64, 4096, false, {}, 2},
    {"ChunksOf4096FewBlocks", 64, 4096, false, 24, 4},
};

struct Served {
  std::unique_ptr<runtime::CompiledModel> model;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::unique_ptr<Engine> engine;

  std::shared_ptr<TokenStream> Submit(Request request) {
    auto stream = engine->Submit(std::move(request));
    EXPECT_TRUE(stream.ok()) << stream.status().message();
    return stream.ok() ? *stream : nullptr;
  }
};

Served Serve(const std::filesystem::path& directory, const std::string& compute,
             const Setting& setting) {
  config::EngineConfig config = runtime::TestEngineConfig(compute);
  config.max_model_len = 256;
  config.max_num_batched_tokens = setting.chunk;
  config.max_num_seqs = setting.max_seqs;
  config.num_blocks_override = setting.blocks;
  config.threads = setting.threads;
  Served served;
  served.model = runtime::LoadModel(directory, config, int64_t{1} << 30);
  if (served.model == nullptr) return served;
  served.tokenizer = PiecesTokenizer(LetterPieces(served.model->limits().vocab_size));
  EngineOptions options;
  options.max_model_len = 256;
  options.max_queued_requests = 64;
  options.max_queued_tokens = 1 << 20;
  options.max_request_heap = 16 << 20;
  options.max_logprobs = 5;
  options.prefix_caching = setting.prefix_caching;
  auto engine = Engine::Start(options, served.model.get(), served.tokenizer.get());
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  if (engine.ok()) served.engine = *std::move(engine);
  return served;
}

using Model = std::tuple<std::string, std::string>;  // directory below tests/data/tiny, compute

std::string Name(const Model& model) {
  std::string name = std::get<0>(model) + "_" + std::get<1>(model);
  std::ranges::replace(name, '-', '_');
  return name;
}

class RealModel : public testing::TestWithParam<std::tuple<Model, Setting>> {
 protected:
  // Of the 64 requests, each alone in an engine without a prefix cache; made once a model.
  static const std::vector<Answer>& Alone(const Model& model) {
    static std::map<Model, std::vector<Answer>> made;
    std::vector<Answer>& answers = made[model];
    if (!answers.empty()) return answers;
    Served served = Serve(Directory(model), std::get<1>(model), {"Alone", 1, 256, false, {}, 2});
    if (served.engine == nullptr) return answers;
    for (int i = 0; i < 64; ++i) answers.push_back(Collect(*served.Submit(RequestOf64(i))));
    return answers;
  }
  static std::filesystem::path Directory(const Model& model) {
    return std::filesystem::path(MOXIE_TEST_DATA) / "tiny" / std::get<0>(model);
  }
};

TEST_P(RealModel, SixtyFourStreamsTogetherEqualEachAlone) {
  const auto& [model, setting] = GetParam();
  const std::vector<Answer>& alone = Alone(model);
  ASSERT_EQ(alone.size(), 64u);
  Served served = Serve(Directory(model), std::get<1>(model), setting);
  ASSERT_NE(served.engine, nullptr);
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 64; ++i) streams.push_back(served.Submit(RequestOf64(i)));
  for (size_t i = 0; i < 64; ++i) {
    ASSERT_NE(streams[i], nullptr);
    EXPECT_EQ(Collect(*streams[i]), alone[i]) << "request " << i;
    EXPECT_EQ(static_cast<int>(alone[i].ids.size()), 1 + static_cast<int>(i) % 24);
  }
  served.engine->Stop(std::chrono::milliseconds(0));
  const EngineStats stats = served.engine->stats();
  EXPECT_EQ(stats.prefix_hits > 0, setting.prefix_caching);
  EXPECT_EQ(stats.preemptions > 0, setting.blocks.has_value());
  EXPECT_EQ(stats.blocks_used, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Models, RealModel,
    testing::Combine(testing::Combine(testing::Values("mixtral", "mixtral-swa", "llama"),
                                      testing::Values("f32", "bf16")),
                     testing::ValuesIn(kSettings)),
    [](const auto& info) {
      return Name(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
    });

}  // namespace
}  // namespace moxie::engine
