#include "backend/weight_layout.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/status.h"

namespace moxie::backend {
namespace {

using tensor::DType;
using tensor::Packing;

constexpr int64_t kPanelRows = 32;

// Bits of one source element in each destination dtype.
template <DType kFrom, DType kTo>
struct Convert;
template <DType kSame>
struct Convert<kSame, kSame> {
  template <typename T>
  static T Apply(T bits) {
    return bits;
  }
};
template <>
struct Convert<DType::kF32, DType::kBF16> {
  static uint16_t Apply(float v) { return tensor::F32ToBF16(v); }
};
template <>
struct Convert<DType::kF16, DType::kBF16> {
  static uint16_t Apply(uint16_t v) { return tensor::F32ToBF16(tensor::F16ToF32(v)); }
};
template <>
struct Convert<DType::kBF16, DType::kF32> {
  static float Apply(uint16_t v) { return tensor::BF16ToF32(v); }
};
template <>
struct Convert<DType::kF16, DType::kF32> {
  static float Apply(uint16_t v) { return tensor::F16ToF32(v); }
};

template <DType kType>
using Element = std::conditional_t<kType == DType::kF32, float, uint16_t>;

// A source element; files do not align tensors.
template <typename T>
T LoadUnaligned(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}

struct Rows {
  const std::byte* src;  // at row `begin`
  int64_t n, k, begin, end;
  std::byte* dst;  // start of the matrix
};

template <DType kFrom, DType kTo>
void PackPlain(const Rows& r) {
  using From = Element<kFrom>;
  using To = Element<kTo>;
  const int64_t count = (r.end - r.begin) * r.k;
  To* out = reinterpret_cast<To*>(r.dst) + r.begin * r.k;
  if constexpr (kFrom == kTo) {
    if (count > 0) std::memcpy(out, r.src, static_cast<size_t>(count) * sizeof(To));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    out[i] = Convert<kFrom, kTo>::Apply(LoadUnaligned<From>(r.src + i * sizeof(From)));
  }
}

// Columns of a block of a panel: 32 rows of as many stay in the first cache, read and written,
// however wide the matrix.
constexpr int64_t kBlockCols = 64;

// `cols` elements of one row of a panel: pairs lie 64 elements apart.
template <DType kFrom, DType kTo>
void PackRow(const std::byte* in, int64_t cols, Element<kTo>* out) {
  using From = Element<kFrom>;
  constexpr auto kSize = static_cast<int64_t>(sizeof(From));
  int64_t k = 0;
  for (; k + 1 < cols; k += 2) {
    if constexpr (kFrom == kTo) {
      std::memcpy(out + k * 32, in + k * kSize, 2 * sizeof(From));
    } else {
      out[k * 32] = Convert<kFrom, kTo>::Apply(LoadUnaligned<From>(in + k * kSize));
      out[k * 32 + 1] = Convert<kFrom, kTo>::Apply(LoadUnaligned<From>(in + (k + 1) * kSize));
    }
  }
  if (k < cols) {
    out[k * 32] = Convert<kFrom, kTo>::Apply(LoadUnaligned<From>(in + k * kSize));
    out[k * 32 + 1] = {};
  }
}

// Rows from n0 to its panel's end, columns from k0 to its block's.
template <DType kFrom, DType kTo>
void PackBlock(const Rows& r, int64_t n0, int64_t k0) {
  const int64_t cols = std::min(kBlockCols, r.k - k0);
  auto* out = reinterpret_cast<Element<kTo>*>(r.dst) + n0 * ((r.k + 1) / 2 * 2) + k0 * kPanelRows;
  const std::byte* in =
      r.src + ((n0 - r.begin) * r.k + k0) * static_cast<int64_t>(sizeof(Element<kFrom>));
  const int64_t row_bytes = r.k * static_cast<int64_t>(sizeof(Element<kFrom>));
  for (int64_t row = 0; row < kPanelRows; ++row, out += 2) {
    if (n0 + row < r.end) {
      PackRow<kFrom, kTo>(in + row * row_bytes, cols, out);
    } else {  // padding of the last panel
      for (int64_t k = 0; k < cols; k += 2) out[k * 32] = out[k * 32 + 1] = {};
    }
  }
}

template <DType kFrom, DType kTo>
void PackPanels(const Rows& r) {
  for (int64_t n0 = r.begin; n0 < r.end; n0 += kPanelRows) {
    for (int64_t k0 = 0; k0 < r.k; k0 += kBlockCols) PackBlock<kFrom, kTo>(r, n0, k0);
  }
}

using PackFn = void (*)(const Rows&);
struct Packer {
  DType from, to;
  PackFn plain, panels;
};
constexpr Packer kPackers[] = {
    {DType::kF32, DType::kF32, PackPlain<DType::kF32, DType::kF32>,
     PackPanels<DType::kF32, DType::kF32>},
    {DType::kF32, DType::kBF16, PackPlain<DType::kF32, DType::kBF16>,
     PackPanels<DType::kF32, DType::kBF16>},
    {DType::kF16, DType::kF32, PackPlain<DType::kF16, DType::kF32>,
     PackPanels<DType::kF16, DType::kF32>},
    {DType::kF16, DType::kBF16, PackPlain<DType::kF16, DType::kBF16>,
     PackPanels<DType::kF16, DType::kBF16>},
    {DType::kBF16, DType::kF32, PackPlain<DType::kBF16, DType::kF32>,
     PackPanels<DType::kBF16, DType::kF32>},
    {DType::kBF16, DType::kBF16, PackPlain<DType::kBF16, DType::kBF16>,
     PackPanels<DType::kBF16, DType::kBF16>},
};

}  // namespace

int64_t WeightLayout::Bytes(std::span<const int64_t> sizes) const {
  int64_t elements = 1;
  const size_t matrix = packing == Packing::kPlain || sizes.size() < 2 ? 0 : 2;
  for (size_t i = 0; i + matrix < sizes.size(); ++i) elements *= sizes[i];
  if (matrix != 0) {
    elements *= tensor::PackedElements(packing, sizes[sizes.size() - 2], sizes.back());
  }
  return elements * tensor::ByteSize(dtype);
}

std::string ToString(const WeightLayout& layout) {
  const std::string_view how = layout.packing == Packing::kPlain ? " plain" : " panels of 32";
  return StrCat(tensor::Name(layout.dtype), how);
}

void PackRows(const WeightLayout& layout, const std::byte* src, DType source_dtype, int64_t n,
              int64_t k, int64_t row_begin, int64_t row_end, std::byte* dst) {
  const Rows rows{src, n, k, row_begin, row_end, dst};
  for (const Packer& packer : kPackers) {
    if (packer.from != source_dtype || packer.to != layout.dtype) continue;
    (layout.packing == Packing::kPlain ? packer.plain : packer.panels)(rows);
    return;
  }
  assert(false && "the load plan admits f32, f16 and bf16 sources into f32 and bf16 layouts only");
}

}  // namespace moxie::backend
