#include "engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/philox.h"
#include "tests/engine/case_file.h"

namespace moxie::engine {
namespace {

// A request's parameters and history, and the probability of every token under them.
struct Scene {
  SamplingParams params;
  std::vector<int32_t> prompt;
  std::vector<int32_t> answer;
  std::vector<int32_t> eos;
  uint64_t seed = 0;
  int32_t choice = 0;

  SamplingInput input() const { return {params, prompt, answer, eos, seed, choice}; }

  std::vector<double> Probabilities(const std::vector<float>& logits) const {
    Sampler sampler(static_cast<int64_t>(logits.size()));
    const auto candidates = sampler.Distribution(logits, input());
    EXPECT_TRUE(candidates.ok()) << candidates.status().message();
    std::vector<double> all(logits.size(), 0.0);
    for (const Sampler::Candidate& c : *candidates) all[static_cast<size_t>(c.token)] = c.weight;
    return all;
  }
};

void ExpectNear(const std::vector<double>& got, const std::vector<double>& expected,
                const std::string& name) {
  ASSERT_EQ(got.size(), expected.size()) << name;
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-6) << name << " token " << i;
}

void Set(const JsonObject& from, SamplingParams& to) {
  for (const auto& [key, value] : from) {
    if (key == "temperature") to.temperature = ToNumber(value);
    if (key == "top_k") to.top_k = value.as_int64();
    if (key == "top_p") to.top_p = ToNumber(value);
    if (key == "min_p") to.min_p = ToNumber(value);
    if (key == "presence_penalty") to.presence_penalty = ToNumber(value);
    if (key == "frequency_penalty") to.frequency_penalty = ToNumber(value);
    if (key == "repetition_penalty") to.repetition_penalty = ToNumber(value);
  }
}

TEST(Philox, MatchesTheKnownAnswersOfRandom123) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Sampler, samp_topk_topp_minp) {
  const Json c = LoadCase("samp-topk-topp-minp");
  const auto logits = ToVector<float>(c.at("input").at("logits"));
  const JsonArray& settings = c.at("input").at("settings").as_array();
  const JsonArray& rows = c.at("expected").at("rows").as_array();
  ASSERT_EQ(settings.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    Scene scene;
    Set(settings[i].as_object(), scene.params);
    ExpectNear(scene.Probabilities(logits), ToVector<double>(rows[i].at("probabilities")),
               ToString(rows[i].at("name")));
  }
}

TEST(Sampler, samp_temperature_extremes) {
  const Json c = LoadCase("samp-temperature-extremes");
  const JsonArray& rows = c.at("input").at("logits").as_array();
  const auto temperatures = ToVector<double>(c.at("input").at("temperatures"));
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t t = 0; t < temperatures.size(); ++t) {
      Scene scene;
      scene.params.temperature = temperatures[t];
      ExpectNear(scene.Probabilities(ToVector<float>(rows[r])),
                 ToVector<double>(c.at("expected").at("rows").at(r).at(t)),
                 StrCat("row ", r, " temperature ", temperatures[t]));
    }
  }
}

TEST(Sampler, samp_logit_bias) {
  const Json c = LoadCase("samp-logit-bias");
  const auto logits = ToVector<float>(c.at("input").at("logits"));
  const JsonArray& biases = c.at("input").at("biases").as_array();
  for (size_t i = 0; i < biases.size(); ++i) {
    Scene scene;
    for (const auto& [id, bias] : biases[i].as_object()) {
      scene.params.logit_bias.emplace_back(std::stoi(std::string(id)), ToNumber(bias));
    }
    ExpectNear(scene.Probabilities(logits),
               ToVector<double>(c.at("expected").at("probabilities").at(i)), StrCat("bias ", i));
  }
}

TEST(LogitRules, samp_penalties_prompt_vs_output) {
  const Json c = LoadCase("samp-penalties-prompt-vs-output");
  const auto logits = ToVector<float>(c.at("input").at("logits"));
  LogitRules rules(static_cast<int64_t>(logits.size()));  // one for all: it must leave no trace
  const JsonArray& settings = c.at("input").at("settings").as_array();
  for (size_t i = 0; i < settings.size(); ++i) {
    const Json& row = c.at("expected").at("rows").at(i);
    for (const char* step : {"logits", "first_step"}) {
      Scene scene;
      Set(settings[i].as_object(), scene.params);
      scene.prompt = ToVector<int32_t>(c.at("input").at("prompt_ids"));
      if (step == std::string("logits"))
        scene.answer = ToVector<int32_t>(c.at("input").at("output_ids"));
      const auto got = rules.Apply(logits, scene.input());
      ExpectNear({got.begin(), got.end()}, ToVector<double>(row.at(step)),
                 ToString(row.at("name")) + step);
    }
  }
}

TEST(Sampler, samp_nan_logits_BadRowsFailAndMasksAreLegal) {
  const Json c = LoadCase("samp-nan-logits");
  const JsonArray& rows = c.at("input").at("rows").as_array();
  for (const Json& setting : c.at("input").at("settings").as_array()) {
    for (size_t r = 0; r < rows.size(); ++r) {
      Scene scene;
      scene.answer = {1, 1};
      Set(setting.as_object(), scene.params);
      const auto logits = ToVector<float>(rows[r]);
      Sampler sampler(static_cast<int64_t>(logits.size()));
      const auto token = sampler.Sample(logits, scene.input());
      EXPECT_EQ(token.ok(), r == 4) << "row " << r;
      if (token.ok()) {
        EXPECT_EQ(*token, 1);
      }
    }
  }
}

TEST(Sampler, EndTokensAreMaskedUntilMinTokens) {
  Scene scene;
  scene.params.temperature = 0;
  scene.params.min_tokens = 2;
  scene.params.stop_token_ids = {1};
  scene.eos = {0};
  const std::vector<float> logits = {5, 4, 3};
  Sampler sampler(3);
  EXPECT_EQ(*sampler.Sample(logits, scene.input()), 2);
  scene.answer = {2, 2};
  EXPECT_EQ(*sampler.Sample(logits, scene.input()), 0);
  scene.answer = {2};
  scene.params.ignore_eos = true;
  EXPECT_EQ(*sampler.Sample(logits, scene.input()), 0)
      << "an ignored end token is a token as any other";
}

TEST(Sampler, OnlyAllowedTokensAreChosen) {
  Scene scene;
  scene.params.allowed_token_ids = std::vector<int32_t>{2, 3};
  const auto p = scene.Probabilities({9, 9, 1, 1});
  EXPECT_EQ(p[0] + p[1], 0);
  EXPECT_NEAR(p[2], 0.5, 1e-6);
  scene.params.min_tokens = 1;
  scene.params.stop_token_ids = {2, 3};
  Sampler sampler(4);
  const Status none = sampler.Sample(std::vector<float>{9, 9, 1, 1}, scene.input()).status();
  EXPECT_EQ(none.code(), StatusCode::kInvalidArgument) << "the request did it, not the model";
  EXPECT_THAT(none.message(), testing::StartsWith("allowed_token_ids: "));
}

// Every finite repetition penalty is allowed, so none may make an infinity of a logit.
TEST(Sampler, BadWordsNeverComeOutWhole) {
  const std::vector<float> logits = {1, 1, 1, 1};
  Scene scene;
  scene.params.bad_words = {{3}, {0, 1}, {2, 2, 0}};
  auto possible = [&](std::vector<int32_t> answer) {
    scene.answer = std::move(answer);
    std::vector<int32_t> ids;
    const std::vector<double> p = scene.Probabilities(logits);
    for (size_t i = 0; i < p.size(); ++i) {
      if (p[i] > 0) ids.push_back(static_cast<int32_t>(i));
    }
    return ids;
  };
  using Ids = std::vector<int32_t>;
  scene.prompt = {0};
  EXPECT_EQ(possible({}), (Ids{0, 1, 2})) << "the prompt is not part of a word";
  EXPECT_EQ(possible({0}), (Ids{0, 2}));
  EXPECT_EQ(possible({0, 2}), (Ids{0, 1, 2}));
  EXPECT_EQ(possible({2, 2}), (Ids{1, 2}));
  EXPECT_EQ(possible({0, 2, 2, 2}), (Ids{1, 2}));
}

TEST(Sampler, ExtremeRepetitionPenaltiesLeaveATokenToChoose) {
  const std::vector<float> logits = {3.0f, 0.0f, -2.0f};
  Sampler sampler(3);
  for (double penalty : {5e-324, 1e-308, 1e-30, 1e30, 1.7e308}) {
    for (double temperature : {0.0, 1.0}) {
      Scene scene;
      scene.params.repetition_penalty = penalty;
      scene.params.temperature = temperature;
      scene.params.frequency_penalty = 2;
      scene.prompt = {0, 1, 2};
      const auto token = sampler.Sample(logits, scene.input());
      ASSERT_TRUE(token.ok()) << penalty << ": " << token.status().message();
      if (temperature == 0) {
        EXPECT_EQ(*token, 0) << penalty;
      }
    }
  }
}

// The drawn tokens follow the distribution: chi-squared with 7 degrees of freedom, 99.9 %
// quantile 24.3.
TEST(Sampler, DrawsFollowTheDistribution) {
  const std::vector<float> logits = {2.0f, 1.5f, 1.0f, 0.5f, 0.0f, -0.5f, -1.0f, -3.0f};
  Scene scene;
  const auto expected = scene.Probabilities(logits);
  Sampler sampler(8);
  std::vector<int> counts(8, 0);
  const int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    scene.seed = static_cast<uint64_t>(i);
    ++counts[static_cast<size_t>(*sampler.Sample(logits, scene.input()))];
  }
  double chi = 0;
  for (size_t i = 0; i < 8; ++i) {
    const double e = expected[i] * draws;
    chi += (counts[i] - e) * (counts[i] - e) / e;
  }
  EXPECT_LT(chi, 24.3);
}

TEST(Sampler, DrawsDependOnSeedPositionAndChoiceOnly) {
  const std::vector<float> logits(1000, 0.0f);
  Sampler sampler(1000);
  Scene scene;
  scene.seed = 42;
  auto draw = [&] { return *sampler.Sample(logits, scene.input()); };
  std::vector<int32_t> a, b, other_seed, other_choice;
  for (int i = 0; i < 20; ++i, scene.answer.push_back(0)) {
    a.push_back(draw());
    b.push_back(draw());
    scene.seed = 43;
    other_seed.push_back(draw());
    scene.seed = 42;
    scene.choice = 1;
    other_choice.push_back(draw());
    scene.choice = 0;
  }
  EXPECT_EQ(a, b);
  EXPECT_NE(a, other_seed);
  EXPECT_NE(a, other_choice);
  EXPECT_NE(DrawSeed(42, 1), DrawSeed(42, 2));
  EXPECT_NE(DrawSeed(42, 1), DrawSeed(43, 1));
}

// top_p sorts only part of a large vocabulary: the same set as by sorting all of it.
TEST(Sampler, TopPOfALargeVocabularyKeepsWhatAFullSortKeeps) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> logits(20000);
  for (float& x : logits) x = normal(random);
  const auto all = Scene().Probabilities(logits);
  for (double top_p : {0.001, 0.1, 0.5, 0.9, 0.999}) {
    Scene scene;
    scene.params.top_p = top_p;
    const auto got = scene.Probabilities(logits);
    std::vector<double> sorted(all);
    std::ranges::sort(sorted, std::greater<>());
    double sum = 0;
    int64_t kept = 0;
    for (; sum < top_p; ++kept) sum += sorted[static_cast<size_t>(kept)];
    const auto survivors = std::ranges::count_if(got, [](double p) { return p > 0; });
    EXPECT_NEAR(static_cast<double>(survivors), static_cast<double>(kept), 2) << top_p;
    for (size_t i = 0; i < got.size(); ++i) {
      if (all[i] > sorted[static_cast<size_t>(survivors - 1)]) {
        EXPECT_GT(got[i], 0) << top_p;
      }
    }
  }
}

}  // namespace
}  // namespace moxie::engine
