#include "passes/check_assignment.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "ir/schema.h"

namespace moxie::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

// A run of bytes of a space (the arena, or a donated input's storage) and the write that must still
// be in it. `tag` 0: in none of them.
struct Bytes {
  size_t space = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint64_t tag = 0;
  bool SameRange(const Bytes& o) const {
    return space == o.space && offset == o.offset && size == o.size;
  }
  bool Overlaps(const Bytes& o) const {
    return tag != 0 && o.tag != 0 && space == o.space && offset < o.offset + o.size &&
           o.offset < offset + size;
  }
};

// The arena, or a donated input's storage: which write each granule holds, as runs of equal ones,
// so that an arena of any size takes no more than its slots.
class Space {
 public:
  explicit Space(int64_t bytes) : end_(Rounded(bytes)), runs_{{0, 0}} {}

  int64_t bytes() const { return end_; }
  void Write(int64_t offset, int64_t size, uint64_t tag) {
    const int64_t end = Rounded(offset + size);
    if (size == 0) return;
    Split(end);
    Split(offset);
    runs_.erase(std::next(runs_.find(offset)), runs_.lower_bound(end));
    runs_[offset] = tag;
  }
  bool Holds(int64_t offset, int64_t size, uint64_t tag) const {
    if (size == 0) return true;
    auto run = std::prev(runs_.upper_bound(offset));
    for (const int64_t end = Rounded(offset + size); run != runs_.end() && run->first < end;
         ++run) {
      if (run->second != tag) return false;
    }
    return true;
  }

 private:
  static int64_t Rounded(int64_t bytes) {
    return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  }
  // Makes a run begin at `at`.
  void Split(int64_t at) {
    if (at < end_) runs_.try_emplace(at, std::prev(runs_.upper_bound(at))->second);
  }

  int64_t end_;
  std::map<int64_t, uint64_t> runs_;  // by first byte; the first begins at 0
};

// All spaces.
class Shadow {
 public:
  explicit Shadow(int64_t arena_bytes) { spaces_.emplace_back(arena_bytes); }

  Slot AddDonated(ValueId input, int64_t bytes) {
    space_of_[input] = spaces_.size();
    spaces_.emplace_back(bytes);
    return {Slot::Kind::kDonated, 0, bytes, input};
  }
  bool Fits(const Slot& slot) const {
    const bool known = slot.kind == Slot::Kind::kArena ||
                       (slot.kind == Slot::Kind::kDonated && space_of_.contains(slot.base));
    return known && slot.offset >= 0 && slot.bytes >= 0 && slot.offset % kArenaAlignment == 0 &&
           slot.offset + slot.bytes <= spaces_[SpaceOf(slot)].bytes();
  }
  // REQUIRES Fits(slot), as do the others.
  size_t SpaceOf(const Slot& slot) const {
    return slot.kind == Slot::Kind::kDonated ? space_of_.at(slot.base) : 0;
  }
  Bytes Write(const Slot& slot) {
    Bytes b{SpaceOf(slot), slot.offset, slot.bytes, ++next_};
    spaces_[b.space].Write(b.offset, b.size, b.tag);
    return b;
  }
  bool Holds(const Bytes& b) const {
    return b.tag == 0 || spaces_[b.space].Holds(b.offset, b.size, b.tag);
  }

 private:
  std::vector<Space> spaces_;           // the arena, then the donated inputs
  std::map<ValueId, size_t> space_of_;  // by donated input
  uint64_t next_ = 0;
};

using Env = std::vector<Bytes>;  // by ValueId

class Machine {
 public:
  Machine(const ir::Extents& extents, int64_t arena_bytes)
      : extents_(extents), shadow_(arena_bytes) {}

  // The whole program: donated inputs hold what the caller put there, and in the end their final
  // versions.
  Status Program(const Graph& graph, const BufferAssignment& a) {
    Env env(graph.values.size());
    std::vector<Slot> storages;
    for (ValueId v : graph.DonatedInputs()) {
      storages.push_back(shadow_.AddDonated(v, graph.value(v).type.Bytes(extents_)));
      env[v] = shadow_.Write(storages.back());
    }
    if (graph.final_inputs.size() != storages.size()) return Internal("donations without an end");
    MOXIE_RETURN_IF_ERROR(Run(graph, a, env));
    for (size_t i = 0; i < storages.size(); ++i) {
      const Bytes& end = env[graph.final_inputs[i]];
      MOXIE_RETURN_IF_ERROR(Read(graph, env, graph.final_inputs[i]));
      if (end.space == shadow_.SpaceOf(storages[i]) && end.offset == 0) continue;
      shadow_.Write(storages[i]);
      ++copies_;
    }
    for (ValueId v : graph.outputs) MOXIE_RETURN_IF_ERROR(Read(graph, env, v));
    if (copies_ != a.copies) {
      return Internal("the assignment says ", a.copies, " copies, the program makes ", copies_);
    }
    return {};
  }

 private:
  Status Run(const Graph& graph, const BufferAssignment& a, Env& env) {
    if (a.slots.size() != graph.values.size() || a.workspaces.size() != graph.ops.size() ||
        a.staging.size() != graph.ops.size() || a.bodies.size() != graph.ops.size()) {
      return Internal("assignment of graph @", graph.name, " has the wrong size");
    }
    for (OpId id = 0; id < graph.ops.size(); ++id) {
      const Op& op = graph.ops[id];
      Status status = op.kind == OpKind::kView     ? View(op, 0, 0, env)
                      : op.kind == OpKind::kRepeat ? Repeat(graph, a, id, env)
                                                   : Step(graph, a, id, env);
      if (!status.ok()) {
        return std::move(status).WithContext(
            StrCat("assignment: op ", id, " ", ir::Name(op.kind), " (origin \"", op.origin, "\")"));
      }
    }
    for (ValueId v : graph.outputs) MOXIE_RETURN_IF_ERROR(Read(graph, env, v));
    return {};
  }

  Status Read(const Graph& graph, const Env& env, ValueId v) {
    if (shadow_.Holds(env[v])) return {};
    return Internal("%", graph.value(v).name, " at ", env[v].offset, " + ", env[v].size,
                    " has been overwritten before this use");
  }

  Status CheckSlot(const Graph& graph, ValueId v, const Slot& slot) const {
    const int64_t want = graph.value(v).type.Bytes(extents_);
    if (!shadow_.Fits(slot) || slot.bytes < want) {
      return Internal("%", graph.value(v).name, " needs ", want, " bytes; its slot has ",
                      slot.bytes, " at ", slot.offset,
                      ", which is too small, outside the arena or unaligned");
    }
    return {};
  }

  static Status View(const Op& op, size_t result, size_t operand, Env& env) {
    env[op.results[result]] = env[op.operands[operand]];
    return {};
  }

  // State and literals are in no space.
  static bool OutsideAll(const Graph& graph, const Op& op, ValueId result) {
    return graph.value(result).state || op.kind == OpKind::kLiteral;
  }
  static bool IsView(const ir::Effects& custom, size_t r) {
    return r < custom.view_of.size() && custom.view_of[r] >= 0;
  }
  // True when the op's kernel works with result `r` in the bytes of the operand.
  static bool InPlace(const Op& op, const ir::Effects& custom, size_t r, size_t operand) {
    if (op.kind != OpKind::kCustom) {
      return r == 0 && (ir::Row(op.kind).may_overwrite >> operand & 1);
    }
    if (r < custom.returns || !custom.declared[operand]) return false;
    return op.operands[custom.written[r - custom.returns]] == op.operands[operand];
  }

  Status Step(const Graph& graph, const BufferAssignment& a, OpId id, Env& env) {
    const Op& op = graph.ops[id];
    for (ValueId v : op.operands) MOXIE_RETURN_IF_ERROR(Read(graph, env, v));
    ir::Effects custom;
    if (op.kind == OpKind::kCustom) {
      MOXIE_ASSIGN_OR_RETURN(custom, ir::EffectsOf(op));
    }
    copies_ += op.kind == OpKind::kCopy;
    std::vector<Bytes> written;
    for (size_t r = 0; r < op.results.size(); ++r) {
      const ValueId v = op.results[r];
      if (OutsideAll(graph, op, v) || IsView(custom, r)) continue;
      MOXIE_RETURN_IF_ERROR(CheckSlot(graph, v, a.slots[v]));
      Bytes result{shadow_.SpaceOf(a.slots[v]), a.slots[v].offset,
                   graph.value(v).type.Bytes(extents_), 1};
      bool replaces = false;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const Bytes& operand = env[op.operands[i]];
        const bool in_place = InPlace(op, custom, r, i) && operand.SameRange(result);
        replaces |= in_place && operand.tag != 0;
        if (result.Overlaps(operand) && !in_place) {
          return Internal("result %", graph.value(v).name, " lies over operand %",
                          graph.value(op.operands[i]).name, ", which the op still reads");
        }
      }
      const bool version =
          op.kind == OpKind::kViewWrite || (op.kind == OpKind::kCustom && r >= custom.returns);
      copies_ += version && !replaces;
      for (const Bytes& other : written) {
        if (result.Overlaps(other)) return Internal("results overlap at ", result.offset);
      }
      written.push_back(result);
    }
    if (a.workspaces[id].kind == Slot::Kind::kArena) {
      if (!shadow_.Fits(a.workspaces[id])) return Internal("workspace is outside the arena");
      const Bytes scratch = shadow_.Write(a.workspaces[id]);
      for (ValueId v : op.operands) MOXIE_RETURN_IF_ERROR(Read(graph, env, v));
      for (const Bytes& b : written) {
        if (b.Overlaps(scratch)) return Internal("workspace lies over a result");
      }
    }
    for (size_t r = 0; r < op.results.size(); ++r) {
      const ValueId v = op.results[r];
      if (OutsideAll(graph, op, v)) continue;
      if (IsView(custom, r)) {
        MOXIE_RETURN_IF_ERROR(View(op, r, static_cast<size_t>(custom.view_of[r]), env));
        continue;
      }
      env[v] = shadow_.Write(Exact(graph, v, a.slots[v]));
    }
    return {};
  }

  Slot Exact(const Graph& graph, ValueId v, Slot slot) const {
    slot.bytes = graph.value(v).type.Bytes(extents_);
    return slot;
  }

  // Moves values into the carries' slots, through staging where the assignment has one.
  Status MoveCarries(const Graph& from_graph, const std::vector<ValueId>& from, const Env& from_env,
                     const Graph& body, const BufferAssignment& inner, const Slot& staging,
                     Env& to) {
    const bool staged = staging.kind == Slot::Kind::kArena;
    if (staged) {
      if (!shadow_.Fits(staging)) return Internal("staging is outside the arena");
      shadow_.Write(staging);
      for (ValueId v : from) MOXIE_RETURN_IF_ERROR(Read(from_graph, from_env, v));
    }
    for (size_t i = 0; i < from.size(); ++i) {
      const ValueId param = body.inputs[i];
      MOXIE_RETURN_IF_ERROR(CheckSlot(body, param, inner.slots[param]));
      if (!staged) MOXIE_RETURN_IF_ERROR(Read(from_graph, from_env, from[i]));
      const Slot slot = Exact(body, param, inner.slots[param]);
      const Bytes& source = from_env[from[i]];
      const bool in_place =
          source.tag != 0 && source.SameRange({shadow_.SpaceOf(slot), slot.offset, slot.bytes, 0});
      copies_ += !in_place;
      to[param] = in_place ? source : shadow_.Write(slot);
    }
    return {};
  }

  Status Repeat(const Graph& graph, const BufferAssignment& a, OpId id, Env& env) {
    const Op& op = graph.ops[id];
    const Graph& body = op.regions[0];
    const BufferAssignment& inner = a.bodies[id];
    if (inner.slots.size() != body.values.size()) return Internal("the body has no assignment");
    const size_t carries = static_cast<size_t>(op.attrs.Int(ir::AttrKey::kCarries));
    for (ValueId v : op.operands) MOXIE_RETURN_IF_ERROR(Read(graph, env, v));
    Env body_env(body.values.size());
    for (size_t i = carries; i < op.operands.size(); ++i)
      body_env[body.inputs[i]] = env[op.operands[i]];
    const std::vector<ValueId> initial(op.operands.begin(),
                                       op.operands.begin() + static_cast<long>(carries));
    const std::vector<ValueId> yields(body.outputs.begin(),
                                      body.outputs.begin() + static_cast<long>(carries));
    MOXIE_RETURN_IF_ERROR(MoveCarries(graph, initial, env, body, inner, Slot{}, body_env));
    // Two iterations cover the back edge; what the second leaves is what any later one starts from.
    int64_t once = 0;  // copies are counted by place, not by iteration
    const int64_t n = std::min<int64_t>(2, op.attrs.Int(ir::AttrKey::kN));
    for (int64_t i = 0; i < n; ++i) {
      MOXIE_RETURN_IF_ERROR(Run(body, inner, body_env));
      Env next = body_env;
      MOXIE_RETURN_IF_ERROR(MoveCarries(body, yields, body_env, body, inner, a.staging[id], next));
      body_env = std::move(next);
      if (i == 0) once = copies_;
    }
    copies_ = once;
    for (size_t i = 0; i < carries; ++i) {
      const Slot& slot = a.slots[op.results[i]];
      const Bytes& carry = body_env[body.inputs[i]];
      MOXIE_RETURN_IF_ERROR(CheckSlot(graph, op.results[i], slot));
      if (slot.offset != carry.offset || shadow_.SpaceOf(slot) != carry.space)
        return Internal("result ", i, " is not in its carry's slot");
      env[op.results[i]] = carry;
    }
    return {};
  }

  const ir::Extents extents_;
  Shadow shadow_;
  int64_t copies_ = 0;
};

}  // namespace

Status CheckAssignment(const Graph& graph, const ir::Extents& extents,
                       const BufferAssignment& assignment) {
  return Machine(extents, assignment.arena_bytes).Program(graph, assignment);
}

}  // namespace moxie::passes
