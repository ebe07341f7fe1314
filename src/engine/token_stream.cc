#include "engine/token_stream.h"

#include <algorithm>
#include <cstring>

namespace moxie::engine {
namespace {

int64_t TableBytes(int64_t positions, std::optional<int64_t> alternatives) {
  if (!alternatives) return 0;
  const int64_t each = sizeof(Logprob) + sizeof(int32_t) + *alternatives * sizeof(Logprob);
  return positions * each;
}

// Uninitialised: pages are touched when they are written.
template <typename T>
std::unique_ptr<T[]> Allocate(int64_t count) {
  return std::make_unique_for_overwrite<T[]>(static_cast<size_t>(count));
}

}  // namespace

TokenStream::LogprobTable::LogprobTable(std::optional<int64_t> alternatives)
    : wanted(alternatives.has_value()), width(alternatives.value_or(0)) {}

void TokenStream::LogprobTable::Reserve(int64_t positions) {
  if (!wanted) return;
  chosen = Allocate<Logprob>(positions);
  ranks = Allocate<int32_t>(positions);
  top = Allocate<Logprob>(positions * width);
}

TokenStream::LogprobSlot TokenStream::LogprobTable::slot(int64_t i) {
  return {&chosen[i], &ranks[i], {top.get() + i * width, static_cast<size_t>(width)}};
}

TokenLogprobs TokenStream::LogprobTable::at(int64_t i) const {
  return {chosen[i], ranks[i], {top.get() + i * width, static_cast<size_t>(width)}};
}

TokenStream::TokenStream(uint64_t id, const Request& request, int64_t max_tokens,
                         int64_t max_text_bytes, Wake wake)
    : id_(id),
      prompt_tokens_(static_cast<int64_t>(request.prompt_ids.size())),
      max_tokens_(max_tokens),
      max_text_bytes_(max_text_bytes),
      wake_(std::move(wake)),
      logprobs_(request.sampling.logprobs),
      prompt_logprobs_(request.sampling.prompt_logprobs) {
  times_.arrival = Clock::now();
  size_t longest_stop = 0;
  for (const std::string& stop : request.sampling.stop) {
    longest_stop = std::max(longest_stop, stop.size());
  }
  stop_string_.reserve(longest_stop);
}

void TokenStream::Reserve() {
  ids_ = Allocate<int32_t>(max_tokens_);
  text_ends_ = Allocate<int64_t>(max_tokens_);
  text_ = Allocate<char>(max_text_bytes_);
  logprobs_.Reserve(max_tokens_);
  prompt_logprobs_.Reserve(prompt_tokens_);
}

int64_t TokenStream::Bytes(int64_t prompt_tokens, int64_t max_tokens, int64_t max_text_bytes,
                           std::optional<int64_t> logprobs,
                           std::optional<int64_t> prompt_logprobs) {
  return static_cast<int64_t>(sizeof(TokenStream)) +
         max_tokens * static_cast<int64_t>(sizeof(int32_t) + sizeof(int64_t)) + max_text_bytes +
         TableBytes(max_tokens, logprobs) + TableBytes(prompt_tokens, prompt_logprobs);
}

TokenLogprobs TokenStream::logprobs(int64_t i) const { return logprobs_.at(i); }

TokenLogprobs TokenStream::prompt_logprobs(int64_t i) const { return prompt_logprobs_.at(i); }

bool TokenStream::Read(TokenEvent& event) {
  if (read_finish_) return false;
  // Order matters: waiting is announced before looking, so news that this look misses will call
  // Wake.
  reader_waits_.store(true);
  const bool finished = finished_.load();
  const int64_t tokens = published_.load();
  if (tokens == read_tokens_ && !finished) return false;

  const int64_t text_end = finished ? final_text_end_ : text_ends_[tokens - 1];
  event = TokenEvent{};
  event.token_ids = {ids_.get() + read_tokens_, static_cast<size_t>(tokens - read_tokens_)};
  event.first_token = read_tokens_;
  event.text = {text_.get() + read_text_, static_cast<size_t>(text_end - read_text_)};
  event.prompt_tokens = prompt_tokens_;
  event.cached_tokens = cached_tokens_;
  event.completion_tokens = tokens;
  event.times.arrival = times_.arrival;
  event.times.scheduled = times_.scheduled;
  event.times.first_token = times_.first_token;
  if (finished) {
    event.finish = finish_;
    event.stop_reason = stop_reason_;
    event.error = error_;
    event.times.finished = times_.finished;
  }
  read_tokens_ = tokens;
  read_text_ = text_end;
  read_finish_ = finished;
  return true;
}

TokenEvent TokenStream::WaitAndRead() {
  TokenEvent event;
  while (true) {
    const uint32_t seen = news_.load();
    if (Read(event)) return event;
    news_.wait(seen);
  }
}

void TokenStream::AppendText(std::string_view text) {
  std::memcpy(text_.get() + text_size_, text.data(), text.size());
  text_size_ += static_cast<int64_t>(text.size());
}

void TokenStream::PublishToken(int32_t id, int64_t text_end) {
  const int64_t i = published_.load(std::memory_order_relaxed);
  ids_[i] = id;
  text_ends_[i] = text_end;
  published_.store(i + 1);
}

void TokenStream::Finish(FinishReason reason, const StopReason& stop_reason, int64_t text_end,
                         Status error) {
  final_text_end_ = text_end;
  finish_ = reason;
  stop_reason_ = stop_reason;
  if (const auto* stop = std::get_if<std::string_view>(&stop_reason)) {
    stop_string_ = *stop;
    stop_reason_ = std::string_view(stop_string_);
  }
  error_ = std::move(error);
  times_.finished = Clock::now();
  finished_.store(true);
}

void TokenStream::Notify() {
  news_.fetch_add(1);
  news_.notify_one();
  if (wake_ && reader_waits_.exchange(false)) wake_();
}

}  // namespace moxie::engine
