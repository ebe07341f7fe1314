// Model families: one file and one registry row each. A family turns a ModelConfig into a graph.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "config/model_config.h"
#include "ir/graph.h"

namespace moxie::models {

// Choices of the operator that shape the graph.
struct GraphOptions {
  tensor::DType compute = tensor::DType::kBF16;  // dtype of activations that enter a matmul
  tensor::DType weights = tensor::DType::kBF16;  // dtype of matrices in memory
  tensor::DType kv = tensor::DType::kBF16;       // dtype of the KV cache
  int64_t kv_block_tokens = 16;                  // B
};

struct Family {
  std::string_view architecture;  // "MixtralForCausalLM": config.json's architectures[0]
  // Step inputs, in order: ids, positions, slots, block_tables, query_start, context, logit_rows
  // (the tensors of runtime::StepInputs). Output 0: logits f32 [R, V]. State 0: the KV cache [N, 2,
  // kv_heads, B, D] a layer.
  Result<ir::Graph> (*build)(const config::ModelConfig& config, const GraphOptions& options);
};

// The row for the config's architecture; an error lists what is supported.
Result<const Family*> FindFamily(const config::ModelConfig& config);
std::span<const Family> Families();

// Tensors that a checkpoint may carry and that are not read: what old versions saved of constants,
// and the second copy of a tied output head. {i} as in WeightSpec.
std::vector<std::string> IgnoredTensors(const config::ModelConfig& config);

// The values of a derived weight ("rope_inv_freq"), from the config alone.
Status FillDerived(const config::ModelConfig& config, const std::string& derived,
                   std::span<float> out);

}  // namespace moxie::models
