#include "text/regex.h"

#include <gmock/gmock.h>

#include <vector>

namespace moxie::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Matches(std::string_view pattern, std::string_view text) {
  auto regex = Regex::Compile(pattern);
  EXPECT_TRUE(regex.ok()) << regex.status().message();
  std::vector<std::string> out;
  if (!regex.ok()) return out;
  Status status = regex->ForEachMatch(
      text, [&](size_t b, size_t e) { out.emplace_back(text.substr(b, e - b)); });
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

// What Oniguruma and PCRE2 read differently.
TEST(RegexTest, MeansWhatOnigurumaMeans) {
  EXPECT_THAT(Matches(R"(\p{N}{1,3}+)", "1234567"), ElementsAre("1234567"))
      << "repeats, not possessive";
  EXPECT_THAT(Matches(R"(\p{N}{1,3})", "1234567"), ElementsAre("123", "456", "7"));
  EXPECT_THAT(Matches(R"(\h+)", "beef zz"), ElementsAre("beef")) << "hexadecimal digits";
  EXPECT_THAT(Matches(R"(\s)", "a\u3000\u180e\u0085"), ElementsAre("\u3000", "\u0085"));
  EXPECT_THAT(Matches(R"([a-z&&[^aeiou]]+)", "hello"), ElementsAre("h", "ll"));
  EXPECT_THAT(Matches(R"([^a-c[x-z]]+)", "abcdxyz"), ElementsAre("d"));
  EXPECT_THAT(Matches(R"([a-c-z]+)", "b-z"), ElementsAre("b-z"));
  EXPECT_THAT(Matches(R"([\s-x]+)", "a -x"), ElementsAre(" -x"));
  EXPECT_THAT(Matches(R"((?i:'s|'t))", "'S 'ſ"), ElementsAre("'S", "'ſ"));
  EXPECT_THAT(Matches(R"(a{,2})", "aaa"), ElementsAre("aa", "a"));
  EXPECT_THAT(Matches(R"([^\P{L}]+)", "ab1"), ElementsAre("ab"));
  EXPECT_THAT(Matches(R"([[:alpha:]]+)", "é1x"), ElementsAre("é", "x"));
  EXPECT_THAT(Matches(R"(^b$)", "a\nb\n"), ElementsAre("b")) << "lines";
  EXPECT_THAT(Matches(R"(\p{L}+)", "\U0001DF25x\u1C89"), ElementsAre("\U0001DF25x\u1C89"))
      << "Unicode 16";
  EXPECT_THAT(Matches(R"(\p{Han}+)", "世、界"), ElementsAre("世", "界"))
      << "the script, not its extensions";
}

TEST(RegexTest, EmptyMatchesAreFoundOnce) {
  EXPECT_THAT(Matches("x*", "axb"), ElementsAre("", "x", ""));
  EXPECT_THAT(Matches("(?=b)", "ab"), ElementsAre(""));
}

TEST(RegexTest, UnknownConstructsAreErrors) {
  for (const char* bad :
       {"(", ")", "[a", "a\\", "\\p{Klingon}", "(?~ab)", "[[:nope:]]", "\\q", "a(?i)b", "*"}) {
    EXPECT_FALSE(Regex::Compile(bad).ok()) << bad;
  }
  EXPECT_THAT(Regex::Compile("\\p{Klingon}").status().message(),
              HasSubstr("unknown class \\p{Klingon}"));
}

TEST(RegexTest, APatternThatExplodesEndsWithAnError) {
  auto regex = Regex::Compile("(a+)+$");
  ASSERT_TRUE(regex.ok());
  std::string text(40, 'a');
  text += 'b';
  Status status = regex->ForEachMatch(text, [](size_t, size_t) {});
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  std::string nested = "(a|b|ab)*c";
  auto deep = Regex::Compile(nested);
  ASSERT_TRUE(deep.ok());
  std::string many(2'000'000, 'a');
  Status deep_status = deep->ForEachMatch(many, [](size_t, size_t) {});
  EXPECT_FALSE(deep_status.ok()) << "stack or steps";
}

}  // namespace
}  // namespace moxie::text
