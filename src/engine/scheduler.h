// Scheduler: who runs, and which tokens go into the next step.
//
// Sequences have ranks: by priority, those of one priority in the order in which they came. A step
// goes through them by rank: those that decode get a token each, prompts get chunks of what
// max_num_batched_tokens leaves. A sequence takes the blocks of all its tokens when it starts and
// one more whenever it fills its last; when none is free, those of the lowest rank give theirs back
// and wait to be run again from their tokens (preemption by recompute, as vLLM V1 has it). So the
// sequence of the highest rank always moves on, and every one ends. Nobody starts while one of
// higher rank waits for blocks.
//
// Blocks are named in the prefix cache when the step that fills them is planned: what is planned
// behind it in the same step may read them already, since a step writes all keys and values of a
// layer before any is read.
//
// Used from the engine thread only; after construction nothing is allocated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/block_pool.h"
#include "engine/prefix_cache.h"
#include "engine/sequence.h"
#include "engine/step_batch.h"
#include "runtime/step.h"

namespace moxie::engine {

class Scheduler {
 public:
  // Since the start; tokens are those of first starts, not of recomputing.
  struct Counters {
    int64_t preemptions = 0;
    int64_t prefix_queries = 0;  // prompt tokens looked for in the prefix cache
    int64_t prefix_hits = 0;     // of those, found
  };

  // Without a `prefix_seed` nothing is shared. REQUIRES: CheckLimits(limits, max_model_len) is OK.
  Scheduler(const runtime::StepLimits& limits, int64_t max_model_len,
            std::optional<uint64_t> prefix_seed);
  // That steps of these limits always make progress; an error names the two numbers that disagree.
  static Status CheckLimits(const runtime::StepLimits& limits, int64_t max_model_len);
  // Bytes of the slots with their lists; the pool's and the prefix cache's are their own.
  static int64_t SlotBytes(const runtime::StepLimits& limits, int64_t max_model_len);

  // A slot is free, and so are the blocks of its prompt, beside those that waiting ones need.
  bool CanAdmit(const Pending& pending) const;
  // Gives it a slot; Plan() starts it. REQUIRES: CanAdmit(*pending).
  void Admit(std::unique_ptr<Pending> pending);

  // The next step, with blocks for all its tokens. Empty when nothing runs. Valid until the next
  // call.
  const StepBatch& Plan();

  // Gives back the sequence's blocks and slot.
  void Retire(Sequence& sequence);
  // Nobody may find the contents of its blocks any more: they are not numbers.
  void ForgetNames(const Sequence& sequence);

  std::span<Sequence* const> running() const { return running_; }  // those with a slot, by rank
  const BlockPool& pool() const { return pool_; }
  const Counters& counters() const { return counters_; }
  // Every invariant of pool, tables, names and slots; for tests, and after a step has failed.
  Status Check() const;

 private:
  struct Walk {
    int64_t blocks = 0;       // found, from the first on
    int64_t free_blocks = 0;  // of those, held by nobody
    PrefixId prefix;
  };
  // Follows `tokens` through the prefix cache; at least one token stays to be run. `visit(block)`.
  template <typename F>
  Walk WalkCache(const PrefixId& scope, std::span<const int32_t> tokens, F&& visit) const;
  // Free blocks that starting with these tokens takes.
  int64_t Needs(const PrefixId& scope, std::span<const int32_t> tokens, bool cached) const;
  bool TryStart(Sequence& sequence);
  // Frees blocks until `count` are free, or the sequence itself had to give way.
  bool MakeRoom(const Sequence& sequence, int64_t count);
  void Preempt(Sequence& sequence);
  int64_t TokensToRun(const Sequence& sequence) const;
  void Add(Sequence& sequence, int64_t count);
  int64_t BlocksMissing(const Sequence& sequence) const;
  void TakeBlocks(Sequence& sequence);
  void NameBlocks(Sequence& sequence, int64_t computed);
  void ReleaseBlocks(Sequence& sequence);
  Status CheckSharing() const;

  const runtime::StepLimits limits_;
  BlockPool pool_;
  PrefixCache cache_;
  std::vector<Sequence> slots_;  // [max_num_seqs]
  std::vector<Sequence*> free_;  // slots nobody uses
  std::vector<Sequence*> running_;
  StepBatch batch_;
  // While planning: sequences behind that decode, and all behind; each has a token, a row, to come.
  int64_t decoding_behind_ = 0;
  int64_t behind_ = 0;
  Counters counters_;
};

}  // namespace moxie::engine
