#include "models/layers.h"

#include <cmath>

#include "config/rope.h"

namespace moxie::models {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::OpKind;
using ir::ValueId;
using tensor::DType;
using tensor::kN;
using tensor::kQ;
using tensor::kR;
using tensor::kS;
using tensor::kT;
using tensor::kW;

std::string Text(DType dtype) { return std::string(tensor::Name(dtype)); }

ValueId Norm(Builder& b, ValueId x, ValueId w, double eps, DType dtype) {
  return b.Emit(OpKind::kRmsNorm, {x, w}, {{AttrKey::kEps, eps}, {AttrKey::kDType, Text(dtype)}});
}

ir::WeightSpec StoredWeight(std::string name, DType dtype, tensor::Shape shape,
                            std::vector<ir::CheckpointName> checkpoint) {
  ir::WeightSpec spec;
  spec.name = std::move(name);
  spec.type = {dtype, shape};
  spec.checkpoint = std::move(checkpoint);
  return spec;
}

constexpr std::string_view kLayerPrefix = "model.layers.{i}.";

// Order of the step's inputs among the repeat's invariants.
enum Step : size_t { kRopeTable, kSlots, kTables, kQueryStart, kContext, kSteps };

}  // namespace

Decoder::Decoder(std::string_view name, const config::ModelConfig& config,
                 const GraphOptions& options)
    : config_(config), options_(options), builder_(std::string(name)) {
  DeclareAttention();
}

void Decoder::LayerMatrix(std::string_view name, tensor::Shape shape,
                          std::vector<ir::CheckpointName> names, int shard_dim) {
  for (ir::CheckpointName& n : names) n.name = StrCat(kLayerPrefix, n.name);
  ir::WeightSpec spec =
      StoredWeight(StrCat("layers.", name), options_.weights, shape, std::move(names));
  spec.count = config_.num_layers;
  spec.shard_dim = shard_dim;
  layer_names_.emplace_back(name);
  layer_values_.push_back(builder_.Weight(std::move(spec)));
}

void Decoder::LayerVector(std::string_view name, int64_t size, std::string_view checkpoint_name) {
  ir::WeightSpec spec = StoredWeight(StrCat("layers.", name), DType::kF32, {size},
                                     {{StrCat(kLayerPrefix, checkpoint_name)}});
  spec.count = config_.num_layers;
  layer_names_.emplace_back(name);
  layer_values_.push_back(builder_.Weight(std::move(spec)));
}

void Decoder::DeclareAttention() {
  const int64_t h = config_.hidden_size, d = config_.head_dim;
  const int64_t q = config_.num_heads * d, kv = config_.num_kv_heads * d;
  LayerVector("attn_norm", h, "input_layernorm.weight");
  struct Projection {
    std::string_view name, stored;
    int64_t rows, cols;
    int shard_dim;
  };
  const Projection projections[] = {{"q", "q_proj", q, h, 0},
                                    {"k", "k_proj", kv, h, 0},
                                    {"v", "v_proj", kv, h, 0},
                                    {"o", "o_proj", h, q, 1}};
  for (const Projection& p : projections) {
    LayerMatrix(p.name, {p.rows, p.cols}, {{StrCat("self_attn.", p.stored, ".weight")}},
                p.shard_dim);
    if (config_.attention_bias) {
      LayerVector(StrCat(p.name, "_bias"), p.rows, StrCat("self_attn.", p.stored, ".bias"));
    }
  }
  LayerVector("ffn_norm", h, "post_attention_layernorm.weight");
}

ValueId Decoder::Attention(Builder& b, ValueId x, ValueId& kv, std::span<const ValueId> step,
                           const LayerWeights& w) const {
  Builder::Scope scope(b, "attn");
  const DType act = options_.compute;
  auto rotated = [&](std::string_view name, int64_t heads) {
    return b.Emit(OpKind::kRope, {Linear(b, x, w, name, DType::kF32), step[kRopeTable]},
                  {{AttrKey::kHeads, heads},
                   {AttrKey::kHeadDim, config_.head_dim},
                   {AttrKey::kDType, Text(act)}});
  };
  const ValueId q = rotated("q", config_.num_heads);
  const ValueId k = rotated("k", config_.num_kv_heads);
  const ValueId v = Linear(b, x, w, "v", act);
  kv = b.Emit(OpKind::kKvWrite, {kv, k, v, step[kSlots]});
  const ValueId o =
      b.Emit(OpKind::kPagedAttention, {q, kv, step[kTables], step[kQueryStart], step[kContext]},
             {{AttrKey::kHeads, config_.num_heads},
              {AttrKey::kKvHeads, config_.num_kv_heads},
              {AttrKey::kHeadDim, config_.head_dim},
              {AttrKey::kScale, 1.0 / std::sqrt(static_cast<double>(config_.head_dim))},
              {AttrKey::kWindow, config_.sliding_window.value_or(0)},
              {AttrKey::kDType, Text(act)}});
  return Linear(b, o, w, "o", DType::kF32);
}

// Parameters: h, kv, the step's tensors, then the layer's weights; yields the next h and kv.
std::vector<ValueId> Decoder::Layer(Builder& b, std::span<const ValueId> params,
                                    const Ffn& ffn) const {
  ValueId h = params[0], kv = params[1];
  const auto step = params.subspan(2, kSteps);
  LayerWeights w;
  for (size_t i = 0; i < layer_names_.size(); ++i) w[layer_names_[i]] = params[2 + kSteps + i];
  const double eps = config_.rms_norm_eps;
  const ValueId attn = Attention(b, Norm(b, h, w["attn_norm"], eps, options_.compute), kv, step, w);
  h = b.Emit(OpKind::kAdd, {h, attn});
  const ValueId mlp = ffn(b, Norm(b, h, w["ffn_norm"], eps, options_.compute), w);
  return {b.Emit(OpKind::kAdd, {h, mlp}), kv};
}

Result<ir::Graph> Decoder::Build(const Ffn& ffn) && {
  Builder& b = builder_;
  const int64_t h = config_.hidden_size, d = config_.head_dim;
  const ValueId ids = b.Input("ids", {DType::kI32, {kT}});
  const ValueId positions = b.Input("positions", {DType::kI32, {kT}});
  const ValueId slots = b.Input("slots", {DType::kI64, {kT}});
  const ValueId tables = b.Input("block_tables", {DType::kI32, {kS, kW}});
  const ValueId query_start = b.Input("query_start", {DType::kI32, {kQ}});
  const ValueId context = b.Input("context", {DType::kI32, {kS}});
  const ValueId rows = b.Input("logit_rows", {DType::kI32, {kR}});

  const ValueId embed = b.Weight(StoredWeight("embed", options_.weights, {config_.vocab_size, h},
                                              {{"model.embed_tokens.weight"}}));
  const ValueId final_norm =
      b.Weight(StoredWeight("final_norm", DType::kF32, {h}, {{"model.norm.weight"}}));
  const ValueId head = config_.tie_word_embeddings
                           ? embed
                           : b.Weight(StoredWeight("lm_head", options_.weights,
                                                   {config_.vocab_size, h}, {{"lm_head.weight"}}));
  ir::WeightSpec inv_freq;
  inv_freq.name = "rope_inv_freq";
  inv_freq.type = {DType::kF32, {d / 2}};
  inv_freq.derived = "rope_inv_freq";
  const ValueId rope = b.Weight(std::move(inv_freq));
  ir::StateSpec cache;
  cache.name = "kv";
  cache.type = {options_.kv, {kN, 2, config_.num_kv_heads, options_.kv_block_tokens, d}};
  cache.count = config_.num_layers;
  cache.block_tokens = options_.kv_block_tokens;
  const ValueId kv = b.State(std::move(cache));

  ValueId x, table;
  {
    Builder::Scope scope(b, "embed");
    x = b.Emit(OpKind::kEmbedding, {ids, embed});
    table = b.Emit(OpKind::kRopeTable, {positions, rope},
                   {{AttrKey::kScale, static_cast<double>(config::RopeAttentionFactor(config_))}});
  }
  std::vector<ValueId> done;
  {
    Builder::Scope scope(b, "layers");
    done = b.Repeat(config_.num_layers,
                    {.carries = {x},
                     .states = {kv},
                     .invariants = {table, slots, tables, query_start, context},
                     .stacked = layer_values_},
                    [&](Builder& body, std::span<const ValueId> p) { return Layer(body, p, ffn); });
  }
  Builder::Scope scope(b, "head");
  const ValueId last = b.Emit(OpKind::kGatherRows, {done[0], rows});
  const ValueId normed = Norm(b, last, final_norm, config_.rms_norm_eps, options_.compute);
  const ValueId logits = b.Emit(OpKind::kMatmul, {normed, head}, {{AttrKey::kDType, "f32"}});
  return std::move(b).Finish({logits}, {done[1]});
}

ValueId Linear(Builder& b, ValueId x, const LayerWeights& w, std::string_view name, DType dtype) {
  std::vector<ValueId> operands = {x, w.find(name)->second};
  if (auto bias = w.find(StrCat(name, "_bias")); bias != w.end()) operands.push_back(bias->second);
  return b.Emit(OpKind::kMatmul, std::move(operands), {{AttrKey::kDType, Text(dtype)}});
}

ValueId GatedMlp(Builder& b, ValueId x, const LayerWeights& w, const GraphOptions& options) {
  Builder::Scope scope(b, "mlp");
  const DType act = options.compute;
  const ValueId gate = Linear(b, x, w, "gate", act);
  const ValueId up = Linear(b, x, w, "up", act);
  const ValueId mid = b.Emit(OpKind::kSiluMul, {gate, up}, {{AttrKey::kDType, Text(act)}});
  return Linear(b, mid, w, "down", DType::kF32);
}

ValueId MoeFfn(Builder& b, ValueId x, const LayerWeights& w, const config::MoeConfig& moe,
               const GraphOptions& options) {
  const std::string act = Text(options.compute);
  auto weight = [&](std::string_view name) { return w.find(name)->second; };
  // Parameters: x, router, gate, up, down.
  auto route = [&moe](Builder& f, std::span<const ValueId> p) {
    const ValueId logits = f.Emit(OpKind::kMatmul, {p[0], p[1]}, {{AttrKey::kDType, "f32"}});
    return f.EmitMany(
        OpKind::kRouterTopk, {logits},
        {{AttrKey::kTopK, moe.top_k}, {AttrKey::kNormalize, moe.normalize_top_k ? 1 : 0}});
  };
  auto ragged = [&](Builder& f, std::span<const ValueId> p) {
    const auto routed = route(f, p);
    const auto sorted =
        f.EmitMany(OpKind::kExpertSort, {routed[1]}, {{AttrKey::kExperts, moe.experts}});
    auto grouped = [&](ValueId in, ValueId experts, int64_t gather) {
      return f.Emit(
          OpKind::kGroupedMatmul, {in, experts, sorted[0], sorted[2]},
          {{AttrKey::kGather, gather}, {AttrKey::kTopK, moe.top_k}, {AttrKey::kDType, act}});
    };
    const ValueId gate = grouped(p[0], p[2], 1);
    const ValueId up = grouped(p[0], p[3], 1);
    const ValueId mid = f.Emit(OpKind::kSiluMul, {gate, up}, {{AttrKey::kDType, act}});
    const ValueId down = grouped(mid, p[4], 0);
    return std::vector<ValueId>{f.Emit(OpKind::kMoeCombine, {down, sorted[1], routed[0]})};
  };
  auto fused = [&](Builder& f, std::span<const ValueId> p) {
    const auto routed = route(f, p);
    return std::vector<ValueId>{f.Emit(
        OpKind::kMoeFfn, {p[0], routed[0], routed[1], p[2], p[3], p[4]}, {{AttrKey::kDType, act}})};
  };
  return b.Composite(
      "moe",
      {x, weight("router"), weight("experts.gate"), weight("experts.up"), weight("experts.down")},
      {{"ragged", ragged}, {"fused", fused}})[0];
}

}  // namespace moxie::models
