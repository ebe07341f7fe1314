// Counters of the engine, as one consistent snapshot.
#pragma once

#include <array>
#include <cstdint>

namespace moxie::engine {

// Upper bounds of the buckets of tokens a step, as vLLM's iteration_tokens_total has them.
inline constexpr std::array<int64_t, 13> kStepTokenBuckets = {
    1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

struct EngineStats {
  // Now.
  int64_t running = 0;
  int64_t waiting = 0;         // in the queue, or preempted
  int64_t waiting_tokens = 0;  // prompt tokens in the queue
  int64_t request_heap = 0;    // bytes of requests, waiting or running
  int64_t blocks_total = 0;
  int64_t blocks_used = 0;  // held by what runs; the prefix cache may know others
  // Since the start.
  int64_t steps = 0;
  int64_t prompt_tokens = 0;         // of prompts that are done
  int64_t prompt_tokens_cached = 0;  // of those, found in the prefix cache
  int64_t generation_tokens = 0;     // sampled
  int64_t preemptions = 0;
  int64_t prefix_queries = 0;  // prompt tokens looked for in the prefix cache
  int64_t prefix_hits = 0;     // of those, found
  int64_t finished_stop = 0;
  int64_t finished_length = 0;
  int64_t finished_abort = 0;
  int64_t finished_error = 0;
  int64_t corrupted_requests = 0;     // ended by a non-finite logit; counted in finished_error too
  int64_t refused_requests_full = 0;  // by max_queued_requests
  int64_t refused_tokens_full = 0;    // by max_queued_tokens
  int64_t refused_bytes_full = 0;     // by max_request_heap
  // Steps by tokens in them: bucket i counts those in (kStepTokenBuckets[i-1],
  // kStepTokenBuckets[i]], the last one all above.
  std::array<int64_t, kStepTokenBuckets.size() + 1> step_tokens{};
  int64_t step_tokens_sum = 0;
};

}  // namespace moxie::engine
