// Products of rows with experts' matrices, on plain pointers: what matmul (one expert),
// grouped_matmul and moe_ffn share. Not for ISA files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/rows.h"
#include "backend/cpu/tile.h"

namespace moxie::cpu {

// y[i] = x[row(i)] * w[e]^T + bias for the rows i of each expert e: [offsets[e], offsets[e+1]).
struct Grouped {
  const std::byte* x = nullptr;  // [rows, K]
  int64_t x_stride = 0;          // elements between rows
  // Row of x that output row i reads: i when `order` is null, else order[i] / order_divisor.
  const int32_t* order = nullptr;
  int64_t order_divisor = 1;
  const std::byte* w = nullptr;      // [experts, N, K] in panels of 32
  const float* bias = nullptr;       // [N], or null
  std::byte* y = nullptr;            // [rows, N]
  int64_t y_stride = 0;              // elements between rows
  bool y_is_bf16 = false;            // else f32
  const int32_t* offsets = nullptr;  // [experts + 1]; null: one expert has all `rows`
  int64_t experts = 1;
  int64_t rows = 0, n = 0, k = 0;

  int64_t pairs() const { return (k + 1) / 2; }
  int64_t panels() const { return (n + 31) / 32; }
  int64_t begin(int64_t e) const { return offsets == nullptr ? 0 : offsets[e]; }
  int64_t end(int64_t e) const { return offsets == nullptr ? rows : offsets[e + 1]; }
  int64_t source_row(int64_t i) const { return order == nullptr ? i : order[i] / order_divisor; }
  int64_t expert_of(int64_t i) const {
    return offsets == nullptr ? 0
                              : std::upper_bound(offsets, offsets + experts + 1, i) - offsets - 1;
  }
};

// The 32 products of one row with one panel, each summed in the order of k.
template <typename X, typename W>
inline void PanelProduct(const X* x, const W* panel, int64_t k, float sum[32]) {
  std::fill(sum, sum + 32, 0.0f);
  for (int64_t i = 0; i < k; ++i) {
    const float xi = ToFloat(x[i]);
    const W* w = panel + i / 2 * 64 + i % 2;
    for (int64_t j = 0; j < 32; ++j) sum[j] += xi * ToFloat(w[2 * j]);
  }
}

// Row i of g's operand x, and panel p of the matrix of row i's expert.
template <typename X>
const X* SourceRow(const Grouped& g, int64_t i) {
  return reinterpret_cast<const X*>(g.x) + g.source_row(i) * g.x_stride;
}
template <typename W>
const W* PanelOf(const Grouped& g, int64_t i, int64_t p) {
  return reinterpret_cast<const W*>(g.w) + (g.expert_of(i) * g.panels() + p) * g.pairs() * 64;
}

// The reference: a panel of a row at a time.
template <typename X, typename W, typename Y>
void GroupedReference(const Grouped& g, ThreadPool& pool) {
  ForEach(pool, g.rows * g.panels(), g.k * 32, [&](int64_t unit) {
    const int64_t i = unit / g.panels(), p = unit % g.panels();
    float sum[32];
    PanelProduct(SourceRow<X>(g, i), PanelOf<W>(g, i, p), g.k, sum);
    Y* y = reinterpret_cast<Y*>(g.y) + i * g.y_stride + p * 32;
    for (int64_t j = 0; j < std::min<int64_t>(32, g.n - p * 32); ++j) {
      y[j] = FromFloat<Y>(g.bias == nullptr ? sum[j] : sum[j] + g.bias[p * 32 + j]);
    }
  });
}

// A fast kernel: how it wants rows of x packed, and what multiplies them.
struct TileKernel {
  TileFn tile;
  int tile_rows;         // at most, in one call of `tile`
  int64_t pair_bytes;    // of a packed pair of x
  int64_t weight_bytes;  // of an element of w
  // Packs rows of x (output rows `rows`) into [pairs, rows] pairs; an odd K gets a zero.
  void (*pack)(const Grouped& g, Range rows, std::byte* out);
};

template <typename X>
void PackF32Pairs(const Grouped& g, Range rows, std::byte* out);
void PackBf16Pairs(const Grouped& g, Range rows, std::byte* out);

// The fast kernels, by types of x and w.
inline constexpr TileKernel kF32F32Avx2 = {TileF32F32Avx2, kTileRowsAvx2, 8, 4,
                                           PackF32Pairs<float>};
inline constexpr TileKernel kF32Bf16Avx2 = {TileF32Bf16Avx2, kTileRowsAvx2, 8, 2,
                                            PackF32Pairs<float>};
inline constexpr TileKernel kBf16F32Avx2 = {TileF32F32Avx2, kTileRowsAvx2, 8, 4,
                                            PackF32Pairs<BF16>};
inline constexpr TileKernel kBf16Bf16Avx2 = {TileF32Bf16Avx2, kTileRowsAvx2, 8, 2,
                                             PackF32Pairs<BF16>};
inline constexpr TileKernel kF32F32Avx512 = {TileF32F32Avx512, kTileRows, 8, 4,
                                             PackF32Pairs<float>};
inline constexpr TileKernel kF32Bf16Avx512 = {TileF32Bf16Avx512, kTileRows, 8, 2,
                                              PackF32Pairs<float>};
inline constexpr TileKernel kBf16F32Avx512 = {TileF32F32Avx512, kTileRows, 8, 4,
                                              PackF32Pairs<BF16>};
inline constexpr TileKernel kBf16Bf16Avx512 = {TileF32Bf16Avx512, kTileRows, 8, 2,
                                               PackF32Pairs<BF16>};
inline constexpr TileKernel kBf16Bf16Avx512Bf16 = {TileBf16Bf16Avx512Bf16, kTileRows, 4, 2,
                                                   PackBf16Pairs};

// Workspace of one thread for products of at most `rows` rows of length k.
int64_t PackedBytes(const TileKernel& kernel, int64_t rows, int64_t k);

// The fast path. REQUIRES: workspace of pool.size() * PackedBytes(kernel, rows, k) bytes, 64-byte
// aligned.
void RunGrouped(const Grouped& g, const TileKernel& kernel, std::span<std::byte> workspace,
                ThreadPool& pool);

// y = combine(x * gate^T, x * up^T) element by element, without storing the two products: `gate`
// describes x, the gate matrices and y; `up` are matrices like gate.w. REQUIRES: as RunGrouped; no
// bias.
using CombineFn = void (*)(const float* gate, const float* up, int64_t n, std::byte* y);
void RunGateUp(const Grouped& gate, const std::byte* up, const TileKernel& kernel,
               CombineFn combine, std::span<std::byte> workspace, ThreadPool& pool);

// Grouped of matmul's and grouped_matmul's arguments.
Grouped MatmulProblem(const KernelArgs& args);
Grouped GroupedMatmulProblem(const KernelArgs& args);

}  // namespace moxie::cpu
