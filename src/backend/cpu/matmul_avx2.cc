// Tiles of matrix products for AVX2 and FMA: f32 arithmetic, weights bf16 or f32, at most 6 rows x
// 16 columns in 12 of the 16 vector registers.
#include "backend/cpu/simd_avx2.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/vector_tile.inc"

namespace moxie::cpu {
namespace {

template <typename Policy>
constexpr TileFn kTiles[kTileRowsAvx2] = {
    TileOf<Policy, 1>, TileOf<Policy, 2>, TileOf<Policy, 3>,
    TileOf<Policy, 4>, TileOf<Policy, 5>, TileOf<Policy, 6>,
};

}  // namespace

void TileF32Bf16Avx2(const TileArgs& args) { kTiles<WidenBf16>[args.rows - 1](args); }
void TileF32F32Avx2(const TileArgs& args) { kTiles<PairedF32>[args.rows - 1](args); }

}  // namespace moxie::cpu
