// Tiles of matrix products for AVX-512 BF16: one instruction takes 16 columns x one pair of k.
#include "backend/cpu/simd_avx512.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/vector_tile.inc"

namespace moxie::cpu {
namespace {

struct DotBf16 {
  using Pair = int32_t;
  using Vector = __m512i;  // clang 16 crashes on arrays of __m512bh
  static constexpr int kColumns = 16;
  static constexpr int64_t kElement = 2;
  static constexpr int kHalves = 1;

  static Vector Load(const char* w, int) { return _mm512_loadu_si512(w); }
  static Vector Broadcast(const Pair* x, int) { return _mm512_set1_epi32(*x); }
  static V Step(V acc, Vector w, Vector x) {
#ifdef __clang__
    asm("" : "+v"(w), "+v"(x));  // clang 16's optimiser recurses for ever through the casts
#endif
    return _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)x);
  }
  template <typename Y>
  static void StoreSums(V acc, const float* bias, Y* y, int64_t columns) {
    StoreColumns(acc, bias, y, columns);
  }
};

constexpr TileFn kTiles[kTileRows] = {
    TileOf<DotBf16, 1>, TileOf<DotBf16, 2>,  TileOf<DotBf16, 3>,  TileOf<DotBf16, 4>,
    TileOf<DotBf16, 5>, TileOf<DotBf16, 6>,  TileOf<DotBf16, 7>,  TileOf<DotBf16, 8>,
    TileOf<DotBf16, 9>, TileOf<DotBf16, 10>, TileOf<DotBf16, 11>, TileOf<DotBf16, 12>,
};

}  // namespace

void TileBf16Bf16Avx512Bf16(const TileArgs& args) { kTiles[args.rows - 1](args); }

}  // namespace moxie::cpu
