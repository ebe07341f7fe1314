// An independent checker of buffer assignments: executes the program on abstract bytes.
//
// Every byte of the arena, and of each donated input, remembers the value (and iteration) that
// wrote it last; an op may read a value only while all of the value's bytes are still that value's.
// Two iterations of each repeat are run, which covers the loop's back edge. Copies are counted on
// the way and compared with the assignment's. Shares no code with the planner.
#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "passes/buffer_assignment.h"

namespace moxie::passes {

Status CheckAssignment(const ir::Graph& graph, const ir::Extents& extents,
                       const BufferAssignment& assignment);

}  // namespace moxie::passes
