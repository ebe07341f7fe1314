// Log-probabilities of one row of logits: log softmax(x)_i = x_i - max - log sum_j exp(x_j - max),
// of the raw logits, before any parameter of the request (vLLM's raw_logprobs). Float32 terms,
// summed in double.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "engine/token_event.h"

namespace moxie::engine {

// OK when a softmax of the row exists: no NaN, no +infinity, and not all -infinity (a masked token
// is legal). The error names the first bad token.
Status CheckLogits(std::span<const float> logits);

// Fills `top` with the likeliest tokens (all of the vocabulary at most; entries beyond it get token
// -1), and returns the chosen one's own. REQUIRES: CheckLogits(logits) is OK. Cost: one pass over
// the row with an exp, one without, and top.size() moves for each new best.
struct ChosenLogprob {
  Logprob chosen;
  int32_t rank = 0;  // 1 + tokens with a larger logit
};
ChosenLogprob ComputeLogprobs(std::span<const float> logits, int32_t chosen,
                              std::span<Logprob> top);

}  // namespace moxie::engine
