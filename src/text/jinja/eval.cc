// Expressions.
#include "text/jinja/filters.h"
#include "text/jinja/interp.h"
#include "text/jinja/methods.h"
#include "text/jinja/objects.h"
#include "text/jinja/tests.h"

namespace moxie::text::jinja {
namespace {

// What stands for an unknown filter or test in jinja2 takes no keywords, and says so first.
void FailUnknownKeywords(const Args& args) {
  if (args.keyword.empty()) return;
  Raise("TypeError", "got an unexpected keyword argument '", args.keyword[0].first, "'");
}

}  // namespace

Value Interp::Eval(const Node& node) {
  Meter* meter = Meter::Current();
  Meter::Nest nest(meter);
  meter->Step();
  switch (node.kind) {
    case Node::Kind::kConst:
      return static_cast<const Const&>(node).value;
    case Node::Kind::kName: {
      auto& name = static_cast<const Name&>(node);
      const auto& slot = Slot(name.ref);
      return slot ? *slot : Value::Undefined("'" + name.name + "' is undefined");
    }
    case Node::Kind::kTuple:
      return Value::Tuple(EvalAll(static_cast<const Items&>(node).items));
    case Node::Kind::kList:
      return Value::List(EvalAll(static_cast<const Items&>(node).items));
    case Node::Kind::kDict: {
      // All items are evaluated before the first key is hashed.
      std::vector<Dict::Item> items;
      for (auto& [key, value] : static_cast<const DictDisplay&>(node).items) {
        Value k = Eval(*key);
        items.push_back({std::move(k), Eval(*value)});
      }
      auto dict = std::make_shared<Dict>();
      for (Dict::Item& item : items) dict->Set(std::move(item.key), std::move(item.value));
      return DictPtr(std::move(dict));
    }
    case Node::Kind::kBinary: {
      auto& binary = static_cast<const Binary&>(node);
      Value left = Eval(*binary.left);
      Value right = Eval(*binary.right);
      line_ = node.line;
      if (binary.bare_base && left.is_number() && Less(left, Value(0))) {
        return Negative(Arithmetic(*this, binary.op, Negative(left), right));
      }
      return Arithmetic(*this, binary.op, left, right);
    }
    case Node::Kind::kLogic:
      return EvalLogic(static_cast<const Logic&>(node));
    case Node::Kind::kUnary:
      return EvalUnary(static_cast<const Unary&>(node));
    case Node::Kind::kConcat: {
      TextBuilder out;
      for (auto& part : static_cast<const Concat&>(node).parts) out.Add(Str(*this, Eval(*part)));
      return out.Take();
    }
    case Node::Kind::kCompare:
      return EvalComparison(static_cast<const Comparison&>(node));
    case Node::Kind::kCond:
      return EvalConditional(static_cast<const Conditional&>(node));
    case Node::Kind::kFilter:
      return EvalFilter(static_cast<const Filter&>(node));
    case Node::Kind::kTest:
      return EvalTest(static_cast<const Test&>(node));
    case Node::Kind::kCall:
      return EvalCall(static_cast<const Call&>(node));
    case Node::Kind::kGetattr: {
      auto& getattr = static_cast<const Getattr&>(node);
      Value object = Eval(*getattr.object);
      line_ = node.line;
      return GetAttribute(object, getattr.attribute);
    }
    case Node::Kind::kGetitem:
      return EvalGetitem(static_cast<const Getitem&>(node));
    default:  // a slice among several subscripts selects nothing on any type there is
      return Value::Undefined("a slice");
  }
}

std::vector<Value> Interp::EvalAll(const std::vector<ExprPtr>& nodes) {
  std::vector<Value> values;
  values.reserve(nodes.size());
  for (auto& node : nodes) values.push_back(Eval(*node));
  return values;
}

Value Interp::EvalLogic(const Logic& node) {
  Value left = Eval(*node.left);
  return Truth(left) == node.is_and ? Eval(*node.right) : left;
}

Value Interp::EvalUnary(const Unary& node) {
  Value value = Eval(*node.operand);
  line_ = node.line;
  if (node.op == Unary::kNot) return !Truth(value);
  return node.op == Unary::kNegative ? Negative(value) : Positive(value);
}

bool Interp::CompareOnce(Comparison::Op op, const Value& left, const Value& right) {
  switch (op) {
    case Comparison::kEqual:
      return Equals(left, right);
    case Comparison::kNotEqual:
      return !Equals(left, right);
    case Comparison::kLess:
      return Compare(left, Order::kLess, right);
    case Comparison::kLessEqual:
      return Compare(left, Order::kLessEqual, right);
    case Comparison::kGreater:
      return Compare(left, Order::kGreater, right);
    case Comparison::kGreaterEqual:
      return Compare(left, Order::kGreaterEqual, right);
    case Comparison::kIn:
      return Contains(*this, right, left);
    case Comparison::kNotIn:
      return !Contains(*this, right, left);
  }
  return false;
}

Value Interp::EvalComparison(const Comparison& node) {
  Value left = Eval(*node.first);
  for (auto& [op, operand] : node.rest) {
    Value right = Eval(*operand);
    line_ = node.line;
    if (!CompareOnce(op, left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interp::EvalConditional(const Conditional& node) {
  if (Truth(Eval(*node.test))) return Eval(*node.then);
  if (node.otherwise != nullptr) return Eval(*node.otherwise);
  return Value::Undefined(StrCat("the inline if-expression on line ", node.line,
                                 " evaluated to false and no else section was defined."));
}

Value Interp::EvalGetitem(const Getitem& node) {
  Value object = Eval(*node.object);
  if (node.index->kind != Node::Kind::kSlice) {
    Value key = Eval(*node.index);
    line_ = node.line;
    return GetItem(object, key);
  }
  auto& slice = static_cast<const SliceExpr&>(*node.index);
  auto bound = [this](const ExprPtr& e) { return e != nullptr ? Eval(*e) : Value(None{}); };
  SliceBounds bounds{bound(slice.start), bound(slice.stop), bound(slice.step)};
  line_ = node.line;
  return Slice(object, bounds);
}

Args Interp::EvalArgs(const CallArgs& nodes) {
  Args args;
  args.positional = EvalAll(nodes.positional);
  for (auto& [name, value] : nodes.keyword) args.keyword.emplace_back(name, Eval(*value));
  if (nodes.star != nullptr) {
    auto it = Iterate(Eval(*nodes.star));
    for (Value item; it->Next(item);) args.positional.push_back(item);
  }
  if (nodes.double_star != nullptr) {
    Value mapping = Eval(*nodes.double_star);
    const Dict* dict = mapping.dict();
    if (auto* undefined = mapping.undefined()) throw Error{undefined->error, undefined->message};
    if (dict == nullptr) {
      Raise("TypeError", "argument after ** must be a mapping, not ", TypeName(mapping));
    }
    for (const Dict::Item& item : dict->items()) {
      if (!item.key.is_text()) Raise("TypeError", "keywords must be strings");
      for (auto& [name, value] : args.keyword) {
        if (name == item.key.text()->view()) {
          Raise("TypeError", "got multiple values for keyword argument '", name, "'");
        }
      }
      args.keyword.emplace_back(item.key.text()->str(), item.value);
    }
  }
  return args;
}

Value Interp::EvalFilter(const Filter& node) {
  Value operand = node.operand != nullptr ? Eval(*node.operand) : Value(*block_text_);
  Args args = EvalArgs(node.args);
  line_ = node.line;
  if (node.row == nullptr) {
    FailUnknownKeywords(args);
    Raise("TemplateRuntimeError", "No filter named '", node.name, "' found.");
  }
  return node.row->apply(*this, operand, std::move(args));
}

Value Interp::EvalTest(const Test& node) {
  Value operand = Eval(*node.operand);
  Args args = EvalArgs(node.args);
  line_ = node.line;
  if (node.row == nullptr) {
    FailUnknownKeywords(args);
    Raise("TemplateRuntimeError", "No test named '", node.name, "' found.");
  }
  return node.row->apply(*this, operand, std::move(args));
}

Value Interp::EvalCall(const Call& node) {
  Value callee = Eval(*node.callee);
  Args args = EvalArgs(node.args);
  line_ = node.line;
  return CallValue(callee, std::move(args));
}

Value Interp::CallValue(const Value& callee, Args args) {
  if (auto* undefined = callee.undefined()) throw Error{undefined->error, undefined->message};
  auto* object = callee.get<std::shared_ptr<Object>>();
  if (object == nullptr || !(*object)->callable()) {
    Raise("TypeError", "'", TypeName(callee), "' object is not callable");
  }
  Meter::Nest nest(Meter::Current());
  std::shared_ptr<Object> keep = *object;
  return keep->Call(*this, std::move(args));
}

Value Interp::CallFilter(std::string_view name, const Value& operand, Args args) {
  const FilterRow* row = FindFilter(name);
  if (row == nullptr) Raise("TemplateRuntimeError", "No filter named '", name, "'.");
  return row->apply(*this, operand, std::move(args));
}

bool Interp::CallTest(std::string_view name, const Value& operand, Args args) {
  const TestRow* row = FindTest(name);
  if (row == nullptr) Raise("TemplateRuntimeError", "No test named '", name, "'.");
  return row->apply(*this, operand, std::move(args));
}

Value Interp::Undefined(const Value& object, const Value& key) {
  if (auto* name = key.text()) {
    return Value::Undefined("'" + ObjectRepr(object) + "' has no attribute '" + name->str() + "'");
  }
  return Value::Undefined(ObjectRepr(object) + " has no element " + Repr(*this, key).str());
}

Value Interp::Unsafe(const Value& object, std::string_view name) {
  return Value::Undefined(
      StrCat("access to attribute '", name, "' of '", TypeName(object), "' object is unsafe."),
      "SecurityError");
}

// getattr(object, name) with the sandbox's verdict; nothing when Python raises AttributeError.
std::optional<Value> Interp::FindAttribute(const Value& object, std::string_view name) {
  if (IsUnsafeAttribute(object, name)) return Unsafe(object, name);
  if (Object* o = object.object()) {
    auto value = o->Attribute(*this, name);
    return value && name.starts_with('_') ? Unsafe(object, name) : value;
  }
  return FindMethod(object, name);
}

Value Interp::GetAttribute(const Value& object, std::string_view name) {
  if (auto value = FindAttribute(object, name)) return *value;
  if (auto* undefined = object.undefined()) throw Error{undefined->error, undefined->message};
  if (const Dict* dict = object.dict()) {
    if (const Value* found = dict->Find(name)) return *found;
  }
  return Undefined(object, Value(Text(std::string(name), Origin::kTemplate)));
}

Value Interp::GetAttributeOnly(const Value& object, std::string_view name) {
  if (auto value = FindAttribute(object, name)) return *value;
  if (auto* undefined = object.undefined()) throw Error{undefined->error, undefined->message};
  return Undefined(object, Value(Text(std::string(name), Origin::kTemplate)));
}

Value Interp::GetItem(const Value& object, const Value& key) {
  if (auto value = TrySubscript(object, key)) return *value;
  if (auto* name = key.text()) {
    if (auto value = FindAttribute(object, name->view())) return *value;
  }
  return Undefined(object, key);
}

}  // namespace moxie::text::jinja
