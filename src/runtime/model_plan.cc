#include "runtime/model_plan.h"

#include <algorithm>

#include "runtime/step_tensors.h"

namespace moxie::runtime {
namespace {

using tensor::DimVar;
using tensor::DType;

Result<models::GraphOptions> ChooseTypes(const config::ModelConfig& model,
                                         const config::EngineConfig& engine) {
  models::GraphOptions options;
  const bool f32 = engine.compute == "f32";
  options.compute = f32 ? DType::kF32 : DType::kBF16;
  // f32 computation keeps what a wider checkpoint holds; bf16 weights lose nothing by staying bf16.
  const bool wide = model.dtype == "float32" || model.dtype == "float16";
  options.weights = f32 && wide ? DType::kF32 : DType::kBF16;
  options.kv = options.compute;
  if (engine.kv_cache_dtype == "bfloat16") options.kv = DType::kBF16;
  if (engine.kv_cache_dtype == "float32") options.kv = DType::kF32;
  options.kv_block_tokens = engine.block_size;
  return options;
}

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

Result<int64_t> MaxModelLen(const config::ModelConfig& model, const config::EngineConfig& engine) {
  const int64_t derived = config::MaxPositions(model);
  const int64_t asked = engine.max_model_len.value_or(derived);
  if (asked > derived) {
    return InvalidArgument("--max-model-len ", asked, " is over the model's ", derived,
                           " positions (config.json: max_position_embeddings)");
  }
  return asked;
}

tensor::Extents LargestStep(const StepLimits& limits) {
  tensor::Extents largest;
  largest[DimVar::kTokens] = limits.max_tokens;
  largest[DimVar::kSeqs] = limits.max_seqs;
  largest[DimVar::kBounds] = limits.max_seqs + 1;
  largest[DimVar::kRows] = limits.max_rows;
  largest[DimVar::kWidth] = limits.table_width;
  return largest;
}

// The start of "... holds 3": who decided how large the KV cache is.
std::string GivenTo(const config::EngineConfig& engine, int64_t bytes) {
  if (engine.num_blocks_override) return "--num-gpu-blocks-override says ";
  const std::string size = memory::FormatBytes(bytes);
  if (engine.kv_cache_bytes) return StrCat("--kv-cache-memory-bytes, ", size, ", holds ");
  return StrCat("the ", size, " left for the KV cache hold ");
}

}  // namespace

Result<ModelPlan> PlanModel(const config::ModelConfig& model, const config::EngineConfig& engine) {
  ModelPlan plan;
  plan.model = model;
  plan.guard = engine.guard_memory;
  MOXIE_ASSIGN_OR_RETURN(plan.options, ChooseTypes(model, engine));
  MOXIE_ASSIGN_OR_RETURN(plan.max_model_len, MaxModelLen(model, engine));
  plan.limits.max_tokens = engine.max_num_batched_tokens;
  plan.limits.max_seqs = engine.max_num_seqs;
  plan.limits.max_rows = engine.max_num_seqs;
  plan.limits.block_tokens = engine.block_size;
  plan.limits.table_width = CeilDiv(plan.max_model_len, engine.block_size);
  plan.limits.vocab_size = model.vocab_size;

  MOXIE_ASSIGN_OR_RETURN(const models::Family* family, models::FindFamily(model));
  MOXIE_ASSIGN_OR_RETURN(ir::Graph graph, family->build(model, plan.options));
  const int threads = engine.threads > 0 ? engine.threads : AvailableCores();
  MOXIE_ASSIGN_OR_RETURN(static_cast<Program&>(plan),
                         PlanProgram(std::move(graph), LargestStep(plan.limits), threads));
  plan.placements = weights::PlaceWeights(plan.graph, plan.selection.layouts);
  return plan;
}

memory::Footprint ModelPlan::ArenaFootprint() const {
  return {"arena",
          "temporaries",
          "host",
          assignment.arena_bytes,
          memory::Kind::kReserved,
          StrCat("step of ", limits.max_tokens, " tokens, ", limits.max_rows,
                 " logit rows; peak at ", assignment.peak_op)};
}

memory::Footprint ModelPlan::StepInputsFootprint() const {
  return {"step_inputs",
          "tensors",
          "host",
          StepTensorBytes(limits),
          memory::Kind::kReserved,
          StrCat("ids, positions, slots of ", limits.max_tokens, " tokens; block tables [",
                 limits.max_seqs, ", ", limits.table_width, "]")};
}

memory::Footprint ModelPlan::KvFootprint(int64_t num_blocks) const {
  const ir::StateSpec& kv = graph.states[0];
  return {"kv_cache",
          kv.name,
          "host",
          num_blocks * ir::BytesPerBlock(kv),
          memory::Kind::kReserved,
          StrCat(num_blocks, " blocks of ", limits.block_tokens, " tokens x ",
                 ir::BytesPerBlock(kv) / limits.block_tokens, " bytes a token (", kv.count,
                 " layers of ", ToString(kv.type), ")")};
}

std::vector<memory::Footprint> ModelPlan::Footprints(int64_t num_blocks) const {
  std::vector<memory::Footprint> out = weights::WeightFootprints(placements);
  out.push_back(ArenaFootprint());
  out.push_back(StepInputsFootprint());
  if (num_blocks > 0) out.push_back(KvFootprint(num_blocks));
  return out;
}

Status SizeKvCache(const config::EngineConfig& engine, int64_t bytes, ModelPlan& plan) {
  const int64_t block = ir::BytesPerBlock(plan.graph.states[0]);
  const int64_t useful = plan.limits.max_seqs * plan.limits.table_width;
  const int64_t given = std::max<int64_t>(engine.kv_cache_bytes.value_or(bytes), 0);
  const int64_t blocks = engine.num_blocks_override.value_or(std::min(given / block, useful));
  if (blocks < plan.limits.table_width) {
    return ResourceExhausted("one sequence of --max-model-len ", plan.max_model_len, " needs ",
                             plan.limits.table_width, " KV blocks of ", memory::FormatBytes(block),
                             " = ", memory::FormatBytes(plan.limits.table_width * block), ", but ",
                             GivenTo(engine, given), blocks);
  }
  plan.limits.num_blocks = blocks;
  plan.bucket[DimVar::kBlocks] = blocks;
  return {};
}

}  // namespace moxie::runtime
