// Schemas of custom ops: a string with PyTorch's alias annotations, which declares every operand a
// kernel reads, writes or returns a view of.
//
//   "attend(Tensor q, Tensor(a!) kv, Tensor(b!)? scratch=None) -> Tensor"
//
// Tensor(a!): written in place. Tensor(a) as an argument and as a return: the return is a view of
// the argument. Tensor(a!)[]: any number of operands, at most one such argument. Tensor?: may be
// left out, at the end only. Other types are refused: a string could name a weight that is no
// operand (R3).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace moxie::ir {

struct SchemaItem {
  std::string name;   // of an argument
  std::string alias;  // "a", or empty
  bool written = false;
  bool list = false;
  bool optional = false;

  bool operator==(const SchemaItem&) const = default;
};

struct Schema {
  std::string name;
  std::vector<SchemaItem> arguments;
  std::vector<SchemaItem> returns;

  bool operator==(const Schema&) const = default;
};

// Errors name the column and what was expected there, or the argument or return that cannot be.
Result<Schema> ParseSchema(std::string_view text);

// What one kCustom op does to its operands. In the imperative form its results are the declared
// returns; in the functional form result `returns + k` follows, the next version of operand
// `written[k]`.
struct Effects {
  size_t returns = 0;
  std::vector<size_t> written;  // operand indices; a value passed to two of them is written once
  std::vector<std::string> arguments;  // by operand: the argument's name
  std::vector<bool> declared;          // by operand: the schema says that it is written
  std::vector<int> view_of;            // by return: the operand whose storage it lies in, or -1
};
Result<Effects> EffectsOf(const Op& op);

// True when the op's kernel makes result `returns + k` in the storage of operand `written[k]`,
// which is not also an operand that it only reads.
bool WrittenInPlace(const Op& op, const Effects& effects, size_t k);

// The operand of `op` that its result `result` is a view of (a kView, or a custom op's declared
// one), or -1.
int ViewedOperand(const Op& op, size_t result);

}  // namespace moxie::ir
