#include "ir/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"

namespace moxie::ir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The verifier's message for a text; empty when it is accepted.
std::string Refusal(std::string_view text) {
  auto graph = Parse(text);
  if (!graph.ok()) return "parse: " + graph.status().message();
  return Verify(*graph).message();
}

TEST(Verifier, NamesOpValueAndOrigin) {
  EXPECT_THAT(Refusal(R"(graph @g {
    weight %w : bf16[32,48] = "w"
    input %x : f32[T,64]
    %y = matmul(%x, %w) {dtype="f32"} : f32[T,32] @ "layers.attn"
    return %y
  })"),
              AllOf(HasSubstr("op 0 matmul"), HasSubstr("layers.attn"), HasSubstr("operand 1"),
                    HasSubstr("expected dimension 1 to be 64"), HasSubstr("bf16[32,48]")));
}

TEST(Verifier, ResultTypeMustBeTheInferredOne) {
  EXPECT_THAT(Refusal("graph @g { input %x : f32[T,4] %y = silu(%x) : f32[T,5] return %y }"),
              HasSubstr("result %y: expected f32[T,4], got f32[T,5]"));
}

TEST(Verifier, R1OldVersionOfStateIsNotRead) {
  constexpr std::string_view kHead = R"(graph @g {
    state %kv : state f32[N,2,1,16,4] paged 16
    input %k : f32[T,4]
    input %at : i64[T]
    input %tables : i32[S,W]
    input %start : i32[Q]
    input %context : i32[S]
    %kv1 = kv_write(%kv, %k, %k, %at) : state f32[N,2,1,16,4]
    %o = paged_attention(%k, )";
  constexpr std::string_view kTail =
      R"(, %tables, %start, %context) {heads=1, kv_heads=1, head_dim=4, scale=0.5, window=0, dtype="f32"} : f32[T,4]
    return %o
    final %kv1
  })";
  EXPECT_EQ(Refusal(StrCat(kHead, "%kv1", kTail)), "");
  EXPECT_THAT(Refusal(StrCat(kHead, "%kv", kTail)),
              AllOf(HasSubstr("paged_attention"), HasSubstr("%kv is an old version of a state"),
                    HasSubstr("kv_write has written it (R1)")));
}

TEST(Verifier, R1FinalVersionIsTheNewest) {
  EXPECT_THAT(Refusal(R"(graph @g {
    state %kv : state f32[N,2,1,16,4] paged 16
    input %k : f32[T,4]
    input %at : i64[T]
    %kv1 = kv_write(%kv, %k, %k, %at) : state f32[N,2,1,16,4]
    return %k
    final %kv
  })"),
              HasSubstr("%kv is returned, but it is an old version"));
}

TEST(Verifier, R3LiteralOverSixtyFourBytes) {
  std::string values = "0.0";
  for (int i = 1; i < 17; ++i) values += ", 0.0";
  EXPECT_THAT(Refusal(StrCat("graph @g { %c = literal() {dtype=\"f32\", value=[", values,
                             "]} : f32[17] return %c }")),
              AllOf(HasSubstr("literal of 68 bytes"), HasSubstr("R3")));
}

TEST(Verifier, R1NothingIsWrittenInPlaceInAFunctionalGraph) {
  EXPECT_THAT(Refusal("graph @g { input %x : f32[4] donated silu!(%x) return %x }"),
              HasSubstr("writes %x in place, in a functional graph (R1)"));
  EXPECT_EQ(Refusal("graph @g imperative { input %x : f32[4] donated silu!(%x) return %x }"), "");
  EXPECT_THAT(Refusal("graph @g imperative { input %x : f32[4] donated copy!(%x) return %x }"),
              HasSubstr("cannot be written in place"));
}

TEST(Verifier, R6DonatedInputEndsAsOneResult) {
  constexpr std::string_view kHead =
      "graph @g { input %x : f32[4] donated input %y : f32[4] donated %a = add(%x, %y) : f32[4] "
      "%b = silu(%a) : f32[4] %v = view(%x) offset 0 strides [1] : f32[2] ";
  EXPECT_EQ(Refusal(StrCat(kHead, "return %b final %a, %b }")), "");
  EXPECT_THAT(Refusal(StrCat(kHead, "return %b }")), HasSubstr("2 donated inputs, but 0"));
  EXPECT_THAT(Refusal(StrCat(kHead, "return %b final %a, %a }")), HasSubstr("ambiguous donation"));
  EXPECT_THAT(Refusal(StrCat(kHead, "return %b final %a, %y }")),
              HasSubstr("donated input %y ends as %y"));
  EXPECT_THAT(Refusal(StrCat(kHead, "return %v final %a, %b }")),
              HasSubstr("output %v lies in donated input %x"));
}

TEST(Verifier, StacksAndStateAreNotMadeOrDonated) {
  EXPECT_THAT(Refusal("graph @g imperative { input %x : f32[4] x3 donated return %x }"),
              HasSubstr("%x: only an input can be donated, and no stack"));
  EXPECT_THAT(Refusal("graph @g { %e = empty() : state f32[4] return %e }"),
              HasSubstr("%e is marked as state or a stack"));
  EXPECT_THAT(Refusal("graph @g { input %x : f32[4] %y = custom(%x) "
                      "{schema=\"op(Tensor(a) x) -> Tensor(a)\"} : f32[5] return %y }"),
              HasSubstr("result %y f32[5] is a view of operand 0 f32[4]"));
}

TEST(Verifier, ViewWriteStaysInsideAndReplacesNothingTwice) {
  constexpr std::string_view kText =
      "graph @g { input %x : f32[4,8] input %y : f32[2,8] %z = view_write(%x, %y) offset ";
  EXPECT_EQ(Refusal(StrCat(kText, "16 strides [8,1] : f32[4,8] return %z }")), "");
  EXPECT_THAT(Refusal(StrCat(kText, "17 strides [8,1] : f32[4,8] return %z }")),
              HasSubstr("reaches outside its base %x"));
  EXPECT_THAT(Refusal(StrCat(kText, "0 strides [7,1] : f32[4,8] return %z }")),
              HasSubstr("overlapping write"));
}

TEST(Verifier, ViewInsideItsBase) {
  constexpr std::string_view kText = "graph @g { input %x : f32[T,8] %v = view(%x) offset ";
  EXPECT_EQ(Refusal(StrCat(kText, "4 strides [8,1] : f32[T,4] return %v }")), "");
  EXPECT_THAT(Refusal(StrCat(kText, "5 strides [8,1] : f32[T,4] return %v }")),
              HasSubstr("reaches outside its base %x f32[T,8]"));
  EXPECT_THAT(Refusal(StrCat(kText, "0 strides [8,-1] : f32[T,4] return %v }")),
              HasSubstr("reaches outside"));
}

TEST(Verifier, StacksAreOnlyTakenApartByARepeatOfThatCount) {
  EXPECT_THAT(Refusal(R"(graph @g {
    weight %w : f32[4,4] x3 = "w.{i}"
    input %x : f32[T,4]
    %y = matmul(%x, %w) {dtype="f32"} : f32[T,4]
    return %y
  })"),
              HasSubstr("%w is a stack of 3"));
  EXPECT_THAT(Refusal(R"(graph @g {
    weight %w : f32[4,4] x3 = "w.{i}"
    input %x : f32[T,4]
    %y = repeat(%x, %w) {n=2, carries=1, states=0, invariants=0} : f32[T,4] {
      body(%p : f32[T,4], %q : f32[4,4]) {
        %z = matmul(%p, %q) {dtype="f32"} : f32[T,4]
        yield %z
      }
    }
    return %y
  })"),
              HasSubstr("%w is a stack of 3, expected 2"));
}

TEST(Verifier, AttributesAreCheckedBothWays) {
  EXPECT_THAT(Refusal("graph @g { input %x : f32[T,4] %y = cast(%x) : f32[T,4] return %y }"),
              HasSubstr("attribute dtype is missing"));
  EXPECT_THAT(
      Refusal("graph @g { input %x : f32[T,4] %y = silu(%x) {eps=1.0} : f32[T,4] return %y }"),
      HasSubstr("attribute eps does not belong"));
}

TEST(Verifier, AttributesHaveTheirKeysType) {
  constexpr std::string_view kText = "graph @g { input %x : f32[T,4] %y = scale(%x) {scale=";
  EXPECT_EQ(Refusal(StrCat(kText, "2} : f32[T,4] return %y }")), "");
  EXPECT_THAT(Refusal(StrCat(kText, "\"2\"} : f32[T,4] return %y }")),
              HasSubstr("attribute scale: is no number"));
  EXPECT_THAT(Refusal("graph @g { input %x : f32[T,4] %w, %i = router_topk(%x) {top_k=1.5, "
                      "normalize=1} : f32[T,1], i32[T,1] return %w, %i }"),
              HasSubstr("attribute top_k: is no integer"));
  EXPECT_THAT(Refusal("graph @g { input %x : f32[T,4] %w, %i = router_topk(%x) {top_k=-1, "
                      "normalize=1} : f32[T,1], i32[T,1] return %w, %i }"),
              HasSubstr("attribute top_k: -1 is not from 0 to 2147483648"));
}

TEST(Verifier, SizesStayInsideTheArithmetic) {
  EXPECT_THAT(Refusal("graph @g { input %x : f32[0] return %x }"),
              HasSubstr("%x f32[0]: no sizes, or a size or count below 1 or too large"));
  EXPECT_THAT(Refusal("graph @g { input %x : f32[] return %x }"), HasSubstr("%x f32[]: no sizes"));
  EXPECT_THAT(Refusal("graph @g { input %x : f32[-4] return %x }"), HasSubstr("below 1"));
  EXPECT_THAT(Refusal("graph @g { input %x : f32[9223372036854775807] return %x }"),
              HasSubstr("too large"));
  EXPECT_THAT(Refusal("graph @g { input %x : f32[1000000000,1000000000] return %x }"),
              HasSubstr("too large"));
  constexpr std::string_view kView = "graph @g { input %x : f32[T,8] %v = view(%x) offset ";
  EXPECT_THAT(Refusal(StrCat(kView, "0 strides [4000000000000000,1] : f32[T,8] return %v }")),
              HasSubstr("reaches outside"));
  EXPECT_THAT(Refusal(StrCat(kView, "9223372036854775807 strides [8,1] : f32[T,8] return %v }")),
              HasSubstr("an offset or stride is too large"));
}

TEST(Verifier, PagedAttentionNeedsKvHeads) {
  constexpr std::string_view kText = R"(graph @g {
    state %kv : state f32[N,2,1,16,4] paged 16
    input %q : f32[T,4]
    input %tables : i32[S,W]
    input %start : i32[Q]
    input %context : i32[S]
    %o = paged_attention(%q, %kv, %tables, %start, %context) {heads=1, kv_heads=KV, head_dim=4, scale=0.5, window=0, dtype="f32"} : f32[T,4] @ "layers.attn"
    return %o
    final %kv
  })";
  auto with = [&](std::string_view kv_heads) {
    std::string text(kText);
    return text.replace(text.find("KV,"), 2, kv_heads);
  };
  EXPECT_EQ(Refusal(with("1")), "");
  EXPECT_THAT(Refusal(with("0")),
              AllOf(HasSubstr("layers.attn"),
                    HasSubstr("heads (1) must be a positive multiple of kv_heads (0)")));
}

TEST(Verifier, UnusedWeightsAndInputsAreErrors) {
  EXPECT_THAT(Refusal("graph @g { weight %w : f32[4] = \"w\" input %x : f32[4] return %x }"),
              HasSubstr("weight %w is never used"));
  EXPECT_THAT(Refusal("graph @g { input %x : f32[4] input %y : f32[4] return %x }"),
              HasSubstr("input %y is never used"));
}

TEST(Verifier, CompositeFormsAgree) {
  EXPECT_THAT(Refusal(R"(graph @g {
    input %x : f32[T,4]
    %y = composite(%x) {callee="f"} : f32[T,4] {
      a(%p : f32[T,4]) { %z = silu(%p) : f32[T,4] yield %z }
      b(%p : f32[T,4]) { %z = cast(%p) {dtype="bf16"} : bf16[T,4] yield %z }
    }
    return %y
  })"),
              HasSubstr("form \"b\" yields bf16[T,4]"));
}

}  // namespace
}  // namespace moxie::ir
