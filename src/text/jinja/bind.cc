#include "text/jinja/bind.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "text/jinja/filters.h"
#include "text/jinja/lexer.h"
#include "text/jinja/tests.h"

namespace moxie::text::jinja {
namespace {

// What compiles to one Python function: its variables by identifier.
struct Function {
  Function* parent = nullptr;
  std::unordered_map<std::string, int> slots;
  int Slot(const std::string& identifier) {
    return slots.emplace(identifier, static_cast<int>(slots.size())).first->second;
  }
};

// jinja2's idtracking.Symbols: the names one scope knows.
struct Symbols {
  Symbols(Function* f, Symbols* p) : function(f), parent(p), level(p ? p->level + 1 : 0) {}

  struct LoadInfo {
    Load::Action action;
    std::string name;
    const Symbols* source = nullptr;  // kAlias: whose variable
  };

  std::string Identifier(const std::string& name) const { return StrCat("l_", level, "_", name); }
  // The scope, from here outwards, that has the name; or null.
  const Symbols* FindOwner(const std::string& name) const {
    for (const Symbols* s = this; s != nullptr; s = s->parent) {
      if (s->refs.contains(name)) return s;
    }
    return nullptr;
  }
  void Define(const std::string& name, LoadInfo load) {
    refs.insert(name);
    loads[name] = std::move(load);
  }
  void Store(const std::string& name) {
    stores.insert(name);
    if (refs.contains(name)) return;
    const Symbols* owner = parent != nullptr ? parent->FindOwner(name) : nullptr;
    Define(name, owner != nullptr ? LoadInfo{Load::kAlias, name, owner}
                                  : LoadInfo{Load::kUndefined, name});
  }
  void DeclareParameter(const std::string& name) {
    stores.insert(name);
    Define(name, {Load::kParameter, name});
  }
  void LoadName(const std::string& name) {
    if (FindOwner(name) == nullptr) Define(name, {Load::kResolve, name});
  }
  void MergeBranches(const std::vector<Symbols>& branches) {
    std::set<std::string> stored;
    for (const Symbols& branch : branches)
      stored.insert(branch.stores.begin(), branch.stores.end());
    for (const std::string& name : stores) stored.erase(name);
    for (const Symbols& branch : branches) {
      refs.insert(branch.refs.begin(), branch.refs.end());
      for (auto& [name, load] : branch.loads) loads[name] = load;
      stores.insert(branch.stores.begin(), branch.stores.end());
    }
    for (const std::string& name : stored) {
      const Symbols* owner = parent != nullptr ? parent->FindOwner(name) : nullptr;
      loads[name] =
          owner != nullptr ? LoadInfo{Load::kAlias, name, owner} : LoadInfo{Load::kResolve, name};
    }
  }

  Function* function;
  Symbols* parent;
  int level;
  std::set<std::string> refs;
  std::map<std::string, LoadInfo> loads;
  std::set<std::string> stores;
};

// idtracking.FrameSymbolVisitor: what a node means to the scope it stands in. Bodies that open a
// scope of their own are left out.
void Analyze(Symbols& symbols, Node& node, bool as_parameter = false);

void AnalyzeIf(Symbols& symbols, If& node) {
  Analyze(symbols, *node.test);
  std::vector<Symbols> branches;
  auto branch = [&](auto& nodes) {
    branches.push_back(symbols);
    for (auto& child : nodes) Analyze(branches.back(), *child);
  };
  branches.reserve(3);
  branch(node.body);
  branch(node.elifs);
  branch(node.otherwise);
  symbols.MergeBranches(branches);
}

void AnalyzeName(Symbols& symbols, Name& name, bool as_parameter) {
  if (as_parameter || name.context == Name::kParam) {
    symbols.DeclareParameter(name.name);
  } else if (name.context == Name::kStore) {
    symbols.Store(name.name);
  } else {
    symbols.LoadName(name.name);
  }
}

void Analyze(Symbols& symbols, Node& node, bool as_parameter) {
  auto visit = [&](Node& child) { Analyze(symbols, child, as_parameter); };
  switch (node.kind) {
    case Node::Kind::kName:
      return AnalyzeName(symbols, static_cast<Name&>(node), as_parameter);
    case Node::Kind::kNsRef:
      return symbols.LoadName(static_cast<NsRef&>(node).name);
    case Node::Kind::kIf:
      return AnalyzeIf(symbols, static_cast<If&>(node));
    case Node::Kind::kMacro:
      return symbols.Store(static_cast<MacroDef&>(node).code.name);
    case Node::Kind::kFor:
      return visit(*static_cast<For&>(node).iter);
    case Node::Kind::kCallBlock:
      return VisitOne(static_cast<CallBlock&>(node).call, visit);
    case Node::Kind::kFilterBlock:
      return visit(*static_cast<FilterBlock&>(node).filter);
    case Node::Kind::kWith:
      return VisitAll(static_cast<With&>(node).values, visit);
    case Node::Kind::kAssign:
      visit(*static_cast<Assign&>(node).value);
      return visit(*static_cast<Assign&>(node).target);
    case Node::Kind::kAssignBlock:
      return visit(*static_cast<AssignBlock&>(node).target);
    default:
      node.Children(visit);
  }
}

// compiler.find_undeclared: which of `names` the nodes read before they store them.
class Undeclared {
 public:
  explicit Undeclared(std::set<std::string> names) : names_(std::move(names)) {}
  void Visit(Node& node) {
    if (node.kind == Node::Kind::kName) {
      auto& name = static_cast<Name&>(node);
      if (name.context == Name::kLoad && names_.contains(name.name)) {
        found_.insert(name.name);
        done_ = done_ || found_ == names_;
      } else if (!done_) {
        names_.erase(name.name);
      }
    }
    node.Children([this](Node& child) {
      if (!done_) Visit(child);
    });
  }
  bool Found(const std::string& name) const { return found_.contains(name); }

 private:
  std::set<std::string> names_, found_;
  bool done_ = false;
};

// A scope while binding: compiler.Frame.
struct Scope {
  Symbols* symbols;
  bool soft = false;  // inside an if: unknown filters are errors only when reached
};

class Binder {
 public:
  Program Run(Body body) {
    Program program;
    program.body = std::move(body);
    Function root;
    Symbols symbols(&root, nullptr);
    for (auto& node : program.body) Analyze(symbols, *node);
    Scope scope{&symbols};
    program.loads = MakeLoads(symbols);
    BindBody(program.body, scope);
    program.slots = static_cast<int>(root.slots.size());
    return program;
  }

 private:
  [[noreturn]] static void Fail(const Node& node, std::string message) {
    throw SyntaxError{std::move(message), node.line, 0};
  }

  static Ref MakeRef(const Symbols& from, const Symbols& owner, const std::string& name) {
    Ref ref;
    for (Function* f = from.function; f != owner.function; f = f->parent) ++ref.hops;
    ref.slot = owner.function->Slot(owner.Identifier(name));
    return ref;
  }

  static Ref Resolve(const Symbols& symbols, const Node& node, const std::string& name) {
    const Symbols* owner = symbols.FindOwner(name);
    if (owner == nullptr) {
      // jinja2's compiler stops at the same places with an assertion.
      Fail(node, StrCat("the name '", name, "' cannot be used in the filter of a set block here"));
    }
    return MakeRef(symbols, *owner, name);
  }

  static Loads MakeLoads(const Symbols& symbols) {
    Loads loads;
    for (auto& [name, info] : symbols.loads) {
      Load load;
      load.action = info.action;
      load.name = name;
      load.slot = symbols.function->Slot(symbols.Identifier(name));
      if (info.action == Load::kAlias) load.source = MakeRef(symbols, *info.source, name);
      loads.push_back(std::move(load));
    }
    return loads;
  }

  Target MakeTarget(Node& node, const Symbols& symbols) {
    Target target;
    if (node.kind == Node::Kind::kName) {
      target.ref = Resolve(symbols, node, static_cast<Name&>(node).name);
    } else if (node.kind == Node::Kind::kNsRef) {
      auto& ns = static_cast<NsRef&>(node);
      target.kind = Target::kNamespace;
      target.ref = Resolve(symbols, node, ns.name);
      target.attribute = ns.attribute;
    } else {
      target.kind = Target::kTuple;
      node.Children([&](Node& child) { target.items.push_back(MakeTarget(child, symbols)); });
    }
    return target;
  }

  void BindBody(Body& body, const Scope& scope) {
    for (auto& statement : body) BindStatement(*statement, scope);
  }

  void BindStatement(Stmt& node, const Scope& scope) {
    switch (node.kind) {
      case Node::Kind::kFor:
        return BindFor(static_cast<For&>(node), scope);
      case Node::Kind::kIf:
        return BindIf(static_cast<If&>(node), {scope.symbols, true});
      case Node::Kind::kMacro: {
        auto& macro = static_cast<MacroDef&>(node);
        BindMacro(macro.code, node, scope);
        macro.ref = Resolve(*scope.symbols, node, macro.code.name);
        return;
      }
      case Node::Kind::kCallBlock: {
        auto& block = static_cast<CallBlock&>(node);
        BindMacro(block.code, node, scope);
        if (block.call != nullptr) BindExpr(*block.call, scope);
        return;
      }
      case Node::Kind::kFilterBlock: {
        auto& block = static_cast<FilterBlock&>(node);
        Symbols inner(scope.symbols->function, scope.symbols);
        block.Children([&](Node& child) { Analyze(inner, child); });
        block.loads = MakeLoads(inner);
        BindBody(block.body, {&inner});
        return BindExpr(*block.filter, {&inner});
      }
      case Node::Kind::kWith:
        return BindWith(static_cast<With&>(node), scope);
      case Node::Kind::kAssign: {
        auto& assign = static_cast<Assign&>(node);
        assign.bound_target = MakeTarget(*assign.target, *scope.symbols);
        return BindExpr(*assign.value, scope);
      }
      case Node::Kind::kAssignBlock: {
        auto& block = static_cast<AssignBlock&>(node);
        Symbols inner(scope.symbols->function, scope.symbols);
        for (auto& child : block.body) Analyze(inner, *child);
        block.loads = MakeLoads(inner);
        BindBody(block.body, {&inner});
        block.bound_target = MakeTarget(*block.target, *scope.symbols);
        if (block.filter != nullptr) BindExpr(*block.filter, {&inner});
        return;
      }
      default:  // Output; jumps have no children
        node.Children([&](Node& child) { BindExpr(child, scope); });
    }
  }

  void BindIf(If& node, const Scope& scope) {
    BindExpr(*node.test, scope);
    BindBody(node.body, scope);
    for (auto& elif : node.elifs) BindIf(*elif, scope);
    BindBody(node.otherwise, scope);
  }

  void BindWith(With& node, const Scope& scope) {
    Symbols inner(scope.symbols->function, scope.symbols);
    for (auto& target : node.targets) Analyze(inner, *target);
    for (auto& child : node.body) Analyze(inner, *child);
    node.loads = MakeLoads(inner);
    for (auto& target : node.targets) node.bound_targets.push_back(MakeTarget(*target, inner));
    for (auto& value : node.values) BindExpr(*value, scope);
    BindBody(node.body, {&inner});
  }

  void BindFor(For& node, const Scope& scope) {
    Function own{scope.symbols->function, {}};  // used when recursive
    Function* function = node.recursive ? &own : scope.symbols->function;
    Symbols loop(function, scope.symbols);
    Undeclared loop_name({"loop"});
    for (auto& child : node.body) loop_name.Visit(*child);
    bool extended = node.recursive || loop_name.Found("loop");
    if (extended) loop.DeclareParameter("loop");
    Analyze(loop, *node.target, /*as_parameter=*/true);
    for (auto& child : node.body) Analyze(loop, *child);
    Symbols otherwise(function, scope.symbols);
    for (auto& child : node.otherwise) Analyze(otherwise, *child);

    if (node.test != nullptr) BindLoopTest(node, scope);
    if (extended) node.loop_ref = Resolve(loop, node, "loop");
    node.loop_target = MakeTarget(*node.target, loop);
    node.loop_loads = MakeLoads(loop);
    BindBody(node.body, {&loop});
    node.else_loads = MakeLoads(otherwise);
    BindBody(node.otherwise, {&otherwise});
    BindExpr(*node.iter, scope);
    node.function_slots = static_cast<int>(own.slots.size());
  }

  // The filter of a loop is a generator function of its own; a recursive loop's stands beside the
  // loop's function, not inside it.
  void BindLoopTest(For& node, const Scope& scope) {
    Function function{scope.symbols->function, {}};
    Symbols symbols(&function, scope.symbols);
    Analyze(symbols, *node.target, /*as_parameter=*/true);
    Analyze(symbols, *node.test);
    node.test_target = MakeTarget(*node.target, symbols);
    node.test_loads = MakeLoads(symbols);
    BindExpr(*node.test, {&symbols});
    node.test_slots = static_cast<int>(function.slots.size());
  }

  void BindMacro(MacroCode& code, Node& node, const Scope& scope) {
    Function function{scope.symbols->function, {}};
    Symbols symbols(&function, scope.symbols);
    auto analyze = [&] { code.Children([&](Node& child) { Analyze(symbols, child); }); };
    analyze();
    Undeclared special({"caller", "kwargs", "varargs"});
    for (auto& child : code.body) special.Visit(*child);
    auto is_param = [&](std::string_view name) {
      return std::any_of(code.params.begin(), code.params.end(),
                         [&](auto& p) { return p->name == name; });
    };
    auto declare = [&](const char* name, std::optional<int>& slot) {
      if (!special.Found(name) || is_param(name)) return;
      symbols.DeclareParameter(name);
      slot = function.Slot(symbols.Identifier(name));
    };
    if (special.Found("caller")) CheckCallerDefault(code, node);
    declare("caller", code.caller_slot);
    code.reads_caller = special.Found("caller");
    declare("kwargs", code.kwargs_slot);
    declare("varargs", code.varargs_slot);
    analyze();
    for (auto& param : code.params) {
      code.param_slots.push_back(function.Slot(symbols.Identifier(param->name)));
    }
    code.loads = MakeLoads(symbols);
    for (auto& value : code.defaults) BindExpr(*value, {&symbols});
    BindBody(code.body, {&symbols});
    code.slots = static_cast<int>(function.slots.size());
  }

  static void CheckCallerDefault(const MacroCode& code, const Node& node) {
    size_t required = code.params.size() - code.defaults.size();
    for (size_t i = 0; i < required; ++i) {
      if (code.params[i]->name != "caller") continue;
      Fail(node,
           "When defining macros or call blocks the special \"caller\" argument must be "
           "omitted or be given a default.");
    }
  }

  // Whether jinja2 folds the expression when compiling: nothing in it depends on a variable.
  static bool IsConstant(Node& node) {
    if (node.kind == Node::Kind::kName || node.kind == Node::Kind::kCall) return false;
    bool constant = true;
    node.Children([&](Node& child) { constant = constant && IsConstant(child); });
    return constant;
  }

  void BindExpr(Node& node, const Scope& scope) {
    if (node.kind == Node::Kind::kBinary) {
      auto& binary = static_cast<Binary&>(node);
      binary.bare_base =
          binary.op == BinaryOp::kPow && IsConstant(*binary.left) && !IsConstant(*binary.right);
    }
    if (node.kind == Node::Kind::kName) {
      auto& name = static_cast<Name&>(node);
      name.ref = Resolve(*scope.symbols, node, name.name);
      return;
    }
    if (node.kind == Node::Kind::kFilter) {
      auto& filter = static_cast<Filter&>(node);
      filter.row = FindFilter(filter.name);
      if (filter.row == nullptr && !scope.soft) {
        Fail(node, StrCat("No filter named '", filter.name, "'."));
      }
    } else if (node.kind == Node::Kind::kTest) {
      auto& test = static_cast<Test&>(node);
      test.row = FindTest(test.name);
      if (test.row == nullptr && !scope.soft) {
        Fail(node, StrCat("No test named '", test.name, "'."));
      }
    }
    Scope inner = scope;
    if (node.kind == Node::Kind::kCond) inner.soft = true;
    node.Children([&](Node& child) { BindExpr(child, inner); });
  }
};

}  // namespace

Program Bind(Body body) { return Binder().Run(std::move(body)); }

}  // namespace moxie::text::jinja
