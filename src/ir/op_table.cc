// The op table and the shape rules. A rule says what it expected and what it got; the caller adds
// the op.
#include <array>

#include "ir/op_kind.h"

namespace moxie::ir {
namespace {

using tensor::Dim;
using tensor::DType;
using tensor::Shape;
using tensor::TensorType;
using tensor::ToString;
using Types = std::span<const TensorType>;
using Inferred = Result<std::vector<TensorType>>;
using K = AttrKey;

Inferred One(DType dtype, Shape shape) { return std::vector<TensorType>{{dtype, shape}}; }

Status ExpectRank(Types in, size_t i, int rank) {
  if (in[i].shape.rank() == rank) return {};
  return InvalidArgument("operand ", i, ": expected rank ", rank, ", got ", ToString(in[i]));
}

Status ExpectType(Types in, size_t i, const TensorType& want) {
  if (in[i] == want) return {};
  return InvalidArgument("operand ", i, ": expected ", ToString(want), ", got ", ToString(in[i]));
}

Status ExpectDim(Types in, size_t i, int axis, Dim want) {
  if (in[i].shape[axis] == want) return {};
  return InvalidArgument("operand ", i, ": expected dimension ", axis, " to be ", ToString(want),
                         ", got ", ToString(in[i]));
}

// n times a dimension; n and the dimension's variable stay one symbol.
Dim Times(int64_t n, Dim d) { return {n * d.factor, d.var}; }

Result<DType> AttrDType(const Attrs& attrs) {
  auto dtype = tensor::ParseDType(attrs.Text(K::kDType));
  if (!dtype)
    return InvalidArgument("attribute dtype: \"", attrs.Text(K::kDType), "\" is not a dtype");
  return *dtype;
}

Inferred InferLiteral(Types, const Attrs& attrs) {
  MOXIE_ASSIGN_OR_RETURN(DType dtype, AttrDType(attrs));
  const auto* values = std::get_if<std::vector<double>>(attrs.Find(K::kValue));
  if (values == nullptr) return InvalidArgument("attribute value: expected a list of numbers");
  const int64_t n = static_cast<int64_t>(values->size());
  if (n * tensor::ByteSize(dtype) > 64) {
    return InvalidArgument("literal of ", n * tensor::ByteSize(dtype),
                           " bytes: a larger constant must be a declared weight (R3)");
  }
  return One(dtype, {n});
}

Inferred InferSame(Types in, const Attrs&) { return One(in[0].dtype, in[0].shape); }

Inferred InferCast(Types in, const Attrs& attrs) {
  MOXIE_ASSIGN_OR_RETURN(DType dtype, AttrDType(attrs));
  return One(dtype, in[0].shape);
}

Inferred InferBinary(Types in, const Attrs&) {
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 1, in[0]));
  return One(in[0].dtype, in[0].shape);
}

Inferred InferSiluMul(Types in, const Attrs& attrs) {
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 1, in[0]));
  return InferCast(in, attrs);
}

Inferred InferEmbedding(Types in, const Attrs&) {
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 1));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 1, 2));
  return One(DType::kF32, {in[0].shape[0], in[1].shape[1]});
}

Inferred InferGatherRows(Types in, const Attrs&) {
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 2));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 1, 1));
  return One(in[0].dtype, {in[1].shape[0], in[0].shape[1]});
}

Inferred InferRmsNorm(Types in, const Attrs& attrs) {
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 2));
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 1, {DType::kF32, {in[0].shape[1]}}));
  return InferCast(in, attrs);
}

Inferred InferMatmul(Types in, const Attrs& attrs) {
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 2));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 1, 2));
  MOXIE_RETURN_IF_ERROR(ExpectDim(in, 1, 1, in[0].shape[1]));
  if (in.size() == 3) MOXIE_RETURN_IF_ERROR(ExpectType(in, 2, {DType::kF32, {in[1].shape[0]}}));
  MOXIE_ASSIGN_OR_RETURN(DType dtype, AttrDType(attrs));
  return One(dtype, {in[0].shape[0], in[1].shape[0]});
}

Inferred InferRopeTable(Types in, const Attrs&) {
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 1));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 1, 1));
  return One(DType::kF32, {in[0].shape[0], Times(2, in[1].shape[0])});
}

Inferred InferRope(Types in, const Attrs& attrs) {
  const int64_t heads = attrs.Int(K::kHeads), d = attrs.Int(K::kHeadDim);
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 2));
  MOXIE_RETURN_IF_ERROR(ExpectDim(in, 0, 1, heads * d));
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 1, {DType::kF32, {in[0].shape[0], d}}));
  return InferCast(in, attrs);
}

Inferred InferKvWrite(Types in, const Attrs&) {
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 5));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 1, 2));
  MOXIE_RETURN_IF_ERROR(ExpectDim(in, 0, 1, 2));
  MOXIE_RETURN_IF_ERROR(ExpectDim(in, 1, 1, in[0].shape[2].factor * in[0].shape[4].factor));
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 2, in[1]));
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 3, {DType::kI64, {in[1].shape[0]}}));
  return One(in[0].dtype, in[0].shape);
}

Inferred InferPagedAttention(Types in, const Attrs& attrs) {
  const int64_t heads = attrs.Int(K::kHeads), kv = attrs.Int(K::kKvHeads),
                d = attrs.Int(K::kHeadDim);
  if (heads <= 0 || kv <= 0 || heads % kv != 0) {
    return InvalidArgument("heads (", heads, ") must be a positive multiple of kv_heads (", kv,
                           ")");
  }
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 2));
  MOXIE_RETURN_IF_ERROR(ExpectDim(in, 0, 1, heads * d));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 1, 5));
  MOXIE_RETURN_IF_ERROR(ExpectDim(in, 1, 2, kv));
  MOXIE_RETURN_IF_ERROR(ExpectDim(in, 1, 4, d));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 2, 2));
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 3, {DType::kI32, {tensor::kQ}}));
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 4, {DType::kI32, {in[2].shape[0]}}));
  return InferCast(in, attrs);
}

Inferred InferRouterTopk(Types in, const Attrs& attrs) {
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 2));
  const int64_t k = attrs.Int(K::kTopK);
  const Dim experts = in[0].shape[1];
  if (k < 1 || !experts.constant() || k > experts.factor) {
    return InvalidArgument("top_k (", k, ") must be from 1 to the number of experts (",
                           ToString(experts), ")");
  }
  const Shape shape{in[0].shape[0], k};
  return std::vector<TensorType>{{DType::kF32, shape}, {DType::kI32, shape}};
}

Inferred InferExpertSort(Types in, const Attrs& attrs) {
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 2));
  const Dim pairs = Times(in[0].shape[1].factor, in[0].shape[0]);
  return std::vector<TensorType>{
      {DType::kI32, {pairs}}, {DType::kI32, {pairs}}, {DType::kI32, {attrs.Int(K::kExperts) + 1}}};
}

Inferred InferGroupedMatmul(Types in, const Attrs& attrs) {
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 2));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 1, 3));
  MOXIE_RETURN_IF_ERROR(ExpectDim(in, 1, 2, in[0].shape[1]));
  const Dim rows =
      attrs.Int(K::kGather) ? Times(attrs.Int(K::kTopK), in[0].shape[0]) : in[0].shape[0];
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 2, {DType::kI32, {rows}}));
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 3, {DType::kI32, {in[1].shape[0].factor + 1}}));
  MOXIE_ASSIGN_OR_RETURN(DType dtype, AttrDType(attrs));
  return One(dtype, {rows, in[1].shape[1]});
}

Inferred InferMoeCombine(Types in, const Attrs&) {
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 2));
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 1, {DType::kI32, {in[0].shape[0]}}));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 2, 2));
  MOXIE_RETURN_IF_ERROR(ExpectDim(in, 0, 0, Times(in[2].shape[1].factor, in[2].shape[0])));
  return One(DType::kF32, {in[2].shape[0], in[0].shape[1]});
}

Inferred InferMoeFfn(Types in, const Attrs& attrs) {
  MOXIE_RETURN_IF_ERROR(AttrDType(attrs).status());
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 0, 2));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 1, 2));
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 2, {DType::kI32, in[1].shape}));
  MOXIE_RETURN_IF_ERROR(ExpectRank(in, 3, 3));
  MOXIE_RETURN_IF_ERROR(ExpectDim(in, 3, 2, in[0].shape[1]));
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 4, in[3]));
  const Shape& gate = in[3].shape;
  MOXIE_RETURN_IF_ERROR(ExpectType(in, 5, {in[3].dtype, {gate[0], gate[2], gate[1]}}));
  return One(DType::kF32, in[0].shape);
}

Inferred InferViewWrite(Types in, const Attrs&) {
  if (in[0].dtype != in[1].dtype) {
    return InvalidArgument("operand 1: expected dtype ", tensor::Name(in[0].dtype), ", got ",
                           ToString(in[1]));
  }
  return One(in[0].dtype, in[0].shape);
}

const std::array<OpRow, static_cast<size_t>(OpKind::kCount)>& Table() {
  using C = OpClass;
  static const std::array<OpRow, static_cast<size_t>(OpKind::kCount)> table = {{
      // kind, name, class, operands min..max, results, attributes, may_overwrite, writes_state,
      // infer
      {OpKind::kLiteral, "literal", C::kLeaf, 0, 0, 1, {K::kDType, K::kValue}, 0, -1, InferLiteral},
      {OpKind::kEmpty, "empty", C::kLeaf, 0, 0, 1, {}, 0, -1, nullptr},
      {OpKind::kView, "view", C::kView, 1, 1, 1, {}, 0, -1, nullptr},
      {OpKind::kViewWrite, "view_write", C::kKernel, 2, 2, 1, {}, 1, -1, InferViewWrite},
      {OpKind::kCopy, "copy", C::kKernel, 1, 1, 1, {}, 0, -1, InferSame},
      {OpKind::kCast, "cast", C::kElementwise, 1, 1, 1, {K::kDType}, 1, -1, InferCast},
      {OpKind::kAdd, "add", C::kElementwise, 2, 2, 1, {}, 3, -1, InferBinary},
      {OpKind::kMul, "mul", C::kElementwise, 2, 2, 1, {}, 3, -1, InferBinary},
      {OpKind::kScale, "scale", C::kElementwise, 1, 1, 1, {K::kScale}, 1, -1, InferSame},
      {OpKind::kShift, "shift", C::kElementwise, 1, 1, 1, {K::kShift}, 1, -1, InferSame},
      {OpKind::kSilu, "silu", C::kElementwise, 1, 1, 1, {}, 1, -1, InferSame},
      {OpKind::kSiluMul, "silu_mul", C::kElementwise, 2, 2, 1, {K::kDType}, 3, -1, InferSiluMul},
      {OpKind::kEmbedding, "embedding", C::kKernel, 2, 2, 1, {}, 0, -1, InferEmbedding},
      {OpKind::kGatherRows, "gather_rows", C::kKernel, 2, 2, 1, {}, 0, -1, InferGatherRows},
      {OpKind::kRmsNorm,
       "rms_norm",
       C::kKernel,
       2,
       2,
       1,
       {K::kEps, K::kDType},
       0,
       -1,
       InferRmsNorm},
      {OpKind::kMatmul, "matmul", C::kKernel, 2, 3, 1, {K::kDType}, 0, -1, InferMatmul},
      {OpKind::kRopeTable, "rope_table", C::kKernel, 2, 2, 1, {K::kScale}, 0, -1, InferRopeTable},
      {OpKind::kRope,
       "rope",
       C::kKernel,
       2,
       2,
       1,
       {K::kHeads, K::kHeadDim, K::kDType},
       0,
       -1,
       InferRope},
      {OpKind::kKvWrite, "kv_write", C::kKernel, 4, 4, 1, {}, 0, 0, InferKvWrite},
      {OpKind::kPagedAttention,
       "paged_attention",
       C::kKernel,
       5,
       5,
       1,
       {K::kHeads, K::kKvHeads, K::kHeadDim, K::kScale, K::kWindow, K::kDType},
       0,
       -1,
       InferPagedAttention},
      {OpKind::kRouterTopk,
       "router_topk",
       C::kKernel,
       1,
       1,
       2,
       {K::kTopK, K::kNormalize},
       0,
       -1,
       InferRouterTopk},
      {OpKind::kExpertSort,
       "expert_sort",
       C::kKernel,
       1,
       1,
       3,
       {K::kExperts},
       0,
       -1,
       InferExpertSort},
      {OpKind::kGroupedMatmul,
       "grouped_matmul",
       C::kKernel,
       4,
       4,
       1,
       {K::kGather, K::kTopK, K::kDType},
       0,
       -1,
       InferGroupedMatmul},
      {OpKind::kMoeCombine, "moe_combine", C::kKernel, 3, 3, 1, {}, 0, -1, InferMoeCombine},
      {OpKind::kMoeFfn, "moe_ffn", C::kKernel, 6, 6, 1, {K::kDType}, 0, -1, InferMoeFfn},
      {OpKind::kCustom, "custom", C::kKernel, 0, -1, -1, {K::kSchema}, 0, -1, nullptr},
      {OpKind::kComposite, "composite", C::kRegion, 0, -1, -1, {K::kCallee}, 0, -1, nullptr},
      {OpKind::kRepeat,
       "repeat",
       C::kRegion,
       0,
       -1,
       -1,
       {K::kN, K::kCarries, K::kStates, K::kInvariants},
       0,
       -1,
       nullptr},
  }};
  return table;
}

}  // namespace

const OpRow& Row(OpKind kind) { return Table()[static_cast<size_t>(kind)]; }

std::optional<OpKind> ParseOpKind(std::string_view name) {
  for (const OpRow& row : Table()) {
    if (row.name == name) return row.kind;
  }
  return std::nullopt;
}

}  // namespace moxie::ir
