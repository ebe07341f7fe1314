// The guard: programs that are right give what they give without it; broken kernels are found out.
#include "backend/cpu/arena_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <vector>

#include "backend/cpu/executor.h"
#include "ir/text.h"

namespace moxie::cpu {
namespace {

using testing::HasSubstr;

constexpr const char* kProgram = R"(graph @g {
  input %x : f32[16]
  input %y : f32[16]
  %a, %b = repeat(%x, %y) {n=3, carries=2, states=0, invariants=0} : f32[16], f32[16] {
    body(%p : f32[16], %q : f32[16]) {
      %s = add(%p, %q) : f32[16]
      %t = mul(%s, %q) : f32[16]
      %u = add(%t, %s) : f32[16]
      yield %q, %u
    }
  }
  %c = add(%a, %b) : f32[16]
  %d = mul(%c, %c) : f32[16]
  return %d
})";

// `broken` replaces the kernel of every multiplication.
struct Outcome {
  std::vector<float> first_two;
  Status guard;
};

Outcome RunTwice(bool guard, KernelFn broken = nullptr) {
  auto graph = ir::Parse(kProgram);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  tensor::Extents extents;
  auto selection = SelectKernels(*graph, BestIsa());
  EXPECT_TRUE(selection.ok()) << selection.status().message();
  std::deque<KernelRow> rows;
  auto replace = [&](const ir::Graph& g, Selection& s) {
    for (size_t i = 0; i < g.ops.size() && broken != nullptr; ++i) {
      if (g.ops[i].kind != ir::OpKind::kMul) continue;
      rows.push_back(*s.rows[i]);
      rows.back().run = broken;
      s.rows[i] = &rows.back();
    }
  };
  replace(*graph, *selection);
  replace(graph->ops[0].regions[0], selection->bodies[0]);
  auto assignment =
      passes::AssignBuffers(*graph, extents, [](const ir::Graph&, const ir::Op&) { return 0; });
  EXPECT_TRUE(assignment.ok());
  alignas(64) std::byte arena[4096] = {};
  EXPECT_LE(assignment->arena_bytes, 2048);
  std::vector<float> x(16, 1), y(16, 2);
  Executor::Memory memory;
  memory.arena = arena;
  memory.inputs = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(y.data())};
  ThreadPool pool(1);
  auto executor = Executor::Link(*graph, *selection, *assignment, memory, &pool, guard);
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  for (int step = 0; step < 2; ++step) executor->Run(extents);
  const float* out = executor->output(0).as<float>();
  return {{out[0], out[1]}, executor->guard_status()};
}

void Multiply(const KernelArgs& args, size_t n, size_t from) {
  const auto* a = args.in[0].as<float>();
  const auto* b = args.in[1].as<float>();
  auto* out = args.out[0].as<float>();
  for (size_t i = from; i < n; ++i) out[i] = a[i] * b[i];
}

TEST(ArenaGuard, ChangesNothingOfAProgramThatIsRight) {
  const Outcome plain = RunTwice(false), guarded = RunTwice(true);
  EXPECT_TRUE(guarded.guard.ok()) << guarded.guard.message();
  EXPECT_EQ(guarded.first_two, plain.first_two);
  EXPECT_TRUE(RunTwice(true, [](const KernelArgs& args) { Multiply(args, 16, 0); }).guard.ok());
}

TEST(ArenaGuard, AWriteBeyondTheResultIsNamed) {
  // Elements 16 to 31 are those of the buffer after the result's, or of nobody.
  auto beyond = [](const KernelArgs& args) {
    Multiply(args, 16, 0);
    auto* out = args.out[0].as<float>();
    for (size_t i = 16; i < 256; ++i) {
      if (std::isnan(out[i])) out[i] = 0;  // poison, so nobody's
    }
  };
  const Outcome outcome = RunTwice(true, beyond);
  EXPECT_THAT(outcome.guard.message(),
              testing::AllOf(HasSubstr("belongs to nobody while mul"), HasSubstr("was written")));
  EXPECT_TRUE(RunTwice(false, beyond).guard.ok()) << "nobody looked";
}

// A kernel that leaves an element as it found it: without the guard that is another owner's number.
TEST(ArenaGuard, AnElementThatIsNotWrittenIsNotANumber) {
  auto lazy = [](const KernelArgs& args) { Multiply(args, 16, 1); };
  const Outcome outcome = RunTwice(true, lazy);
  EXPECT_TRUE(outcome.guard.ok());
  EXPECT_TRUE(std::isnan(outcome.first_two[0]));
  EXPECT_EQ(outcome.first_two[1], RunTwice(false).first_two[1]);
  EXPECT_FALSE(std::isnan(RunTwice(false, lazy).first_two[0]));
}

}  // namespace
}  // namespace moxie::cpu
