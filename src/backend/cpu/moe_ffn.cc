// moe_ffn: out[t] = sum_j weights[t,j] * down_e (silu(gate_e x_t) * up_e x_t), e = ids[t,j], j in
// order
//   x [T,H], weights f32[T,k], ids i32[T,k], gate and up [E,I,H], down [E,H,I] -> f32 [T,H];
//   attribute dtype: what silu(..) * .. is rounded to. The same numbers, to the bit, as
//   expert_sort, grouped_matmul to f32, silu_mul, grouped_matmul to f32 and moe_combine.
// Cost: 6*k*T*H*I flops; reads the matrices of each chosen expert once.
#include <cmath>

#include "backend/cpu/grouped.h"

namespace moxie::cpu {
namespace {

// Scratch of one call, cut from the workspace; bytes() of the largest step is what the plan
// reserves.
struct Scratch {
  int64_t choices, experts, hidden, intermediate, act_bytes;

  static int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  int64_t ints() const { return Aligned((2 * choices + experts + 1) * 4); }
  int64_t act() const { return Aligned(choices * intermediate * act_bytes); }
  int64_t bytes() const { return ints() + act() + choices * hidden * 4; }
};

// silu(gate) * up of every sorted row, without storing gate and up.
template <typename X, typename W, typename Act>
void GateUp(const Grouped& gate, const Grouped& up, ThreadPool& pool) {
  ForEach(pool, gate.rows * gate.panels(), gate.k * 64, [&](int64_t unit) {
    const int64_t i = unit / gate.panels(), p = unit % gate.panels();
    float g[32], u[32];
    PanelProduct(SourceRow<X>(gate, i), PanelOf<W>(gate, i, p), gate.k, g);
    PanelProduct(SourceRow<X>(up, i), PanelOf<W>(up, i, p), up.k, u);
    Act* act = reinterpret_cast<Act*>(gate.y) + i * gate.y_stride + p * 32;
    for (int64_t j = 0; j < std::min<int64_t>(32, gate.n - p * 32); ++j) {
      act[j] = FromFloat<Act>(g[j] / (1.0f + std::exp(-g[j])) * u[j]);
    }
  });
}

template <typename X, typename W, typename Act>
void Run(const KernelArgs& args) {
  const TensorView &x = args.in[0], &weights = args.in[1], &out = args.out[0];
  const int64_t k = RowSize(weights), hidden = RowSize(x), intermediate = args.in[3].size(1);
  const Scratch scratch{RowCount(x) * k, args.in[3].size(0), hidden, intermediate, sizeof(Act)};
  int32_t* order = reinterpret_cast<int32_t*>(args.workspace.data());
  int32_t* position = order + scratch.choices;
  int32_t* offsets = position + scratch.choices;
  std::byte* act = args.workspace.data() + scratch.ints();
  float* y = reinterpret_cast<float*>(act + scratch.act());
  SortByExpert(args.in[2].as<int32_t>(), scratch.choices, scratch.experts, order, position,
               offsets);

  Grouped gate{.x = x.data,
               .x_stride = x.stride(0),
               .order = order,
               .order_divisor = k,
               .w = args.in[3].data,
               .y = act,
               .y_stride = intermediate,
               .offsets = offsets,
               .experts = scratch.experts,
               .rows = scratch.choices,
               .n = intermediate,
               .k = hidden};
  Grouped up = gate;
  up.w = args.in[4].data;
  GateUp<X, W, Act>(gate, up, args.pool);
  Grouped down{.x = act,
               .x_stride = intermediate,
               .w = args.in[5].data,
               .y = reinterpret_cast<std::byte*>(y),
               .y_stride = hidden,
               .offsets = offsets,
               .experts = scratch.experts,
               .rows = scratch.choices,
               .n = hidden,
               .k = intermediate};
  GroupedReference<Act, W, float>(down, args.pool);
  ForEach(args.pool, RowCount(out), hidden * k, [&](int64_t t) {
    CombineReference(y, hidden, position + t * k, RowOf<const float>(weights, t), k, hidden,
                     RowOf<float>(out, t));
  });
}

template <typename X, typename W>
void MoeFfn(const KernelArgs& args) {
  args.attrs.Text(ir::AttrKey::kDType) == "bf16" ? Run<X, W, BF16>(args) : Run<X, W, float>(args);
}

int64_t Workspace(std::span<const tensor::TensorType> operands, const ir::Attrs& attrs,
                  const tensor::Extents& extents, int) {
  const tensor::Shape &gate = operands[3].shape, &weights = operands[1].shape;
  const int64_t act_bytes = attrs.Text(ir::AttrKey::kDType) == "bf16" ? 2 : 4;
  return Scratch{weights.Elements(extents), gate[0].At(extents), gate[2].At(extents),
                 gate[1].At(extents), act_bytes}
      .bytes();
}

template <typename X, typename W>
constexpr KernelRow kRow = {
    ir::OpKind::kMoeFfn, Isa::kPortable, kTypes<X, float, int32_t, W, W, W, float>,
    MoeFfn<X, W>,        Workspace,      0b111000};
constexpr KernelRow kRows[] = {kRow<float, float>, kRow<float, BF16>, kRow<BF16, float>,
                               kRow<BF16, BF16>};

}  // namespace

std::span<const KernelRow> MoeFfnRows() { return kRows; }

}  // namespace moxie::cpu
