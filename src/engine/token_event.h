// What comes back from the engine: the news of one request since the reader last looked.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "base/status.h"

namespace moxie::engine {

enum class FinishReason : uint8_t {
  kNone,    // still running
  kStop,    // an end token, a stop token or a stop string
  kLength,  // max_tokens or max_model_len reached
  kAbort,   // the reader went away, or the engine was stopped
  kError,   // see TokenEvent::error
};
// "stop", "length", "abort", "error"; "" for kNone.
std::string_view Name(FinishReason reason);

// What ended a kStop: nothing to name (the model's end token), a stop token id, or a stop string.
using StopReason = std::variant<std::monostate, int32_t, std::string_view>;

struct Logprob {
  int32_t token = 0;
  float logprob = 0;  // of the raw logits (vLLM's raw_logprobs), natural log
};

// The chosen token at one position, its rank among all (1: the likeliest), and the likeliest tokens
// there, by falling logprob then rising id; the chosen one may or may not be among them.
struct TokenLogprobs {
  Logprob chosen;
  int32_t rank = 0;
  std::span<const Logprob> top;
};

using Clock = std::chrono::steady_clock;

// When things happened; a time that has not come is the epoch.
struct RequestTimes {
  Clock::time_point arrival;
  Clock::time_point scheduled;  // first step that ran some of it
  Clock::time_point first_token;
  Clock::time_point finished;
};

// All spans and views point into the TokenStream and live as long as it does. Any part may be
// empty: a token may show no text yet, and the last event may bring held back text but no token.
struct TokenEvent {
  std::span<const int32_t> token_ids;  // new ids, the one that ended the answer included
  int64_t first_token = 0;             // index of token_ids[0] in the answer
  std::string_view text;               // new text: valid UTF-8, without stop strings
  FinishReason finish = FinishReason::kNone;
  StopReason stop_reason;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;      // of the prompt, found in the prefix cache
  int64_t completion_tokens = 0;  // all so far, these included
  Status error;                   // not OK exactly when finish is kError
  RequestTimes times;
};

}  // namespace moxie::engine
