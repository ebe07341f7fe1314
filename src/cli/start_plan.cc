#include "cli/start_plan.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "cli/server_options.h"
#include "engine/output_processor.h"
#include "ir/spec.h"
#include "weights/load_plan.h"

namespace moxie::cli {
namespace {

// Where there is no tokenizer to ask: a text longer than any in the tokenizers we know, and more
// heap a token than any of them takes.
constexpr int64_t kUnknownTokenText = 256;
constexpr int64_t kUnknownTokenHeap = 512;

// Null when the model directory has none; the one that --tokenizer names has to be there.
Result<std::shared_ptr<const text::Tokenizer>> LoadTokenizer(const config::EngineConfig& config) {
  if (!config.tokenizer.empty()) return text::Tokenizer::Load(config.tokenizer);
  std::error_code ec;
  if (!std::filesystem::is_directory(config.model, ec)) return {nullptr};
  auto tokenizer = text::Tokenizer::Load(config.model);
  if (tokenizer.code() == StatusCode::kNotFound) return {nullptr};
  return tokenizer;
}

int64_t HeapInUse() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// In whole MiB, with a quarter more for what it caches while it works.
int64_t TokenizerHeap(int64_t measured) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  return (std::max<int64_t>(measured, 0) * 5 / 4 / kMiB + 1) * kMiB;
}

// The end tokens are those of both configs and of the tokenizer.
engine::EngineOptions Options(const config::EngineConfig& config, const StartPlan& plan) {
  engine::EngineOptions options{.max_model_len = plan.model.max_model_len,
                                .max_queued_requests = config.max_queued_requests,
                                .max_queued_tokens = config.max_queued_tokens,
                                .max_request_heap = config.max_request_heap,
                                .max_logprobs = config.max_logprobs,
                                .seed = config.seed,
                                .prefix_caching = config.prefix_caching,
                                .priorities = config.scheduling_policy == "priority",
                                .eos_token_ids = plan.model.model.eos_token_ids};
  std::optional<int32_t> eos = plan.tokenizer != nullptr ? plan.tokenizer->eos_id() : std::nullopt;
  std::vector<int32_t>& ids = options.eos_token_ids;
  if (eos && std::find(ids.begin(), ids.end(), *eos) == ids.end()) ids.push_back(*eos);
  return options;
}

memory::Footprint TokenizerFootprint(const StartFacts& facts) {
  return {"tokenizer",
          "tables",
          "host",
          facts.tokenizer_bytes,
          memory::Kind::kBounded,
          facts.tokenizer != nullptr ? "its heap as loaded, and a quarter more, in whole MiB"
                                     : StrCat("no tokenizer here: ", facts.model.vocab_size,
                                              " tokens x ", kUnknownTokenHeap, " B")};
}

memory::Footprint LoaderFootprint(const runtime::ModelPlan& model) {
  return {"loader",
          "staging",
          "host",
          weights::StagingBytes(model.placements, model.threads),
          memory::Kind::kBounded,
          StrCat(model.threads, " threads, each packs a part of a weight at a time")};
}

// Kernel threads (the engine's is one of them), sockets and parsers, the first thread, and the one
// that hurries a stop.
int64_t Threads(const runtime::ModelPlan& model, const server::ServerOptions& server) {
  return model.threads + 2 * server.threads + 2;
}

// All terms, the KV cache at `num_blocks` among them.
memory::MemoryPlan AddUp(const config::EngineConfig& config, const StartFacts& facts,
                         const StartPlan& plan, int64_t num_blocks) {
  runtime::StepLimits limits = plan.model.limits;
  limits.num_blocks = num_blocks;
  memory::MemoryPlan memory(facts.budget);
  memory.Add(plan.model.Footprints(num_blocks));
  memory.Add(engine::Footprints(plan.options, limits, facts.token_text_bytes));
  const int64_t positions =
      std::min(limits.max_seqs * plan.model.max_model_len, num_blocks * limits.block_tokens);
  memory.Add(ServerFootprints(plan.server, positions, config.max_logprobs));
  memory.Add(TokenizerFootprint(facts));
  memory.Add(LoaderFootprint(plan.model));
  memory.Add(memory::ProcessFootprints(facts.process, memory, Threads(plan.model, plan.server),
                                       plan.server.limits.connections));
  return memory;
}

// The most blocks in [0, most] with which both totals keep their limits.
int64_t BlocksThatFit(const config::EngineConfig& config, const StartFacts& facts,
                      const StartPlan& plan, int64_t most) {
  int64_t fits = 0, over = most + 1;
  while (over - fits > 1) {
    const int64_t middle = fits + (over - fits) / 2;
    (AddUp(config, facts, plan, middle).left() >= 0 ? fits : over) = middle;
  }
  return fits;
}

// The KV cache gets what the other terms leave.
Status SizeKvCache(const config::EngineConfig& config, const StartFacts& facts, StartPlan& plan) {
  runtime::StepLimits& limits = plan.model.limits;
  plan.memory = AddUp(config, facts, plan, 0);
  MOXIE_RETURN_IF_ERROR(plan.memory.CheckFits());
  const int64_t block = ir::BytesPerBlock(plan.model.graph.states[0]);
  const int64_t most = limits.max_seqs * limits.table_width;
  const int64_t left = BlocksThatFit(config, facts, plan, most) * block;
  MOXIE_RETURN_IF_ERROR(runtime::SizeKvCache(config, left, plan.model));
  constexpr int64_t kMaxBytes = int64_t{1} << 60;  // an operator's number may be any: no overflow
  if (limits.num_blocks > kMaxBytes / block) {
    return ResourceExhausted("--num-gpu-blocks-override ", limits.num_blocks,
                             " is more than memory can be");
  }
  plan.memory = AddUp(config, facts, plan, limits.num_blocks);
  return plan.memory.CheckFits();
}

}  // namespace

Result<StartFacts> ReadStartFacts(const config::EngineConfig& config) {
  StartFacts facts;
  facts.process = memory::ReadProcessFacts();
  MOXIE_ASSIGN_OR_RETURN(facts.budget, memory::DetectBudget(config.memory_utilization));
  MOXIE_ASSIGN_OR_RETURN(facts.model,
                         config::LoadModelConfig(config.model, config.generation_config));
  const int64_t before = HeapInUse();
  MOXIE_ASSIGN_OR_RETURN(facts.tokenizer, LoadTokenizer(config));
  const bool known = facts.tokenizer != nullptr;
  facts.tokenizer_bytes =
      TokenizerHeap(known ? HeapInUse() - before : facts.model.vocab_size * kUnknownTokenHeap);
  facts.token_text_bytes =
      known ? engine::FindTokenTextBounds(*facts.tokenizer).max_bytes : kUnknownTokenText;
  return facts;
}

Result<StartPlan> PlanFrom(const config::EngineConfig& config, const StartFacts& facts) {
  MOXIE_ASSIGN_OR_RETURN(runtime::ModelPlan model, runtime::PlanModel(facts.model, config));
  StartPlan plan{std::move(model), facts.tokenizer, {}, {}, memory::MemoryPlan(facts.budget)};
  MOXIE_ASSIGN_OR_RETURN(plan.server, MakeServerOptions(config));
  plan.options = Options(config, plan);
  MOXIE_RETURN_IF_ERROR(SizeKvCache(config, facts, plan));
  return plan;
}

}  // namespace moxie::cli
