// RequestQueue: requests on their way to the engine thread, by priority, those of one priority as
// they came; bounded in requests, in prompt tokens and in bytes. Submitters allocate an entry's
// memory, the engine thread only frees it.
#pragma once

#include <atomic>
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

  struct Limits {
    int64_t requests = 0;
    int64_t tokens = 0;
    int64_t bytes = 0;  // heap of requests here or taken from here, until they are gone
  };

  // Must outlive what is taken from it.
  explicit RequestQueue(const Limits& limits) : limits_(limits) {}

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

  Status CheckRoom(int64_t tokens, int64_t bytes);

  const Limits limits_;
  std::atomic<int64_t> bytes_{0};
  mutable std::mutex mutex_;
  std::condition_variable news_;
  List waiting_;
  int64_t tokens_ = 0;
  bool interrupted_ = false;
  Status closed_;
  int64_t refused_requests_full_ = 0;
  int64_t refused_tokens_full_ = 0;
  int64_t refused_bytes_full_ = 0;
};

}  // namespace moxie::engine
