#include "ir/verifier.h"

#include <algorithm>

#include "ir/schema.h"
#include "ir/view.h"

namespace moxie::ir {
namespace {

// True when a region replaces the state that its parameter `i` stands for.
bool WritesParam(const Graph& region, size_t i);

// True when `op`, of a graph in `form`, makes a next version of its operand `i`.
bool WritesOperand(const Op& op, size_t i, Form form) {
  if (op.in_place) return false;
  if (op.kind == OpKind::kCustom) {
    auto effects = EffectsOf(op);
    return form == Form::kFunctional && effects.ok() &&
           std::count(effects->written.begin(), effects->written.end(), i) > 0;
  }
  if (op.kind == OpKind::kRepeat) {
    const size_t carries = static_cast<size_t>(op.attrs.Int(AttrKey::kCarries));
    return i >= carries && i < carries + static_cast<size_t>(op.attrs.Int(AttrKey::kStates));
  }
  if (op.kind == OpKind::kComposite) return !op.regions.empty() && WritesParam(op.regions[0], i);
  return Row(op.kind).writes_state == static_cast<int>(i);
}

bool WritesParam(const Graph& region, size_t i) {
  const ValueId param = region.inputs[i];
  for (const Op& op : region.ops) {
    for (size_t k = 0; k < op.operands.size(); ++k) {
      if (op.operands[k] == param && WritesOperand(op, k, region.form)) return true;
    }
  }
  return false;
}

// Bounds that keep the arithmetic of the passes inside 64 bits.
constexpr int64_t kMaxFactor = int64_t{1} << 31;  // of a dimension; integers of attributes
constexpr int64_t kMaxElements = int64_t{1} << 52;
constexpr int64_t kMaxCount = 1 << 16;  // of a stack, of iterations

class Verifier {
 public:
  Verifier(const Graph& graph, bool region) : graph_(graph), region_(region) {}

  Status Run() {
    MOXIE_RETURN_IF_ERROR(CheckIds());
    MOXIE_RETURN_IF_ERROR(CheckSizes());
    MOXIE_RETURN_IF_ERROR(CheckLeaves());
    for (OpId id = 0; id < graph_.ops.size(); ++id) {
      Status status = CheckOp(id);
      if (!status.ok()) return std::move(status).WithContext(Where(id));
    }
    MOXIE_RETURN_IF_ERROR(CheckEnd());
    return CheckStates();
  }

 private:
  std::string Where(OpId id) const {
    const Op& op = graph_.op(id);
    return StrCat("graph @", graph_.name, ": op ", id, " ", Name(op.kind), " (origin \"", op.origin,
                  "\")");
  }
  std::string Ref(ValueId v) const { return StrCat("%", graph_.value(v).name); }

  // Every id in range, so that the checks below may index freely.
  Status CheckIds() const {
    const size_t n = graph_.values.size();
    auto in_range = [&](const std::vector<ValueId>& ids) {
      return std::all_of(ids.begin(), ids.end(), [&](ValueId v) { return v < n; });
    };
    bool good = in_range(graph_.inputs) && in_range(graph_.outputs) &&
                in_range(graph_.final_states) && in_range(graph_.final_inputs);
    for (const Op& op : graph_.ops) {
      good = good && in_range(op.operands) && in_range(op.results);
      if (op.forms.size() != op.regions.size()) good = false;
    }
    if (!good) return Internal("graph @", graph_.name, ": a value id is out of range");
    return {};
  }

  // Every size, stride and count is one that the arithmetic of the passes can hold.
  Status CheckSizes() const {
    const Extents largest = ExtremeExtents()[1];
    for (const Value& value : graph_.values) {
      double elements = 1;
      bool good = value.count >= 1 && value.count <= kMaxCount && value.type.shape.rank() > 0;
      for (Dim d : value.type.shape.dims()) {
        good = good && d.factor >= 1 && d.factor <= kMaxFactor;
        elements *= static_cast<double>(d.factor) * static_cast<double>(largest[d.var]);
      }
      if (!good || elements > kMaxElements) {
        return InvalidArgument("graph @", graph_.name, ": %", value.name, " ", ToString(value.type),
                               value.count == 1 ? "" : StrCat(" x", value.count),
                               ": no sizes, or a size or count below 1 or too large");
      }
    }
    for (OpId id = 0; id < graph_.ops.size(); ++id) {
      const ViewSpec& view = graph_.op(id).view;
      auto within = [](int64_t v, int64_t most) { return -most <= v && v <= most; };
      bool good = within(view.offset, kMaxElements);
      for (Dim d : view.strides.dims()) good = good && within(d.factor, kMaxElements);
      if (!good) return InvalidArgument(Where(id), ": an offset or stride is too large");
    }
    return {};
  }

  Status CheckLeaves() {
    defined_.assign(graph_.values.size(), false);
    for (ValueId v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.value(v);
      if (value.kind == ValueKind::kResult) continue;
      defined_[v] = true;
      MOXIE_RETURN_IF_ERROR(CheckLeaf(v, value));
    }
    return {};
  }
  Status CheckLeaf(ValueId v, const Value& value) const {
    if (region_ != (value.kind == ValueKind::kParam)) {
      return InvalidArgument(
          "graph @", graph_.name, ": ", Ref(v), ": ",
          region_ ? "a region may only read its parameters (R3)" : "a parameter outside a region");
    }
    if (value.kind == ValueKind::kWeight) {
      const WeightSpec* spec =
          value.index < graph_.weights.size() ? &graph_.weights[value.index] : nullptr;
      if (spec == nullptr || spec->type != value.type || spec->count != value.count) {
        return InvalidArgument("graph @", graph_.name, ": ", Ref(v),
                               ": does not match its weight spec");
      }
      if (spec->checkpoint.empty() == spec->derived.empty()) {
        return InvalidArgument("graph @", graph_.name, ": weight ", Ref(v),
                               ": needs either a checkpoint name or a derivation");
      }
    }
    if (value.donated && (value.kind != ValueKind::kInput || value.count != 1)) {
      return InvalidArgument("graph @", graph_.name, ": ", Ref(v),
                             ": only an input can be donated,", " and no stack");
    }
    if (value.kind == ValueKind::kState && (value.index >= graph_.states.size() || !value.state)) {
      return InvalidArgument("graph @", graph_.name, ": ", Ref(v),
                             ": does not match its state spec");
    }
    return {};
  }

  Status CheckOp(OpId id) {
    const Op& op = graph_.op(id);
    const OpRow& row = Row(op.kind);
    const int n = static_cast<int>(op.operands.size());
    if (n < row.min_operands || (row.max_operands >= 0 && n > row.max_operands)) {
      return InvalidArgument("takes ", row.min_operands, " to ", row.max_operands,
                             " operands, got ", n);
    }
    for (ValueId v : op.operands) {
      if (!defined_[v]) return InvalidArgument("operand ", Ref(v), " is used before it is defined");
    }
    MOXIE_RETURN_IF_ERROR(CheckAttrs(op, row));
    MOXIE_RETURN_IF_ERROR(CheckKind(op, row));
    for (size_t i = 0; i < op.results.size(); ++i) {
      const ValueId v = op.results[i];
      if (defined_[v]) return InvalidArgument("result ", Ref(v), " is defined twice");
      if (graph_.value(v).op != id || graph_.value(v).index != i) {
        return Internal("result ", Ref(v), " does not point back to its op");
      }
      defined_[v] = true;
    }
    return {};
  }

  Status CheckKind(const Op& op, const OpRow& row) const {
    if (op.in_place) return CheckInPlace(op, row);
    switch (op.kind) {
      case OpKind::kView:
        return CheckView(op);
      case OpKind::kEmpty:
        return CheckEmpty(op);
      case OpKind::kCustom:
        return CheckCustom(op);
      case OpKind::kRepeat:
        return CheckRepeat(op);
      case OpKind::kComposite:
        return CheckComposite(op);
      default:
        return CheckPlain(op, row);
    }
  }

  static Status CheckAttrs(const Op& op, const OpRow& row) {
    for (AttrKey key : row.attrs) {
      if (op.attrs.Find(key) == nullptr)
        return InvalidArgument("attribute ", Name(key), " is missing");
    }
    for (const auto& [key, value] : op.attrs.items()) {
      if (std::find(row.attrs.begin(), row.attrs.end(), key) == row.attrs.end()) {
        return InvalidArgument("attribute ", Name(key), " does not belong to this op");
      }
      const int64_t* number = std::get_if<int64_t>(&value);
      const AttrType type = TypeOf(key);
      if (!Holds(type, value))
        return InvalidArgument("attribute ", Name(key), ": is no ", Name(type));
      if (type == AttrType::kInteger && (*number < 0 || *number > kMaxFactor)) {
        return InvalidArgument("attribute ", Name(key), ": ", *number, " is not from 0 to ",
                               kMaxFactor);
      }
    }
    return {};
  }

  Status NoStacks(const Op& op) const {
    for (ValueId v : op.operands) {
      if (graph_.value(v).count != 1) {
        return InvalidArgument("operand ", Ref(v), " is a stack of ", graph_.value(v).count,
                               "; only repeat takes one apart");
      }
    }
    return {};
  }

  Result<std::vector<TensorType>> Infer(const Op& op, const OpRow& row) const {
    MOXIE_RETURN_IF_ERROR(NoStacks(op));
    std::vector<TensorType> types;
    for (ValueId v : op.operands) types.push_back(graph_.value(v).type);
    MOXIE_ASSIGN_OR_RETURN(auto inferred, row.infer(types, op.attrs));
    if (op.kind == OpKind::kViewWrite) {
      MOXIE_RETURN_IF_ERROR(CheckAffine(op, types[1].shape));
      if (MayOverlapItself(types[1].shape, op.view)) {
        return InvalidArgument("overlapping write: ", ToString(types[1].shape), " strides ",
                               ToString(op.view.strides), " may reach an element twice (R2)");
      }
    }
    return inferred;
  }

  Status CheckInPlace(const Op& op, const OpRow& row) const {
    if (graph_.form != Form::kImperative) {
      return InvalidArgument("writes ", op.operands.empty() ? "" : Ref(op.operands[0]),
                             " in place, in a functional graph (R1)");
    }
    if (row.op_class != OpClass::kElementwise && op.kind != OpKind::kViewWrite &&
        row.writes_state != 0) {
      return InvalidArgument("cannot be written in place");
    }
    MOXIE_ASSIGN_OR_RETURN(auto inferred, Infer(op, row));
    if (!op.results.empty()) return InvalidArgument("in place, so it has no result");
    const Value& target = graph_.value(op.operands[0]);
    if (inferred[0] != target.type) {
      return InvalidArgument("in place: the result is ", ToString(inferred[0]), ", operand ",
                             Ref(op.operands[0]), " is ", ToString(target.type));
    }
    if (target.state != (row.writes_state == 0)) {
      return InvalidArgument("operand ", Ref(op.operands[0]), " is ", target.state ? "" : "not ",
                             "state, which only ops that declare so may write (R1)");
    }
    return {};
  }

  Status CheckEmpty(const Op& op) const {
    if (op.results.size() != 1) return InvalidArgument("has 1 result");
    const Value& result = graph_.value(op.results[0]);
    if (!result.state && result.count == 1) return {};
    return InvalidArgument("result ", Ref(op.results[0]), " is marked as state or a stack");
  }

  // Results: the declared returns; in the functional form then the next versions of what is
  // written.
  Status CheckCustom(const Op& op) const {
    MOXIE_RETURN_IF_ERROR(NoStacks(op));
    MOXIE_ASSIGN_OR_RETURN(const Effects effects, EffectsOf(op));
    const size_t versions = graph_.form == Form::kFunctional ? effects.written.size() : 0;
    if (op.results.size() != effects.returns + versions) {
      return InvalidArgument("has ", effects.returns + versions, " results, got ",
                             op.results.size());
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      const Value& result = graph_.value(op.results[i]);
      const bool version = i >= effects.returns;
      const int of =
          version ? static_cast<int>(effects.written[i - effects.returns]) : effects.view_of[i];
      const Value* operand = of < 0 ? nullptr : &graph_.value(op.operands[static_cast<size_t>(of)]);
      if (result.count != 1 || result.state != (version && operand->state)) {
        return InvalidArgument("result ", Ref(op.results[i]), ": wrongly marked as state or stack");
      }
      const bool fits = version   ? result.type == operand->type
                        : of >= 0 ? FitsInto(result.type, operand->type)
                                  : true;
      if (!fits) {
        return InvalidArgument("result ", Ref(op.results[i]), " ", ToString(result.type), " is a ",
                               version ? "version" : "view", " of operand ", of, " ",
                               ToString(operand->type));
      }
    }
    return {};
  }

  static bool FitsInto(const TensorType& view, const TensorType& base) {
    const auto extremes = ExtremeExtents();
    return view.dtype == base.dtype &&
           std::all_of(extremes.begin(), extremes.end(),
                       [&](const Extents& e) { return view.Bytes(e) <= base.Bytes(e); });
  }

  Status CheckPlain(const Op& op, const OpRow& row) const {
    MOXIE_ASSIGN_OR_RETURN(auto inferred, Infer(op, row));
    if (inferred.size() != op.results.size()) {
      return InvalidArgument("has ", inferred.size(), " results, got ", op.results.size());
    }
    for (size_t i = 0; i < inferred.size(); ++i) {
      const Value& result = graph_.value(op.results[i]);
      if (inferred[i] != result.type) {
        return InvalidArgument("result ", Ref(op.results[i]), ": expected ", ToString(inferred[i]),
                               ", got ", ToString(result.type));
      }
      if (result.state != (row.writes_state >= 0 && i == 0)) {
        return InvalidArgument("result ", Ref(op.results[i]), ": is ", result.state ? "" : "not ",
                               "marked as state");
      }
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const bool state = graph_.value(op.operands[i]).state;
      if (row.writes_state == static_cast<int>(i) && !state) {
        return InvalidArgument("operand ", Ref(op.operands[i]),
                               " is written but is not state (R1)");
      }
    }
    return {};
  }

  Status CheckView(const Op& op) const {
    MOXIE_RETURN_IF_ERROR(NoStacks(op));
    const Value& base = graph_.value(op.operands[0]);
    if (op.results.size() != 1) return InvalidArgument("has 1 result");
    const Value& result = graph_.value(op.results[0]);
    if (result.type.dtype != base.type.dtype)
      return InvalidArgument("a view keeps its base's dtype");
    return CheckAffine(op, result.type.shape);
  }
  // The elements that op.view and `sizes` name lie in operand 0.
  Status CheckAffine(const Op& op, const Shape& sizes) const {
    const Value& base = graph_.value(op.operands[0]);
    if (op.view.strides.rank() != sizes.rank()) {
      return InvalidArgument("sizes ", ToString(sizes), " and strides ", ToString(op.view.strides),
                             " differ in rank");
    }
    for (const Extents& e : ExtremeExtents()) {
      const auto [first, last] = Reach(sizes, op.view, e);
      if (first < 0 || (last >= base.type.shape.Elements(e) && !IsView(op.operands[0]))) {
        return InvalidArgument("view ", ToString(sizes), " offset ", op.view.offset, " strides ",
                               ToString(op.view.strides), " reaches outside its base ",
                               Ref(op.operands[0]), " ", ToString(base.type));
      }
    }
    return {};
  }
  bool IsView(ValueId v) const {
    const Value& value = graph_.value(v);
    return value.kind == ValueKind::kResult && graph_.op(value.op).kind == OpKind::kView;
  }

  Status CheckRegion(const Op& op, size_t r, bool unstack) const {
    const Graph& region = op.regions[r];
    if (region.form != graph_.form) {
      return InvalidArgument("form \"", op.forms[r], "\" is not in its graph's form");
    }
    if (region.inputs.size() != op.operands.size()) {
      return InvalidArgument("form \"", op.forms[r], "\" has ", region.inputs.size(),
                             " parameters for ", op.operands.size(), " operands");
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const Value& outer = graph_.value(op.operands[i]);
      const Value& param = region.value(region.inputs[i]);
      if (param.type != outer.type || param.state != outer.state ||
          param.count != (unstack ? 1 : outer.count)) {
        return InvalidArgument("form \"", op.forms[r], "\": parameter %", param.name, " is ",
                               ToString(param.type), ", operand ", Ref(op.operands[i]), " is ",
                               ToString(outer.type));
      }
    }
    if (region.outputs.size() != op.results.size()) {
      return InvalidArgument("form \"", op.forms[r], "\" yields ", region.outputs.size(),
                             " values for ", op.results.size(), " results");
    }
    MOXIE_RETURN_IF_ERROR(Verifier(region, true).Run());
    for (size_t i = 0; i < op.results.size(); ++i) {
      const Value& yielded = region.value(region.outputs[i]);
      const Value& result = graph_.value(op.results[i]);
      if (yielded.type != result.type || yielded.state != result.state) {
        return InvalidArgument("form \"", op.forms[r], "\" yields ", ToString(yielded.type),
                               " for result ", Ref(op.results[i]), " ", ToString(result.type));
      }
    }
    return {};
  }

  Status CheckComposite(const Op& op) const {
    if (op.regions.empty()) return InvalidArgument("composite without a form");
    for (size_t r = 0; r < op.regions.size(); ++r) MOXIE_RETURN_IF_ERROR(CheckRegion(op, r, false));
    return {};
  }

  Status CheckRepeat(const Op& op) const {
    const int64_t n = op.attrs.Int(AttrKey::kN), carries = op.attrs.Int(AttrKey::kCarries),
                  states = op.attrs.Int(AttrKey::kStates),
                  invariants = op.attrs.Int(AttrKey::kInvariants);
    const int64_t operands = static_cast<int64_t>(op.operands.size());
    if (n < 1 || n > kMaxCount || carries < 0 || states < 0 || invariants < 0 ||
        carries + states + invariants > operands) {
      return InvalidArgument("n, carries, states and invariants do not fit ", operands,
                             " operands");
    }
    if (op.regions.size() != 1 || static_cast<int64_t>(op.results.size()) != carries + states) {
      return InvalidArgument("needs one body and a result for each carry and state");
    }
    for (int64_t i = 0; i < operands; ++i) {
      const bool stacked =
          (i >= carries && i < carries + states) || i >= carries + states + invariants;
      const ValueId v = op.operands[static_cast<size_t>(i)];
      if (graph_.value(v).count != (stacked ? n : 1)) {
        return InvalidArgument("operand ", Ref(v), " is a stack of ", graph_.value(v).count,
                               ", expected ", stacked ? n : 1);
      }
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (graph_.value(op.results[i]).count != graph_.value(op.operands[i]).count) {
        return InvalidArgument("result ", Ref(op.results[i]), " differs in count from its operand");
      }
    }
    return CheckRegion(op, 0, true);
  }

  Status CheckEnd() const {
    std::vector<bool> used(graph_.values.size(), false);
    for (const Op& op : graph_.ops) {
      for (ValueId v : op.operands) used[v] = true;
    }
    for (const auto* list : {&graph_.outputs, &graph_.final_states, &graph_.final_inputs}) {
      for (ValueId v : *list) {
        used[v] = true;
        if (!defined_[v])
          return InvalidArgument("graph @", graph_.name, ": returns ", Ref(v), ", never defined");
      }
    }
    for (ValueId v = 0; !region_ && v < graph_.values.size(); ++v) {
      const ValueKind kind = graph_.value(v).kind;
      if (!used[v] && !graph_.value(v).donated &&
          (kind == ValueKind::kWeight || kind == ValueKind::kInput)) {
        return InvalidArgument("graph @", graph_.name, ": ",
                               kind == ValueKind::kWeight ? "weight " : "input ", Ref(v),
                               " is never used");
      }
    }
    if (!region_ && graph_.final_states.size() != graph_.states.size()) {
      return InvalidArgument("graph @", graph_.name, ": ", graph_.states.size(), " states, but ",
                             graph_.final_states.size(), " final versions");
    }
    return CheckDonations();
  }

  // R6: each donated input's storage ends as one op's result, which nothing else claims.
  Status CheckDonations() const {
    const std::vector<ValueId> donated = graph_.DonatedInputs();
    const size_t expected = graph_.form == Form::kFunctional ? donated.size() : 0;
    if (graph_.final_inputs.size() != expected) {
      return InvalidArgument("graph @", graph_.name, ": ", expected, " donated inputs, but ",
                             graph_.final_inputs.size(), " final versions of them (R6)");
    }
    for (size_t i = 0; i < expected; ++i) {
      const ValueId v = graph_.final_inputs[i];
      const Value& value = graph_.value(v);
      const Value& input = graph_.value(donated[i]);
      if (value.type != input.type || value.kind != ValueKind::kResult || Root(v) != v ||
          value.state) {
        return InvalidArgument("graph @", graph_.name, ": donated input %", input.name, " ends as ",
                               Ref(v), " ", ToString(value.type), ", expected an op's result ",
                               ToString(input.type), " (R6)");
      }
      if (std::count(graph_.final_inputs.begin(), graph_.final_inputs.end(), v) > 1) {
        return InvalidArgument("graph @", graph_.name, ": ", Ref(v),
                               " is the end of two donated inputs: ambiguous donation (R6)");
      }
    }
    for (ValueId v : graph_.outputs) {
      if (expected > 0 && graph_.value(Root(v)).donated) {
        return InvalidArgument("graph @", graph_.name, ": output ", Ref(v),
                               " lies in donated input ", Ref(Root(v)),
                               ", which is overwritten; return a copy (R6)");
      }
    }
    return {};
  }
  // The value whose storage `v` lies in.
  ValueId Root(ValueId v) const {
    while (graph_.value(v).kind == ValueKind::kResult) {
      const int of = ViewedOperand(graph_.op(graph_.value(v).op), graph_.value(v).index);
      if (of < 0) return v;
      v = graph_.op(graph_.value(v).op).operands[static_cast<size_t>(of)];
    }
    return v;
  }

  // R1: a version is written once, and not read after that.
  Status CheckStates() const {
    std::vector<OpId> writer(graph_.values.size(), kNoId);
    for (OpId id = 0; id < graph_.ops.size(); ++id) {
      const Op& op = graph_.op(id);
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const ValueId v = op.operands[i];
        if (!graph_.value(v).state) continue;
        if (writer[v] != kNoId) {
          return InvalidArgument(Where(id), ": operand ", Ref(v),
                                 " is an old version of a state: op ", writer[v], " ",
                                 Name(graph_.op(writer[v]).kind), " has written it (R1)");
        }
        if (WritesOperand(op, i, graph_.form)) writer[v] = id;
      }
    }
    for (const auto* list : {&graph_.outputs, &graph_.final_states}) {
      for (ValueId v : *list) {
        if (graph_.value(v).state && writer[v] != kNoId) {
          return InvalidArgument("graph @", graph_.name, ": ", Ref(v),
                                 " is returned, but it is an old version of a state (R1)");
        }
      }
    }
    return CheckFinalStates();
  }
  Status CheckFinalStates() const {
    for (size_t i = 0; i < graph_.final_states.size(); ++i) {
      const Value& v = graph_.value(graph_.final_states[i]);
      if (!v.state || v.type != graph_.states[i].type || v.count != graph_.states[i].count) {
        return InvalidArgument("graph @", graph_.name, ": final version of state \"",
                               graph_.states[i].name, "\" is %", v.name, " ", ToString(v.type),
                               ", expected ", ToString(graph_.states[i].type));
      }
    }
    return {};
  }

  const Graph& graph_;
  const bool region_;
  std::vector<bool> defined_;
};

}  // namespace

Status Verify(const Graph& graph) { return Verifier(graph, false).Run(); }

}  // namespace moxie::ir
