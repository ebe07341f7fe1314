// Products of rows with experts' matrices, on plain pointers: what matmul (one expert),
// grouped_matmul and moe_ffn share. Not for ISA files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/rows.h"

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

// Grouped of matmul's and grouped_matmul's arguments.
Grouped MatmulProblem(const KernelArgs& args);
Grouped GroupedMatmulProblem(const KernelArgs& args);

}  // namespace moxie::cpu
