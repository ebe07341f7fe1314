// TokenStream: the way of one answer from the engine thread to its reader.
//
// All that an answer can ever hold (ids, text, logprobs) is allocated by Submit for max_tokens, so
// the engine only appends: a slow reader neither grows memory nor stalls a step. Pages are touched
// as they are written.
//
// Threads: the engine thread writes; one reader at a time calls Read(). Abort() and aborted() from
// anywhere. What was published stays readable, unchanged, for the stream's life.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/request.h"
#include "engine/token_event.h"

namespace moxie::engine {

class TokenStream {
 public:
  // Called on the engine thread when there is something to Read(), at most once between two Read()
  // calls. It must be quick, not block, and not throw: post to a loop, write an eventfd, notify a
  // condition variable.
  using Wake = std::function<void()>;

  // --- Reader ---

  // Takes what came since the last call. False: nothing new, `event` is unchanged, and Wake will be
  // called. After an event with `finish` set, always false.
  bool Read(TokenEvent& event);
  // Blocks until Read() gives something; for readers without an event loop. REQUIRES: no Wake was
  // given, and the last event has not been read.
  TokenEvent WaitAndRead();

  // Of output token i. REQUIRES: logprobs were asked for, and token i was in an event.
  TokenLogprobs logprobs(int64_t i) const;
  // Of prompt token i, 1 <= i < prompt_tokens. REQUIRES: prompt_logprobs were asked for, and an
  // event was read.
  TokenLogprobs prompt_logprobs(int64_t i) const;
  bool has_logprobs() const { return logprobs_.wanted; }
  bool has_prompt_logprobs() const { return prompt_logprobs_.wanted; }
  // Bytes of text that were out after output token i. REQUIRES: token i was in an event.
  int64_t text_end(int64_t i) const { return text_ends_[i]; }

  // Asks the engine to end the request before its next step; its blocks are free then. Idempotent.
  void Abort() { abort_.store(true, std::memory_order_relaxed); }
  bool aborted() const { return abort_.load(std::memory_order_relaxed); }

  // Number of the request in this engine, from 1.
  uint64_t id() const { return id_; }

  // --- Engine ---

  // `max_text_bytes` bounds all text of the answer.
  TokenStream(uint64_t id, const Request& request, int64_t max_tokens, int64_t max_text_bytes,
              Wake wake);
  // Allocates all that the answer will ever need; until then the stream is small, however many of
  // them wait. Throws std::bad_alloc. REQUIRES: once, before anything is written but Finish().
  void Reserve();
  TokenStream(const TokenStream&) = delete;
  TokenStream& operator=(const TokenStream&) = delete;

  // Bytes that a stream of these sizes holds.
  static int64_t Bytes(int64_t prompt_tokens, int64_t max_tokens, int64_t max_text_bytes,
                       std::optional<int64_t> logprobs, std::optional<int64_t> prompt_logprobs);

  // Where to write the alternatives of output token i, or of prompt token i; `top` has the asked
  // size.
  struct LogprobSlot {
    Logprob* chosen;
    int32_t* rank;
    std::span<Logprob> top;
  };
  LogprobSlot logprob_slot(int64_t i) { return logprobs_.slot(i); }
  LogprobSlot prompt_logprob_slot(int64_t i) { return prompt_logprobs_.slot(i); }

  RequestTimes& times() { return times_; }
  // Prompt tokens found in the prefix cache. REQUIRES: nothing was published yet.
  void SetCachedTokens(int64_t tokens) { cached_tokens_ = tokens; }
  int64_t cached_tokens() const { return cached_tokens_; }
  // Text goes in as it is made and is shown up to the `text_end` of what is published: the rest is
  // held back. REQUIRES: all text of the answer within max_text_bytes.
  void AppendText(std::string_view text);
  int64_t text_size() const { return text_size_; }
  // REQUIRES: fewer than max_tokens published; text_end <= text_size() and not less than before.
  void PublishToken(int32_t id, int64_t text_end);
  // The last call. A stop string in `stop_reason` is copied.
  void Finish(FinishReason reason, const StopReason& stop_reason, int64_t text_end, Status error);
  // Calls Wake if the reader waits for it.
  void Notify();

 private:
  struct LogprobTable {
    explicit LogprobTable(std::optional<int64_t> alternatives);
    void Reserve(int64_t positions);
    LogprobSlot slot(int64_t i);
    TokenLogprobs at(int64_t i) const;
    bool wanted = false;
    int64_t width = 0;                  // alternatives a position
    std::unique_ptr<Logprob[]> chosen;  // [positions]
    std::unique_ptr<int32_t[]> ranks;   // [positions]
    std::unique_ptr<Logprob[]> top;     // [positions, width]
  };

  const uint64_t id_;
  const int64_t prompt_tokens_;
  const int64_t max_tokens_;
  const int64_t max_text_bytes_;
  const Wake wake_;
  std::unique_ptr<int32_t[]> ids_;        // [max_tokens]
  std::unique_ptr<int64_t[]> text_ends_;  // [max_tokens] bytes of text out after each token
  std::unique_ptr<char[]> text_;          // [max_text_bytes]
  LogprobTable logprobs_;                 // [max_tokens]
  LogprobTable prompt_logprobs_;          // [prompt_tokens]
  RequestTimes times_;

  int64_t text_size_ = 0;  // the engine's own

  int64_t cached_tokens_ = 0;  // written before the first token is published

  // Written before finished_.
  int64_t final_text_end_ = 0;
  FinishReason finish_ = FinishReason::kNone;
  StopReason stop_reason_;
  std::string stop_string_;
  Status error_;

  std::atomic<int64_t> published_{0};  // tokens
  std::atomic<bool> finished_{false};
  std::atomic<uint32_t> news_{0};  // bumped by Notify(); WaitAndRead() sleeps on it
  std::atomic<bool> reader_waits_{true};
  std::atomic<bool> abort_{false};

  // The reader's own.
  int64_t read_tokens_ = 0;
  int64_t read_text_ = 0;
  bool read_finish_ = false;
};

}  // namespace moxie::engine
