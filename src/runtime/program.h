// Program: a graph made ready to run on the cpu, by the one order of passes (R5). A model's plan
// and `moxie ir` come the same way.
#pragma once

#include "backend/cpu/select.h"
#include "base/status.h"
#include "ir/graph.h"
#include "passes/buffer_assignment.h"

namespace moxie::runtime {

struct Program {
  ir::Graph graph;  // functional, flat
  cpu::Selection selection;
  int threads = 1;
  tensor::Extents bucket;               // the largest step: what the assignment was made for
  passes::BufferAssignment assignment;  // checked by passes/check_assignment
};

// choose forms -> inline -> functionalise -> kernels and layouts -> assign buffers -> check. Makes
// data only: nothing is allocated for the program (R3). Errors are those of the passes.
Result<Program> PlanProgram(ir::Graph graph, const tensor::Extents& bucket, int threads);

}  // namespace moxie::runtime
