#include <cctype>
#include <charconv>
#include <unordered_map>

#include "ir/text.h"

namespace moxie::ir {
namespace {

constexpr int kMaxRegionDepth = 8;

// A recursive-descent parser; each method reads one construct of the grammar in text.h. The first
// error is kept; after it every read fails, so loops end.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Graph> Run() {
    Graph graph;
    Expect("graph");
    Expect("@");
    graph.name = Identifier();
    if (TryWord("imperative")) form_ = Form::kImperative;
    graph.form = form_;
    Expect("{");
    Names names;
    while (ok() && Leaf(graph, names)) {
    }
    Body(graph, names, "return", 0);
    if (TryWord("final")) Final(graph, names);
    Expect("}");
    Skip();
    if (ok() && at_ < text_.size()) Fail("expected the end of the text");
    if (!ok()) return std::move(status_);
    return graph;
  }

 private:
  using Names = std::unordered_map<std::string, ValueId>;

  bool ok() const { return status_.ok(); }

  void Fail(std::string_view what) {
    if (!ok()) return;
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      column = text_[i] == '\n' ? 1 : column + 1;
      line += text_[i] == '\n';
    }
    status_ = InvalidArgument("line ", line, ", column ", column, ": ", what);
  }

  // ---- tokens
  void Skip() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }
  static bool IsWordChar(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  }
  bool Try(std::string_view token) {
    if (!ok()) return false;
    Skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  // A whole word: "return" does not match "returns".
  bool TryWord(std::string_view word) {
    if (!ok()) return false;
    Skip();
    std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word)) return false;
    if (rest.size() > word.size() && IsWordChar(rest[word.size()])) return false;
    at_ += word.size();
    return true;
  }
  void Expect(std::string_view token) {
    if (!Try(token)) Fail(StrCat("expected \"", token, "\""));
  }
  std::string Identifier() {
    Skip();
    const size_t begin = at_;
    while (at_ < text_.size() && IsWordChar(text_[at_])) ++at_;
    if (at_ == begin) Fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string Quoted() {
    Expect("\"");
    const size_t end = text_.find('"', at_);
    if (!ok() || end == std::string_view::npos) {
      Fail("expected a quoted string");
      return "";
    }
    std::string out(text_.substr(at_, end - at_));
    at_ = end + 1;
    return out;
  }
  std::string_view NumberText() {
    Skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (IsWordChar(text_[at_]) || text_[at_] == '-' || text_[at_] == '+'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  template <typename T>
  bool ReadNumber(std::string_view text, T& out) {
    auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
    return !text.empty() && ec == std::errc() && end == text.data() + text.size();
  }
  int64_t Integer() {
    int64_t out = 0;
    if (!ReadNumber(NumberText(), out)) Fail("expected an integer");
    return out;
  }
  double Real() {
    double out = 0;
    if (!ReadNumber(NumberText(), out)) Fail("expected a number");
    return out;
  }

  // ---- types
  Dim ParseDim() {
    Skip();
    int64_t factor = 1;
    const char* begin = text_.data() + at_;
    auto [end, ec] = std::from_chars(begin, text_.data() + text_.size(), factor);
    const bool number = ec == std::errc();
    if (number) at_ += static_cast<size_t>(end - begin);
    for (int v = 1; v < tensor::kDimVars; ++v) {
      if (at_ < text_.size() && tensor::Name(static_cast<tensor::DimVar>(v))[0] == text_[at_]) {
        ++at_;
        return {factor, static_cast<tensor::DimVar>(v)};
      }
    }
    if (!number) Fail("expected a dimension such as 64, T or 2T");
    return {factor};
  }
  Shape ParseShape() {
    Shape shape;
    Expect("[");
    if (Try("]")) return shape;
    do {
      if (shape.rank() == tensor::kMaxRank) {
        Fail("too many dimensions");
        return shape;
      }
      shape.Append(ParseDim());
    } while (Try(","));
    Expect("]");
    return shape;
  }
  // [state] dtype[dims] [xN]
  Value ParseValueType() {
    Value value;
    value.state = TryWord("state");
    auto dtype = tensor::ParseDType(Identifier());
    if (!dtype) Fail("expected a dtype such as f32 or bf16");
    value.type.dtype = dtype.value_or(DType::kF32);
    value.type.shape = ParseShape();
    Skip();
    if (at_ + 1 < text_.size() && text_[at_] == 'x' &&
        std::isdigit(static_cast<unsigned char>(text_[at_ + 1]))) {
      ++at_;
      value.count = Integer();
    }
    return value;
  }

  // ---- values
  ValueId Define(Graph& graph, Names& names, std::string name, Value value) {
    const ValueId id = static_cast<ValueId>(graph.values.size());
    if (!names.emplace(name, id).second) Fail(StrCat("%", name, " is defined twice"));
    value.name = std::move(name);
    graph.values.push_back(std::move(value));
    return id;
  }
  std::string ValueName() {
    Expect("%");
    return Identifier();
  }
  ValueId Use(const Names& names) {
    std::string name = ValueName();
    auto it = names.find(name);
    if (it == names.end()) {
      Fail(StrCat("%", name, " is not defined"));
      return 0;
    }
    return it->second;
  }
  std::vector<ValueId> ValueList(const Names& names) {
    std::vector<ValueId> out;
    Skip();
    if (at_ >= text_.size() || text_[at_] != '%') return out;
    do {
      out.push_back(Use(names));
    } while (Try(","));
    return out;
  }

  // Final versions of the states, then of the donated inputs.
  void Final(Graph& graph, const Names& names) {
    for (ValueId v : ValueList(names)) {
      const bool state = graph.final_states.size() < graph.states.size();
      (state ? graph.final_states : graph.final_inputs).push_back(v);
    }
  }

  // ---- leaves; false when the next construct is none
  bool Leaf(Graph& graph, Names& names) {
    if (TryWord("input")) return InputLeaf(graph, names);
    if (TryWord("weight")) return WeightLeaf(graph, names);
    if (TryWord("state")) return StateLeaf(graph, names);
    return false;
  }
  bool InputLeaf(Graph& graph, Names& names) {
    std::string name = ValueName();
    Expect(":");
    Value value = ParseValueType();
    value.kind = ValueKind::kInput;
    value.donated = TryWord("donated");
    graph.inputs.push_back(Define(graph, names, std::move(name), value));
    return ok();
  }
  bool WeightLeaf(Graph& graph, Names& names) {
    WeightSpec spec;
    spec.name = ValueName();
    Expect(":");
    Value value = ParseValueType();
    value.kind = ValueKind::kWeight;
    value.index = static_cast<uint32_t>(graph.weights.size());
    spec.type = value.type;
    spec.count = value.count;
    if (TryWord("shard")) spec.shard_dim = static_cast<int>(Integer());
    if (TryWord("derived")) spec.derived = Quoted();
    while (Try("=")) {
      CheckpointName source;
      source.name = Quoted();
      if (TryWord("part")) {
        source.part = Integer();
        Expect("/");
        source.parts = Integer();
      }
      spec.checkpoint.push_back(std::move(source));
    }
    Define(graph, names, spec.name, value);
    graph.weights.push_back(std::move(spec));
    return ok();
  }
  bool StateLeaf(Graph& graph, Names& names) {
    StateSpec spec;
    spec.name = ValueName();
    Expect(":");
    Value value = ParseValueType();
    value.kind = ValueKind::kState;
    value.state = true;
    value.index = static_cast<uint32_t>(graph.states.size());
    spec.type = value.type;
    spec.count = value.count;
    if (TryWord("paged")) {
      spec.block_tokens = Integer();
    } else if (TryWord("window")) {
      spec.kind = StateKind::kWindow;
      spec.block_tokens = Integer();
    } else {
      Expect("slot");
      spec.kind = StateKind::kSlot;
    }
    Define(graph, names, spec.name, value);
    graph.states.push_back(std::move(spec));
    return ok();
  }

  // ---- ops, up to and with the terminator ("return" or "yield")
  void Body(Graph& graph, Names& names, std::string_view terminator, int depth) {
    if (depth > kMaxRegionDepth) Fail("regions nest too deeply");
    while (ok()) {
      if (TryWord(terminator)) {
        graph.outputs = ValueList(names);
        return;
      }
      ParseOp(graph, names, depth);
    }
  }
  void ParseOp(Graph& graph, Names& names, int depth) {
    Op op;
    std::vector<std::string> results;
    if (Try("%")) {
      results.push_back(Identifier());
      while (Try(",")) results.push_back(ValueName());
      Expect("=");
    }
    std::string name = Identifier();
    auto kind = ParseOpKind(name);
    if (!kind) return Fail(StrCat("\"", name, "\" is not an op"));
    op.kind = *kind;
    op.in_place = Try("!");
    Expect("(");
    op.operands = ValueList(names);
    Expect(")");
    if (TryWord("offset")) {
      op.view.offset = Integer();
      Expect("strides");
      op.view.strides = ParseShape();
    }
    // "{key=" opens attributes, anything else after "{" a region.
    if (AttrsAhead()) ParseAttrs(op.attrs);
    std::vector<Value> types;
    if (Try(":")) {
      do {
        types.push_back(ParseValueType());
      } while (Try(","));
    }
    if (types.size() != results.size()) {
      return Fail(StrCat(name, ": ", results.size(), " results but ", types.size(), " types"));
    }
    if (Try("@")) op.origin = Quoted();
    if (Try("{")) {
      while (ok() && !Try("}")) ParseRegion(op, depth + 1);
    }
    const OpId id = static_cast<OpId>(graph.ops.size());
    for (size_t i = 0; i < results.size(); ++i) {
      types[i].op = id;
      types[i].index = static_cast<uint32_t>(i);
      op.results.push_back(Define(graph, names, results[i], types[i]));
    }
    graph.ops.push_back(std::move(op));
  }
  bool AttrsAhead() {
    Skip();
    if (at_ >= text_.size() || text_[at_] != '{') return false;
    const size_t saved = at_++;
    Skip();
    while (at_ < text_.size() && IsWordChar(text_[at_])) ++at_;
    Skip();
    const bool attrs = at_ < text_.size() && text_[at_] == '=';
    at_ = saved;
    return attrs;
  }
  void ParseAttrs(Attrs& attrs) {
    Expect("{");
    do {
      std::string name = Identifier();
      auto key = ParseAttrKey(name);
      if (!key) return Fail(StrCat("\"", name, "\" is not an attribute"));
      Expect("=");
      attrs.Set(*key, ParseAttrValue());
    } while (Try(","));
    Expect("}");
  }
  AttrValue ParseAttrValue() {
    Skip();
    if (at_ < text_.size() && text_[at_] == '"') return Quoted();
    if (Try("[")) {
      std::vector<double> list;
      if (Try("]")) return list;
      do {
        list.push_back(Real());
      } while (Try(","));
      Expect("]");
      return list;
    }
    std::string_view number = NumberText();
    int64_t i = 0;
    if (ReadNumber(number, i)) return i;
    double d = 0;
    if (!ReadNumber(number, d)) Fail("expected a number, a string or a list");
    return d;
  }
  void ParseRegion(Op& op, int depth) {
    Graph region;
    region.form = form_;
    Names names;
    region.name = Identifier();
    op.forms.push_back(region.name);
    Expect("(");
    if (!Try(")")) {
      do {
        std::string name = ValueName();
        Expect(":");
        Value value = ParseValueType();
        value.kind = ValueKind::kParam;
        region.inputs.push_back(Define(region, names, std::move(name), value));
      } while (Try(","));
      Expect(")");
    }
    Expect("{");
    Body(region, names, "yield", depth);
    Expect("}");
    op.regions.push_back(std::move(region));
  }

  std::string_view text_;
  Form form_ = Form::kFunctional;
  size_t at_ = 0;
  Status status_;
};

}  // namespace

Result<Graph> Parse(std::string_view text) { return Parser(text).Run(); }

}  // namespace moxie::ir
