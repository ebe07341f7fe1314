#include "cli/startup.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "cli/progress.h"
#include "models/family.h"
#include "weights/checkpoint.h"

namespace moxie::cli {
namespace {

// What every process has beside its planned terms: code, stacks, the allocator's slack.
memory::Footprint ProcessOverhead(const memory::MemoryPlan& plan) {
  int64_t bounded = 0;
  for (const memory::Footprint& term : plan.footprints()) {
    if (term.kind == memory::Kind::kBounded) bounded += term.bytes;
  }
  return {"process",
          "overhead",
          "host",
          (int64_t{8} << 20) + bounded * 15 / 100,
          memory::Kind::kOverhead,
          "8 MiB + 15 % of the heap's bounds"};
}

// A directory of weights, rather than a config.json alone.
bool HasWeights(const std::filesystem::path& model) {
  std::error_code ec;
  return std::filesystem::exists(model / "model.safetensors", ec) ||
         std::filesystem::exists(model / "model.safetensors.index.json", ec);
}

// The headers of the files against the graph's weights, before anything is mapped.
Status CheckHeaders(const std::filesystem::path& directory, const runtime::ModelPlan& plan) {
  MOXIE_ASSIGN_OR_RETURN(weights::Checkpoint checkpoint, weights::Checkpoint::Open(directory));
  const std::vector<std::string> ignored = models::IgnoredTensors(plan.model);
  return weights::MakeLoadPlan(plan.graph, plan.placements, checkpoint, ignored).status();
}

}  // namespace

Result<StartPlan> PlanStart(const config::EngineConfig& engine) {
  MOXIE_ASSIGN_OR_RETURN(config::ModelConfig config,
                         config::LoadModelConfig(engine.model, engine.generation_config));
  MOXIE_ASSIGN_OR_RETURN(runtime::ModelPlan model, runtime::PlanModel(config, engine));
  if (HasWeights(engine.model)) MOXIE_RETURN_IF_ERROR(CheckHeaders(engine.model, model));

  MOXIE_ASSIGN_OR_RETURN(memory::Budget budget, memory::DetectBudget(engine.memory_utilization));
  memory::MemoryPlan memory(std::move(budget));
  memory.Add(model.Footprints());
  memory.Add(ProcessOverhead(memory));
  MOXIE_RETURN_IF_ERROR(memory.CheckFits());
  MOXIE_RETURN_IF_ERROR(runtime::SizeKvCache(engine, memory.left(), model));
  memory.Add(model.KvFootprint());
  MOXIE_RETURN_IF_ERROR(memory.CheckFits());
  return StartPlan{std::move(model), std::move(memory)};
}

Result<std::unique_ptr<runtime::CompiledModel>> LoadStart(const config::EngineConfig& engine,
                                                          StartPlan plan) {
  MOXIE_ASSIGN_OR_RETURN(weights::Checkpoint checkpoint, weights::Checkpoint::Open(engine.model));
  ProgressLine progress("loading weights");
  return runtime::CompiledModel::Load(
      std::move(plan.model), checkpoint,
      [&](int64_t done, int64_t total) { progress.Show(done, total); });
}

}  // namespace moxie::cli
