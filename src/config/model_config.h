// ModelConfig: all that a model's files decide, from config.json and generation_config.json, in the
// style of transformers 4 (`rope_theta`, `rope_scaling`, `torch_dtype`) and 5 (`rope_parameters`,
// `dtype`).
//
// No default lives anywhere else: a field that is absent takes the value that transformers'
// configuration class of the same model type gives it, in config/model_config.cc's table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace moxie::config {

enum class Activation : uint8_t { kSilu, kGelu, kGeluTanh };

enum class RopeType : uint8_t { kDefault, kLinear, kLlama3, kYarn };

// Rotary embedding, as transformers' modeling_rope_utils.py defines its parameters. All of a head
// rotates. The numbers that follow from it are in config/rope.h.
struct RopeConfig {
  RopeType type = RopeType::kDefault;
  double theta = 10000.0;                        // > 1
  double factor = 1.0;                           // linear, llama3, yarn; > 0
  double low_freq_factor = 1.0;                  // llama3
  double high_freq_factor = 4.0;                 // llama3
  int64_t original_max_position_embeddings = 0;  // llama3, yarn
  double beta_fast = 32.0;                       // yarn
  double beta_slow = 1.0;                        // yarn
  std::optional<double> mscale;                  // yarn
  std::optional<double> mscale_all_dim;          // yarn
  std::optional<double> attention_factor;        // yarn
  bool truncate = true;                          // yarn
};

struct MoeConfig {
  int64_t experts = 0;
  int64_t top_k = 0;
  int64_t intermediate_size = 0;  // of one expert
  bool normalize_top_k = true;    // selected weights are made to sum to one
  std::vector<bool> sparse = {};  // by layer: a mixture, else a dense MLP
};

struct ModelConfig {
  std::string architecture;  // "MixtralForCausalLM"
  std::string model_type;    // "mixtral"
  std::string dtype;         // the checkpoint's, as declared: "bfloat16"; empty when absent
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;  // of a dense MLP
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-6;
  Activation activation = Activation::kSilu;
  RopeConfig rope;
  std::optional<int64_t> sliding_window;  // keys a query sees, itself included
  bool tie_word_embeddings = false;
  bool attention_bias = false;
  bool mlp_bias = false;
  std::optional<MoeConfig> moe;
  std::optional<int32_t> bos_token_id;
  // Union of config.json's and generation_config.json's, without repeats; the tokenizer's may join
  // it later.
  std::vector<int32_t> eos_token_ids;
  // Sampling defaults of generation_config.json.
  std::optional<double> temperature;  // 0 when the file says `"do_sample": false`
  std::optional<double> top_p;
  std::optional<int64_t> top_k;  // 0: off (the file may say 0 or -1)
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<int64_t> max_new_tokens;
};

// Longest sequence the position encoding covers: max_position_embeddings, or the original length
// times the factor where the scaling is linear or yarn (the rule of vLLM's max_model_len).
int64_t MaxPositions(const ModelConfig& config);

// From a parsed config.json; `generation` (generation_config.json) may be null. Every size is
// positive and bounded so that no product of sizes overflows int64; heads divide. Errors name the
// file, the field, what was found and what would work.
Result<ModelConfig> ParseModelConfig(const Json& config, const Json* generation);

// Where sampling defaults and further end tokens come from, as `--generation-config` names it.
//   "auto": the model directory's generation_config.json where present; "vllm": none; else: a
//   directory.
// `path` is a model directory or a config.json, which is then read alone under "auto".
Result<ModelConfig> LoadModelConfig(const std::filesystem::path& path,
                                    std::string_view generation_config = "auto");

}  // namespace moxie::config
