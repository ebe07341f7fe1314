#include "config/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "config/model_config.h"

namespace moxie::config {
namespace {

std::string Data(std::string_view name) { return StrCat(MOXIE_TEST_DATA, "/", name); }

Json ReadData(std::string_view name) {
  auto json = ReadJsonFile(Data(name));
  if (!json.ok()) ADD_FAILURE() << json.status().message();
  return json.ok() ? *json : Json();
}

// A llama config with one attention head of the given width.
JsonObject LlamaWith(int64_t head_dim, int64_t max_positions) {
  return {{"model_type", "llama"},    {"hidden_size", head_dim},
          {"num_attention_heads", 1}, {"num_key_value_heads", 1},
          {"head_dim", head_dim},     {"max_position_embeddings", max_positions}};
}

ModelConfig Parse(const JsonObject& json) {
  auto config = ParseModelConfig(json, nullptr);
  if (!config.ok()) ADD_FAILURE() << config.status().message();
  return config.ok() ? *config : ModelConfig{};
}

void ExpectFreqs(const ModelConfig& config, const JsonArray& expected, double tolerance,
                 const std::string& name) {
  std::vector<float> actual = RopeInvFreq(config);
  ASSERT_EQ(actual.size(), expected.size()) << name;
  for (size_t p = 0; p < actual.size(); ++p) {
    double want = expected[p].to_number<double>();
    EXPECT_NEAR(actual[p], want, tolerance * want) << name << ", pair " << p;
  }
}

TEST(Rope, MatchesTransformersFormulas) {
  Json goldens = ReadData("config/rope_goldens.json");
  for (const Json& row : goldens.as_array()) {
    const JsonObject& golden = row.as_object();
    std::string name(golden.at("name").as_string());
    JsonObject json = LlamaWith(golden.at("head_dim").as_int64(),
                                golden.at("max_position_embeddings").as_int64());
    json["rope_parameters"] = golden.at("rope_parameters");
    ModelConfig config = Parse(json);
    ExpectFreqs(config, golden.at("inv_freq").as_array(), 1e-6, name);
    EXPECT_FLOAT_EQ(RopeAttentionFactor(config),
                    static_cast<float>(golden.at("attention_factor").to_number<double>()))
        << name;
  }
}

// cfg-rope-llama3: all 32 pairs of both factors, under "rope_type" and under "type".
TEST(Rope, CaseCfgRopeLlama3) {
  Json file = ReadData("cases/cfg-rope-llama3.json");
  const JsonObject& input = file.at("input").as_object();
  const JsonArray& scalings = input.at("rope_scaling").as_array();
  const JsonArray& rows = file.at("expected").at("rows").as_array();
  ASSERT_EQ(scalings.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const char* key : {"rope_type", "type"}) {
      JsonObject scaling = scalings[i].as_object();
      scaling.erase("rope_type");
      scaling[key] = "llama3";
      JsonObject json = LlamaWith(input.at("head_dim").as_int64(), 131072);
      json["rope_theta"] = input.at("rope_theta");
      json["rope_scaling"] = scaling;
      ModelConfig config = Parse(json);
      ExpectFreqs(config, rows[i].at("inv_freq").as_array(),
                  file.at("expected").at("tolerance_rel").to_number<double>(), key);
      EXPECT_EQ(RopeAttentionFactor(config), 1.0f);
    }
  }
}

TEST(Rope, UnscaledTypesHaveAttentionFactorOne) {
  ModelConfig config = Parse(LlamaWith(64, 2048));
  EXPECT_EQ(RopeAttentionFactor(config), 1.0f);
  EXPECT_EQ(RopeInvFreq(config).front(), 1.0f);
}

}  // namespace
}  // namespace moxie::config
