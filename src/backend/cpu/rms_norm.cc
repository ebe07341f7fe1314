// rms_norm: y[t,i] = w[i] * (x[t,i] / sqrt(mean_i(x[t,i]^2) + eps));  x [T,H], w f32[H] -> [T,H]
// Cost: reads x twice (the second time from cache), writes y once; 4 flops an element.
#include <cmath>

#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

template <typename In, typename Out>
void RmsNorm(const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const float* w = args.in[1].as<float>();
  const float eps = static_cast<float>(args.attrs.Double(ir::AttrKey::kEps));
  const int64_t h = RowSize(y);
  ForEach(args.pool, RowCount(y), h, [&](int64_t t) {
    const In* x = RowOf<const In>(args.in[0], t);
    Out* out = RowOf<Out>(y, t);
    float sum = 0;
    for (int64_t i = 0; i < h; ++i) sum += ToFloat(x[i]) * ToFloat(x[i]);
    const float scale = 1.0f / std::sqrt(sum / static_cast<float>(h) + eps);
    for (int64_t i = 0; i < h; ++i) out[i] = FromFloat<Out>(w[i] * (ToFloat(x[i]) * scale));
  });
}

template <int kBits, typename In, typename Out>
void Fast(const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const float eps = static_cast<float>(args.attrs.Double(ir::AttrKey::kEps));
  ForEach(args.pool, RowCount(y), RowSize(y), [&](int64_t t) {
    RmsNormRow<kBits>(Raw(RowOf<const In>(args.in[0], t)), args.in[1].as<float>(), eps, RowSize(y),
                      Raw(RowOf<Out>(y, t)));
  });
}

template <typename In, typename Out>
constexpr KernelRow kReference = {ir::OpKind::kRmsNorm, Isa::kPortable, kTypes<In, float, Out>,
                                  RmsNorm<In, Out>,     nullptr,        0};
template <int kBits, typename In, typename Out>
constexpr KernelRow kFast = {ir::OpKind::kRmsNorm, kIsaOf<kBits>, kTypes<In, float, Out>,
                             Fast<kBits, In, Out>, nullptr,       0};
#define MOXIE_ROWS(In, Out) kReference<In, Out>, kFast<256, In, Out>, kFast<512, In, Out>
constexpr KernelRow kRows[] = {MOXIE_ROWS(float, float), MOXIE_ROWS(float, BF16),
                               MOXIE_ROWS(BF16, BF16), MOXIE_ROWS(BF16, float)};
#undef MOXIE_ROWS

}  // namespace

std::span<const KernelRow> RmsNormRows() { return kRows; }

}  // namespace moxie::cpu
