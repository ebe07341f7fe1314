// kv_write: kv[slot / B, 0 (k) or 1 (v), head, slot % B, :] = k or v[t, head, :] for slot =
// slots[t] >= 0
//   kv [N,2,KV,B,D], k and v [T,KV*D], slots i64[T] -> the same kv. Two rows of a step never share
//   a slot.
// Cost: reads k and v once, writes as many elements; no flops.
#include <cassert>
#include <cstring>

#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

template <typename Kv, typename In>
void KvWrite(const KernelArgs& args) {
  const TensorView& kv = args.out[0];
  const int64_t* slots = args.in[3].as<int64_t>();
  const int64_t heads = kv.size(2), block = kv.size(3), dim = kv.size(4);
  ForEach(args.pool, RowCount(args.in[1]), 2 * heads * dim, [&](int64_t t) {
    if (slots[t] < 0) return;
    assert(slots[t] < kv.size(0) * block);
    for (int64_t part = 0; part < 2; ++part) {
      const In* in = RowOf<const In>(args.in[static_cast<size_t>(1 + part)], t);
      for (int64_t head = 0; head < heads; ++head) {
        Kv* out = kv.as<Kv>() +
                  (((slots[t] / block * 2 + part) * heads + head) * block + slots[t] % block) * dim;
        if constexpr (std::is_same_v<Kv, In>) {
          std::memcpy(out, in + head * dim, static_cast<size_t>(dim) * sizeof(Kv));
        } else {
          for (int64_t i = 0; i < dim; ++i) out[i] = FromFloat<Kv>(ToFloat(in[head * dim + i]));
        }
      }
    }
  });
}

template <typename Kv, typename In>
constexpr KernelRow kRow = {ir::OpKind::kKvWrite, Isa::kPortable, kTypes<Kv, In, In, int64_t, Kv>,
                            KvWrite<Kv, In>,      nullptr,        0};
constexpr KernelRow kRows[] = {kRow<float, float>, kRow<float, BF16>, kRow<BF16, BF16>,
                               kRow<BF16, float>};

}  // namespace

std::span<const KernelRow> KvWriteRows() { return kRows; }

}  // namespace moxie::cpu
