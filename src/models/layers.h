// Building blocks that decoder-only families share. A family's file says what its feed-forward
// block is and where its weights are found; the rest of a pre-norm decoder is here:
//
//   h = embedding(ids)
//   for each layer:  h += attention(norm(h));  h += ffn(norm(h))
//   logits = head(norm(h[rows wanted]))
//
// The residual stream h is f32; what enters a matmul is rounded to GraphOptions::compute.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/model_config.h"
#include "ir/builder.h"
#include "models/family.h"

namespace moxie::models {

// Weights of one layer, by short name, inside the body of the repeat over layers.
using LayerWeights = std::map<std::string, ir::ValueId, std::less<>>;

class Decoder {
 public:
  Decoder(std::string_view name, const config::ModelConfig& config, const GraphOptions& options);

  // A matrix [rows, cols], or [experts, rows, cols], one a layer; `names` below
  // "model.layers.{i}.".
  void LayerMatrix(std::string_view name, tensor::Shape shape,
                   std::vector<ir::CheckpointName> names, int shard_dim);
  // A vector of f32 (norm weight, bias), one a layer.
  void LayerVector(std::string_view name, int64_t size, std::string_view checkpoint_name);

  // The feed-forward block: x [T,H] of the compute dtype -> f32 [T,H].
  using Ffn = std::function<ir::ValueId(ir::Builder& b, ir::ValueId x, const LayerWeights& w)>;
  Result<ir::Graph> Build(const Ffn& ffn) &&;

 private:
  void DeclareAttention();
  std::vector<ir::ValueId> Layer(ir::Builder& b, std::span<const ir::ValueId> params,
                                 const Ffn& ffn) const;
  ir::ValueId Attention(ir::Builder& b, ir::ValueId x, ir::ValueId& kv,
                        std::span<const ir::ValueId> step, const LayerWeights& w) const;

  const config::ModelConfig& config_;
  const GraphOptions options_;
  ir::Builder builder_;
  std::vector<std::string> layer_names_;  // of stacked weights, in order
  std::vector<ir::ValueId> layer_values_;
};

// x * w^T (+ bias of the same name + "_bias" where the layer has one), in `dtype`.
ir::ValueId Linear(ir::Builder& b, ir::ValueId x, const LayerWeights& w, std::string_view name,
                   tensor::DType dtype);

// down(silu(gate(x)) * up(x)), weights "gate", "up", "down": Llama's MLP.
ir::ValueId GatedMlp(ir::Builder& b, ir::ValueId x, const LayerWeights& w,
                     const GraphOptions& options);

// A sparse mixture of gated MLPs; weights "router" [E,H], "experts.gate", "experts.up" [E,I,H],
// "experts.down" [E,H,I]. A composite with two forms:
//   ragged  tokens sorted by expert, one grouped matmul a projection, weights streamed once
//   fused   one kernel op
ir::ValueId MoeFfn(ir::Builder& b, ir::ValueId x, const LayerWeights& w,
                   const config::MoeConfig& moe, const GraphOptions& options);

}  // namespace moxie::models
