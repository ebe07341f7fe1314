// ByteClaim: heap bytes that a request holds, counted from when it is queued until it is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace moxie::engine {

class ByteClaim {
 public:
  ByteClaim() = default;
  // Adds `bytes` to `total`, which must outlive it.
  ByteClaim(std::atomic<int64_t>* total, int64_t bytes) : total_(total), bytes_(bytes) {
    total_->fetch_add(bytes_, std::memory_order_relaxed);
  }
  ByteClaim(ByteClaim&& other) noexcept
      : total_(std::exchange(other.total_, nullptr)), bytes_(other.bytes_) {}
  ByteClaim& operator=(ByteClaim&& other) noexcept {
    std::swap(total_, other.total_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ByteClaim() {
    if (total_ != nullptr) total_->fetch_sub(bytes_, std::memory_order_relaxed);
  }

 private:
  std::atomic<int64_t>* total_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace moxie::engine
