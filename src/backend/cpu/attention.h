// What the reference (paged_attention.cc) and the fast path (attention.cc) of paged_attention
// share. Not for ISA files.
#pragma once

#include "backend/cpu/rows.h"

namespace moxie::cpu {

inline constexpr int64_t kKeyTile = 256;  // keys

// The arguments of one call by name; rows of sequence s are [start[s], start[s + 1]).
struct AttentionProblem {
  explicit AttentionProblem(const KernelArgs& args)
      : q(args.in[0]),
        kv(args.in[1]),
        tables(args.in[2]),
        out(args.out[0]),
        start(args.in[3].as<int32_t>()),
        context(args.in[4].as<int32_t>()),
        heads(args.attrs.Int(ir::AttrKey::kHeads)),
        window(args.attrs.Int(ir::AttrKey::kWindow)),
        scale(static_cast<float>(args.attrs.Double(ir::AttrKey::kScale))) {}

  int64_t seqs() const { return RowCount(tables); }
  int64_t kv_heads() const { return kv.size(2); }
  int64_t block() const { return kv.size(3); }
  int64_t dim() const { return kv.size(4); }
  int64_t group() const { return heads / kv_heads(); }
  // Keys that row r of sequence s sees.
  Range Seen(int64_t s, int64_t r) const {
    const int64_t position = context[s] - (start[s + 1] - r);
    return {window > 0 ? std::max<int64_t>(0, position - window + 1) : 0, position + 1};
  }
  // K (part 0) or V (1) of one key and KV head: [D].
  template <typename Kv>
  const Kv* Key(const int32_t* table, int64_t part, int64_t head, int64_t key) const {
    return kv.as<const Kv>() +
           (((table[key / block()] * 2 + part) * kv_heads() + head) * block() + key % block()) *
               dim();
  }

  const TensorView &q, &kv, &tables, &out;
  const int32_t* start;
  const int32_t* context;
  int64_t heads, window;
  float scale;
};

}  // namespace moxie::cpu
