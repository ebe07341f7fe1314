// RequestQueue: requests on their way to the engine thread, first come, first served; bounded in
// requests and in prompt tokens. Submitters allocate an entry's memory, the engine thread only
// frees it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "engine/sequence.h"
#include "engine/stats.h"

namespace moxie::engine {

class RequestQueue {
 public:
  using List = std::list<std::unique_ptr<Pending>>;

  RequestQueue(int64_t max_requests, int64_t max_tokens)
      : max_requests_(max_requests), max_tokens_(max_tokens) {}

  // --- Any thread ---

  // kResourceExhausted when full (the message says the numbers), or Close()'s reason.
  Status Push(std::unique_ptr<Pending> pending);
  // From now on Push() gives `reason`; the first reason stays. What is queued remains.
  void Close(Status reason);
  // Makes Wait() return, now and always.
  void Interrupt();

  // --- Engine thread ---

  // Blocks until something is queued or Interrupt() was called.
  void Wait();
  // The head, if `admits(*head)`; else null.
  template <typename F>
  std::unique_ptr<Pending> PopIf(F&& admits) {
    List taken;
    const std::lock_guard lock(mutex_);
    if (waiting_.empty() || !admits(*waiting_.front())) return nullptr;
    Take(taken, waiting_.begin());
    return std::move(taken.front());
  }
  // Removes those whose reader has gone, or all.
  List TakeAbandoned();
  List TakeAll();
  bool empty() const;
  // Adds what waits here, and sets the other fields of `stats` that are the queue's.
  void Report(EngineStats& stats) const;

 private:
  void Take(List& to, List::iterator entry);

  const int64_t max_requests_;
  const int64_t max_tokens_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  List waiting_;
  int64_t tokens_ = 0;
  bool interrupted_ = false;
  Status closed_;
  int64_t refused_requests_full_ = 0;
  int64_t refused_tokens_full_ = 0;
};

}  // namespace moxie::engine
