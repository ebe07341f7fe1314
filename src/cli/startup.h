// Start-up, a function in halves: `moxie plan` stops after the first, every other command goes on.
//
//   PlanStart   config -> graph -> forms -> kernels and layouts -> assignment -> footprints -> plan
//   -> refuse LoadModel   arenas -> weights -> StepRunner LoadStart   the same, and an Engine on it
#pragma once

#include <memory>

#include "base/status.h"
#include "cli/start_plan.h"
#include "config/engine_config.h"
#include "engine/engine.h"
#include "runtime/compiled_model.h"

namespace moxie::cli {

// Reads config.json, the tokenizer and, where there are weights, the headers of their files, which
// have to agree. Errors when the plan is over the budget, with the arithmetic and the nearest
// settings that fit.
Result<StartPlan> PlanStart(const config::EngineConfig& config);
Result<StartPlan> PlanStart(const config::EngineConfig& config, const StartFacts& facts);

// Maps the arenas and loads the weights; progress goes to stderr.
Result<std::unique_ptr<runtime::CompiledModel>> LoadModel(const config::EngineConfig& config,
                                                          StartPlan plan);

// What answers requests; the engine ends first.
struct Started {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::unique_ptr<runtime::CompiledModel> model;
  std::unique_ptr<engine::Engine> engine;
};

// Also an error: a model without a tokenizer.
Result<Started> LoadStart(const config::EngineConfig& config, StartPlan plan);

}  // namespace moxie::cli
