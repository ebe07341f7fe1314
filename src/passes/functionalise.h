// From the imperative form to the functional one.
//
// before: a verified imperative graph without composites
// after:  the functional graph with the same results: reads of storage are reads of its current
//         version, a write through views is one view_write of the base, a donated input has a final
//         version; a clone is left only where both it and what its source became are needed
// right:  a place is (storage, composed affine view), so that two values name the same bytes
// exactly
//         when their places say so; each storage has one current version at each point
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace moxie::passes {

// Errors name the op, its origin, the value and the rule: writes to an input that is not donated,
// to a weight or to what iterations share; overlapping writes; copies of a state; a donation that
// no result can take, or several can (R6).
Result<ir::Graph> Functionalise(const ir::Graph& graph);

}  // namespace moxie::passes
