// OutputProcessor: from token ids to the text and the end of one answer. Runs on the engine thread;
// all that the scheduler learns from it is whether the answer has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/request.h"
#include "engine/stop_matcher.h"
#include "engine/token_event.h"
#include "engine/token_stream.h"
#include "text/detokenizer.h"

namespace moxie::engine {

// What a tokenizer's tokens can show, wherever they stand.
struct TokenTextBounds {
  int64_t max_bytes = 0;         // of one token's text
  int32_t longest_ordinary = 0;  // the ordinary (not special) token with the most bytes
};
TokenTextBounds FindTokenTextBounds(const text::Tokenizer& tokenizer);

class OutputProcessor {
 public:
  // `tokenizer`, `stream` and `eos_ids` must outlive it. `max_tokens` is the answer's. Allocates
  // what later calls need, but for a run of byte tokens (of a byte-fallback tokenizer) longer than
  // any ordinary token.
  OutputProcessor(const text::Tokenizer* tokenizer, const TokenTextBounds& bounds,
                  const SamplingParams& params, std::span<const int32_t> eos_ids,
                  int64_t max_tokens, TokenStream* stream);

  // Takes the answer's next token and publishes it with the text that is decided. Ends the stream,
  // and returns why, when it is an end token (vLLM's order: the model's, then stop_token_ids),
  // completes a stop string, or is the last one allowed; else kNone.
  FinishReason Accept(int32_t token);

  // Ends the answer from outside: everything generated is shown.
  void Finish(FinishReason reason, const StopReason& stop_reason = {}, Status error = {});

 private:
  // Why this token ends the answer by itself, if it does.
  std::optional<StopReason> EndToken(int32_t token) const;
  // Appends the token's text to the stream.
  void AppendText(int32_t token);
  // The stop string that the last appended text completes, if any.
  std::optional<StopMatcher::Match> MatchStop();

  text::IncrementalDetokenizer detokenizer_;
  StopMatcher matcher_;
  TokenStream* const stream_;
  const std::span<const int32_t> eos_ids_;  // empty with ignore_eos
  const std::vector<int32_t> stop_ids_;
  const int64_t max_tokens_;
  const int64_t min_tokens_;
  const bool include_stop_;
  int64_t tokens_ = 0;
  int64_t unmatched_text_ =
      0;               // bytes of the first min_tokens tokens, which no stop string may touch
  std::string delta_;  // text of the last token
};

}  // namespace moxie::engine
