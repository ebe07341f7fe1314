#include "passes/check_assignment.h"

#include <algorithm>

namespace moxie::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

// A run of arena bytes and the write that must still be in it. `tag` 0: not in the arena.
struct Bytes {
  int64_t offset = 0;
  int64_t size = 0;
  uint64_t tag = 0;
  bool SameRange(const Bytes& o) const { return offset == o.offset && size == o.size; }
  bool Overlaps(const Bytes& o) const {
    return tag != 0 && o.tag != 0 && offset < o.offset + o.size && o.offset < offset + size;
  }
};

// The arena in granules: which write each holds.
class Shadow {
 public:
  explicit Shadow(int64_t bytes)
      : tags_(static_cast<size_t>((bytes + kGranule - 1) / kGranule), 0) {}

  bool Fits(const Slot& slot) const {
    return slot.offset >= 0 && slot.bytes >= 0 && slot.offset % kGranule == 0 &&
           slot.offset + slot.bytes <= static_cast<int64_t>(tags_.size()) * kGranule;
  }
  Bytes Write(const Slot& slot) {
    Bytes b{slot.offset, slot.bytes, ++next_};
    Range(b, [&](uint64_t& tag) { tag = b.tag; });
    return b;
  }
  bool Holds(const Bytes& b) {
    bool same = true;
    if (b.tag != 0) Range(b, [&](uint64_t& tag) { same &= tag == b.tag; });
    return same;
  }

 private:
  static constexpr int64_t kGranule = kArenaAlignment;
  template <typename F>
  void Range(const Bytes& b, F f) {
    const size_t end = static_cast<size_t>((b.offset + b.size + kGranule - 1) / kGranule);
    for (size_t i = static_cast<size_t>(b.offset / kGranule); i < end; ++i) f(tags_[i]);
  }
  std::vector<uint64_t> tags_;
  uint64_t next_ = 0;
};

using Env = std::vector<Bytes>;  // by ValueId

class Machine {
 public:
  Machine(const ir::Extents& extents, int64_t arena_bytes)
      : extents_(extents), shadow_(arena_bytes) {}

  Status Run(const Graph& graph, const BufferAssignment& a, Env& env) {
    if (a.slots.size() != graph.values.size() || a.workspaces.size() != graph.ops.size() ||
        a.staging.size() != graph.ops.size() || a.bodies.size() != graph.ops.size()) {
      return Internal("assignment of graph @", graph.name, " has the wrong size");
    }
    for (OpId id = 0; id < graph.ops.size(); ++id) {
      const Op& op = graph.ops[id];
      Status status = op.kind == OpKind::kView     ? View(op, env)
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

 private:
  Status Read(const Graph& graph, const Env& env, ValueId v) {
    if (shadow_.Holds(env[v])) return {};
    return Internal("%", graph.value(v).name, " at ", env[v].offset, " + ", env[v].size,
                    " has been overwritten before this use");
  }

  Status CheckSlot(const Graph& graph, ValueId v, const Slot& slot) const {
    const int64_t want = graph.value(v).type.Bytes(extents_);
    if (slot.kind != Slot::Kind::kArena || slot.bytes < want || !shadow_.Fits(slot)) {
      return Internal("%", graph.value(v).name, " needs ", want, " bytes; its slot has ",
                      slot.bytes, " at ", slot.offset,
                      ", which is too small, outside the arena or unaligned");
    }
    return {};
  }

  static Status View(const Op& op, Env& env) {
    env[op.results[0]] = env[op.operands[0]];
    return {};
  }

  static bool MayOverwrite(const Op& op, size_t operand, const Env& env, const Bytes& result) {
    return (ir::Row(op.kind).may_overwrite >> operand & 1) &&
           env[op.operands[operand]].SameRange(result);
  }

  Status Step(const Graph& graph, const BufferAssignment& a, OpId id, Env& env) {
    const Op& op = graph.ops[id];
    for (ValueId v : op.operands) MOXIE_RETURN_IF_ERROR(Read(graph, env, v));
    std::vector<Bytes> written;
    for (size_t r = 0; r < op.results.size(); ++r) {
      const ValueId v = op.results[r];
      if (graph.value(v).state) continue;
      MOXIE_RETURN_IF_ERROR(CheckSlot(graph, v, a.slots[v]));
      Bytes result{a.slots[v].offset, graph.value(v).type.Bytes(extents_), 1};
      for (size_t i = 0; i < op.operands.size(); ++i) {
        if (result.Overlaps(env[op.operands[i]]) && !(r == 0 && MayOverwrite(op, i, env, result))) {
          return Internal("result %", graph.value(v).name, " lies over operand %",
                          graph.value(op.operands[i]).name, ", which the op still reads");
        }
      }
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
    for (ValueId v : op.results) {
      if (!graph.value(v).state) env[v] = shadow_.Write(Exact(graph, v, a.slots[v]));
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
          source.tag != 0 && source.offset == slot.offset && source.size == slot.bytes;
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
    const int64_t n = std::min<int64_t>(2, op.attrs.Int(ir::AttrKey::kN));
    for (int64_t i = 0; i < n; ++i) {
      MOXIE_RETURN_IF_ERROR(Run(body, inner, body_env));
      Env next = body_env;
      MOXIE_RETURN_IF_ERROR(MoveCarries(body, yields, body_env, body, inner, a.staging[id], next));
      body_env = std::move(next);
    }
    for (size_t i = 0; i < carries; ++i) {
      const Slot& slot = a.slots[op.results[i]];
      const Bytes& carry = body_env[body.inputs[i]];
      MOXIE_RETURN_IF_ERROR(CheckSlot(graph, op.results[i], slot));
      if (slot.offset != carry.offset) return Internal("result ", i, " is not in its carry's slot");
      env[op.results[i]] = carry;
    }
    return {};
  }

  const ir::Extents extents_;
  Shadow shadow_;
};

}  // namespace

Status CheckAssignment(const Graph& graph, const ir::Extents& extents,
                       const BufferAssignment& assignment) {
  Env env(graph.values.size());
  return Machine(extents, assignment.arena_bytes).Run(graph, assignment, env);
}

}  // namespace moxie::passes
