// moe_combine: out[t] = sum_j weights[t,j] * y[position[t * k + j]], j in order
//   y [kT,H] in expert order, position i32[kT], weights f32[T,k] -> f32 [T,H]
// Cost: reads y once, writes T*H floats; 2 flops an element of y.
#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

// kBits = 0: the reference.
template <int kBits, typename Y>
void MoeCombine(const KernelArgs& args) {
  const TensorView &y = args.in[0], &out = args.out[0];
  const int32_t* position = args.in[1].as<int32_t>();
  const int64_t h = RowSize(out), k = RowSize(args.in[2]);
  ForEach(args.pool, RowCount(out), h * k, [&](int64_t t) {
    const float* weights = RowOf<const float>(args.in[2], t);
    float* sum = RowOf<float>(out, t);
    if constexpr (kBits == 0) {
      CombineReference(y.as<const Y>(), y.stride(0), position + t * k, weights, k, h, sum);
    } else {
      CombineRow<kBits>(Raw(y.as<const Y>()), y.stride(0), position + t * k, weights, k, h, sum);
    }
  });
}

template <int kBits, typename Y>
constexpr KernelRow kRow = {ir::OpKind::kMoeCombine,
                            kBits == 0 ? Isa::kPortable : kIsaOf<kBits>,
                            kTypes<Y, int32_t, float, float>,
                            MoeCombine<kBits, Y>,
                            nullptr,
                            0};
constexpr KernelRow kRows[] = {kRow<0, float>, kRow<256, float>, kRow<512, float>,
                               kRow<0, BF16>,  kRow<256, BF16>,  kRow<512, BF16>};

}  // namespace

std::span<const KernelRow> MoeCombineRows() { return kRows; }

}  // namespace moxie::cpu
