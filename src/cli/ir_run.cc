#include "cli/ir_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "backend/cpu/executor.h"
#include "base/checksum.h"
#include "memory/arena.h"
#include "weights/load_plan.h"

namespace moxie::cli {
namespace {

using runtime::Program;
using tensor::DType;
using tensor::Packing;
using tensor::TensorView;

constexpr double kShareOfMemory = 0.9;
constexpr int64_t kMaxCalls = 1'000'000;  // of kernels, in all iterations

// ---------------------------------------------------------------- numbers

// The numbers of one tensor: uniform, of deviation `scale`.
class Numbers {
 public:
  Numbers(int64_t seed, uint64_t tensor, double scale)
      : state_(static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15 + tensor * 0xBF58476D1CE4E5B9),
        half_range_(scale * std::sqrt(3.0)) {}

  // splitmix64.
  float Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    const double unit = static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
    return static_cast<float>((2 * unit - 1) * half_range_);
  }

 private:
  uint64_t state_;
  double half_range_;
};

bool IsMadeUp(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16; }

// `matrices` of [n, k] in the layout, one after another at `at`.
void Fill(const backend::WeightLayout& layout, int64_t matrices, int64_t n, int64_t k,
          Numbers numbers, std::byte* at) {
  // Plain rows lie one after another, so where they begin does not matter: any 4096 elements will
  // do for one. Panels take 32 rows at a time.
  const bool plain = layout.packing == Packing::kPlain;
  const int64_t cols = plain ? 4096 : k, rows = plain ? 1 : 32;
  const int64_t lines = plain ? (n * k + cols - 1) / cols : n;
  const int64_t each =
      tensor::PackedElements(layout.packing, n, k) * tensor::ByteSize(layout.dtype);
  std::vector<float> some(static_cast<size_t>(rows * cols));
  const auto* source = reinterpret_cast<const std::byte*>(some.data());
  for (int64_t m = 0; m < matrices; ++m, at += each) {
    for (int64_t r = 0; r < lines; r += rows) {
      std::ranges::generate(some, [&] { return numbers.Next(); });
      if (plain) {
        const int64_t begin = r * cols, count = std::min(cols, n * k - begin);
        backend::PackRows(layout, source, DType::kF32, 1, count, 0, 1,
                          at + begin * tensor::ByteSize(layout.dtype));
      } else {
        backend::PackRows(layout, source, DType::kF32, n, k, r, std::min(n, r + rows), at);
      }
    }
  }
}

// ---------------------------------------------------------------- memory

// Everything that the program works on.
struct Memory {
  memory::Arena weights, states, inputs, temporaries;
  cpu::Executor::Memory at;
};

int64_t Aligned(int64_t bytes) {
  return (bytes + passes::kArenaAlignment - 1) / passes::kArenaAlignment * passes::kArenaAlignment;
}

// One reserved term each, in the order of Memory's arenas.
std::vector<memory::Footprint> Footprints(const Program& program, int64_t weight_bytes) {
  const ir::Graph& graph = program.graph;
  int64_t states = 0, inputs = 0;
  for (const ir::StateSpec& s : graph.states)
    states += Aligned(s.type.Bytes(program.bucket)) * s.count;
  for (ir::ValueId v : graph.inputs) inputs += Aligned(graph.value(v).type.Bytes(program.bucket));
  std::vector<memory::Footprint> terms;
  for (auto [name, bytes] : {std::pair{"weights", weight_bytes},
                             {"states", states},
                             {"inputs", inputs},
                             {"temporaries", program.assignment.arena_bytes}}) {
    memory::Footprint term;
    term.owner = "program";
    term.name = name;
    term.bytes = bytes;
    terms.push_back(std::move(term));
  }
  return terms;
}

void PlaceWeights(const Program& program, std::span<const weights::WeightPlacement> placements,
                  int64_t seed, Memory& memory) {
  for (size_t w = 0; w < placements.size(); ++w) {
    const weights::WeightPlacement& p = placements[w];
    memory.at.weights.push_back({memory.weights.data() + p.offset, p.stride});
    if (!IsMadeUp(p.layout.dtype)) continue;
    const int64_t k = p.sizes.empty() ? 1 : p.sizes.back();
    const int64_t n = p.sizes.size() < 2 ? 1 : p.sizes[p.sizes.size() - 2];
    int64_t matrices = 1;
    for (size_t d = 0; d + 2 < p.sizes.size(); ++d) matrices *= p.sizes[d];
    const double scale = p.sizes.size() < 2 ? 1 : 1 / std::sqrt(static_cast<double>(k));
    for (int64_t i = 0; i < p.count; ++i) {
      const uint64_t tensor = program.graph.inputs.size() + (w << 20) + static_cast<uint64_t>(i);
      Fill(p.layout, matrices, n, k, Numbers(seed, tensor, scale),
           memory.at.weights.back().data + i * p.stride);
    }
  }
}

void PlaceInputs(const Program& program, int64_t seed, Memory& memory) {
  std::byte* at = memory.inputs.data();
  for (size_t i = 0; i < program.graph.inputs.size(); ++i) {
    const tensor::TensorType& type = program.graph.value(program.graph.inputs[i]).type;
    const int64_t elements = type.shape.Elements(program.bucket);
    memory.at.inputs.push_back(at);
    if (IsMadeUp(type.dtype)) {
      Fill({Packing::kPlain, type.dtype}, 1, 1, elements, Numbers(seed, i, 1), at);
    }
    at += Aligned(type.Bytes(program.bucket));
  }
}

Result<Memory> Map(const Program& program, int64_t seed) {
  const auto placements = weights::PlaceWeights(program.graph, program.selection.layouts);
  const auto terms = Footprints(program, weights::WeightArenaBytes(placements));
  MOXIE_ASSIGN_OR_RETURN(memory::Budget budget, memory::DetectBudget(kShareOfMemory));
  memory::MemoryPlan plan(std::move(budget));
  plan.Add(terms);
  MOXIE_RETURN_IF_ERROR(plan.CheckFits());
  Memory memory;
  memory::Arena* arenas[] = {&memory.weights, &memory.states, &memory.inputs, &memory.temporaries};
  for (size_t i = 0; i < terms.size(); ++i) {
    MOXIE_ASSIGN_OR_RETURN(*arenas[i], memory::Arena::Map(terms[i]));
  }
  memory.at.arena = memory.temporaries.Span(0, memory.temporaries.bytes());
  PlaceWeights(program, placements, seed, memory);
  PlaceInputs(program, seed, memory);
  std::byte* state = memory.states.data();
  for (const ir::StateSpec& s : program.graph.states) {
    const int64_t each = Aligned(s.type.Bytes(program.bucket));
    memory.at.states.push_back({state, each});
    state += each * s.count;
  }
  return memory;
}

// ---------------------------------------------------------------- outputs

int64_t Calls(const ir::Graph& graph) {
  int64_t calls = 0;
  for (const ir::Op& op : graph.ops) {
    int64_t inside = 1;
    if (op.kind == ir::OpKind::kRepeat) inside = Calls(op.regions[0]);
    const int64_t times = std::max<int64_t>(op.attrs.Int(ir::AttrKey::kN), 1);
    calls = std::min(kMaxCalls + 1, calls + std::min(kMaxCalls, inside) * times);
  }
  return calls;
}

double Number(DType dtype, const std::byte* at) {
  auto as = [&]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::kF32:
      return static_cast<double>(as(0.0f));
    case DType::kF16:
      return static_cast<double>(tensor::F16ToF32(as(uint16_t{0})));
    case DType::kBF16:
      return static_cast<double>(tensor::BF16ToF32(as(uint16_t{0})));
    case DType::kI64:
      return static_cast<double>(as(int64_t{0}));
    case DType::kI32:
      return as(int32_t{0});
    case DType::kI8:
      return as(int8_t{0});
    case DType::kU8:
    case DType::kBool:
      return as(uint8_t{0});
  }
  return 0;
}

OutputSummary Summarise(std::string name, std::string type, const TensorView& view) {
  OutputSummary out{std::move(name), std::move(type), kChecksumStart};
  const int64_t size = tensor::ByteSize(view.dtype);
  for (int64_t i = 0; i < view.elements(); ++i) {
    int64_t rest = i, offset = 0;
    for (int d = view.rank - 1; d >= 0; --d) {
      offset += rest % view.size(d) * view.stride(d);
      rest /= view.size(d);
    }
    const std::byte* at = view.data + offset * size;
    const double number = Number(view.dtype, at);
    out.checksum = Checksum({at, static_cast<size_t>(size)}, out.checksum);
    out.sum += number;
    // Not std::max: a NaN must show.
    if (!(std::abs(number) <= out.largest)) out.largest = std::abs(number);
  }
  return out;
}

std::string TypeOf(const TensorView& view) {
  std::string sizes;
  for (int d = 0; d < view.rank; ++d) sizes += StrCat(d > 0 ? "," : "", view.size(d));
  return StrCat(tensor::Name(view.dtype), "[", sizes, "]");
}

}  // namespace

Result<std::vector<OutputSummary>> RunProgram(const Program& program, int64_t seed) {
  if (Calls(program.graph) > kMaxCalls) {
    return ResourceExhausted("graph @", program.graph.name, ": its repeats run more than ",
                             kMaxCalls, " ops");
  }
  MOXIE_ASSIGN_OR_RETURN(Memory memory, Map(program, seed));
  ThreadPool pool(program.threads);
  MOXIE_ASSIGN_OR_RETURN(
      cpu::Executor executor,
      cpu::Executor::Link(program.graph, program.selection, program.assignment, memory.at, &pool));
  executor.Run(program.bucket);
  std::vector<OutputSummary> out;
  for (size_t i = 0; i < program.graph.outputs.size(); ++i) {
    const TensorView view = executor.output(i);
    out.push_back(
        Summarise(program.graph.value(program.graph.outputs[i]).name, TypeOf(view), view));
  }
  return out;
}

}  // namespace moxie::cli
