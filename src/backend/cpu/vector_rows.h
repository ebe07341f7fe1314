// Kernels of one row on vectors of kBits bits (256: AVX2, 512: AVX-512), defined in vector_rows.inc
// and instantiated by the ISA files. Plain types only. X and Y are float, or uint16_t for bf16.
#pragma once

#include <cstdint>

namespace moxie::cpu {

// y[i] = w[i] * (x[i] / sqrt(mean(x^2) + eps)), i < n.
template <int kBits, typename X, typename Y>
void RmsNormRow(const X* x, const float* w, float eps, int64_t n, Y* y);

// One head: pairs (x[i], x[i + half]) turned by (cos[i], sin[i]), i < half.
template <int kBits, typename X, typename Y>
void RopeHead(const X* x, const float* cos, const float* sin, int64_t half, Y* y);

// y[i] = silu(gate[i]) * up[i].
template <int kBits, typename X, typename Y>
void SiluMulRow(const X* gate, const X* up, int64_t n, Y* y);

// y[i] = a[i] + b[i].
template <int kBits>
void AddRow(const float* a, const float* b, int64_t n, float* y);

// sum[i] = sum_j weights[j] * y[position[j] * stride + i], j < k in order.
template <int kBits, typename Y>
void CombineRow(const Y* y, int64_t stride, const int32_t* position, const float* weights,
                int64_t k, int64_t n, float* sum);

}  // namespace moxie::cpu
