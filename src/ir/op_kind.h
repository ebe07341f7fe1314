// The op table: one row an op. Adding an op is a row here, a reference kernel, and a lowering a
// backend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/attr.h"
#include "tensor/shape.h"

namespace moxie::ir {

enum class OpKind : uint8_t {
  // Shapes below: T tokens, H hidden, K/N matrix sides, E experts, k experts a token, R logit rows.
  kLiteral,     // () -> [n] constants of at most 64 bytes
  kEmpty,       // () -> storage of the given type; what it holds is not defined
  kView,        // (x) -> an affine view of x; no data moves
  kViewWrite,   // (x, y) -> x with y's elements at an affine descriptor's places: a view's inverse
  kCopy,        // (x) -> contiguous copy of x
  kCast,        // (x; dtype) -> x in another dtype
  kAdd,         // (a, b) -> a + b
  kMul,         // (a, b) -> a * b
  kScale,       // (x; scale) -> x * scale
  kShift,       // (x; shift) -> x + shift
  kSilu,        // (x) -> x * sigmoid(x)
  kSiluMul,     // (gate, up; dtype) -> silu(gate) * up
  kEmbedding,   // (ids i32[T], table [V,H]) -> f32 [T,H]
  kGatherRows,  // (x [T,H], rows i32[R]) -> [R,H]
  kRmsNorm,     // (x [T,H], w f32[H]; eps, dtype) -> [T,H]; x / rms(x) * w
  kMatmul,      // (x [T,K], w [N,K], bias f32[N]?; dtype) -> [T,N]; x * w^T + bias
  kRopeTable,   // (positions i32[T], inv_freq f32[D/2]; scale) -> f32 [T,D]: cos then sin, times
                // scale
  kRope,  // (x [T,heads*D], table f32[T,D]; heads, head_dim, dtype) -> rotated, half-split (NeoX)
          // pairs
  kKvWrite,  // (kv, k [T,KV*D], v [T,KV*D], slots i64[T]) -> next kv; a slot < 0 writes nothing
  kPagedAttention,  // (q [T,QH*D], kv, tables i32[S,W], query_start i32[Q], context i32[S];
                    //  heads, kv_heads, head_dim, scale, window, dtype) -> [T,QH*D]; causal
  kRouterTopk,      // (logits f32[T,E]; top_k, normalize) -> weights f32[T,k], ids i32[T,k]
  kExpertSort,      // (ids i32[T,k]; experts) -> order i32[kT], position i32[kT], offsets i32[E+1]
  kGroupedMatmul,   // (x, w [E,N,K], order, offsets; gather, top_k, dtype) -> [kT,N]
  kMoeCombine,      // (y [kT,H], position, weights f32[T,k]) -> f32 [T,H]
  kMoeFfn,  // (x [T,H], weights, ids, gate [E,I,H], up [E,I,H], down [E,H,I]; dtype) -> f32 [T,H]
  kCustom,  // a user's kernel; its schema (ir/schema.h) declares what it reads, writes, aliases
  kComposite,  // a named sub-graph with one or more forms; inlined in its caller's mode
  kRepeat,     // n iterations of a body over carries, states, invariants and stacked weights
  kCount,
};

enum class OpClass : uint8_t { kLeaf, kView, kElementwise, kKernel, kRegion };

// Result types of an op from its operands' types and attributes, or why they do not fit.
using InferFn = Result<std::vector<tensor::TensorType>> (*)(
    std::span<const tensor::TensorType> operands, const Attrs& attrs);

struct OpRow {
  OpKind kind;
  std::string_view name;
  OpClass op_class;
  int min_operands;
  int max_operands;  // -1: any number
  int results;       // -1: as many as the region yields or the schema declares
  // Attributes that must be there; others are refused.
  std::vector<AttrKey> attrs;
  // Bit i: result 0 may take operand i's storage when that operand dies here and has the same
  // bytes. The kernel then reads each element of operand i before it writes the same element.
  uint32_t may_overwrite;
  // Operand that result 0 is the next version of, or -1.
  int writes_state;
  InferFn infer;  // null: regions, and ops whose result types are given
};

const OpRow& Row(OpKind kind);
inline std::string_view Name(OpKind kind) { return Row(kind).name; }
std::optional<OpKind> ParseOpKind(std::string_view name);

}  // namespace moxie::ir
