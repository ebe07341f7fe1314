// The objects of a template: namespaces, macros, loops, cyclers, joiners and functions.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/interp.h"

namespace moxie::text::jinja {

class Namespace : public Object {
 public:
  explicit Namespace(std::shared_ptr<Dict> attributes) : attributes_(std::move(attributes)) {}
  std::string_view type_name() const override { return "TemplateNamespace"; }
  Text Repr(Interp& interp) const override;
  std::optional<Value> Attribute(Interp& interp, std::string_view name) override;
  void Clear() override;
  // Raises SecurityError for names that begin with an underscore.
  void Set(std::string_view name, Value value);
  static void CheckName(const Value& name);

 private:
  std::shared_ptr<Dict> attributes_;
};

class Macro : public Object {
 public:
  Macro(const MacroCode& code, std::shared_ptr<Frame> frame)
      : code_(code), frame_(std::move(frame)) {}
  std::string_view type_name() const override { return "Macro"; }
  Text Repr(Interp& interp) const override;
  std::optional<Value> Attribute(Interp& interp, std::string_view name) override;
  bool callable() const override { return true; }
  Value Call(Interp& interp, Args args) override;

 private:
  const MacroCode& code_;
  std::shared_ptr<Frame> frame_;  // where it was defined
};

// The `loop` of a for: jinja2's LoopContext.
class Loop : public Object {
 public:
  // `node` and `outer` make loop(...) work; node is null for loops that are not recursive.
  Loop(Value iterable, const For* node, std::shared_ptr<Frame> outer, int depth);
  ~Loop() override;
  // Moves on; false at the end.
  bool Next(Value& out);
  std::string_view type_name() const override { return "LoopContext"; }
  Text Repr(Interp& interp) const override;
  std::optional<Value> Attribute(Interp& interp, std::string_view name) override;
  bool callable() const override { return true; }
  Value Call(Interp& interp, Args args) override;
  std::optional<size_t> Length() override { return CountItems(); }
  // Goes on with this very loop; gives (item, loop).
  std::shared_ptr<Iterator> Iterate() override;

 private:
  size_t CountItems();
  bool Peek();
  Value Changed(Args args);
  Value Cycle(const Args& args) const;

  Value iterable_;
  std::shared_ptr<Iterator> iterator_;
  const For* node_;
  std::shared_ptr<Frame> outer_;
  int depth_;
  Int index0_ = -1;
  std::optional<size_t> length_;
  std::optional<Value> before_, current_, after_, last_changed_;
};

class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  ~Cycler() override;
  std::string_view type_name() const override { return "Cycler"; }
  Text Repr(Interp&) const override { return "<Cycler>"; }
  std::optional<Value> Attribute(Interp& interp, std::string_view name) override;

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
};

class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  ~Joiner() override;
  std::string_view type_name() const override { return "Joiner"; }
  Text Repr(Interp&) const override { return "<Joiner>"; }
  std::optional<Value> Attribute(Interp& interp, std::string_view name) override;
  bool callable() const override { return true; }
  Value Call(Interp& interp, Args args) override;

 private:
  Value separator_;
  bool used_ = false;
};

// A global function or a bound method.
class Function : public Object {
 public:
  using Code = std::function<Value(Interp&, Args)>;
  Function(std::string name, Code code) : name_(std::move(name)), code_(std::move(code)) {}
  std::string_view type_name() const override { return "builtin_function_or_method"; }
  Text Repr(Interp&) const override;
  bool callable() const override { return true; }
  Value Call(Interp& interp, Args args) override { return code_(interp, std::move(args)); }

 private:
  std::string name_;
  Code code_;
};

Value MakeFunction(std::string name, Function::Code code);

}  // namespace moxie::text::jinja
