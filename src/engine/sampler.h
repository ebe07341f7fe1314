// Sampler: chooses the next token from one row of logits.
//
// Order: rules of the request (logit_rules.h), temperature, top_k, top_p, min_p, each on what the
// one before left. Equal logits rank by token id. The random number of an answer's token i comes
// from Philox(key = seed, counter = (i, choice)), so a token depends on the row and the request,
// not on the batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/logit_rules.h"

namespace moxie::engine {

class Sampler {
 public:
  explicit Sampler(int64_t vocab_size);
  static int64_t Bytes(int64_t vocab_size);

  // The next token. Errors: non-finite logits (CheckLogits), or rules that leave no token.
  // Allocates nothing but an error's text. Cost: O(V), and one exp a token that may be chosen.
  Result<int32_t> Sample(std::span<const float> logits, const SamplingInput& in);

  // A token that may be chosen, and how likely. Greedy has one.
  struct Candidate {
    int32_t token;
    float weight;
  };
  // The final distribution, weights summing to one, in no particular order; valid until the next
  // call.
  Result<std::span<const Candidate>> Distribution(std::span<const float> logits,
                                                  const SamplingInput& in);

 private:
  // Sets candidates_ and total_, unnormalised. Steps of it follow.
  Status Prepare(std::span<const float> logits, const SamplingInput& in);
  void KeepAll(std::span<const float> row, float max);
  void KeepTopK(int64_t k);
  void Weigh(double temperature);
  void KeepTopP(double p);
  void KeepMinP(double p);
  void SumWeights();

  LogitRules rules_;
  std::vector<Candidate> candidates_;  // capacity V
  double total_ = 0;                   // of their weights
};

// The seed of a request without one: drawn from the engine's seed and the request's number.
uint64_t DrawSeed(int64_t engine_seed, uint64_t request_number);

}  // namespace moxie::engine
