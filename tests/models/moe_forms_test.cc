// The forms of the mixture-of-experts composite compute the same thing by different ops.
#include <gtest/gtest.h>

#include <random>

#include "backend/cpu/executor.h"
#include "memory/arena.h"
#include "models/layers.h"
#include "passes/check_assignment.h"
#include "passes/forms.h"

namespace moxie::models {
namespace {

using ir::ValueId;
using tensor::DType;

constexpr int64_t kTokens = 37, kHidden = 48, kInner = 80;

ir::Graph MoeGraph(const config::MoeConfig& moe, const GraphOptions& options) {
  ir::Builder b("moe");
  LayerWeights w;
  auto weight = [&](std::string name, tensor::Shape shape) {
    ir::WeightSpec spec;
    spec.name = name;
    spec.type = {options.weights, shape};
    spec.checkpoint = {{name}};
    w[name] = b.Weight(std::move(spec));
  };
  weight("router", {moe.experts, kHidden});
  weight("experts.gate", {moe.experts, kInner, kHidden});
  weight("experts.up", {moe.experts, kInner, kHidden});
  weight("experts.down", {moe.experts, kHidden, kInner});
  const ValueId x = b.Input("x", {options.compute, {tensor::kT, kHidden}});
  const ValueId y = MoeFfn(b, x, w, moe, options);
  auto graph = std::move(b).Finish({y}, {});
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *graph;
}

// The output of one form on seeded weights and inputs.
std::vector<float> RunForm(const ir::Graph& graph, std::string_view form) {
  const std::string_view preferred[] = {form};
  auto chosen = passes::ChooseForms(graph, preferred);
  auto flat = passes::InlineComposites(*chosen);
  EXPECT_TRUE(flat.ok()) << flat.status().message();
  tensor::Extents extents;
  extents[tensor::DimVar::kTokens] = kTokens;
  auto selection = cpu::SelectKernels(*flat, cpu::BestIsa());
  EXPECT_TRUE(selection.ok()) << selection.status().message();
  auto assignment =
      passes::AssignBuffers(*flat, extents, [&](const ir::Graph& g, const ir::Op& op) {
        return cpu::WorkspaceBytes(g, op, selection->rows[static_cast<size_t>(&op - g.ops.data())],
                                   extents, 2);
      });
  EXPECT_TRUE(passes::CheckAssignment(*flat, extents, *assignment).ok());

  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  auto arena =
      memory::Arena::Map({"t", "a", "host", assignment->arena_bytes, memory::Kind::kReserved, ""});
  cpu::Executor::Memory at;
  at.arena = arena->Span(0, arena->bytes());
  std::vector<memory::Arena> weights;
  for (size_t i = 0; i < flat->weights.size(); ++i) {
    const tensor::Shape& shape = flat->weights[i].type.shape;
    const bool experts = shape.rank() == 3;
    const int64_t e = experts ? shape[0].factor : 1, n = shape[experts ? 1 : 0].factor,
                  k = shape.back().factor;
    const backend::WeightLayout& layout = selection->layouts[i];
    const int64_t each =
        tensor::PackedElements(layout.packing, n, k) * tensor::ByteSize(layout.dtype);
    weights.push_back(
        *memory::Arena::Map({"t", "w", "host", e * each, memory::Kind::kReserved, ""}));
    std::vector<float> values(static_cast<size_t>(n * k));
    for (int64_t x = 0; x < e; ++x) {
      for (float& v : values) v = normal(rng) / std::sqrt(static_cast<float>(k));
      backend::PackRows(layout, reinterpret_cast<const std::byte*>(values.data()), DType::kF32, n,
                        k, 0, n, weights.back().data() + x * each);
    }
    at.weights.push_back({weights.back().data(), 0});
  }
  std::vector<float> x(static_cast<size_t>(kTokens * kHidden));
  std::vector<uint16_t> x16;
  for (float& v : x) v = normal(rng);
  for (float v : x) x16.push_back(tensor::F32ToBF16(v));
  const bool f32 = flat->value(flat->inputs[0]).type.dtype == DType::kF32;
  at.inputs.push_back(f32 ? reinterpret_cast<std::byte*>(x.data())
                          : reinterpret_cast<std::byte*>(x16.data()));
  ThreadPool pool(2);
  auto executor = cpu::Executor::Link(*flat, *selection, *assignment, at, &pool);
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  executor->Run(extents);
  const tensor::TensorView out = executor->output(0);
  return {out.as<float>(), out.as<float>() + out.elements()};
}

TEST(MoeForms, RaggedEqualsFused) {
  for (auto [experts, top_k, normalize] :
       {std::tuple{8, 2, true}, {4, 4, true}, {16, 3, false}, {5, 1, true}}) {
    for (DType compute : {DType::kF32, DType::kBF16}) {
      GraphOptions options;
      options.compute = compute;
      options.weights = compute;
      const ir::Graph graph = MoeGraph({experts, top_k, kInner, normalize}, options);
      const auto ragged = RunForm(graph, "ragged"), fused = RunForm(graph, "fused");
      ASSERT_EQ(ragged.size(), fused.size());
      double worst = 0, size = 0;
      for (size_t i = 0; i < ragged.size(); ++i) {
        worst = std::max<double>(worst, std::abs(ragged[i] - fused[i]));
        size = std::max<double>(size, std::abs(fused[i]));
      }
      EXPECT_GT(size, 0.1);
      // bf16 rounds gate, up and the down projection's rows in one form, only some of them in the
      // other.
      EXPECT_LE(worst, compute == DType::kF32 ? 1e-5 : 0.02 * size)
          << experts << " experts, top " << top_k << ", " << tensor::Name(compute);
    }
  }
}

}  // namespace
}  // namespace moxie::models
