#include <algorithm>

#include "config/rope.h"
#include "models/family.h"
#include "models/llama.h"
#include "models/mixtral.h"

namespace moxie::models {
namespace {

constexpr Family kFamilies[] = {
    {"LlamaForCausalLM", BuildLlama},
    {"MistralForCausalLM", BuildLlama},
    {"MixtralForCausalLM", BuildMixtral},
};

}  // namespace

std::span<const Family> Families() { return kFamilies; }

Result<const Family*> FindFamily(const config::ModelConfig& config) {
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.architecture == config.architecture) return &family;
    known += StrCat(known.empty() ? "" : ", ", family.architecture);
  }
  return Unimplemented("config.json: architectures: \"", config.architecture,
                       "\" is not supported; supported: ", known);
}

std::vector<std::string> IgnoredTensors(const config::ModelConfig& config) {
  std::vector<std::string> names = {"model.layers.{i}.self_attn.rotary_emb.inv_freq"};
  if (config.tie_word_embeddings) names.emplace_back("lm_head.weight");
  return names;
}

Status FillDerived(const config::ModelConfig& config, const std::string& derived,
                   std::span<float> out) {
  if (derived != "rope_inv_freq") return Internal("no derivation is called \"", derived, "\"");
  const std::vector<float> values = config::RopeInvFreq(config);
  if (values.size() != out.size()) {
    return Internal("rope_inv_freq has ", values.size(), " values, the graph wants ", out.size());
  }
  std::copy(values.begin(), values.end(), out.begin());
  return {};
}

}  // namespace moxie::models
