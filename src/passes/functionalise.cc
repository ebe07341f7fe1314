// Two stages, each a titled section below:
//   1. versions: every op is copied with its operands replaced by the current versions of what they
//      name, and its writes become next versions;
//   2. clones: copies that nobody can tell from their source are removed.
#include "passes/functionalise.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "ir/schema.h"
#include "ir/verifier.h"
#include "ir/view.h"

namespace moxie::passes {
namespace {

using ir::Graph;
using ir::kNoId;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;
using ir::ValueId;
using ir::ValueKind;
using ir::ViewSpec;

// ---------------------------------------------------------------- clones

// By version of a donated input: the op that makes the next one.
using Overwritten = std::map<ValueId, OpId>;

// True when `op` changes the storage of its operand `i`, which therefore must be nobody else's.
bool WritesInto(const Op& op, size_t i) {
  if (op.kind == OpKind::kViewWrite) return i == 0;
  if (op.kind != OpKind::kCustom) return false;
  auto effects = ir::EffectsOf(op);
  return effects.ok() && std::count(effects->written.begin(), effects->written.end(), i) > 0;
}

bool IsView(const Graph& graph, ValueId v) {
  const Value& value = graph.value(v);
  return value.kind == ValueKind::kResult &&
         ir::ViewedOperand(graph.op(value.op), value.index) >= 0;
}

// True when every reader of `clone`, a copy of `source`, may read `source` instead.
bool Folds(const Graph& graph, ValueId clone, ValueId source, const Overwritten& overwritten) {
  if (IsView(graph, source)) return false;
  for (const auto* list : {&graph.outputs, &graph.final_inputs}) {
    const bool leaf = graph.value(source).kind != ValueKind::kResult;
    const bool lost = leaf || overwritten.contains(source);
    if (lost && std::count(list->begin(), list->end(), clone) > 0) return false;
  }
  const auto next = overwritten.find(source);
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] != clone) continue;
      if (WritesInto(op, i) || IsView(graph, op.results.empty() ? clone : op.results[0]))
        return false;
      if (next == overwritten.end()) continue;
      const bool with_the_write =
          id == next->second && ir::Row(op.kind).op_class == ir::OpClass::kElementwise;
      if (id >= next->second && !with_the_write) return false;
    }
  }
  return true;
}

// `graph` without the ops of `folded`, whose results are replaced by what `instead` maps them to.
Graph Without(const Graph& graph, const std::unordered_set<OpId>& folded,
              const std::vector<ValueId>& instead) {
  Graph out = graph;
  out.values.clear();
  out.ops.clear();
  std::vector<ValueId> map(graph.values.size(), kNoId);
  auto mapped = [&](std::vector<ValueId> ids) {
    for (ValueId& v : ids) v = map[instead[v]];
    return ids;
  };
  for (ValueId v = 0; v < graph.values.size(); ++v) {
    if (instead[v] != v) continue;
    map[v] = static_cast<ValueId>(out.values.size());
    out.values.push_back(graph.value(v));
  }
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    if (folded.contains(id)) continue;
    Op op = graph.ops[id];
    op.operands = mapped(op.operands);
    op.results = mapped(op.results);
    for (ValueId v : op.results) out.values[v].op = static_cast<OpId>(out.ops.size());
    out.ops.push_back(std::move(op));
  }
  for (auto* list : {&out.inputs, &out.outputs, &out.final_states, &out.final_inputs}) {
    *list = mapped(*list);
  }
  return out;
}

Graph FoldClones(Graph graph, const Overwritten& overwritten) {
  std::unordered_set<OpId> folded;
  std::vector<ValueId> instead(graph.values.size());
  for (ValueId v = 0; v < instead.size(); ++v) instead[v] = v;
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    if (op.kind != OpKind::kCopy) continue;
    const ValueId source = instead[op.operands[0]];
    if (!Folds(graph, op.results[0], source, overwritten)) continue;
    folded.insert(id);
    instead[op.results[0]] = source;
  }
  return folded.empty() ? graph : Without(graph, folded, instead);
}

// ---------------------------------------------------------------- versions

struct Storage {
  ValueId version = kNoId;   // in the functional graph
  std::string_view refusal;  // why it may not be written; empty when it may
  bool donated = false;
};

// What a value of the imperative graph names.
struct Place {
  size_t storage = 0;
  std::optional<ViewSpec> view;  // none: all of it
  // The value that stood for the view, and the version it was taken from. A custom op's view cannot
  // be taken again.
  ValueId taken = kNoId;
  ValueId taken_from = kNoId;
  bool custom = false;
};

class Functionaliser {
 public:
  explicit Functionaliser(const Graph& graph) : in_(graph), places_(graph.values.size()) {
    out_.name = graph.name;
    out_.weights = graph.weights;
    out_.states = graph.states;
  }

  // `repeat`: the op whose body the graph is, or null at top level.
  Result<Graph> Run(const Op* repeat) {
    AddLeaves(repeat);
    for (OpId id = 0; id < in_.ops.size(); ++id) {
      Status status = Visit(in_.ops[id]);
      if (!status.ok()) return std::move(status).WithContext(Where(id));
    }
    for (ValueId v : in_.outputs) {
      MOXIE_ASSIGN_OR_RETURN(ValueId out, Read(v));
      out_.outputs.push_back(out);
    }
    for (ValueId v : in_.final_states) {
      MOXIE_ASSIGN_OR_RETURN(ValueId out, Read(v));
      out_.final_states.push_back(out);
    }
    MOXIE_RETURN_IF_ERROR(Donate());
    return FoldClones(std::move(out_), overwritten_);
  }

 private:
  std::string Where(OpId id) const {
    return StrCat("functionalise: graph @", in_.name, ": op ", id, " ", ir::Name(in_.op(id).kind),
                  " (origin \"", in_.op(id).origin, "\")");
  }
  std::string Ref(ValueId v) const { return StrCat("%", in_.value(v).name); }

  // ---- leaves
  void AddLeaves(const Op* repeat) {
    for (ValueId v = 0; v < in_.values.size(); ++v) {
      const Value& value = in_.value(v);
      if (value.kind == ValueKind::kResult) continue;
      const ValueId out = NewValue(value);
      NewStorage(v, out);
      storages_.back().refusal = Refusal(v, repeat);
      storages_.back().donated = value.donated;
    }
    for (ValueId v : in_.inputs) out_.inputs.push_back(storages_[places_[v].storage].version);
  }
  // Why a leaf may not be written.
  std::string_view Refusal(ValueId v, const Op* repeat) const {
    const Value& value = in_.value(v);
    if (value.kind == ValueKind::kWeight) return "a weight";
    if (value.kind == ValueKind::kInput && !value.donated)
      return "an input that is not donated (R6)";
    if (value.kind != ValueKind::kParam || value.state) return "";
    const auto at = std::find(in_.inputs.begin(), in_.inputs.end(), v) - in_.inputs.begin();
    return at < repeat->attrs.Int(ir::AttrKey::kCarries) ? "" : "what all iterations share";
  }

  void NewStorage(ValueId source, ValueId version) {
    places_[source] = Place{storages_.size(), std::nullopt, kNoId, kNoId, false};
    storages_.push_back(Storage{version, "", false});
  }

  ValueId NewValue(Value value) {
    const std::string base = value.name;
    for (int i = 1; !names_.insert(value.name).second; ++i) value.name = StrCat(base, ".", i);
    out_.values.push_back(std::move(value));
    return static_cast<ValueId>(out_.values.size() - 1);
  }

  // Adds `op`; its results are given without what makes them its results.
  std::vector<ValueId> Append(Op op, std::vector<Value> results) {
    op.results.clear();
    op.in_place = false;
    for (Value& value : results) {
      value.kind = ValueKind::kResult;
      value.donated = false;
      value.op = static_cast<OpId>(out_.ops.size());
      value.index = static_cast<uint32_t>(op.results.size());
      op.results.push_back(NewValue(std::move(value)));
    }
    std::vector<ValueId> ids = op.results;
    out_.ops.push_back(std::move(op));
    return ids;
  }

  // ---- reading
  // The value of the functional graph that `v` now is.
  Result<ValueId> Read(ValueId v) {
    Place& place = places_[v];
    const ValueId version = storages_[place.storage].version;
    if (!place.view && !place.custom) return version;
    if (place.taken_from == version) return place.taken;
    if (place.custom) {
      return InvalidArgument(Ref(v),
                             " is a custom op's view of storage that has been written since;"
                             " it cannot be taken again");
    }
    Op op;
    op.kind = OpKind::kView;
    op.operands = {version};
    op.view = *place.view;
    op.origin = origin_;
    place.taken = Append(std::move(op), {in_.value(v)})[0];
    place.taken_from = version;
    return place.taken;
  }
  Result<std::vector<ValueId>> ReadAll(const std::vector<ValueId>& operands) {
    std::vector<ValueId> out;
    for (ValueId v : operands) {
      MOXIE_ASSIGN_OR_RETURN(ValueId read, Read(v));
      out.push_back(read);
    }
    return out;
  }

  // ---- writing
  static ViewSpec Compose(const std::optional<ViewSpec>& outer, ViewSpec inner) {
    if (outer) inner.offset += outer->offset;
    return inner;
  }

  Status CheckWritable(ValueId target) const {
    const Place& place = places_[target];
    const Storage& storage = storages_[place.storage];
    if (!storage.refusal.empty()) {
      return InvalidArgument("writes ", Ref(target), ", which is ",
                             place.view || place.custom ? "a view of " : "", storage.refusal);
    }
    if (place.custom) {
      return InvalidArgument("writes ", Ref(target),
                             ", a custom op's view: where it lies in its "
                             "base is not known");
    }
    if (place.view && out_.value(storage.version).state) {
      return InvalidArgument("writes ", Ref(target),
                             ", a view of state, which only ops that declare so may write (R1)");
    }
    if (place.view && ir::MayOverlapItself(in_.value(target).type.shape, *place.view)) {
      return InvalidArgument("overlapping write: view ", Ref(target), " ",
                             ToString(in_.value(target).type.shape), " strides ",
                             ToString(place.view->strides), " may reach an element twice (R2)");
    }
    return {};
  }

  // Makes `value` what `target` holds, or what the part `within` of it holds.
  void Write(ValueId target, const std::optional<ViewSpec>& within, ValueId value) {
    const Place& place = places_[target];
    Storage& storage = storages_[place.storage];
    const ValueId old = storage.version;
    if (!place.view && !within) {
      storage.version = value;
    } else {
      Op op;
      op.kind = OpKind::kViewWrite;
      op.operands = {old, value};
      op.view = within ? Compose(place.view, *within) : *place.view;
      op.origin = origin_;
      storage.version = Append(std::move(op), {out_.value(old)})[0];
    }
    if (storage.donated) overwritten_[old] = static_cast<OpId>(out_.ops.size() - 1);
  }

  // ---- ops
  Status Visit(const Op& op) {
    origin_ = op.origin;
    if (op.kind == OpKind::kView) return View(op);
    if (op.kind == OpKind::kCustom) return Custom(op);
    if (op.in_place) return InPlace(op);
    if (op.kind == OpKind::kComposite) {
      return FailedPrecondition("composite \"", op.attrs.Text(ir::AttrKey::kCallee),
                                "\" must be inlined first");
    }
    return Pure(op);
  }

  Status View(const Op& op) {
    const Place& base = places_[op.operands[0]];
    if (base.custom) {
      MOXIE_ASSIGN_OR_RETURN(ValueId from, Read(op.operands[0]));
      Op view = op;
      view.operands = {from};
      const ValueId taken = Append(std::move(view), {in_.value(op.results[0])})[0];
      places_[op.results[0]] = Place{base.storage, std::nullopt, taken, base.taken_from, true};
    } else {
      places_[op.results[0]] =
          Place{base.storage, Compose(base.view, op.view), kNoId, kNoId, false};
    }
    return {};
  }

  Status Pure(const Op& op) {
    Op copy = op;
    MOXIE_ASSIGN_OR_RETURN(copy.operands, ReadAll(op.operands));
    if (op.kind == OpKind::kCopy && out_.value(copy.operands[0]).state) {
      return InvalidArgument("copies the state ", Ref(op.operands[0]),
                             ": a state has one version at a time (R1)");
    }
    if (op.kind == OpKind::kRepeat) {
      MOXIE_ASSIGN_OR_RETURN(copy.regions[0], Functionaliser(op.regions[0]).Run(&op));
    }
    std::vector<Value> values;
    for (ValueId v : op.results) values.push_back(in_.value(v));
    const std::vector<ValueId> results = Append(std::move(copy), std::move(values));
    for (size_t i = 0; i < results.size(); ++i) NewStorage(op.results[i], results[i]);
    return {};
  }

  Status InPlace(const Op& op) {
    const ValueId target = op.operands[0];
    MOXIE_RETURN_IF_ERROR(CheckWritable(target));
    if (op.kind == OpKind::kViewWrite) {
      MOXIE_ASSIGN_OR_RETURN(ValueId value, Read(op.operands[1]));
      Write(target, op.view, value);
      return {};
    }
    Op copy = op;
    MOXIE_ASSIGN_OR_RETURN(copy.operands, ReadAll(op.operands));
    Write(target, std::nullopt, Append(std::move(copy), {in_.value(target)})[0]);
    return {};
  }

  // ---- custom ops
  bool SamePlace(ValueId a, ValueId b) const {
    const Place &pa = places_[a], &pb = places_[b];
    return pa.storage == pb.storage && pa.view == pb.view && pa.custom == pb.custom &&
           (!pa.custom || pa.taken == pb.taken) && in_.value(a).type == in_.value(b).type;
  }
  bool Meet(ValueId a, ValueId b) const {
    const Place &pa = places_[a], &pb = places_[b];
    if (pa.storage != pb.storage) return false;
    if (!pa.view || !pb.view) return true;
    return ir::MayMeet(in_.value(a).type.shape, *pa.view, in_.value(b).type.shape, *pb.view);
  }

  Status Custom(const Op& op) {
    Op call = op;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (SamePlace(call.operands[i], call.operands[j])) call.operands[i] = call.operands[j];
      }
    }
    MOXIE_ASSIGN_OR_RETURN(const ir::Effects effects, ir::EffectsOf(call));
    const std::vector<ValueId> named = call.operands;
    for (size_t w : effects.written) MOXIE_RETURN_IF_ERROR(CheckWritable(named[w]));
    MOXIE_ASSIGN_OR_RETURN(const std::vector<bool> apart, MustBeApart(named, effects));
    MOXIE_ASSIGN_OR_RETURN(call.operands, ReadAll(named));
    for (size_t i = 0; i < named.size(); ++i) {
      if (apart[i]) call.operands[i] = Clone(call.operands[i]);
    }
    std::vector<Value> values;
    for (ValueId v : op.results) values.push_back(in_.value(v));
    for (size_t w : effects.written) values.push_back(in_.value(named[w]));
    const std::vector<ValueId> results = Append(std::move(call), std::move(values));
    for (size_t i = 0; i < effects.returns; ++i) {
      NewStorage(op.results[i], results[i]);
      if (effects.view_of[i] < 0) continue;
      const size_t storage = places_[named[static_cast<size_t>(effects.view_of[i])]].storage;
      places_[op.results[i]] =
          Place{storage, std::nullopt, results[i], storages_[storage].version, true};
    }
    for (size_t k = 0; k < effects.written.size(); ++k) {
      Write(named[effects.written[k]], std::nullopt, results[effects.returns + k]);
    }
    return {};
  }

  // By operand: it is only read, and meets one that is written, so the op must get a copy. Written
  // operands may be the same, but not meet in part.
  Result<std::vector<bool>> MustBeApart(const std::vector<ValueId>& named,
                                        const ir::Effects& effects) const {
    std::vector<bool> apart(named.size(), false);
    for (size_t w : effects.written) {
      for (size_t i = 0; i < named.size(); ++i) {
        if (i == w || !Meet(named[i], named[w])) continue;
        if (!effects.declared[i]) {
          apart[i] = true;
        } else if (named[i] != named[w]) {
          return InvalidArgument("overlapping writes: operands ", Ref(named[w]), " and ",
                                 Ref(named[i]), " share elements (R2)");
        }
      }
    }
    return apart;
  }

  ValueId Clone(ValueId v) {
    Op op;
    op.kind = OpKind::kCopy;
    op.operands = {v};
    op.origin = origin_;
    Value value = out_.value(v);
    return Append(std::move(op), {std::move(value)})[0];
  }

  // ---- donation (R6)
  Status Donate() {
    for (ValueId v : in_.DonatedInputs()) {
      out_.final_inputs.push_back(storages_[places_[v].storage].version);
    }
    const std::vector<ValueId> inputs = out_.DonatedInputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (out_.final_inputs[i] != inputs[i]) continue;  // written: its last version
      MOXIE_ASSIGN_OR_RETURN(out_.final_inputs[i], OutputFor(inputs[i]));
    }
    return {};
  }
  // The one output that can take the storage of an input that is donated but never written.
  Result<ValueId> OutputFor(ValueId input) const {
    ValueId found = kNoId;
    for (ValueId v : out_.outputs) {
      const bool fits = out_.value(v).type == out_.value(input).type &&
                        out_.value(v).kind == ValueKind::kResult && !IsView(out_, v) &&
                        !out_.value(v).state && v != found;
      const bool taken = std::count(out_.final_inputs.begin(), out_.final_inputs.end(), v) > 0;
      if (!fits || taken) continue;
      if (found != kNoId) {
        return InvalidArgument("functionalise: graph @", in_.name, ": ambiguous donation of %",
                               out_.value(input).name, ": outputs %", out_.value(found).name,
                               " and %", out_.value(v).name, " could both take its storage (R6)");
      }
      found = v;
    }
    if (found != kNoId) return found;
    return InvalidArgument("functionalise: graph @", in_.name, ": unused donation of %",
                           out_.value(input).name, " ", ToString(out_.value(input).type),
                           ": it is never written, and no output can take its storage (R6)");
  }

  const Graph& in_;
  Graph out_;
  std::vector<Storage> storages_;
  std::vector<Place> places_;  // by ValueId of in_
  std::unordered_set<std::string> names_;
  std::string origin_;  // of the op being visited
  Overwritten overwritten_;
};

}  // namespace

Result<Graph> Functionalise(const Graph& graph) {
  MOXIE_RETURN_IF_ERROR(ir::Verify(graph));
  if (graph.form == ir::Form::kFunctional) return graph;
  MOXIE_ASSIGN_OR_RETURN(Graph out, Functionaliser(graph).Run(nullptr));
  MOXIE_RETURN_IF_ERROR(ir::Verify(out));
  return out;
}

}  // namespace moxie::passes
