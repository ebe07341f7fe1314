// WeightLayout: how one weight lies in memory, chosen from all its consumers before planning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tensor/view.h"

namespace moxie::backend {

struct WeightLayout {
  tensor::Packing packing = tensor::Packing::kPlain;
  tensor::DType dtype = tensor::DType::kF32;  // as stored in memory

  // Bytes of one [leading.., N, K] tensor (or a vector, packing kPlain), `sizes` innermost last.
  int64_t Bytes(std::span<const int64_t> sizes) const;
  bool operator==(const WeightLayout&) const = default;
};

// "bf16 panels of 32", "f32 plain"
std::string ToString(const WeightLayout& layout);

// Packs rows [row_begin, row_end) of a row-major [N, K] source matrix into the packed matrix at
// `dst` (which is the start of the whole matrix), converting `source_dtype` (f32, f16, bf16) to the
// layout's. `src` points at row_begin. For kPanel32, row_begin must be a multiple of 32 and row_end
// a multiple of 32 or N; padding rows and the padding column are written as zeros. Threads may pack
// disjoint ranges at once.
void PackRows(const WeightLayout& layout, const std::byte* src, tensor::DType source_dtype,
              int64_t n, int64_t k, int64_t row_begin, int64_t row_end, std::byte* dst);

}  // namespace moxie::backend
