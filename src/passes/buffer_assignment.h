// Buffer assignment: where every temporary lives in the arena, for one binding of the extents.
//
// before: a functional graph without composites, and an upper bound of its extents
// after:  value -> offset; values that are never alive together may share bytes; workspaces
// included right:  passes/check_assignment.h runs the assignment on abstract bytes; it shares no
// code with this
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace moxie::passes {

inline constexpr int64_t kArenaAlignment = 64;  // bytes

// Where one value lives.
struct Slot {
  enum class Kind : uint8_t {
    kNone,   // weight, state, input: not in the arena
    kArena,  // offset, bytes
    kView,   // inside its base's slot; `base` is the value that owns the bytes
  };
  Kind kind = Kind::kNone;
  int64_t offset = 0;
  int64_t bytes = 0;
  ir::ValueId base = ir::kNoId;
};

// Assignment of one graph; regions[op] holds that of the op's body (repeat), in the same arena.
struct BufferAssignment {
  std::vector<Slot> slots;         // by ValueId
  std::vector<int64_t> workspace;  // by OpId: offset in the arena, or -1
  std::vector<int64_t> workspace_bytes;
  std::vector<BufferAssignment> bodies;  // by OpId; empty but for a repeat
  // A repeat whose yield does not already lie in its carry's slot copies it there at the end of
  // each iteration: by OpId, then by carry.
  std::vector<std::vector<bool>> carry_copies;

  // Of the top-level assignment only:
  int64_t arena_bytes = 0;
  int64_t lower_bound = 0;  // max over program points of the bytes alive: no packing can beat it
  std::string peak_op;      // op (with origin) at the lower bound's peak
  std::vector<std::string> peak_values;
};

// Bytes of scratch memory an op's kernel needs at these extents; monotone in them.
using WorkspaceFn = std::function<int64_t(const ir::Graph& graph, const ir::Op& op)>;

Result<BufferAssignment> AssignBuffers(const ir::Graph& graph, const ir::Extents& extents,
                                       const WorkspaceFn& workspace);

// A table of values, offsets and bytes, by program point: for people and tests.
std::string Print(const ir::Graph& graph, const BufferAssignment& assignment);

}  // namespace moxie::passes
