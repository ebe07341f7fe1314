#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace moxie {
namespace {

// About 20 us on current CPUs: longer than the gap between two kernels of a step, shorter than a
// scheduling quantum that another process could have used.
constexpr int kSpins = 2000;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Waits until `value` differs from `old`: spins, then sleeps in the kernel.
void WaitChange(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    Pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Range SplitRange(int64_t n, int parts, int index, int64_t grain) {
  int64_t grains = (n + grain - 1) / grain;
  int64_t base = grains / parts;
  int64_t extra = grains % parts;
  int64_t begin = index * base + std::min<int64_t>(index, extra);
  int64_t end = begin + base + (index < extra ? 1 : 0);
  return {std::min(n, begin * grain), std::min(n, end * grain)};
}

int AvailableCores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

ThreadPool::ThreadPool(int threads) {
  for (int member = 1; member < threads; ++member) {
    workers_.emplace_back([this, member] { Work(member); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::Dispatch(Call call, void* context) {
  call_ = call;
  context_ = context;
  pending_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  call(context, 0);
  for (uint32_t left; (left = pending_.load(std::memory_order_acquire)) != 0;) {
    WaitChange(pending_, left);
  }
}

void ThreadPool::Work(int member) {
  uint32_t seen = 0;
  while (true) {
    WaitChange(epoch_, seen);
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    call_(context_, member);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

}  // namespace moxie
