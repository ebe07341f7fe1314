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

using ir::OpKind;
template <typename X, typename W, typename Y>
constexpr KernelRow kPlain = {OpKind::kMatmul, Isa::kPortable, kTypes<X, W, Y>,
                              Matmul<X, W, Y>, nullptr,        0b10};
template <typename X, typename W, typename Y>
constexpr KernelRow kBias = {OpKind::kMatmul, Isa::kPortable, kTypes<X, W, float, Y>,
                             Matmul<X, W, Y>, nullptr,        0b10};
template <typename X, typename W, typename Y>
constexpr KernelRow kGrouped = {
    OpKind::kGroupedMatmul, Isa::kPortable, kTypes<X, W, int32_t, int32_t, Y>,
    GroupedMatmul<X, W, Y>, nullptr,        0b10};

#define MOXIE_ROWS(X, W, Y) kPlain<X, W, Y>, kBias<X, W, Y>, kGrouped<X, W, Y>
constexpr KernelRow kRows[] = {
    MOXIE_ROWS(float, float, float), MOXIE_ROWS(float, float, BF16), MOXIE_ROWS(float, BF16, float),
    MOXIE_ROWS(float, BF16, BF16),   MOXIE_ROWS(BF16, float, float), MOXIE_ROWS(BF16, float, BF16),
    MOXIE_ROWS(BF16, BF16, float),   MOXIE_ROWS(BF16, BF16, BF16),
};
#undef MOXIE_ROWS

}  // namespace

std::span<const KernelRow> MatmulRows() { return kRows; }

}  // namespace moxie::cpu
