// Builds a verified functional graph. A Builder keeps the first error and makes every later call a
// no-op, so a model file reads like its formula; Finish() reports the error, naming the op and its
// origin.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace moxie::ir {

class Builder {
 public:
  explicit Builder(std::string name);

  ValueId Input(std::string_view name, TensorType type);
  ValueId Weight(WeightSpec spec);
  ValueId State(StateSpec spec);

  // Adds an op whose result types follow from the op table. With one result, use the first form.
  ValueId Emit(OpKind kind, std::vector<ValueId> operands, Attrs attrs = {});
  std::vector<ValueId> EmitMany(OpKind kind, std::vector<ValueId> operands, Attrs attrs = {});
  // A view of `x`: `sizes` and `view.strides` have the same rank.
  ValueId View(ValueId x, Shape sizes, ViewSpec view);

  // A region body: gets the region's parameters, returns what it yields.
  using Body = std::function<std::vector<ValueId>(Builder&, std::span<const ValueId> params)>;
  struct Form {
    std::string name;
    Body body;
  };
  // A composite op; the results of all forms must have the same types.
  std::vector<ValueId> Composite(std::string_view name, std::vector<ValueId> operands,
                                 std::vector<Form> forms);
  struct RepeatOperands {
    std::vector<ValueId> carries;  // replaced by the body's first yields
    std::vector<ValueId>
        states;  // stacks of state; the body yields the next version of its own one
    std::vector<ValueId> invariants;  // the same in each iteration
    std::vector<ValueId> stacked;     // stacks of weights; the body sees its own one
  };
  // Results: the final carries, then the next version of each state stack. The body's parameters
  // come in the order of RepeatOperands.
  std::vector<ValueId> Repeat(int64_t n, const RepeatOperands& operands, const Body& body);

  const TensorType& type(ValueId id) const { return graph_.values[id].type; }

  // Prefix of the origins of ops made while it lives: "layers" / "mlp" -> "layers.mlp".
  class Scope {
   public:
    Scope(Builder& builder, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& builder_;
    size_t length_;
  };

  // Sets outputs and the final version of each state, verifies, and returns the graph.
  Result<Graph> Finish(std::vector<ValueId> outputs, std::vector<ValueId> final_states) &&;

 private:
  ValueId NewValue(TensorType type, ValueKind kind, std::string name);
  std::vector<ValueId> Append(Op op, std::span<const TensorType> types,
                              std::span<const int64_t> counts);
  Result<Graph> BuildRegion(std::string_view name, std::span<const ValueId> operands,
                            std::span<const int64_t> counts, const Body& body);
  void Fail(Status status);

  Graph graph_;
  std::string scope_;
  Status status_;
  int next_name_ = 0;
};

}  // namespace moxie::ir
