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

#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

constexpr int64_t kTile = 256;  // keys

// One query row and head against its sequence's cache.
template <typename Q, typename Kv, typename Out>
struct RowAttention {
  const Q* q;  // [D]
  const TensorView& kv;
  const int32_t* table;  // [W]
  int64_t head;          // KV head
  int64_t begin, end;    // keys seen
  float scale;
  Out* out;    // [D]
  float* sum;  // [2 * D] scratch: of all tiles, of this tile

  int64_t dim() const { return kv.size(4); }
  // Part 0 is K, 1 is V.
  const Kv* Row(int64_t part, int64_t key) const {
    const int64_t block = kv.size(3);
    return kv.as<const Kv>() +
           (((table[key / block] * 2 + part) * kv.size(2) + head) * block + key % block) * dim();
  }

  float Score(int64_t key) const {
    const Kv* k = Row(0, key);
    float dot = 0;
    for (int64_t i = 0; i < dim(); ++i) dot += ToFloat(q[i]) * ToFloat(k[i]);
    return dot * scale;
  }

  // The tile's max; its sum and accumulator go to *total and sum[D..2D).
  float Tile(int64_t first, int64_t last, float* total) const {
    float scores[kTile];
    float max = -std::numeric_limits<float>::infinity();
    for (int64_t j = first; j < last; ++j) max = std::max(max, scores[j - first] = Score(j));
    *total = 0;
    std::fill(sum + dim(), sum + 2 * dim(), 0.0f);
    for (int64_t j = first; j < last; ++j) {
      const float p = std::exp(scores[j - first] - max);
      *total += p;
      const Kv* v = Row(1, j);
      for (int64_t i = 0; i < dim(); ++i) sum[dim() + i] += p * ToFloat(v[i]);
    }
    return max;
  }

  void Run() const {
    float max = -std::numeric_limits<float>::infinity(), total = 0;
    std::fill(sum, sum + dim(), 0.0f);
    for (int64_t t = begin / kTile; t * kTile < end; ++t) {
      float tile_total;
      const float tile_max =
          Tile(std::max(begin, t * kTile), std::min(end, (t + 1) * kTile), &tile_total);
      const float new_max = std::max(max, tile_max);
      const float old_scale = std::exp(max - new_max), tile_scale = std::exp(tile_max - new_max);
      for (int64_t i = 0; i < dim(); ++i) sum[i] = sum[i] * old_scale + sum[dim() + i] * tile_scale;
      total = total * old_scale + tile_total * tile_scale;
      max = new_max;
    }
    for (int64_t i = 0; i < dim(); ++i) out[i] = FromFloat<Out>(sum[i] / total);
  }
};

template <typename Q, typename Kv, typename Out>
void PagedAttention(const KernelArgs& args) {
  const TensorView &q = args.in[0], &kv = args.in[1], &tables = args.in[2], &out = args.out[0];
  const int32_t* start = args.in[3].as<int32_t>();
  const int32_t* context = args.in[4].as<int32_t>();
  const int64_t heads = args.attrs.Int(ir::AttrKey::kHeads), dim = kv.size(4);
  const int64_t group = heads / kv.size(2), seqs = RowCount(tables);
  const int64_t window = args.attrs.Int(ir::AttrKey::kWindow);
  const float scale = static_cast<float>(args.attrs.Double(ir::AttrKey::kScale));
  const int64_t units = seqs == 0 ? 0 : start[seqs] * heads;
  args.pool.Run([&](int member) {
    float* scratch = reinterpret_cast<float*>(args.workspace.data()) + member * 2 * dim;
    const Range range = SplitRange(units, args.pool.size(), member);
    int64_t s = 0;
    for (int64_t unit = range.begin; unit < range.end; ++unit) {
      const int64_t row = unit / heads, head = unit % heads;
      while (start[s + 1] <= row) ++s;
      const int64_t position = context[s] - (start[s + 1] - row);
      const int64_t begin = window > 0 ? std::max<int64_t>(0, position - window + 1) : 0;
      RowAttention<Q, Kv, Out>{RowOf<const Q>(q, row) + head * dim,
                               kv,
                               RowOf<const int32_t>(tables, s),
                               head / group,
                               begin,
                               position + 1,
                               scale,
                               RowOf<Out>(out, row) + head * dim,
                               scratch}
          .Run();
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
