// A request: a prompt as token ids, and how to continue it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace moxie::engine {

// What the ranges of a request depend on.
struct RequestLimits {
  int64_t vocab_size = 0;
  int64_t max_model_len = 0;  // tokens of prompt and answer together
  int64_t pool_tokens = 0;    // tokens that the whole KV pool holds
  int64_t max_logprobs = 0;   // alternatives a position
  bool priorities = false;    // requests may have one
};

// Bounds on the lists that a client sends.
inline constexpr int64_t kMaxStopStrings = 64;
inline constexpr int64_t kMaxStopStringBytes = 4096;
inline constexpr int64_t kMaxStopTokenIds = 1024;
inline constexpr int64_t kMaxLogitBiases = 1024;
inline constexpr int64_t kMaxBadWords = 1024;
inline constexpr int64_t kMaxBadWordBytes = 4096;
inline constexpr int64_t kMaxCacheSalt = 1024;  // characters

// How tokens are chosen and where generation ends, with vLLM's meanings.
struct SamplingParams {
  double temperature = 1.0;         // [0, 2]; below 1e-5: greedy
  double top_p = 1.0;               // (0, 1]
  int64_t top_k = 0;                // >= 1; 0 and -1: off
  double min_p = 0.0;               // [0, 1]
  double presence_penalty = 0.0;    // [-2, 2], output tokens only
  double frequency_penalty = 0.0;   // [-2, 2], output tokens only
  double repetition_penalty = 1.0;  // > 0, prompt and output tokens
  std::optional<int64_t> seed;      // any 64 bits; absent: drawn from the engine's seed
  std::optional<int64_t>
      max_tokens;           // >= 1, or 0 with prompt_logprobs; absent: up to max_model_len
  int64_t min_tokens = 0;   // no end token and no stop string before so many
  bool ignore_eos = false;  // the model's end tokens do not end the answer
  std::vector<int32_t> stop_token_ids;
  std::vector<std::string> stop;  // matched on the text, across tokens
  bool include_stop_str_in_output = false;
  bool skip_special_tokens = true;  // special tokens give no text
  std::optional<int64_t> logprobs;  // alternatives for each output token, 0: the chosen one only
  std::optional<int64_t> prompt_logprobs;  // the same for each prompt token but the first
  std::vector<std::pair<int32_t, double>> logit_bias;     // added first; [-100, 100]
  std::optional<std::vector<int32_t>> allowed_token_ids;  // nothing else is sampled
  // Never in the answer: where all but the last id of one end it so far, the last one is not
  // sampled.
  std::vector<std::vector<int32_t>> bad_words;

  bool greedy() const { return temperature < 1e-5; }

  // The first field out of its range. The message starts with the field: `top_p: must be in (0, 1],
  // got 2`.
  Status Validate(const RequestLimits& limits) const;
};

struct Request {
  std::string id;                   // for logs and errors; need not be unique
  std::vector<int32_t> prompt_ids;  // [1, max_model_len) ids in [0, V)
  SamplingParams sampling;
  // Which of the n answers to one prompt this is: answers with the same seed draw from streams of
  // their own, the same whatever n is.
  int32_t choice = 0;
  // Requests share blocks of the KV cache with those of the same salt only, 1 to
  // kMaxCacheSalt characters; absent: with those without one.
  std::optional<std::string> cache_salt;
  // Lower ones are served first, and are the last to give way; only where limits say priorities.
  int64_t priority = 0;

  // Tokens of prompt and answer at most. REQUIRES: Validate() is OK.
  int64_t MaxTotalTokens(const RequestLimits& limits) const;

  // Heap that it and what serves it hold until it ends, but for its answer.
  int64_t HeapBytes() const;

  // Sampling fields, priority, prompt ids, and that the request can ever fit: prompt + max_tokens
  // within max_model_len and the KV pool. The message starts with the field and states the numbers.
  Status Validate(const RequestLimits& limits) const;

 private:
  Status CheckSharing() const;
};

}  // namespace moxie::engine
