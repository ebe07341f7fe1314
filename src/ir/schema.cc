#include "ir/schema.h"

#include <algorithm>
#include <cctype>

namespace moxie::ir {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Schema> Run() {
    Schema schema;
    schema.name = Word("the op's name");
    Expect("(");
    if (!Try(")")) {
      do {
        schema.arguments.push_back(Argument());
      } while (Try(","));
      Expect(")");
    }
    Expect("->");
    if (!Try("(")) {
      schema.returns.push_back(Type());
    } else if (!Try(")")) {
      do {
        schema.returns.push_back(Type());
      } while (Try(","));
      Expect(")");
    }
    Skip();
    if (at_ < text_.size()) Fail("expected the end");
    if (!status_.ok()) return std::move(status_);
    return schema;
  }

 private:
  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  void Fail(std::string_view what) {
    if (!status_.ok()) return;
    status_ = InvalidArgument("schema \"", text_, "\": column ", at_ + 1, ": ", what);
  }
  bool Try(std::string_view token) {
    Skip();
    if (!status_.ok() || !text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void Expect(std::string_view token) {
    if (!Try(token)) Fail(StrCat("expected \"", token, "\""));
  }
  std::string Word(std::string_view what) {
    Skip();
    const size_t begin = at_;
    auto word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':';
    };
    while (at_ < text_.size() && word(text_[at_])) ++at_;
    if (begin == at_) Fail(StrCat("expected ", what));
    return std::string(text_.substr(begin, at_ - begin));
  }

  SchemaItem Type() {
    SchemaItem item;
    if (Word("a type") != "Tensor") {
      Fail(
          "only Tensor arguments: a weight that the op reads must be an operand, not found by name "
          "(R3)");
    }
    if (Try("(")) {
      item.alias = Word("an alias such as a");
      item.written = Try("!");
      Expect(")");
    }
    if (Try("[")) {
      Expect("]");
      item.list = true;
    }
    item.optional = Try("?");
    return item;
  }
  SchemaItem Argument() {
    SchemaItem item = Type();
    item.name = Word("the argument's name");
    if (item.optional && Try("=")) Expect("None");
    return item;
  }

  std::string_view text_;
  size_t at_ = 0;
  Status status_;
};

size_t CountLists(const Schema& schema) {
  return static_cast<size_t>(
      std::ranges::count_if(schema.arguments, [](const SchemaItem& a) { return a.list; }));
}

// The argument that a return is a view of, or null.
const SchemaItem* Viewed(const Schema& schema, const SchemaItem& item) {
  const SchemaItem* found = nullptr;
  for (const SchemaItem& argument : schema.arguments) {
    if (!item.alias.empty() && argument.alias == item.alias) found = &argument;
  }
  return found;
}

Status Check(const Schema& schema) {
  if (CountLists(schema) > 1) {
    return InvalidArgument("schema of ", schema.name, ": more than one list");
  }
  for (const SchemaItem& item : schema.returns) {
    const SchemaItem* of = Viewed(schema, item);
    if (item.list || item.optional) {
      return InvalidArgument("schema of ", schema.name, ": a return is one Tensor");
    }
    const auto sharing = std::ranges::count(schema.arguments, item.alias, &SchemaItem::alias);
    if (!item.alias.empty() && (sharing > 1 || (of != nullptr && of->list))) {
      return InvalidArgument("schema of ", schema.name, ": a return is a view of one argument, (",
                             item.alias, ") names several");
    }
    if (!item.alias.empty() && of == nullptr) {
      return InvalidArgument("schema of ", schema.name, ": no argument has the alias (", item.alias,
                             ") of a return");
    }
    if (item.written || (of != nullptr && of->written)) {
      return InvalidArgument("schema of ", schema.name, ": returns a written argument (",
                             item.alias, "); read the argument itself after the op");
    }
  }
  return {};
}

// The argument of each of `n` operands: lists take what the others leave, absent optionals are at
// the end.
Result<std::vector<const SchemaItem*>> Bind(const Schema& schema, size_t n) {
  std::vector<const SchemaItem*> out;
  const size_t lists = CountLists(schema);
  const size_t single = schema.arguments.size() - lists;
  for (const SchemaItem& argument : schema.arguments) {
    const size_t take = argument.list ? (n > single ? n - single : 0) : 1;
    if (argument.optional && out.size() == n) continue;
    out.insert(out.end(), take, &argument);
  }
  if (out.size() != n) {
    return InvalidArgument("schema of ", schema.name, ": takes ", out.size(), " operands, got ", n);
  }
  return out;
}

}  // namespace

Result<Schema> ParseSchema(std::string_view text) {
  MOXIE_ASSIGN_OR_RETURN(Schema schema, Parser(text).Run());
  MOXIE_RETURN_IF_ERROR(Check(schema));
  return schema;
}

Result<Effects> EffectsOf(const Op& op) {
  MOXIE_ASSIGN_OR_RETURN(const Schema schema, ParseSchema(op.attrs.Text(AttrKey::kSchema)));
  MOXIE_ASSIGN_OR_RETURN(const auto arguments, Bind(schema, op.operands.size()));
  Effects effects;
  effects.returns = schema.returns.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    effects.arguments.push_back(arguments[i]->name);
    effects.declared.push_back(arguments[i]->written);
    const bool again = std::any_of(effects.written.begin(), effects.written.end(),
                                   [&](size_t w) { return op.operands[w] == op.operands[i]; });
    if (arguments[i]->written && !again) effects.written.push_back(i);
  }
  for (const SchemaItem& item : schema.returns) {
    int of = -1;
    for (size_t i = 0; i < arguments.size() && !item.alias.empty(); ++i) {
      if (arguments[i]->alias == item.alias) of = static_cast<int>(i);
    }
    effects.view_of.push_back(of);
  }
  return effects;
}

bool WrittenInPlace(const Op& op, const Effects& effects, size_t k) {
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i] == op.operands[effects.written[k]] && !effects.declared[i]) return false;
  }
  return true;
}

int ViewedOperand(const Op& op, size_t result) {
  if (op.kind == OpKind::kView) return 0;
  if (op.kind != OpKind::kCustom) return -1;
  auto effects = EffectsOf(op);
  return effects.ok() && result < effects->view_of.size() ? effects->view_of[result] : -1;
}

}  // namespace moxie::ir
