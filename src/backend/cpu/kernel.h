// KernelRow: one row an (op, dtypes, ISA); the executor picks the best row the machine can run.
//
// Kernel files: src/backend/cpu/<op>.cc holds the portable reference and the rows; <op>_avx2.cc,
// <op>_avx512.cc and <op>_avx512bf16.cc hold the variants behind plain function declarations, and
// include no std templates (tools/check_layers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/isa.h"
#include "backend/weight_layout.h"
#include "base/threads.h"
#include "ir/graph.h"
#include "tensor/view.h"

namespace moxie::cpu {

using tensor::DType;
using tensor::TensorView;

// What a kernel gets. Operands are in the op's order (an absent optional operand has data ==
// nullptr); sizes are the step's, not the bucket's; activations are plain with a contiguous last
// dimension. REQUIRES of every kernel: no allocation, no exception, threads only through `pool`;
// zero rows are legal; results do not depend on pool.size() nor on the other rows of the step
// (batch invariance).
struct KernelArgs {
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  const ir::Attrs& attrs;
  std::span<std::byte> workspace;  // at least workspace(..) bytes, 64-byte aligned
  ThreadPool& pool;
};
using KernelFn = void (*)(const KernelArgs& args);

// Bytes of scratch for the largest step: operand and result types bound by `extents`. Null: none.
using KernelWorkspaceFn = int64_t (*)(std::span<const tensor::TensorType> operands,
                                      const ir::Attrs& attrs, const tensor::Extents& extents,
                                      int threads);

inline constexpr int kMaxKernelOperands = 8;

// Dtypes a row accepts: of the operands in order, then of result 0.
struct KernelRow {
  ir::OpKind op;
  Isa isa;
  // 0-terminated strings would not read: a span of (operand dtypes.., result dtype); an operand
  // that the kernel does not look at by type (ids, tables) is listed with its one type.
  std::span<const DType> dtypes;
  KernelFn run;
  KernelWorkspaceFn workspace;
  // Layout that the row wants for each weight operand: dtypes[] gives the stored dtype; bit i of
  // `panel_operands` says that operand i is in Packing::kPanel32 (else kPlain).
  uint32_t panel_operands;
};

// Every row, in no particular order.
std::span<const KernelRow> Kernels();

}  // namespace moxie::cpu
