// What `moxie bench` measures, after llama-bench: pp<N> runs a prompt of N tokens, tg<N> runs N
// steps of one token, both from an empty cache, as one sequence. The tokens are arbitrary but the
// same every time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/step.h"

namespace moxie::cli {

struct BenchTest {
  bool prompt = true;  // pp, else tg
  int64_t tokens = 0;

  std::string Name() const;  // "pp512", "tg128"
};

struct BenchResult {
  BenchTest test;
  std::vector<double> tokens_per_second;  // a sample a repetition
};

// Runs the test once to warm up and then `repetitions` times. REQUIRES: nobody else uses the
// runner. An error when the sequence does not fit the block table or the KV pool.
Result<BenchResult> RunBench(const BenchTest& test, int64_t repetitions,
                             runtime::StepRunner& runner);

}  // namespace moxie::cli
