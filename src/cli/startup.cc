#include "cli/startup.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "cli/progress.h"
#include "cli/server_options.h"
#include "engine/output_processor.h"
#include "ir/spec.h"
#include "models/family.h"
#include "weights/checkpoint.h"

namespace moxie::cli {
namespace {

// Text of a token where there is no tokenizer to ask: longer than any in the tokenizers we know.
constexpr int64_t kUnknownTokenBytes = 256;

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

// Null when the model directory has none; the one that --tokenizer names has to be there.
Result<std::shared_ptr<const text::Tokenizer>> LoadTokenizer(const config::EngineConfig& config) {
  if (!config.tokenizer.empty()) return text::Tokenizer::Load(config.tokenizer);
  std::error_code ec;
  if (!std::filesystem::is_directory(config.model, ec)) return {nullptr};
  auto tokenizer = text::Tokenizer::Load(config.model);
  if (tokenizer.code() == StatusCode::kNotFound) return {nullptr};
  return tokenizer;
}

// The end tokens are those of both configs and of the tokenizer.
engine::EngineOptions Options(const config::EngineConfig& config, const StartPlan& plan) {
  engine::EngineOptions options{.max_model_len = plan.model.max_model_len,
                                .max_queued_requests = config.max_queued_requests,
                                .max_queued_tokens = config.max_queued_tokens,
                                .max_logprobs = config.max_logprobs,
                                .seed = config.seed,
                                .eos_token_ids = plan.model.model.eos_token_ids};
  std::optional<int32_t> eos = plan.tokenizer != nullptr ? plan.tokenizer->eos_id() : std::nullopt;
  std::vector<int32_t>& ids = options.eos_token_ids;
  if (eos && std::find(ids.begin(), ids.end(), *eos) == ids.end()) ids.push_back(*eos);
  return options;
}

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

// All terms; the KV cache is one of them once it is sized. The engine's bytes follow from
// `num_blocks`.
memory::MemoryPlan AddUp(const config::EngineConfig& config, const StartPlan& plan,
                         int64_t num_blocks) {
  const int64_t token_bytes = plan.tokenizer != nullptr
                                  ? engine::FindTokenTextBounds(*plan.tokenizer).max_bytes
                                  : kUnknownTokenBytes;
  runtime::StepLimits limits = plan.model.limits;
  limits.num_blocks = num_blocks;
  memory::MemoryPlan memory(plan.memory.budget());
  memory.Add(plan.model.Footprints());
  memory.Add(engine::Footprints(plan.options, limits, token_bytes));
  memory.Add(ServerFootprints(MakeServerOptions(config)));
  memory.Add(ProcessOverhead(memory));
  return memory;
}

// The KV cache gets what the other terms leave when they are at their largest.
Status SizeKvCache(const config::EngineConfig& config, StartPlan& plan) {
  runtime::StepLimits& limits = plan.model.limits;
  plan.memory = AddUp(config, plan, 0);
  MOXIE_RETURN_IF_ERROR(plan.memory.CheckFits());
  const int64_t most_blocks = limits.max_seqs * limits.table_width;
  const int64_t left = AddUp(config, plan, most_blocks).left();
  MOXIE_RETURN_IF_ERROR(runtime::SizeKvCache(config, left, plan.model));
  constexpr int64_t kMaxBytes = int64_t{1} << 60;  // an operator's number may be any: no overflow
  if (limits.num_blocks > kMaxBytes / ir::BytesPerBlock(plan.model.graph.states[0])) {
    return ResourceExhausted("--num-gpu-blocks-override ", limits.num_blocks,
                             " is more than memory can be");
  }
  plan.memory = AddUp(config, plan, limits.num_blocks);
  return plan.memory.CheckFits();
}

}  // namespace

Result<StartPlan> PlanStart(const config::EngineConfig& config) {
  MOXIE_ASSIGN_OR_RETURN(config::ModelConfig model_config,
                         config::LoadModelConfig(config.model, config.generation_config));
  MOXIE_ASSIGN_OR_RETURN(runtime::ModelPlan model, runtime::PlanModel(model_config, config));
  if (HasWeights(config.model)) MOXIE_RETURN_IF_ERROR(CheckHeaders(config.model, model));
  MOXIE_ASSIGN_OR_RETURN(auto tokenizer, LoadTokenizer(config));
  MOXIE_ASSIGN_OR_RETURN(memory::Budget budget, memory::DetectBudget(config.memory_utilization));
  StartPlan plan{std::move(model), std::move(tokenizer), {}, memory::MemoryPlan(std::move(budget))};
  plan.options = Options(config, plan);
  MOXIE_RETURN_IF_ERROR(SizeKvCache(config, plan));
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
