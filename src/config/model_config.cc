#include "config/model_config.h"

#include <algorithm>
#include <string>
#include <utility>

#include "config/json_fields.h"
#include "config/moe_layers.h"
#include "config/rope_config.h"

namespace moxie::config {
namespace {

// What transformers' configuration class of a model type gives to an absent field.
struct TypeDefaults {
  std::string_view model_type = "";
  std::string_view architecture = "";
  std::optional<int64_t> hidden = {}, intermediate = {}, layers = {}, heads = {};
  std::optional<int64_t> kv_heads = {};  // nullopt: as many as heads
  std::optional<int64_t> vocab = {}, positions = {};
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  bool biases = false;      // the class has attention_bias and mlp_bias
  bool has_window = false;  // the class has sliding_window
  std::optional<int64_t> window = {};
  bool is_moe = false;
  std::optional<int64_t> experts = {}, top_k = {};
};

constexpr TypeDefaults kTypes[] = {
    {.model_type = "llama",
     .architecture = "LlamaForCausalLM",
     .hidden = 4096,
     .intermediate = 11008,
     .layers = 32,
     .heads = 32,
     .kv_heads = std::nullopt,
     .vocab = 32000,
     .positions = 2048,
     .biases = true},
    {.model_type = "mistral",
     .architecture = "MistralForCausalLM",
     .hidden = 4096,
     .intermediate = 14336,
     .layers = 32,
     .heads = 32,
     .kv_heads = 8,
     .vocab = 32000,
     .positions = 131072,
     .has_window = true,
     .window = 4096},
    {.model_type = "mixtral",
     .architecture = "MixtralForCausalLM",
     .hidden = 4096,
     .intermediate = 14336,
     .layers = 32,
     .heads = 32,
     .kv_heads = 8,
     .vocab = 32000,
     .positions = 131072,
     .rms_norm_eps = 1e-5,
     .rope_theta = 1e6,
     .has_window = true,
     .is_moe = true,
     .experts = 8,
     .top_k = 2},
};

// A type without a row: every size has to be stated.
constexpr TypeDefaults kUnknownType{.biases = true};

const TypeDefaults& DefaultsOf(std::string_view model_type) {
  for (const TypeDefaults& row : kTypes) {
    if (row.model_type == model_type) return row;
  }
  return kUnknownType;
}

constexpr struct {
  std::string_view name;
  Activation activation;
} kActivations[] = {
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"gelu", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
};

// Far above any model; low enough that the products checked in CheckProducts bound all others.
constexpr IntRange kVocab{1, int64_t{1} << 24};
constexpr IntRange kHidden{1, int64_t{1} << 20};
constexpr IntRange kIntermediate{1, int64_t{1} << 22};
constexpr IntRange kLayers{1, 4096};
constexpr IntRange kHeads{1, 4096};
constexpr IntRange kHeadDim{1, 4096};
constexpr IntRange kExperts{1, 65536};
constexpr IntRange kPositions{1, int64_t{1} << 28};
constexpr double kMaxParameters = 281474976710656.0;  // 2^48
constexpr double kMaxKvElements = 16777216.0;         // 2^24: of a token, all layers, keys alone

void ReadIdentity(JsonFields& fields, ModelConfig& config) {
  config.model_type = fields.String("model_type").value_or("");
  config.architecture = DefaultsOf(config.model_type).architecture;
  if (const Json* names = fields.Find("architectures")) {
    if (!names->is_array() || names->get_array().size() != 1 ||
        !names->get_array()[0].is_string()) {
      fields.Fail("architectures", StrCat("found ", DumpJson(*names).substr(0, 80),
                                          "; an array with one name works"));
      return;
    }
    config.architecture = std::string(names->get_array()[0].get_string());
  }
  if (config.architecture.empty()) {
    fields.Fail("architectures", "is missing, and \"model_type\" does not name a known model type");
  }
  std::optional<std::string> dtype = fields.String("dtype");
  config.dtype = dtype ? *dtype : fields.String("torch_dtype").value_or("");
  if (config.dtype.starts_with("torch.")) config.dtype.erase(0, 6);
}

// The width of one head: as stated, or hidden / heads.
int64_t ReadHeadDim(JsonFields& fields, const ModelConfig& config) {
  std::optional<int64_t> stated = fields.Int("head_dim", kHeadDim);
  if (stated) return *stated;
  if (config.hidden_size % config.num_heads != 0) {
    fields.Fail("head_dim", StrCat("is missing, and hidden_size ", config.hidden_size,
                                   " is not a multiple of num_attention_heads ", config.num_heads));
  }
  return config.hidden_size / config.num_heads;
}

// Absent means the type's default; an explicit null, one per head.
int64_t ReadKvHeads(const JsonObject& object, JsonFields& fields, const TypeDefaults& defaults,
                    int64_t heads) {
  bool absent = object.if_contains("num_key_value_heads") == nullptr;
  int64_t fallback = absent ? defaults.kv_heads.value_or(heads) : heads;
  int64_t kv_heads = fields.IntOr("num_key_value_heads", kHeads, fallback);
  if (heads % kv_heads != 0) {
    fields.Fail("num_key_value_heads",
                StrCat("found ", kv_heads, ", which does not divide num_attention_heads ", heads));
  }
  return kv_heads;
}

void ReadSizes(const JsonObject& object, JsonFields& fields, const TypeDefaults& defaults,
               ModelConfig& config) {
  config.vocab_size = fields.IntOr("vocab_size", kVocab, defaults.vocab);
  config.hidden_size = fields.IntOr("hidden_size", kHidden, defaults.hidden);
  config.intermediate_size =
      fields.IntOr("intermediate_size", kIntermediate, defaults.intermediate);
  config.num_layers = fields.IntOr("num_hidden_layers", kLayers, defaults.layers);
  config.num_heads = fields.IntOr("num_attention_heads", kHeads, defaults.heads);
  config.num_kv_heads = ReadKvHeads(object, fields, defaults, config.num_heads);
  config.head_dim = ReadHeadDim(fields, config);
  if (config.head_dim % 2 != 0) {
    fields.Fail("head_dim",
                StrCat("found ", config.head_dim, "; rotary embeddings need an even number"));
  }
  config.max_position_embeddings =
      fields.IntOr("max_position_embeddings", kPositions, defaults.positions);
}

void ReadMoe(JsonFields& fields, const TypeDefaults& defaults, ModelConfig& config) {
  if (!defaults.is_moe) return;
  MoeConfig moe;
  moe.experts = fields.IntOr("num_local_experts", kExperts, defaults.experts);
  moe.top_k = fields.IntOr("num_experts_per_tok", kExperts, defaults.top_k);
  moe.intermediate_size =
      fields.IntOr("moe_intermediate_size", kIntermediate, config.intermediate_size);
  moe.sparse = ReadSparseLayers(fields, config.num_layers, moe.experts);
  if (moe.top_k > moe.experts) {
    fields.Fail("num_experts_per_tok",
                StrCat("found ", moe.top_k, ", more than num_local_experts ", moe.experts));
  }
  config.moe = moe;
}

void ReadMath(JsonFields& fields, const TypeDefaults& defaults, ModelConfig& config) {
  config.rms_norm_eps = fields.RealOr("rms_norm_eps", {.min = 0, .max = 1}, defaults.rms_norm_eps);
  std::string name = fields.String("hidden_act").value_or("silu");
  auto row = std::find_if(std::begin(kActivations), std::end(kActivations),
                          [&](const auto& candidate) { return candidate.name == name; });
  if (row == std::end(kActivations)) {
    fields.Fail("hidden_act",
                StrCat("\"", name, "\" is not supported; silu, gelu and gelu_pytorch_tanh are"),
                StatusCode::kUnimplemented);
  } else {
    config.activation = row->activation;
  }
  if (defaults.biases) {
    config.attention_bias = fields.Bool("attention_bias").value_or(false);
    config.mlp_bias = fields.Bool("mlp_bias").value_or(false);
  }
  config.tie_word_embeddings = fields.Bool("tie_word_embeddings").value_or(false);
}

// Absent means the type's default; an explicit null, every key.
void ReadWindow(const JsonObject& object, JsonFields& fields, const TypeDefaults& defaults,
                ModelConfig& config) {
  if (!defaults.has_window) return;
  bool absent = object.if_contains("sliding_window") == nullptr;
  config.sliding_window = absent ? defaults.window : fields.Int("sliding_window", kPositions);
}

void RefuseQuantized(JsonFields& fields) {
  const Json* quantization = fields.Find("quantization_config");
  if (quantization == nullptr) return;
  const Json* method =
      quantization->is_object() ? quantization->get_object().if_contains("quant_method") : nullptr;
  fields.Fail("quantization_config",
              StrCat("quant_method ", method ? DumpJson(*method).substr(0, 80) : "unnamed",
                     " is not supported; weights in bfloat16, float16 or float32 are"),
              StatusCode::kUnimplemented);
}

// Bounds the two products that every size in bytes comes from.
void CheckProducts(JsonFields& fields, const ModelConfig& c) {
  auto real = [](int64_t v) { return static_cast<double>(v); };
  double experts = c.moe ? real(c.moe->experts) : 1.0;
  const int64_t width =
      std::max(c.intermediate_size, c.moe ? c.moe->intermediate_size : c.intermediate_size);
  double mlp = 3 * experts * real(width) * real(c.hidden_size);
  double attention =
      2 * real(c.hidden_size) * real(c.num_heads + c.num_kv_heads) * real(c.head_dim);
  double parameters =
      real(c.num_layers) * (mlp + attention) + 2 * real(c.vocab_size) * real(c.hidden_size);
  if (parameters > kMaxParameters) {
    fields.Fail("hidden_size", StrCat("the sizes make ", parameters, " parameters; at most ",
                                      kMaxParameters, " work"));
  }
  double kv = real(c.num_layers) * real(c.num_kv_heads) * real(c.head_dim);
  if (kv > kMaxKvElements) {
    fields.Fail(
        "num_key_value_heads",
        StrCat("the sizes make ", kv, " key elements a token; at most ", kMaxKvElements, " work"));
  }
}

// One id or an array of them, each below vocab_size; absent and null give none.
std::vector<int32_t> ReadTokenIds(JsonFields& fields, std::string_view field, int64_t vocab_size) {
  std::vector<int32_t> ids;
  const Json* value = fields.Find(field);
  if (value == nullptr) return ids;
  JsonArray one{*value};
  for (const Json& id : value->is_array() ? value->get_array() : one) {
    if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() >= vocab_size) {
      fields.Fail(field,
                  StrCat("found ", DumpJson(id).substr(0, 80),
                         "; token ids from 0 to vocab_size - 1 = ", vocab_size - 1, " work"));
      return {};
    }
    ids.push_back(static_cast<int32_t>(id.get_int64()));
  }
  return ids;
}

// Only stated ids count: the class default (2) is no end token in vocabularies of another size.
void ReadSpecialTokens(JsonFields& fields, ModelConfig& config) {
  std::vector<int32_t> bos = ReadTokenIds(fields, "bos_token_id", config.vocab_size);
  if (!bos.empty()) config.bos_token_id = bos.front();
  for (int32_t id : ReadTokenIds(fields, "eos_token_id", config.vocab_size)) {
    if (std::find(config.eos_token_ids.begin(), config.eos_token_ids.end(), id) ==
        config.eos_token_ids.end()) {
      config.eos_token_ids.push_back(id);
    }
  }
}

void ReadSamplingDefaults(JsonFields& fields, ModelConfig& config) {
  config.temperature = fields.Real("temperature", {.min = 0});
  if (fields.Bool("do_sample") == false) config.temperature = 0.0;
  config.top_p = fields.Real("top_p", {.min = 0, .max = 1, .min_open = true});
  config.top_k = fields.Int("top_k", {.min = -1});
  if (config.top_k == -1) config.top_k = 0;
  config.min_p = fields.Real("min_p", {.min = 0, .max = 1});
  config.repetition_penalty = fields.Real("repetition_penalty", {.min = 0, .min_open = true});
  config.max_new_tokens = fields.Int("max_new_tokens", {});
}

Status MergeGeneration(const Json& generation, const std::string& where, ModelConfig& config) {
  if (!generation.is_object()) {
    return InvalidArgument(where, ": found ", JsonTypeName(generation), "; an object works");
  }
  JsonFields fields(generation.get_object(), where);
  ReadSpecialTokens(fields, config);
  ReadSamplingDefaults(fields, config);
  return fields.status();
}

Result<ModelConfig> ParseModel(const Json& json, const std::string& where) {
  if (!json.is_object())
    return InvalidArgument(where, ": found ", JsonTypeName(json), "; an object works");
  const JsonObject& object = json.get_object();
  JsonFields fields(object, where);
  ModelConfig config;
  ReadIdentity(fields, config);
  const TypeDefaults& defaults = DefaultsOf(config.model_type);
  ReadSizes(object, fields, defaults, config);
  ReadMoe(fields, defaults, config);
  ReadMath(fields, defaults, config);
  ReadWindow(object, fields, defaults, config);
  RefuseQuantized(fields);
  ReadSpecialTokens(fields, config);
  CheckProducts(fields, config);
  if (!fields.status().ok()) return fields.status();
  MOXIE_ASSIGN_OR_RETURN(config.rope, ParseRopeConfig(object, where, defaults.rope_theta,
                                                      config.max_position_embeddings));
  return config;
}

bool Exists(const std::filesystem::path& path) {
  std::error_code ec;  // a path that cannot be looked at is not there for us
  return std::filesystem::exists(path, ec);
}

// Where the generation config lies; empty: there is none to read.
Result<std::filesystem::path> GenerationPath(const std::filesystem::path& model,
                                             bool model_is_directory,
                                             std::string_view generation_config) {
  if (generation_config == "vllm") return std::filesystem::path();
  if (generation_config == "auto") {
    std::filesystem::path path = model / "generation_config.json";
    return model_is_directory && Exists(path) ? path : std::filesystem::path();
  }
  std::filesystem::path path = std::filesystem::path(generation_config) / "generation_config.json";
  if (!Exists(path)) {
    return NotFound(path.string(),
                    ": no such file; --generation-config takes auto, vllm or a directory with one");
  }
  return path;
}

}  // namespace

int64_t MaxPositions(const ModelConfig& config) {
  const RopeConfig& rope = config.rope;
  bool stretched = rope.type == RopeType::kLinear || rope.type == RopeType::kYarn;
  if (!stretched) return config.max_position_embeddings;
  int64_t base = rope.type == RopeType::kYarn ? rope.original_max_position_embeddings
                                              : config.max_position_embeddings;
  double positions =
      std::min(static_cast<double>(base) * rope.factor, static_cast<double>(kPositions.max));
  return std::max(int64_t{1}, static_cast<int64_t>(positions));
}

Result<ModelConfig> ParseModelConfig(const Json& config, const Json* generation) {
  MOXIE_ASSIGN_OR_RETURN(ModelConfig parsed, ParseModel(config, "config.json"));
  if (generation != nullptr) {
    MOXIE_RETURN_IF_ERROR(MergeGeneration(*generation, "generation_config.json", parsed));
  }
  return parsed;
}

Result<ModelConfig> LoadModelConfig(const std::filesystem::path& path,
                                    std::string_view generation_config) {
  if (!Exists(path)) {
    return NotFound(path.string(),
                    ": no such model directory (models are local directories; none is downloaded)");
  }
  std::error_code ec;
  bool is_directory = std::filesystem::is_directory(path, ec);
  std::filesystem::path file = is_directory ? path / "config.json" : path;
  if (!Exists(file)) {
    return NotFound(path.string(),
                    ": has no config.json, which a Hugging Face model directory has");
  }
  MOXIE_ASSIGN_OR_RETURN(Json json, ReadJsonFile(file));
  MOXIE_ASSIGN_OR_RETURN(ModelConfig config, ParseModel(json, file.string()));
  MOXIE_ASSIGN_OR_RETURN(std::filesystem::path generation_file,
                         GenerationPath(path, is_directory, generation_config));
  if (generation_file.empty()) return config;
  MOXIE_ASSIGN_OR_RETURN(Json generation, ReadJsonFile(generation_file));
  MOXIE_RETURN_IF_ERROR(MergeGeneration(generation, generation_file.string(), config));
  return config;
}

}  // namespace moxie::config
