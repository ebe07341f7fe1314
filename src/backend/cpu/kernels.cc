// The table of rows. Supported dtypes (f = f32, b = bf16; matrices always in panels of 32):
//
//   copy            f b i32 i64            cast          f<->b
//   view_write      f b i32 i64            scale, shift  ff bb
//   add, mul        fff bbb fbf bff
//   silu            ff bb fb               silu_mul      fff ffb bbb bbf
//   embedding       (i32, f|b plain|panels) -> f         gather_rows   f b
//   rms_norm        (f|b, f) -> f|b        rope          (f|b, f) -> f|b
//   matmul          (f|b, f|b [, f]) -> f|b              grouped_matmul the same, without bias
//   kv_write        (f|b, k and v f|b)     paged_attention (f|b, kv f|b) -> f|b
//   router_topk     f -> f, i32            expert_sort   i32
//   moe_combine     (f|b, i32, f) -> f     moe_ffn       (f|b, f, i32, f|b x3) -> f
#include <vector>

#include "backend/cpu/rows.h"

namespace moxie::cpu {

std::span<const KernelRow> Kernels() {
  static const std::vector<KernelRow> rows = [] {
    std::vector<KernelRow> all;
    for (auto part : {CopyRows(), ElementwiseRows(), EmbeddingRows(), RmsNormRows(), MatmulRows(),
                      RopeRows(), KvWriteRows(), PagedAttentionRows(), FastPagedAttentionRows(),
                      RouterRows(), MoeCombineRows(), MoeFfnRows()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return rows;
}

}  // namespace moxie::cpu
