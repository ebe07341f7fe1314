// Core: one step of the engine after another, on whatever thread calls it. It owns what the engine
// thread owns; Engine adds the thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/request_queue.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"
#include "engine/stats.h"

namespace moxie::engine {

class Core {
 public:
  // All must outlive it. REQUIRES: Scheduler::CheckLimits is OK.
  // Throws std::bad_alloc; the secret of the prefix cache's table comes from the system.
  Core(const EngineOptions& options, runtime::StepRunner* runner, RequestQueue* queue);

  // Ends what nobody reads any more, admits what fits, runs one step, and publishes its tokens.
  // Does nothing when nothing is there to run. An error is the runner's: no step may follow, only
  // EndAll().
  Status Step();
  // Ends every request, running or queued.
  void EndAll(FinishReason reason, const Status& error);

  bool idle() const { return scheduler_.running().empty(); }
  // Counters and the state of slots and pool; what the queue holds is not in it.
  EngineStats Stats() const;
  const Scheduler& scheduler() const { return scheduler_; }

 private:
  void EndAbandoned();
  void AdmitWaiting();
  void CountPrompt(const StepItem& item);
  void TakeResult(const StepItem& item, const runtime::LogitsView& logits);
  Status TakePromptLogprobs(const StepItem& item, const runtime::LogitsView& logits);
  void TakeToken(Sequence& sequence, std::span<const float> logits);
  Result<int32_t> Sample(const Sequence& sequence, std::span<const float> logits);
  void EndAllOf(const RequestQueue::List& list, FinishReason reason, const Status& error);
  void EndWaiting(Pending& pending, FinishReason reason, const Status& error);
  void EndCorrupted(Sequence& sequence, const Status& error);
  // Ends a sequence from outside.
  void End(Sequence& sequence, FinishReason reason, const Status& error);
  // The stream has ended: tells the reader, and frees what the sequence held.
  void Close(Sequence& sequence, FinishReason reason);

  const EngineOptions& options_;
  runtime::StepRunner* const runner_;
  RequestQueue* const queue_;
  Scheduler scheduler_;
  Sampler sampler_;
  EngineStats counters_;
};

}  // namespace moxie::engine
