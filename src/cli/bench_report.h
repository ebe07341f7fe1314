// How `moxie bench` prints: llama-bench's markdown table, or JSON lines.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cli/bench_run.h"

namespace moxie::cli {

// What was measured.
struct BenchSubject {
  std::string model;  // "mixtral 8x576"
  int64_t bytes = 0;  // of the weights in memory
  int64_t parameters = 0;
  std::string backend;  // "cpu bf16"
  int threads = 0;
};

// | model | size | params | backend | threads | test | t/s |, t/s as mean ± sample standard
// deviation.
std::string BenchTable(const BenchSubject& subject, std::span<const BenchResult> results);

// One line: {"test", "tokens_per_second": [a sample a repetition], "repetitions", "model",
// "size_bytes", "parameters", "backend", "threads"}.
std::string BenchJson(const BenchSubject& subject, const BenchResult& result);

}  // namespace moxie::cli
