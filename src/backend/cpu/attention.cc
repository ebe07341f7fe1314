// The fast path of paged_attention (formula: paged_attention.cc).
//
// A piece of work is a block of query rows of one sequence with all heads that share a KV head, so
// that K and V are read once for them. Key tile by key tile: K is packed as panels of a matrix
// product and gives scores, the softmax turns them into weights, V is packed likewise and gives the
// tile's accumulator, which is merged into the running one. Both products are the matrix product's
// tiles, so a row's bits do not depend on its block.
#include "backend/cpu/attention.h"

#include <emmintrin.h>

#include <cstring>
#include <limits>

#include "backend/cpu/grouped.h"
#include "backend/cpu/interleave.h"
#include "backend/cpu/vector_attention.h"

namespace moxie::cpu {
namespace {

// (Query row, head) pairs of a block, unless one query row has more heads.
constexpr int64_t kBlockPairs = 96;

int64_t AlignUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// A block: rows [rows.begin, rows.end) of sequence `seq`, for KV head `head`.
struct Block {
  int64_t seq, head;
  Range rows;
};

// Parts of one thread's scratch, in bytes from its start.
struct Layout {
  Layout(int64_t dim, int64_t group, int64_t kv_bytes)
      : pairs(std::max(kBlockPairs / group, int64_t{1}) * group) {
    const int64_t wide = AlignUp(dim, 32);
    auto take = [this](int64_t size) {
      const int64_t at = bytes;
      bytes += AlignUp(size, 64);
      return at;
    };
    zeros = take(wide * kv_bytes);
    k = take(kKeyTile * AlignUp(dim, 2) * kv_bytes);
    v = take(kKeyTile * wide * kv_bytes);
    q = take(pairs * AlignUp(dim, 2) * 4);
    scores = take(kTileRows * kKeyTile * 4);
    weights = take(kTileRows * kKeyTile * 4);
    tile = take(kTileRows * dim * 4);
    total = take(pairs * dim * 4);
    max = take(pairs * 4);
    sum = take(pairs * 4);
  }
  int64_t pairs;  // of a block at most
  int64_t zeros, k, v, q, scores, weights, tile, total, max, sum;
  int64_t bytes = 0;
};

// Elements 2p and 2p + 1 of x, the second zero past the end, as 2 * sizeof(T) bytes at `out`.
template <typename T>
void CopyPair(const T* x, int64_t n, int64_t p, std::byte* out) {
  const T pair[2] = {x[2 * p], 2 * p + 1 < n ? x[2 * p + 1] : T{}};
  std::memcpy(out, pair, sizeof(pair));
}

// Four rows of length n into a panel: pair p of row i at out + (p * 32 + i) * 2 elements.
template <typename Kv>
void PackFourRows(const Kv* const rows[4], int64_t n, std::byte* out) {
  constexpr int64_t kPair = 2 * sizeof(Kv);
  int64_t p = 0;
  if constexpr (sizeof(Kv) == 2) {
    const std::byte* bytes[4];
    for (int i = 0; i < 4; ++i) bytes[i] = reinterpret_cast<const std::byte*>(rows[i]);
    p = n / 2;
    InterleaveFour(bytes, p, out, 32 * kPair);
  }
  for (; 2 * p < n; ++p) {
    for (int i = 0; i < 4; ++i) CopyPair(rows[i], n, p, out + (p * 32 + i) * kPair);
  }
}

// Two rows of length n as one pair line of each panel: element d of both at panel d / 32, column d
// % 32.
template <typename Kv>
void PackRowPair(const Kv* a, const Kv* b, int64_t n, int64_t panel_bytes, std::byte* out) {
  constexpr int64_t kStep = 16 / sizeof(Kv);
  for (int64_t d = 0; d < AlignUp(n, 32); d += kStep) {
    std::byte* to = out + d / 32 * panel_bytes + d % 32 * 2 * static_cast<int64_t>(sizeof(Kv));
    __m128i x = _mm_setzero_si128(), y = x;
    if (d + kStep <= n) {
      x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + d));
      y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + d));
    } else if (d < n) {
      const size_t left = static_cast<size_t>(n - d) * sizeof(Kv);
      std::memcpy(&x, a + d, left);
      std::memcpy(&y, b + d, left);
    }
    const __m128i low = sizeof(Kv) == 2 ? _mm_unpacklo_epi16(x, y) : _mm_unpacklo_epi32(x, y);
    const __m128i high = sizeof(Kv) == 2 ? _mm_unpackhi_epi16(x, y) : _mm_unpackhi_epi32(x, y);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), low);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + 1, high);
  }
}

// Rows of x (length n, `stride` elements apart) into [pairs, rows] pairs of P.
template <typename X, typename P>
void PackRowsOf(const X* const rows[], int64_t count, int64_t n, std::byte* out) {
  for (int64_t i = 0; i < count; ++i) {
    std::byte* to = out + i * 2 * static_cast<int64_t>(sizeof(P));
    for (int64_t p = 0; 2 * p < n; ++p, to += count * 2 * static_cast<int64_t>(sizeof(P))) {
      if constexpr (std::is_same_v<X, P>) {
        CopyPair(rows[i], n, p, to);
      } else {
        const P pair[2] = {FromFloat<P>(ToFloat(rows[i][2 * p])),
                           2 * p + 1 < n ? FromFloat<P>(ToFloat(rows[i][2 * p + 1])) : P{}};
        std::memcpy(to, pair, sizeof(pair));
      }
    }
  }
}

// Kernels of one ISA: matrix tiles for the scores, which take pairs of X, and for the weighted sum,
// which take pairs of floats; and the softmax. The softmax's weights are not rounded to bf16: that
// alone doubles the error of a small model's log-probabilities.
template <typename Q, typename Kv, typename Out, typename X, int kBits, TileFn kTile,
          TileFn kSumTile, int kRows>
class BlockAttention {
 public:
  BlockAttention(const AttentionProblem& problem, std::byte* scratch)
      : a_(problem), at_(problem.dim(), problem.group(), sizeof(Kv)), scratch_(scratch) {
    std::memset(scratch_ + at_.zeros, 0, static_cast<size_t>(a_.dim()) * sizeof(Kv));
  }

  void Run(const Block& block) {
    block_ = block;
    table_ = RowOf<const int32_t>(a_.tables, block.seq);
    pairs_ = block.rows.size() * a_.group();
    tiles_ = (pairs_ + kRows - 1) / kRows;
    PackQueries();
    std::fill(Floats(at_.total), Floats(at_.total) + pairs_ * a_.dim(), 0.0f);
    std::fill(Floats(at_.max), Floats(at_.max) + pairs_, -std::numeric_limits<float>::infinity());
    std::fill(Floats(at_.sum), Floats(at_.sum) + pairs_, 0.0f);
    const Range keys{a_.Seen(block.seq, block.rows.begin).begin,
                     a_.Seen(block.seq, block.rows.end - 1).end};
    for (int64_t t = keys.begin / kKeyTile; t * kKeyTile < keys.end; ++t) {
      RunKeyTile({std::max(keys.begin, t * kKeyTile), std::min(keys.end, (t + 1) * kKeyTile)});
    }
    for (int64_t i = 0; i < pairs_; ++i) {
      FinishRow<kBits>(Floats(at_.total) + i * a_.dim(), 1.0f / Floats(at_.sum)[i], a_.dim(),
                       Raw(Head(RowOf<Out>(a_.out, RowOfPair(i)), i)));
    }
  }

 private:
  float* Floats(int64_t offset) const { return reinterpret_cast<float*>(scratch_ + offset); }
  int64_t RowOfPair(int64_t i) const { return block_.rows.begin + i / a_.group(); }
  // The part of a query row that belongs to pair i's head.
  template <typename T>
  T* Head(T* row, int64_t i) const {
    return row + (block_.head * a_.group() + i % a_.group()) * a_.dim();
  }
  Range TilePairs(int64_t tile) const {
    return SplitRange(pairs_, static_cast<int>(tiles_), static_cast<int>(tile));
  }

  void PackQueries() const {
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      const Range pairs = TilePairs(tile);
      const Q* rows[kRows];
      for (int64_t i = 0; i < pairs.size(); ++i) {
        rows[i] = Head(RowOf<const Q>(a_.q, RowOfPair(pairs.begin + i)), pairs.begin + i);
      }
      PackRowsOf<Q, X>(rows, pairs.size(), a_.dim(), Queries(pairs.begin));
    }
  }
  std::byte* Queries(int64_t pair) const {
    return scratch_ + at_.q + pair * AlignUp(a_.dim(), 2) * static_cast<int64_t>(sizeof(X));
  }

  // A key's K or V, zeros for a key that the block does not see.
  const Kv* Key(int64_t part, int64_t key, Range keys) const {
    const bool seen = key >= keys.begin && key < keys.end;
    return seen ? a_.Key<Kv>(table_, part, block_.head, key)
                : reinterpret_cast<const Kv*>(scratch_ + at_.zeros);
  }

  // Keys from `from` on, which is a multiple of 32: panels of K with a key a column, panels of V
  // with a key a k.
  void PackKeys(int64_t from, Range keys) const {
    const int64_t k_pairs = (a_.dim() + 1) / 2, v_pairs = (keys.end - from + 1) / 2;
    const int64_t pair_bytes = 2 * sizeof(Kv);
    for (int64_t n = 0; n < AlignUp(keys.end - from, 32); n += 4) {
      const Kv* rows[4];
      for (int64_t i = 0; i < 4; ++i) rows[i] = Key(0, from + n + i, keys);
      PackFourRows(rows, a_.dim(),
                   scratch_ + at_.k + (n / 32 * k_pairs * 32 + n % 32) * pair_bytes);
    }
    for (int64_t p = 0; p < v_pairs; ++p) {
      PackRowPair(Key(1, from + 2 * p, keys), Key(1, from + 2 * p + 1, keys), a_.dim(),
                  v_pairs * 32 * pair_bytes, scratch_ + at_.v + p * 32 * pair_bytes);
    }
  }

  void RunKeyTile(Range keys) const {
    const int64_t from = keys.begin / 32 * 32;
    PackKeys(from, keys);
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      const Range pairs = TilePairs(tile);
      // Keys that some row of this tile sees.
      const Range seen{std::max(keys.begin, a_.Seen(block_.seq, RowOfPair(pairs.begin)).begin),
                       std::min(keys.end, a_.Seen(block_.seq, RowOfPair(pairs.end - 1)).end)};
      if (seen.size() > 0) RunTile(pairs, from, keys, seen.end - from);
    }
  }

  // One tile of pairs against `count` keys from `from` on.
  void RunTile(Range pairs, int64_t from, Range keys, int64_t count) const {
    float* scores = Floats(at_.scores);
    const int64_t padded = AlignUp(count, 32);
    kTile(TileArgs{.x = Queries(pairs.begin),
                   .pairs = (a_.dim() + 1) / 2,
                   .rows = static_cast<int>(pairs.size()),
                   .w = scratch_ + at_.k,
                   .columns = padded,
                   .bias = nullptr,
                   .y = scores,
                   .y_stride = kKeyTile,
                   .y_is_bf16 = false});
    float tile_max[kRows], tile_sum[kRows];
    const float* rows[kRows];
    for (int64_t i = 0; i < pairs.size(); ++i) {
      float* s = scores + i * kKeyTile;
      rows[i] = s;
      const Range seen = SeenBy(pairs.begin + i, from, keys);
      if (seen.size() > 0) {
        SoftmaxTile<kBits>(s, padded, seen.begin, seen.end, a_.scale, &tile_max[i], &tile_sum[i]);
      } else {
        std::memset(s, 0, static_cast<size_t>(padded) * sizeof(float));
      }
    }
    PackRowsOf<float, float>(rows, pairs.size(), AlignUp(count, 2), scratch_ + at_.weights);
    // V's panels have all the tile's keys; the rows of this tile need the first ones only.
    for (int64_t d = 0; d < a_.dim(); d += 32) {
      const int64_t v_pairs = (keys.end - from + 1) / 2;
      kSumTile(TileArgs{.x = scratch_ + at_.weights,
                        .pairs = (count + 1) / 2,
                        .rows = static_cast<int>(pairs.size()),
                        .w = scratch_ + at_.v + d * v_pairs * 2 * static_cast<int64_t>(sizeof(Kv)),
                        .columns = std::min<int64_t>(32, a_.dim() - d),
                        .bias = nullptr,
                        .y = Floats(at_.tile) + d,
                        .y_stride = a_.dim(),
                        .y_is_bf16 = false});
    }
    for (int64_t i = 0; i < pairs.size(); ++i) {
      if (SeenBy(pairs.begin + i, from, keys).size() > 0)
        Merge(pairs.begin + i, i, tile_max[i], tile_sum[i]);
    }
  }

  // Keys of the tile that pair i sees, from `from`.
  Range SeenBy(int64_t i, int64_t from, Range keys) const {
    const Range seen = a_.Seen(block_.seq, RowOfPair(i));
    return {std::max(seen.begin, keys.begin) - from, std::min(seen.end, keys.end) - from};
  }

  void Merge(int64_t pair, int64_t i, float tile_max, float tile_sum) const {
    float &max = Floats(at_.max)[pair], &sum = Floats(at_.sum)[pair];
    const float new_max = std::max(max, tile_max);
    const float old_scale = ExpOf<kBits>(max - new_max),
                tile_scale = ExpOf<kBits>(tile_max - new_max);
    MergeTile<kBits>(Floats(at_.total) + pair * a_.dim(), old_scale,
                     Floats(at_.tile) + i * a_.dim(), tile_scale, a_.dim());
    sum = sum * old_scale + tile_sum * tile_scale;
    max = new_max;
  }

  const AttentionProblem& a_;
  const Layout at_;
  std::byte* scratch_;
  Block block_{};
  const int32_t* table_ = nullptr;
  int64_t pairs_ = 0;  // (query row, head) pairs of the block
  int64_t tiles_ = 0;  // of pairs
};

// Calls fn(block, cost) for the blocks of a call in order; the cost counts (pair, key) products.
template <typename F>
void ForEachBlock(const AttentionProblem& a, F&& fn) {
  // Packing a key costs as much as some query rows' products with it.
  constexpr int64_t kPackingPairs = 8;
  const int64_t rows_at_once = std::max<int64_t>(1, kBlockPairs / a.group());
  for (int64_t s = 0; s < a.seqs(); ++s) {
    const int64_t rows = a.start[s + 1] - a.start[s];
    const int blocks = static_cast<int>((rows + rows_at_once - 1) / rows_at_once);
    for (int64_t head = 0; head < a.kv_heads(); ++head) {
      for (int b = 0; b < blocks; ++b) {
        const Range r = SplitRange(rows, blocks, b);
        const Block block{s, head, {a.start[s] + r.begin, a.start[s] + r.end}};
        const int64_t keys = a.Seen(s, block.rows.end - 1).end - a.Seen(s, block.rows.begin).begin;
        fn(block, keys * (r.size() * a.group() + kPackingPairs));
      }
    }
  }
}

template <typename Q, typename Kv, typename Out, typename X, int kBits, TileFn kTile,
          TileFn kSumTile, int kRows>
void Run(const KernelArgs& args) {
  const AttentionProblem a(args);
  const int64_t scratch = Layout(a.dim(), a.group(), sizeof(Kv)).bytes;
  int64_t total = 0;
  ForEachBlock(a, [&](const Block&, int64_t cost) { total += cost; });
  auto run = [&](int64_t member, int64_t members) {
    BlockAttention<Q, Kv, Out, X, kBits, kTile, kSumTile, kRows> attention(
        a, args.workspace.data() + member * scratch);
    const int64_t from = total * member / members, to = total * (member + 1) / members;
    int64_t at = 0;
    ForEachBlock(a, [&](const Block& block, int64_t cost) {
      if (at >= from && at < to) attention.Run(block);
      at += cost;
    });
  };
  constexpr int64_t kWorthForking = 1 << 9;  // (pair, key) products
  if (args.pool.size() == 1 || total < kWorthForking) return run(0, 1);
  args.pool.Run([&](int member) { run(member, args.pool.size()); });
}

template <typename Kv>
int64_t Workspace(std::span<const tensor::TensorType> operands, const ir::Attrs& attrs,
                  const tensor::Extents& extents, int threads) {
  const tensor::Shape& kv = operands[1].shape;  // [N, 2, KV, B, D]
  const int64_t group = attrs.Int(ir::AttrKey::kHeads) / kv[2].At(extents);
  return threads * Layout(kv[4].At(extents), group, sizeof(Kv)).bytes;
}

// X: what Q is packed to.
template <Isa kIsa, typename Q, typename Kv, typename Out, typename X, int kBits, TileFn kTile,
          TileFn kSumTile, int kRows>
constexpr KernelRow kRow = {ir::OpKind::kPagedAttention,
                            kIsa,
                            kTypes<Q, Kv, int32_t, int32_t, int32_t, Out>,
                            Run<Q, Kv, Out, X, kBits, kTile, kSumTile, kRows>,
                            Workspace<Kv>,
                            0};
#define MOXIE_ROWS(isa, Q, Kv, ...) \
  kRow<isa, Q, Kv, float, __VA_ARGS__>, kRow<isa, Q, Kv, BF16, __VA_ARGS__>
#define MOXIE_AVX2(Q, Kv, tile) MOXIE_ROWS(Isa::kAvx2, Q, Kv, float, 256, tile, tile, kTileRowsAvx2)
#define MOXIE_AVX512(Q, Kv, tile) MOXIE_ROWS(Isa::kAvx512, Q, Kv, float, 512, tile, tile, kTileRows)
constexpr KernelRow kRows[] = {
    MOXIE_AVX2(float, float, TileF32F32Avx2),
    MOXIE_AVX2(float, BF16, TileF32Bf16Avx2),
    MOXIE_AVX2(BF16, float, TileF32F32Avx2),
    MOXIE_AVX2(BF16, BF16, TileF32Bf16Avx2),
    MOXIE_AVX512(float, float, TileF32F32Avx512),
    MOXIE_AVX512(float, BF16, TileF32Bf16Avx512),
    MOXIE_AVX512(BF16, float, TileF32F32Avx512),
    MOXIE_AVX512(BF16, BF16, TileF32Bf16Avx512),
    MOXIE_ROWS(Isa::kAvx512Bf16, BF16, BF16, BF16, 512, TileBf16Bf16Avx512Bf16, TileF32Bf16Avx512,
               kTileRows),
};
#undef MOXIE_ROWS
#undef MOXIE_AVX2
#undef MOXIE_AVX512

}  // namespace

std::span<const KernelRow> FastPagedAttentionRows() { return kRows; }

}  // namespace moxie::cpu
