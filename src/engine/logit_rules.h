// The rules of a request that change logits before a token is chosen, in vLLM's order: allowed
// tokens, bad words, bias, no end token before min_tokens, penalties.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/request.h"

namespace moxie::engine {

// What choosing a token depends on, besides the logits.
struct SamplingInput {
  const SamplingParams& params;
  std::span<const int32_t> prompt;
  std::span<const int32_t> answer;   // tokens chosen so far
  std::span<const int32_t> eos_ids;  // the model's end tokens
  uint64_t seed = 0;
  int32_t choice = 0;
};

class LogitRules {
 public:
  explicit LogitRules(int64_t vocab_size);
  static int64_t Bytes(int64_t vocab_size);

  // Row with every rule applied: `logits` itself when there is none, else a copy, valid until the
  // next call. O(V + prompt + answer).
  std::span<const float> Apply(std::span<const float> logits, const SamplingInput& in);

 private:
  void MaskBadWords(const SamplingInput& in);
  // Repetition: prompt and answer tokens, once each: positive logits are divided, negative ones
  // multiplied. Frequency and presence: answer tokens only: minus frequency x count, minus
  // presence.
  void ApplyPenalties(const SamplingInput& in);
  void Repeat(std::span<const int32_t> ids, double penalty);

  std::vector<float> row_;       // [V]
  std::vector<int32_t> counts_;  // [V] zero between calls
};

}  // namespace moxie::engine
