// Vectors of 16 floats for AVX-512 files. Everything is in an unnamed namespace, so that no other
// file can be linked with a copy compiled for AVX-512. The same names as simd_avx2.h.
#pragma once

// g++ 12 takes the undefined pass-through operands in its own header for mistakes (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <cstddef>
#include <cstdint>

namespace moxie::cpu {
namespace {

inline constexpr int kBits = 512;
inline constexpr int kLanes = 16;
inline constexpr int kRegisters = 32;
using V = __m512;

inline V Zero() { return _mm512_setzero_ps(); }
inline V Set1(float v) { return _mm512_set1_ps(v); }
inline V Add(V a, V b) { return _mm512_add_ps(a, b); }
inline V Sub(V a, V b) { return _mm512_sub_ps(a, b); }
inline V Mul(V a, V b) { return _mm512_mul_ps(a, b); }
inline V Div(V a, V b) { return _mm512_div_ps(a, b); }
inline V MulAdd(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }  // a * b + c
// The second operand where either is NaN.
inline V Max(V a, V b) { return _mm512_max_ps(a, b); }
inline V Min(V a, V b) { return _mm512_min_ps(a, b); }

inline __mmask16 First(int64_t n) {
  return n >= 16 ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1u << n) - 1);
}

// Whole vectors.
inline V Load(const float* p) { return _mm512_loadu_ps(p); }
inline void Store(float* p, V v) { _mm512_storeu_ps(p, v); }
inline V Widen(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
// The first and the second elements of 16 pairs of bf16.
inline V LoadEven(const char* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16));
}
inline V LoadOdd(const char* p) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
  return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(p), high));
}
// The 64 bits of a pair of floats in all lanes.
inline V SetPair(double pair) { return _mm512_castpd_ps(_mm512_set1_pd(pair)); }
// To bf16, nearest even; NaN stays NaN.
inline __m256i Narrow(V v) {
  const __m512i u = _mm512_castps_si512(v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __m512i quiet = _mm512_or_si512(u, _mm512_set1_epi32(0x400000));
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_blend_epi32(nan, rounded, quiet), 16));
}
inline V Load(const uint16_t* p) {
  return Widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline void Store(uint16_t* p, V v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), Narrow(v));
}

// The first n < 16 elements; the other lanes are zero.
inline V LoadFirst(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(First(n), p); }
inline V LoadFirst(const uint16_t* p, int64_t n) {
  return Widen(_mm256_maskz_loadu_epi16(First(n), p));
}
inline void StoreFirst(float* p, V v, int64_t n) { _mm512_mask_storeu_ps(p, First(n), v); }
inline void StoreFirst(uint16_t* p, V v, int64_t n) {
  _mm256_mask_storeu_epi16(p, First(n), Narrow(v));
}

// Lanes in a fixed tree.
inline float SumLanes(V v) { return _mm512_reduce_add_ps(v); }
inline float MaxLanes(V v) { return _mm512_reduce_max_ps(v); }

// 2^n * v for integral n: exact, saturating to 0 and infinity.
inline V Scale2(V v, V n) { return _mm512_scalef_ps(v, n); }
inline V Round(V v) {
  return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// v in lanes [first, last), `other` in the rest; the bounds may lie outside of the vector.
inline V Between(V v, int64_t first, int64_t last, V other) {
  const __mmask16 before = First(first < 0 ? 0 : first), until = First(last < 0 ? 0 : last);
  return _mm512_mask_blend_ps(static_cast<__mmask16>(until & ~before), other, v);
}

}  // namespace
}  // namespace moxie::cpu
