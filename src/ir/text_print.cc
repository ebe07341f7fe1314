#include "ir/text.h"

namespace moxie::ir {
namespace {

// Names of values: their own, or by order of definition when comparing graphs.
class Printer {
 public:
  Printer(const Graph& graph, bool canonical) : graph_(graph), canonical_(canonical) {}

  void TopLevel(std::string& out) {
    out += StrCat("graph @", canonical_ ? std::string_view("g") : std::string_view(graph_.name),
                  graph_.form == Form::kImperative ? " imperative {\n" : " {\n");
    for (size_t i = 0; i < graph_.values.size(); ++i) Leaf(out, static_cast<ValueId>(i));
    Ops(out, 1);
    out += StrCat("  return ", List(graph_.outputs), "\n");
    std::vector<ValueId> final = graph_.final_states;
    final.insert(final.end(), graph_.final_inputs.begin(), graph_.final_inputs.end());
    if (!final.empty()) out += StrCat("  final ", List(final), "\n");
    out += "}\n";
  }

 private:
  std::string Ref(ValueId id) const {
    return canonical_ ? StrCat("%", id) : StrCat("%", graph_.value(id).name);
  }
  std::string List(const std::vector<ValueId>& ids) const {
    std::string out;
    for (ValueId id : ids) {
      if (!out.empty()) out += ", ";
      out += Ref(id);
    }
    return out;
  }
  static std::string Type(const Value& v) {
    std::string out = StrCat(v.state ? "state " : "", ToString(v.type));
    return v.count == 1 ? out : StrCat(out, " x", v.count);
  }

  void Leaf(std::string& out, ValueId id) const {
    const Value& v = graph_.value(id);
    if (v.kind == ValueKind::kInput) {
      out += StrCat("  input ", Ref(id), " : ", ToString(v.type), v.donated ? " donated\n" : "\n");
    } else if (v.kind == ValueKind::kWeight) {
      out += StrCat("  weight %", v.name, " : ", Type(v), Source(graph_.weights[v.index]), "\n");
    } else if (v.kind == ValueKind::kState) {
      out += StrCat("  state %", v.name, " : ", Type(v), Pool(graph_.states[v.index]), "\n");
    }
  }
  static std::string Source(const WeightSpec& spec) {
    std::string out;
    if (spec.shard_dim >= 0) out += StrCat(" shard ", spec.shard_dim);
    if (!spec.derived.empty()) return StrCat(out, " derived \"", spec.derived, "\"");
    for (const CheckpointName& name : spec.checkpoint) {
      out += StrCat(" = \"", name.name, "\"");
      if (name.parts > 1) out += StrCat(" part ", name.part, "/", name.parts);
    }
    return out;
  }
  static std::string Pool(const StateSpec& spec) {
    switch (spec.kind) {
      case StateKind::kPaged:
        return StrCat(" paged ", spec.block_tokens);
      case StateKind::kWindow:
        return StrCat(" window ", spec.block_tokens);
      case StateKind::kSlot:
        return " slot";
    }
    return "";
  }

  void Ops(std::string& out, int depth) const {
    for (const Op& op : graph_.ops) OneOp(out, op, depth);
  }

  void OneOp(std::string& out, const Op& op, int depth) const {
    const std::string indent(static_cast<size_t>(2 * depth), ' ');
    out += StrCat(indent, List(op.results), op.results.empty() ? "" : " = ", Name(op.kind),
                  op.in_place ? "!(" : "(", List(op.operands), ")");
    if (op.kind == OpKind::kView || op.kind == OpKind::kViewWrite) {
      out += StrCat(" offset ", op.view.offset, " strides ", ToString(op.view.strides));
    }
    out += AttrText(op.attrs);
    for (size_t i = 0; i < op.results.size(); ++i) {
      out += StrCat(i == 0 ? " : " : ", ", Type(graph_.value(op.results[i])));
    }
    if (!op.origin.empty() && !canonical_) out += StrCat(" @ \"", op.origin, "\"");
    if (!op.regions.empty()) {
      out += " {\n";
      for (size_t i = 0; i < op.regions.size(); ++i) {
        Printer(op.regions[i], canonical_).Region(out, op.forms[i], depth + 1);
      }
      out += indent + "}";
    }
    out += '\n';
  }

  void Region(std::string& out, std::string_view form, int depth) const {
    const std::string indent(static_cast<size_t>(2 * depth), ' ');
    out += StrCat(indent, form, "(");
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      out +=
          StrCat(i ? ", " : "", Ref(graph_.inputs[i]), " : ", Type(graph_.value(graph_.inputs[i])));
    }
    out += ") {\n";
    Ops(out, depth + 1);
    out += StrCat(indent, "  yield ", List(graph_.outputs), "\n", indent, "}\n");
  }

  static std::string AttrText(const Attrs& attrs) {
    std::string out;
    for (const auto& [key, value] : attrs.items()) {
      out += StrCat(out.empty() ? " {" : ", ", Name(key), "=");
      if (const auto* i = std::get_if<int64_t>(&value)) out += StrCat(*i);
      if (const auto* d = std::get_if<double>(&value)) out += Real(*d);
      if (const auto* s = std::get_if<std::string>(&value)) out += StrCat("\"", *s, "\"");
      if (const auto* list = std::get_if<std::vector<double>>(&value)) {
        out += "[";
        for (size_t i = 0; i < list->size(); ++i) out += (i ? ", " : "") + Real((*list)[i]);
        out += "]";
      }
    }
    return out.empty() ? out : out + "}";
  }
  // A double never reads back as an integer.
  static std::string Real(double d) {
    std::string text = StrCat(d);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }

  const Graph& graph_;
  const bool canonical_;
};

}  // namespace

std::string Print(const Graph& graph) {
  std::string out;
  Printer(graph, false).TopLevel(out);
  return out;
}

bool Isomorphic(const Graph& a, const Graph& b) {
  std::string text_a, text_b;
  Printer(a, true).TopLevel(text_a);
  Printer(b, true).TopLevel(text_b);
  return text_a == text_b;
}

}  // namespace moxie::ir
