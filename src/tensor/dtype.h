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

// Conversions are always inlined, so that a file built for a newer ISA leaves no copy for others to
// call.
//
// bfloat16 is the upper half of a float32; rounding is to nearest even, NaN stays NaN.
[[gnu::always_inline]] inline float BF16ToF32(uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
}
[[gnu::always_inline]] inline uint16_t F32ToBF16(float value) {
  const uint32_t u = __builtin_bit_cast(uint32_t, value);
  const bool nan = (u & 0x7FFFFFFF) > 0x7F800000;
  return static_cast<uint16_t>(nan ? (u >> 16) | 0x40 : (u + 0x7FFF + ((u >> 16) & 1)) >> 16);
}
// IEEE half precision, subnormals included: the fields move to their places in a float32, and a
// multiply by 2^112 corrects the exponent's bias, exactly.
[[gnu::always_inline]] inline float F16ToF32(uint16_t bits) {
  const uint32_t magnitude = bits & 0x7FFF;
  const float scaled = __builtin_bit_cast(float, magnitude << 13) * 0x1p112f;
  const uint32_t special = magnitude >= 0x7C00 ? 0x7F800000 : 0;  // infinities and NaNs
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, scaled) | special | sign);
}

}  // namespace moxie::tensor
