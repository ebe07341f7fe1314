#include "engine/request_queue.h"

#include <utility>

namespace moxie::engine {
namespace {

int64_t PromptTokens(const Pending& pending) {
  return static_cast<int64_t>(pending.request.prompt_ids.size());
}

}  // namespace

Status RequestQueue::Push(std::unique_ptr<Pending> pending) {
  const int64_t tokens = PromptTokens(*pending);
  List entry;
  entry.push_back(std::move(pending));
  {
    const std::lock_guard lock(mutex_);
    if (!closed_.ok()) return closed_;
    const auto requests = static_cast<int64_t>(waiting_.size());
    if (requests >= max_requests_) {
      ++refused_requests_full_;
      return ResourceExhausted("the queue is full: ", requests, " requests wait, ", max_requests_,
                               " may (--max-num-queued-reqs)");
    }
    if (tokens > max_tokens_ - tokens_) {
      ++refused_tokens_full_;
      return ResourceExhausted(
          "the queue is full: ", tokens_, " prompt tokens wait, with this request's ", tokens,
          " it would be more than ", max_tokens_, " (--max-num-queued-tokens)");
    }
    tokens_ += tokens;
    waiting_.splice(waiting_.end(), entry);
  }
  news_.notify_one();
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
}

void RequestQueue::Take(List& to, List::iterator entry) {
  tokens_ -= PromptTokens(**entry);
  to.splice(to.end(), waiting_, entry);
}

}  // namespace moxie::engine
