#include "engine/logprobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace moxie::engine {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Logprobs, AreTheLogOfTheSoftmaxWithRankAndAlternativesInOrder) {
  const std::vector<float> logits = {1.0f, 3.0f, 2.0f, 3.0f, -kInf};
  std::vector<Logprob> top(3);
  const ChosenLogprob chosen = ComputeLogprobs(logits, 2, top);
  const double sum = std::exp(1.0) + 2 * std::exp(3.0) + std::exp(2.0);
  EXPECT_EQ(chosen.chosen.token, 2);
  EXPECT_NEAR(chosen.chosen.logprob, 2.0 - std::log(sum), 1e-6);
  EXPECT_EQ(chosen.rank, 3);
  EXPECT_EQ(top[0].token, 1) << "equal logits: the smaller id first";
  EXPECT_EQ(top[1].token, 3);
  EXPECT_EQ(top[2].token, 2);
  EXPECT_NEAR(top[0].logprob, 3.0 - std::log(sum), 1e-6);
}

TEST(Logprobs, OfHugeLogitsDoNotOverflow) {
  const std::vector<float> logits = {3e38f, 3e38f, -3e38f};
  const ChosenLogprob chosen = ComputeLogprobs(logits, 0, {});
  EXPECT_NEAR(chosen.chosen.logprob, -std::log(2.0), 1e-6);
  EXPECT_EQ(chosen.rank, 1);
  EXPECT_EQ(ComputeLogprobs(logits, 2, {}).chosen.logprob, -kInf);
}

TEST(Logprobs, MoreAlternativesThanTokensAreMarked) {
  std::vector<Logprob> top(4);
  ComputeLogprobs(std::vector<float>{0.0f, 1.0f}, 0, top);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[1].token, 0);
  EXPECT_EQ(top[2].token, -1);
  EXPECT_EQ(top[3].token, -1);
}

TEST(CheckLogits, NamesTheFirstBadToken) {
  const float nan = std::nanf("");
  EXPECT_TRUE(CheckLogits(std::vector<float>{-kInf, 1.0f, -kInf}).ok());
  EXPECT_THAT(CheckLogits(std::vector<float>{0.0f, nan, kInf}).message(),
              testing::HasSubstr("NaN for token 1"));
  EXPECT_THAT(CheckLogits(std::vector<float>{0.0f, 1.0f, kInf}).message(),
              testing::HasSubstr("infinity for token 2"));
  EXPECT_THAT(CheckLogits(std::vector<float>{-kInf, -kInf}).message(),
              testing::HasSubstr("every token"));
}

}  // namespace
}  // namespace moxie::engine
