#include "engine/request.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace moxie::engine {
namespace {

// A number's field, its value, and the interval it must be in.
struct RangeRow {
  const char* field;
  double SamplingParams::*value;
  double low;
  double high;
  bool low_open;
  const char* interval;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr RangeRow kRanges[] = {
    {"temperature", &SamplingParams::temperature, 0, 2, false, "[0, 2]"},
    {"top_p", &SamplingParams::top_p, 0, 1, true, "(0, 1]"},
    {"min_p", &SamplingParams::min_p, 0, 1, false, "[0, 1]"},
    {"presence_penalty", &SamplingParams::presence_penalty, -2, 2, false, "[-2, 2]"},
    {"frequency_penalty", &SamplingParams::frequency_penalty, -2, 2, false, "[-2, 2]"},
    {"repetition_penalty", &SamplingParams::repetition_penalty, 0, kInfinity, true,
     "greater than 0"},
};

Status CheckRange(const RangeRow& row, double value) {
  const bool above = row.low_open ? value > row.low : value >= row.low;
  if (above && value <= row.high && std::isfinite(value)) return {};
  return InvalidArgument(row.field, ": must be ", row.high == kInfinity ? "" : "in ", row.interval,
                         ", got ", value);
}

Status CheckTokenId(const char* field, int64_t id, int64_t vocab_size) {
  if (id >= 0 && id < vocab_size) return {};
  return InvalidArgument(field, ": token id ", id, " is not in the vocabulary, [0, ", vocab_size,
                         ")");
}

Status CheckTokenIds(const char* field, const std::vector<int32_t>& ids, int64_t vocab_size) {
  for (int32_t id : ids) MOXIE_RETURN_IF_ERROR(CheckTokenId(field, id, vocab_size));
  return {};
}

Status CheckCount(const char* field, size_t count, int64_t max) {
  if (static_cast<int64_t>(count) <= max) return {};
  return InvalidArgument(field, ": at most ", max, " entries, got ", count);
}

Status CheckLengths(const SamplingParams& p) {
  const int64_t least = p.prompt_logprobs ? 0 : 1;
  if (p.max_tokens && *p.max_tokens < least) {
    return InvalidArgument("max_tokens: must be at least 1 (or 0 with prompt_logprobs), got ",
                           *p.max_tokens);
  }
  if (p.min_tokens < 0)
    return InvalidArgument("min_tokens: must be at least 0, got ", p.min_tokens);
  if (p.max_tokens && p.min_tokens > *p.max_tokens) {
    return InvalidArgument("min_tokens: must be at most max_tokens, ", *p.max_tokens, ", got ",
                           p.min_tokens);
  }
  return {};
}

Status CheckStops(const SamplingParams& p, int64_t vocab_size) {
  MOXIE_RETURN_IF_ERROR(CheckCount("stop_token_ids", p.stop_token_ids.size(), kMaxStopTokenIds));
  MOXIE_RETURN_IF_ERROR(CheckTokenIds("stop_token_ids", p.stop_token_ids, vocab_size));
  MOXIE_RETURN_IF_ERROR(CheckCount("stop", p.stop.size(), kMaxStopStrings));
  for (const std::string& stop : p.stop) {
    if (stop.empty()) return InvalidArgument("stop: an empty string is not a stop string");
    if (static_cast<int64_t>(stop.size()) > kMaxStopStringBytes) {
      return InvalidArgument("stop: a string of at most ", kMaxStopStringBytes, " bytes, got ",
                             stop.size());
    }
  }
  return {};
}

Status CheckLogprobs(const char* field, const std::optional<int64_t>& count, int64_t max) {
  if (!count || (*count >= 0 && *count <= max)) return {};
  return InvalidArgument(field, ": must be in [0, ", max, "] (--max-logprobs), got ", *count);
}

Status CheckBiases(const SamplingParams& p, int64_t vocab_size) {
  MOXIE_RETURN_IF_ERROR(CheckCount("logit_bias", p.logit_bias.size(), kMaxLogitBiases));
  for (const auto& [id, bias] : p.logit_bias) {
    MOXIE_RETURN_IF_ERROR(CheckTokenId("logit_bias", id, vocab_size));
    if (!(bias >= -100 && bias <= 100)) {
      return InvalidArgument("logit_bias: must be in [-100, 100], got ", bias, " for token ", id);
    }
  }
  // As text or with a space before it, each word is two at most.
  MOXIE_RETURN_IF_ERROR(CheckCount("bad_words", p.bad_words.size(), 2 * kMaxBadWords));
  for (const std::vector<int32_t>& word : p.bad_words) {
    if (word.empty()) return InvalidArgument("bad_words: a word of no tokens");
    MOXIE_RETURN_IF_ERROR(CheckTokenIds("bad_words", word, vocab_size));
  }
  if (!p.allowed_token_ids) return {};
  if (p.allowed_token_ids->empty()) return InvalidArgument("allowed_token_ids: must not be empty");
  MOXIE_RETURN_IF_ERROR(CheckCount("allowed_token_ids", p.allowed_token_ids->size(), vocab_size));
  return CheckTokenIds("allowed_token_ids", *p.allowed_token_ids, vocab_size);
}

}  // namespace

Status SamplingParams::Validate(const RequestLimits& limits) const {
  for (const RangeRow& row : kRanges) MOXIE_RETURN_IF_ERROR(CheckRange(row, this->*row.value));
  if (top_k < -1)
    return InvalidArgument("top_k: must be at least 1, or 0 or -1 for off, got ", top_k);
  MOXIE_RETURN_IF_ERROR(CheckLengths(*this));
  MOXIE_RETURN_IF_ERROR(CheckStops(*this, limits.vocab_size));
  MOXIE_RETURN_IF_ERROR(CheckLogprobs("logprobs", logprobs, limits.max_logprobs));
  MOXIE_RETURN_IF_ERROR(CheckLogprobs("prompt_logprobs", prompt_logprobs, limits.max_logprobs));
  return CheckBiases(*this, limits.vocab_size);
}

Status Request::CheckSharing() const {
  if (!cache_salt) return {};
  const auto size = std::ranges::count_if(*cache_salt, [](char c) { return (c & 0xC0) != 0x80; });
  if (size >= 1 && size <= kMaxCacheSalt) return {};
  return InvalidArgument("cache_salt: must be a string of 1 to ", kMaxCacheSalt,
                         " characters, got ", size);
}

// Stop ids are kept twice and stop strings three times (by the request, the matcher, the stream),
// with an int for each byte; a salt becomes a hash.
int64_t Request::HeapBytes() const {
  constexpr int64_t kStringBytes = sizeof(std::string) + sizeof(std::vector<int32_t>);
  constexpr int64_t kId = sizeof(int32_t);
  const auto size = [](const auto& list) { return static_cast<int64_t>(list.size()); };
  int64_t bytes = kId * (size(prompt_ids) + 2 * size(sampling.stop_token_ids));
  for (const std::string& stop : sampling.stop) {
    bytes += 2 * kStringBytes + (3 + kId) * (size(stop) + 1);
  }
  bytes += size(sampling.logit_bias) * static_cast<int64_t>(sizeof(sampling.logit_bias[0]));
  if (sampling.allowed_token_ids) bytes += kId * size(*sampling.allowed_token_ids);
  for (const std::vector<int32_t>& word : sampling.bad_words) {
    bytes += static_cast<int64_t>(sizeof word) + kId * size(word);
  }
  if (cache_salt) bytes += size(*cache_salt);
  return bytes + size(id);
}

int64_t Request::MaxTotalTokens(const RequestLimits& limits) const {
  if (!sampling.max_tokens) return limits.max_model_len;
  return static_cast<int64_t>(prompt_ids.size()) + *sampling.max_tokens;
}

Status Request::Validate(const RequestLimits& limits) const {
  MOXIE_RETURN_IF_ERROR(sampling.Validate(limits));
  MOXIE_RETURN_IF_ERROR(CheckSharing());
  if (priority != 0 && !limits.priorities) {
    return InvalidArgument("priority: ", priority,
                           " needs a server started with --scheduling-policy priority");
  }
  const int64_t prompt = static_cast<int64_t>(prompt_ids.size());
  if (prompt == 0) return InvalidArgument("prompt: must have at least one token");
  MOXIE_RETURN_IF_ERROR(CheckTokenIds("prompt", prompt_ids, limits.vocab_size));
  const int64_t answer = sampling.max_tokens.value_or(1);
  if (prompt > limits.max_model_len - answer) {
    const char* field = prompt >= limits.max_model_len ? "prompt" : "max_tokens";
    return InvalidArgument(field, ": ", prompt, " prompt tokens and ", answer,
                           " for the answer do not fit the model's context of ",
                           limits.max_model_len, " tokens");
  }
  const int64_t total = MaxTotalTokens(limits);
  if (total > limits.pool_tokens) {
    return InvalidArgument("max_tokens: ", prompt, " prompt tokens and ", total - prompt,
                           " for the answer need ", total,
                           " tokens of KV cache, but all of it holds ", limits.pool_tokens);
  }
  return {};
}

}  // namespace moxie::engine
