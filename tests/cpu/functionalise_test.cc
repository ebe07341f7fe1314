// Imperative programs, interpreted op by op on shared storage, against their functional graphs run
// by the executor: the same outputs and the same bytes left in donated inputs.
#include "passes/functionalise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "backend/cpu/executor.h"
#include "ir/text.h"
#include "passes/check_assignment.h"
#include "tests/cpu/harness.h"

namespace moxie::cpu {
namespace {

using ir::Graph;
using ir::Op;
using ir::ValueId;
using Floats = std::vector<float>;

// ---------------------------------------------------------------- the interpreter

// What a value names: elements of a storage that views share.
struct Named {
  std::shared_ptr<Floats> storage;
  std::vector<size_t> at;  // of each element, row-major
};

class Interpreter {
 public:
  Interpreter(const Graph& graph, const std::vector<Floats>& inputs)
      : graph_(graph), named_(graph.values.size()) {
    for (size_t i = 0; i < inputs.size(); ++i) named_[graph.inputs[i]] = Fresh(inputs[i]);
    for (const Op& op : graph.ops) Step(op);
  }
  Floats Values(ValueId v) const {
    Floats out;
    for (size_t i : named_[v].at) out.push_back((*named_[v].storage)[i]);
    return out;
  }

 private:
  static Named Fresh(Floats values) {
    Named n;
    for (size_t i = 0; i < values.size(); ++i) n.at.push_back(i);
    n.storage = std::make_shared<Floats>(std::move(values));
    return n;
  }
  // Elements of `base` at an affine descriptor; strides count elements of the storage.
  Named ViewOf(const Named& base, const ir::Shape& sizes, const ir::ViewSpec& view) const {
    Named n{base.storage, {base.at[0] + static_cast<size_t>(view.offset)}};
    for (int d = 0; d < sizes.rank(); ++d) {
      std::vector<size_t> next;
      for (size_t at : n.at) {
        for (int64_t k = 0; k < sizes[d].factor; ++k) {
          next.push_back(at + static_cast<size_t>(k * view.strides[d].factor));
        }
      }
      n.at = std::move(next);
    }
    return n;
  }
  Floats Compute(const Op& op) const {
    Floats a = Values(op.operands[0]);
    const Floats b = op.operands.size() > 1 ? Values(op.operands[1]) : a;
    for (size_t i = 0; i < a.size(); ++i) {
      if (op.kind == OpKind::kAdd) a[i] += b[i];
      if (op.kind == OpKind::kMul) a[i] *= b[i];
      if (op.kind == OpKind::kScale) a[i] *= static_cast<float>(op.attrs.Double(AttrKey::kScale));
      if (op.kind == OpKind::kShift) a[i] += static_cast<float>(op.attrs.Double(AttrKey::kShift));
    }
    return a;
  }
  void Step(const Op& op) {
    const Named& first = named_[op.operands[0]];
    if (op.kind == OpKind::kView) {
      named_[op.results[0]] = ViewOf(first, graph_.value(op.results[0]).type.shape, op.view);
    } else if (op.kind == OpKind::kViewWrite) {
      const ir::Shape& sizes = graph_.value(op.operands[1]).type.shape;
      Store(ViewOf(first, sizes, op.view), Values(op.operands[1]));
    } else if (op.in_place) {
      Store(first, Compute(op));
    } else {
      named_[op.results[0]] = Fresh(Compute(op));
    }
  }
  static void Store(const Named& to, const Floats& values) {
    for (size_t i = 0; i < values.size(); ++i) (*to.storage)[to.at[i]] = values[i];
  }

  const Graph& graph_;
  std::vector<Named> named_;
};

// ---------------------------------------------------------------- the executor

struct Outcome {
  std::vector<Floats> outputs;
  std::vector<Floats> inputs;  // after the run
};

Result<Outcome> Execute(const Graph& graph, std::vector<Floats> inputs) {
  MOXIE_ASSIGN_OR_RETURN(const Selection selection, SelectKernels(graph, BestIsa()));
  MOXIE_ASSIGN_OR_RETURN(
      const auto assignment,
      passes::AssignBuffers(graph, {}, [](const Graph&, const Op&) { return 0; }));
  MOXIE_RETURN_IF_ERROR(passes::CheckAssignment(graph, {}, assignment));
  std::vector<std::byte> bytes(static_cast<size_t>(assignment.arena_bytes) + 64);
  Executor::Memory memory;
  memory.arena = {bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64,
                  static_cast<size_t>(assignment.arena_bytes)};
  for (Floats& x : inputs) memory.inputs.push_back(reinterpret_cast<std::byte*>(x.data()));
  ThreadPool pool(1);
  MOXIE_ASSIGN_OR_RETURN(Executor executor,
                         Executor::Link(graph, selection, assignment, memory, &pool));
  executor.Run({});
  Outcome out;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorView v = executor.output(i);
    Floats& values = out.outputs.emplace_back();
    for (int64_t r = 0; r < v.size(0); ++r) {
      for (int64_t c = 0; c < v.size(1); ++c)
        values.push_back(v.as<float>()[r * v.stride(0) + c * v.stride(1)]);
    }
  }
  out.inputs = std::move(inputs);
  return out;
}

// ---------------------------------------------------------------- random programs

constexpr int64_t kRows = 4, kCols = 8;

// A program over f32[4,8] values and views of them, as text.
class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : rng_(seed) {
    text_ = "graph @g imperative {\n";
    for (int i = 0; i < 3; ++i) {
      const bool donated = i != 1;
      text_ += StrCat("input %x", i, " : f32[4,8]", donated ? " donated\n" : "\n");
      values_.push_back({StrCat("%x", i), kRows, kCols, kCols, donated});
    }
    // Every input is used, and every donation too.
    text_ += "add!(%x0, %x1)\nadd!(%x2, %x0)\n";
    const int ops = 4 + Below(14);
    for (int i = 0; i < ops; ++i) AddOp();
    text_ += StrCat("return ", Returned(), ", ", Returned(), "\n}");
  }
  const std::string& text() const { return text_; }

 private:
  struct Item {
    std::string name;
    int64_t rows, cols;
    int64_t stride;  // between rows
    bool writable;
  };
  int Below(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  const Item& Any() {
    return values_[static_cast<size_t>(Below(static_cast<int>(values_.size())))];
  }
  std::string Type(const Item& v) const { return StrCat("f32[", v.rows, ",", v.cols, "]"); }
  Item Like(const Item& v) { return {StrCat("%v", next_++), v.rows, v.cols, v.cols, true}; }
  // A kept input may not be returned as it is; x1 is the only one.
  std::string Returned() {
    for (;;) {
      const Item& v = Any();
      if (v.writable) return v.name;
    }
  }
  // A value of v's type; v itself when there is no other.
  const Item& Partner(const Item& v) {
    for (int i = 0; i < 8; ++i) {
      const Item& o = Any();
      if (o.rows == v.rows && o.cols == v.cols) return o;
    }
    return v;
  }
  void AddOp() {
    const Item v = Any();
    switch (Below(7)) {
      case 0:
        return AddView(v);
      case 1:
        return AddResult(v, StrCat("copy(", v.name, ")"));
      case 2:
        return AddResult(v, StrCat("add(", v.name, ", ", Partner(v).name, ")"));
      case 3:
        if (v.writable) text_ += StrCat("scale!(", v.name, ") {scale=0.5}\n");
        return;
      case 4:
        if (v.writable) text_ += StrCat("shift!(", v.name, ") {shift=1.25}\n");
        return;
      case 5:
        if (v.writable) text_ += StrCat("mul!(", v.name, ", ", Partner(v).name, ")\n");
        return;
      default:
        return AddViewWrite(v);
    }
  }
  void AddResult(const Item& v, const std::string& call) {
    Item r = Like(v);
    text_ += StrCat(r.name, " = ", call, " : ", Type(r), "\n");
    values_.push_back(r);
  }
  // Some rows and columns, of a view too.
  void AddView(const Item& v) {
    const int64_t r0 = Below(static_cast<int>(v.rows)), c0 = Below(static_cast<int>(v.cols));
    Item r = Like(v);
    r.rows = 1 + Below(static_cast<int>(v.rows - r0));
    r.cols = 1 + Below(static_cast<int>(v.cols - c0));
    r.writable = v.writable;
    r.stride = v.stride;
    text_ += StrCat(r.name, " = view(", v.name, ") offset ", r0 * v.stride + c0, " strides [",
                    v.stride, ",1] : ", Type(r), "\n");
    values_.push_back(r);
  }
  // Into every second column.
  void AddViewWrite(const Item& v) {
    const Item& y = Any();
    if (v.rows < y.rows || v.cols < 2 * y.cols || !v.writable) return;
    text_ +=
        StrCat("view_write!(", v.name, ", ", y.name, ") offset 1 strides [", v.stride, ",2]\n");
  }

  std::mt19937 rng_;
  std::string text_;
  std::vector<Item> values_;
  int next_ = 0;
};

TEST(Functionalise, RandomProgramsComeToTheSameBytes) {
  int copies = 0, in_place = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const RandomProgram program(seed);
    auto imperative = ir::Parse(program.text());
    ASSERT_TRUE(imperative.ok()) << imperative.status().message() << program.text();
    auto graph = passes::Functionalise(*imperative);
    ASSERT_TRUE(graph.ok()) << graph.status().message() << program.text();
    std::vector<Floats> inputs;
    for (uint32_t i = 0; i < 3; ++i) inputs.push_back(Random(kRows * kCols, seed * 3 + i));
    const Interpreter direct(*imperative, inputs);
    auto got = Execute(*graph, inputs);
    ASSERT_TRUE(got.ok()) << got.status().message() << ir::Print(*graph);
    for (size_t i = 0; i < got->outputs.size(); ++i) {
      ASSERT_EQ(got->outputs[i], direct.Values(imperative->outputs[i])) << "output " << i << "\n"
                                                                        << program.text() << "\n"
                                                                        << ir::Print(*graph);
    }
    for (size_t i = 0; i < got->inputs.size(); ++i) {
      ASSERT_EQ(got->inputs[i], direct.Values(imperative->inputs[i])) << "input " << i << "\n"
                                                                      << program.text() << "\n"
                                                                      << ir::Print(*graph);
    }
    auto assignment = passes::AssignBuffers(*graph, {}, [](const Graph&, const Op&) { return 0; });
    copies += assignment->copies > 0;
    for (ValueId v : graph->final_inputs) {
      in_place += assignment->slots[v].kind == passes::Slot::Kind::kDonated;
    }
  }
  // The programs are of both kinds.
  EXPECT_GT(copies, 50);
  EXPECT_GT(in_place, 500);
}

// Case 44 of the acceptance list: one buffer passed donated and not donated.
TEST(Functionalise, Case44DonatedBufferPassedTwice) {
  auto graph = ir::Parse(R"(graph @g {
    input %x : f32[4] donated
    input %y : f32[4]
    %z = add(%x, %y) : f32[4]
    return %z
    final %z
  })");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto selection = SelectKernels(*graph, BestIsa());
  auto assignment = passes::AssignBuffers(*graph, {}, [](const Graph&, const Op&) { return 0; });
  ASSERT_TRUE(selection.ok() && assignment.ok());
  Floats x(4), y(4);
  ThreadPool pool(1);
  Executor::Memory memory;
  auto link = [&](Floats& a, Floats& b) {
    memory.inputs = {reinterpret_cast<std::byte*>(a.data()),
                     reinterpret_cast<std::byte*>(b.data())};
    return Executor::Link(*graph, *selection, *assignment, memory, &pool).status();
  };
  EXPECT_TRUE(link(x, y).ok());
  EXPECT_THAT(link(x, x).message(),
              testing::HasSubstr("donated input %x is passed as another input too (R6)"));
}

}  // namespace
}  // namespace moxie::cpu
