// Llama and Mistral: pre-norm decoder, grouped-query attention with rotary positions, gated SiLU
// MLP. Mistral differs in its config only (a sliding window). References: transformers'
// LlamaForCausalLM and MistralForCausalLM.
#include "models/llama.h"

#include "models/layers.h"

namespace moxie::models {

Result<ir::Graph> BuildLlama(const config::ModelConfig& config, const GraphOptions& options) {
  if (config.activation != config::Activation::kSilu) {
    return Unimplemented("config.json: hidden_act: ", config.architecture,
                         " is supported with \"silu\" only");
  }
  Decoder decoder(config.model_type, config, options);
  const int64_t h = config.hidden_size, i = config.intermediate_size;
  struct Projection {
    std::string_view name;
    int64_t rows, cols;
    int shard_dim;
  };
  for (const Projection& p : {Projection{"gate", i, h, 0}, {"up", i, h, 0}, {"down", h, i, 1}}) {
    decoder.LayerMatrix(p.name, {p.rows, p.cols}, {{StrCat("mlp.", p.name, "_proj.weight")}},
                        p.shard_dim);
    if (config.mlp_bias) {
      decoder.LayerVector(StrCat(p.name, "_bias"), p.rows, StrCat("mlp.", p.name, "_proj.bias"));
    }
  }
  return std::move(decoder).Build([&](ir::Builder& b, ir::ValueId x, const LayerWeights& w) {
    return GatedMlp(b, x, w, options);
  });
}

}  // namespace moxie::models
