// Three stages, each a titled section below:
//   1. number the program's points and find each value's last use (liveness);
//   2. put values that can share storage into one buffer (in-place ops, carries of repeats);
//   3. pack the buffers, each alive over an interval of points, into the arena.
#include "passes/buffer_assignment.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "ir/schema.h"

namespace moxie::passes {
namespace {

using ir::Extents;
using ir::Graph;
using ir::kNoId;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;
using ir::ValueId;
using ir::ValueKind;

int64_t Align(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// ---------------------------------------------------------------- liveness

// Points of one graph. A plain op takes one point; a repeat one on entry, those of its body (once),
// and one at the end of an iteration.
struct Points {
  std::vector<int> enter;  // by OpId
  std::vector<int> exit;   // by OpId; equals enter but for a repeat
  std::vector<int>
      last_use;  // by ValueId, of the bytes that the value owns: views count for their base
  std::vector<ValueId> owner;  // by ValueId: the value whose bytes it is, itself unless a view
  std::vector<Points> bodies;  // by OpId
};

Points NumberPoints(const Graph& graph, int& clock) {
  Points p;
  p.owner.resize(graph.values.size());
  std::iota(p.owner.begin(), p.owner.end(), 0u);
  p.last_use.assign(graph.values.size(), -1);
  p.bodies.resize(graph.ops.size());
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    p.enter.push_back(clock++);
    for (size_t r = 0; r < op.results.size(); ++r) {
      const int of = ir::ViewedOperand(op, r);
      if (of >= 0) p.owner[op.results[r]] = p.owner[op.operands[static_cast<size_t>(of)]];
    }
    if (op.kind == OpKind::kRepeat) {
      p.bodies[id] = NumberPoints(op.regions[0], clock);
      p.exit.push_back(clock++);
    } else {
      p.exit.push_back(p.enter.back());
    }
    const size_t carries =
        op.kind == OpKind::kRepeat ? static_cast<size_t>(op.attrs.Int(ir::AttrKey::kCarries)) : 0;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      // A carry's initial value is read on entry; all else that a repeat reads, it reads in each
      // iteration.
      int& last = p.last_use[p.owner[op.operands[i]]];
      last = std::max(last, i < carries ? p.enter[id] : p.exit[id]);
    }
    for (ValueId v : op.results) {
      int& last = p.last_use[p.owner[v]];
      last = std::max(last, p.exit[id]);
    }
  }
  const int end = clock;
  for (const auto* list : {&graph.outputs, &graph.final_inputs}) {
    for (ValueId v : *list) p.last_use[p.owner[v]] = end;
  }
  return p;
}

// ---------------------------------------------------------------- buffers

// Bytes that several values share, one after another: of the arena, or a donated input's.
struct Buffer {
  int64_t bytes = 0;        // of the arena; 0 when donated
  ValueId donated = kNoId;  // the input
  int begin = 0;
  int end = 0;    // last point at which it is reserved
  int busy = -1;  // last use of the values put into it so far
  int64_t offset = 0;
  std::string label;
};

class Assigner {
 public:
  Assigner(const Graph& graph, const Extents& extents, const WorkspaceFn& workspace)
      : extents_(extents), workspace_(workspace), top_graph_(&graph) {}

  Result<BufferAssignment> Run() {
    const Graph& graph = *top_graph_;
    if (graph.form != ir::Form::kFunctional) {
      return FailedPrecondition("buffer assignment: graph @", graph.name,
                                " is imperative; functionalise it first");
    }
    int clock = 0;
    const Points points = NumberPoints(graph, clock);
    std::vector<int> of(graph.values.size(), -1);
    const std::vector<Home> homes = AddDonations(graph, points, of);
    MOXIE_RETURN_IF_ERROR(VisitOps(graph, points, of, homes, top_));
    for (const Home& home : homes) copies_ += of[home.value] != home.buffer;
    Pack();
    BufferAssignment out = EmitGraph(graph, points, top_);
    out.arena_bytes = arena_bytes_;
    out.copies = copies_;
    DescribePeak(graph, points, out);
    DescribeLives(graph, points, clock, out);
    return out;
  }

 private:
  // Buffers of a graph's values, remembered for Emit in the order of the visit.
  struct Visited {
    std::vector<int> of;          // by ValueId: buffer, or -1
    std::vector<int> workspace;   // by OpId
    std::vector<int> staging;     // by OpId
    std::vector<Visited> bodies;  // by OpId
  };

  // Where a value should end up: a carry's yield, a donated input's final version.
  struct Home {
    ValueId value;
    int buffer;
  };

  // ---------------------------------------------------------------- donation

  std::vector<Home> AddDonations(const Graph& graph, const Points& points, std::vector<int>& of) {
    std::vector<Home> homes;
    const std::vector<ValueId> inputs = graph.DonatedInputs();
    may_live_in_.assign(graph.values.size(), -1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int b = NewBuffer(0, -1, -1, "");
      buffers_[static_cast<size_t>(b)].donated = inputs[i];
      of[inputs[i]] = b;
      Occupy(b, points.last_use[inputs[i]]);
      homes.push_back({graph.final_inputs[i], b});
      AllowChain(graph, points, graph.final_inputs[i], b);
    }
    return homes;
  }

  // Only the final version, and what it may overwrite step by step, may live in a donated input's
  // storage: nothing else is certain to be dead when the final version must be there.
  void AllowChain(const Graph& graph, const Points& points, ValueId v, int buffer) {
    while (v != kNoId && graph.value(v).kind == ValueKind::kResult) {
      may_live_in_[v] = buffer;
      const OpId id = graph.value(v).op;
      const Op& op = graph.op(id);
      ValueId next = kNoId;
      for (size_t i = 0; i < op.operands.size() && next == kNoId; ++i) {
        const ValueId o = op.operands[i];
        if (Replaces(op, graph.value(v).index, i) && points.owner[o] == o && may_live_in_[o] < 0 &&
            points.last_use[o] == points.enter[id])
          next = o;
      }
      v = next;
    }
  }

  // True when result `r` may take the storage of operand `i`.
  static bool Replaces(const Op& op, size_t r, size_t i) {
    if (op.kind == OpKind::kCustom) return Written(op, r) == static_cast<int>(i) && Alone(op, r);
    if (op.kind == OpKind::kRepeat) {
      return i == r && r < static_cast<size_t>(op.attrs.Int(ir::AttrKey::kCarries));
    }
    return r == 0 && (ir::Row(op.kind).may_overwrite >> i & 1);
  }
  // The operand of a custom op that result `r` is the next version of, or -1.
  static int Written(const Op& op, size_t r) {
    if (op.kind != OpKind::kCustom) return -1;
    auto effects = ir::EffectsOf(op);
    if (!effects.ok() || r < effects->returns) return -1;
    return static_cast<int>(effects->written[r - effects->returns]);
  }

  static bool Alone(const Op& op, size_t r) {
    auto effects = ir::EffectsOf(op);
    return effects.ok() && ir::WrittenInPlace(op, *effects, r - effects->returns);
  }

  // True unless `v`, of the top-level graph, must not live in buffer `b`.
  bool MayLiveIn(const Graph& graph, ValueId v, int b) const {
    return buffers_[static_cast<size_t>(b)].donated == kNoId || &graph != top_graph_ ||
           may_live_in_[v] == b;
  }

  // ---------------------------------------------------------------- sharing

  int NewBuffer(int64_t bytes, int begin, int end, std::string label) {
    Buffer b;
    b.bytes = Align(bytes);
    b.begin = begin;
    b.end = end;
    b.label = std::move(label);
    buffers_.push_back(std::move(b));
    return static_cast<int>(buffers_.size()) - 1;
  }

  // Puts a value alive over [begin, last] into buffer `b`.
  void Occupy(int b, int last) {
    buffers_[static_cast<size_t>(b)].busy = std::max(buffers_[static_cast<size_t>(b)].busy, last);
    buffers_[static_cast<size_t>(b)].end = std::max(buffers_[static_cast<size_t>(b)].end, last);
  }

  int64_t Bytes(const Value& v) const { return v.type.Bytes(extents_); }
  std::string Label(const Value& v) const {
    return StrCat(v.name, " ", ToString(v.type), " ", Bytes(v));
  }

  // The buffer of an operand that result `r` of `op` may overwrite, dying here; -1: none.
  int Overwritable(const Graph& graph, const Points& points, const std::vector<int>& of,
                   const Op& op, size_t r, int point) const {
    const ValueId result = op.results[r];
    const int64_t bytes = Bytes(graph.value(result));
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId v = op.operands[i];
      if (!Replaces(op, r, i) || of[v] < 0 || points.owner[v] != v ||
          Bytes(graph.value(v)) != bytes)
        continue;
      if (buffers_[static_cast<size_t>(of[v])].busy != point) continue;  // someone in it lives on
      if (!MayLiveIn(graph, result, of[v])) continue;
      const bool view_of_it = std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId o) {
        return o != v && of[points.owner[o]] == of[v];
      });
      if (!view_of_it) return of[v];
    }
    return -1;
  }

  Status VisitOps(const Graph& graph, const Points& points, std::vector<int>& of,
                  std::span<const Home> homes, Visited& visited) {
    visited.workspace.assign(graph.ops.size(), -1);
    visited.staging.assign(graph.ops.size(), -1);
    visited.bodies.resize(graph.ops.size());
    for (OpId id = 0; id < graph.ops.size(); ++id) {
      const Op& op = graph.ops[id];
      if (op.kind == OpKind::kComposite) {
        return FailedPrecondition("buffer assignment: composite \"",
                                  op.attrs.Text(ir::AttrKey::kCallee), "\" (origin \"", op.origin,
                                  "\") must be inlined first");
      }
      if (op.kind == OpKind::kView || op.kind == OpKind::kLiteral) continue;
      if (op.kind == OpKind::kRepeat) {
        MOXIE_RETURN_IF_ERROR(VisitRepeat(graph, points, of, id, visited));
        continue;
      }
      PlaceResults(graph, points, of, homes, id);
      if (int64_t bytes = workspace_(graph, op); bytes > 0) {
        visited.workspace[id] = NewBuffer(bytes, points.enter[id], points.enter[id],
                                          StrCat("workspace of ", ir::Name(op.kind), " ", bytes));
      }
    }
    visited.of = of;
    return {};
  }

  void PlaceResults(const Graph& graph, const Points& points, std::vector<int>& of,
                    std::span<const Home> homes, OpId id) {
    const Op& op = graph.ops[id];
    const int point = points.enter[id];
    copies_ += op.kind == OpKind::kCopy;
    for (size_t r = 0; r < op.results.size(); ++r) {
      const ValueId v = op.results[r];
      if (graph.value(v).state || points.owner[v] != v) continue;
      int b = FreeHome(v, homes, point);
      const int over = b < 0 ? Overwritable(graph, points, of, op, r, point) : -1;
      copies_ += over < 0 && (op.kind == OpKind::kViewWrite || Written(op, r) >= 0);
      if (b < 0) b = over;
      if (b < 0) b = NewBuffer(Bytes(graph.value(v)), point, point, Label(graph.value(v)));
      of[v] = b;
      Occupy(b, points.last_use[v]);
    }
  }

  // The buffer that a value should end up in, when nobody needs that buffer any more.
  int FreeHome(ValueId v, std::span<const Home> homes, int point) const {
    for (const Home& home : homes) {
      if (home.value == v && buffers_[static_cast<size_t>(home.buffer)].busy < point)
        return home.buffer;
    }
    return -1;
  }

  Status VisitRepeat(const Graph& graph, const Points& points, std::vector<int>& of, OpId id,
                     Visited& visited) {
    const Op& op = graph.ops[id];
    const Graph& body = op.regions[0];
    const Points& inner = points.bodies[id];
    const size_t carries = static_cast<size_t>(op.attrs.Int(ir::AttrKey::kCarries));
    std::vector<int> body_of(body.values.size(), -1);
    std::vector<int> carry;
    std::vector<Home> homes;
    for (size_t i = 0; i < carries; ++i) {
      const ValueId a = op.operands[i];
      int b = of[a];
      const bool take_over = b >= 0 && points.owner[a] == a &&
                             buffers_[static_cast<size_t>(b)].busy == points.enter[id] &&
                             MayLiveIn(graph, op.results[i], b) &&
                             std::count(carry.begin(), carry.end(), b) == 0;
      if (!take_over)
        b = NewBuffer(Bytes(graph.value(a)), points.enter[id], points.enter[id],
                      Label(graph.value(a)));
      copies_ += !take_over;
      carry.push_back(b);
      homes.push_back({body.outputs[i], b});
      body_of[body.inputs[i]] = b;
      buffers_[static_cast<size_t>(b)].end =
          std::max(buffers_[static_cast<size_t>(b)].end, points.exit[id]);
      buffers_[static_cast<size_t>(b)].busy =
          std::max(points.enter[id], inner.last_use[body.inputs[i]]);
    }
    MOXIE_RETURN_IF_ERROR(VisitOps(body, inner, body_of, homes, visited.bodies[id]));
    visited.staging[id] = Staging(body, inner, body_of, carry, points.exit[id]);
    for (size_t i = 0; i < carries; ++i) {
      copies_ += body_of[inner.owner[body.outputs[i]]] != carry[i];
      of[op.results[i]] = carry[i];
      Occupy(carry[i], points.last_use[op.results[i]]);
    }
    return {};
  }

  // A buffer for all carries when a yield that must be copied lies in the buffer of another carry.
  int Staging(const Graph& body, const Points& inner, const std::vector<int>& of,
              std::span<const int> carry, int point) {
    bool needed = false;
    int64_t bytes = 0;
    for (size_t i = 0; i < carry.size(); ++i) {
      const int from = of[inner.owner[body.outputs[i]]];
      needed |= from != carry[i] && std::count(carry.begin(), carry.end(), from) > 0;
      bytes += Align(Bytes(body.value(body.outputs[i])));
    }
    return needed ? NewBuffer(bytes, point, point, StrCat("staging of carries ", bytes)) : -1;
  }

  // ---------------------------------------------------------------- packing

  static bool Overlap(const Buffer& a, const Buffer& b) {
    return a.begin <= b.end && b.begin <= a.end;
  }

  // First fit in the given order; returns the arena's bytes.
  static int64_t FirstFit(std::vector<Buffer>& buffers, const std::vector<size_t>& order) {
    std::vector<size_t> placed;
    int64_t arena = 0;
    for (size_t i : order) {
      Buffer& b = buffers[i];
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (size_t j : placed) {
        if (Overlap(b, buffers[j]))
          taken.emplace_back(buffers[j].offset, buffers[j].offset + buffers[j].bytes);
      }
      std::sort(taken.begin(), taken.end());
      int64_t at = 0;
      for (auto [begin, end] : taken) {
        if (at + b.bytes <= begin) break;
        at = std::max(at, end);
      }
      b.offset = at;
      arena = std::max(arena, at + b.bytes);
      placed.push_back(i);
    }
    return arena;
  }

  // Several orders are tried, the best is kept: each is optimal for some family of programs. Where
  // none reaches the lower bound, small changes of the best are tried as well.
  void Pack() {
    std::vector<size_t> order(buffers_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    auto life = [](const Buffer& b) { return b.end - b.begin; };
    using Less = std::function<bool(const Buffer&, const Buffer&)>;
    const Less orders[] = {
        [](const Buffer& a, const Buffer& b) { return a.bytes > b.bytes; },
        [&](const Buffer& a, const Buffer& b) { return life(a) > life(b); },
        [](const Buffer& a, const Buffer& b) { return a.begin < b.begin; },
        [&](const Buffer& a, const Buffer& b) {
          return static_cast<double>(a.bytes) * (life(a) + 1) >
                 static_cast<double>(b.bytes) * (life(b) + 1);
        },
    };
    Packing best;
    for (const Less& less : orders) {
      std::vector<size_t> sorted = order;
      std::stable_sort(sorted.begin(), sorted.end(),
                       [&](size_t a, size_t b) { return less(buffers_[a], buffers_[b]); });
      TryOrder(std::move(sorted), best);
    }
    Improve(best, PeakPoint().second);
    buffers_ = std::move(best.buffers);
    arena_bytes_ = best.bytes;
  }

  struct Packing {
    std::vector<size_t> order;
    std::vector<Buffer> buffers;
    int64_t bytes = -1;
  };

  void TryOrder(std::vector<size_t> order, Packing& best) const {
    std::vector<Buffer> trial = buffers_;
    const int64_t bytes = FirstFit(trial, order);
    if (best.bytes < 0 || bytes <= best.bytes) best = {std::move(order), std::move(trial), bytes};
  }

  // Moves one buffer of the order elsewhere, again and again; keeps what is no worse. The same
  // program always gives the same packing.
  void Improve(Packing& best, int64_t lower_bound) const {
    constexpr size_t kWork = 2'000'000;  // pairs of buffers looked at: milliseconds
    const size_t n = buffers_.size();
    const size_t tries = std::min<size_t>(2000, kWork / (n * n + 1));
    std::minstd_rand random(1);
    for (size_t i = 0; i < tries && best.bytes > lower_bound; ++i) {
      std::vector<size_t> order = best.order;
      const size_t from = random() % n, to = random() % n;
      const size_t moved = order[from];
      order.erase(order.begin() + static_cast<long>(from));
      order.insert(order.begin() + static_cast<long>(to), moved);
      TryOrder(std::move(order), best);
    }
  }

  // The point at which most bytes are alive, and how many.
  std::pair<int, int64_t> PeakPoint() const {
    int end = 0;
    for (const Buffer& b : buffers_) end = std::max(end, b.end);
    std::pair<int, int64_t> peak{0, 0};
    for (int t = 0; t <= end; ++t) {
      int64_t alive = 0;
      for (const Buffer& b : buffers_) alive += b.begin <= t && t <= b.end ? b.bytes : 0;
      if (alive > peak.second) peak = {t, alive};
    }
    return peak;
  }

  // ---------------------------------------------------------------- result

  Slot SlotOf(int buffer, int64_t bytes) const {
    if (buffer < 0) return {};
    const ValueId donated = buffers_[static_cast<size_t>(buffer)].donated;
    if (donated != kNoId) return {Slot::Kind::kDonated, 0, bytes, donated};
    return {Slot::Kind::kArena, buffers_[static_cast<size_t>(buffer)].offset, bytes, kNoId};
  }

  BufferAssignment EmitGraph(const Graph& graph, const Points& points,
                             const Visited& visited) const {
    BufferAssignment out;
    for (ValueId v = 0; v < graph.values.size(); ++v) {
      if (points.owner[v] != v) {
        out.slots.push_back({Slot::Kind::kView, 0, 0, points.owner[v]});
      } else {
        out.slots.push_back(SlotOf(visited.of[v], Bytes(graph.value(v))));
      }
    }
    out.bodies.resize(graph.ops.size());
    for (OpId id = 0; id < graph.ops.size(); ++id) {
      auto whole = [&](int b) {
        return SlotOf(b, b < 0 ? 0 : buffers_[static_cast<size_t>(b)].bytes);
      };
      out.workspaces.push_back(whole(visited.workspace[id]));
      out.staging.push_back(whole(visited.staging[id]));
      if (graph.ops[id].kind == OpKind::kRepeat) {
        out.bodies[id] = EmitGraph(graph.ops[id].regions[0], points.bodies[id], visited.bodies[id]);
      }
    }
    return out;
  }

  void DescribePeak(const Graph& graph, const Points& points, BufferAssignment& out) const {
    const auto [peak, alive] = PeakPoint();
    out.peak_point = peak;
    out.lower_bound = alive;
    std::vector<const Buffer*> there;
    for (const Buffer& b : buffers_) {
      if (b.bytes > 0 && b.begin <= peak && peak <= b.end) there.push_back(&b);
    }
    std::stable_sort(there.begin(), there.end(),
                     [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
    for (const Buffer* b : there) out.peak_values.push_back(b->label);
    out.peak_op = OpAt(graph, points, peak);
  }

  void DescribeLives(const Graph& graph, const Points& points, int clock,
                     BufferAssignment& out) const {
    for (const Buffer& b : buffers_) {
      if (b.bytes > 0) out.lives.push_back({b.label, b.offset, b.bytes, b.begin, b.end});
    }
    for (int t = 0; t < clock; ++t) out.points.push_back(OpAt(graph, points, t));
  }

  static std::string OpAt(const Graph& graph, const Points& points, int t) {
    for (OpId id = 0; id < graph.ops.size(); ++id) {
      if (t < points.enter[id] || t > points.exit[id]) continue;
      const Op& op = graph.ops[id];
      if (op.kind == OpKind::kRepeat && t > points.enter[id] && t < points.exit[id]) {
        return OpAt(op.regions[0], points.bodies[id], t);
      }
      return StrCat(ir::Name(op.kind), " (", op.origin, ")");
    }
    return "";
  }

  const Extents extents_;
  const WorkspaceFn& workspace_;
  const Graph* const top_graph_;
  std::vector<Buffer> buffers_;
  std::vector<int> may_live_in_;  // by ValueId of the top-level graph: a donated buffer, or -1
  Visited top_;
  int64_t arena_bytes_ = 0;
  int64_t copies_ = 0;
};

void PrintGraph(const Graph& graph, const BufferAssignment& a, int depth, std::string& out) {
  const std::string indent(static_cast<size_t>(2 * depth), ' ');
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    if (op.kind == OpKind::kRepeat) {
      out += StrCat(indent, "repeat ", op.attrs.Int(ir::AttrKey::kN), "\n");
      PrintGraph(op.regions[0], a.bodies[id], depth + 1, out);
    }
    for (ValueId v : op.results) {
      if (a.slots[v].kind == Slot::Kind::kDonated) {
        out += StrCat(indent, "%", graph.value(v).name, " = ", ir::Name(op.kind), " : ",
                      ToString(graph.value(v).type), " in a donated input\n");
      }
      if (a.slots[v].kind != Slot::Kind::kArena) continue;
      out += StrCat(indent, "%", graph.value(v).name, " = ", ir::Name(op.kind), " : ",
                    ToString(graph.value(v).type), " at ", a.slots[v].offset, " + ",
                    a.slots[v].bytes, "\n");
    }
    if (a.workspaces[id].kind == Slot::Kind::kArena) {
      out += StrCat(indent, "  workspace at ", a.workspaces[id].offset, " + ",
                    a.workspaces[id].bytes, "\n");
    }
  }
}

}  // namespace

Result<BufferAssignment> AssignBuffers(const Graph& graph, const Extents& extents,
                                       const WorkspaceFn& workspace) {
  return Assigner(graph, extents, workspace).Run();
}

std::string Print(const Graph& graph, const BufferAssignment& assignment) {
  std::string out = StrCat("arena ", assignment.arena_bytes, ", lower bound ",
                           assignment.lower_bound, ", copies ", assignment.copies, "\n");
  PrintGraph(graph, assignment, 1, out);
  return out;
}

}  // namespace moxie::passes
