#include "ir/builder.h"

#include "ir/verifier.h"

namespace moxie::ir {

Builder::Builder(std::string name) { graph_.name = std::move(name); }

Builder::Scope::Scope(Builder& builder, std::string_view name)
    : builder_(builder), length_(builder.scope_.size()) {
  if (!builder.scope_.empty()) builder.scope_ += '.';
  builder.scope_ += name;
}

Builder::Scope::~Scope() { builder_.scope_.resize(length_); }

void Builder::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

ValueId Builder::NewValue(TensorType type, ValueKind kind, std::string name) {
  Value value;
  value.type = type;
  value.kind = kind;
  value.name = name.empty() ? StrCat("v", next_name_++) : std::move(name);
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId Builder::Input(std::string_view name, TensorType type) {
  ValueId id = NewValue(type, ValueKind::kInput, std::string(name));
  graph_.inputs.push_back(id);
  return id;
}

ValueId Builder::Weight(WeightSpec spec) {
  ValueId id = NewValue(spec.type, ValueKind::kWeight, spec.name);
  graph_.values[id].count = spec.count;
  graph_.values[id].index = static_cast<uint32_t>(graph_.weights.size());
  graph_.weights.push_back(std::move(spec));
  return id;
}

ValueId Builder::State(StateSpec spec) {
  ValueId id = NewValue(spec.type, ValueKind::kState, spec.name);
  graph_.values[id].count = spec.count;
  graph_.values[id].state = true;
  graph_.values[id].index = static_cast<uint32_t>(graph_.states.size());
  graph_.states.push_back(std::move(spec));
  return id;
}

// Adds `op` with a result of each type; counts may be empty (all one).
std::vector<ValueId> Builder::Append(Op op, std::span<const TensorType> types,
                                     std::span<const int64_t> counts) {
  const OpId id = static_cast<OpId>(graph_.ops.size());
  op.origin = scope_;
  for (size_t i = 0; i < types.size(); ++i) {
    ValueId v = NewValue(types[i], ValueKind::kResult, "");
    graph_.values[v].op = id;
    graph_.values[v].index = static_cast<uint32_t>(i);
    if (!counts.empty()) graph_.values[v].count = counts[i];
    op.results.push_back(v);
  }
  std::vector<ValueId> results = op.results;
  graph_.ops.push_back(std::move(op));
  return results;
}

std::vector<ValueId> Builder::EmitMany(OpKind kind, std::vector<ValueId> operands, Attrs attrs) {
  const OpRow& row = Row(kind);
  const size_t n = static_cast<size_t>(row.results);
  if (!status_.ok()) return std::vector<ValueId>(n, 0);
  std::vector<TensorType> types;
  for (ValueId v : operands) types.push_back(type(v));
  auto inferred = row.infer(types, attrs);
  if (!inferred.ok()) {
    Fail(std::move(inferred).status().WithContext(
        StrCat("graph ", graph_.name, ": op ", row.name, " (origin \"", scope_, "\")")));
    return std::vector<ValueId>(n, 0);
  }
  Op op;
  op.kind = kind;
  op.attrs = std::move(attrs);
  op.operands = std::move(operands);
  std::vector<ValueId> results = Append(std::move(op), *inferred, {});
  if (row.writes_state >= 0) graph_.values[results[0]].state = true;
  return results;
}

ValueId Builder::Emit(OpKind kind, std::vector<ValueId> operands, Attrs attrs) {
  return EmitMany(kind, std::move(operands), std::move(attrs))[0];
}

ValueId Builder::View(ValueId x, Shape sizes, ViewSpec view) {
  if (!status_.ok()) return 0;
  Op op;
  op.kind = OpKind::kView;
  op.operands = {x};
  op.view = view;
  const TensorType result{type(x).dtype, sizes};
  return Append(std::move(op), {&result, 1}, {})[0];
}

Result<Graph> Builder::BuildRegion(std::string_view name, std::span<const ValueId> operands,
                                   std::span<const int64_t> counts, const Body& body) {
  Builder region{std::string(name)};
  region.scope_ = scope_;
  std::vector<ValueId> params;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value& outer = graph_.values[operands[i]];
    ValueId p = region.NewValue(outer.type, ValueKind::kParam, StrCat("p", i));
    region.graph_.values[p].state = outer.state;
    region.graph_.values[p].count = counts[i];
    region.graph_.inputs.push_back(p);
    params.push_back(p);
  }
  region.graph_.outputs = body(region, params);
  MOXIE_RETURN_IF_ERROR(region.status_);
  return std::move(region.graph_);
}

std::vector<ValueId> Builder::Composite(std::string_view name, std::vector<ValueId> operands,
                                        std::vector<Form> forms) {
  Op op;
  op.kind = OpKind::kComposite;
  op.attrs.Set(AttrKey::kCallee, std::string(name));
  std::vector<int64_t> counts;
  for (ValueId v : operands) counts.push_back(graph_.values[v].count);
  Scope scope(*this, name);
  for (Form& form : forms) {
    auto region = BuildRegion(form.name, operands, counts, form.body);
    if (!region.ok()) {
      Fail(std::move(region).status());
      return std::vector<ValueId>(8, 0);
    }
    op.forms.push_back(form.name);
    op.regions.push_back(*std::move(region));
  }
  op.operands = std::move(operands);
  const Graph first = op.regions.front();
  std::vector<TensorType> types;
  for (ValueId v : first.outputs) types.push_back(first.value(v).type);
  std::vector<ValueId> results = Append(std::move(op), types, {});
  for (size_t i = 0; i < results.size(); ++i) {
    graph_.values[results[i]].state = first.value(first.outputs[i]).state;
  }
  return results;
}

std::vector<ValueId> Builder::Repeat(int64_t n, const RepeatOperands& in, const Body& body) {
  Op op;
  op.kind = OpKind::kRepeat;
  op.attrs = {{AttrKey::kN, n},
              {AttrKey::kCarries, static_cast<int64_t>(in.carries.size())},
              {AttrKey::kStates, static_cast<int64_t>(in.states.size())},
              {AttrKey::kInvariants, static_cast<int64_t>(in.invariants.size())}};
  for (const auto* group : {&in.carries, &in.states, &in.invariants, &in.stacked}) {
    op.operands.insert(op.operands.end(), group->begin(), group->end());
  }
  const size_t yields = in.carries.size() + in.states.size();
  const std::vector<int64_t> counts(op.operands.size(), 1);
  auto region = BuildRegion("body", op.operands, counts, body);
  if (!region.ok() || !status_.ok()) {
    Fail(std::move(region).status());
    return std::vector<ValueId>(yields, 0);
  }
  op.forms = {"body"};
  op.regions.push_back(*std::move(region));
  std::vector<TensorType> types;
  std::vector<int64_t> result_counts;
  for (size_t i = 0; i < yields; ++i) {
    types.push_back(type(op.operands[i]));
    result_counts.push_back(graph_.values[op.operands[i]].count);
  }
  std::vector<ValueId> results = Append(std::move(op), types, result_counts);
  for (size_t i = in.carries.size(); i < yields; ++i) graph_.values[results[i]].state = true;
  return results;
}

Result<Graph> Builder::Finish(std::vector<ValueId> outputs, std::vector<ValueId> final_states) && {
  MOXIE_RETURN_IF_ERROR(status_);
  graph_.outputs = std::move(outputs);
  graph_.final_states = std::move(final_states);
  MOXIE_RETURN_IF_ERROR(Verify(graph_));
  return std::move(graph_);
}

}  // namespace moxie::ir
