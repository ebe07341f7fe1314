// Statements, frames and macros.
#include "text/jinja/globals.h"
#include "text/jinja/interp.h"
#include "text/jinja/objects.h"
#include "text/jinja/reaper.h"

namespace moxie::text::jinja {

Frame::Frame(int n, std::shared_ptr<Frame> outer)
    : slots(static_cast<size_t>(n)),
      parent(std::move(outer)),
      charge(sizeof(Frame) + slots.size() * sizeof(slots[0])) {}

Frame::~Frame() {
  std::vector<Value> values;
  for (auto& slot : slots) {
    if (slot) values.push_back(std::move(*slot));
  }
  Reap(std::move(values));
}

// Makes `frame` the current one until the end of the scope. A frame that a closure holds by then is
// kept until the rendering ends, when it is emptied: closures and frames may hold each other.
class Interp::FrameScope {
 public:
  FrameScope(Interp& interp, std::shared_ptr<Frame> frame)
      : interp_(interp), previous_(std::exchange(interp.frame_, std::move(frame))) {}
  ~FrameScope() {
    auto frame = std::exchange(interp_.frame_, std::move(previous_));
    if (frame.use_count() > 1) interp_.retained_.push_back(std::move(frame));
  }

 private:
  Interp& interp_;
  std::shared_ptr<Frame> previous_;
};

// Makes `frame`, which its owner keeps, the current one until the end of the scope.
class Restore {
 public:
  Restore(std::shared_ptr<Frame>& current, std::shared_ptr<Frame> frame)
      : current_(current), previous_(std::exchange(current, std::move(frame))) {}
  ~Restore() { current_ = std::move(previous_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  std::shared_ptr<Frame>& current_;
  std::shared_ptr<Frame> previous_;
};

// Collects the output until the end of the scope.
class Interp::OutputScope {
 public:
  explicit OutputScope(Interp& interp)
      : interp_(interp), previous_(std::exchange(interp.out_, &buffer_)) {}
  ~OutputScope() { interp_.out_ = previous_; }
  Text Take() { return buffer_.Take(); }

 private:
  Interp& interp_;
  TextBuilder buffer_;
  TextBuilder* previous_;
};

Interp::Interp(const Program& program, const Variables& variables, const Clock& clock)
    : program_(program), variables_(variables), clock_(clock) {}

Interp::~Interp() {
  for (auto& weak : registered_) {
    if (auto object = weak.lock()) object->Clear();
  }
  for (auto& frame : retained_) {
    std::vector<Value> values;
    for (auto& slot : frame->slots) {
      if (slot) values.push_back(std::move(*slot));
      slot.reset();
    }
    Reap(std::move(values));
  }
}

Text Interp::Run() {
  FrameScope frame(*this, std::make_shared<Frame>(program_.slots, nullptr));
  OutputScope output(*this);
  EnterScope(program_.loads);
  ExecBody(program_.body);
  return output.Take();
}

std::optional<Value>& Interp::Slot(const Ref& ref) {
  Frame* frame = frame_.get();
  for (int i = 0; i < ref.hops; ++i) frame = frame->parent.get();
  return frame->slots[static_cast<size_t>(ref.slot)];
}

void Interp::EnterScope(const Loads& loads) {
  for (const Load& load : loads) {
    auto& slot = frame_->slots[static_cast<size_t>(load.slot)];
    switch (load.action) {
      case Load::kParameter:
        break;
      case Load::kUndefined:
        slot.reset();
        break;
      case Load::kAlias:
        slot = Slot(load.source);
        break;
      case Load::kResolve: {
        auto found = variables_.find(load.name);
        if (found != variables_.end()) {
          slot = found->second;
        } else {
          slot = FindGlobal(load.name);
        }
      }
    }
  }
}

void Interp::LeaveScope(const Loads& loads) {
  for (const Load& load : loads) frame_->slots[static_cast<size_t>(load.slot)].reset();
}

Interp::Flow Interp::ExecBody(const Body& body) {
  for (auto& statement : body) {
    Flow flow = Exec(*statement);
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Interp::Flow Interp::Exec(const Stmt& node) {
  Meter* meter = Meter::Current();
  Meter::Nest nest(meter);
  meter->Step();
  line_ = node.line;
  switch (node.kind) {
    case Node::Kind::kFor:
      return ExecFor(static_cast<const For&>(node));
    case Node::Kind::kIf:
      return ExecIf(static_cast<const If&>(node));
    case Node::Kind::kFilterBlock:
      return ExecFilterBlock(static_cast<const FilterBlock&>(node));
    case Node::Kind::kWith:
      return ExecWith(static_cast<const With&>(node));
    case Node::Kind::kAssignBlock:
      return ExecAssignBlock(static_cast<const AssignBlock&>(node));
    case Node::Kind::kBreak:
      return Flow::kBreak;
    case Node::Kind::kContinue:
      return Flow::kContinue;
    case Node::Kind::kMacro:
      ExecMacro(static_cast<const MacroDef&>(node));
      break;
    case Node::Kind::kCallBlock:
      ExecCallBlock(static_cast<const CallBlock&>(node));
      break;
    case Node::Kind::kAssign:
      ExecAssign(static_cast<const Assign&>(node));
      break;
    default:
      ExecOutput(static_cast<const Output&>(node));
  }
  return Flow::kNormal;
}

void Interp::ExecOutput(const Output& node) {
  for (auto& part : node.parts) {
    if (part->kind != Node::Kind::kConst) line_ = part->line;
    Value value = Eval(*part);
    out_->Add(Str(*this, value));
  }
}

Interp::Flow Interp::ExecIf(const If& node) {
  if (Truth(Eval(*node.test))) return ExecBody(node.body);
  for (auto& elif : node.elifs) {
    line_ = elif->line;
    if (Truth(Eval(*elif->test))) return ExecBody(elif->body);
  }
  return ExecBody(node.otherwise);
}

Interp::Flow Interp::ExecFor(const For& node) {
  Value iterable = Eval(*node.iter);
  line_ = node.line;
  if (!node.recursive) return ExecLoop(node, iterable, nullptr, 0);
  out_->Add(*RunRecursive(node, frame_, iterable, 0).text());
  return Flow::kNormal;
}

Value Interp::RunRecursive(const For& node, std::shared_ptr<Frame> outer, const Value& iterable,
                           int depth) {
  Meter::Nest nest(Meter::Current());
  FrameScope frame(*this, std::make_shared<Frame>(node.function_slots, outer));
  OutputScope output(*this);
  ExecLoop(node, iterable, outer, depth);
  return output.Take();
}

// The frame current when the loop starts is, for a recursive loop, its own; `outer` is where it was
// defined, whose scope its filter sees.
Interp::Flow Interp::ExecLoop(const For& node, const Value& iterable,
                              const std::shared_ptr<Frame>& outer, int depth) {
  Value items = iterable;
  if (node.test != nullptr) {
    std::shared_ptr<Frame> definition = outer != nullptr ? outer : frame_;
    items = FilterLoop(node, iterable, definition);
  }
  std::shared_ptr<Iterator> iterator;
  std::shared_ptr<Loop> loop;
  if (node.loop_ref) {
    Slot(*node.loop_ref).reset();
    loop = std::make_shared<Loop>(items, node.recursive ? &node : nullptr, outer, depth);
  } else {
    iterator = Iterate(items);
  }
  bool completed = false;  // some run of the body reached its end
  for (Value item; loop ? loop->Next(item) : iterator->Next(item);) {
    SetTarget(node.loop_target, item);
    if (loop) Slot(*node.loop_ref) = Value(std::shared_ptr<Object>(loop));
    EnterScope(node.loop_loads);
    Flow flow = ExecBody(node.body);
    if (flow == Flow::kBreak) break;
    completed = completed || flow == Flow::kNormal;
    line_ = node.line;
  }
  LeaveScope(node.loop_loads);
  if (completed || node.otherwise.empty()) return Flow::kNormal;
  EnterScope(node.else_loads);
  Flow flow = ExecBody(node.otherwise);
  if (flow == Flow::kNormal) LeaveScope(node.else_loads);
  return flow;
}

// The items that pass the loop's test, tested one at a time as the loop asks for them.
Value Interp::FilterLoop(const For& node, const Value& iterable,
                         const std::shared_ptr<Frame>& definition) {
  auto frame = std::make_shared<Frame>(node.test_slots, definition);
  std::shared_ptr<Iterator> source;
  return MakeGenerator([this, &node, iterable, frame, source](Value& out) mutable {
    Restore scope(frame_, frame);
    if (source == nullptr) {
      EnterScope(node.test_loads);
      source = Iterate(iterable);
    }
    for (Value item; source->Next(item);) {
      SetTarget(node.test_target, item);
      line_ = node.test->line;
      if (!Truth(Eval(*node.test))) continue;
      out = TargetValue(node.test_target);
      return true;
    }
    return false;
  });
}

Value Interp::TargetValue(const Target& target) {
  if (target.kind == Target::kName) return *Slot(target.ref);
  std::vector<Value> items;
  for (const Target& item : target.items) items.push_back(TargetValue(item));
  return Value::Tuple(std::move(items));
}

void Interp::SetTarget(const Target& target, const Value& value) {
  if (target.kind == Target::kName) {
    Slot(target.ref) = value;
    return;
  }
  if (target.kind == Target::kNamespace) {
    CheckNamespaces(target);
    static_cast<Namespace*>(Slot(target.ref)->object())->Set(target.attribute, value);
    return;
  }
  if (!IsIterable(value)) {
    Raise("TypeError", "cannot unpack non-iterable ", TypeName(value), " object");
  }
  auto it = Iterate(value);
  std::vector<Value> items;
  for (Value item; items.size() <= target.items.size() && it->Next(item);) items.push_back(item);
  if (items.size() > target.items.size()) {
    Raise("ValueError", "too many values to unpack (expected ", target.items.size(), ")");
  }
  if (items.size() < target.items.size()) {
    Raise("ValueError", "not enough values to unpack (expected ", target.items.size(), ", got ",
          items.size(), ")");
  }
  for (size_t i = 0; i < items.size(); ++i) SetTarget(target.items[i], items[i]);
}

void Interp::CheckNamespaces(const Target& target) {
  for (const Target& item : target.items) CheckNamespaces(item);
  if (target.kind != Target::kNamespace) return;
  const auto& slot = Slot(target.ref);
  if (!slot || dynamic_cast<Namespace*>(slot->object()) == nullptr) {
    Raise("TemplateRuntimeError", "cannot assign attribute on non-namespace object");
  }
}

void Interp::ExecMacro(const MacroDef& node) {
  Slot(node.ref) = Value(std::shared_ptr<Object>(std::make_shared<Macro>(node.code, frame_)));
}

void Interp::ExecCallBlock(const CallBlock& node) {
  Value caller(std::shared_ptr<Object>(std::make_shared<Macro>(node.code, frame_)));
  if (node.call == nullptr) {  // {% generation %}
    out_->Add(Str(*this, CallValue(caller, {})));
    return;
  }
  auto& call = static_cast<const Call&>(*node.call);
  Value callee = Eval(*call.callee);
  Args args = EvalArgs(call.args);
  for (auto& [name, value] : args.keyword) {
    if (name == "caller") {
      Raise("TypeError", "got multiple values for keyword argument 'caller'");
    }
  }
  args.keyword.emplace_back("caller", caller);
  line_ = node.line;
  // jinja2 joins what the call gave as it is: not even an undefined value becomes text.
  out_->Add(NeedText(CallValue(callee, std::move(args)), "the result of a call block"));
}

// jinja2's Macro.__call__: fills the slots of the parameters in the (new, current) frame.
void Interp::BindMacroArgs(const MacroCode& code, Args& args) {
  auto take_keyword = [&](std::string_view name) -> std::optional<Value> {
    for (auto it = args.keyword.begin(); it != args.keyword.end(); ++it) {
      if (it->first != name) continue;
      Value value = std::move(it->second);
      args.keyword.erase(it);
      return value;
    }
    return std::nullopt;
  };
  size_t given = std::min(args.positional.size(), code.params.size());
  bool explicit_caller = false;
  for (size_t i = 0; i < code.params.size(); ++i) {
    auto& slot = frame_->slots[static_cast<size_t>(code.param_slots[i])];
    bool is_caller = code.params[i]->name == "caller";
    if (i < given) {
      slot = args.positional[i];
    } else {
      slot = take_keyword(code.params[i]->name);
    }
    explicit_caller = explicit_caller || (is_caller && (i >= given || given == code.params.size()));
  }
  if (code.caller_slot) {
    auto caller = take_keyword("caller");
    if (caller && caller->is_none()) caller.reset();
    frame_->slots[static_cast<size_t>(*code.caller_slot)] =
        caller ? *caller : Value::Undefined("No caller defined");
  } else if (code.reads_caller && !explicit_caller) {
    Raise("TypeError", "macro '", code.name, "' was given its caller by position");
  }
  if (code.kwargs_slot) {
    auto dict = std::make_shared<Dict>();
    for (auto& [name, value] : args.keyword) dict->Set(Text(name, Origin::kData), value);
    frame_->slots[static_cast<size_t>(*code.kwargs_slot)] = Value(DictPtr(std::move(dict)));
  } else if (!args.keyword.empty()) {
    Raise("TypeError", "macro '", code.name, "' takes no keyword argument '", args.keyword[0].first,
          "'");
  }
  if (code.varargs_slot) {
    frame_->slots[static_cast<size_t>(*code.varargs_slot)] =
        Value::Tuple({args.positional.begin() + static_cast<long>(given), args.positional.end()});
  } else if (args.positional.size() > code.params.size()) {
    Raise("TypeError", "macro '", code.name, "' takes not more than ", code.params.size(),
          " argument(s)");
  }
}

Value Interp::CallMacro(const MacroCode& code, const std::shared_ptr<Frame>& outer, Args args) {
  FrameScope frame(*this, std::make_shared<Frame>(code.slots, outer));
  OutputScope output(*this);
  BindMacroArgs(code, args);
  EnterScope(code.loads);
  size_t required = code.params.size() - code.defaults.size();
  for (size_t i = 0; i < code.params.size(); ++i) {
    auto& slot = frame_->slots[static_cast<size_t>(code.param_slots[i])];
    if (slot) continue;
    if (i < required) {
      slot = Value::Undefined("parameter '" + code.params[i]->name + "' was not provided");
    } else {
      slot = Eval(*code.defaults[i - required]);
    }
  }
  ExecBody(code.body);
  return output.Take();
}

Interp::Flow Interp::ExecFilterBlock(const FilterBlock& node) {
  EnterScope(node.loads);
  Text body;
  {
    OutputScope output(*this);
    Flow flow = ExecBody(node.body);
    if (flow != Flow::kNormal) return flow;
    body = output.Take();
  }
  const Text* outer = std::exchange(block_text_, &body);
  Value value = Eval(*node.filter);
  block_text_ = outer;
  if (!value.is_text()) {  // jinja2 joins what blocks yield
    Raise("TypeError", "sequence item 0: expected str instance, ", TypeName(value), " found");
  }
  out_->Add(*value.text());
  LeaveScope(node.loads);
  return Flow::kNormal;
}

Interp::Flow Interp::ExecWith(const With& node) {
  EnterScope(node.loads);
  for (size_t i = 0; i < node.values.size(); ++i) {
    SetTarget(node.bound_targets[i], Eval(*node.values[i]));
  }
  Flow flow = ExecBody(node.body);
  if (flow == Flow::kNormal) LeaveScope(node.loads);
  return flow;
}

void Interp::ExecAssign(const Assign& node) {
  CheckNamespaces(node.bound_target);
  SetTarget(node.bound_target, Eval(*node.value));
}

Interp::Flow Interp::ExecAssignBlock(const AssignBlock& node) {
  EnterScope(node.loads);
  Text body;
  {
    OutputScope output(*this);
    Flow flow = ExecBody(node.body);
    if (flow != Flow::kNormal) return flow;
    body = output.Take();
  }
  Value value = body;
  if (node.filter != nullptr) {
    const Text* outer = std::exchange(block_text_, &body);
    value = Eval(*node.filter);
    block_text_ = outer;
  }
  SetTarget(node.bound_target, value);
  LeaveScope(node.loads);
  return Flow::kNormal;
}

}  // namespace moxie::text::jinja
