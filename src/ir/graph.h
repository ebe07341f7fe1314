// The graph IR: one for every model and both backends, in two forms.
//
// A Graph is a list of ops in execution order over values. Values are defined once (SSA). In the
// functional form nothing is written in place: a *state* value is linear, an op that writes state
// returns its next version and the old one may not be read again (R1). In the imperative form a
// value names storage: views share it, and ops may write operands in place; passes/functionalise.h
// turns it into the functional one. Composites and repeats hold their bodies as nested graphs
// (regions) that see nothing but their own parameters. Graphs are plain data: copied by value,
// compared with ==, printed and parsed (ir/text.h), checked by Verify (ir/verifier.h). Building one
// allocates no device memory (R3).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attr.h"
#include "ir/op_kind.h"
#include "ir/spec.h"
#include "tensor/shape.h"

namespace moxie::ir {

using tensor::Dim;
using tensor::DType;
using tensor::Extents;
using tensor::Shape;
using tensor::TensorType;

using ValueId = uint32_t;
using OpId = uint32_t;
inline constexpr uint32_t kNoId = std::numeric_limits<uint32_t>::max();

enum class ValueKind : uint8_t {
  kInput,   // of the step: ids, positions, tables
  kWeight,  // a WeightSpec
  kState,   // a StateSpec, its version at the start of the step
  kParam,   // of a region
  kResult,  // of an op
};

struct Value {
  TensorType type;
  ValueKind kind = ValueKind::kResult;
  std::string name;  // unique in its graph: "h3"
  int64_t count =
      1;  // > 1: a stack of `count` tensors of `type`, which only a repeat can take apart
  bool state = false;    // linear (kState, or a version of one)
  bool donated = false;  // kInput: its storage is the graph's to write, and to return in (R6)
  uint32_t index = 0;    // kWeight/kState: the spec's index; kResult: which result of its op
  OpId op = kNoId;       // kResult: the op that defines it
};

// How a view's elements lie in its base: an affine descriptor, never an index tensor (R2).
struct ViewSpec {
  int64_t offset = 0;  // elements
  Shape strides;       // elements; the sizes are the result's shape
  bool operator==(const ViewSpec&) const = default;
};

class Graph;

enum class Form : uint8_t { kFunctional, kImperative };

struct Op {
  OpKind kind = OpKind::kLiteral;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  Attrs attrs;
  // kView: of operand 0. kViewWrite: the part of operand 0 that operand 1's elements replace.
  ViewSpec view;
  bool in_place = false;  // imperative: the result goes into operand 0's storage, and is no value
  std::vector<std::string> forms;  // kComposite: names of `regions`; kRepeat: {"body"}
  std::vector<Graph> regions;
  std::string origin;  // where the model's code made it: "layers.mlp"; for messages
};

class Graph {
 public:
  std::string name;
  Form form = Form::kFunctional;
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<WeightSpec> weights;  // top-level graphs only, as are states
  std::vector<StateSpec> states;
  std::vector<ValueId> inputs;   // step inputs (top level) or parameters (a region), in order
  std::vector<ValueId> outputs;  // returned or yielded, in order

  const Value& value(ValueId id) const { return values[id]; }
  const Op& op(OpId id) const { return ops[id]; }
  // The state's value at the end of the step: of each state, in order of `states`; only at top
  // level.
  std::vector<ValueId> final_states;
  // Functional form: the value that each donated input's storage holds at the end, in order of
  // `inputs`; only at top level.
  std::vector<ValueId> final_inputs;

  // kNoId when there is none.
  ValueId FindValue(std::string_view name) const;
  std::vector<ValueId> DonatedInputs() const;
};

}  // namespace moxie::ir
