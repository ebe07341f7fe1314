// Waker: from the engine's thread to a connection's, without allocating there.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <new>

namespace moxie::server {

class Waker : public std::enable_shared_from_this<Waker> {
 public:
  // `on_news` runs on the thread of `io`.
  Waker(boost::asio::io_context& io, std::function<void()> on_news)
      : io_(&io), on_news_(std::move(on_news)) {}

  // From any thread, quick. Calls that come before on_news has run are one call.
  void Wake() {
    const std::lock_guard lock(mutex_);
    if (io_ == nullptr || posted_.exchange(true)) return;
    boost::asio::post(*io_,
                      boost::asio::bind_allocator(Slot<std::byte>{this},
                                                  [self = shared_from_this()] { self->Run(); }));
  }

  // On the thread of `io`: on_news does not run any more, and `io` may go away.
  void Detach() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }

 private:
  void Run() {
    posted_.store(false);
    if (io_ != nullptr) on_news_();  // only this thread writes io_
  }

  // Gives the one posted handler the waker's own memory.
  template <typename T>
  struct Slot {
    using value_type = T;
    explicit Slot(Waker* waker) : waker(waker) {}
    template <typename U>
    Slot(const Slot<U>& other) : waker(other.waker) {}
    T* allocate(size_t count) {
      const bool fits = count * sizeof(T) <= kSlotBytes;
      if (fits && !waker->slot_used_.exchange(true))
        return reinterpret_cast<T*>(waker->slot_.data());
      return static_cast<T*>(::operator new(count * sizeof(T)));
    }
    void deallocate(T* memory, size_t) {
      if (reinterpret_cast<std::byte*>(memory) == waker->slot_.data()) {
        waker->slot_used_.store(false);
      } else {
        ::operator delete(memory);
      }
    }
    bool operator==(const Slot&) const = default;
    Waker* waker;
  };

  static constexpr size_t kSlotBytes = 256;
  alignas(std::max_align_t) std::array<std::byte, kSlotBytes> slot_;
  std::atomic<bool> slot_used_{false};
  std::atomic<bool> posted_{false};
  std::mutex mutex_;
  boost::asio::io_context* io_;
  const std::function<void()> on_news_;
};

}  // namespace moxie::server
