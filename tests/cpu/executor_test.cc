// Small programs run through selection, assignment and the executor, against arithmetic done here.
#include "backend/cpu/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/text.h"
#include "ir/verifier.h"
#include "passes/check_assignment.h"

namespace moxie::cpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kTokens = 4;  // the bucket

// A program linked to memory of its own.
class Program {
 public:
  explicit Program(std::string_view text) {
    auto graph = ir::Parse(text);
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    graph_ = *graph;
    Status status = ir::Verify(graph_);
    EXPECT_TRUE(status.ok()) << status.message();
    bucket_[tensor::DimVar::kTokens] = kTokens;
    auto selection = SelectKernels(graph_, BestIsa());
    EXPECT_TRUE(selection.ok()) << selection.status().message();
    auto assignment = passes::AssignBuffers(graph_, bucket_,
                                            [](const ir::Graph&, const ir::Op&) { return 4096; });
    EXPECT_TRUE(passes::CheckAssignment(graph_, bucket_, *assignment).ok());
    arena_.resize(static_cast<size_t>(assignment->arena_bytes) + 64);
    Executor::Memory memory;
    std::byte* arena = arena_.data() + (64 - reinterpret_cast<uintptr_t>(arena_.data()) % 64) % 64;
    memory.arena = {arena, static_cast<size_t>(assignment->arena_bytes)};
    for (ir::ValueId v : graph_.inputs) {
      inputs_.emplace_back(static_cast<size_t>(graph_.value(v).type.shape.Elements(bucket_)));
      memory.inputs.push_back(reinterpret_cast<std::byte*>(inputs_.back().data()));
    }
    for (const ir::WeightSpec& w : graph_.weights) {
      const int64_t n = w.type.shape.Elements(bucket_);
      weights_.emplace_back(static_cast<size_t>(n * w.count));
      memory.weights.push_back({reinterpret_cast<std::byte*>(weights_.back().data()), n * 4});
    }
    auto executor = Executor::Link(graph_, *selection, *assignment, memory, &pool_);
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    executor_ = std::make_unique<Executor>(*std::move(executor));
  }

  std::vector<float>& input(size_t i) { return inputs_[i]; }
  std::vector<float>& weight(size_t i) { return weights_[i]; }

  std::vector<float> Run(int64_t tokens, size_t output = 0) {
    tensor::Extents live = bucket_;
    live[tensor::DimVar::kTokens] = tokens;
    executor_->Run(live);
    const tensor::TensorView view = executor_->output(output);
    return {view.as<float>(), view.as<float>() + view.elements()};
  }

 private:
  ir::Graph graph_;
  tensor::Extents bucket_;
  std::vector<std::byte> arena_;
  std::vector<std::vector<float>> inputs_, weights_;
  ThreadPool pool_{2};
  std::unique_ptr<Executor> executor_;
};

TEST(Executor, RunsAtTheStepsLiveSize) {
  Program p(R"(graph @g {
    input %x : f32[T,2]
    %a = scale(%x) {scale=2.0} : f32[T,2]
    %b = add(%a, %x) : f32[T,2]
    return %b
  })");
  p.input(0) = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THAT(p.Run(1), ElementsAre(3, 6));
  EXPECT_THAT(p.Run(3), ElementsAre(3, 6, 9, 12, 15, 18));
  EXPECT_THAT(p.Run(0), ElementsAre());
}

TEST(Executor, RowsOfAViewAreFurtherApartThanTheirLength) {
  Program p(R"(graph @g {
    input %x : f32[T,4]
    %gate = view(%x) offset 0 strides [4,1] : f32[T,2]
    %up = view(%x) offset 2 strides [4,1] : f32[T,2]
    %y = mul(%gate, %up) : f32[T,2]
    return %y
  })");
  p.input(0) = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_THAT(p.Run(2), ElementsAre(3, 8, 35, 48));
}

TEST(Executor, RepeatTakesOneOfEachStackAnIteration) {
  Program p(R"(graph @g {
    weight %w : f32[2] x3 = "w.{i}"
    input %x : f32[2]
    %y = repeat(%x, %w) {n=3, carries=1, states=0, invariants=0} : f32[2] {
      body(%p : f32[2], %q : f32[2]) {
        %m = mul(%p, %q) : f32[2]
        %s = add(%m, %p) : f32[2]
        yield %s
      }
    }
    return %y
  })");
  p.input(0) = {1, 1};
  p.weight(0) = {1, 0, 2, 0, 3, 1};
  EXPECT_THAT(p.Run(1), ElementsAre(2 * 3 * 4, 2));
  EXPECT_THAT(p.Run(1), ElementsAre(2 * 3 * 4, 2));  // and again: inputs were not overwritten
}

TEST(Executor, CarriesThatSwapGoThroughStaging) {
  Program p(R"(graph @g {
    input %x : f32[2]
    input %y : f32[2]
    %a, %b = repeat(%x, %y) {n=3, carries=2, states=0, invariants=0} : f32[2], f32[2] {
      body(%p : f32[2], %q : f32[2]) {
        %p2 = scale(%p) {scale=10.0} : f32[2]
        yield %q, %p2
      }
    }
    return %a, %b
  })");
  p.input(0) = {1, 2};
  p.input(1) = {3, 4};
  // (x, y) -> (y, 10x) -> (10x, 10y) -> (10y, 100x)
  EXPECT_THAT(p.Run(1, 0), ElementsAre(30, 40));
  EXPECT_THAT(p.Run(1, 1), ElementsAre(100, 200));
}

TEST(Executor, LiteralsKeepTheirValues) {
  Program p(R"(graph @g {
    input %x : f32[2]
    %c = literal() {dtype="f32", value=[0.5, -2.0]} : f32[2]
    %y = mul(%x, %c) : f32[2]
    return %y
  })");
  p.input(0) = {4, 4};
  EXPECT_THAT(p.Run(1), ElementsAre(2, -8));
  EXPECT_THAT(p.Run(1), ElementsAre(2, -8));
}

TEST(Select, MissingKernelIsNamedWithItsTypesAndOrigin) {
  auto graph =
      ir::Parse("graph @g { input %x : i32[4] %y = silu(%x) : i32[4] @ \"layers.mlp\" return %y }");
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(SelectKernels(*graph, BestIsa()).status().message(),
              testing::AllOf(HasSubstr("no kernel for silu(i32[4])"), HasSubstr("layers.mlp")));
}

TEST(Select, OneLayoutServesTheGatherAndTheMatmulOfATiedEmbedding) {
  auto graph = ir::Parse(R"(graph @g {
    weight %embed : bf16[64,32] = "embed"
    input %ids : i32[T]
    %h = embedding(%ids, %embed) : f32[T,32]
    %x = cast(%h) {dtype="bf16"} : bf16[T,32]
    %y = matmul(%x, %embed) {dtype="f32"} : f32[T,64]
    return %y
  })");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto selection = SelectKernels(*graph, BestIsa());
  ASSERT_TRUE(selection.ok()) << selection.status().message();
  EXPECT_EQ(selection->layouts[0].packing, tensor::Packing::kPanel32);
}

}  // namespace
}  // namespace moxie::cpu
