// The inner kernel of matrix products: a few packed rows times a run of panels. Plain types only:
// ISA files include this.
#pragma once

#include <cstddef>
#include <cstdint>

namespace moxie::cpu {

// y[r, n] = sum_k x[r, k] * w[n, k] + bias[n] for `rows` rows and `columns` columns from a panel's
// start.
struct TileArgs {
  const void* x;      // [pairs, rows] pairs (k, k + 1) of one row: two bf16 or two f32
  int64_t pairs;      // ceil(K / 2)
  int rows;           // 1 .. the ISA's tile rows
  const void* w;      // panels one after another, [pairs, 32] pairs each
  int64_t columns;    // of y
  const float* bias;  // [columns], or null
  void* y;            // f32 or bf16
  int64_t y_stride;   // elements
  bool y_is_bf16;
};
using TileFn = void (*)(const TileArgs& args);

// Rows of the largest tile: 12 rows x 32 columns fill 24 of the 32 vector registers of AVX-512.
inline constexpr int kTileRows = 12;
inline constexpr int kTileRowsAvx2 = 6;

void TileF32Bf16Avx2(const TileArgs& args);  // x f32 pairs, w bf16
void TileF32F32Avx2(const TileArgs& args);   // x f32 pairs, w f32
void TileF32Bf16Avx512(const TileArgs& args);
void TileF32F32Avx512(const TileArgs& args);
void TileBf16Bf16Avx512Bf16(const TileArgs& args);  // x bf16 pairs, w bf16

}  // namespace moxie::cpu
