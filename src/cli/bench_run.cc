#include "cli/bench_run.h"

#include <algorithm>
#include <chrono>

namespace moxie::cli {
namespace {

using Clock = std::chrono::steady_clock;

// One step: rows [start, start + count) of a sequence in blocks 0, 1, 2, ...; the last row gives
// logits.
Status Step(runtime::StepRunner& runner, int64_t start, int64_t count) {
  const runtime::StepLimits& limits = runner.limits();
  runtime::StepInputs& in = runner.inputs();
  in.tokens = count;
  in.seqs = 1;
  in.rows = 1;
  for (int64_t i = 0; i < count; ++i) {
    const size_t row = static_cast<size_t>(i);
    const int64_t position = start + i;
    in.ids[row] = static_cast<int32_t>((position * 7919 + 1) % limits.vocab_size);
    in.positions[row] = static_cast<int32_t>(position);
    in.slots[row] = position;  // block position / B, offset position % B
  }
  in.query_start[0] = 0;
  in.query_start[1] = static_cast<int32_t>(count);
  in.context[0] = static_cast<int32_t>(start + count);
  in.logit_rows[0] = static_cast<int32_t>(count - 1);
  auto logits = runner.Run();
  return logits.ok() ? OkStatus() : std::move(logits).status();
}

// All tokens of the test, `chunk` a step.
Status RunOnce(const BenchTest& test, runtime::StepRunner& runner) {
  const int64_t chunk = test.prompt ? runner.limits().max_tokens : 1;
  for (int64_t done = 0; done < test.tokens; done += chunk) {
    MOXIE_RETURN_IF_ERROR(Step(runner, done, std::min(chunk, test.tokens - done)));
  }
  return OkStatus();
}

Status CheckFits(const BenchTest& test, const runtime::StepLimits& limits) {
  const int64_t room = std::min(limits.table_width, limits.num_blocks) * limits.block_tokens;
  if (test.tokens <= room) return OkStatus();
  return InvalidArgument(test.Name(), ": a sequence holds at most ", room,
                         " tokens here (--max-model-len, and the KV cache's blocks)");
}

}  // namespace

std::string BenchTest::Name() const { return StrCat(prompt ? "pp" : "tg", tokens); }

Result<BenchResult> RunBench(const BenchTest& test, int64_t repetitions,
                             runtime::StepRunner& runner) {
  MOXIE_RETURN_IF_ERROR(CheckFits(test, runner.limits()));
  const int64_t blocks = std::min(runner.limits().table_width, runner.limits().num_blocks);
  for (int64_t block = 0; block < blocks; ++block) {
    runner.inputs().block_tables[static_cast<size_t>(block)] = static_cast<int32_t>(block);
  }
  BenchResult result{test, {}};
  MOXIE_RETURN_IF_ERROR(RunOnce(test, runner));
  for (int64_t i = 0; i < repetitions; ++i) {
    const auto start = Clock::now();
    MOXIE_RETURN_IF_ERROR(RunOnce(test, runner));
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    result.tokens_per_second.push_back(static_cast<double>(test.tokens) / seconds);
  }
  return result;
}

}  // namespace moxie::cli
