// paged_attention: out[r,h] = softmax_j(scale * q[r,h] . K[j]) V[j] over the keys j that row r of
// sequence s sees:
//   j <= p and, with a window, j > p - window, where p = context[s] - (query_start[s+1] - r) is r's
//   position. q [T,QH*D]; kv [N,2,KV,B,D]; tables i32[S,W], query_start i32[S+1], context i32[S] ->
//   [T,QH*D] Query head h reads KV head h / (QH / KV); key j lies in block tables[s, j / B], row j
//   % B.
// Arithmetic: keys in tiles of 256 from position 0; each tile gives (max, sum, accumulator), merged
// left to right. It is the same for one query row and for many, and wherever the blocks lie. Cost:
// 4*D flops a (query row, query head, key); reads the sequence's K and V once a KV head and query
// block.
#include <cmath>
#include <limits>

#include "backend/cpu/attention.h"

namespace moxie::cpu {
namespace {

// One query row and head against its sequence's cache.
template <typename Q, typename Kv, typename Out>
struct RowAttention {
  const AttentionProblem& a;
  int64_t seq, row, head;
  float* sum;  // [2 * D] scratch: of all tiles, of this tile

  int64_t dim() const { return a.dim(); }
  const Kv* Key(int64_t part, int64_t key) const {
    return a.Key<Kv>(RowOf<const int32_t>(a.tables, seq), part, head / a.group(), key);
  }

  float Score(int64_t key) const {
    const Q* q = RowOf<const Q>(a.q, row) + head * dim();
    const Kv* k = Key(0, key);
    float dot = 0;
    for (int64_t i = 0; i < dim(); ++i) dot += ToFloat(q[i]) * ToFloat(k[i]);
    return dot * a.scale;
  }

  // The tile's max; its sum and accumulator go to *total and sum[D..2D).
  float Tile(Range keys, float* total) const {
    float scores[kKeyTile];
    float max = -std::numeric_limits<float>::infinity();
    for (int64_t j = keys.begin; j < keys.end; ++j)
      max = std::max(max, scores[j - keys.begin] = Score(j));
    *total = 0;
    std::fill(sum + dim(), sum + 2 * dim(), 0.0f);
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      const float p = std::exp(scores[j - keys.begin] - max);
      *total += p;
      const Kv* v = Key(1, j);
      for (int64_t i = 0; i < dim(); ++i) sum[dim() + i] += p * ToFloat(v[i]);
    }
    return max;
  }

  void Run() const {
    const Range seen = a.Seen(seq, row);
    float max = -std::numeric_limits<float>::infinity(), total = 0;
    std::fill(sum, sum + dim(), 0.0f);
    for (int64_t t = seen.begin / kKeyTile; t * kKeyTile < seen.end; ++t) {
      float tile_total;
      const float tile_max =
          Tile({std::max(seen.begin, t * kKeyTile), std::min(seen.end, (t + 1) * kKeyTile)},
               &tile_total);
      const float new_max = std::max(max, tile_max);
      const float old_scale = std::exp(max - new_max), tile_scale = std::exp(tile_max - new_max);
      for (int64_t i = 0; i < dim(); ++i) sum[i] = sum[i] * old_scale + sum[dim() + i] * tile_scale;
      total = total * old_scale + tile_total * tile_scale;
      max = new_max;
    }
    Out* out = RowOf<Out>(a.out, row) + head * dim();
    for (int64_t i = 0; i < dim(); ++i) out[i] = FromFloat<Out>(sum[i] / total);
  }
};

template <typename Q, typename Kv, typename Out>
void PagedAttention(const KernelArgs& args) {
  const AttentionProblem a(args);
  const int64_t units = a.seqs() == 0 ? 0 : a.start[a.seqs()] * a.heads;
  args.pool.Run([&](int member) {
    float* scratch = reinterpret_cast<float*>(args.workspace.data()) + member * 2 * a.dim();
    const Range range = SplitRange(units, args.pool.size(), member);
    int64_t s = 0;
    for (int64_t unit = range.begin; unit < range.end; ++unit) {
      const int64_t row = unit / a.heads;
      while (a.start[s + 1] <= row) ++s;
      RowAttention<Q, Kv, Out>{a, s, row, unit % a.heads, scratch}.Run();
    }
  });
}

int64_t Workspace(std::span<const tensor::TensorType> operands, const ir::Attrs&,
                  const tensor::Extents& extents, int threads) {
  return threads * 2 * operands[1].shape[4].At(extents) * 4;
}

template <typename Q, typename Kv, typename Out>
constexpr KernelRow kRow = {
    ir::OpKind::kPagedAttention, Isa::kPortable, kTypes<Q, Kv, int32_t, int32_t, int32_t, Out>,
    PagedAttention<Q, Kv, Out>,  Workspace,      0};
constexpr KernelRow kRows[] = {
    kRow<float, float, float>, kRow<float, float, BF16>, kRow<float, BF16, float>,
    kRow<float, BF16, BF16>,   kRow<BF16, float, float>, kRow<BF16, float, BF16>,
    kRow<BF16, BF16, float>,   kRow<BF16, BF16, BF16>,
};

}  // namespace

std::span<const KernelRow> PagedAttentionRows() { return kRows; }

}  // namespace moxie::cpu
