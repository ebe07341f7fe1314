// Runs kernel rows on small tensors: every row of an op that this machine can run, one after
// another, each against loops in double precision that the test writes out.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/kernel.h"
#include "base/status.h"

namespace moxie::cpu {

using ir::AttrKey;
using ir::OpKind;

// Owns its elements between guard bytes, so that a write out of bounds is seen by Intact().
class Tensor {
 public:
  Tensor(DType dtype, std::vector<int64_t> sizes,
         tensor::Packing packing = tensor::Packing::kPlain);

  // A tensor holding `values` (row-major, logical order) rounded to its dtype.
  static Tensor Of(DType dtype, std::vector<int64_t> sizes, const std::vector<float>& values,
                   tensor::Packing packing = tensor::Packing::kPlain);
  static Tensor OfInts(std::vector<int64_t> sizes, const std::vector<int32_t>& values);
  static Tensor OfLongs(std::vector<int64_t> sizes, const std::vector<int64_t>& values);

  const TensorView& view() const { return view_; }
  TensorView& view() { return view_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  // The elements in logical order, as the kernel sees them (rounded to the dtype).
  std::vector<double> Values() const;
  std::vector<int32_t> Ints() const;
  // The raw bytes of the elements: for comparisons to the bit.
  std::string Bits() const;
  bool Intact() const;

 private:
  std::vector<int64_t> sizes_;
  std::vector<std::byte> bytes_;
  size_t offset_ = 0;
  size_t used_ = 0;
  TensorView view_;
};

// `n` values, normally distributed with deviation `scale`.
std::vector<float> Random(int64_t n, uint32_t seed, float scale = 1.0f);

// Rows of `op` that this machine (and MOXIE_ISA) can run; never empty.
std::vector<const KernelRow*> RowsOf(OpKind op);
// "matmul avx2 (f32, bf16) -> f32"
std::string Describe(const KernelRow& row);

inline DType Result0(const KernelRow& row) { return row.dtypes.back(); }
// Packing that a row wants of operand i.
inline tensor::Packing PackingOf(const KernelRow& row, int i) {
  return (row.panel_operands >> i & 1) ? tensor::Packing::kPanel32 : tensor::Packing::kPlain;
}

// Calls the row on a pool of `threads`, with exactly the workspace that it asks for.
void RunRow(const KernelRow& row, const std::vector<const Tensor*>& in,
            const std::vector<Tensor*>& out, const ir::Attrs& attrs, int threads = 2);

// Largest |a - b| allowed: rounding of a result of dtype `to`, plus the error of a computation
// whose terms have the sum of magnitudes `magnitude` and are `terms` many, in f32.
double Tolerance(DType to, double expected, double magnitude, int64_t terms);

}  // namespace moxie::cpu
