// Attributes of ops: a short list of (key, value); keys are an enum so that a kernel reads one
// without comparing strings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace moxie::ir {

enum class AttrKey : uint8_t {
  kCallee,      // composite: its name
  kCarries,     // repeat: operands that each iteration replaces
  kDType,       // dtype of the result, by name
  kEps,         // norm epsilon
  kExperts,     // number of experts
  kGather,      // grouped_matmul: 1 = rows of x are tokens, 0 = rows are already sorted
  kHeadDim,     // D
  kHeads,       // query heads
  kInvariants,  // repeat: operands that are the same in each iteration
  kKvHeads,     // key/value heads
  kN,           // repeat: iterations
  kNormalize,   // router: 1 = selected weights are made to sum to one
  kScale,       // multiplier
  kSchema,      // custom: its schema string, ir/schema.h
  kShift,       // added number
  kStates,      // repeat: operands that are state, one of the stack an iteration
  kTopK,        // experts a token
  kValue,       // literal: its elements
  kWindow,      // attention: keys seen, 0 = all
};

std::string_view Name(AttrKey key);
std::optional<AttrKey> ParseAttrKey(std::string_view name);

using AttrValue = std::variant<int64_t, double, std::string, std::vector<double>>;

// What a key's values are. An integer is a number too.
enum class AttrType : uint8_t { kInteger, kNumber, kText, kNumbers };
AttrType TypeOf(AttrKey key);
std::string_view Name(AttrType type);
bool Holds(AttrType type, const AttrValue& value);

class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<AttrKey, AttrValue>> items) : items_(items) {}

  const AttrValue* Find(AttrKey key) const;
  void Set(AttrKey key, AttrValue value);

  // The value, or `fallback` when the key is absent or of another type.
  int64_t Int(AttrKey key, int64_t fallback = 0) const;
  double Double(AttrKey key, double fallback = 0) const;
  std::string_view Text(AttrKey key) const;

  const std::vector<std::pair<AttrKey, AttrValue>>& items() const { return items_; }
  bool operator==(const Attrs&) const = default;

 private:
  std::vector<std::pair<AttrKey, AttrValue>> items_;
};

}  // namespace moxie::ir
