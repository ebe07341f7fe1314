// The tree of a template. The parser fills in what the source says; the binder (bind.h) then
// resolves every name to a slot, as jinja2's compiler does, so that scoping is decided before
// anything runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/ops.h"
#include "text/jinja/value.h"

namespace moxie::text::jinja {

// A variable: `slot` of the function frame `hops` definitions outwards.
struct Ref {
  int hops = 0;
  int slot = -1;
};

struct Node {
  enum class Kind {
    kConst,
    kName,
    kNsRef,
    kTuple,
    kList,
    kDict,
    kBinary,
    kLogic,
    kUnary,
    kConcat,
    kCompare,
    kCond,
    kFilter,
    kTest,
    kCall,
    kGetattr,
    kGetitem,
    kSlice,  // expressions
    kOutput,
    kFor,
    kIf,
    kMacro,
    kCallBlock,
    kFilterBlock,
    kWith,
    kAssign,
    kAssignBlock,
    kBreak,
    kContinue
  };
  using Visitor = std::function<void(Node&)>;

  explicit Node(Kind k) : kind(k) {}
  virtual ~Node() = default;
  // Calls f for each child, in jinja2's field order.
  virtual void Children(const Visitor& f) = 0;

  const Kind kind;
  int line = 1;
  int depth = 1;  // of the expression below
};

struct Expr : Node {
  using Node::Node;
};
using ExprPtr = std::unique_ptr<Expr>;
struct Stmt : Node {
  using Node::Node;
};
using Body = std::vector<std::unique_ptr<Stmt>>;

inline void VisitOne(const ExprPtr& e, const Node::Visitor& f) {
  if (e != nullptr) f(*e);
}
template <typename T>
void VisitAll(const std::vector<std::unique_ptr<T>>& nodes, const Node::Visitor& f) {
  for (const auto& node : nodes) f(*node);
}

struct Const : Expr {
  Const() : Expr(Kind::kConst) {}
  void Children(const Visitor&) override {}
  Value value;
};

struct Name : Expr {
  enum Context { kLoad, kStore, kParam };
  Name() : Expr(Kind::kName) {}
  void Children(const Visitor&) override {}
  std::string name;
  Context context = kLoad;
  Ref ref;
};

struct NsRef : Expr {
  NsRef() : Expr(Kind::kNsRef) {}
  void Children(const Visitor&) override {}
  std::string name, attribute;
};

// A tuple or a list display.
struct Items : Expr {
  explicit Items(Kind kind) : Expr(kind) {}
  void Children(const Visitor& f) override { VisitAll(items, f); }
  std::vector<ExprPtr> items;
};

struct DictDisplay : Expr {
  DictDisplay() : Expr(Kind::kDict) {}
  void Children(const Visitor& f) override {
    for (auto& [key, value] : items) {
      f(*key);
      f(*value);
    }
  }
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
};

struct Binary : Expr {
  Binary() : Expr(Kind::kBinary) {}
  void Children(const Visitor& f) override {
    f(*left);
    f(*right);
  }
  BinaryOp op = BinaryOp::kAdd;
  // A constant base of a power that is none: jinja2 writes it without parentheses, so that a sign
  // applies to the power.
  bool bare_base = false;
  ExprPtr left, right;
};

struct Logic : Expr {
  Logic() : Expr(Kind::kLogic) {}
  void Children(const Visitor& f) override {
    f(*left);
    f(*right);
  }
  bool is_and = false;
  ExprPtr left, right;
};

struct Unary : Expr {
  enum Op { kNot, kNegative, kPositive };
  Unary() : Expr(Kind::kUnary) {}
  void Children(const Visitor& f) override { f(*operand); }
  Op op = kNot;
  ExprPtr operand;
};

struct Concat : Expr {
  Concat() : Expr(Kind::kConcat) {}
  void Children(const Visitor& f) override { VisitAll(parts, f); }
  std::vector<ExprPtr> parts;
};

struct Comparison : Expr {
  enum Op { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };
  Comparison() : Expr(Kind::kCompare) {}
  void Children(const Visitor& f) override {
    f(*first);
    for (auto& [op, e] : rest) f(*e);
  }
  ExprPtr first;
  std::vector<std::pair<Op, ExprPtr>> rest;
};

struct Conditional : Expr {
  Conditional() : Expr(Kind::kCond) {}
  void Children(const Visitor& f) override {
    f(*test);
    f(*then);
    VisitOne(otherwise, f);
  }
  ExprPtr test, then, otherwise;
};

struct CallArgs {
  void Children(const Node::Visitor& f) {
    VisitAll(positional, f);
    for (auto& [name, e] : keyword) f(*e);
    VisitOne(star, f);
    VisitOne(double_star, f);
  }
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keyword;
  ExprPtr star, double_star;
};

struct FilterRow;
struct TestRow;

// x|name(args). Without an operand it filters the body of a block.
struct Filter : Expr {
  Filter() : Expr(Kind::kFilter) {}
  void Children(const Visitor& f) override {
    VisitOne(operand, f);
    args.Children(f);
  }
  ExprPtr operand;
  std::string name;
  CallArgs args;
  const FilterRow* row = nullptr;  // null: unknown, an error when reached
};

struct Test : Expr {
  Test() : Expr(Kind::kTest) {}
  void Children(const Visitor& f) override {
    f(*operand);
    args.Children(f);
  }
  ExprPtr operand;
  std::string name;
  CallArgs args;
  const TestRow* row = nullptr;
};

struct Call : Expr {
  Call() : Expr(Kind::kCall) {}
  void Children(const Visitor& f) override {
    f(*callee);
    args.Children(f);
  }
  ExprPtr callee;
  CallArgs args;
};

struct Getattr : Expr {
  Getattr() : Expr(Kind::kGetattr) {}
  void Children(const Visitor& f) override { f(*object); }
  ExprPtr object;
  std::string attribute;
};

struct Getitem : Expr {
  Getitem() : Expr(Kind::kGetitem) {}
  void Children(const Visitor& f) override {
    f(*object);
    f(*index);
  }
  ExprPtr object, index;
};

struct SliceExpr : Expr {
  SliceExpr() : Expr(Kind::kSlice) {}
  void Children(const Visitor& f) override {
    VisitOne(start, f);
    VisitOne(stop, f);
    VisitOne(step, f);
  }
  ExprPtr start, stop, step;
};

// What a scope does on entry, for each of its variables.
struct Load {
  enum Action { kParameter, kResolve, kAlias, kUndefined };
  Action action = kUndefined;
  int slot = -1;
  std::string name;  // kResolve: the context's variable
  Ref source;        // kAlias
};
using Loads = std::vector<Load>;

// Where an assignment goes: a variable, a namespace's attribute, or a tuple of targets.
struct Target {
  enum Kind { kName, kNamespace, kTuple } kind = kName;
  Ref ref;
  std::string attribute;
  std::vector<Target> items;
};

struct Output : Stmt {
  Output() : Stmt(Kind::kOutput) {}
  void Children(const Visitor& f) override { VisitAll(parts, f); }
  std::vector<ExprPtr> parts;
};

struct For : Stmt {
  For() : Stmt(Kind::kFor) {}
  void Children(const Visitor& f) override {
    f(*target);
    f(*iter);
    VisitAll(body, f);
    VisitAll(otherwise, f);
    VisitOne(test, f);
  }
  ExprPtr target, iter, test;
  Body body, otherwise;
  bool recursive = false;

  // Bound:
  Target loop_target, test_target;
  Loads loop_loads, else_loads, test_loads;
  std::optional<Ref> loop_ref;  // set when the body wants `loop`
  int function_slots = 0;       // recursive: of its own function
  int test_slots = 0;
};

struct If : Stmt {
  If() : Stmt(Kind::kIf) {}
  void Children(const Visitor& f) override {
    f(*test);
    VisitAll(body, f);
    VisitAll(elifs, f);
    VisitAll(otherwise, f);
  }
  ExprPtr test;
  Body body, otherwise;
  std::vector<std::unique_ptr<If>> elifs;
};

// A macro, or the body of a call or generation block.
struct MacroCode {
  void Children(const Node::Visitor& f) {
    VisitAll(params, f);
    VisitAll(defaults, f);
    VisitAll(body, f);
  }
  std::string name;  // empty: anonymous
  std::vector<std::unique_ptr<Name>> params;
  std::vector<ExprPtr> defaults;  // of the last params
  Body body;

  // Bound:
  std::vector<int> param_slots;
  bool reads_caller = false;
  std::optional<int> caller_slot, kwargs_slot, varargs_slot;  // when read and not named as params
  Loads loads;
  int slots = 0;
};

struct MacroDef : Stmt {
  MacroDef() : Stmt(Kind::kMacro) {}
  void Children(const Visitor& f) override { code.Children(f); }
  MacroCode code;
  Ref ref;
};

struct CallBlock : Stmt {
  CallBlock() : Stmt(Kind::kCallBlock) {}
  void Children(const Visitor& f) override {
    VisitOne(call, f);
    code.Children(f);
  }
  ExprPtr call;  // a Call; null for a generation block, which calls its body once
  MacroCode code;
};

struct FilterBlock : Stmt {
  FilterBlock() : Stmt(Kind::kFilterBlock) {}
  void Children(const Visitor& f) override {
    VisitAll(body, f);
    f(*filter);
  }
  Body body;
  ExprPtr filter;
  Loads loads;
};

struct With : Stmt {
  With() : Stmt(Kind::kWith) {}
  void Children(const Visitor& f) override {
    VisitAll(targets, f);
    VisitAll(values, f);
    VisitAll(body, f);
  }
  std::vector<ExprPtr> targets, values;
  Body body;
  std::vector<Target> bound_targets;
  Loads loads;
};

struct Assign : Stmt {
  Assign() : Stmt(Kind::kAssign) {}
  void Children(const Visitor& f) override {
    f(*target);
    f(*value);
  }
  ExprPtr target, value;
  Target bound_target;
};

struct AssignBlock : Stmt {
  AssignBlock() : Stmt(Kind::kAssignBlock) {}
  void Children(const Visitor& f) override {
    f(*target);
    VisitOne(filter, f);
    VisitAll(body, f);
  }
  ExprPtr target, filter;
  Body body;
  Target bound_target;
  Loads loads;
};

// {% break %} or {% continue %}.
struct Jump : Stmt {
  explicit Jump(Kind kind) : Stmt(kind) {}
  void Children(const Visitor&) override {}
};

// A whole template, bound.
struct Program {
  Body body;
  Loads loads;
  int slots = 0;
};

}  // namespace moxie::text::jinja
