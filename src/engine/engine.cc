#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/core.h"
#include "engine/intake.h"
#include "engine/request_queue.h"

namespace moxie::engine {
namespace {

constexpr std::chrono::hours kLongestStop(24 * 365);  // a clock's nanoseconds must not overflow

Status CheckOptions(const EngineOptions& options, const runtime::StepLimits& step) {
  if (options.max_model_len < 1) {
    return InvalidArgument("max_model_len: must be at least 1, got ", options.max_model_len);
  }
  if (options.max_queued_requests < 1) {
    return InvalidArgument("max_queued_requests: must be at least 1, got ",
                           options.max_queued_requests);
  }
  if (options.max_queued_tokens < options.max_model_len) {
    return InvalidArgument("max_queued_tokens: ", options.max_queued_tokens,
                           " is less than max_model_len, ", options.max_model_len,
                           ": the longest prompt could never be queued");
  }
  const auto id_bytes = static_cast<int64_t>(sizeof(int32_t));
  if (options.max_request_heap / id_bytes < options.max_model_len) {
    return InvalidArgument("max_request_heap: ", options.max_request_heap,
                           " bytes do not hold a prompt of max_model_len, ", options.max_model_len,
                           ", tokens");
  }
  for (int32_t id : options.eos_token_ids) {
    if (id < 0 || id >= step.vocab_size) {
      return InvalidArgument("eos_token_id ", id, " is not in the vocabulary, [0, ",
                             step.vocab_size, ")");
    }
  }
  return Scheduler::CheckLimits(step, options.max_model_len);
}

}  // namespace

class Engine::Impl {
 public:
  Impl(const EngineOptions& options, runtime::StepRunner* runner, const text::Tokenizer* tokenizer);
  ~Impl() { Stop(std::chrono::milliseconds(0)); }

  Result<std::shared_ptr<TokenStream>> Submit(Request request, TokenStream::Wake wake);
  void Stop(std::chrono::milliseconds limit);
  Status health() const;
  EngineStats stats() const;
  const RequestLimits& limits() const { return intake_.limits(); }

 private:
  void Loop();
  bool StopDue() const;
  void Fail(const Status& error);
  void PublishStats();

  const EngineOptions options_;
  Intake intake_;
  RequestQueue queue_;
  Core core_;  // the engine thread's own

  mutable std::mutex mutex_;
  EngineStats stats_;  // guarded by mutex_
  Status health_;      // guarded by mutex_

  std::atomic<bool> stopping_{false};
  std::atomic<Clock::rep> stop_at_{Clock::time_point::max().time_since_epoch().count()};
  std::mutex join_mutex_;
  std::thread thread_;
};

Engine::Impl::Impl(const EngineOptions& options, runtime::StepRunner* runner,
                   const text::Tokenizer* tokenizer)
    : options_(options),
      intake_(options_, runner->limits(), tokenizer),
      queue_({options.max_queued_requests, options.max_queued_tokens, options.max_request_heap}),
      core_(options_, runner, &queue_) {
  PublishStats();
  thread_ = std::thread([this] { Loop(); });
}

Result<std::shared_ptr<TokenStream>> Engine::Impl::Submit(Request request, TokenStream::Wake wake) {
  MOXIE_ASSIGN_OR_RETURN(auto pending, intake_.Prepare(std::move(request), std::move(wake)));
  std::shared_ptr<TokenStream> stream = pending->stream;
  MOXIE_RETURN_IF_ERROR(queue_.Push(std::move(pending)));
  return stream;
}

void Engine::Impl::Stop(std::chrono::milliseconds limit) {
  const std::chrono::milliseconds bounded =
      std::min<std::chrono::milliseconds>(limit, kLongestStop);
  const Clock::rep at = (Clock::now() + bounded).time_since_epoch().count();
  Clock::rep earliest = stop_at_.load();
  while (at < earliest && !stop_at_.compare_exchange_weak(earliest, at)) {
  }
  stopping_.store(true);
  queue_.Close(Unavailable("the engine is shutting down"));
  queue_.Interrupt();
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void Engine::Impl::Loop() {
  while (true) {
    if (core_.idle()) queue_.Wait();
    if (StopDue()) break;
    if (const Status error = core_.Step(); !error.ok()) Fail(error);
    PublishStats();
  }
  core_.EndAll(FinishReason::kAbort, {});
  PublishStats();
}

bool Engine::Impl::StopDue() const {
  if (!stopping_.load()) return false;
  const bool done = core_.idle() && queue_.empty();
  return done || Clock::now().time_since_epoch().count() >= stop_at_.load();
}

// Closes the queue before ending what is in it, so that nothing can slip in behind and wait for
// ever.
void Engine::Impl::Fail(const Status& error) {
  const Status failed(error.code(), StrCat("a step of the model failed: ", error.message()));
  {
    const std::lock_guard lock(mutex_);
    health_ = failed;
  }
  queue_.Close(Unavailable("the engine has stopped: ", failed.message()));
  core_.EndAll(FinishReason::kError, failed);
}

void Engine::Impl::PublishStats() {
  const std::lock_guard lock(mutex_);
  stats_ = core_.Stats();
}

Status Engine::Impl::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

EngineStats Engine::Impl::stats() const {
  EngineStats stats;
  {
    const std::lock_guard lock(mutex_);
    stats = stats_;
  }
  queue_.Report(stats);
  return stats;
}

Result<std::unique_ptr<Engine>> Engine::Start(const EngineOptions& options,
                                              runtime::StepRunner* runner,
                                              const text::Tokenizer* tokenizer) {
  MOXIE_RETURN_IF_ERROR(CheckOptions(options, runner->limits()));
  return std::unique_ptr<Engine>(new Engine(std::make_unique<Impl>(options, runner, tokenizer)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::shared_ptr<TokenStream>> Engine::Submit(Request request, TokenStream::Wake wake) {
  return impl_->Submit(std::move(request), std::move(wake));
}
void Engine::Stop(std::chrono::milliseconds limit) { impl_->Stop(limit); }
bool Engine::healthy() const { return impl_->health().ok(); }
Status Engine::health() const { return impl_->health(); }
EngineStats Engine::stats() const { return impl_->stats(); }
RequestLimits Engine::limits() const { return impl_->limits(); }

}  // namespace moxie::engine
