// Vectors of 8 floats for AVX2 files: the names of simd_avx512.h, in an unnamed namespace for the
// same reason.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace moxie::cpu {
namespace {

inline constexpr int kBits = 256;
inline constexpr int kLanes = 8;
inline constexpr int kRegisters = 16;
using V = __m256;

inline V Zero() { return _mm256_setzero_ps(); }
inline V Set1(float v) { return _mm256_set1_ps(v); }
inline V Add(V a, V b) { return _mm256_add_ps(a, b); }
inline V Sub(V a, V b) { return _mm256_sub_ps(a, b); }
inline V Mul(V a, V b) { return _mm256_mul_ps(a, b); }
inline V Div(V a, V b) { return _mm256_div_ps(a, b); }
inline V MulAdd(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }  // a * b + c
// The second operand where either is NaN.
inline V Max(V a, V b) { return _mm256_max_ps(a, b); }
inline V Min(V a, V b) { return _mm256_min_ps(a, b); }

// All ones in the first n lanes.
inline __m256i First(int64_t n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n < 8 ? n : 8)), lane);
}

// Whole vectors.
inline V Load(const float* p) { return _mm256_loadu_ps(p); }
inline void Store(float* p, V v) { _mm256_storeu_ps(p, v); }
inline V Widen(__m128i bits) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
// The first and the second elements of 8 pairs of bf16.
inline V LoadEven(const char* p) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), 16));
}
inline V LoadOdd(const char* p) {
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xFFFF0000));
  return _mm256_castsi256_ps(
      _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), high));
}
// The 64 bits of a pair of floats in all lanes.
inline V SetPair(double pair) { return _mm256_castpd_ps(_mm256_set1_pd(pair)); }
// To bf16, nearest even; NaN stays NaN.
inline __m128i Narrow(V v) {
  const __m256i u = _mm256_castps_si256(v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
  const __m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
  const __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
  const __m256i bits =
      _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(nan)), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
}
inline V Load(const uint16_t* p) {
  return Widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void Store(uint16_t* p, V v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), Narrow(v)); }

// The first n < 8 elements; the other lanes are zero.
inline V LoadFirst(const float* p, int64_t n) { return _mm256_maskload_ps(p, First(n)); }
inline V LoadFirst(const uint16_t* p, int64_t n) {
  alignas(16) uint16_t all[8] = {};
  for (int64_t i = 0; i < n; ++i) all[i] = p[i];
  return Load(all);
}
inline void StoreFirst(float* p, V v, int64_t n) { _mm256_maskstore_ps(p, First(n), v); }
inline void StoreFirst(uint16_t* p, V v, int64_t n) {
  alignas(16) uint16_t all[8];
  Store(all, v);
  for (int64_t i = 0; i < n; ++i) p[i] = all[i];
}

// Lanes in a fixed tree.
inline float SumLanes(V v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float MaxLanes(V v) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

// 2^n * v for integral n in [-252, 254], in two steps so that neither exponent overflows.
inline V Scale2(V v, V n) {
  const __m256i i = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(i, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i a = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const __m256i b = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(i, half), bias), 23);
  return Mul(Mul(v, _mm256_castsi256_ps(a)), _mm256_castsi256_ps(b));
}
inline V Round(V v) { return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

// v in lanes [first, last), `other` in the rest; the bounds may lie outside of the vector.
inline V Between(V v, int64_t first, int64_t last, V other) {
  const __m256i before = First(first < 0 ? 0 : first), until = First(last < 0 ? 0 : last);
  return _mm256_blendv_ps(other, v, _mm256_castsi256_ps(_mm256_andnot_si256(before, until)));
}

}  // namespace
}  // namespace moxie::cpu
