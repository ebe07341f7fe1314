// router_topk: p = softmax(logits[t]); the k largest p (the lower expert first among equals),
// largest first;
//   with normalize they are divided by their sum. logits f32[T,E] -> weights f32[T,k], ids i32[T,k]
//   NaN logits count as minus infinity: the ids stay distinct and in range.
// expert_sort: a stable counting sort of the kT choices by expert. ids i32[T,k] ->
//   order i32[kT]: the choice (t * k + j) at each sorted row; position i32[kT]: the sorted row of
//   each choice; offsets i32[E+1]: where each expert's rows begin
// Cost: router T*E*k compares; sort 3 passes over kT ids.
#include <cmath>
#include <limits>

#include "backend/cpu/rows.h"

namespace moxie::cpu {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The best expert that comes after (`value`, `id`) in the order of falling value, then rising id.
int64_t NextBest(const float* logits, int64_t experts, float value, int64_t id) {
  int64_t best = -1;
  float best_value = 0;
  for (int64_t e = 0; e < experts; ++e) {
    const float v = std::isnan(logits[e]) ? kLowest : logits[e];
    const bool after = v < value || (v == value && e > id);
    if (after && (best < 0 || v > best_value)) {
      best = e;
      best_value = v;
    }
  }
  return best;
}

void RouterTopk(const KernelArgs& args) {
  const TensorView& logits = args.in[0];
  const TensorView& weights = args.out[0];
  const int64_t experts = RowSize(logits), k = RowSize(weights);
  const bool normalize = args.attrs.Int(ir::AttrKey::kNormalize) != 0;
  ForEach(args.pool, RowCount(weights), experts * k, [&](int64_t t) {
    const float* x = RowOf<const float>(logits, t);
    float* w = RowOf<float>(weights, t);
    int32_t* ids = RowOf<int32_t>(args.out[1], t);
    float value = std::numeric_limits<float>::infinity();
    int64_t id = -1;
    for (int64_t j = 0; j < k; ++j) {
      id = NextBest(x, experts, value, id);
      value = std::isnan(x[id]) ? kLowest : x[id];
      ids[j] = static_cast<int32_t>(id);
    }
    float total = 0, chosen = 0;
    for (int64_t e = 0; e < experts; ++e) total += std::exp(x[e] - x[ids[0]]);
    for (int64_t j = 0; j < k; ++j) {
      w[j] = std::exp(x[ids[j]] - x[ids[0]]) / total;
      chosen += w[j];
    }
    if (!normalize) return;
    for (int64_t j = 0; j < k; ++j) w[j] /= chosen;
  });
}

void ExpertSort(const KernelArgs& args) {
  const int32_t* ids = args.in[0].as<int32_t>();
  int32_t* order = args.out[0].as<int32_t>();
  int32_t* position = args.out[1].as<int32_t>();
  int32_t* offsets = args.out[2].as<int32_t>();
  SortByExpert(ids, args.in[0].elements(), args.out[2].elements() - 1, order, position, offsets);
}

using ir::OpKind;
constexpr KernelRow kRows[] = {
    {OpKind::kRouterTopk, Isa::kPortable, kTypes<float, float>, RouterTopk, nullptr, 0},
    {OpKind::kExpertSort, Isa::kPortable, kTypes<int32_t, int32_t>, ExpertSort, nullptr, 0},
};

}  // namespace

void SortByExpert(const int32_t* ids, int64_t choices, int64_t experts, int32_t* order,
                  int32_t* position, int32_t* offsets) {
  std::fill(offsets, offsets + experts + 1, 0);
  // offsets[e + 1] counts expert e, then becomes its end; filling moves offsets[e] from begin to
  // end.
  for (int64_t i = 0; i < choices; ++i) ++offsets[ids[i] + 1];
  for (int64_t e = 0; e < experts; ++e) offsets[e + 1] += offsets[e];
  for (int64_t i = 0; i < choices; ++i) {
    const int32_t row = offsets[ids[i]]++;
    order[row] = static_cast<int32_t>(i);
    position[i] = row;
  }
  for (int64_t e = experts; e > 0; --e) offsets[e] = offsets[e - 1];
  offsets[0] = 0;
}

std::span<const KernelRow> RouterRows() { return kRows; }

}  // namespace moxie::cpu
