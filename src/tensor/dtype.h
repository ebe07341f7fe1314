// Element types: one row a type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace moxie::tensor {

enum class DType : uint8_t { kF32, kF16, kBF16, kI64, kI32, kU8, kI8, kBool };

struct DTypeInfo {
  DType dtype;
  std::string_view name;         // in IR text and messages: "bf16"
  std::string_view safetensors;  // in a safetensors header: "BF16"
  int bytes;
  bool floating;
};

const DTypeInfo& Info(DType dtype);
inline int64_t ByteSize(DType dtype) { return Info(dtype).bytes; }
inline std::string_view Name(DType dtype) { return Info(dtype).name; }
// By `name` or by `safetensors` spelling.
std::optional<DType> ParseDType(std::string_view text);

// bfloat16 is the upper half of a float32; rounding is to nearest even, NaN stays NaN.
float BF16ToF32(uint16_t bits);
uint16_t F32ToBF16(float value);
// IEEE half precision, subnormals included.
float F16ToF32(uint16_t bits);

}  // namespace moxie::tensor
