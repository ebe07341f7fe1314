// Interleaving rows of 32-bit elements (pairs of bf16): how rows become panels and tiles. Not for
// ISA files.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace moxie::cpu {

// (rows[0][i], .., rows[3][i]) to out + i * stride, for i < n; `stride` in bytes.
inline void InterleaveFour(const std::byte* const rows[4], int64_t n, std::byte* out,
                           int64_t stride) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    __m128i r[4];
    for (int j = 0; j < 4; ++j)
      r[j] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[j] + 4 * i));
    const __m128i low01 = _mm_unpacklo_epi32(r[0], r[1]), low23 = _mm_unpacklo_epi32(r[2], r[3]);
    const __m128i high01 = _mm_unpackhi_epi32(r[0], r[1]), high23 = _mm_unpackhi_epi32(r[2], r[3]);
    const __m128i columns[4] = {_mm_unpacklo_epi64(low01, low23), _mm_unpackhi_epi64(low01, low23),
                                _mm_unpacklo_epi64(high01, high23),
                                _mm_unpackhi_epi64(high01, high23)};
    for (int j = 0; j < 4; ++j) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (i + j) * stride), columns[j]);
    }
  }
  for (; i < n; ++i) {
    for (int j = 0; j < 4; ++j) std::memcpy(out + i * stride + 4 * j, rows[j] + 4 * i, 4);
  }
}

}  // namespace moxie::cpu
