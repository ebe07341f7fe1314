#include "backend/cpu/executor.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace moxie::cpu {

using ir::Graph;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;
using passes::BufferAssignment;
using passes::Slot;
using tensor::Dim;
using tensor::TensorView;

// Turns ops into calls; `scope` maps each value of the graph at hand to its address.
class Executor::Linker {
 public:
  Linker(Executor& executor, const Memory& memory) : e_(executor), memory_(memory) {}

  Status Run(const Graph& graph, const Selection& selection, const BufferAssignment& assignment) {
    std::vector<Address> scope(graph.values.size());
    size_t input = 0;
    for (ValueId v = 0; v < graph.values.size(); ++v) {
      const ir::Value& value = graph.value(v);
      scope[v].dtype = value.type.dtype;
      scope[v].sizes = value.type.shape;
      if (value.kind == ir::ValueKind::kInput) scope[v].base = memory_.inputs[input++];
      if (value.donated) donated_[v] = scope[v].base;
      if (value.kind == ir::ValueKind::kWeight) {
        scope[v].base = memory_.weights[value.index].data;
        scope[v].stride = memory_.weights[value.index].stride;
        scope[v].packing = selection.layouts[value.index].packing;
      }
      if (value.kind == ir::ValueKind::kState) {
        scope[v].base = memory_.states[value.index].data;
        scope[v].stride = memory_.states[value.index].stride;
      }
    }
    MOXIE_RETURN_IF_ERROR(CheckDonations(graph));
    e_.blocks_.emplace_back();
    MOXIE_RETURN_IF_ERROR(LinkOps(graph, selection, assignment, scope, 0, -1));
    size_t next = 0;
    for (ValueId v : graph.DonatedInputs()) {
      AddMove(e_.blocks_[0].next, scope[graph.final_inputs[next++]], scope[v]);
    }
    for (ValueId v : graph.outputs) e_.outputs_.push_back(scope[v]);
    return {};
  }

 private:
  // A donated input's storage is written, so it must be nobody else's.
  Status CheckDonations(const Graph& graph) const {
    for (const auto& [v, base] : donated_) {
      if (std::count(memory_.inputs.begin(), memory_.inputs.end(), base) > 1) {
        return InvalidArgument("cpu: the buffer of donated input %", graph.value(v).name,
                               " is passed as another input too (R6)");
      }
    }
    return {};
  }

  // Where a slot of its own is: in the arena, or in a donated input.
  Address InSlot(const ir::Value& value, const Slot& slot) const {
    Address a;
    a.base = slot.kind == Slot::Kind::kDonated ? donated_.at(slot.base)
                                               : memory_.arena.data() + slot.offset;
    a.dtype = value.type.dtype;
    a.sizes = value.type.shape;
    return a;
  }

  Status LinkOps(const Graph& graph, const Selection& selection, const BufferAssignment& assignment,
                 std::vector<Address>& scope, int block, int depth) {
    for (OpId id = 0; id < graph.ops.size(); ++id) {
      const Op& op = graph.ops[id];
      const int point = clock_++;
      switch (op.kind) {
        case OpKind::kView:
          scope[op.results[0]] =
              ViewOf(scope[op.operands[0]], graph.value(op.results[0]).type.shape, op.view);
          break;
        case OpKind::kRepeat:
          MOXIE_RETURN_IF_ERROR(
              LinkRepeat(graph, selection, assignment, scope, id, block, depth, point));
          break;
        case OpKind::kLiteral:
          MOXIE_RETURN_IF_ERROR(LinkLiteral(graph, op, scope));
          break;
        case OpKind::kEmpty:
          scope[op.results[0]] =
              InSlot(graph.value(op.results[0]), assignment.slots[op.results[0]]);
          break;
        default:
          MOXIE_RETURN_IF_ERROR(
              LinkCall(graph, selection.rows[id], assignment, scope, id, block, point));
      }
    }
    return {};
  }

  static Address ViewOf(Address a, const tensor::Shape& sizes, const ir::ViewSpec& view) {
    a.base += view.offset * tensor::ByteSize(a.dtype);
    a.sizes = sizes;
    a.strides = view.strides;
    a.viewed = true;
    return a;
  }

  Status LinkLiteral(const Graph& graph, const Op& op, std::vector<Address>& scope) {
    const ir::Value& value = graph.value(op.results[0]);
    auto& bytes = e_.literals_.emplace_back();
    size_t i = 0;
    for (double d : *std::get_if<std::vector<double>>(op.attrs.Find(ir::AttrKey::kValue))) {
      switch (value.type.dtype) {
        case tensor::DType::kF32:
          reinterpret_cast<float*>(bytes.data())[i++] = static_cast<float>(d);
          break;
        case tensor::DType::kI32:
          reinterpret_cast<int32_t*>(bytes.data())[i++] = static_cast<int32_t>(d);
          break;
        default:
          return Unimplemented("cpu: literal of ", tensor::Name(value.type.dtype), " (origin \"",
                               op.origin, "\")");
      }
    }
    Address& a = scope[op.results[0]];
    a.base = bytes.data();
    a.dtype = value.type.dtype;
    a.sizes = value.type.shape;
    return {};
  }

  // Kernels take rows at any distance, but each row's elements side by side; those that copy take
  // any strides.
  static Status CheckContiguousRows(const Op& op, const Address& a) {
    if (op.kind == OpKind::kCopy || op.kind == OpKind::kViewWrite) return {};
    if (!a.viewed || a.sizes.rank() == 0 || a.strides[a.sizes.rank() - 1] == Dim(1)) return {};
    return Unimplemented("cpu: ", ir::Name(op.kind), " (origin \"", op.origin,
                         "\") reads a view with strides ", ToString(a.strides), "; copy it first");
  }

  Status LinkCall(const Graph& graph, const KernelRow* row, const BufferAssignment& assignment,
                  std::vector<Address>& scope, OpId id, int block, int point) {
    const Op& op = graph.ops[id];
    Call call;
    call.run = row->run;
    call.attrs = op.attrs;
    for (ValueId v : op.operands) {
      MOXIE_RETURN_IF_ERROR(CheckContiguousRows(op, scope[v]));
      call.in.push_back(scope[v]);
    }
    for (ValueId v : op.results) {
      // A state's next version lies where the last one did.
      scope[v] = graph.value(v).state
                     ? scope[op.operands[static_cast<size_t>(ir::Row(op.kind).writes_state)]]
                     : InSlot(graph.value(v), assignment.slots[v]);
      call.out.push_back(scope[v]);
    }
    if (op.kind == OpKind::kViewWrite) {
      call.out.push_back(ViewOf(call.out[0], call.in[1].sizes, op.view));
    }
    if (const Slot& w = assignment.workspaces[id]; w.kind == Slot::Kind::kArena) {
      call.workspace =
          memory_.arena.subspan(static_cast<size_t>(w.offset), static_cast<size_t>(w.bytes));
    }
    call.in_views.resize(call.in.size());
    call.out_views.resize(call.out.size());
    e_.blocks_[static_cast<size_t>(block)].items.push_back(
        {static_cast<int>(e_.calls_.size()), -1, point});
    e_.calls_.push_back(std::move(call));
    return {};
  }

  Status LinkRepeat(const Graph& graph, const Selection& selection,
                    const BufferAssignment& assignment, std::vector<Address>& scope, OpId id,
                    int block, int depth, int point) {
    const Op& op = graph.ops[id];
    const Graph& body = op.regions[0];
    const BufferAssignment& inner = assignment.bodies[id];
    const size_t carries = static_cast<size_t>(op.attrs.Int(ir::AttrKey::kCarries));
    if (depth + 1 >= kMaxDepth) return Unimplemented("cpu: repeats nest deeper than ", kMaxDepth);
    const int child = static_cast<int>(e_.blocks_.size());
    e_.blocks_.emplace_back();
    e_.blocks_[static_cast<size_t>(block)].items.push_back({-1, child, point});

    std::vector<Address> body_scope(body.values.size());
    for (size_t i = 0; i < op.operands.size(); ++i) {
      Address& param = body_scope[body.inputs[i]];
      param = i < carries ? InSlot(body.value(body.inputs[i]), inner.slots[body.inputs[i]])
                          : scope[op.operands[i]];
      if (graph.value(op.operands[i]).count > 1) param.depth = depth + 1;
    }
    MOXIE_RETURN_IF_ERROR(LinkOps(body, selection.bodies[id], inner, body_scope, child, depth + 1));

    Block& linked = e_.blocks_[static_cast<size_t>(child)];
    linked.n = op.attrs.Int(ir::AttrKey::kN);
    linked.depth = depth + 1;
    linked.enter = point;
    linked.exit = clock_++;
    if (assignment.staging[id].kind == Slot::Kind::kArena) {
      linked.staging = memory_.arena.data() + assignment.staging[id].offset;
    }
    for (size_t i = 0; i < carries; ++i) {
      const Address& carry = body_scope[body.inputs[i]];
      for (const Address& from : {scope[op.operands[i]], body_scope[body.outputs[i]]}) {
        if (from.viewed)
          return Unimplemented("cpu: repeat carries a view (origin \"", op.origin,
                               "\"); copy it first");
      }
      AddMove(linked.first, scope[op.operands[i]], carry);
      AddMove(linked.next, body_scope[body.outputs[i]], carry);
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      scope[op.results[i]] = i < carries ? body_scope[body.inputs[i]] : scope[op.operands[i]];
    }
    return {};
  }

  static void AddMove(std::vector<Move>& moves, const Address& from, const Address& to) {
    if (from.base != to.base) moves.push_back({from, to});
  }

  Executor& e_;
  const Memory& memory_;
  int clock_ = 0;                          // counts points as the assignment did
  std::map<ValueId, std::byte*> donated_;  // by donated input of the top-level graph
};

Result<Executor> Executor::Link(const Graph& graph, const Selection& selection,
                                const BufferAssignment& assignment, const Memory& memory,
                                ThreadPool* pool, bool guard) {
  if (static_cast<int64_t>(memory.arena.size()) < assignment.arena_bytes) {
    return Internal("the arena has ", memory.arena.size(), " bytes, the assignment needs ",
                    assignment.arena_bytes);
  }
  Executor executor;
  executor.pool_ = pool;
  if (guard) executor.guard_ = std::make_unique<ArenaGuard>(assignment, memory.arena);
  MOXIE_RETURN_IF_ERROR(Linker(executor, memory).Run(graph, selection, assignment));
  return executor;
}

TensorView Executor::View(const Address& a) const {
  TensorView view;
  view.data = a.base + (a.depth >= 0 ? iteration_[static_cast<size_t>(a.depth)] * a.stride : 0);
  view.dtype = a.dtype;
  view.packing = a.packing;
  view.rank = a.sizes.rank();
  int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    const size_t k = static_cast<size_t>(i);
    view.sizes[k] = a.sizes[i].At(live_);
    view.strides[k] = a.viewed ? a.strides[i].At(live_) : stride;
    stride *= view.sizes[k];
  }
  return view;
}

void Executor::MoveAll(std::span<const Move> moves, std::byte* staging) const {
  auto bytes = [](const TensorView& v) {
    return static_cast<size_t>(v.elements() * tensor::ByteSize(v.dtype));
  };
  if (staging == nullptr) {
    for (const Move& m : moves) {
      const TensorView to = View(m.to);
      std::memcpy(to.data, View(m.from).data, bytes(to));
    }
    return;
  }
  std::byte* at = staging;
  for (const Move& m : moves) {
    const TensorView from = View(m.from);
    std::memcpy(at, from.data, bytes(from));
    at += bytes(from);
  }
  at = staging;
  for (const Move& m : moves) {
    const TensorView to = View(m.to);
    std::memcpy(to.data, at, bytes(to));
    at += bytes(to);
  }
}

void Executor::RunBlock(const Block& block) {
  MoveAll(block.first, nullptr);
  if (guard_ && block.enter >= 0) guard_->Finish();
  for (int64_t i = 0; i < block.n; ++i) {
    if (block.depth >= 0) iteration_[static_cast<size_t>(block.depth)] = i;
    for (const Item& item : block.items) {
      if (guard_) guard_->Advance(item.point);
      if (item.block >= 0) {
        RunBlock(blocks_[static_cast<size_t>(item.block)]);
        continue;
      }
      Call& call = calls_[static_cast<size_t>(item.call)];
      for (size_t k = 0; k < call.in.size(); ++k) call.in_views[k] = View(call.in[k]);
      for (size_t k = 0; k < call.out.size(); ++k) call.out_views[k] = View(call.out[k]);
      call.run({call.in_views, call.out_views, call.attrs, call.workspace, *pool_});
      if (guard_) guard_->Finish();
    }
    if (guard_ && block.enter >= 0) guard_->Advance(block.exit);
    MoveAll(block.next, block.staging);
    if (guard_ && block.enter >= 0) {
      guard_->FinishIteration(block.enter, block.exit, i + 1 == block.n);
    }
  }
}

void Executor::Run(const tensor::Extents& live) {
  live_ = live;
  if (guard_) guard_->Reset();
  RunBlock(blocks_[0]);
}

TensorView Executor::output(size_t i) const { return View(outputs_[i]); }

}  // namespace moxie::cpu
