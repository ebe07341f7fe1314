// StepBatch: which tokens of which sequences run in a step; and its translation into the step's
// tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sequence.h"
#include "runtime/step.h"

namespace moxie::engine {

// A run of one sequence's tokens: positions [first, first + count).
struct StepItem {
  Sequence* sequence = nullptr;
  int64_t first = 0;
  int64_t count = 0;
  bool all_rows = false;  // logits of every token are wanted, for prompt logprobs
  bool last = false;      // reaches the sequence's last token: its logits give the next one
  int64_t row = 0;        // the first of its rows of logits

  int64_t rows() const { return all_rows ? count : (last ? 1 : 0); }
};

struct StepBatch {
  std::vector<StepItem> items;  // capacity max_num_seqs
  int64_t tokens = 0;
  int64_t rows = 0;

  void Clear();
  // Appends; sets item.row.
  void Add(StepItem item);
};

// Fills the step's tensors. REQUIRES: the batch is within `limits`, and every sequence has blocks
// for its tokens.
void FillInputs(const StepBatch& batch, const runtime::StepLimits& limits,
                runtime::StepInputs& inputs);

}  // namespace moxie::engine
