#include "text/jinja/objects.h"

#include "text/jinja/params.h"
#include "text/jinja/reaper.h"

namespace moxie::text::jinja {

Value MakeFunction(std::string name, Function::Code code) {
  return Value(
      std::shared_ptr<Object>(std::make_shared<Function>(std::move(name), std::move(code))));
}

Text Function::Repr(Interp&) const { return Text("<function " + name_ + ">", Origin::kTemplate); }

// --- Namespace

Text Namespace::Repr(Interp& interp) const {
  TextBuilder out;
  out.Add("<Namespace ", Origin::kTemplate);
  out.Add(jinja::Repr(interp, Value(DictPtr(attributes_))));
  out.Add(">", Origin::kTemplate);
  return out.Take();
}

std::optional<Value> Namespace::Attribute(Interp&, std::string_view name) {
  const Value* found = attributes_->Find(name);
  return found != nullptr ? std::optional<Value>(*found) : std::nullopt;
}

void Namespace::CheckName(const Value& name) {
  if (!name.is_text() || !name.text()->view().starts_with('_')) return;
  Raise("SecurityError",
        "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '",
        name.text()->view(), "'. Please rename the attribute.");
}

void Namespace::Set(std::string_view name, Value value) {
  Value key(Text(std::string(name), Origin::kTemplate));
  CheckName(key);
  attributes_->Set(std::move(key), std::move(value));
}

void Namespace::Clear() { attributes_ = std::make_shared<Dict>(); }

// --- Macro

Text Macro::Repr(Interp&) const {
  return Text(code_.name.empty() ? "<Macro anonymous>" : "<Macro '" + code_.name + "'>",
              Origin::kTemplate);
}

std::optional<Value> Macro::Attribute(Interp&, std::string_view name) {
  if (name == "name") {
    return code_.name.empty() ? Value(None{}) : Value(Text(code_.name, Origin::kTemplate));
  }
  if (name == "arguments") {
    std::vector<Value> names;
    for (auto& param : code_.params) names.emplace_back(Text(param->name, Origin::kTemplate));
    return Value::Tuple(std::move(names));
  }
  if (name == "catch_kwargs") return Value(code_.kwargs_slot.has_value());
  if (name == "catch_varargs") return Value(code_.varargs_slot.has_value());
  if (name == "caller") return Value(code_.reads_caller);
  return std::nullopt;
}

Value Macro::Call(Interp& interp, Args args) {
  return interp.CallMacro(code_, frame_, std::move(args));
}

// --- Loop

Loop::Loop(Value iterable, const For* node, std::shared_ptr<Frame> outer, int depth)
    : iterable_(std::move(iterable)),
      iterator_(jinja::Iterate(iterable_)),
      node_(node),
      outer_(std::move(outer)),
      depth_(depth) {}

Loop::~Loop() {
  std::vector<Value> values = {std::move(iterable_)};
  values.emplace_back(std::move(iterator_));
  for (auto* value : {&before_, &current_, &after_, &last_changed_}) {
    if (*value) values.push_back(std::move(**value));
  }
  Reap(std::move(values));
}

bool Loop::Next(Value& out) {
  Value item;
  if (after_) {
    item = std::move(*after_);
    after_.reset();
  } else if (!iterator_->Next(item)) {
    return false;
  }
  ++index0_;
  before_ = std::move(current_);
  current_ = item;
  out = std::move(item);
  return true;
}

std::shared_ptr<Iterator> Loop::Iterate() {
  auto self = std::static_pointer_cast<Loop>(shared_from_this());
  return MakeGenerator([self](Value& out) {
    Value item;
    if (!self->Next(item)) return false;
    out = Value::Tuple({item, Value(std::shared_ptr<Object>(self))});
    return true;
  });
}

bool Loop::Peek() {
  if (after_) return true;
  Value item;
  if (!iterator_->Next(item)) return false;
  after_ = std::move(item);
  return true;
}

size_t Loop::CountItems() {
  if (length_) return *length_;
  length_ = TryLength(iterable_);
  if (length_) return *length_;
  std::vector<Value> rest = ToVector(Value(iterator_));
  length_ = rest.size() + static_cast<size_t>(index0_ + 1) + (after_ ? 1 : 0);
  iterator_ = jinja::Iterate(Value::List(std::move(rest)));
  return *length_;
}

Text Loop::Repr(Interp&) const {
  auto* self = const_cast<Loop*>(this);  // counting may read ahead, as in jinja2
  return Text(
      "<LoopContext " + IntToString(index0_ + 1) + "/" + std::to_string(self->CountItems()) + ">",
      Origin::kTemplate);
}

Value Loop::Cycle(const Args& args) const {
  if (!args.keyword.empty()) Raise("TypeError", "cycle() takes no keyword arguments");
  if (args.positional.empty()) Raise("TypeError", "no items for cycling given");
  Int n = static_cast<Int>(args.positional.size());
  return args.positional[static_cast<size_t>(((index0_ % n) + n) % n)];
}

Value Loop::Changed(Args args) {
  if (!args.keyword.empty()) Raise("TypeError", "changed() takes no keyword arguments");
  Value value = Value::Tuple(std::move(args.positional));
  if (last_changed_ && Equals(*last_changed_, value)) return false;
  last_changed_ = std::move(value);
  return true;
}

std::optional<Value> Loop::Attribute(Interp&, std::string_view name) {
  if (name == "index0") return Value(index0_);
  if (name == "index") return Value(index0_ + 1);
  if (name == "first") return Value(index0_ == 0);
  if (name == "last") return Value(!Peek());
  if (name == "length") return Value(CountItems());
  if (name == "revindex") return Value(static_cast<Int>(CountItems()) - index0_);
  if (name == "revindex0") return Value(static_cast<Int>(CountItems()) - index0_ - 1);
  if (name == "depth") return Value(depth_ + 1);
  if (name == "depth0") return Value(depth_);
  if (name == "previtem") {
    if (index0_ == 0) return Value::Undefined("there is no previous item");
    return before_ ? *before_ : Value::Undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return Peek() ? *after_ : Value::Undefined("there is no next item");
  }
  auto self = std::static_pointer_cast<Loop>(shared_from_this());
  if (name == "cycle") {
    return MakeFunction("cycle", [self](Interp&, Args args) { return self->Cycle(args); });
  }
  if (name == "changed") {
    return MakeFunction("changed",
                        [self](Interp&, Args args) { return self->Changed(std::move(args)); });
  }
  return std::nullopt;
}

Value Loop::Call(Interp& interp, Args args) {
  Params p("loop", std::move(args), "iterable");
  if (node_ == nullptr) {
    Raise("TypeError", "The loop must have the 'recursive' marker to be called recursively.");
  }
  return interp.RunRecursive(*node_, outer_, *p[0], depth_ + 1);
}

// --- Cycler and Joiner

Cycler::~Cycler() { Reap(std::move(items_)); }

Joiner::~Joiner() {
  std::vector<Value> values;
  values.push_back(std::move(separator_));
  Reap(std::move(values));
}

std::optional<Value> Cycler::Attribute(Interp&, std::string_view name) {
  auto self = std::static_pointer_cast<Cycler>(shared_from_this());
  if (name == "current") return items_[at_];
  if (name == "items") return Value::Tuple(items_);
  if (name == "pos") return Value(at_);
  if (name == "next") {
    return MakeFunction("next", [self](Interp&, Args args) {
      Params p("next", std::move(args), "");
      Value value = self->items_[self->at_];
      self->at_ = (self->at_ + 1) % self->items_.size();
      return value;
    });
  }
  if (name == "reset") {
    return MakeFunction("reset", [self](Interp&, Args args) {
      Params p("reset", std::move(args), "");
      self->at_ = 0;
      return Value(None{});
    });
  }
  return std::nullopt;
}

std::optional<Value> Joiner::Attribute(Interp&, std::string_view name) {
  if (name == "sep") return separator_;
  if (name == "used") return Value(used_);
  return std::nullopt;
}

Value Joiner::Call(Interp&, Args args) {
  Params p("joiner", std::move(args), "");
  if (used_) return separator_;
  used_ = true;
  return Text();
}

}  // namespace moxie::text::jinja
