// Start-up, a function in two halves: `moxie plan` stops between them, every other command goes on.
//
//   config -> graph -> forms -> kernels and layouts -> assignment -> footprints -> plan -> refuse
//   arenas -> load -> StepRunner
#pragma once

#include <memory>

#include "base/status.h"
#include "config/engine_config.h"
#include "memory/plan.h"
#include "runtime/compiled_model.h"
#include "runtime/model_plan.h"

namespace moxie::cli {

// All that is decided before a byte of the model is allocated.
struct StartPlan {
  runtime::ModelPlan model;   // its KV cache is sized
  memory::MemoryPlan memory;  // every term, the KV cache included
};

// Reads config.json and, where there are weights, the headers of their files, which have to agree.
// Errors when the plan is over the budget, with the arithmetic.
Result<StartPlan> PlanStart(const config::EngineConfig& engine);

// Maps the arenas and loads the weights; progress goes to stderr.
Result<std::unique_ptr<runtime::CompiledModel>> LoadStart(const config::EngineConfig& engine,
                                                          StartPlan plan);

}  // namespace moxie::cli
