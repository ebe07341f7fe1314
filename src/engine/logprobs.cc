#include "engine/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace moxie::engine {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

// log sum_j exp(x_j - max)
double LogSumExp(std::span<const float> logits, float max) {
  double sum = 0;
  for (float x : logits) sum += std::exp(x - max);
  return std::log(sum);
}

// The largest logits in order, earlier tokens first among equals; logits, not yet logprobs.
void SelectTop(std::span<const float> logits, std::span<Logprob> top) {
  size_t filled = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const float x = logits[i];
    if (filled == top.size() && x <= top.back().logprob) continue;
    if (filled < top.size()) ++filled;
    size_t at = filled - 1;
    for (; at > 0 && top[at - 1].logprob < x; --at) top[at] = top[at - 1];
    top[at] = {static_cast<int32_t>(i), x};
  }
  std::fill(top.begin() + static_cast<int64_t>(filled), top.end(),
            Logprob{-1, -std::numeric_limits<float>::infinity()});
}

}  // namespace

Status CheckLogits(std::span<const float> logits) {
  bool some = false;
  bool bad = false;
  for (float x : logits) {
    bad |= !(x <= kLargest);  // NaN compares false
    some |= x >= -kLargest;
  }
  if (bad) {
    const auto first = std::ranges::find_if(logits, [](float x) { return !(x <= kLargest); });
    return Internal("the model gave a logit of ", std::isnan(*first) ? "NaN" : "infinity",
                    " for token ", first - logits.begin());
  }
  if (!some) return Internal("the model gave a logit of -infinity for every token");
  return {};
}

ChosenLogprob ComputeLogprobs(std::span<const float> logits, int32_t chosen,
                              std::span<Logprob> top) {
  const float max = *std::max_element(logits.begin(), logits.end());
  const double log_sum = LogSumExp(logits, max);
  auto logprob = [&](float x) { return static_cast<float>((x - max) - log_sum); };

  if (!top.empty()) SelectTop(logits, top);
  for (Logprob& entry : top) entry.logprob = logprob(entry.logprob);

  const float x = logits[static_cast<size_t>(chosen)];
  const auto larger = std::ranges::count_if(logits, [x](float other) { return other > x; });
  return {{chosen, logprob(x)}, static_cast<int32_t>(larger) + 1};
}

}  // namespace moxie::engine
