#include "passes/buffer_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ir/builder.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "passes/check_assignment.h"
#include "passes/forms.h"

namespace moxie::passes {
namespace {

using ir::Extents;
using ir::Graph;
using testing::HasSubstr;

Graph MustParse(std::string_view text) {
  auto graph = ir::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  Status status = ir::Verify(*graph);
  EXPECT_TRUE(status.ok()) << status.message();
  return *graph;
}

int64_t NoWorkspace(const Graph&, const ir::Op&) { return 0; }

Extents Tokens(int64_t t) {
  Extents e;
  e[tensor::DimVar::kTokens] = t;
  return e;
}

// Assigns, checks with the independent checker, and returns the arena's bytes.
BufferAssignment MustAssign(const Graph& graph, int64_t tokens,
                            const WorkspaceFn& workspace = NoWorkspace) {
  auto a = AssignBuffers(graph, Tokens(tokens), workspace);
  EXPECT_TRUE(a.ok()) << a.status().message();
  Status status = CheckAssignment(graph, Tokens(tokens), *a);
  EXPECT_TRUE(status.ok()) << status.message() << "\n" << Print(graph, *a);
  return *a;
}

TEST(BufferAssignment, ChainOfElementwiseOpsTakesOneBuffer) {
  Graph g = MustParse(R"(graph @g {
    input %x : f32[T,16]
    %a = silu(%x) : f32[T,16]
    %b = scale(%a) {scale=2.0} : f32[T,16]
    %c = add(%b, %x) : f32[T,16]
    return %c
  })");
  EXPECT_EQ(MustAssign(g, 4).arena_bytes, 4 * 64);
}

TEST(BufferAssignment, OperandUsedLaterIsNotOverwritten) {
  Graph g = MustParse(R"(graph @g {
    input %x : f32[T,16]
    %a = silu(%x) : f32[T,16]
    %b = scale(%a) {scale=2.0} : f32[T,16]
    %c = add(%b, %a) : f32[T,16]
    return %c
  })");
  EXPECT_EQ(MustAssign(g, 4).arena_bytes, 2 * 4 * 64);
}

TEST(BufferAssignment, ViewKeepsItsBaseAliveAndIsNotOverwritten) {
  Graph g = MustParse(R"(graph @g {
    input %x : f32[T,32]
    %a = silu(%x) : f32[T,32]
    %gate = view(%a) offset 0 strides [32,1] : f32[T,16]
    %up = view(%a) offset 16 strides [32,1] : f32[T,16]
    %s = silu(%gate) : f32[T,16]
    %y = mul(%s, %up) : f32[T,16]
    return %y
  })");
  EXPECT_EQ(MustAssign(g, 4).arena_bytes, 4 * 128 + 4 * 64);
}

// Case 45 of the acceptance list: h = h + f(h) over 32 layers takes 2n, not 32n.
TEST(BufferAssignment, Case45ResidualChainTakesTwoBuffers) {
  Graph g = MustParse(R"(graph @g {
    weight %w : f32[16,16] x32 = "w.{i}"
    input %x : f32[T,16]
    %h = copy(%x) : f32[T,16]
    %y = repeat(%h, %w) {n=32, carries=1, states=0, invariants=0} : f32[T,16] {
      body(%p : f32[T,16], %q : f32[16,16]) {
        %f = matmul(%p, %q) {dtype="f32"} : f32[T,16]
        %s = add(%p, %f) : f32[T,16]
        yield %s
      }
    }
    return %y
  })");
  BufferAssignment a = MustAssign(g, 4);
  EXPECT_EQ(a.arena_bytes, 2 * 4 * 64);
  // The carry never moves: initial value, parameter, yield and result share a slot.
  const ir::Op& repeat = g.ops[1];
  const Graph& body = repeat.regions[0];
  const int64_t offset = a.slots[repeat.results[0]].offset;
  EXPECT_EQ(a.slots[repeat.operands[0]].offset, offset);
  EXPECT_EQ(a.bodies[1].slots[body.inputs[0]].offset, offset);
  EXPECT_EQ(a.bodies[1].slots[body.outputs[0]].offset, offset);
}

// Case 47: (a, b) = (b, a) needs a place to stand on.
TEST(BufferAssignment, Case47SwapGoesThroughStaging) {
  Graph g = MustParse(R"(graph @g {
    input %x : f32[16]
    input %y : f32[16]
    %a, %b = repeat(%x, %y) {n=3, carries=2, states=0, invariants=0} : f32[16], f32[16] {
      body(%p : f32[16], %q : f32[16]) {
        yield %q, %p
      }
    }
    return %a, %b
  })");
  BufferAssignment a = MustAssign(g, 1);
  EXPECT_EQ(a.staging[0].kind, Slot::Kind::kArena);
  EXPECT_EQ(a.copies, 4);  // both on entry, since the caller keeps x and y; both at each end
  EXPECT_EQ(a.arena_bytes, 4 * 64);
}

// Case 50: C reuses A.
TEST(BufferAssignment, Case50DisjointLifetimesShareBytes) {
  Graph g = MustParse(R"(graph @g {
    input %x : f32[T,256]
    weight %w1 : f32[128,256] = "w1"
    weight %w2 : f32[256,128] = "w2"
    %a = silu(%x) : f32[T,256]
    %b = matmul(%a, %w1) {dtype="f32"} : f32[T,128]
    %c = matmul(%b, %w2) {dtype="f32"} : f32[T,256]
    return %c
  })");
  BufferAssignment a = MustAssign(g, 1);
  EXPECT_EQ(a.arena_bytes, 1024 + 512);
  EXPECT_EQ(a.lower_bound, 1024 + 512);
}

TEST(BufferAssignment, WorkspaceLivesForItsOpOnly) {
  Graph g = MustParse(R"(graph @g {
    input %x : f32[T,16]
    %a = copy(%x) : f32[T,16]
    %b = copy(%a) : f32[T,16]
    %c = copy(%b) : f32[T,16]
    return %c
  })");
  BufferAssignment a = MustAssign(g, 1, [](const Graph&, const ir::Op&) { return 640; });
  EXPECT_EQ(a.arena_bytes, 640 + 2 * 64);
  EXPECT_THAT(a.peak_values[0], HasSubstr("workspace of copy 640"));
}

TEST(CheckAssignment, CatchesEveryKindOfLie) {
  Graph g = MustParse(R"(graph @g {
    input %x : f32[T,16]
    %a = silu(%x) : f32[T,16]
    %b = copy(%a) : f32[T,16]
    %c = add(%b, %a) : f32[T,16]
    return %c
  })");
  const BufferAssignment good = MustAssign(g, 4);
  const Extents e = Tokens(4);
  const ir::ValueId a = g.FindValue("a"), b = g.FindValue("b");
  BufferAssignment bad = good;
  bad.slots[b].offset = bad.slots[a].offset;  // overwrites a, which is read later
  EXPECT_THAT(CheckAssignment(g, e, bad).message(), HasSubstr("lies over operand %a"));
  bad = good;
  bad.slots[b].bytes -= 1;
  EXPECT_THAT(CheckAssignment(g, e, bad).message(), HasSubstr("too small"));
  bad = good;
  bad.arena_bytes = 64;
  EXPECT_THAT(CheckAssignment(g, e, bad).message(), HasSubstr("outside the arena"));
  bad = good;
  bad.workspaces[1] = {Slot::Kind::kArena, bad.slots[a].offset, 64, ir::kNoId};
  EXPECT_THAT(CheckAssignment(g, e, bad).message(), HasSubstr("overwritten"));
}

TEST(CheckAssignment, CatchesALoopThatForgetsItsBackEdge) {
  Graph g = MustParse(R"(graph @g {
    input %x : f32[16]
    input %y : f32[16]
    %a, %b = repeat(%x, %y) {n=3, carries=2, states=0, invariants=0} : f32[16], f32[16] {
      body(%p : f32[16], %q : f32[16]) {
        yield %q, %p
      }
    }
    return %a, %b
  })");
  BufferAssignment bad = MustAssign(g, 1);
  bad.staging[0] = {};
  EXPECT_FALSE(CheckAssignment(g, Tokens(1), bad).ok());
}

// Random programs of all shapes: the checker accepts every assignment, and packing stays near the
// bound.
TEST(BufferAssignment, RandomProgramsPassTheIndependentChecker) {
  std::mt19937 rng(7);
  int64_t arena = 0, bound = 0;
  for (int trial = 0; trial < 300; ++trial) {
    ir::Builder b("g");
    std::vector<ir::ValueId> pool;
    for (int i = 0; i < 2; ++i) {
      pool.push_back(
          b.Input(StrCat("x", i), {tensor::DType::kF32, {tensor::kT, 16 << (rng() % 3)}}));
    }
    auto random_ops = [&](ir::Builder& to, std::vector<ir::ValueId> values, int n) {
      for (int i = 0; i < n; ++i) {
        const ir::ValueId x = values[rng() % values.size()];
        const int64_t cols = to.type(x).shape[1].factor;
        switch (rng() % 4) {
          case 0:
            values.push_back(to.Emit(ir::OpKind::kSilu, {x}));
            break;
          case 1:
            values.push_back(to.Emit(ir::OpKind::kCopy, {x}));
            break;
          case 2: {
            const ir::ValueId y = to.Emit(ir::OpKind::kScale, {x}, {{ir::AttrKey::kScale, 2.0}});
            values.push_back(to.Emit(ir::OpKind::kAdd, {x, y}));
            break;
          }
          case 3:
            values.push_back(to.View(x, {tensor::kT, cols}, {0, {cols, 1}}));
            break;
        }
      }
      return values;
    };
    pool = random_ops(b, pool, 6);
    const ir::ValueId c0 = pool[rng() % pool.size()], c1 = pool[rng() % pool.size()],
                      inv = pool[rng() % pool.size()];
    auto out = b.Repeat(2 + rng() % 3,
                        {.carries = {c0, c1}, .states = {}, .invariants = {inv}, .stacked = {}},
                        [&](ir::Builder& body, std::span<const ir::ValueId> p) {
                          auto values = random_ops(body, {p.begin(), p.end()}, 6);
                          // Yields: any value of the carry's type, parameters of other carries
                          // included.
                          std::vector<ir::ValueId> yields;
                          for (int i = 0; i < 2; ++i) {
                            ir::ValueId pick = p[static_cast<size_t>(i)];
                            for (int k = 0; k < 8; ++k) {
                              const ir::ValueId v = values[rng() % values.size()];
                              if (body.type(v) == body.type(pick)) pick = v;
                            }
                            yields.push_back(pick);
                          }
                          return yields;
                        });
    pool.insert(pool.end(), out.begin(), out.end());
    pool = random_ops(b, pool, 4);
    pool.push_back(b.Emit(ir::OpKind::kAdd, {pool[0], pool[0]}));
    pool.push_back(b.Emit(ir::OpKind::kAdd, {pool[1], pool[1]}));
    auto graph = std::move(b).Finish({pool[pool.size() - 1], pool[pool.size() - 2], out[0]}, {});
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    BufferAssignment a = MustAssign(*graph, 3, [](const Graph&, const ir::Op& op) {
      return op.kind == ir::OpKind::kCopy ? 192 : 0;
    });
    if (HasFailure()) FAIL() << ir::Print(*graph);
    arena += a.arena_bytes;
    bound += a.lower_bound;
  }
  EXPECT_LE(static_cast<double>(arena), 1.05 * static_cast<double>(bound));
}

TEST(Forms, ChoosesByPreferenceAndInlinesToTheHandWrittenGraph) {
  Graph g = MustParse(R"(graph @g {
    input %x : f32[T,4]
    %y = composite(%x) {callee="f"} : f32[T,4] {
      slow(%p : f32[T,4]) { %z = copy(%p) : f32[T,4] yield %z }
      fast(%p : f32[T,4]) {
        %z = composite(%p) {callee="g"} : f32[T,4] {
          only(%q : f32[T,4]) { %s = silu(%q) : f32[T,4] %u = add(%s, %q) : f32[T,4] yield %u }
        }
        yield %z
      }
    }
    return %y
  })");
  constexpr std::string_view kPreferred[] = {"fused", "fast", "slow"};
  auto chosen = ChooseForms(g, kPreferred);
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  auto inlined = InlineComposites(*chosen);
  ASSERT_TRUE(inlined.ok()) << inlined.status().message();
  Graph direct = MustParse(R"(graph @g {
    input %x : f32[T,4]
    %s = silu(%x) : f32[T,4]
    %u = add(%s, %x) : f32[T,4]
    return %u
  })");
  EXPECT_TRUE(ir::Isomorphic(*inlined, direct)) << ir::Print(*inlined);
  constexpr std::string_view kNone[] = {"ragged"};
  EXPECT_THAT(ChooseForms(g, kNone).status().message(), HasSubstr("offers only: slow fast"));
  EXPECT_THAT(InlineComposites(g).status().message(), HasSubstr("choose one first"));
}

}  // namespace
}  // namespace moxie::passes
