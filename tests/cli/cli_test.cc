#include "cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/status.h"
#include "base/version.h"
#include "cli/command_table.h"

namespace moxie::cli {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code = -1;
  std::string out, err;
};

Outcome Moxie(std::vector<std::string> words) {
  words.insert(words.begin(), "moxie");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = Main(static_cast<int>(argv.size()), argv.data());
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(Cli, Version) {
  for (const char* word : {"version", "--version", "-V"}) {
    Outcome outcome = Moxie({word});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, StrCat("moxie ", Version(), "\n"));
  }
}

TEST(Cli, HelpListsEveryCommand) {
  for (const char* word : {"help", "--help", "-h"}) {
    Outcome outcome = Moxie({word});
    EXPECT_EQ(outcome.code, 0);
    for (const CommandRow& row : Commands())
      EXPECT_THAT(outcome.out, HasSubstr(std::string(row.name)));
  }
}

TEST(Cli, EveryCommandHelps) {
  for (const CommandRow& row : Commands()) {
    Outcome outcome = Moxie({"help", std::string(row.name)});
    EXPECT_EQ(outcome.code, 0) << row.name << ": " << outcome.err;
    EXPECT_FALSE(outcome.out.empty()) << row.name;
  }
}

TEST(Cli, NoCommandIsUsage) {
  Outcome outcome = Moxie({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("Usage: moxie COMMAND"));
}

TEST(Cli, UnknownCommandsComeWithTheNearestName) {
  Outcome outcome = Moxie({"versoin"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "moxie: error: unknown command \"versoin\"; did you mean version?\n");
  EXPECT_THAT(Moxie({"zzz"}).err, HasSubstr("see `moxie help`"));
  EXPECT_EQ(Moxie({"help", "zzz"}).code, 2);
}

TEST(Cli, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const CommandRow& row : Commands()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

}  // namespace
}  // namespace moxie::cli
