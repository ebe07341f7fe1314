#include "runtime/program.h"

#include <utility>

#include "passes/check_assignment.h"
#include "passes/forms.h"
#include "passes/functionalise.h"

namespace moxie::runtime {
namespace {

// Forms that the cpu kernels run best, best first.
constexpr std::string_view kCpuForms[] = {"fused", "ragged"};

// A value's bytes, or more than fit: sums of them stay inside 64 bits.
constexpr int64_t kMaxBytes = int64_t{1} << 46;

bool Fits(const ir::Value& value, const tensor::Extents& bucket) {
  int64_t bytes = tensor::ByteSize(value.type.dtype);
  for (tensor::Dim d : value.type.shape.dims()) {
    if (__builtin_mul_overflow(bytes, d.factor, &bytes)) return false;
    if (__builtin_mul_overflow(bytes, bucket[d.var], &bytes)) return false;
  }
  return !__builtin_mul_overflow(bytes, value.count, &bytes) && bytes <= kMaxBytes;
}

Status CheckSizes(const ir::Graph& graph, const tensor::Extents& bucket) {
  for (const ir::Value& value : graph.values) {
    if (!Fits(value, bucket)) {
      return ResourceExhausted("graph @", graph.name, ": %", value.name, " ", ToString(value.type),
                               " of the largest step is over 64 TiB");
    }
  }
  for (const ir::Op& op : graph.ops) {
    for (const ir::Graph& region : op.regions) MOXIE_RETURN_IF_ERROR(CheckSizes(region, bucket));
  }
  return OkStatus();
}

// The selection of `graph`, which is `top` or one of its bodies.
const cpu::Selection* SelectionOf(const ir::Graph& graph, const ir::Graph& top,
                                  const cpu::Selection& selection) {
  if (&graph == &top) return &selection;
  for (size_t id = 0; id < top.ops.size(); ++id) {
    for (const ir::Graph& body : top.ops[id].regions) {
      const auto* found = SelectionOf(graph, body, selection.bodies[id]);
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

}  // namespace

Result<Program> PlanProgram(ir::Graph graph, const tensor::Extents& bucket, int threads) {
  Program program;
  program.threads = threads;
  program.bucket = bucket;
  MOXIE_RETURN_IF_ERROR(CheckSizes(graph, bucket));
  MOXIE_ASSIGN_OR_RETURN(graph, passes::ChooseForms(std::move(graph), kCpuForms));
  MOXIE_ASSIGN_OR_RETURN(graph, passes::InlineComposites(graph));
  MOXIE_ASSIGN_OR_RETURN(program.graph, passes::Functionalise(graph));
  MOXIE_ASSIGN_OR_RETURN(program.selection, cpu::SelectKernels(program.graph, cpu::BestIsa()));
  const auto workspace = [&](const ir::Graph& g, const ir::Op& op) {
    const size_t id = static_cast<size_t>(&op - g.ops.data());
    const cpu::Selection* selection = SelectionOf(g, program.graph, program.selection);
    return cpu::WorkspaceBytes(g, op, selection->rows[id], bucket, threads);
  };
  MOXIE_ASSIGN_OR_RETURN(program.assignment,
                         passes::AssignBuffers(program.graph, bucket, workspace));
  MOXIE_RETURN_IF_ERROR(passes::CheckAssignment(program.graph, bucket, program.assignment));
  return program;
}

}  // namespace moxie::runtime
