// Shapes whose dimensions may be symbolic in the few sizes that vary between steps.
//
// One graph serves every token bucket: a dimension is `factor x variable`, and a bucket is a
// binding of the variables (Extents). A product of two variables is not a dimension, so no value
// can have a side of T x T; the element count of a whole tensor may still be such a product (a
// block table is [S, W]).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "tensor/dtype.h"

namespace moxie::tensor {

enum class DimVar : uint8_t {
  kOne,     // a constant
  kTokens,  // T: tokens in the step
  kSeqs,    // S: sequence slots, max_num_seqs
  kRows,    // R: rows whose logits are wanted, at most S
  kWidth,   // W: blocks in a row of the block table, ceil(max_model_len / B)
  kBlocks,  // N: blocks in the KV pool
  kBounds,  // Q: S + 1, bounds of the sequences' rows
};
inline constexpr int kDimVars = 7;
// "", "T", "S", "R", "W", "N", "Q"
std::string_view Name(DimVar var);

// The value of each variable: a bucket's (when planning) or a step's (when running).
struct Extents {
  std::array<int64_t, kDimVars> value{1, 1, 1, 1, 1, 1, 1};
  int64_t& operator[](DimVar v) { return value[static_cast<size_t>(v)]; }
  int64_t operator[](DimVar v) const { return value[static_cast<size_t>(v)]; }
};

struct Dim {
  int64_t factor = 0;
  DimVar var = DimVar::kOne;

  constexpr Dim() = default;
  constexpr Dim(int64_t f, DimVar v = DimVar::kOne)
      : factor(f), var(v) {}  // NOLINT: a size is a Dim
  int64_t At(const Extents& e) const { return factor * e[var]; }
  bool constant() const { return var == DimVar::kOne; }
  bool operator==(const Dim&) const = default;
};

inline constexpr Dim kT{1, DimVar::kTokens};
inline constexpr Dim kS{1, DimVar::kSeqs};
inline constexpr Dim kR{1, DimVar::kRows};
inline constexpr Dim kW{1, DimVar::kWidth};
inline constexpr Dim kN{1, DimVar::kBlocks};
inline constexpr Dim kQ{1, DimVar::kBounds};

// "T", "2T", "576"
std::string ToString(Dim dim);

inline constexpr int kMaxRank = 6;

// Up to kMaxRank dimensions, outermost first, by value.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims);
  explicit Shape(std::span<const Dim> dims);

  int rank() const { return rank_; }
  Dim operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  Dim& operator[](int i) { return dims_[static_cast<size_t>(i)]; }
  Dim back() const { return dims_[static_cast<size_t>(rank_ - 1)]; }
  std::span<const Dim> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  // REQUIRES rank() < kMaxRank.
  void Append(Dim dim) { dims_[static_cast<size_t>(rank_++)] = dim; }

  int64_t Elements(const Extents& e) const;
  bool operator==(const Shape& other) const;

 private:
  std::array<Dim, kMaxRank> dims_{};
  int rank_ = 0;
};

// "[T,576]"
std::string ToString(const Shape& shape);

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  int64_t Bytes(const Extents& e) const { return shape.Elements(e) * ByteSize(dtype); }
  bool operator==(const TensorType&) const = default;
};

// "bf16[T,576]"
std::string ToString(const TensorType& type);

}  // namespace moxie::tensor
