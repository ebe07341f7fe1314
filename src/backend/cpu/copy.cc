// copy: y[i] = x[i] for any strides of x.   cast: y[i] = round(x[i]), to nearest even.
// view_write: y = x, then w[i] = v[i], where w is a view of y of any strides; only the latter when
// y is x. Cost: reads x once, writes y once; no flops.
#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

// A copy is where a view becomes contiguous, so even the last dimension may have a stride.
template <typename In, typename Out>
void CopyElements(ThreadPool& pool, const TensorView& x, const TensorView& y) {
  if (x.elements() == 0) return;
  const int64_t n = RowSize(x);
  const int64_t step = x.stride(x.rank - 1), out_step = y.stride(y.rank - 1);
  ForEach(pool, RowCount(x), n, [&](int64_t i) {
    const In* in = RowOf<const In>(x, i);
    Out* out = RowOf<Out>(y, i);
    for (int64_t j = 0; j < n; ++j) {
      if constexpr (std::is_same_v<In, Out>) {
        out[j * out_step] = in[j * step];
      } else {
        out[j * out_step] = FromFloat<Out>(ToFloat(in[j * step]));
      }
    }
  });
}

template <typename In, typename Out>
void Copy(const KernelArgs& args) {
  CopyElements<In, Out>(args.pool, args.in[0], args.out[0]);
}

// out: the result, then the view of it that operand 1 goes to.
template <typename T>
void ViewWrite(const KernelArgs& args) {
  if (args.out[0].data != args.in[0].data) {
    CopyElements<T, T>(args.pool, args.in[0], args.out[0]);
  }
  CopyElements<T, T>(args.pool, args.in[1], args.out[1]);
}

using ir::OpKind;
template <typename T>
constexpr KernelRow kViewWrite = {OpKind::kViewWrite, Isa::kPortable, kTypes<T, T, T>,
                                  ViewWrite<T>,       nullptr,        0};

constexpr KernelRow kRows[] = {
    kViewWrite<float>,
    kViewWrite<BF16>,
    kViewWrite<int32_t>,
    kViewWrite<int64_t>,
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
