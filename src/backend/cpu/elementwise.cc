// add: a + b.  mul: a * b.  scale: x * s.  shift: x + s.  silu: x * sigmoid(x) = x / (1 + e^-x).
// silu_mul: silu(gate) * up. All shapes equal; arithmetic in f32, rounded once to the result's
// dtype. Cost: reads each operand once, writes the result once; at most 20 flops an element.
#include <cmath>

#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

float Silu(float x) { return x / (1.0f + std::exp(-x)); }

struct AddOp {
  static float Apply(float a, float b) { return a + b; }
};
struct MulOp {
  static float Apply(float a, float b) { return a * b; }
};
struct SiluMulOp {
  static float Apply(float gate, float up) { return Silu(gate) * up; }
};

template <typename Op, typename A, typename B, typename Out>
void Binary(const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const int64_t n = RowSize(y);
  ForEach(args.pool, RowCount(y), n, [&](int64_t i) {
    const A* a = RowOf<const A>(args.in[0], i);
    const B* b = RowOf<const B>(args.in[1], i);
    Out* out = RowOf<Out>(y, i);
    for (int64_t j = 0; j < n; ++j)
      out[j] = FromFloat<Out>(Op::Apply(ToFloat(a[j]), ToFloat(b[j])));
  });
}

template <typename In, typename Out, typename F>
void Unary(const KernelArgs& args, F&& f) {
  const TensorView& y = args.out[0];
  const int64_t n = RowSize(y);
  ForEach(args.pool, RowCount(y), n, [&](int64_t i) {
    const In* x = RowOf<const In>(args.in[0], i);
    Out* out = RowOf<Out>(y, i);
    for (int64_t j = 0; j < n; ++j) out[j] = FromFloat<Out>(f(ToFloat(x[j])));
  });
}

template <typename T>
void Scale(const KernelArgs& args) {
  const float s = static_cast<float>(args.attrs.Double(ir::AttrKey::kScale));
  Unary<T, T>(args, [s](float x) { return x * s; });
}

template <typename T>
void Shift(const KernelArgs& args) {
  const float s = static_cast<float>(args.attrs.Double(ir::AttrKey::kShift));
  Unary<T, T>(args, [s](float x) { return x + s; });
}

template <typename In, typename Out>
void SiluKernel(const KernelArgs& args) {
  Unary<In, Out>(args, Silu);
}

template <int kBits, typename In, typename Out>
void FastSiluMul(const KernelArgs& args) {
  const TensorView& y = args.out[0];
  ForEach(args.pool, RowCount(y), RowSize(y) * 4, [&](int64_t i) {
    SiluMulRow<kBits>(Raw(RowOf<const In>(args.in[0], i)), Raw(RowOf<const In>(args.in[1], i)),
                      RowSize(y), Raw(RowOf<Out>(y, i)));
  });
}

template <int kBits>
void FastAdd(const KernelArgs& args) {
  const TensorView& y = args.out[0];
  ForEach(args.pool, RowCount(y), RowSize(y), [&](int64_t i) {
    AddRow<kBits>(RowOf<const float>(args.in[0], i), RowOf<const float>(args.in[1], i), RowSize(y),
                  RowOf<float>(y, i));
  });
}

using ir::OpKind;
template <OpKind kOp, typename Op, typename A, typename B, typename Out>
constexpr KernelRow kBinary = {
    kOp, Isa::kPortable, kTypes<A, B, Out>, Binary<Op, A, B, Out>, nullptr, 0};
template <int kBits, typename In, typename Out>
constexpr KernelRow kFastSiluMul = {
    OpKind::kSiluMul, kIsaOf<kBits>, kTypes<In, In, Out>, FastSiluMul<kBits, In, Out>, nullptr, 0};
template <int kBits>
constexpr KernelRow kFastAdd = {OpKind::kAdd,   kIsaOf<kBits>, kTypes<float, float, float>,
                                FastAdd<kBits>, nullptr,       0};
#define MOXIE_SILU_MUL(In, Out)                                                  \
  kBinary<OpKind::kSiluMul, SiluMulOp, In, In, Out>, kFastSiluMul<256, In, Out>, \
      kFastSiluMul<512, In, Out>

constexpr KernelRow kRows[] = {
    kBinary<OpKind::kAdd, AddOp, float, float, float>,
    kFastAdd<256>,
    kFastAdd<512>,
    kBinary<OpKind::kAdd, AddOp, BF16, BF16, BF16>,
    kBinary<OpKind::kAdd, AddOp, float, BF16, float>,
    kBinary<OpKind::kAdd, AddOp, BF16, float, float>,
    kBinary<OpKind::kMul, MulOp, float, float, float>,
    kBinary<OpKind::kMul, MulOp, BF16, BF16, BF16>,
    kBinary<OpKind::kMul, MulOp, float, BF16, float>,
    kBinary<OpKind::kMul, MulOp, BF16, float, float>,
    MOXIE_SILU_MUL(float, float),
    MOXIE_SILU_MUL(float, BF16),
    MOXIE_SILU_MUL(BF16, BF16),
    MOXIE_SILU_MUL(BF16, float),
    {OpKind::kScale, Isa::kPortable, kTypes<float, float>, Scale<float>, nullptr, 0},
    {OpKind::kScale, Isa::kPortable, kTypes<BF16, BF16>, Scale<BF16>, nullptr, 0},
    {OpKind::kShift, Isa::kPortable, kTypes<float, float>, Shift<float>, nullptr, 0},
    {OpKind::kShift, Isa::kPortable, kTypes<BF16, BF16>, Shift<BF16>, nullptr, 0},
    {OpKind::kSilu, Isa::kPortable, kTypes<float, float>, SiluKernel<float, float>, nullptr, 0},
    {OpKind::kSilu, Isa::kPortable, kTypes<BF16, BF16>, SiluKernel<BF16, BF16>, nullptr, 0},
    {OpKind::kSilu, Isa::kPortable, kTypes<float, BF16>, SiluKernel<float, BF16>, nullptr, 0},
};
#undef MOXIE_SILU_MUL

}  // namespace

std::span<const KernelRow> ElementwiseRows() { return kRows; }

}  // namespace moxie::cpu
