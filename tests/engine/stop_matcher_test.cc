#include "engine/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>

namespace moxie::engine {
namespace {

TEST(StopMatcher, FindsAStopAcrossPieces) {
  StopMatcher matcher({"wxyzab"});
  EXPECT_FALSE(matcher.Feed("uv"));
  EXPECT_EQ(matcher.undecided(), 0);
  EXPECT_FALSE(matcher.Feed("wx"));
  EXPECT_EQ(matcher.undecided(), 2);
  EXPECT_FALSE(matcher.Feed("y"));
  EXPECT_FALSE(matcher.Feed("za"));
  const auto match = matcher.Feed("bcd");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->stop, "wxyzab");
  EXPECT_EQ(match->begin, 2);
  EXPECT_EQ(match->end, 8);
}

TEST(StopMatcher, OfTwoThatEndTogetherTheFirstListedWins) {
  EXPECT_EQ(StopMatcher({"bc", "abc"}).Feed("abc")->begin, 1);
  EXPECT_EQ(StopMatcher({"abc", "bc"}).Feed("abc")->begin, 0);
}

TEST(StopMatcher, WithoutStopsEverythingIsDecided) {
  StopMatcher matcher({});
  EXPECT_FALSE(matcher.Feed("anything"));
  EXPECT_EQ(matcher.undecided(), 0);
}

// Against the definition, on texts of two letters, where overlaps are the rule.
TEST(StopMatcher, AgreesWithPlainSearchOnRandomTexts) {
  std::mt19937 random(7);
  auto word = [&](size_t length) {
    std::string s;
    for (size_t i = 0; i < length; ++i) s.push_back("ab"[random() % 2]);
    return s;
  };
  for (int trial = 0; trial < 3000; ++trial) {
    const std::vector<std::string> stops = {word(1 + random() % 7), word(3 + random() % 6)};
    StopMatcher matcher(stops);
    std::string text;
    while (text.size() < 40) {
      const std::string piece = word(random() % 4);
      const auto match = matcher.Feed(piece);
      size_t first_end = std::string::npos;
      for (const std::string& stop : stops) {
        const size_t at = (text + piece).find(stop);
        if (at != std::string::npos) first_end = std::min(first_end, at + stop.size());
      }
      text += piece;
      ASSERT_EQ(match.has_value(), first_end != std::string::npos) << text;
      if (match) {
        ASSERT_EQ(match->end, static_cast<int64_t>(first_end)) << text;
        break;
      }
      size_t held = 0;
      for (const std::string& stop : stops) {
        for (size_t n = 1; n < stop.size(); ++n) {
          if (text.ends_with(stop.substr(0, n))) held = std::max(held, n);
        }
      }
      ASSERT_EQ(matcher.undecided(), static_cast<int64_t>(held)) << text;
    }
  }
}

}  // namespace
}  // namespace moxie::engine
