#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/json.h"
#include "cli/bench_report.h"
#include "cli/bench_run.h"

namespace moxie::cli {
namespace {

using ::testing::ElementsAre;

struct SeenStep {
  int64_t tokens, first_position, context, last_row;
  bool operator==(const SeenStep&) const = default;
};

// Records steps; its logits are zero.
class RecordingRunner : public runtime::StepRunner {
 public:
  explicit RecordingRunner(runtime::StepLimits limits)
      : limits_(limits),
        ids_(static_cast<size_t>(limits.max_tokens)),
        positions_(ids_.size()),
        slots_(ids_.size()),
        query_start_(2),
        context_(1),
        tables_(static_cast<size_t>(limits.table_width)),
        rows_(1),
        logits_(static_cast<size_t>(limits.vocab_size)) {
    inputs_.ids = ids_;
    inputs_.positions = positions_;
    inputs_.slots = slots_;
    inputs_.query_start = query_start_;
    inputs_.context = context_;
    inputs_.block_tables = tables_;
    inputs_.logit_rows = rows_;
  }

  const runtime::StepLimits& limits() const override { return limits_; }
  runtime::StepInputs& inputs() override { return inputs_; }
  Result<runtime::LogitsView> Run() override {
    steps.push_back({inputs_.tokens, positions_[0], context_[0], rows_[0]});
    for (int64_t i = 0; i < inputs_.tokens; ++i) {
      const size_t row = static_cast<size_t>(i);
      EXPECT_LT(ids_[row], limits_.vocab_size);
      const int64_t block = tables_[static_cast<size_t>(positions_[row] / limits_.block_tokens)];
      EXPECT_EQ(slots_[row], block * limits_.block_tokens + positions_[row] % limits_.block_tokens);
    }
    if (fail) return Internal("the backend failed");
    return runtime::LogitsView{logits_.data(), 1, limits_.vocab_size};
  }

  std::vector<SeenStep> steps;
  bool fail = false;

 private:
  const runtime::StepLimits limits_;
  std::vector<int32_t> ids_, positions_;
  std::vector<int64_t> slots_;
  std::vector<int32_t> query_start_, context_, tables_, rows_;
  std::vector<float> logits_;
  runtime::StepInputs inputs_;
};

constexpr runtime::StepLimits kLimits{.max_tokens = 8,
                                      .max_seqs = 1,
                                      .max_rows = 1,
                                      .table_width = 8,
                                      .num_blocks = 6,
                                      .block_tokens = 4,
                                      .vocab_size = 11};

TEST(Bench, PromptsRunInChunksOfTheLargestStep) {
  RecordingRunner runner(kLimits);
  auto result = RunBench({.prompt = true, .tokens = 19}, 1, runner);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->test.Name(), "pp19");
  ASSERT_EQ(result->tokens_per_second.size(), 1u);
  EXPECT_GT(result->tokens_per_second[0], 0);
  runner.steps.resize(3);  // the run to warm up; the measured one is the same
  EXPECT_THAT(runner.steps,
              ElementsAre(SeenStep{8, 0, 8, 7}, SeenStep{8, 8, 16, 7}, SeenStep{3, 16, 19, 2}));
}

TEST(Bench, GenerationRunsATokenAStepFromAnEmptyCache) {
  RecordingRunner runner(kLimits);
  auto result = RunBench({.prompt = false, .tokens = 3}, 2, runner);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->test.Name(), "tg3");
  EXPECT_EQ(result->tokens_per_second.size(), 2u);
  ASSERT_EQ(runner.steps.size(), 9u);
  EXPECT_EQ(runner.steps[3], (SeenStep{1, 0, 1, 0}));
  EXPECT_EQ(runner.steps[5], (SeenStep{1, 2, 3, 0}));
}

TEST(Bench, SequencesThatDoNotFitAreRefused) {
  RecordingRunner runner(kLimits);
  auto result = RunBench({.prompt = true, .tokens = 25}, 1, runner);
  EXPECT_EQ(
      result.status().message(),
      "pp25: a sequence holds at most 24 tokens here (--max-model-len, and the KV cache's blocks)");
  EXPECT_TRUE(runner.steps.empty());
}

TEST(Bench, BackendErrorsEndTheTest) {
  RecordingRunner runner(kLimits);
  runner.fail = true;
  EXPECT_EQ(RunBench({.prompt = true, .tokens = 1}, 1, runner).status().message(),
            "the backend failed");
}

const BenchSubject kSubject{"mixtral", 1'503'238'553, 134'515'008, "cpu bf16", 4};

TEST(BenchReport, TableIsLlamaBenchs) {
  std::vector<BenchResult> results{{{true, 512}, {100, 102, 104}}, {{false, 128}, {20.5}}};
  EXPECT_EQ(BenchTable(kSubject, results),
            "| model | size | params | backend | threads | test | t/s |\n"
            "| --- | ---: | ---: | --- | ---: | ---: | ---: |\n"
            "| mixtral | 1.40 GiB | 134.52 M | cpu bf16 | 4 | pp512 | 102.00 ± 2.00 |\n"
            "| mixtral | 1.40 GiB | 134.52 M | cpu bf16 | 4 | tg128 | 20.50 ± 0.00 |\n");
}

TEST(BenchReport, JsonHasTheSamples) {
  auto line = ParseJson(BenchJson(kSubject, {{true, 512}, {100, 102.5}}));
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->at("test").as_string(), "pp512");
  EXPECT_EQ(line->at("tokens_per_second").as_array(), (JsonArray{100.0, 102.5}));
  EXPECT_EQ(line->at("repetitions").to_number<int>(), 2);
  EXPECT_EQ(line->at("threads").to_number<int>(), 4);
}

}  // namespace
}  // namespace moxie::cli
