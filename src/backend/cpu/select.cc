#include "backend/cpu/select.h"

#include <algorithm>

namespace moxie::cpu {
namespace {

using ir::Graph;
using ir::kNoId;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;
using tensor::Packing;

bool HasKernel(OpKind kind) {
  return kind != OpKind::kView && kind != OpKind::kLiteral && kind != OpKind::kEmpty &&
         kind != OpKind::kRepeat;
}

bool DTypesMatch(const Graph& graph, const Op& op, const KernelRow& row) {
  if (row.op != op.kind || row.dtypes.size() != op.operands.size() + 1) return false;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (graph.value(op.operands[i]).type.dtype != row.dtypes[i]) return false;
  }
  return graph.value(op.results[0]).type.dtype == row.dtypes.back();
}

Packing PackingOf(const KernelRow& row, size_t operand) {
  return row.panel_operands >> operand & 1 ? Packing::kPanel32 : Packing::kPlain;
}

Status NoKernel(const Graph& graph, const Op& op) {
  std::string types;
  for (ValueId v : op.operands)
    types += StrCat(types.empty() ? "" : ", ", ToString(graph.value(v).type));
  return Unimplemented("cpu: no kernel for ", ir::Name(op.kind), "(", types, ") -> ",
                       ToString(graph.value(op.results[0]).type), " (origin \"", op.origin, "\")");
}

class Selector {
 public:
  Selector(const Graph& top, Isa isa) : top_(top), isa_(isa) {}

  Result<Selection> Run() {
    // What each packing is accepted by: bit 0 plain, bit 1 panels; narrowed by each consumer.
    accepted_.assign(top_.weights.size(), 3);
    const std::vector<int> weight_of = TopWeights();
    MOXIE_RETURN_IF_ERROR(NarrowLayouts(top_, weight_of));
    Selection out;
    for (size_t w = 0; w < top_.weights.size(); ++w) {
      const Packing packing = accepted_[w] & 2 && top_.weights[w].type.shape.rank() >= 2
                                  ? Packing::kPanel32
                                  : Packing::kPlain;
      out.layouts.push_back({packing, top_.weights[w].type.dtype});
    }
    MOXIE_RETURN_IF_ERROR(Choose(top_, weight_of, out.layouts, out));
    return out;
  }

 private:
  std::vector<int> TopWeights() const {
    std::vector<int> of(top_.values.size(), -1);
    for (ValueId v = 0; v < top_.values.size(); ++v) {
      if (top_.value(v).kind == ir::ValueKind::kWeight)
        of[v] = static_cast<int>(top_.value(v).index);
    }
    return of;
  }
  // The weights that a body's parameters stand for.
  static std::vector<int> BodyWeights(const Op& repeat, const std::vector<int>& outer) {
    const Graph& body = repeat.regions[0];
    std::vector<int> of(body.values.size(), -1);
    for (size_t i = 0; i < repeat.operands.size(); ++i)
      of[body.inputs[i]] = outer[repeat.operands[i]];
    return of;
  }

  Status NarrowLayouts(const Graph& graph, const std::vector<int>& weight_of) {
    for (const Op& op : graph.ops) {
      if (op.kind == OpKind::kRepeat) {
        MOXIE_RETURN_IF_ERROR(NarrowLayouts(op.regions[0], BodyWeights(op, weight_of)));
      }
      if (!HasKernel(op.kind)) continue;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const int w = weight_of[op.operands[i]];
        if (w < 0) continue;
        int accepts = 0;
        for (const KernelRow& row : Kernels()) {
          if (row.isa <= isa_ && DTypesMatch(graph, op, row)) {
            accepts |= PackingOf(row, i) == Packing::kPanel32 ? 2 : 1;
          }
        }
        accepted_[static_cast<size_t>(w)] &= accepts;
        if (accepts == 0) return NoKernel(graph, op);
        if (accepted_[static_cast<size_t>(w)] == 0) {
          return Unimplemented("cpu: no layout of weight \"",
                               top_.weights[static_cast<size_t>(w)].name,
                               "\" suits all its consumers; ", ir::Name(op.kind), " (origin \"",
                               op.origin, "\") is one of them");
        }
      }
    }
    return {};
  }

  Status Choose(const Graph& graph, const std::vector<int>& weight_of,
                const std::vector<backend::WeightLayout>& layouts, Selection& out) const {
    out.rows.assign(graph.ops.size(), nullptr);
    out.bodies.resize(graph.ops.size());
    for (OpId id = 0; id < graph.ops.size(); ++id) {
      const Op& op = graph.ops[id];
      if (op.kind == OpKind::kRepeat) {
        MOXIE_RETURN_IF_ERROR(
            Choose(op.regions[0], BodyWeights(op, weight_of), layouts, out.bodies[id]));
      }
      if (!HasKernel(op.kind)) continue;
      for (const KernelRow& row : Kernels()) {
        const bool better = out.rows[id] == nullptr || row.isa > out.rows[id]->isa;
        if (row.isa <= isa_ && better && DTypesMatch(graph, op, row) &&
            Takes(op, row, weight_of, layouts)) {
          out.rows[id] = &row;
        }
      }
      if (out.rows[id] == nullptr) return NoKernel(graph, op);
    }
    return {};
  }

  // True when the row takes each weight operand in its layout.
  static bool Takes(const Op& op, const KernelRow& row, const std::vector<int>& weight_of,
                    const std::vector<backend::WeightLayout>& layouts) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const int w = weight_of[op.operands[i]];
      const Packing packing = w < 0 ? Packing::kPlain : layouts[static_cast<size_t>(w)].packing;
      if (PackingOf(row, i) != packing) return false;
    }
    return true;
  }

  const Graph& top_;
  const Isa isa_;
  std::vector<int> accepted_;
};

}  // namespace

Result<Selection> SelectKernels(const Graph& graph, Isa isa) { return Selector(graph, isa).Run(); }

int64_t WorkspaceBytes(const Graph& graph, const Op& op, const KernelRow* row,
                       const tensor::Extents& extents, int threads) {
  if (row == nullptr || row->workspace == nullptr) return 0;
  std::vector<tensor::TensorType> types;
  for (ValueId v : op.operands) types.push_back(graph.value(v).type);
  return row->workspace(types, op.attrs, extents, threads);
}

}  // namespace moxie::cpu
