// ModelPlan: everything about a model that is decided before a byte is allocated. `moxie plan`
// prints it, `moxie serve` builds it: the same object.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "config/engine_config.h"
#include "config/model_config.h"
#include "memory/plan.h"
#include "models/family.h"
#include "runtime/program.h"
#include "runtime/step.h"
#include "weights/load_plan.h"

namespace moxie::runtime {

struct ModelPlan : Program {
  config::ModelConfig model;
  models::GraphOptions options;
  bool guard = false;         // poison the arena between owners
  int64_t max_model_len = 0;  // tokens
  StepLimits limits;          // num_blocks is 0 until SizeKvCache
  std::vector<weights::WeightPlacement> placements;

  // Terms of the plan: weights, arena, step inputs, and the KV cache of `num_blocks`.
  std::vector<memory::Footprint> Footprints(int64_t num_blocks) const;
  memory::Footprint ArenaFootprint() const;
  memory::Footprint StepInputsFootprint() const;
  memory::Footprint KvFootprint() const { return KvFootprint(limits.num_blocks); }
  memory::Footprint KvFootprint(int64_t num_blocks) const;
};

// config -> graph -> program, in under a second; no weight is read.
Result<ModelPlan> PlanModel(const config::ModelConfig& model, const config::EngineConfig& engine);

// Sizes the KV pool: what `bytes` hold, but never more than every sequence at its longest can use;
// or the operator's own number (--num-gpu-blocks-override, --kv-cache-memory-bytes). Fewer blocks
// than one sequence of max_model_len needs is an error with the arithmetic.
Status SizeKvCache(const config::EngineConfig& engine, int64_t bytes, ModelPlan& plan);

}  // namespace moxie::runtime
