#include "ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/verifier.h"

namespace moxie::ir {
namespace {

// Every construct of the grammar once.
constexpr std::string_view kToy = R"(graph @toy {
  weight %table : bf16[256,64] = "embed.weight"
  weight %layers.w : bf16[64,64] x3 shard 0 = "layers.{i}.w.weight" = "layers.{i}.fused.weight" part 1/2
  weight %inv : f32[8] derived "rope_inv_freq"
  state %kv : state bf16[N,2,2,16,16] x3 paged 16
  input %ids : i32[T]
  input %positions : i32[T]
  input %slots : i64[T]
  %h = embedding(%ids, %table) : f32[T,64] @ "embed"
  %rope = rope_table(%positions, %inv) {scale=1.0} : f32[T,16] @ "rope"
  %h1, %kv1 = repeat(%h, %kv, %slots, %layers.w) {n=3, carries=1, states=1, invariants=1} : f32[T,64], state bf16[N,2,2,16,16] x3 @ "layers" {
    body(%x : f32[T,64], %s : state bf16[N,2,2,16,16], %at : i64[T], %w : bf16[64,64]) {
      %k = matmul(%x, %w) {dtype="f32"} : f32[T,64] @ "layers.k"
      %half = view(%k) offset 32 strides [64,1] : f32[T,32] @ "layers.k"
      %c = copy(%half) : f32[T,32] @ "layers.k"
      %s1 = kv_write(%s, %c, %c, %at) : state bf16[N,2,2,16,16] @ "layers.kv"
      %y = composite(%x, %k) {callee="residual"} : f32[T,64] @ "layers" {
        plain(%a : f32[T,64], %b : f32[T,64]) {
          %sum = add(%a, %b) : f32[T,64] @ "layers.residual"
          yield %sum
        }
        swapped(%a : f32[T,64], %b : f32[T,64]) {
          %sum = add(%b, %a) : f32[T,64] @ "layers.residual"
          yield %sum
        }
      }
      yield %y, %s1
    }
  }
  %two = literal() {dtype="f32", value=[2.0, 0.5]} : f32[2]
  return %h1, %rope, %two
  final %kv1
}
)";

TEST(IrText, PrintOfParseIsTheText) {
  auto graph = Parse(kToy);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(Print(*graph), kToy);
  Status status = Verify(*graph);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(IrText, ImperativeFormAndDonationRoundTrip) {
  constexpr std::string_view kImperative = R"ir(graph @g imperative {
  input %x : f32[8,16] donated
  %v = view(%x) offset 32 strides [16,1] : f32[3,16] @ "mlp"
  scale!(%v) {scale=2.0} @ "mlp"
  view_write!(%x, %v) offset 0 strides [16,1]
  custom(%x) {schema="op(Tensor(a!) x) -> ()"}
  return %v
}
)ir";
  auto graph = Parse(kImperative);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(Print(*graph), kImperative);
  EXPECT_TRUE(Verify(*graph).ok()) << Verify(*graph).message();
  constexpr std::string_view kFunctional = R"ir(graph @g {
  state %kv : state f32[N,4] slot
  input %x : f32[8] donated
  %e = empty() : f32[8]
  %x1 = add(%x, %e) : f32[8]
  return
  final %kv, %x1
}
)ir";
  graph = Parse(kFunctional);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  std::string printed = Print(*graph);
  EXPECT_EQ(printed.replace(printed.find("return "), 7, "return"), kFunctional);
  EXPECT_TRUE(Verify(*graph).ok()) << Verify(*graph).message();
}

TEST(IrText, ErrorsNameLineAndColumn) {
  auto graph =
      Parse("graph @g {\n  input %x : f32[T]\n  %y = frobnicate(%x) : f32[T]\n  return %y\n}");
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.status().message(), testing::HasSubstr("line 3"));
  EXPECT_THAT(graph.status().message(), testing::HasSubstr("\"frobnicate\" is not an op"));
}

TEST(IrText, EveryPrefixIsRefusedWithoutCrashing) {
  for (size_t n = 0; n + 2 < kToy.size(); ++n) EXPECT_FALSE(Parse(kToy.substr(0, n)).ok()) << n;
}

TEST(IrText, IsomorphicIgnoresNamesAndOriginsOnly) {
  auto a = Parse("graph @a { input %x : f32[4] %y = silu(%x) : f32[4] @ \"p\" return %y }");
  auto b = Parse("graph @b { input %u : f32[4] %v = silu(%u) : f32[4] return %v }");
  auto c = Parse("graph @b { input %u : f32[4] %v = copy(%u) : f32[4] return %v }");
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_TRUE(Isomorphic(*a, *b));
  EXPECT_FALSE(Isomorphic(*a, *c));
}

}  // namespace
}  // namespace moxie::ir
