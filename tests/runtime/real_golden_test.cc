// Real-text models (models/dense, moe-copy, moe-noise: tools/models/make_models.py) against
// transformers: the golden's greedy path is forced token by token, so one early difference does not
// hide the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/json.h"
#include "tests/runtime/model_harness.h"

namespace moxie::runtime {
namespace {

struct Tolerance {
  std::string compute;
  double logprob;     // of the golden's top 5
  double margin;      // ids must agree where the golden's two best are further apart
  double perplexity;  // relative
};

std::filesystem::path ModelsDir() {
  const char* env = std::getenv("MOXIE_MODELS");
  return env != nullptr ? std::filesystem::path(env)
                        : std::filesystem::path(MOXIE_SOURCE_DIR) / "models";
}

std::vector<int32_t> Ids(const Json& array) {
  std::vector<int32_t> out;
  for (const Json& v : array.as_array()) out.push_back(static_cast<int32_t>(v.as_int64()));
  return out;
}

std::vector<double> LogSoftmax(const std::vector<float>& logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float l : logits) sum += std::exp(l - max);
  std::vector<double> out;
  for (float l : logits) out.push_back(l - max - std::log(sum));
  return out;
}

class RealGolden : public testing::TestWithParam<std::tuple<std::string, Tolerance>> {
 protected:
  void SetUp() override {
    const auto& [name, tolerance] = GetParam();
    ASSERT_TRUE(std::filesystem::exists(ModelsDir() / name / "config.json"))
        << ModelsDir() / name << " is missing: run tools/models/make_models.py " << ModelsDir()
        << " " << name;
    auto golden = ReadJsonFile(std::filesystem::path(MOXIE_TEST_DATA) / "goldens" /
                               StrCat("golden-", name, ".json"));
    ASSERT_TRUE(golden.ok()) << golden.status().message();
    golden_ = *golden;
    config::EngineConfig engine = TestEngineConfig(tolerance.compute);
    engine.max_model_len = 1040;
    engine.max_num_seqs = 128;
    model_ = LoadModel(ModelsDir() / name, engine, int64_t{256} << 20);
    ASSERT_NE(model_, nullptr);
  }
  Json golden_;
  std::unique_ptr<CompiledModel> model_;
};

TEST_P(RealGolden, TopFiveLogprobsAndIds) {
  const Tolerance& tolerance = std::get<1>(GetParam());
  double worst = 0;
  int ids = 0, agreed = 0;
  for (const Json& c : golden_.at("cases").as_array()) {
    Sequence sequence(*model_);
    std::vector<int32_t> feed = Ids(c.at("prompt_ids"));
    for (const Json& step : c.at("steps").as_array()) {
      const auto logprobs = LogSoftmax(sequence.Feed(feed, 1)[0]);
      const JsonArray& top = step.at("top").as_array();
      for (const Json& pair : top) {
        const double got = logprobs[static_cast<size_t>(pair.at(0).as_int64())];
        worst = std::max(worst, std::abs(got - pair.at(1).to_number<double>()));
      }
      const int32_t id = static_cast<int32_t>(step.at("id").as_int64());
      const double margin = top[0].at(1).to_number<double>() - top[1].at(1).to_number<double>();
      if (margin > tolerance.margin) {
        ++ids;
        agreed += std::max_element(logprobs.begin(), logprobs.end()) - logprobs.begin() == id;
      }
      feed = {id};
    }
  }
  RecordProperty("worst_logprob_difference", StrCat(worst));
  EXPECT_LE(worst, tolerance.logprob);
  EXPECT_GT(ids, 100);
  EXPECT_EQ(agreed, ids);
}

// Chunks of 128 tokens, all rows.
TEST_P(RealGolden, Perplexity) {
  const auto& [name, tolerance] = GetParam();
  for (std::string_view text : {"gpl3", "pydoc"}) {
    auto golden = ReadJsonFile(std::filesystem::path(MOXIE_TEST_DATA) / "goldens" /
                               StrCat("ppl-", text, ".json"));
    ASSERT_TRUE(golden.ok()) << golden.status().message();
    const std::vector<int32_t> ids = Ids(golden->at("ids"));
    Sequence sequence(*model_);
    double sum = 0;
    for (size_t at = 0; at < ids.size(); at += 128) {
      const auto rows = sequence.Feed(std::span(ids).subspan(at, 128), 128);
      for (size_t i = 0; i < rows.size() && at + i + 1 < ids.size(); ++i) {
        sum -= LogSoftmax(rows[i])[static_cast<size_t>(ids[at + i + 1])];
      }
    }
    const double perplexity = std::exp(sum / static_cast<double>(ids.size() - 1));
    const double want = golden->at("perplexity").at(name).to_number<double>();
    RecordProperty(std::string(text), StrCat(perplexity, " vs ", want));
    EXPECT_NEAR(perplexity / want, 1.0, tolerance.perplexity)
        << text << ": " << perplexity << " vs " << want;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RealGolden,
                         testing::Combine(testing::Values("dense", "moe-copy", "moe-noise"),
                                          testing::Values(Tolerance{"f32", 2e-3, 0.02, 1e-3},
                                                          Tolerance{"bf16", 0.30, 0.15, 5e-3})),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param) + "_" + std::get<1>(info.param).compute;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace moxie::runtime
