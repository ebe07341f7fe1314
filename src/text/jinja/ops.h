// Python's operations on values: truth, equality, order, arithmetic, indexing, iteration, str and
// repr. All of them raise Error as Python would.
#pragma once

#include <optional>

#include "text/jinja/value.h"

namespace moxie::text::jinja {

bool Truth(const Value& value);
bool Equals(const Value& a, const Value& b);
// hash(x), equal for equal values. Raises TypeError for unhashable ones.
uint64_t Hash(const Value& value);

enum class Order { kLess, kLessEqual, kGreater, kGreaterEqual };
bool Compare(const Value& a, Order order, const Value& b);
// a < b, as sorting uses it.
inline bool Less(const Value& a, const Value& b) { return Compare(a, Order::kLess, b); }
// `needle in haystack`
bool Contains(Interp& interp, const Value& haystack, const Value& needle);

enum class BinaryOp { kAdd, kSub, kMul, kDiv, kFloorDiv, kMod, kPow };
Value Arithmetic(Interp& interp, BinaryOp op, const Value& a, const Value& b);
Value Negative(const Value& value);
Value Positive(const Value& value);

// len(x)
size_t Length(const Value& value);
// len(x), or nothing where Python has none.
std::optional<size_t> TryLength(const Value& value);

// obj[key], or nothing where Python raises TypeError or LookupError.
std::optional<Value> TrySubscript(const Value& object, const Value& key);
struct SliceBounds {
  Value start, stop, step;  // None where absent
};
// obj[start:stop:step]
Value Slice(const Value& object, const SliceBounds& bounds);

// iter(x). Raises TypeError for what cannot be iterated.
std::shared_ptr<Iterator> Iterate(const Value& value);
bool IsIterable(const Value& value);
// list(x)
std::vector<Value> ToVector(const Value& value);
// reversed(x), or null where Python raises TypeError.
std::shared_ptr<Iterator> TryReversed(const Value& value);

// str(x) and repr(x)
Text Str(Interp& interp, const Value& value);
// str(x), but Markup stays Markup
Text SoftStr(Interp& interp, const Value& value);
Text Repr(Interp& interp, const Value& value);
// repr of a float
std::string FloatRepr(double value);
// repr of a str: quoted, escaped where it is not printable; origins kept.
void AppendTextRepr(const Text& text, TextBuilder& out);

// Raises what using an undefined value raises. REQUIRES: value.is_undefined().
[[noreturn]] void FailUndefined(const Value& value);
// x as an integer index (int or bool), else TypeError naming `what`.
Int ToIndex(const Value& value, std::string_view what);
// x as a str, else TypeError naming `what`.
const Text& NeedText(const Value& value, std::string_view what);
// Clamps an index argument of str methods to [0, length], from the end when negative.
size_t ClampIndex(Int index, size_t length);
double ToDouble(const Value& value);

// A generator over a function that sets its argument, or returns false at the end.
std::shared_ptr<Iterator> MakeGenerator(std::function<bool(Value&)> next);

}  // namespace moxie::text::jinja
