// Scheduler: who runs, and which tokens go into the next step.
//
// Admission is first come, first served: the request at the head of the queue starts as soon as a
// slot is free and the pool can promise the blocks of its longest possible answer; nobody overtakes
// it. In a step, sequences that are decoding come first (one token each), then chunks of prompts in
// order of admission, up to max_num_batched_tokens. max_num_batched_tokens >= max_num_seqs, so each
// step moves every decoding sequence, and at least one prompt.
//
// Used from the engine thread only; after construction nothing is allocated.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/block_pool.h"
#include "engine/sequence.h"
#include "engine/step_batch.h"
#include "runtime/step.h"

namespace moxie::engine {

class Scheduler {
 public:
  // REQUIRES: CheckLimits(limits, max_model_len) is OK.
  Scheduler(const runtime::StepLimits& limits, int64_t max_model_len);
  // That steps of these limits always make progress; an error names the two numbers that disagree.
  static Status CheckLimits(const runtime::StepLimits& limits, int64_t max_model_len);
  static int64_t Bytes(const runtime::StepLimits& limits, int64_t max_model_len);

  // A slot is free and the pool can promise blocks for `max_total_tokens`.
  bool CanAdmit(int64_t max_total_tokens) const;
  // REQUIRES: CanAdmit(pending->max_total_tokens).
  Sequence& Admit(std::unique_ptr<Pending> pending);

  // The next step: takes the blocks that its tokens need. Empty when nothing runs. Valid until the
  // next call.
  const StepBatch& Plan();

  // Gives back the sequence's blocks, promises and slot.
  void Retire(Sequence& sequence);

  std::span<Sequence* const> running() const { return running_; }  // in order of admission
  const BlockPool& pool() const { return pool_; }
  // Every invariant of pool, tables and slots; for tests, and after a step has failed.
  Status Check() const;

 private:
  void Add(Sequence& sequence, int64_t count);
  void TakeBlocks(Sequence& sequence, int64_t tokens);

  const runtime::StepLimits limits_;
  BlockPool pool_;
  std::vector<Sequence> slots_;  // [max_num_seqs]
  std::vector<Sequence*> free_;  // slots nobody uses
  std::vector<Sequence*> running_;
  StepBatch batch_;
};

}  // namespace moxie::engine
