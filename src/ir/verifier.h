// Verify: the rules every graph keeps between passes.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace moxie::ir {

// OK, or the first broken rule, naming the op, the value and the op's origin:
//   op 12 matmul (origin "layers.attn"): operand %q: expected [T,576], got [T,512]
//
// Checked: definitions before uses, op arity, attributes and result types from the op table; views
// inside their base; literals of at most 64 bytes (R3); region parameters and yields; stacks only
// taken apart by a repeat of the same count; state linear: each version used by at most one writer,
// and never read after it was written (R1); every state has a final version; every weight and input
// is used; in-place ops only in the imperative form; what a view_write replaces has no element
// twice; a custom op's results are those of its schema; in the functional form each donated input's
// storage ends with one op's result, and no output lies in its first version (R6).
Status Verify(const Graph& graph);

}  // namespace moxie::ir
