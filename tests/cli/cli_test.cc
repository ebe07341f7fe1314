#include "cli/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/json.h"
#include "base/status.h"
#include "base/version.h"
#include "cli/command_table.h"
#include "tests/cli/run.h"

namespace moxie::cli {
namespace {

using ::testing::HasSubstr;

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

std::string Tiny(std::string_view name) { return StrCat(MOXIE_TEST_DATA, "/tiny/", name); }

TEST(Cli, PlanShowsEveryTermAndItsSum) {
  Outcome outcome = Moxie({"plan", Tiny("mixtral"), "--json", "--max-num-seqs", "4"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  auto plan = ParseJson(outcome.out);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  int64_t sum = 0;
  std::set<std::string> owners;
  for (const Json& term : plan->at("footprints").as_array()) {
    sum += term.at("bytes").as_int64();
    owners.insert(std::string(term.at("owner").as_string()));
  }
  EXPECT_EQ(sum, plan->at("resident_bytes").as_int64());
  EXPECT_THAT(owners,
              ::testing::IsSupersetOf({"weights", "arena", "step_inputs", "kv_cache", "process"}));
}

TEST(Cli, PlanNeedsNoWeights) {
  Outcome alone = Moxie({"plan", Tiny("mixtral") + "/config.json", "--json"});
  Outcome whole = Moxie({"plan", Tiny("mixtral"), "--json"});
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(alone.out, whole.out);
}

TEST(Cli, PlanTakesTheLineOfServe) {
  Outcome outcome =
      Moxie({"plan", Tiny("mixtral"), "--seed", "42", "--disable-log-requests",
             "--gpu-memory-utilization", "0.95", "--max-num-batched-tokens", "4096",
             "--max-num-seqs", "256", "--max-model-len", "256", "--no-enable-prefix-caching"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("of a budget of"));
  EXPECT_THAT(outcome.err, HasSubstr("moxie: note: --disable-log-requests is no longer a flag"));
}

// What does not fit is refused before loading, with the arithmetic.
TEST(Cli, PlanRefusesWhatDoesNotFit) {
  Outcome outcome = Moxie({"plan", Tiny("mixtral"), "--num-gpu-blocks-override", "2000000000"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("moxie: error: does not fit in memory: kv_cache"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
}

TEST(Cli, BenchMeasuresEachTest) {
  Outcome outcome = Moxie(
      {"bench", Tiny("mixtral"), "--pp", "16", "--tg", "4,2", "--repetitions", "2", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::vector<std::string> tests;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    auto json = ParseJson(line);
    ASSERT_TRUE(json.ok()) << line;
    tests.emplace_back(json->at("test").as_string());
    EXPECT_EQ(json->at("tokens_per_second").as_array().size(), 2u);
  }
  EXPECT_THAT(tests, ::testing::ElementsAre("pp16", "tg4", "tg2"));
}

TEST(Cli, RunErrorsAreOneLineAndExit1) {
  Outcome missing = Moxie({"bench", "/nonexistent"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err,
            "moxie: error: /nonexistent: no such model directory (models are local directories; "
            "none is downloaded)\n");
  Outcome length = Moxie({"plan", Tiny("mixtral"), "--max-model-len", "257"});
  EXPECT_EQ(length.code, 1);
  EXPECT_THAT(length.err, ::testing::AllOf(HasSubstr("257"), HasSubstr("256")));
}

// A KV cache that is too small is blamed on whoever chose its size.
TEST(Cli, TooSmallKvCacheNamesTheFlagThatMadeItSo) {
  const std::pair<std::vector<std::string>, const char*> rows[] = {
      {{"--num-gpu-blocks-override", "3"},
       "but --num-gpu-blocks-override says 3; nearest settings that fit: [--max-model-len 48] "
       "[--num-gpu-blocks-override 16]"},
      {{"--kv-cache-memory-bytes", "1"},
       "but --kv-cache-memory-bytes, 1 B, holds 0; nearest settings that fit: "
       "[--kv-cache-memory-bytes 98304]"}};
  for (const auto& [flags, why] : rows) {
    std::vector<std::string> args = {"plan", Tiny("mixtral")};
    args.insert(args.end(), flags.begin(), flags.end());
    const Outcome small = Moxie(args);
    EXPECT_EQ(small.code, 1);
    EXPECT_THAT(small.err, HasSubstr(why));
  }
}

// Every invalid option of the case ends with usage before a file is opened; the valid ones pass.
TEST(Cli, CaseMemGpuMemoryFractionInvalid) {
  auto file = ReadJsonFile(StrCat(MOXIE_TEST_DATA, "/cases/mem-gpu-memory-fraction-invalid.json"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  auto run = [](const Json& option, std::string model) {
    const auto& [name, value] = *option.as_object().begin();
    return Moxie({"plan", std::move(model), std::string(name), std::string(value.as_string())});
  };
  for (const Json& option : file->at("input").at("options").as_array()) {
    // Since the case was written vLLM has given -1 a meaning, the longest length that fits, and we
    // take its command lines as they are.
    if (DumpJson(option) == R"({"--max-model-len":"-1"})") continue;
    Outcome outcome = run(option, "/nonexistent");
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  for (const Json& option : file->at("input").at("valid").as_array()) {
    // Whether the plan fits this machine is another question.
    const Outcome outcome = run(option, Tiny("mixtral"));
    EXPECT_NE(outcome.code, 2) << DumpJson(option) << outcome.err;
  }
}

TEST(Cli, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const CommandRow& row : Commands()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

}  // namespace
}  // namespace moxie::cli
