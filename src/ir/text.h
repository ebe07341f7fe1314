// The text form of a graph: Parse(Print(g)) == g. Passes are tested by text in, text out.
//
//   graph @toy {                                   # or: graph @toy imperative {
//     weight %w : bf16[64,64] x3 = "model.layers.{i}.w.weight"
//     state %kv : bf16[N,2,2,16,16] x3 paged 16
//     input %ids : i32[T]
//     input %x : f32[T,64] donated
//     %h = embedding(%ids, %table) : f32[T,64] @ "embed"
//     %h1, %kv1 = repeat(%h, %kv, %w) {n=3, carries=1, states=1, invariants=0} : f32[T,64],
//     bf16[..] x3 {
//       body(%x : f32[T,64], %s : state bf16[N,2,2,16,16], %w : bf16[64,64]) {
//         ...
//         yield %y, %s1
//       }
//     }
//     %x1 = view_write(%x, %half) offset 32 strides [64,1] : f32[T,64]
//     scale!(%x) {scale=2.0}                       # imperative: into operand 0's storage
//     return %h1
//     final %kv1, %x1                              # of the states, then of the donated inputs
//   }
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/graph.h"

namespace moxie::ir {

std::string Print(const Graph& graph);

// Errors name the line and column. The result is not verified.
Result<Graph> Parse(std::string_view text);

// True when the two graphs print the same after renaming values in order of definition and ignoring
// origins: the same ops on the same operands.
bool Isomorphic(const Graph& a, const Graph& b);

}  // namespace moxie::ir
