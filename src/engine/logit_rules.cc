#include "engine/logit_rules.h"

#include <algorithm>
#include <limits>

namespace moxie::engine {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

bool HasPenalties(const SamplingParams& p) {
  return p.repetition_penalty != 1 || p.presence_penalty != 0 || p.frequency_penalty != 0;
}

bool MayNotEnd(const SamplingInput& in) {
  return static_cast<int64_t>(in.answer.size()) < in.params.min_tokens;
}

bool HasRules(const SamplingInput& in) {
  const SamplingParams& p = in.params;
  return p.allowed_token_ids || !p.bad_words.empty() || !p.logit_bias.empty() || MayNotEnd(in) ||
         HasPenalties(p);
}

}  // namespace

LogitRules::LogitRules(int64_t vocab_size)
    : row_(static_cast<size_t>(vocab_size)), counts_(static_cast<size_t>(vocab_size), 0) {}

int64_t LogitRules::Bytes(int64_t vocab_size) {
  return vocab_size * static_cast<int64_t>(sizeof(float) + sizeof(int32_t));
}

std::span<const float> LogitRules::Apply(std::span<const float> logits, const SamplingInput& in) {
  if (!HasRules(in)) return logits;
  const SamplingParams& p = in.params;
  auto at = [&](int32_t id) -> float& { return row_[static_cast<size_t>(id)]; };
  if (p.allowed_token_ids) {
    std::ranges::fill(row_, kMasked);
    for (int32_t id : *p.allowed_token_ids) at(id) = logits[static_cast<size_t>(id)];
  } else {
    std::ranges::copy(logits, row_.begin());
  }
  MaskBadWords(in);
  for (const auto& [id, bias] : p.logit_bias) at(id) += static_cast<float>(bias);
  if (MayNotEnd(in)) {
    for (int32_t id : p.stop_token_ids) at(id) = kMasked;
    if (!p.ignore_eos) {
      for (int32_t id : in.eos_ids) at(id) = kMasked;
    }
  }
  if (HasPenalties(p)) ApplyPenalties(in);
  return row_;
}

void LogitRules::MaskBadWords(const SamplingInput& in) {
  for (const std::vector<int32_t>& word : in.params.bad_words) {
    const auto begin = std::span(word).first(word.size() - 1);
    if (begin.size() > in.answer.size()) continue;
    if (std::ranges::equal(begin, in.answer.last(begin.size()))) {
      row_[static_cast<size_t>(word.back())] = kMasked;
    }
  }
}

void LogitRules::ApplyPenalties(const SamplingInput& in) {
  const SamplingParams& p = in.params;
  if (p.repetition_penalty != 1) {
    Repeat(in.prompt, p.repetition_penalty);
    Repeat(in.answer, p.repetition_penalty);
    for (int32_t id : in.prompt) counts_[static_cast<size_t>(id)] = 0;
    for (int32_t id : in.answer) counts_[static_cast<size_t>(id)] = 0;
  }
  if (p.frequency_penalty == 0 && p.presence_penalty == 0) return;
  for (int32_t id : in.answer) ++counts_[static_cast<size_t>(id)];
  for (int32_t id : in.answer) {
    int32_t& count = counts_[static_cast<size_t>(id)];
    if (count == 0) continue;
    const double penalty = p.frequency_penalty * count + p.presence_penalty;
    row_[static_cast<size_t>(id)] -= static_cast<float>(penalty);
    count = 0;
  }
}

// Any finite penalty is allowed, so what it makes of a logit is kept finite: an infinity would mask
// the token (or every other one).
void LogitRules::Repeat(std::span<const int32_t> ids, double penalty) {
  constexpr double kMost = std::numeric_limits<float>::max();
  for (int32_t id : ids) {
    const auto i = static_cast<size_t>(id);
    if (counts_[i]++ != 0) continue;
    if (row_[i] == kMasked) continue;
    const double logit = row_[i] > 0 ? row_[i] / penalty : row_[i] * penalty;
    row_[i] = static_cast<float>(std::clamp(logit, -kMost, kMost));
  }
}

}  // namespace moxie::engine
