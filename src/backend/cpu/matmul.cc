// matmul: y = x * w^T + bias;   x [T,K], w [N,K], bias f32[N] or absent -> [T,N]
// grouped_matmul: y[i] = x[row(i)] * w[e]^T for the sorted rows i of expert e, offsets[e] <= i <
// offsets[e+1];
//   row(i) = order[i] / top_k when gather, else i;   x [T,K] or [kT,K], w [E,N,K] -> [kT,N]
// Every output is the sum of its products in the order of k, whatever the rows and threads.
// Cost: 2*T*N*K flops (kT rows when grouped); reads each (used expert's) matrix once a step.
#include "backend/cpu/grouped.h"

namespace moxie::cpu {

Grouped MatmulProblem(const KernelArgs& args) {
  Grouped g;
  const TensorView &x = args.in[0], &w = args.in[1], &y = args.out[0];
  g.x = x.data;
  g.x_stride = x.stride(0);
  g.w = w.data;
  if (args.in.size() > 2) g.bias = args.in[2].as<float>();
  g.y = y.data;
  g.y_stride = y.stride(0);
  g.y_is_bf16 = y.dtype == DType::kBF16;
  g.rows = y.size(0);
  g.n = w.size(0);
  g.k = w.size(1);
  return g;
}

Grouped GroupedMatmulProblem(const KernelArgs& args) {
  Grouped g;
  const TensorView &x = args.in[0], &w = args.in[1], &y = args.out[0];
  g.x = x.data;
  g.x_stride = x.stride(0);
  if (args.attrs.Int(ir::AttrKey::kGather) != 0) {
    g.order = args.in[2].as<int32_t>();
    g.order_divisor = args.attrs.Int(ir::AttrKey::kTopK, 1);
  }
  g.w = w.data;
  g.y = y.data;
  g.y_stride = y.stride(0);
  g.y_is_bf16 = y.dtype == DType::kBF16;
  g.offsets = args.in[3].as<int32_t>();
  g.experts = w.size(0);
  g.rows = y.size(0);
  g.n = w.size(1);
  g.k = w.size(2);
  return g;
}

namespace {

template <typename X, typename W, typename Y>
void Matmul(const KernelArgs& args) {
  GroupedReference<X, W, Y>(MatmulProblem(args), args.pool);
}
template <typename X, typename W, typename Y>
void GroupedMatmul(const KernelArgs& args) {
  GroupedReference<X, W, Y>(GroupedMatmulProblem(args), args.pool);
}

template <const TileKernel& kKernel>
void FastMatmul(const KernelArgs& args) {
  RunGrouped(MatmulProblem(args), kKernel, args.workspace, args.pool);
}
template <const TileKernel& kKernel>
void FastGroupedMatmul(const KernelArgs& args) {
  RunGrouped(GroupedMatmulProblem(args), kKernel, args.workspace, args.pool);
}

template <const TileKernel& kKernel>
int64_t FastMatmulWorkspace(std::span<const tensor::TensorType> operands, const ir::Attrs&,
                            const tensor::Extents& extents, int threads) {
  const tensor::Shape& x = operands[0].shape;
  return threads * PackedBytes(kKernel, x[0].At(extents), x[1].At(extents));
}
template <const TileKernel& kKernel>
int64_t FastGroupedWorkspace(std::span<const tensor::TensorType> operands, const ir::Attrs&,
                             const tensor::Extents& extents, int threads) {
  const int64_t rows = operands[2].shape.Elements(extents);  // order [kT]
  return threads * PackedBytes(kKernel, rows, operands[0].shape[1].At(extents));
}

using ir::OpKind;
template <typename X, typename W, typename Y>
constexpr KernelRow kReference[] = {
    {OpKind::kMatmul, Isa::kPortable, kTypes<X, W, Y>, Matmul<X, W, Y>, nullptr, 0b10},
    {OpKind::kMatmul, Isa::kPortable, kTypes<X, W, float, Y>, Matmul<X, W, Y>, nullptr, 0b10},
    {OpKind::kGroupedMatmul, Isa::kPortable, kTypes<X, W, int32_t, int32_t, Y>,
     GroupedMatmul<X, W, Y>, nullptr, 0b10}};

template <Isa kIsa, const TileKernel& kKernel, typename X, typename W, typename Y>
constexpr KernelRow kFast[] = {{OpKind::kMatmul, kIsa, kTypes<X, W, Y>, FastMatmul<kKernel>,
                                FastMatmulWorkspace<kKernel>, 0b10},
                               {OpKind::kMatmul, kIsa, kTypes<X, W, float, Y>, FastMatmul<kKernel>,
                                FastMatmulWorkspace<kKernel>, 0b10},
                               {OpKind::kGroupedMatmul, kIsa, kTypes<X, W, int32_t, int32_t, Y>,
                                FastGroupedMatmul<kKernel>, FastGroupedWorkspace<kKernel>, 0b10}};

#define MOXIE_ROWS(rows) rows[0], rows[1], rows[2]
#define MOXIE_BOTH(rows, ...) \
  MOXIE_ROWS((rows<__VA_ARGS__, float>)), MOXIE_ROWS((rows<__VA_ARGS__, BF16>))
constexpr KernelRow kRows[] = {
    MOXIE_BOTH(kReference, float, float),
    MOXIE_BOTH(kReference, float, BF16),
    MOXIE_BOTH(kReference, BF16, float),
    MOXIE_BOTH(kReference, BF16, BF16),
    MOXIE_BOTH(kFast, Isa::kAvx2, kF32F32Avx2, float, float),
    MOXIE_BOTH(kFast, Isa::kAvx2, kF32Bf16Avx2, float, BF16),
    MOXIE_BOTH(kFast, Isa::kAvx2, kBf16F32Avx2, BF16, float),
    MOXIE_BOTH(kFast, Isa::kAvx2, kBf16Bf16Avx2, BF16, BF16),
    MOXIE_BOTH(kFast, Isa::kAvx512, kF32F32Avx512, float, float),
    MOXIE_BOTH(kFast, Isa::kAvx512, kF32Bf16Avx512, float, BF16),
    MOXIE_BOTH(kFast, Isa::kAvx512, kBf16F32Avx512, BF16, float),
    MOXIE_BOTH(kFast, Isa::kAvx512, kBf16Bf16Avx512, BF16, BF16),
    MOXIE_BOTH(kFast, Isa::kAvx512Bf16, kBf16Bf16Avx512Bf16, BF16, BF16),
};
#undef MOXIE_BOTH
#undef MOXIE_ROWS

}  // namespace

std::span<const KernelRow> MatmulRows() { return kRows; }

}  // namespace moxie::cpu
