// copy: y[i] = x[i] for any strides of x.   cast: y[i] = round(x[i]), to nearest even.
// Cost: reads x once, writes y once; no flops.
#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

// A copy is where a view becomes contiguous, so even the last dimension may have a stride.
template <typename In, typename Out>
void Copy(const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  if (x.elements() == 0) return;
  const int64_t n = RowSize(x);
  const int64_t step = x.stride(x.rank - 1);
  ForEach(args.pool, RowCount(x), n, [&](int64_t i) {
    const In* in = RowOf<const In>(x, i);
    Out* out = RowOf<Out>(y, i);
    for (int64_t j = 0; j < n; ++j) {
      if constexpr (std::is_same_v<In, Out>) {
        out[j] = in[j * step];
      } else {
        out[j] = FromFloat<Out>(ToFloat(in[j * step]));
      }
    }
  });
}

using ir::OpKind;
constexpr KernelRow kRows[] = {
    {OpKind::kCopy, Isa::kPortable, kTypes<float, float>, Copy<float, float>, nullptr, 0},
    {OpKind::kCopy, Isa::kPortable, kTypes<BF16, BF16>, Copy<BF16, BF16>, nullptr, 0},
    {OpKind::kCopy, Isa::kPortable, kTypes<int32_t, int32_t>, Copy<int32_t, int32_t>, nullptr, 0},
    {OpKind::kCopy, Isa::kPortable, kTypes<int64_t, int64_t>, Copy<int64_t, int64_t>, nullptr, 0},
    {OpKind::kCast, Isa::kPortable, kTypes<float, float>, Copy<float, float>, nullptr, 0},
    {OpKind::kCast, Isa::kPortable, kTypes<BF16, BF16>, Copy<BF16, BF16>, nullptr, 0},
    {OpKind::kCast, Isa::kPortable, kTypes<float, BF16>, Copy<float, BF16>, nullptr, 0},
    {OpKind::kCast, Isa::kPortable, kTypes<BF16, float>, Copy<BF16, float>, nullptr, 0},
};

}  // namespace

std::span<const KernelRow> CopyRows() { return kRows; }

}  // namespace moxie::cpu
