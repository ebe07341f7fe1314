#include "config/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "config/rope.h"

namespace moxie::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json MustParse(std::string_view text) {
  auto json = ParseJson(text);
  if (!json.ok()) ADD_FAILURE() << json.status().message() << " in " << text;
  return json.ok() ? *json : Json();
}

Json ReadCase(std::string_view id) {
  auto json = ReadJsonFile(StrCat(MOXIE_TEST_DATA, "/cases/", id, ".json"));
  if (!json.ok()) ADD_FAILURE() << json.status().message();
  return json.ok() ? *json : Json();
}

Result<ModelConfig> Parse(std::string_view config) {
  return ParseModelConfig(MustParse(config), nullptr);
}

ModelConfig MustLoad(std::string_view config) {
  auto parsed = Parse(config);
  if (!parsed.ok()) ADD_FAILURE() << parsed.status().message();
  return parsed.ok() ? *parsed : ModelConfig{};
}

std::string ErrorOf(std::string_view config) {
  auto parsed = Parse(config);
  return parsed.ok() ? "accepted" : parsed.status().message();
}

constexpr std::string_view kMixtral4 = R"({
  "architectures": ["MixtralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
  "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mixtral",
  "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "num_local_experts": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": null,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 32000})";

constexpr std::string_view kLlama5 = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "bos_token_id": 1, "dtype": "bfloat16",
  "eos_token_id": 2, "head_dim": 16, "hidden_act": "silu", "hidden_size": 64, "intermediate_size": 96,
  "max_position_embeddings": 256, "mlp_bias": false, "model_type": "llama", "num_attention_heads": 4,
  "num_hidden_layers": 3, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
  "rope_parameters": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
    "original_max_position_embeddings": 64, "rope_theta": 500000.0, "rope_type": "llama3"},
  "tie_word_embeddings": true, "vocab_size": 256})";

TEST(ModelConfig, ReadsTransformers4Style) {
  ModelConfig c = MustLoad(kMixtral4);
  EXPECT_EQ(c.architecture, "MixtralForCausalLM");
  EXPECT_EQ(c.dtype, "bfloat16");
  EXPECT_EQ(c.head_dim, 128);
  EXPECT_EQ(c.num_kv_heads, 8);
  EXPECT_EQ(c.rms_norm_eps, 1e-5);
  EXPECT_EQ(c.rope.type, RopeType::kDefault);
  EXPECT_EQ(c.rope.theta, 1e6);
  EXPECT_FALSE(c.sliding_window.has_value());
  ASSERT_TRUE(c.moe.has_value());
  EXPECT_EQ(c.moe->experts, 8);
  EXPECT_EQ(c.moe->top_k, 2);
  EXPECT_EQ(c.moe->intermediate_size, 14336);
  EXPECT_EQ(c.bos_token_id, 1);
  EXPECT_THAT(c.eos_token_ids, ElementsAre(2));
}

TEST(ModelConfig, ReadsTransformers5Style) {
  ModelConfig c = MustLoad(kLlama5);
  EXPECT_EQ(c.dtype, "bfloat16");
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_TRUE(c.tie_word_embeddings);
  EXPECT_FALSE(c.moe.has_value());
  EXPECT_EQ(c.rope.type, RopeType::kLlama3);
  EXPECT_EQ(c.rope.theta, 500000.0);
  EXPECT_EQ(c.rope.factor, 8.0);
  EXPECT_EQ(c.rope.original_max_position_embeddings, 64);
}

TEST(ModelConfig, AbsentFieldsTakeTheDefaultsOfTheModelType) {
  ModelConfig llama = MustLoad(R"({"model_type":"llama"})");
  EXPECT_EQ(llama.architecture, "LlamaForCausalLM");
  EXPECT_EQ(llama.num_kv_heads, 32);
  EXPECT_EQ(llama.max_position_embeddings, 2048);
  EXPECT_EQ(llama.rms_norm_eps, 1e-6);
  EXPECT_EQ(llama.rope.theta, 10000.0);
  ModelConfig mistral = MustLoad(R"({"model_type":"mistral"})");
  EXPECT_EQ(mistral.num_kv_heads, 8);
  EXPECT_EQ(mistral.sliding_window, 4096);
  EXPECT_EQ(mistral.intermediate_size, 14336);
  ModelConfig mixtral = MustLoad(R"({"model_type":"mixtral"})");
  EXPECT_EQ(mixtral.num_kv_heads, 8);
  EXPECT_EQ(mixtral.rms_norm_eps, 1e-5);
  EXPECT_EQ(mixtral.rope.theta, 1e6);
  EXPECT_FALSE(mixtral.sliding_window.has_value());
  EXPECT_THAT(mixtral.eos_token_ids, IsEmpty());
}

TEST(ModelConfig, NullKvHeadsMeansOneAHeadInEveryType) {
  EXPECT_EQ(MustLoad(R"({"model_type":"mixtral","num_key_value_heads":null})").num_kv_heads, 32);
}

TEST(ModelConfig, SlidingWindowNullAbsentAndStated) {
  EXPECT_FALSE(
      MustLoad(R"({"model_type":"mistral","sliding_window":null})").sliding_window.has_value());
  EXPECT_EQ(MustLoad(R"({"model_type":"mixtral","sliding_window":8})").sliding_window, 8);
  // Llama's class has no window: transformers does not look at the field.
  EXPECT_FALSE(MustLoad(R"({"model_type":"llama","sliding_window":8})").sliding_window.has_value());
}

TEST(ModelConfig, OtherModelTypesParseWhenEverySizeIsStated) {
  std::string_view text =
      R"({"model_type":"qwen2","architectures":["Qwen2ForCausalLM"],"vocab_size":256,
    "hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":4,
    "num_key_value_heads":2,"max_position_embeddings":256})";
  EXPECT_EQ(MustLoad(text).architecture, "Qwen2ForCausalLM");
  EXPECT_THAT(ErrorOf(R"({"model_type":"qwen2","architectures":["Qwen2ForCausalLM"]})"),
              HasSubstr("config.json: field \"vocab_size\": is missing"));
  EXPECT_THAT(ErrorOf(R"({"hidden_size":64})"), HasSubstr("\"architectures\": is missing"));
}

TEST(ModelConfig, EosTokensAreOneIdOrAnArray) {
  EXPECT_THAT(MustLoad(R"({"model_type":"llama","eos_token_id":[2,7,2]})").eos_token_ids,
              ElementsAre(2, 7));
  EXPECT_THAT(MustLoad(R"({"model_type":"llama","eos_token_id":null})").eos_token_ids, IsEmpty());
  EXPECT_THAT(ErrorOf(R"({"model_type":"llama","eos_token_id":[2,32000]})"),
              HasSubstr("found 32000; token ids from 0 to vocab_size - 1 = 31999 work"));
  EXPECT_THAT(ErrorOf(R"({"model_type":"llama","eos_token_id":"</s>"})"),
              HasSubstr("eos_token_id"));
}

TEST(ModelConfig, DtypeWithTorchPrefix) {
  EXPECT_EQ(MustLoad(R"({"model_type":"llama","torch_dtype":"torch.float16"})").dtype, "float16");
  EXPECT_EQ(MustLoad(R"({"model_type":"llama"})").dtype, "");
}

struct BadConfig {
  const char* text;   // members beside model_type mixtral
  const char* error;  // expected in the message
};

class ModelConfigRefuses : public ::testing::TestWithParam<BadConfig> {};

TEST_P(ModelConfigRefuses, WithTheFieldAndWhatWasFound) {
  std::string text = StrCat(R"({"model_type":"mixtral",)", GetParam().text, "}");
  EXPECT_THAT(ErrorOf(text), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    All, ModelConfigRefuses,
    ::testing::Values(
        BadConfig{R"("hidden_size":0)",
                  "field \"hidden_size\": found 0; an integer from 1 to 1048576 works"},
        BadConfig{R"("hidden_size":-4096)", "found -4096"},
        BadConfig{R"("hidden_size":4096.0)", "found 4096.0; an integer"},
        BadConfig{R"("hidden_size":"4096")", "found \"4096\""},
        BadConfig{R"("hidden_size":true)", "found true"},
        BadConfig{R"("vocab_size":99999999999)", "found 99999999999"},
        BadConfig{R"("vocab_size":18446744073709551615)", "found 18446744073709551615"},
        BadConfig{R"("num_hidden_layers":100000)", "num_hidden_layers"},
        BadConfig{R"("head_dim":17)", "need an even number"},
        BadConfig{R"("num_attention_heads":33)",
                  "field \"num_key_value_heads\": found 8, which does not divide"},
        BadConfig{R"("rms_norm_eps":-1)", "rms_norm_eps"},
        BadConfig{R"("hidden_act":"relu2")", "\"relu2\" is not supported; silu"},
        BadConfig{R"("tie_word_embeddings":"no")", "found \"no\"; true or false works"},
        BadConfig{R"("architectures":[])", "an array with one name works"},
        BadConfig{R"("architectures":"X")", "an array with one name works"},
        BadConfig{R"("quantization_config":{"quant_method":"fp8"})",
                  "quant_method \"fp8\" is not supported"},
        BadConfig{R"("hidden_size":1048576,"intermediate_size":4194304,"num_local_experts":65536)",
                  "parameters"},
        BadConfig{
            R"("num_hidden_layers":4096,"num_attention_heads":4096,"num_key_value_heads":4096,"head_dim":4096,"hidden_size":1,"intermediate_size":1)",
            "key elements a token"},
        BadConfig{R"("rope_theta":1)", "rope_theta"},
        BadConfig{R"("rope_scaling":"yarn")",
                  "field \"rope_scaling\": found a string; an object or null works"},
        BadConfig{R"("rope_scaling":{"type":"dynamic","factor":2.0})",
                  "config.json: rope_scaling: field \"type\": \"dynamic\" is not supported; "
                  "default, linear, llama3 and yarn are"},
        BadConfig{R"("rope_parameters":{"rope_type":"longrope"})",
                  "field \"rope_type\": \"longrope\" is not supported"},
        BadConfig{R"("rope_scaling":{"type":"linear"})", "field \"factor\": is missing"},
        BadConfig{R"("rope_scaling":{"type":"linear","factor":0})",
                  "found 0; a number above 0 and at most 1e+06 works"},
        BadConfig{
            R"("rope_scaling":{"type":"llama3","factor":8.0,"low_freq_factor":4.0,"high_freq_factor":4.0})",
            "not above low_freq_factor"},
        BadConfig{R"("rope_scaling":{"type":"yarn","factor":8.0,"beta_fast":0.5})",
                  "below beta_slow"},
        BadConfig{R"("rope_parameters":{"full_attention":{"rope_type":"default"}})",
                  "per kind of layer"},
        BadConfig{R"("partial_rotary_factor":0.5)", "partial_rotary_factor"}));

TEST(ModelConfig, RopeScalingNullAndDefault) {
  EXPECT_EQ(MustLoad(R"({"model_type":"llama","rope_scaling":null})").rope.type,
            RopeType::kDefault);
  EXPECT_EQ(MustLoad(R"({"model_type":"llama","rope_scaling":{"rope_type":"default"}})").rope.type,
            RopeType::kDefault);
}

TEST(ModelConfig, YarnOriginalLengthDefaultsToTheModels) {
  ModelConfig c = MustLoad(R"({"model_type":"llama","rope_scaling":{"type":"yarn","factor":4.0}})");
  EXPECT_EQ(c.rope.original_max_position_embeddings, 2048);
  EXPECT_EQ(MaxPositions(c), 8192);
}

// Derived lengths of case mem-max-model-len-over-derived; the refusals are in the flags' and
// start-up's tests.
TEST(ModelConfig, CaseMemMaxModelLenOverDerivedLengths) {
  EXPECT_EQ(MaxPositions(MustLoad(R"({"model_type":"llama","max_position_embeddings":4096})")),
            4096);
  EXPECT_EQ(
      MaxPositions(MustLoad(R"({"model_type":"llama","max_position_embeddings":4096,"rope_scaling":
    {"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":4096}})")),
      16384);
  EXPECT_EQ(MaxPositions(MustLoad(kLlama5)), 256);
}

TEST(ModelConfig, CaseCfgHeadDimKvHeads) {
  Json file = ReadCase("cfg-head-dim-kv-heads");
  const JsonArray& configs = file.at("input").at("configs").as_array();
  const JsonArray& rows = file.at("expected").at("rows").as_array();
  ASSERT_EQ(configs.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    JsonObject config = configs[i].at("config").as_object();
    config["model_type"] = file.at("input").at("model_type");
    auto parsed = ParseModelConfig(config, nullptr);
    const JsonObject& want = rows[i].as_object();
    ASSERT_EQ(parsed.ok(), want.at("accept").as_bool()) << DumpJson(config);
    if (!parsed.ok()) continue;
    EXPECT_EQ(parsed->head_dim, want.at("head_dim").as_int64());
    EXPECT_EQ(parsed->num_kv_heads, want.at("num_kv_heads").as_int64());
    EXPECT_EQ(parsed->num_heads * parsed->head_dim, want.at("q_proj").at(0).as_int64());
    EXPECT_EQ(parsed->num_kv_heads * parsed->head_dim, want.at("k_proj").at(0).as_int64());
  }
}

// The rows on Mixtral's keys; those on DeepSeek's belong to its family.
TEST(ModelConfig, CaseMoeTopkExceedsExperts) {
  Json file = ReadCase("moe-topk-exceeds-experts");
  const JsonArray& configs = file.at("input").at("configs").as_array();
  for (size_t i = 0; i < configs.size(); ++i) {
    JsonObject config = configs[i].as_object();
    if (!config.contains("num_local_experts")) continue;
    config["model_type"] = "mixtral";
    auto parsed = ParseModelConfig(config, nullptr);
    EXPECT_EQ(parsed.ok(), file.at("expected").at("accept").at(i).as_bool()) << DumpJson(config);
  }
  EXPECT_THAT(ErrorOf(R"({"model_type":"mixtral","num_local_experts":8,"num_experts_per_tok":9})"),
              HasSubstr("found 9, more than num_local_experts 8"));
}

// The files' part of the union; the tokenizer's end token joins in the engine.
TEST(ModelConfig, CaseCfgEosUnion) {
  Json file = ReadCase("cfg-eos-union");
  for (const Json& variant : file.at("input").at("variants").as_array()) {
    JsonObject config{{"model_type", "llama"}, {"eos_token_id", variant.at("config_eos")}};
    Json generation = JsonObject{{"eos_token_id", variant.at("generation_config_eos")}};
    auto parsed = ParseModelConfig(config, &generation);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    if (variant.at("generation_config_eos").is_int64()) {
      EXPECT_THAT(parsed->eos_token_ids, ElementsAre(1));
    } else if (variant.at("config_eos").is_null()) {
      EXPECT_THAT(parsed->eos_token_ids, ElementsAre(7));
    } else {
      EXPECT_THAT(parsed->eos_token_ids, ElementsAre(1, 206));
    }
  }
}

// The file's part: what a request may override is the engine's.
TEST(ModelConfig, CaseCfgGenerationConfigDefaults) {
  Json llama = MustParse(R"({"model_type":"llama"})");
  Json file = ReadCase("cfg-generation-config-defaults");
  auto variant = [&](size_t i) {
    const Json& generation = file.at("input").at("variants").at(i).at("generation_config");
    auto parsed = ParseModelConfig(llama, generation.is_null() ? nullptr : &generation);
    if (!parsed.ok()) ADD_FAILURE() << parsed.status().message();
    return parsed.ok() ? *parsed : ModelConfig{};
  };
  EXPECT_EQ(variant(0).temperature, 0.7);
  EXPECT_EQ(variant(0).top_p, 0.8);
  EXPECT_EQ(variant(0).top_k, 0);
  EXPECT_EQ(variant(0).repetition_penalty, 1.1);
  EXPECT_FALSE(variant(2).temperature.has_value());
  EXPECT_FALSE(variant(2).top_k.has_value());
  EXPECT_EQ(variant(4).temperature, 0.0);
}

TEST(ModelConfig, GenerationConfigIsChecked) {
  Json llama = MustParse(R"({"model_type":"llama"})");
  auto error = [&](std::string_view text) {
    Json generation = MustParse(text);
    auto parsed = ParseModelConfig(llama, &generation);
    return parsed.ok() ? std::string("accepted") : parsed.status().message();
  };
  EXPECT_THAT(error(R"({"top_p":0})"),
              HasSubstr("generation_config.json: field \"top_p\": found 0; a number above 0"));
  EXPECT_THAT(error(R"({"top_p":1.5})"), HasSubstr("at most 1 works"));
  EXPECT_THAT(error(R"({"top_k":-2})"), HasSubstr("top_k"));
  EXPECT_THAT(error(R"({"temperature":-1})"), HasSubstr("temperature"));
  EXPECT_THAT(error(R"({"eos_token_id":-1})"), HasSubstr("eos_token_id"));
  EXPECT_THAT(error(R"([])"), HasSubstr("found an array; an object works"));
  EXPECT_EQ(error(R"({"top_k":-1,"min_p":0.1,"max_new_tokens":5})"), "accepted");
}

TEST(ModelConfig, ConfigMustBeAnObject) {
  EXPECT_THAT(ErrorOf("[1]"), HasSubstr("config.json: found an array; an object works"));
}

// Every field set to every kind of odd value: refused, or sizes that later code can rely on.
TEST(ModelConfig, OddValuesInEveryFieldNeverGetThrough) {
  const char* odd[] = {
      "null", "0",    "-1",    "1",  "3",   "2147483648", "9223372036854775807",     "1e308",
      "-0.5", "true", "\"x\"", "[]", "[1]", "{}",         "{\"rope_type\":\"yarn\"}"};
  for (std::string_view base : {kMixtral4, kLlama5}) {
    const JsonObject whole = MustParse(base).as_object();
    for (const auto& field : whole) {
      for (const char* value : odd) {
        JsonObject changed = whole;
        changed[field.key()] = MustParse(value);
        auto c = ParseModelConfig(changed, nullptr);
        if (!c.ok()) {
          EXPECT_THAT(c.status().message(), HasSubstr("config.json"));
          continue;
        }
        EXPECT_GT(c->head_dim, 0) << DumpJson(changed);
        EXPECT_EQ(c->num_heads % c->num_kv_heads, 0) << DumpJson(changed);
        EXPECT_GT(c->vocab_size * c->hidden_size * c->intermediate_size * c->num_layers, 0);
        EXPECT_GE(MaxPositions(*c), 1);
        for (float f : RopeInvFreq(*c)) EXPECT_TRUE(std::isfinite(f) && f > 0) << DumpJson(changed);
        EXPECT_TRUE(std::isfinite(RopeAttentionFactor(*c)));
      }
    }
  }
}

class ModelDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    dir_ =
        std::filesystem::path(::testing::TempDir()) / StrCat("moxie_model_", name, "_", ::getpid());
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void Write(std::string_view name, std::string_view text) { std::ofstream(dir_ / name) << text; }

  std::filesystem::path dir_;
};

TEST_F(ModelDirectory, MergesGenerationConfigAsAsked) {
  Write("config.json", kLlama5);
  Write("generation_config.json", R"({"eos_token_id":[2,9],"temperature":0.6})");
  auto merged = LoadModelConfig(dir_);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_THAT(merged->eos_token_ids, ElementsAre(2, 9));
  EXPECT_EQ(merged->temperature, 0.6);
  auto plain = LoadModelConfig(dir_, "vllm");
  ASSERT_TRUE(plain.ok());
  EXPECT_THAT(plain->eos_token_ids, ElementsAre(2));
  EXPECT_FALSE(plain->temperature.has_value());
  auto alone = LoadModelConfig(dir_ / "config.json");
  ASSERT_TRUE(alone.ok());
  EXPECT_FALSE(alone->temperature.has_value());
  auto named = LoadModelConfig(dir_ / "config.json", dir_.string());
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->temperature, 0.6);
}

TEST_F(ModelDirectory, ErrorsNameThePath) {
  EXPECT_THAT(LoadModelConfig(dir_ / "none").status().message(),
              HasSubstr("none: no such model directory"));
  EXPECT_THAT(LoadModelConfig(dir_).status().message(), HasSubstr("has no config.json"));
  Write("config.json", "{\"hidden_size\": }");
  EXPECT_THAT(LoadModelConfig(dir_).status().message(), HasSubstr("config.json: line 1, column"));
  Write("config.json", R"({"model_type":"llama","hidden_size":0})");
  EXPECT_THAT(LoadModelConfig(dir_).status().message(), HasSubstr((dir_ / "config.json").string()));
  Write("config.json", kLlama5);
  EXPECT_THAT(LoadModelConfig(dir_, (dir_ / "gone").string()).status().message(),
              HasSubstr("--generation-config takes auto, vllm or a directory"));
}

}  // namespace
}  // namespace moxie::config
