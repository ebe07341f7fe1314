// One step, as the engine asks for it and as the model runs it.
//
// StepInputs are fixed, preallocated tensors: the engine fills them, a StepRunner reads them,
// nobody allocates. Rows of one sequence are contiguous; sequences keep their slot for the step
// only.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"

namespace moxie::runtime {

// Capacities of the step tensors: the bucket that the plan was made for.
struct StepLimits {
  int64_t max_tokens = 0;    // T: max_num_batched_tokens
  int64_t max_seqs = 0;      // S: max_num_seqs
  int64_t max_rows = 0;      // R: rows of logits a step
  int64_t table_width = 0;   // W: ceil(max_model_len / block_tokens)
  int64_t num_blocks = 0;    // N: blocks in the KV pool
  int64_t block_tokens = 0;  // B
  int64_t vocab_size = 0;    // V
};

// The step's tensors. Spans have the capacity of the limits; `tokens`, `seqs`, `rows` say how much
// is live.
struct StepInputs {
  int64_t tokens = 0;
  int64_t seqs = 0;
  int64_t rows = 0;
  std::span<int32_t> ids;          // [T] token ids, in [0, V)
  std::span<int32_t> positions;    // [T] absolute positions
  std::span<int64_t> slots;        // [T] where K and V of the token go: block * B + offset
  std::span<int32_t> query_start;  // [S+1] first row of each sequence; query_start[seqs] == tokens
  std::span<int32_t>
      context;  // [S] tokens of the sequence after this step (computed before + its rows)
  std::span<int32_t> block_tables;  // [S, W] row-major; entries past the context are not read
  std::span<int32_t> logit_rows;    // [R] rows of [0, tokens) whose logits are wanted, ascending
};

// Logits of the rows asked for, valid until the next step.
struct LogitsView {
  const float* data = nullptr;  // [rows, V] row-major
  int64_t rows = 0;
  int64_t vocab_size = 0;
  std::span<float> row(int64_t i) const {  // the sampler may scale a row in place
    return {const_cast<float*>(data) + i * vocab_size, static_cast<size_t>(vocab_size)};
  }
};

// Runs steps: a CompiledModel, or a scripted stand-in in the engine's tests. Used from one thread.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  virtual const StepLimits& limits() const = 0;
  // The tensors to fill; the same every time.
  virtual StepInputs& inputs() = 0;
  // Runs the step described by inputs(). REQUIRES: consistent inputs. An error is the backend's and
  // final.
  virtual Result<LogitsView> Run() = 0;
};

}  // namespace moxie::runtime
