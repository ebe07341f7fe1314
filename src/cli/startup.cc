#include "cli/startup.h"

#include <malloc.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "cli/nearest_fit.h"
#include "cli/progress.h"
#include "models/family.h"
#include "weights/checkpoint.h"

namespace moxie::cli {
namespace {

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

Result<StartPlan> PlanStart(const config::EngineConfig& config) {
  MOXIE_ASSIGN_OR_RETURN(const StartFacts facts, ReadStartFacts(config));
  return PlanStart(config, facts);
}

Result<StartPlan> PlanStart(const config::EngineConfig& asked, const StartFacts& facts) {
  MOXIE_ASSIGN_OR_RETURN(const config::EngineConfig config, ResolveLength(asked, facts));
  auto plan = PlanFrom(config, facts);
  if (plan.code() == StatusCode::kResourceExhausted) {
    return ResourceExhausted(plan.status().message(), "; ", NearestFitsText(config, facts));
  }
  if (plan.ok() && HasWeights(config.model)) {
    MOXIE_RETURN_IF_ERROR(CheckHeaders(config.model, plan->model));
  }
  ::malloc_trim(0);  // what reading and planning took is for the arenas now
  return plan;
}

Result<std::unique_ptr<runtime::CompiledModel>> LoadModel(const config::EngineConfig& config,
                                                          StartPlan plan) {
  MOXIE_ASSIGN_OR_RETURN(weights::Checkpoint checkpoint, weights::Checkpoint::Open(config.model));
  ProgressLine progress("loading weights");
  return runtime::CompiledModel::Load(
      std::move(plan.model), checkpoint,
      [&](int64_t done, int64_t total) { progress.Show(done, total); });
}

Result<Started> LoadStart(const config::EngineConfig& config, StartPlan plan) {
  Started started;
  started.tokenizer = plan.tokenizer;
  if (started.tokenizer == nullptr) {
    return NotFound(config.model, ": has no tokenizer; --tokenizer takes a directory with one");
  }
  const engine::EngineOptions options = plan.options;
  MOXIE_ASSIGN_OR_RETURN(started.model, LoadModel(config, std::move(plan)));
  MOXIE_ASSIGN_OR_RETURN(
      started.engine, engine::Engine::Start(options, started.model.get(), started.tokenizer.get()));
  return started;
}

}  // namespace moxie::cli
