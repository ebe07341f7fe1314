// Mixtral: Mistral's decoder whose MLP is a mixture of E gated MLPs, k of them a token, weighted by
// the softmax over the selected router logits (equal to the normalised softmax over all).
// Reference: transformers' MixtralForCausalLM.
#include "models/mixtral.h"

#include <algorithm>

#include "models/layers.h"

namespace moxie::models {

Result<ir::Graph> BuildMixtral(const config::ModelConfig& config, const GraphOptions& options) {
  if (config.activation != config::Activation::kSilu) {
    return Unimplemented("config.json: hidden_act: ", config.architecture,
                         " is supported with \"silu\" only");
  }
  if (!config.moe)
    return InvalidArgument("config.json: num_local_experts: ", config.architecture,
                           " needs experts");
  if (std::ranges::count(config.moe->sparse, false) > 0) {
    return Unimplemented("config.json: ", config.architecture,
                         " is supported with experts in every layer only");
  }
  Decoder decoder(config.model_type, config, options);
  const int64_t h = config.hidden_size, i = config.moe->intermediate_size, e = config.moe->experts;
  // The published checkpoints' names, then those of a model saved with fused experts.
  decoder.LayerMatrix("router", {e, h}, {{"block_sparse_moe.gate.weight"}, {"mlp.gate.weight"}},
                      -1);
  decoder.LayerMatrix(
      "experts.gate", {e, i, h},
      {{"block_sparse_moe.experts.{e}.w1.weight"}, {"mlp.experts.gate_up_proj", 0, 2}}, 1);
  decoder.LayerMatrix(
      "experts.up", {e, i, h},
      {{"block_sparse_moe.experts.{e}.w3.weight"}, {"mlp.experts.gate_up_proj", 1, 2}}, 1);
  decoder.LayerMatrix("experts.down", {e, h, i},
                      {{"block_sparse_moe.experts.{e}.w2.weight"}, {"mlp.experts.down_proj"}}, 2);
  return std::move(decoder).Build([&](ir::Builder& b, ir::ValueId x, const LayerWeights& w) {
    return MoeFfn(b, x, w, *config.moe, options);
  });
}

}  // namespace moxie::models
