#include "ir/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"

namespace moxie::ir {
namespace {

TEST(Builder, KeepsTheFirstErrorWithOpAndOrigin) {
  Builder b("g");
  ValueId x = b.Input("x", {DType::kF32, {tensor::kT, 4}});
  ValueId w = b.Input("w", {DType::kF32, {3, 5}});
  ValueId y;
  {
    Builder::Scope layers(b, "layers");
    Builder::Scope mlp(b, "mlp");
    y = b.Emit(OpKind::kMatmul, {x, w}, {{AttrKey::kDType, "f32"}});
  }
  y = b.Emit(OpKind::kAdd, {y, x});
  auto graph = std::move(b).Finish({y}, {});
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.status().message(), testing::HasSubstr("op matmul (origin \"layers.mlp\")"));
}

TEST(Builder, RepeatOverStatesPrintsParsesAndVerifies) {
  Builder b("g");
  ValueId x = b.Input("x", {DType::kF32, {tensor::kT, 4}});
  ValueId at = b.Input("at", {DType::kI64, {tensor::kT}});
  StateSpec spec;
  spec.name = "kv";
  spec.type = {DType::kF32, {tensor::kN, 2, 1, 16, 4}};
  spec.count = 5;
  spec.block_tokens = 16;
  ValueId kv = b.State(spec);
  auto out = b.Repeat(5, {.carries = {x}, .states = {kv}, .invariants = {at}, .stacked = {}},
                      [](Builder& body, std::span<const ValueId> p) {
                        ValueId kv1 = body.Emit(OpKind::kKvWrite, {p[1], p[0], p[0], p[2]});
                        return std::vector<ValueId>{body.Emit(OpKind::kSilu, {p[0]}), kv1};
                      });
  auto graph = std::move(b).Finish({out[0]}, {out[1]});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto again = Parse(Print(*graph));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(Print(*again), Print(*graph));
  EXPECT_TRUE(Isomorphic(*again, *graph));
  EXPECT_EQ(BytesPerBlock(graph->states[0]), 5 * 2 * 16 * 4 * 4);
}

}  // namespace
}  // namespace moxie::ir
