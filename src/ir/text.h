// The text form of a graph: Parse(Print(g)) == g. Passes are tested by text in, text out.
//
//   graph @toy {
//     weight %w : bf16[64,64] x3 = "model.layers.{i}.w.weight"
//     state %kv : bf16[N,2,2,16,16] x3 paged 16
//     input %ids : i32[T]
//     %h = embedding(%ids, %table) : f32[T,64] @ "embed"
//     %h1, %kv1 = repeat(%h, %kv, %w) {n=3, carries=1, states=1, invariants=0} : f32[T,64],
//     bf16[..] x3 {
//       body(%x : f32[T,64], %s : state bf16[N,2,2,16,16], %w : bf16[64,64]) {
//         ...
//         yield %y, %s1
//       }
//     }
//     return %h1
//     final %kv1
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
