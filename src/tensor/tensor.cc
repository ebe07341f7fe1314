#include <cassert>

#include "base/status.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/view.h"

namespace moxie::tensor {
namespace {

constexpr DTypeInfo kDTypes[] = {
    {DType::kF32, "f32", "F32", 4, true},    {DType::kF16, "f16", "F16", 2, true},
    {DType::kBF16, "bf16", "BF16", 2, true}, {DType::kI64, "i64", "I64", 8, false},
    {DType::kI32, "i32", "I32", 4, false},   {DType::kU8, "u8", "U8", 1, false},
    {DType::kI8, "i8", "I8", 1, false},      {DType::kBool, "bool", "BOOL", 1, false},
};

constexpr std::string_view kVarNames[kDimVars] = {"", "T", "S", "R", "W", "N", "Q"};

}  // namespace

const DTypeInfo& Info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

std::optional<DType> ParseDType(std::string_view text) {
  for (const DTypeInfo& row : kDTypes) {
    if (row.name == text || row.safetensors == text) return row.dtype;
  }
  return std::nullopt;
}

std::string_view Name(DimVar var) { return kVarNames[static_cast<size_t>(var)]; }

std::string ToString(Dim dim) {
  if (dim.constant()) return StrCat(dim.factor);
  return dim.factor == 1 ? std::string(Name(dim.var)) : StrCat(dim.factor, Name(dim.var));
}

Shape::Shape(std::initializer_list<Dim> dims)
    : Shape(std::span<const Dim>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const Dim> dims) {
  assert(dims.size() <= kMaxRank);
  for (Dim d : dims) Append(d);
}

int64_t Shape::Elements(const Extents& e) const {
  int64_t n = 1;
  for (Dim d : dims()) n *= d.At(e);
  return n;
}

bool Shape::operator==(const Shape& other) const {
  if (rank_ != other.rank_) return false;
  for (int i = 0; i < rank_; ++i) {
    if (!((*this)[i] == other[i])) return false;
  }
  return true;
}

std::string ToString(const Shape& shape) {
  std::string out = "[";
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) out += ',';
    out += ToString(shape[i]);
  }
  return out + "]";
}

std::string ToString(const TensorType& type) {
  return StrCat(Name(type.dtype), ToString(type.shape));
}

TensorView MakeView(void* data, DType dtype, std::initializer_list<int64_t> sizes,
                    Packing packing) {
  TensorView view;
  view.data = static_cast<std::byte*>(data);
  view.dtype = dtype;
  view.packing = packing;
  for (int64_t s : sizes) view.sizes[static_cast<size_t>(view.rank++)] = s;
  int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.strides[static_cast<size_t>(i)] = stride;
    stride *= view.sizes[static_cast<size_t>(i)];
  }
  return view;
}

}  // namespace moxie::tensor
