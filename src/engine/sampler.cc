#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/logprobs.h"
#include "engine/philox.h"

namespace moxie::engine {
namespace {

using Candidate = Sampler::Candidate;

// A total order: better candidates first. Weights here are logits or probabilities.
bool Better(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
}

}  // namespace

Sampler::Sampler(int64_t vocab_size) : rules_(vocab_size) {
  candidates_.reserve(static_cast<size_t>(vocab_size));
}

int64_t Sampler::Bytes(int64_t vocab_size) {
  return LogitRules::Bytes(vocab_size) + vocab_size * static_cast<int64_t>(sizeof(Candidate));
}

Result<int32_t> Sampler::Sample(std::span<const float> logits, const SamplingInput& in) {
  MOXIE_RETURN_IF_ERROR(Prepare(logits, in));
  if (candidates_.size() == 1) return candidates_[0].token;
  const auto index = static_cast<uint32_t>(in.answer.size());
  const auto choice = static_cast<uint32_t>(in.choice);
  const uint64_t bits = Low64(Philox4x32({index, choice, 0, 0}, KeyOf(in.seed)));
  double left = ToUnit(bits) * total_;
  for (const Candidate& candidate : candidates_) {
    left -= candidate.weight;
    if (left < 0) return candidate.token;
  }
  return std::ranges::min(candidates_, Better).token;  // rounding used up all weights
}

Result<std::span<const Candidate>> Sampler::Distribution(std::span<const float> logits,
                                                         const SamplingInput& in) {
  MOXIE_RETURN_IF_ERROR(Prepare(logits, in));
  for (Candidate& candidate : candidates_) {
    candidate.weight = static_cast<float>(candidate.weight / total_);
  }
  return std::span<const Candidate>(candidates_);
}

Status Sampler::Prepare(std::span<const float> logits, const SamplingInput& in) {
  MOXIE_RETURN_IF_ERROR(CheckLogits(logits));
  const std::span<const float> row = rules_.Apply(logits, in);
  const auto best = std::max_element(row.begin(), row.end());
  // The model's own logits are sound: the request has masked every token.
  if (!std::isfinite(*best)) {
    return InvalidArgument(in.params.allowed_token_ids
                               ? "allowed_token_ids: none of them may come next; bad_words, "
                                 "logit_bias and min_tokens keep tokens back"
                               : "no token may come next: bad_words, logit_bias and min_tokens "
                                 "keep all of them back");
  }
  const SamplingParams& p = in.params;
  candidates_.clear();
  if (p.greedy()) {
    candidates_.push_back({static_cast<int32_t>(best - row.begin()), 1.0f});
    total_ = 1;
    return {};
  }
  KeepAll(row, *best);
  if (p.top_k > 0) KeepTopK(p.top_k);
  Weigh(p.temperature);
  if (p.top_p < 1) KeepTopP(p.top_p);
  if (p.min_p > 0) KeepMinP(p.min_p);
  return {};
}

// Distances to the maximum: dividing them by a small temperature cannot overflow to +infinity.
void Sampler::KeepAll(std::span<const float> row, float max) {
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == -std::numeric_limits<float>::infinity()) continue;
    candidates_.push_back({static_cast<int32_t>(i), row[i] - max});
  }
}

void Sampler::KeepTopK(int64_t k) {
  if (k >= static_cast<int64_t>(candidates_.size())) return;
  std::nth_element(candidates_.begin(), candidates_.begin() + k, candidates_.end(), Better);
  candidates_.resize(static_cast<size_t>(k), Candidate{});
}

void Sampler::Weigh(double temperature) {
  const auto scale = static_cast<float>(1.0 / temperature);
  for (Candidate& candidate : candidates_) candidate.weight = std::exp(candidate.weight * scale);
  SumWeights();
}

// Keeps the best until their share reaches p, the one that crosses it included. Sorts only as far
// as needed: 64 first, then 8 times as many each time.
void Sampler::KeepTopP(double p) {
  const double wanted = p * total_;
  const size_t size = candidates_.size();
  double sum = 0;
  size_t kept = 0;
  for (size_t sorted = 0, batch = 64; kept < size && sum < wanted; sorted += batch, batch *= 8) {
    const auto begin = candidates_.begin() + static_cast<int64_t>(sorted);
    const size_t count = std::min(batch, size - sorted);
    std::partial_sort(begin, begin + static_cast<int64_t>(count), candidates_.end(), Better);
    for (; kept < sorted + count && sum < wanted; ++kept) sum += candidates_[kept].weight;
  }
  candidates_.resize(std::max<size_t>(kept, 1), Candidate{});
  SumWeights();
}

// Keeps what is at least p times as likely as the best, whose weight is 1.
void Sampler::KeepMinP(double p) {
  std::erase_if(candidates_, [p](const Candidate& c) { return c.weight < p; });
  SumWeights();
}

void Sampler::SumWeights() {
  total_ = 0;
  for (const Candidate& candidate : candidates_) total_ += candidate.weight;
}

uint64_t DrawSeed(int64_t engine_seed, uint64_t request_number) {
  const PhiloxKey number = KeyOf(request_number);
  // The third word keeps these draws apart from those of tokens.
  return Low64(Philox4x32({number[0], number[1], 1, 0}, KeyOf(static_cast<uint64_t>(engine_seed))));
}

}  // namespace moxie::engine
