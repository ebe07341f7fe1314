// Engine: turns requests into tokens. One thread of its own schedules, runs the model, samples, and
// publishes.
//
//   Submit -> waiting queue -> Scheduler -> StepBatch -> StepInputs -> StepRunner::Run -> Sampler
//          -> OutputProcessor -> TokenStream
//
// Invariants: between schedule and publish that thread allocates nothing; a request's answer is
// allocated when it is admitted. Requests start in the order of their priorities, those of one
// priority as they came; when the KV cache is full the last of that order waits and is run again
// from its tokens, which changes nothing that a reader sees. What a request gets does not depend on
// its neighbours, nor on what the prefix cache holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/request.h"
#include "engine/stats.h"
#include "engine/token_stream.h"
#include "memory/plan.h"
#include "runtime/step.h"

namespace moxie::text {
class Tokenizer;
}

namespace moxie::engine {

struct EngineOptions {
  int64_t max_model_len = 0;
  int64_t max_queued_requests = 0;  // waiting at most, >= 1
  int64_t max_queued_tokens = 0;    // prompt tokens waiting at most, >= 1
  int64_t max_request_heap =
      0;  // bytes of all requests, waiting or running, at most, >= 4 max_model_len
  int64_t max_logprobs = 0;    // alternatives a position at most
  int64_t seed = 0;            // of requests without one
  bool prefix_caching = true;  // prompts that begin alike share blocks
  bool priorities = false;     // requests may have one
  std::vector<int32_t> eos_token_ids;
};

class Engine {
 public:
  // Starts the thread. `runner` and `tokenizer` must outlive the engine; the runner is used from
  // its thread only.
  static Result<std::unique_ptr<Engine>> Start(const EngineOptions& options,
                                               runtime::StepRunner* runner,
                                               const text::Tokenizer* tokenizer);
  // Stops at once.
  ~Engine();

  // Queues a request and returns its stream at once. Thread-safe. Errors:
  //   kInvalidArgument: a field is out of range, or the request could never fit (the message says
  //     the numbers)
  //   kResourceExhausted: the queue is full, in requests, tokens or bytes
  //   kUnavailable: stopping, or a step has failed before
  Result<std::shared_ptr<TokenStream>> Submit(Request request, TokenStream::Wake wake = nullptr);

  // Refuses new requests, runs the others to their end for at most `limit`, aborts what is left,
  // and ends the thread. Thread-safe; a later call with a shorter limit hurries an earlier one.
  void Stop(std::chrono::milliseconds limit);

  // False once a step has failed: all requests have ended with that error, and none is taken any
  // more.
  bool healthy() const;
  // Why; OK while healthy.
  Status health() const;

  EngineStats stats() const;
  RequestLimits limits() const;

 private:
  class Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Bytes that the engine allocates at start and at most while it runs, a term a component.
// `max_token_text_bytes` is FindTokenTextBounds(tokenizer).max_bytes of
// engine/output_processor.h.
std::vector<memory::Footprint> Footprints(const EngineOptions& options,
                                          const runtime::StepLimits& limits,
                                          int64_t max_token_text_bytes);

}  // namespace moxie::engine
