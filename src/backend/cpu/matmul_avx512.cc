// Tiles of matrix products for AVX-512 without BF16 instructions: f32 arithmetic, weights bf16 or
// f32.
#include "backend/cpu/simd_avx512.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/vector_tile.inc"

namespace moxie::cpu {
namespace {

template <typename Policy>
constexpr TileFn kTiles[kTileRows] = {
    TileOf<Policy, 1>, TileOf<Policy, 2>,  TileOf<Policy, 3>,  TileOf<Policy, 4>,
    TileOf<Policy, 5>, TileOf<Policy, 6>,  TileOf<Policy, 7>,  TileOf<Policy, 8>,
    TileOf<Policy, 9>, TileOf<Policy, 10>, TileOf<Policy, 11>, TileOf<Policy, 12>,
};

}  // namespace

void TileF32Bf16Avx512(const TileArgs& args) { kTiles<WidenBf16>[args.rows - 1](args); }
void TileF32F32Avx512(const TileArgs& args) { kTiles<PairedF32>[args.rows - 1](args); }

}  // namespace moxie::cpu
