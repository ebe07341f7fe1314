// Tiny checkpoints against transformers' logits (tests/data/tiny/*/golden.json, float32 on bf16
// weights).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "tests/runtime/model_harness.h"

namespace moxie::runtime {
namespace {

constexpr double kTolerance = 1e-3;

std::vector<int32_t> Ids(const Json& array) {
  std::vector<int32_t> out;
  for (const Json& v : array.as_array()) out.push_back(static_cast<int32_t>(v.as_int64()));
  return out;
}

double LogProb(const std::vector<float>& logits, int32_t id) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float l : logits) sum += std::exp(l - max);
  return logits[static_cast<size_t>(id)] - max - std::log(sum);
}

class TinyGolden : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::filesystem::path dir = std::filesystem::path(MOXIE_TEST_DATA) / "tiny" / GetParam();
    auto golden = ReadJsonFile(dir / "golden.json");
    ASSERT_TRUE(golden.ok()) << golden.status().message();
    golden_ = *golden;
    model_ = LoadModel(dir, TestEngineConfig("f32"), int64_t{64} << 20);
    ASSERT_NE(model_, nullptr);
  }
  const JsonArray& cases() const { return golden_.at("cases").as_array(); }

  Json golden_;
  std::unique_ptr<CompiledModel> model_;
};

void ExpectLogits(const std::vector<float>& got, const Json& want, std::string_view what) {
  const JsonArray& list = want.at("logits").as_array();
  ASSERT_EQ(got.size(), list.size());
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::abs(got[i] - list[i].to_number<double>()));
  EXPECT_LE(worst, kTolerance) << what;
}

// The prompt whole and in chunks, then token by token along the golden's ids.
TEST_P(TinyGolden, PrefillInChunksAndStepByStep) {
  for (const Json& c : cases()) {
    const std::vector<int32_t> prompt = Ids(c.at("prompt_ids")), greedy = Ids(c.at("greedy_ids"));
    for (size_t chunk : {size_t{1024}, size_t{1}, size_t{3}, size_t{7}}) {
      Sequence sequence(*model_);
      std::vector<float> logits;
      for (size_t at = 0; at < prompt.size(); at += chunk) {
        logits =
            sequence.Feed(std::span(prompt).subspan(at, std::min(chunk, prompt.size() - at)), 1)[0];
      }
      for (size_t s = 0; s < greedy.size(); ++s) {
        ExpectLogits(logits, c.at("steps").at(s),
                     StrCat("prompt of ", prompt.size(), ", chunk ", chunk, ", step ", s));
        logits = sequence.Feed({&greedy[s], 1}, 1)[0];
      }
    }
  }
}

// Logits of every position of the prompt in one step.
TEST_P(TinyGolden, AllRowsOfThePrompt) {
  for (const Json& c : cases()) {
    const std::vector<int32_t> prompt = Ids(c.at("prompt_ids"));
    const std::vector<int32_t> argmax = Ids(c.at("prefill_argmax"));
    Sequence sequence(*model_);
    const auto rows = sequence.Feed(prompt, static_cast<int64_t>(prompt.size()));
    for (size_t i = 0; i < prompt.size(); ++i) {
      const auto best = std::max_element(rows[i].begin(), rows[i].end());
      EXPECT_LE(*best - rows[i][static_cast<size_t>(argmax[i])], kTolerance);
      if (i + 1 < prompt.size()) {
        const double want = c.at("prefill_logprob_next").at(i).to_number<double>();
        EXPECT_NEAR(LogProb(rows[i], prompt[i + 1]), want, 2 * kTolerance) << "position " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TinyGolden,
                         testing::Values("llama", "llama3-rope", "llama-yarn", "mistral-swa",
                                         "mixtral", "mixtral-swa", "mixtral-tp8"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace moxie::runtime
