// The softmax part of attention on vectors of kBits bits, defined in vector_attention.inc and
// instantiated by the ISA files. Plain types only.
#pragma once

#include <cstdint>

namespace moxie::cpu {

// Scores s[0, count) of one row and key tile, of which [first, last) are seen, become weights in
// place:
//   max = max_j scale * s[j];  s[j] = e^(scale * s[j] - max); 0 where not seen;  sum = sum_j s[j]
// The order of sums depends on j only. REQUIRES: first < last <= count, count % 32 == 0.
template <int kBits>
void SoftmaxTile(float* s, int64_t count, int64_t first, int64_t last, float scale, float* max,
                 float* sum);

// total[i] = total[i] * total_scale + tile[i] * tile_scale.
template <int kBits>
void MergeTile(float* total, float total_scale, const float* tile, float tile_scale, int64_t n);

// out[i] = total[i] * scale.
template <int kBits, typename Out>
void FinishRow(const float* total, float scale, int64_t n, Out* out);

// e^x of one number, as the tiles compute it.
template <int kBits>
float ExpOf(float x);

}  // namespace moxie::cpu
