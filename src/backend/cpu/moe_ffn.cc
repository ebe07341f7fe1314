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

// One call by name, and its scratch: order, position and offsets; silu(gate) * up; the rows before
// they are combined; what the kernels pack.
struct Problem {
  Problem(const KernelArgs& args, bool act_is_bf16)
      : choices(args.in[1].elements()),
        k(RowSize(args.in[1])),
        experts(args.in[3].size(0)),
        intermediate(args.in[3].size(1)),
        hidden(args.in[3].size(2)),
        act_bytes(act_is_bf16 ? 2 : 4),
        scratch(args.workspace.data()) {
    SortByExpert(args.in[2].as<int32_t>(), choices, experts, order(), position(), offsets());
  }
  // For the workspace alone.
  Problem(std::span<const tensor::TensorType> operands, const ir::Attrs& attrs,
          const tensor::Extents& e)
      : choices(operands[1].shape.Elements(e)),
        k(operands[1].shape[1].At(e)),
        experts(operands[3].shape[0].At(e)),
        intermediate(operands[3].shape[1].At(e)),
        hidden(operands[3].shape[2].At(e)),
        act_bytes(attrs.Text(ir::AttrKey::kDType) == "bf16" ? 2 : 4) {}

  static int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  int64_t act_offset() const { return Aligned((2 * choices + experts + 1) * 4); }
  int64_t rows_offset() const { return act_offset() + Aligned(choices * intermediate * act_bytes); }
  int64_t packed_offset() const { return rows_offset() + Aligned(choices * hidden * 4); }

  int32_t* order() const { return reinterpret_cast<int32_t*>(scratch); }
  int32_t* position() const { return order() + choices; }
  int32_t* offsets() const { return position() + choices; }
  float* rows() const { return reinterpret_cast<float*>(scratch + rows_offset()); }

  // Products with the gate (and, with the same rows, up) matrices into act; with down into rows.
  Grouped Gate(const KernelArgs& args) const {
    return {.x = args.in[0].data,
            .x_stride = args.in[0].stride(0),
            .order = order(),
            .order_divisor = k,
            .w = args.in[3].data,
            .y = scratch + act_offset(),
            .y_stride = intermediate,
            .y_is_bf16 = act_bytes == 2,
            .offsets = offsets(),
            .experts = experts,
            .rows = choices,
            .n = intermediate,
            .k = hidden};
  }
  Grouped Down(const KernelArgs& args) const {
    return {.x = scratch + act_offset(),
            .x_stride = intermediate,
            .w = args.in[5].data,
            .y = scratch + rows_offset(),
            .y_stride = hidden,
            .offsets = offsets(),
            .experts = experts,
            .rows = choices,
            .n = hidden,
            .k = intermediate};
  }

  int64_t choices, k, experts, intermediate, hidden, act_bytes;
  std::byte* scratch = nullptr;
};

bool ActIsBf16(const KernelArgs& args) { return args.attrs.Text(ir::AttrKey::kDType) == "bf16"; }

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
void Reference(const KernelArgs& args) {
  const Problem p(args, std::is_same_v<Act, BF16>);
  const Grouped gate = p.Gate(args);
  Grouped up = gate;
  up.w = args.in[4].data;
  GateUp<X, W, Act>(gate, up, args.pool);
  GroupedReference<Act, W, float>(p.Down(args), args.pool);
  const TensorView& out = args.out[0];
  ForEach(args.pool, RowCount(out), p.hidden * p.k, [&](int64_t t) {
    CombineReference(p.rows(), p.hidden, p.position() + t * p.k, RowOf<const float>(args.in[1], t),
                     p.k, p.hidden, RowOf<float>(out, t));
  });
}
template <typename X, typename W>
void MoeFfn(const KernelArgs& args) {
  ActIsBf16(args) ? Reference<X, W, BF16>(args) : Reference<X, W, float>(args);
}
int64_t Workspace(std::span<const tensor::TensorType> operands, const ir::Attrs& attrs,
                  const tensor::Extents& extents, int) {
  return Problem(operands, attrs, extents).packed_offset();
}

// The matrix kernels of one ISA for x and for either type of silu(gate) * up.
struct FfnKernels {
  const TileKernel& in;
  const TileKernel& down_f32;
  const TileKernel& down_bf16;
};
constexpr FfnKernels kF32F32On256 = {kF32F32Avx2, kF32F32Avx2, kBf16F32Avx2};
constexpr FfnKernels kF32Bf16On256 = {kF32Bf16Avx2, kF32Bf16Avx2, kBf16Bf16Avx2};
constexpr FfnKernels kBf16F32On256 = {kBf16F32Avx2, kF32F32Avx2, kBf16F32Avx2};
constexpr FfnKernels kBf16Bf16On256 = {kBf16Bf16Avx2, kF32Bf16Avx2, kBf16Bf16Avx2};
constexpr FfnKernels kF32F32On512 = {kF32F32Avx512, kF32F32Avx512, kBf16F32Avx512};
constexpr FfnKernels kF32Bf16On512 = {kF32Bf16Avx512, kF32Bf16Avx512, kBf16Bf16Avx512};
constexpr FfnKernels kBf16F32On512 = {kBf16F32Avx512, kF32F32Avx512, kBf16F32Avx512};
constexpr FfnKernels kBf16Bf16On512 = {kBf16Bf16Avx512, kF32Bf16Avx512, kBf16Bf16Avx512};
constexpr FfnKernels kBf16Dot = {kBf16Bf16Avx512Bf16, kF32Bf16Avx512, kBf16Bf16Avx512Bf16};

template <int kBits, typename Act>
void SiluMulInto(const float* gate, const float* up, int64_t n, std::byte* y) {
  SiluMulRow<kBits>(gate, up, n, Raw(reinterpret_cast<Act*>(y)));
}

template <int kBits, const FfnKernels& kKernels>
void Fast(const KernelArgs& args) {
  const bool bf16 = ActIsBf16(args);
  const Problem p(args, bf16);
  const std::span<std::byte> packed =
      args.workspace.subspan(static_cast<size_t>(p.packed_offset()));
  RunGateUp(p.Gate(args), args.in[4].data, kKernels.in,
            bf16 ? SiluMulInto<kBits, BF16> : SiluMulInto<kBits, float>, packed, args.pool);
  RunGrouped(p.Down(args), bf16 ? kKernels.down_bf16 : kKernels.down_f32, packed, args.pool);
  const TensorView& out = args.out[0];
  ForEach(args.pool, RowCount(out), p.hidden * p.k, [&](int64_t t) {
    CombineRow<kBits>(p.rows(), p.hidden, p.position() + t * p.k, RowOf<const float>(args.in[1], t),
                      p.k, p.hidden, RowOf<float>(out, t));
  });
}
template <const FfnKernels& kKernels>
int64_t FastWorkspace(std::span<const tensor::TensorType> operands, const ir::Attrs& attrs,
                      const tensor::Extents& extents, int threads) {
  const Problem p(operands, attrs, extents);
  const TileKernel& down = p.act_bytes == 2 ? kKernels.down_bf16 : kKernels.down_f32;
  return p.packed_offset() + threads * std::max(PackedBytes(kKernels.in, p.choices, p.hidden),
                                                PackedBytes(down, p.choices, p.intermediate));
}

template <typename X, typename W>
constexpr KernelRow kReference = {
    ir::OpKind::kMoeFfn, Isa::kPortable, kTypes<X, float, int32_t, W, W, W, float>,
    MoeFfn<X, W>,        Workspace,      0b111000};
template <Isa kIsa, int kBits, const FfnKernels& kKernels, typename X, typename W>
constexpr KernelRow kFast = {ir::OpKind::kMoeFfn,
                             kIsa,
                             kTypes<X, float, int32_t, W, W, W, float>,
                             Fast<kBits, kKernels>,
                             FastWorkspace<kKernels>,
                             0b111000};
constexpr KernelRow kRows[] = {
    kReference<float, float>,
    kReference<float, BF16>,
    kReference<BF16, float>,
    kReference<BF16, BF16>,
    kFast<Isa::kAvx2, 256, kF32F32On256, float, float>,
    kFast<Isa::kAvx2, 256, kF32Bf16On256, float, BF16>,
    kFast<Isa::kAvx2, 256, kBf16F32On256, BF16, float>,
    kFast<Isa::kAvx2, 256, kBf16Bf16On256, BF16, BF16>,
    kFast<Isa::kAvx512, 512, kF32F32On512, float, float>,
    kFast<Isa::kAvx512, 512, kF32Bf16On512, float, BF16>,
    kFast<Isa::kAvx512, 512, kBf16F32On512, BF16, float>,
    kFast<Isa::kAvx512, 512, kBf16Bf16On512, BF16, BF16>,
    kFast<Isa::kAvx512Bf16, 512, kBf16Dot, BF16, BF16>,
};

}  // namespace

std::span<const KernelRow> MoeFfnRows() { return kRows; }

}  // namespace moxie::cpu
