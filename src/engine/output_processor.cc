#include "engine/output_processor.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"

namespace moxie::engine {

// Valid UTF-8 shows as it is. Bytes that are part of a character may each become U+FFFD, three
// bytes; so may a single byte of a byte-fallback tokenizer, in a run that is broken elsewhere.
TokenTextBounds FindTokenTextBounds(const text::Tokenizer& tokenizer) {
  size_t most = 3;
  size_t most_ordinary = 0;
  TokenTextBounds bounds;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string bytes = tokenizer.TokenBytes(id);
    most = std::max(most, text::IsValidUtf8(bytes) ? bytes.size() : 3 * bytes.size());
    if (bytes.size() <= most_ordinary || tokenizer.IsSpecial(id)) continue;
    most_ordinary = bytes.size();
    bounds.longest_ordinary = id;
  }
  bounds.max_bytes = static_cast<int64_t>(most);
  return bounds;
}

OutputProcessor::OutputProcessor(const text::Tokenizer* tokenizer, const TokenTextBounds& bounds,
                                 const SamplingParams& params, std::span<const int32_t> eos_ids,
                                 int64_t max_tokens, TokenStream* stream)
    : detokenizer_(*tokenizer, params.skip_special_tokens),
      matcher_(params.stop),
      stream_(stream),
      eos_ids_(params.ignore_eos ? std::span<const int32_t>{} : eos_ids),
      stop_ids_(params.stop_token_ids),
      max_tokens_(max_tokens),
      min_tokens_(params.min_tokens),
      include_stop_(params.include_stop_str_in_output) {
  delta_.reserve(static_cast<size_t>(bounds.max_bytes));
  // The detokenizer's buffers grow to the longest token here, not on the engine thread.
  detokenizer_.Push(bounds.longest_ordinary, delta_);
  detokenizer_.Flush();
}

FinishReason OutputProcessor::Accept(int32_t token) {
  ++tokens_;
  if (const std::optional<StopReason> end = EndToken(token)) {
    if (include_stop_) AppendText(token);
    stream_->PublishToken(token, stream_->text_size());
    Finish(FinishReason::kStop, *end);
    return FinishReason::kStop;
  }
  AppendText(token);
  if (const std::optional<StopMatcher::Match> match = MatchStop()) {
    const int64_t text_end = unmatched_text_ + (include_stop_ ? match->end : match->begin);
    stream_->PublishToken(token, text_end);
    stream_->Finish(FinishReason::kStop, match->stop, text_end, {});
    return FinishReason::kStop;
  }
  stream_->PublishToken(token, stream_->text_size() - matcher_.undecided());
  if (tokens_ < max_tokens_) return FinishReason::kNone;
  Finish(FinishReason::kLength);
  return FinishReason::kLength;
}

void OutputProcessor::Finish(FinishReason reason, const StopReason& stop_reason, Status error) {
  stream_->AppendText(detokenizer_.Flush());
  stream_->Finish(reason, stop_reason, stream_->text_size(), std::move(error));
}

std::optional<StopReason> OutputProcessor::EndToken(int32_t token) const {
  auto has = [token](const auto& ids) { return std::ranges::find(ids, token) != ids.end(); };
  if (has(eos_ids_)) return StopReason(std::monostate{});
  if (has(stop_ids_)) return StopReason(token);
  return std::nullopt;
}

void OutputProcessor::AppendText(int32_t token) {
  delta_.clear();
  detokenizer_.Push(token, delta_);
  stream_->AppendText(delta_);
}

std::optional<StopMatcher::Match> OutputProcessor::MatchStop() {
  if (tokens_ > min_tokens_) return matcher_.Feed(delta_);
  unmatched_text_ = stream_->text_size();
  return std::nullopt;
}

}  // namespace moxie::engine
