// rope_table: y[t] = scale * (cos(p f_0) .. cos(p f_{D/2-1}), sin(p f_0) ..), p = positions[t], f =
// inv_freq;
//   the angle is rounded to f32 before cos and sin, as transformers does. positions i32[T] -> f32
//   [T,D]
// rope: rotates each head's pairs (x_i, x_{i+D/2}) by the table's angles:
//   y_i = x_i cos_i - x_{i+D/2} sin_i;  y_{i+D/2} = x_{i+D/2} cos_i + x_i sin_i
//   x [T,heads*head_dim], table f32[T,D] -> [T,heads*head_dim]; elements of a head past D are
//   copied
// Cost: reads x and the table once, writes y once; 3 flops an element.
#include <cmath>

#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

void RopeTable(const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const int32_t* positions = args.in[0].as<int32_t>();
  const float* inv_freq = args.in[1].as<float>();
  const float scale = static_cast<float>(args.attrs.Double(ir::AttrKey::kScale, 1.0));
  const int64_t half = RowSize(y) / 2;
  ForEach(args.pool, RowCount(y), half * 16, [&](int64_t t) {
    float* out = RowOf<float>(y, t);
    const float p = static_cast<float>(positions[t]);
    for (int64_t i = 0; i < half; ++i) {
      const float angle = p * inv_freq[i];
      out[i] = std::cos(angle) * scale;
      out[half + i] = std::sin(angle) * scale;
    }
  });
}

template <typename In, typename Out>
void RotateReference(const In* x, const float* cos, const float* sin, int64_t half, Out* y) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = ToFloat(x[i]);
    const float b = ToFloat(x[i + half]);
    y[i] = FromFloat<Out>(a * cos[i] - b * sin[i]);
    y[i + half] = FromFloat<Out>(b * cos[i] + a * sin[i]);
  }
}

// kBits = 0: the reference.
template <int kBits, typename In, typename Out>
void Rope(const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& table = args.in[1];
  const TensorView& y = args.out[0];
  const int64_t heads = args.attrs.Int(ir::AttrKey::kHeads);
  const int64_t dim = args.attrs.Int(ir::AttrKey::kHeadDim);
  const int64_t half = RowSize(table) / 2;
  ForEach(args.pool, RowCount(y), heads * dim, [&](int64_t t) {
    const float* cos = RowOf<const float>(table, t);
    for (int64_t head = 0; head < heads; ++head) {
      const In* in = RowOf<const In>(x, t) + head * dim;
      Out* out = RowOf<Out>(y, t) + head * dim;
      if constexpr (kBits == 0) {
        RotateReference(in, cos, cos + half, half, out);
      } else {
        RopeHead<kBits>(Raw(in), cos, cos + half, half, Raw(out));
      }
      for (int64_t i = 2 * half; i < dim; ++i) out[i] = FromFloat<Out>(ToFloat(in[i]));
    }
  });
}

using ir::OpKind;
template <int kBits, typename In, typename Out>
constexpr KernelRow kRope = {OpKind::kRope,
                             kBits == 0 ? Isa::kPortable : kIsaOf<kBits>,
                             kTypes<In, float, Out>,
                             Rope<kBits, In, Out>,
                             nullptr,
                             0};
#define MOXIE_ROWS(In, Out) kRope<0, In, Out>, kRope<256, In, Out>, kRope<512, In, Out>
constexpr KernelRow kRows[] = {
    {OpKind::kRopeTable, Isa::kPortable, kTypes<int32_t, float, float>, RopeTable, nullptr, 0},
    MOXIE_ROWS(float, float),
    MOXIE_ROWS(float, BF16),
    MOXIE_ROWS(BF16, BF16),
    MOXIE_ROWS(BF16, float),
};
#undef MOXIE_ROWS

}  // namespace

std::span<const KernelRow> RopeRows() { return kRows; }

}  // namespace moxie::cpu
