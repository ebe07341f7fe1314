// TensorView: what a kernel sees. A pointer, a type with concrete sizes, and how the elements lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace moxie::tensor {

// How a weight's elements lie in memory. Activations are always kPlain.
enum class Packing : uint8_t {
  // Row-major, last dimension contiguous; rows may be further apart than their length (strides).
  kPlain,
  // For [.., N, K] matrices that are multiplied as x * W^T: panels of 32 rows n, and inside a panel
  // the
  // pairs of k in order: element (n, k) of a matrix lies at
  //   ((n / 32) * ceil(K / 2) + k / 2) * 64 + (n % 32) * 2 + k % 2
  // elements from its start. N is padded to 32 and K to 2 with zeros. One AVX-512 bf16 dot product
  // instruction takes 16 rows x 1 pair; lanes run along N, so every output sums its products in the
  // order of k, whatever the number of rows of x and the instruction set (batch invariance).
  kPanel32,
};

// Elements that a packed [N, K] matrix occupies.
inline int64_t PackedElements(Packing packing, int64_t n, int64_t k) {
  return packing == Packing::kPlain ? n * k : (n + 31) / 32 * 32 * ((k + 1) / 2 * 2);
}

// Not owned; trivially copyable. `sizes` are logical; `strides` (in elements) hold for kPlain only.
struct TensorView {
  std::byte* data = nullptr;
  DType dtype = DType::kF32;
  Packing packing = Packing::kPlain;
  int rank = 0;
  std::array<int64_t, kMaxRank> sizes{};
  std::array<int64_t, kMaxRank> strides{};

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  int64_t size(int i) const { return sizes[static_cast<size_t>(i)]; }
  int64_t stride(int i) const { return strides[static_cast<size_t>(i)]; }
  int64_t elements() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= sizes[static_cast<size_t>(i)];
    return n;
  }
};

// A contiguous row-major view.
TensorView MakeView(void* data, DType dtype, std::initializer_list<int64_t> sizes,
                    Packing packing = Packing::kPlain);

}  // namespace moxie::tensor
