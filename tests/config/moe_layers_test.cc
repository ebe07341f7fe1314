#include "config/moe_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/status.h"
#include "config/model_config.h"

namespace moxie::config {
namespace {

using ::testing::HasSubstr;

int64_t Experts(const JsonObject& config) {
  for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
    if (const Json* experts = config.if_contains(key)) return experts->as_int64();
  }
  return 0;
}

TEST(MoeLayers, CaseCfgMoeLayerPlan) {
  auto file = ReadJsonFile(StrCat(MOXIE_TEST_DATA, "/cases/cfg-moe-layer-plan.json"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const JsonArray& configs = file->at("input").at("configs").as_array();
  const JsonArray& rows = file->at("expected").at("rows").as_array();
  ASSERT_EQ(configs.size(), rows.size());
  ASSERT_GT(rows.size(), 0u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const JsonObject& config = configs[i].at("config").as_object();
    JsonFields fields(config, "config.json");
    const int64_t layers = config.at("num_hidden_layers").as_int64();
    JsonArray kinds;
    for (bool sparse : ReadSparseLayers(fields, layers, Experts(config))) {
      kinds.emplace_back(sparse ? "moe" : "dense");
    }
    EXPECT_TRUE(fields.status().ok()) << fields.status().message();
    EXPECT_EQ(Json(kinds), rows[i].at("layers")) << rows[i].at("name").as_string();
  }
}

// The case's "ffn_width".
TEST(MoeLayers, CaseCfgMoeLayerPlanWidths) {
  JsonObject config{{"model_type", "mixtral"}, {"intermediate_size", 96}};
  EXPECT_EQ(ParseModelConfig(config, nullptr)->moe->intermediate_size, 96);
  config["moe_intermediate_size"] = 32;
  EXPECT_EQ(ParseModelConfig(config, nullptr)->moe->intermediate_size, 32);
  EXPECT_EQ(ParseModelConfig(config, nullptr)->intermediate_size, 96);
}

TEST(MoeLayers, WrongListsAreToldWithWhatWorks) {
  for (const char* list : {"[4]", "[-1]", "[\"0\"]", "3", "{}"}) {
    auto json = ParseJson(StrCat("{\"mlp_only_layers\":", list, "}"));
    ASSERT_TRUE(json.ok());
    JsonFields fields(json->as_object(), "config.json");
    ReadSparseLayers(fields, 4, 8);
    EXPECT_THAT(fields.status().message(), HasSubstr("field \"mlp_only_layers\": found")) << list;
    EXPECT_THAT(fields.status().message(), HasSubstr("an array of layers from 0 to 3 works"));
  }
}

TEST(MoeLayers, ModelsKnowTheirOwn) {
  JsonObject config{{"model_type", "mixtral"}, {"num_hidden_layers", 3}, {"mlp_only_layers", {1}}};
  EXPECT_EQ(ParseModelConfig(config, nullptr)->moe->sparse, (std::vector<bool>{true, false, true}));
}

}  // namespace
}  // namespace moxie::config
