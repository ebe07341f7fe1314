// Settings that fit, found by asking the planner again and again: what a refusal suggests, what
// --max-model-len auto means, and what `moxie plan --fit` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/start_plan.h"
#include "config/engine_config.h"

namespace moxie::cli {

// The settings with --max-model-len auto in numbers: the longest that fits. An error when not even
// one block of tokens does.
Result<config::EngineConfig> ResolveLength(const config::EngineConfig& config,
                                           const StartFacts& facts);

// Flags that make settings fit which do not, each found by the planner: with one step more they do
// not. First those that do it alone; where none does, one line of several. Empty: nothing helps.
std::vector<std::string> NearestFits(const config::EngineConfig& config, const StartFacts& facts);

// "nearest settings that fit: [--max-model-len 4096] [--max-num-seqs 12]"
std::string NearestFitsText(const config::EngineConfig& config, const StartFacts& facts);

// The largest value of a setting that fits, all others as they are.
struct LargestFit {
  std::string flag;              // "--max-model-len"
  std::optional<int64_t> value;  // none: it does not fit at any
  bool is_limit = false;         // more would be of no use, or against a rule
};
std::vector<LargestFit> LargestFits(const config::EngineConfig& config, const StartFacts& facts);

// What one other setting would do.
struct WhatIf {
  std::string flags;       // "--max-num-batched-tokens 1024"
  int64_t arena = 0;       // bytes of the step's temporaries
  int64_t all_but_kv = 0;  // resident bytes but for the KV cache, which takes what is left
};
// Half as much of each, no alternatives, and narrower types: those that can be planned.
std::vector<WhatIf> WhatIfs(const config::EngineConfig& config, const StartFacts& facts);

}  // namespace moxie::cli
