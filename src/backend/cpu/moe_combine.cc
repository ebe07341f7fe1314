// moe_combine: out[t] = sum_j weights[t,j] * y[position[t * k + j]], j in order
//   y [kT,H] in expert order, position i32[kT], weights f32[T,k] -> f32 [T,H]
// Cost: reads y once, writes T*H floats; 2 flops an element of y.
#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

template <typename Y>
void MoeCombine(const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const int32_t* position = args.in[1].as<int32_t>();
  const int64_t h = RowSize(out), k = RowSize(args.in[2]);
  ForEach(args.pool, RowCount(out), h * k, [&](int64_t t) {
    CombineRow(args.in[0].as<const Y>(), args.in[0].stride(0), position + t * k,
               RowOf<const float>(args.in[2], t), k, h, RowOf<float>(out, t));
  });
}

template <typename Y>
constexpr KernelRow kRow = {
    ir::OpKind::kMoeCombine, Isa::kPortable, kTypes<Y, int32_t, float, float>,
    MoeCombine<Y>,           nullptr,        0};
constexpr KernelRow kRows[] = {kRow<float>, kRow<BF16>};

}  // namespace

std::span<const KernelRow> MoeCombineRows() { return kRows; }

}  // namespace moxie::cpu
