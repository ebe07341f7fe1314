// Runs a bound program. One Interp is one rendering: it owns the frames, the output and the line it
// is at; values call back into it for attributes, calls, filters and tests.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/meter.h"

namespace moxie::text::jinja {

using Variables = std::unordered_map<std::string, Value>;

// Local time now, for strftime_now. Microseconds are 0..999999.
struct ClockTime {
  std::tm time{};
  int microseconds = 0;
};
using Clock = std::function<ClockTime()>;

// The slots of one function's activation. Absent: the name is not set ("missing").
struct Frame {
  Frame(int n, std::shared_ptr<Frame> outer);
  ~Frame();
  std::vector<std::optional<Value>> slots;
  std::shared_ptr<Frame> parent;
  Charge charge;
};

class Interp {
 public:
  // All must outlive the Interp.
  Interp(const Program& program, const Variables& variables, const Clock& clock);
  ~Interp();

  Text Run();
  int line() const { return line_; }
  const Clock& clock() const { return clock_; }

  // environment.getattr and getitem: Undefined when there is no such thing.
  Value GetAttribute(const Value& object, std::string_view name);
  Value GetItem(const Value& object, const Value& key);
  // The same without falling back to an item: the filter attr.
  Value GetAttributeOnly(const Value& object, std::string_view name);
  Value CallValue(const Value& callee, Args args);
  // A filter or test by name, as map() and select() use them; TemplateRuntimeError when unknown.
  Value CallFilter(std::string_view name, const Value& operand, Args args);
  bool CallTest(std::string_view name, const Value& operand, Args args);

  Value CallMacro(const MacroCode& code, const std::shared_ptr<Frame>& outer, Args args);
  // loop(iterable) of a recursive loop.
  Value RunRecursive(const For& node, std::shared_ptr<Frame> outer, const Value& iterable,
                     int depth);
  // Objects that may come to hold themselves are emptied when the rendering ends.
  void Register(const std::shared_ptr<Object>& object) { registered_.push_back(object); }

 private:
  enum class Flow { kNormal, kBreak, kContinue };
  class FrameScope;
  class OutputScope;

  // Expressions (eval.cc).
  Value Eval(const Node& node);
  Value EvalLogic(const Logic& node);
  Value EvalUnary(const Unary& node);
  Value EvalComparison(const Comparison& node);
  Value EvalConditional(const Conditional& node);
  Value EvalGetitem(const Getitem& node);
  Value EvalFilter(const Filter& node);
  Value EvalTest(const Test& node);
  Value EvalCall(const Call& node);
  std::vector<Value> EvalAll(const std::vector<ExprPtr>& nodes);
  Args EvalArgs(const CallArgs& args);
  bool CompareOnce(Comparison::Op op, const Value& left, const Value& right);
  Value Undefined(const Value& object, const Value& key);
  Value Unsafe(const Value& object, std::string_view name);
  std::optional<Value> FindAttribute(const Value& object, std::string_view name);

  // Statements (exec.cc).
  Flow ExecBody(const Body& body);
  Flow Exec(const Stmt& node);
  void ExecOutput(const Output& node);
  Flow ExecIf(const If& node);
  Flow ExecFor(const For& node);
  Flow ExecLoop(const For& node, const Value& iterable, const std::shared_ptr<Frame>& outer,
                int depth);
  void ExecMacro(const MacroDef& node);
  void ExecCallBlock(const CallBlock& node);
  Flow ExecFilterBlock(const FilterBlock& node);
  Flow ExecWith(const With& node);
  void ExecAssign(const Assign& node);
  Flow ExecAssignBlock(const AssignBlock& node);
  void SetTarget(const Target& target, const Value& value);
  void CheckNamespaces(const Target& target);
  Value TargetValue(const Target& target);
  Value FilterLoop(const For& node, const Value& iterable,
                   const std::shared_ptr<Frame>& definition);
  void EnterScope(const Loads& loads);
  void LeaveScope(const Loads& loads);
  std::optional<Value>& Slot(const Ref& ref);
  void BindMacroArgs(const MacroCode& code, Args& args);

  const Program& program_;
  const Variables& variables_;
  const Clock& clock_;
  std::shared_ptr<Frame> frame_;
  TextBuilder* out_ = nullptr;
  const Text* block_text_ = nullptr;  // what a filter without operand works on
  int line_ = 1;
  std::vector<std::shared_ptr<Frame>> retained_;  // frames that a closure still holds
  std::vector<std::weak_ptr<Object>> registered_;
};

}  // namespace moxie::text::jinja
