// Small programs with the functional graph, the copies and the peak they must come to. The peak is
// the bytes alive beyond inputs' own storage, outputs included, without fusion. An input is kept by
// its caller unless it is donated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verifier.h"
#include "passes/buffer_assignment.h"
#include "passes/check_assignment.h"
#include "passes/forms.h"
#include "passes/functionalise.h"

namespace moxie::passes {
namespace {

using ir::Graph;
using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kN = 256;  // bytes of f32[64]
constexpr int64_t kWorkspace = 640;

Graph MustParse(std::string_view body, std::string_view form) {
  auto graph = ir::Parse(StrCat("graph @g ", form, "{\n", body, "\n}"));
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << body;
  return graph.ok() ? *graph : Graph();
}

Result<Graph> Functional(std::string_view program) {
  MOXIE_ASSIGN_OR_RETURN(Graph inlined, InlineComposites(MustParse(program, "imperative ")));
  return Functionalise(inlined);
}

struct Cost {
  int64_t copies;
  int64_t peak;
};

BufferAssignment Assign(const Graph& graph, int64_t tokens = 1, int64_t workspace = 0) {
  ir::Extents extents;
  extents[tensor::DimVar::kTokens] = tokens;
  auto a = AssignBuffers(graph, extents, [&](const Graph&, const ir::Op& op) {
    return op.kind == ir::OpKind::kCustom || op.kind == ir::OpKind::kMoeFfn ? workspace : 0;
  });
  EXPECT_TRUE(a.ok()) << a.status().message();
  if (!a.ok()) return {};
  Status status = CheckAssignment(graph, extents, *a);
  EXPECT_TRUE(status.ok()) << status.message() << "\n" << ir::Print(graph) << Print(graph, *a);
  return *a;
}

void Check(std::string_view program, std::string_view functional, Cost cost,
           int64_t workspace = 0) {
  auto graph = Functional(program);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Graph expected = MustParse(functional, "");
  EXPECT_TRUE(ir::Isomorphic(*graph, expected)) << ir::Print(*graph);
  const BufferAssignment a = Assign(*graph, 1, workspace);
  EXPECT_EQ(a.copies, cost.copies) << Print(*graph, a);
  EXPECT_EQ(a.arena_bytes, cost.peak) << Print(*graph, a);
}

// The message of the refusal; empty when the program is accepted.
std::string Refusal(std::string_view program) { return Functional(program).status().message(); }

TEST(IrCases, Case01) {
  constexpr std::string_view kText = R"ir(input %x : f32[64]
    %y = shift(%x) {shift=1.0} : f32[64]
    return %y)ir";
  Check(kText, kText, {0, kN});
}

TEST(IrCases, Case02) {
  Check(R"ir(input %x : f32[64]
    %y = scale(%x) {scale=2.0} : f32[64]
    shift!(%y) {shift=1.0}
    return %y)ir",
        R"ir(input %x : f32[64]
    %y = scale(%x) {scale=2.0} : f32[64]
    %y1 = shift(%y) {shift=1.0} : f32[64]
    return %y1)ir",
        {0, kN});
}

TEST(IrCases, Case03) {
  Check(R"ir(input %x : f32[64] donated
    shift!(%x) {shift=1.0}
    return %x)ir",
        R"ir(input %x : f32[64] donated
    %x1 = shift(%x) {shift=1.0} : f32[64]
    return %x1
    final %x1)ir",
        {0, 0});
}

TEST(IrCases, Case04CloneOfDeadSourceFolds) {
  Check(R"ir(input %x : f32[64]
    %y = copy(%x) : f32[64]
    shift!(%y) {shift=1.0}
    return %y)ir",
        R"ir(input %x : f32[64]
    %y = shift(%x) {shift=1.0} : f32[64]
    return %y)ir",
        {0, kN});
}

TEST(IrCases, Case05ReadBeforeTheWrite) {
  Check(R"ir(input %x : f32[64] donated
    %z = scale(%x) {scale=2.0} : f32[64]
    shift!(%x) {shift=1.0}
    return %z)ir",
        R"ir(input %x : f32[64] donated
    %z = scale(%x) {scale=2.0} : f32[64]
    %x1 = shift(%x) {shift=1.0} : f32[64]
    return %z
    final %x1)ir",
        {0, kN});
}

TEST(IrCases, Case06ViewSeesTheWrite) {
  Check(R"ir(input %x : f32[64] donated
    %v = view(%x) offset 0 strides [8,1] : f32[8,8]
    shift!(%x) {shift=1.0}
    %w = scale(%v) {scale=2.0} : f32[8,8]
    return %w)ir",
        R"ir(input %x : f32[64] donated
    %x1 = shift(%x) {shift=1.0} : f32[64]
    %v = view(%x1) offset 0 strides [8,1] : f32[8,8]
    %w = scale(%v) {scale=2.0} : f32[8,8]
    return %w
    final %x1)ir",
        {0, kN});
}

TEST(IrCases, Case07CopyIsReal) {
  Check(R"ir(input %x : f32[64] donated
    %o = copy(%x) : f32[64]
    shift!(%x) {shift=1.0}
    return %o)ir",
        R"ir(input %x : f32[64] donated
    %o = copy(%x) : f32[64]
    %x1 = shift(%x) {shift=1.0} : f32[64]
    return %o
    final %x1)ir",
        {1, kN});
}

TEST(IrCases, Case08) {
  EXPECT_THAT(Refusal(R"ir(input %x : f32[64]
    shift!(%x) {shift=1.0} @ "layers.mlp"
    return %x)ir"),
              AllOf(HasSubstr("op 0 shift (origin \"layers.mlp\")"),
                    HasSubstr("writes %x, which is an input that is not donated (R6)")));
}

// 3n/8 for the slice's new elements: the shift's kernel does not write into the base itself.
TEST(IrCases, Case09SliceScatter) {
  Check(R"ir(input %x : f32[8,16] donated
    %v = view(%x) offset 32 strides [16,1] : f32[3,16]
    shift!(%v) {shift=1.0}
    return)ir",
        R"ir(input %x : f32[8,16] donated
    %v = view(%x) offset 32 strides [16,1] : f32[3,16]
    %t = shift(%v) {shift=1.0} : f32[3,16]
    %x1 = view_write(%x, %t) offset 32 strides [16,1] : f32[8,16]
    return
    final %x1)ir",
        {0, 8 * 64 * 3 / 8});
}

TEST(IrCases, Case10SelectScatterOfATranspose) {
  Check(R"ir(input %x : f32[16,16] donated
    %t = view(%x) offset 0 strides [1,16] : f32[16,16]
    %zero = literal() {dtype="f32", value=[0.0]} : f32[1]
    %zeros = view(%zero) offset 0 strides [0] : f32[16]
    view_write!(%t, %zeros) offset 0 strides [16]
    return)ir",
        R"ir(input %x : f32[16,16] donated
    %zero = literal() {dtype="f32", value=[0.0]} : f32[1]
    %zeros = view(%zero) offset 0 strides [0] : f32[16]
    %x1 = view_write(%x, %zeros) offset 0 strides [16] : f32[16,16]
    return
    final %x1)ir",
        {0, 0});
}

constexpr std::string_view kCase11 = R"ir(input %x : f32[16,32]
    %gate = view(%x) offset 0 strides [32,1] : f32[16,16]
    %s = silu(%gate) : f32[16,16]
    %up = view(%x) offset 16 strides [32,1] : f32[16,16]
    %y = mul(%s, %up) : f32[16,16]
    return %y)ir";

TEST(IrCases, Case11HalvesOfAProjectionAreViewsNotParameters) {
  Check(kCase11, kCase11, {0, 1024});
  auto graph = Functional(kCase11);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(graph->weights.size() + graph->states.size(), 0u);
}

TEST(IrCases, Case12CompositeIsIsomorphic) {
  Check(R"ir(input %x : f32[16,32]
    %y = composite(%x) {callee="act"} : f32[16,16] {
      plain(%p : f32[16,32]) {
        %gate = view(%p) offset 0 strides [32,1] : f32[16,16]
        %s = silu(%gate) : f32[16,16]
        %up = view(%p) offset 16 strides [32,1] : f32[16,16]
        %z = mul(%s, %up) : f32[16,16]
        yield %z
      }
    }
    return %y)ir",
        kCase11, {0, 1024});
}

TEST(IrCases, Case13StridedView) {
  constexpr std::string_view kText = R"ir(input %x : f32[16,32]
    %v = view(%x) offset 0 strides [32,2] : f32[16,16]
    %y = scale(%v) {scale=1.0} : f32[16,16]
    return %y)ir";
  Check(kText, kText, {0, 1024});
}

TEST(IrCases, Case14ExpandedViewWritten) {
  EXPECT_THAT(Refusal(R"ir(input %x : f32[16]
    %y = scale(%x) {scale=2.0} : f32[16]
    %e = view(%y) offset 0 strides [0,1] : f32[4,16]
    shift!(%e) {shift=1.0}
    return %y)ir"),
              AllOf(HasSubstr("overlapping write: view %e [4,16] strides [0,1]"), HasSubstr("R2")));
}

TEST(IrCases, Case15OverlappingViewRead) {
  constexpr std::string_view kText = R"ir(input %x : f32[64]
    %v = view(%x) offset 0 strides [16,1] : f32[3,32]
    %y = scale(%v) {scale=2.0} : f32[3,32]
    return %y)ir";
  Check(kText, kText, {0, 3 * 128});
}

TEST(IrCases, Case16OverlappingSlicesSeeEachOther) {
  Check(R"ir(input %x : f32[96] donated
    %a = view(%x) offset 0 strides [1] : f32[64]
    %b = view(%x) offset 32 strides [1] : f32[64]
    shift!(%a) {shift=1.0}
    %y = scale(%b) {scale=2.0} : f32[64]
    return %y)ir",
        R"ir(input %x : f32[96] donated
    %a = view(%x) offset 0 strides [1] : f32[64]
    %t = shift(%a) {shift=1.0} : f32[64]
    %x1 = view_write(%x, %t) offset 0 strides [1] : f32[96]
    %b = view(%x1) offset 32 strides [1] : f32[64]
    %y = scale(%b) {scale=2.0} : f32[64]
    return %y
    final %x1)ir",
        {0, 256});
}

// The read is of the new version: an edge from the old one would cost a copy of x when the write
// comes first, and orders nothing that matters on a backend that runs ops in the program's order.
TEST(IrCases, Case17DisjointSlices) {
  Check(R"ir(input %x : f32[64] donated
    %a = view(%x) offset 0 strides [1] : f32[32]
    %b = view(%x) offset 32 strides [1] : f32[32]
    shift!(%a) {shift=1.0}
    %y = scale(%b) {scale=2.0} : f32[32]
    return %y)ir",
        R"ir(input %x : f32[64] donated
    %a = view(%x) offset 0 strides [1] : f32[32]
    %t = shift(%a) {shift=1.0} : f32[32]
    %x1 = view_write(%x, %t) offset 0 strides [1] : f32[64]
    %b = view(%x1) offset 32 strides [1] : f32[32]
    %y = scale(%b) {scale=2.0} : f32[32]
    return %y
    final %x1)ir",
        {0, 128});
}

TEST(IrCases, Case18ChainOfViewsIsOneWrite) {
  Check(R"ir(input %x : f32[256] donated
    %v = view(%x) offset 0 strides [16,1] : f32[16,16]
    %t = view(%v) offset 0 strides [1,16] : f32[16,16]
    %s = view(%t) offset 1 strides [1,16] : f32[15,16]
    shift!(%s) {shift=1.0}
    return)ir",
        R"ir(input %x : f32[256] donated
    %s = view(%x) offset 1 strides [1,16] : f32[15,16]
    %t = shift(%s) {shift=1.0} : f32[15,16]
    %x1 = view_write(%x, %t) offset 1 strides [1,16] : f32[256]
    return
    final %x1)ir",
        {0, 15 * 64});
}

TEST(IrCases, Case19ViewOfAnInputReturned) {
  constexpr std::string_view kText = R"ir(input %x : f32[4,16]
    %v = view(%x) offset 0 strides [1] : f32[16]
    return %v)ir";
  Check(kText, kText, {0, 0});
}

// No copy of the row: an arena gives nothing back at the end of a step, so a copy would only raise
// the peak from n to n + n/1000.
TEST(IrCases, Case20ViewOfATemporaryReturned) {
  constexpr std::string_view kText = R"ir(input %x : f32[1000,16]
    %y = scale(%x) {scale=2.0} : f32[1000,16]
    %v = view(%y) offset 0 strides [1] : f32[16]
    return %v)ir";
  Check(kText, kText, {0, 64000});
}

TEST(IrCases, Case21ReshapeOfATransposeIsACopy) {
  constexpr std::string_view kText = R"ir(input %x : f32[16,16]
    %t = view(%x) offset 0 strides [1,16] : f32[16,16]
    %c = copy(%t) : f32[16,16]
    %f = view(%c) offset 0 strides [1] : f32[256]
    return %f)ir";
  Check(kText, kText, {1, 1024});
}

TEST(IrCases, Case22PureKernel) {
  constexpr std::string_view kText = R"ir(input %x : f32[64]
    %y = custom(%x) {schema="op(Tensor x) -> Tensor"} : f32[64]
    return %y)ir";
  Check(kText, kText, {0, kN + kWorkspace}, kWorkspace);
}

TEST(IrCases, Case23KernelWritesADonatedInput) {
  Check(R"ir(input %x : f32[64] donated
    custom(%x) {schema="op(Tensor(a!) x) -> ()"}
    return)ir",
        R"ir(input %x : f32[64] donated
    %x1 = custom(%x) {schema="op(Tensor(a!) x) -> ()"} : f32[64]
    return
    final %x1)ir",
        {0, kWorkspace}, kWorkspace);
}

TEST(IrCases, Case24KernelWritesACloneOfWhatIsReadLater) {
  Check(R"ir(input %x : f32[64]
    %y = copy(%x) : f32[64]
    custom(%y) {schema="op(Tensor(a!) x) -> ()"}
    %z = add(%y, %x) : f32[64]
    return %z)ir",
        R"ir(input %x : f32[64]
    %y = copy(%x) : f32[64]
    %y1 = custom(%y) {schema="op(Tensor(a!) x) -> ()"} : f32[64]
    %z = add(%y1, %x) : f32[64]
    return %z)ir",
        {1, kN});
}

// What a write that is declared and never made costs: the clone, n bytes.
TEST(IrCases, Case25DeclaredWriteNeverMade) {
  constexpr std::string_view kProgram = R"ir(input %x : f32[64]
    %c = copy(%x) : f32[64]
    %o = custom(%c) {schema="SCHEMA"} : f32[64]
    %z = add(%o, %x) : f32[64]
    return %z)ir";
  auto with = [&](std::string_view schema) {
    std::string text(kProgram);
    return text.replace(text.find("SCHEMA"), 6, schema);
  };
  Check(with("moe(Tensor(a!) x) -> Tensor"),
        R"ir(input %x : f32[64]
    %c = copy(%x) : f32[64]
    %o, %c1 = custom(%c) {schema="moe(Tensor(a!) x) -> Tensor"} : f32[64], f32[64]
    %z = add(%o, %x) : f32[64]
    return %z)ir",
        {1, 2 * kN});
  Check(with("moe(Tensor x) -> Tensor"),
        R"ir(input %x : f32[64]
    %o = custom(%x) {schema="moe(Tensor x) -> Tensor"} : f32[64]
    %z = add(%o, %x) : f32[64]
    return %z)ir",
        {0, kN});
}

TEST(IrCases, Case27OutArgumentIsNotFilled) {
  Check(R"ir(input %x : f32[64]
    %out = empty() : f32[64]
    custom(%x, %out) {schema="op(Tensor x, Tensor(a!) out) -> ()"}
    return %out)ir",
        R"ir(input %x : f32[64]
    %out = empty() : f32[64]
    %out1 = custom(%x, %out) {schema="op(Tensor x, Tensor(a!) out) -> ()"} : f32[64]
    return %out1)ir",
        {0, kN});
}

// Two copies, for rows that a kernel writes where they lie: a version of its own for each view.
TEST(IrCases, Case28ListOfDisjointViewsOfOneBase) {
  Check(R"ir(input %b : f32[2,16] donated
    %b0 = view(%b) offset 0 strides [1] : f32[16]
    %b1 = view(%b) offset 16 strides [1] : f32[16]
    custom(%b0, %b1) {schema="op(Tensor(a!)[] xs) -> ()"}
    return)ir",
        R"ir(input %b : f32[2,16] donated
    %v0 = view(%b) offset 0 strides [1] : f32[16]
    %v1 = view(%b) offset 16 strides [1] : f32[16]
    %r0, %r1 = custom(%v0, %v1) {schema="op(Tensor(a!)[] xs) -> ()"} : f32[16], f32[16]
    %b1 = view_write(%b, %r0) offset 0 strides [1] : f32[2,16]
    %b2 = view_write(%b1, %r1) offset 16 strides [1] : f32[2,16]
    return
    final %b2)ir",
        {2, 128});
}

TEST(IrCases, Case29OverlappingWrittenViews) {
  EXPECT_THAT(Refusal(R"ir(input %b : f32[5,16] donated
    %p = view(%b) offset 0 strides [16,1] : f32[3,16]
    %q = view(%b) offset 32 strides [16,1] : f32[3,16]
    custom(%p, %q) {schema="op(Tensor(a!) x, Tensor(b!) y) -> ()"}
    return)ir"),
              HasSubstr("overlapping writes: operands %p and %q share elements (R2)"));
}

TEST(IrCases, Case30CloneReadByTheWriterOfItsSource) {
  Check(R"ir(input %x : f32[64] donated
    %y = copy(%x) : f32[64]
    custom(%y, %x) {schema="op(Tensor src, Tensor(a!) dst) -> ()"}
    return)ir",
        R"ir(input %x : f32[64] donated
    %y = copy(%x) : f32[64]
    %x1 = custom(%y, %x) {schema="op(Tensor src, Tensor(a!) dst) -> ()"} : f32[64]
    return
    final %x1)ir",
        {1, kN});
}

TEST(IrCases, Case31SourceIsDestination) {
  Check(R"ir(input %x : f32[64] donated
    custom(%x, %x) {schema="op(Tensor src, Tensor(a!) dst) -> ()"}
    return)ir",
        R"ir(input %x : f32[64] donated
    %y = copy(%x) : f32[64]
    %x1 = custom(%y, %x) {schema="op(Tensor src, Tensor(a!) dst) -> ()"} : f32[64]
    return
    final %x1)ir",
        {1, kN});
}

TEST(IrCases, Case32AbsentOptionalHasNoBase) {
  Check(R"ir(input %x : f32[64] donated
    custom(%x) {schema="op(Tensor(a!) x, Tensor(b!)? scratch=None) -> ()"}
    return)ir",
        R"ir(input %x : f32[64] donated
    %x1 = custom(%x) {schema="op(Tensor(a!) x, Tensor(b!)? scratch=None) -> ()"} : f32[64]
    return
    final %x1)ir",
        {0, 0});
}

TEST(IrCases, Case33DeclaredViewOfAnInput) {
  constexpr std::string_view kText = R"ir(input %x : f32[64]
    %v = custom(%x) {schema="op(Tensor(a) x) -> Tensor(a)"} : f32[32]
    return %v)ir";
  Check(kText, kText, {0, 0});
  EXPECT_THAT(Refusal(R"ir(input %x : f32[64] donated
    %v = custom(%x) {schema="op(Tensor(a) x) -> Tensor(a)"} : f32[32]
    shift!(%x) {shift=1.0}
    return %v)ir"),
              HasSubstr("cannot be taken again"));
}

TEST(IrCases, Case35SameViewWrittenTwice) {
  constexpr std::string_view kSchema = R"ir({schema="op(Tensor(a!) x, Tensor(b!) y) -> ()"})ir";
  Check(StrCat("%out = empty() : f32[64] custom(%out, %out) ", kSchema, " custom(%out, %out) ",
               kSchema, " custom(%out, %out) ", kSchema, " return %out"),
        StrCat("%out = empty() : f32[64] %o1 = custom(%out, %out) ", kSchema,
               " : f32[64] %o2 = custom(%o1, %o1) ", kSchema, " : f32[64] %o3 = custom(%o2, %o2) ",
               kSchema, " : f32[64] return %o3"),
        {0, kN});
}

TEST(IrCases, Case36WeightFoundByName) {
  EXPECT_THAT(Refusal(R"ir(input %x : f32[64]
    %y = custom(%x) {schema="op(str layer, Tensor x) -> Tensor"} : f32[64] @ "layers.3"
    return %y)ir"),
              AllOf(HasSubstr("layers.3"), HasSubstr("must be an operand"), HasSubstr("(R3)")));
}

TEST(IrCases, Case37WeightDeclared) {
  constexpr std::string_view kText = R"ir(weight %w : f32[64,64] = "layers.3.w"
    input %x : f32[64]
    %y = custom(%w, %x) {schema="op(Tensor w, Tensor x) -> Tensor"} : f32[64]
    return %y)ir";
  Check(kText, kText, {0, kN});
  EXPECT_THAT(Refusal(R"ir(weight %w : f32[64] = "w"
    custom(%w) {schema="op(Tensor(a!) w) -> ()"}
    return)ir"),
              HasSubstr("writes %w, which is a weight"));
}

// Every bucket's assignment is of one graph with one set of weights, none of which it places: what
// a bucket adds is arena, and the largest has room for each.
TEST(IrCases, Case38BucketsKeepNothingOfTheirOwn) {
  auto graph = Functional(R"ir(weight %w : f32[16,16] = "layers.3.w"
    input %x : f32[T,16]
    %y = custom(%w, %x) {schema="op(Tensor w, Tensor x) -> Tensor"} : f32[T,16]
    return %y)ir");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (int64_t bucket = 16; bucket <= 4096; bucket *= 2) {
    const BufferAssignment a = Assign(*graph, bucket);
    EXPECT_EQ(a.arena_bytes, bucket * 64);
    EXPECT_EQ(a.slots[graph->FindValue("w")].kind, Slot::Kind::kNone);
  }
}

constexpr std::string_view kMoeLeaves = R"ir(weight %gate_up : bf16[8,3584,4096] = "gate_up"
    weight %down : bf16[8,4096,1792] = "down"
    input %x : bf16[T,4096]
    input %logits : f32[T,8]
    )ir";
constexpr std::string_view kMoeOps = R"ir(
    %weights, %ids = router_topk(%logits) {top_k=2, normalize=1} : f32[T,2], i32[T,2]
    %order, %position, %offsets = expert_sort(%ids) {experts=8} : i32[2T], i32[2T], i32[9]
    %gu = grouped_matmul(%x, %gate_up, %order, %offsets) {gather=1, top_k=2, dtype="bf16"} : bf16[2T,3584]
    %g = view(%gu) offset 0 strides [3584,1] : bf16[2T,1792]
    %u = view(%gu) offset 1792 strides [3584,1] : bf16[2T,1792]
    %act = silu_mul(%g, %u) {dtype="bf16"} : bf16[2T,1792]
    %d = grouped_matmul(%act, %down, %order, %offsets) {gather=0, top_k=2, dtype="bf16"} : bf16[2T,4096]
    %y = moe_combine(%d, %position, %weights) : f32[T,4096]
    )ir";

TEST(IrCases, Case40DirectAndCompositeAreOneProgram) {
  const std::string direct = StrCat(kMoeLeaves, kMoeOps, "return %y");
  const std::string composite =
      StrCat(kMoeLeaves, "%y = composite(%x, %logits, %gate_up, %down) {callee=\"moe\"} : ",
             "f32[T,4096] { ragged(%x : bf16[T,4096], %logits : f32[T,8], ",
             "%gate_up : bf16[8,3584,4096], %down : bf16[8,4096,1792]) {", kMoeOps,
             "yield %y } } return %y");
  auto a = Functional(direct), b = Functional(composite);
  ASSERT_TRUE(a.ok() && b.ok()) << a.status().message() << b.status().message();
  EXPECT_TRUE(ir::Isomorphic(*a, *b)) << ir::Print(*b);
  EXPECT_EQ(Assign(*a, 4096).arena_bytes, Assign(*b, 4096).arena_bytes);
}

// The gather is part of the first grouped matmul, so its 64 MiB are never there, and the
// unpermutation part of the sum: what is left at the peak is down (64 MiB) and the sum in f32 (64).
TEST(IrCases, Case49MixtralLayerOf4096Tokens) {
  auto graph = Functional(StrCat(kMoeLeaves, kMoeOps, "return %y"));
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const BufferAssignment a = Assign(*graph, 4096);
  EXPECT_EQ(a.copies, 0);
  const int64_t index_array = 4096 * 2 * 4;
  ir::Extents extents;
  extents[tensor::DimVar::kTokens] = 4096;
  for (const ir::Value& v : graph->values) {
    if (v.type.dtype != tensor::DType::kI32) continue;
    EXPECT_LE(v.type.Bytes(extents), index_array) << v.name;
  }
  // Beside them: position and the router's weights.
  EXPECT_EQ(a.lower_bound, (int64_t{128} << 20) + 2 * index_array);
  EXPECT_LE(a.arena_bytes, a.lower_bound + a.lower_bound / 20);
}

constexpr std::string_view kKv = R"ir(state %kv : state f32[N,2,1,16,64] paged 16
    input %q : f32[T,64]
    input %at : i64[T]
    input %tables : i32[S,W]
    input %start : i32[Q]
    input %context : i32[S]
    )ir";
constexpr std::string_view kAttend =
    R"ir(, %tables, %start, %context) {heads=1, kv_heads=1, head_dim=64, scale=0.5, window=0, dtype="f32"} : f32[T,64]
    )ir";

TEST(IrCases, Case41KvIsWrittenInPlace) {
  Check(StrCat(kKv, "kv_write!(%kv, %q, %q, %at) %o = paged_attention(%q, %kv", kAttend,
               "return %o final %kv"),
        StrCat(kKv, "%kv1 = kv_write(%kv, %q, %q, %at) : state f32[N,2,1,16,64] ",
               "%o = paged_attention(%q, %kv1", kAttend, "return %o final %kv1"),
        {0, kN});
}

TEST(IrCases, Case42OldVersionOfKv) {
  EXPECT_THAT(Refusal(StrCat(kKv, "%kv1 = kv_write(%kv, %q, %q, %at) : state f32[N,2,1,16,64] ",
                             "%o = paged_attention(%q, %kv", kAttend, "return %o final %kv1")),
              HasSubstr("%kv is an old version of a state"));
  EXPECT_THAT(Refusal(R"ir(state %kv : state f32[N,2,1,16,64] paged 16
    input %q : f32[T,64]
    input %at : i64[T]
    %old = copy(%kv) : f32[N,2,1,16,64]
    kv_write!(%kv, %q, %q, %at)
    return %old
    final %kv)ir"),
              HasSubstr("copies the state %kv: a state has one version at a time (R1)"));
}

TEST(IrCases, Case43UnusedAndAmbiguousDonation) {
  EXPECT_THAT(Refusal(R"ir(input %x : f32[64] donated
    %y = cast(%x) {dtype="bf16"} : bf16[64]
    return %y)ir"),
              AllOf(HasSubstr("unused donation of %x f32[64]"), HasSubstr("(R6)")));
  EXPECT_THAT(Refusal(R"ir(input %x : f32[64] donated
    %y = silu(%x) : f32[64]
    %z = scale(%x) {scale=2.0} : f32[64]
    return %y, %z)ir"),
              HasSubstr("ambiguous donation of %x: outputs %y and %z"));
  // One output that fits takes the storage.
  Check(R"ir(input %x : f32[64] donated
    %y = silu(%x) : f32[64]
    return %y)ir",
        R"ir(input %x : f32[64] donated
    %y = silu(%x) : f32[64]
    return %y
    final %y)ir",
        {0, 0});
}

TEST(IrCases, Case45ResidualChainInPlace) {
  Check(R"ir(weight %w : f32[16,16] x32 = "w.{i}"
    input %x : f32[4,16]
    %y = repeat(%x, %w) {n=32, carries=1, states=0, invariants=0} : f32[4,16] {
      body(%h : f32[4,16], %q : f32[16,16]) {
        %f = matmul(%h, %q) {dtype="f32"} : f32[4,16]
        add!(%h, %f)
        yield %h
      }
    }
    return %y)ir",
        R"ir(weight %w : f32[16,16] x32 = "w.{i}"
    input %x : f32[4,16]
    %y = repeat(%x, %w) {n=32, carries=1, states=0, invariants=0} : f32[4,16] {
      body(%h : f32[4,16], %q : f32[16,16]) {
        %f = matmul(%h, %q) {dtype="f32"} : f32[4,16]
        %s = add(%h, %f) : f32[4,16]
        yield %s
      }
    }
    return %y)ir",
        {1, 2 * kN});  // the copy is of x, which the caller keeps, into the carry
}

TEST(IrCases, Case46ScanCarriesKv) {
  const std::string kHead = R"ir(state %kv : state f32[N,2,1,16,64] x3 paged 16
    input %h : f32[T,64] donated
    input %at : i64[T]
    %y, %kv1 = repeat(%h, %kv, %at) {n=3, carries=1, states=1, invariants=1} : f32[T,64], state f32[N,2,1,16,64] x3 {
      body(%p : f32[T,64], %s : state f32[N,2,1,16,64], %t : i64[T]) {
    )ir";
  const std::string kTail = "} } return %y final %kv1";
  Check(StrCat(kHead, "kv_write!(%s, %p, %p, %t) shift!(%p) {shift=1.0} yield %p, %s", kTail),
        StrCat(kHead, "%s1 = kv_write(%s, %p, %p, %t) : state f32[N,2,1,16,64] ",
               "%p1 = shift(%p) {shift=1.0} : f32[T,64] yield %p1, %s1", kTail, ", %y"),
        {0, 0});
}

TEST(IrCases, Case48ReturnedTwice) {
  constexpr std::string_view kText = R"ir(input %x : f32[64]
    %y = scale(%x) {scale=2.0} : f32[64]
    return %y, %y)ir";
  Check(kText, kText, {0, kN});
}

// ---- beyond the list

TEST(Functionalise, WhatIterationsShareIsNotWritten) {
  EXPECT_THAT(Refusal(R"ir(input %x : f32[64]
    input %c : f32[64]
    %y = repeat(%x, %c) {n=2, carries=1, states=0, invariants=1} : f32[64] {
      body(%p : f32[64], %q : f32[64]) {
        shift!(%q) {shift=1.0}
        yield %p
      }
    }
    return %y)ir"),
              AllOf(HasSubstr("op 0 shift"), HasSubstr("%q, which is what all iterations share")));
}

TEST(Functionalise, DonationWhoseEndCannotBeInPlaceIsCopied) {
  // y is needed after x's next version is made from it, so x's storage is filled at the end.
  const Graph graph = MustParse(R"ir(input %x : f32[16,16] donated
    weight %w : f32[16,16] = "w"
    %y = matmul(%x, %w) {dtype="f32"} : f32[16,16]
    %z = add(%x, %y) : f32[16,16]
    return %z
    final %y)ir",
                                "");
  ASSERT_TRUE(ir::Verify(graph).ok()) << ir::Verify(graph).message();
  const BufferAssignment a = Assign(graph);
  EXPECT_EQ(a.copies, 1);
  EXPECT_EQ(a.arena_bytes, 2 * 1024);
}

TEST(CheckAssignment, CatchesLiesAboutDonations) {
  const Graph graph = MustParse(R"ir(input %x : f32[64] donated
    %z = scale(%x) {scale=2.0} : f32[64]
    %x1 = shift(%x) {shift=1.0} : f32[64]
    return %z
    final %x1)ir",
                                "");
  const BufferAssignment good = Assign(graph);
  const ir::ValueId x = graph.FindValue("x"), z = graph.FindValue("z");
  BufferAssignment bad = good;
  bad.slots[z] = {Slot::Kind::kDonated, 0, kN, x};  // z over x, which is read later
  EXPECT_THAT(CheckAssignment(graph, {}, bad).message(), HasSubstr("overwritten"));
  bad = good;
  bad.slots[z] = {Slot::Kind::kDonated, 0, kN, z};  // z is no donated input
  EXPECT_THAT(CheckAssignment(graph, {}, bad).message(), HasSubstr("outside"));
  bad = good;
  bad.copies = 1;
  EXPECT_THAT(CheckAssignment(graph, {}, bad).message(), HasSubstr("says 1 copies"));
}

}  // namespace
}  // namespace moxie::passes
