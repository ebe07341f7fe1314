// Selection: which kernel runs each op, and how each weight lies in memory. Decided together,
// before planning: a weight has one layout, which every consumer's kernel must take.
#pragma once

#include <vector>

#include "backend/cpu/kernel.h"
#include "base/status.h"
#include "ir/graph.h"

namespace moxie::cpu {

struct Selection {
  std::vector<const KernelRow*> rows;  // by OpId; null where nothing runs: views, literals, repeats
  std::vector<Selection> bodies;       // by OpId; empty but for a repeat
  std::vector<backend::WeightLayout> layouts;  // by weight index; of the top-level selection only
};

// For a flat (inlined) graph and the best kernels up to `isa`. An op without a kernel for its
// dtypes is an error naming the op, its origin and the dtypes.
Result<Selection> SelectKernels(const ir::Graph& graph, Isa isa);

// Scratch bytes of an op's chosen kernel at the largest step.
int64_t WorkspaceBytes(const ir::Graph& graph, const ir::Op& op, const KernelRow* row,
                       const tensor::Extents& extents, int threads);

}  // namespace moxie::cpu
