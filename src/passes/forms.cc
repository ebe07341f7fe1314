#include "passes/forms.h"

#include <algorithm>
#include <unordered_set>

namespace moxie::passes {
namespace {

using ir::Graph;
using ir::Op;
using ir::OpKind;
using ir::Value;
using ir::ValueId;

Status Choose(Graph& graph, std::span<const std::string_view> preferred) {
  for (Op& op : graph.ops) {
    if (op.kind == OpKind::kComposite) {
      auto form = op.forms.end();
      for (std::string_view name : preferred) {
        if (form == op.forms.end()) form = std::find(op.forms.begin(), op.forms.end(), name);
      }
      // A composite with one form leaves no choice: its name need not be preferred.
      if (form == op.forms.end() && op.forms.size() == 1) form = op.forms.begin();
      if (form == op.forms.end()) {
        std::string offered;
        for (const std::string& f : op.forms) offered += StrCat(" ", f);
        return InvalidArgument("composite \"", op.attrs.Text(ir::AttrKey::kCallee), "\" (origin \"",
                               op.origin, "\") offers only:", offered);
      }
      const size_t index = static_cast<size_t>(form - op.forms.begin());
      op.regions = {std::move(op.regions[index])};
      op.forms = {*form};
    }
    for (Graph& region : op.regions) MOXIE_RETURN_IF_ERROR(Choose(region, preferred));
  }
  return {};
}

// Copies a graph op by op, putting the ops of a composite's form in the place of its call.
class Inliner {
 public:
  explicit Inliner(const Graph& source) {
    out_.name = source.name;
    out_.form = source.form;
    out_.weights = source.weights;
    out_.states = source.states;
  }

  Result<Graph> Run(const Graph& source) {
    std::vector<ValueId> map(source.values.size(), ir::kNoId);
    for (ValueId v = 0; v < source.values.size(); ++v) {
      if (source.value(v).kind != ir::ValueKind::kResult) map[v] = Add(source.value(v));
    }
    MOXIE_RETURN_IF_ERROR(Copy(source, map));
    out_.inputs = Mapped(source.inputs, map);
    out_.outputs = Mapped(source.outputs, map);
    out_.final_states = Mapped(source.final_states, map);
    out_.final_inputs = Mapped(source.final_inputs, map);
    return std::move(out_);
  }

 private:
  static std::vector<ValueId> Mapped(const std::vector<ValueId>& ids,
                                     const std::vector<ValueId>& map) {
    std::vector<ValueId> out;
    for (ValueId v : ids) out.push_back(map[v]);
    return out;
  }

  ValueId Add(Value value) {
    for (int i = 1; !names_.insert(value.name).second; ++i) {
      const size_t base = value.name.find('~');
      value.name = StrCat(value.name.substr(0, base), "~", i);
    }
    out_.values.push_back(std::move(value));
    return static_cast<ValueId>(out_.values.size() - 1);
  }

  Status Copy(const Graph& source, std::vector<ValueId>& map) {
    for (const Op& op : source.ops) {
      MOXIE_RETURN_IF_ERROR(op.kind == OpKind::kComposite ? Splice(op, map)
                                                          : CopyOp(source, op, map));
    }
    return {};
  }

  Status Splice(const Op& op, std::vector<ValueId>& map) {
    if (op.regions.size() != 1) {
      return FailedPrecondition("composite \"", op.attrs.Text(ir::AttrKey::kCallee),
                                "\" (origin \"", op.origin, "\") has ", op.regions.size(),
                                " forms: choose one first");
    }
    const Graph& form = op.regions[0];
    std::vector<ValueId> inner(form.values.size(), ir::kNoId);
    for (size_t i = 0; i < form.inputs.size(); ++i) inner[form.inputs[i]] = map[op.operands[i]];
    MOXIE_RETURN_IF_ERROR(Copy(form, inner));
    for (size_t i = 0; i < op.results.size(); ++i) map[op.results[i]] = inner[form.outputs[i]];
    return {};
  }

  Status CopyOp(const Graph& source, const Op& op, std::vector<ValueId>& map) {
    Op copy = op;
    copy.operands = Mapped(op.operands, map);
    for (Graph& region : copy.regions) {
      MOXIE_ASSIGN_OR_RETURN(region, Inliner(region).Run(region));
    }
    copy.results.clear();
    for (ValueId v : op.results) {
      Value value = source.value(v);
      value.op = static_cast<ir::OpId>(out_.ops.size());
      map[v] = Add(std::move(value));
      copy.results.push_back(map[v]);
    }
    out_.ops.push_back(std::move(copy));
    return {};
  }

  Graph out_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Result<Graph> ChooseForms(Graph graph, std::span<const std::string_view> preferred) {
  MOXIE_RETURN_IF_ERROR(Choose(graph, preferred));
  return graph;
}

Result<Graph> InlineComposites(const Graph& graph) { return Inliner(graph).Run(graph); }

}  // namespace moxie::passes
