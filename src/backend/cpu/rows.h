// What the kernel files share: element types, loops over rows on the pool, and the list of rows by
// file. Not for ISA files, which get plain pointers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "backend/cpu/kernel.h"
#include "backend/cpu/vector_rows.h"

namespace moxie::cpu {

// An element of a bf16 tensor.
struct BF16 {
  uint16_t bits;
};

inline float ToFloat(float v) { return v; }
inline float ToFloat(BF16 v) { return std::bit_cast<float>(static_cast<uint32_t>(v.bits) << 16); }
// An element pointer as ISA files know it.
inline const float* Raw(const float* p) { return p; }
inline float* Raw(float* p) { return p; }
inline const uint16_t* Raw(const BF16* p) { return &p->bits; }
inline uint16_t* Raw(BF16* p) { return &p->bits; }

template <typename T>
inline T FromFloat(float v) {
  if constexpr (std::is_same_v<T, BF16>) {
    return {tensor::F32ToBF16(v)};
  } else {
    return v;
  }
}

template <typename T>
inline constexpr DType kDTypeOf = std::is_same_v<T, float>     ? DType::kF32
                                  : std::is_same_v<T, BF16>    ? DType::kBF16
                                  : std::is_same_v<T, int64_t> ? DType::kI64
                                                               : DType::kI32;

// The ISA of kernels on vectors of kBits bits (vector_rows.h).
template <int kBits>
inline constexpr Isa kIsaOf = kBits == 512 ? Isa::kAvx512 : Isa::kAvx2;

// KernelRow::dtypes of C++ element types: kTypes<BF16, BF16, float> is (bf16, bf16) -> f32.
template <typename... T>
inline constexpr DType kTypes[] = {kDTypeOf<T>...};

// Start of the i-th row (all dimensions but the last, flattened) of a plain view.
template <typename T>
T* RowOf(const TensorView& view, int64_t i) {
  int64_t offset = 0;
  for (int d = view.rank - 2; d >= 0; --d) {
    offset += i % view.size(d) * view.stride(d);
    i /= view.size(d);
  }
  return view.as<T>() + offset;
}
inline int64_t RowSize(const TensorView& view) { return view.size(view.rank - 1); }
inline int64_t RowCount(const TensorView& view) {
  int64_t n = 1;
  for (int d = 0; d + 1 < view.rank; ++d) n *= view.size(d);
  return n;
}

// Calls fn(i) for i in [0, n), split over the pool; small work stays on the calling thread.
template <typename F>
void ForEach(ThreadPool& pool, int64_t n, int64_t elements_each, F&& fn) {
  constexpr int64_t kWorthForking = 1 << 13;
  if (pool.size() == 1 || n < 2 || n * elements_each < kWorthForking) {
    for (int64_t i = 0; i < n; ++i) fn(i);
    return;
  }
  pool.Run([&](int member) {
    const Range r = SplitRange(n, pool.size(), member);
    for (int64_t i = r.begin; i < r.end; ++i) fn(i);
  });
}

// expert_sort on plain arrays (router.cc): a stable counting sort of `choices` ids in [0, experts).
void SortByExpert(const int32_t* ids, int64_t choices, int64_t experts, int32_t* order,
                  int32_t* position, int32_t* offsets);

// One token of moe_combine: sum[i] = sum_j weights[j] * y[position[j], i], j in order. y [..,
// stride].
template <typename Y>
inline void CombineReference(const Y* y, int64_t stride, const int32_t* position,
                             const float* weights, int64_t k, int64_t h, float* sum) {
  std::fill(sum, sum + h, 0.0f);
  for (int64_t j = 0; j < k; ++j) {
    const Y* row = y + position[j] * stride;
    for (int64_t i = 0; i < h; ++i) sum[i] += weights[j] * ToFloat(row[i]);
  }
}

// Rows of each kernel file.
std::span<const KernelRow> CopyRows();
std::span<const KernelRow> ElementwiseRows();
std::span<const KernelRow> EmbeddingRows();
std::span<const KernelRow> RmsNormRows();
std::span<const KernelRow> MatmulRows();
std::span<const KernelRow> RopeRows();
std::span<const KernelRow> KvWriteRows();
std::span<const KernelRow> PagedAttentionRows();
std::span<const KernelRow> FastPagedAttentionRows();
std::span<const KernelRow> RouterRows();
std::span<const KernelRow> MoeCombineRows();
std::span<const KernelRow> MoeFfnRows();

}  // namespace moxie::cpu
