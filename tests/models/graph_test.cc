// The graphs of the families: closed, verified, printable, and as large as the arithmetic says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "ir/text.h"
#include "ir/verifier.h"
#include "models/family.h"
#include "passes/check_assignment.h"
#include "passes/forms.h"

namespace moxie::models {
namespace {

config::ModelConfig Config(std::string architecture) {
  config::ModelConfig c;
  c.architecture = std::move(architecture);
  c.model_type = "toy";
  c.vocab_size = 32000;
  c.hidden_size = 4096;
  c.intermediate_size = 14336;
  c.num_layers = 32;
  c.num_heads = 32;
  c.num_kv_heads = 8;
  c.head_dim = 128;
  c.max_position_embeddings = 32768;
  c.moe = config::MoeConfig{8, 2, 14336, true};
  return c;
}

class FamilyTest : public testing::TestWithParam<std::string> {};

TEST_P(FamilyTest, GraphVerifiesAndPrintsBack) {
  const config::ModelConfig config = Config(GetParam());
  auto family = FindFamily(config);
  ASSERT_TRUE(family.ok());
  for (tensor::DType compute : {tensor::DType::kF32, tensor::DType::kBF16}) {
    GraphOptions options;
    options.compute = compute;
    auto graph = (*family)->build(config, options);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const std::string text = ir::Print(*graph);
    auto again = ir::Parse(text);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(ir::Print(*again), text);
    EXPECT_TRUE(ir::Verify(*again).ok());
  }
}

TEST_P(FamilyTest, EveryFormAssignsWithinFivePercentOfTheBound) {
  const config::ModelConfig config = Config(GetParam());
  auto graph = (*FindFamily(config))->build(config, {});
  ASSERT_TRUE(graph.ok());
  for (std::string_view form : {"ragged", "fused"}) {
    const std::string_view preferred[] = {form};
    auto chosen = passes::ChooseForms(*graph, preferred);
    ASSERT_TRUE(chosen.ok());
    auto flat = passes::InlineComposites(*chosen);
    ASSERT_TRUE(flat.ok());
    Status status = ir::Verify(*flat);
    EXPECT_TRUE(status.ok()) << status.message();
    for (int64_t tokens : {1, 512, 4096}) {
      tensor::Extents e;
      e[tensor::DimVar::kTokens] = tokens;
      e[tensor::DimVar::kSeqs] = e[tensor::DimVar::kRows] = 256;
      e[tensor::DimVar::kWidth] = 128;
      e[tensor::DimVar::kBlocks] = 1000;
      auto a = passes::AssignBuffers(*flat, e,
                                     [](const ir::Graph&, const ir::Op&) { return int64_t{0}; });
      ASSERT_TRUE(a.ok());
      status = passes::CheckAssignment(*flat, e, *a);
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_LE(static_cast<double>(a->arena_bytes), 1.05 * static_cast<double>(a->lower_bound));
      std::printf("packing: %s, %s, T=%ld: arena %ld, lower bound %ld\n", GetParam().c_str(),
                  std::string(form).c_str(), static_cast<long>(tokens),
                  static_cast<long>(a->arena_bytes), static_cast<long>(a->lower_bound));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FamilyTest,
                         testing::Values("LlamaForCausalLM", "MistralForCausalLM",
                                         "MixtralForCausalLM"));

TEST(Mixtral, WeightBytesAreThoseOfThePublishedModel) {
  auto graph = (*FindFamily(Config("MixtralForCausalLM")))->build(Config("MixtralForCausalLM"), {});
  ASSERT_TRUE(graph.ok());
  int64_t elements = 0;
  for (const ir::WeightSpec& w : graph->weights) {
    if (w.derived.empty()) elements += w.type.shape.Elements({}) * w.count;
  }
  EXPECT_EQ(elements, 46'702'792'704);  // Mixtral-8x7B's parameter count
}

TEST(Registry, UnknownArchitectureIsRefusedWithTheList) {
  EXPECT_THAT(FindFamily(Config("BertModel")).status().message(),
              testing::AllOf(testing::HasSubstr("\"BertModel\""),
                             testing::HasSubstr("MixtralForCausalLM")));
}

}  // namespace
}  // namespace moxie::models
