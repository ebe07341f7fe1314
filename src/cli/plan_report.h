// How `moxie plan` prints: for people, and as one line of JSON.
#pragma once

#include <span>
#include <string>

#include "cli/nearest_fit.h"
#include "cli/start_plan.h"

namespace moxie::cli {

// The settings, then the table of terms and totals.
std::string PlanText(const StartPlan& plan);

// {"budget_bytes", "limit_bytes", "limit_source", "utilization", "address_space_limit_bytes" (null:
// none), "resident_bytes", "address_space_bytes", "left_bytes",
// "settings": {"max_model_len", "max_num_seqs", "max_num_batched_tokens", "block_size",
//              "num_blocks", "threads"},
// "peak": {"arena_bytes", "lower_bound", "op", "values"},
// "footprints": [{"owner", "name", "pool", "bytes", "address_space", "kind", "formula"}]}
std::string PlanJson(const StartPlan& plan);

// --explain: every term's formula.
std::string FormulasText(const StartPlan& plan);
// The op at which most of the arena is alive, and every value there.
std::string PeakText(const StartPlan& plan);
std::string WhatIfText(std::span<const WhatIf> what_ifs, const StartPlan& plan);

// --fit.
std::string FitsText(std::span<const LargestFit> fits);
// {"--max-model-len": {"value": 4096, "is_limit": false}, ...}; value null: none.
std::string FitsJson(std::span<const LargestFit> fits);

}  // namespace moxie::cli
