// Buffer assignment: where every temporary lives in the arena, for one binding of the extents.
//
// before: a functional graph without composites, and an upper bound of its extents
// after:  value -> offset; values that are never alive together may share bytes; a donated input's
//         storage takes its final version, and what leads to it, where lifetimes allow; workspaces
//         included
// right:  passes/check_assignment.h runs the assignment on abstract bytes; it shares no code with
//         this
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
    kNone,     // weight, state, input, literal: not in the arena
    kArena,    // offset, bytes
    kView,     // inside its base's slot; `base` is the value that owns the bytes
    kDonated,  // the storage of the donated input `base`, a value of the top-level graph
  };
  Kind kind = Kind::kNone;
  int64_t offset = 0;
  int64_t bytes = 0;
  ir::ValueId base = ir::kNoId;
};

// Bytes of the arena that one value, or several one after another, hold over an interval of the
// program's points. A plain op is a point; a repeat is one on entry, its body once, and one at the
// end.
struct Life {
  std::string label;  // "v12 f32[2T,1536] 6291456"
  int64_t offset = 0;
  int64_t bytes = 0;
  int begin = 0;  // first and last point
  int end = 0;
};

// Assignment of one graph; bodies[op] is that of a repeat's body, in the same arena.
//
// A repeat's carry lives in one slot: that of its parameter, which is its result's too. Where the
// initial value or the yield lies elsewhere it is copied there, on entry and at the end of each
// iteration. When a copied yield lies in the slot of another carry (a swap), all of them go through
// `staging`. A donated input whose final version lies elsewhere gets it copied at the end. An op
// that replaces part of an operand, or writes it in place, whose result has a slot of its own gets
// the operand copied there first.
struct BufferAssignment {
  std::vector<Slot> slots;               // by ValueId
  std::vector<Slot> workspaces;          // by OpId
  std::vector<Slot> staging;             // by OpId
  std::vector<BufferAssignment> bodies;  // by OpId; empty but for a repeat

  // Of the top-level assignment only:
  // Places in the program where bytes of a whole value are copied: copy ops and the copies above; a
  // repeat's body counts once.
  int64_t copies = 0;
  int64_t arena_bytes = 0;  // the peak beyond the storage of inputs, weights and states
  int64_t lower_bound = 0;  // most bytes alive at any point of the program: no packing needs less
  std::string peak_op;      // where that is: "grouped_matmul (layers.moe)"
  std::vector<std::string>
      peak_values;  // who is alive there, largest first: "v12 f32[2T,1536] 6291456"
  int peak_point = 0;
  std::vector<Life> lives;          // all that the arena holds, for pictures
  std::vector<std::string> points;  // the op at each: "grouped_matmul (layers.moe)"
};

// Bytes of scratch memory an op's kernel needs at these extents; monotone in them.
using WorkspaceFn = std::function<int64_t(const ir::Graph& graph, const ir::Op& op)>;

Result<BufferAssignment> AssignBuffers(const ir::Graph& graph, const ir::Extents& extents,
                                       const WorkspaceFn& workspace);

// A table of values, offsets and bytes, in program order: for people and tests.
std::string Print(const ir::Graph& graph, const BufferAssignment& assignment);

}  // namespace moxie::passes
