// moxie plan: every byte that serving would use, without loading anything.
#pragma once

#include <span>
#include <string>

#include "memory/plan.h"

namespace moxie::cli {

int Plan(std::span<const std::string> args);

// One line: {"budget_bytes", "limit_bytes", "limit_source", "utilization",
// "address_space_limit_bytes" (null: none), "resident_bytes", "address_space_bytes", "left_bytes",
// "footprints": [{"owner", "name", "pool", "bytes", "address_space", "kind", "formula"}]}.
std::string PlanJson(const memory::MemoryPlan& plan);

}  // namespace moxie::cli
