#include "engine/request_queue.h"

#include <algorithm>
#include <utility>

namespace moxie::engine {
namespace {

int64_t HeapBytes(const Pending& pending) {
  return static_cast<int64_t>(sizeof(Pending) + sizeof(TokenStream)) + pending.request.HeapBytes();
}

}  // namespace

Status RequestQueue::Push(std::unique_ptr<Pending> pending) {
  Pending& request = *pending;
  const int64_t tokens = request.prompt_tokens();
  const int64_t bytes = HeapBytes(request);
  const int64_t priority = request.request.priority;
  List entry;
  entry.push_back(std::move(pending));
  {
    const std::lock_guard lock(mutex_);
    if (!closed_.ok()) return closed_;
    MOXIE_RETURN_IF_ERROR(CheckRoom(tokens, bytes));
    tokens_ += tokens;
    request.claim = ByteClaim(&bytes_, bytes);
    const auto behind = std::find_if(waiting_.rbegin(), waiting_.rend(), [&](const auto& other) {
      return other->request.priority <= priority;
    });
    waiting_.splice(behind.base(), entry);
  }
  news_.notify_one();
  return {};
}

Status RequestQueue::CheckRoom(int64_t tokens, int64_t bytes) {
  const auto requests = static_cast<int64_t>(waiting_.size());
  if (requests >= limits_.requests) {
    ++refused_requests_full_;
    return ResourceExhausted("the queue is full: ", requests, " requests wait, ", limits_.requests,
                             " may (--max-num-queued-reqs)");
  }
  if (tokens > limits_.tokens - tokens_) {
    ++refused_tokens_full_;
    return ResourceExhausted(
        "the queue is full: ", tokens_, " prompt tokens wait, with this request's ", tokens,
        " it would be more than ", limits_.tokens, " (--max-num-queued-tokens)");
  }
  if (const int64_t held = bytes_.load(); bytes > limits_.bytes - held) {
    ++refused_bytes_full_;
    return ResourceExhausted("the queue is full: requests that wait or run hold ", held,
                             " bytes, with this one's ", bytes, " it would be more than ",
                             limits_.bytes, " (--max-request-heap)");
  }
  return {};
}

void RequestQueue::Close(Status reason) {
  const std::lock_guard lock(mutex_);
  if (closed_.ok()) closed_ = std::move(reason);
}

void RequestQueue::Interrupt() {
  {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
  }
  news_.notify_one();
}

void RequestQueue::Wait() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [this] { return interrupted_ || !waiting_.empty(); });
}

RequestQueue::List RequestQueue::TakeAbandoned() {
  List taken;
  const std::lock_guard lock(mutex_);
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto entry = it++;
    if ((*entry)->abandoned()) Take(taken, entry);
  }
  return taken;
}

RequestQueue::List RequestQueue::TakeAll() {
  List taken;
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty()) Take(taken, waiting_.begin());
  return taken;
}

bool RequestQueue::empty() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty();
}

void RequestQueue::Report(EngineStats& stats) const {
  const std::lock_guard lock(mutex_);
  stats.waiting += static_cast<int64_t>(waiting_.size());
  stats.waiting_tokens = tokens_;
  stats.refused_requests_full = refused_requests_full_;
  stats.refused_tokens_full = refused_tokens_full_;
  stats.refused_bytes_full = refused_bytes_full_;
  stats.request_heap = bytes_.load();
}

void RequestQueue::Take(List& to, List::iterator entry) {
  tokens_ -= (*entry)->prompt_tokens();
  to.splice(to.end(), waiting_, entry);
}

}  // namespace moxie::engine
