// embedding: y[t] = table[ids[t]], f32.   gather_rows: y[r] = x[rows[r]].
//   ids i32[T], table [V,H] plain or in panels of 32 -> f32 [T,H];   x [T,H], rows i32[R] -> [R,H]
// Cost: reads and writes T*H (R*H) elements; from panels, a row's pairs are a cache line or two
// apart, so each costs 64 bytes.
#include <cstring>

#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

template <typename W>
void Embedding(const KernelArgs& args) {
  const TensorView& table = args.in[1];
  const TensorView& y = args.out[0];
  const int32_t* ids = args.in[0].as<int32_t>();
  const int64_t h = RowSize(y);
  const bool panels = table.packing == tensor::Packing::kPanel32;
  const int64_t pairs = (h + 1) / 2;
  ForEach(args.pool, RowCount(y), h, [&](int64_t t) {
    float* out = RowOf<float>(y, t);
    const int64_t n = ids[t];
    if (!panels) {
      const W* row = RowOf<const W>(table, n);
      for (int64_t j = 0; j < h; ++j) out[j] = ToFloat(row[j]);
      return;
    }
    const W* row = table.as<W>() + n / 32 * pairs * 64 + n % 32 * 2;
    for (int64_t j = 0; j < h; ++j) out[j] = ToFloat(row[j / 2 * 64 + j % 2]);
  });
}

template <typename T>
void GatherRows(const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const int32_t* rows = args.in[1].as<int32_t>();
  const size_t bytes = static_cast<size_t>(RowSize(y)) * sizeof(T);
  ForEach(args.pool, RowCount(y), RowSize(y), [&](int64_t r) {
    std::memcpy(RowOf<T>(y, r), RowOf<const T>(args.in[0], rows[r]), bytes);
  });
}

using ir::OpKind;
constexpr KernelRow kRows[] = {
    {OpKind::kEmbedding, Isa::kPortable, kTypes<int32_t, float, float>, Embedding<float>, nullptr,
     0},
    {OpKind::kEmbedding, Isa::kPortable, kTypes<int32_t, float, float>, Embedding<float>, nullptr,
     0b10},
    {OpKind::kEmbedding, Isa::kPortable, kTypes<int32_t, BF16, float>, Embedding<BF16>, nullptr, 0},
    {OpKind::kEmbedding, Isa::kPortable, kTypes<int32_t, BF16, float>, Embedding<BF16>, nullptr,
     0b10},
    {OpKind::kGatherRows, Isa::kPortable, kTypes<float, int32_t, float>, GatherRows<float>, nullptr,
     0},
    {OpKind::kGatherRows, Isa::kPortable, kTypes<BF16, int32_t, BF16>, GatherRows<BF16>, nullptr,
     0},
};

}  // namespace

std::span<const KernelRow> EmbeddingRows() { return kRows; }

}  // namespace moxie::cpu
