// A fixed team of threads for data-parallel kernels: fork, join, and nothing else.
//
// Invariants: Run() is called from one thread at a time (the owner, who is member 0); it allocates
// nothing; members spin briefly for the next task and then sleep, so that an idle or oversubscribed
// machine is left alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace moxie {

// Half-open range of work items.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// Part `index` of [0, n) cut into `parts` contiguous ranges whose inner bounds are multiples of
// `grain`; trailing parts may be empty.
Range SplitRange(int64_t n, int parts, int index, int64_t grain = 1);

// Cores this process may run on (its affinity mask), at least 1.
int AvailableCores();

class ThreadPool {
 public:
  // `threads` >= 1, the caller included; so `threads - 1` are started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(member) once for every member in [0, size()) concurrently; returns when all have.
  // fn must not throw.
  template <typename F>
  void Run(F&& fn) {
    if (workers_.empty()) {
      fn(0);
      return;
    }
    auto call = [](void* context, int member) {
      (*static_cast<std::remove_reference_t<F>*>(context))(member);
    };
    Dispatch(call, const_cast<void*>(static_cast<const void*>(std::addressof(fn))));
  }

 private:
  using Call = void (*)(void*, int);
  void Dispatch(Call call, void* context);
  void Work(int member);

  std::vector<std::thread> workers_;
  Call call_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> epoch_{0};    // bumped for each task
  alignas(64) std::atomic<uint32_t> pending_{0};  // workers that have not finished it
  std::atomic<bool> stop_{false};
};

}  // namespace moxie
