#include "text/jinja/tests.h"

#include <algorithm>

#include "text/jinja/filters.h"
#include "text/jinja/methods.h"
#include "text/jinja/objects.h"
#include "text/jinja/params.h"

namespace moxie::text::jinja {
namespace {

using Predicate = bool (*)(const Value&);

// A test without arguments.
template <Predicate predicate>
bool Plain(Interp&, const Value& value, Args args) {
  Params p("test", std::move(args), "");
  return predicate(value);
}

Int Remainder(Interp& interp, const Value& value, const Value& divisor, bool& is_number) {
  Value rest = Arithmetic(interp, BinaryOp::kMod, value, divisor);
  is_number = rest.is_number();
  if (rest.is_int()) return rest.as_int();
  if (!rest.is_float()) return -1;
  double d = *rest.get<double>();
  return d == 0 ? 0 : d == 1 ? 1 : -1;
}

bool IsOdd(Interp& interp, const Value& value, Args args) {
  Params p("odd", std::move(args), "");
  bool number;
  return Remainder(interp, value, Value(2), number) == 1 && number;
}
bool IsEven(Interp& interp, const Value& value, Args args) {
  Params p("even", std::move(args), "");
  bool number;
  return Remainder(interp, value, Value(2), number) == 0 && number;
}
bool IsDivisibleBy(Interp& interp, const Value& value, Args args) {
  Params p("divisibleby", std::move(args), "num");
  bool number;
  return Remainder(interp, value, *p[0], number) == 0 && number;
}

bool IsCallableValue(const Value& v) {
  return v.is_undefined() || (v.object() != nullptr && v.object()->callable());
}
bool IsDefinedValue(const Value& v) { return !v.is_undefined(); }
bool IsUndefinedValue(const Value& v) { return v.is_undefined(); }
bool IsNoneValue(const Value& v) { return v.is_none(); }
bool IsBoolean(const Value& v) { return v.is_bool(); }
bool IsFalse(const Value& v) { return v.is_bool() && !*v.get<bool>(); }
bool IsTrue(const Value& v) { return v.is_bool() && *v.get<bool>(); }
bool IsInteger(const Value& v) { return v.get<Int>() != nullptr; }
bool IsFloat(const Value& v) { return v.is_float(); }
bool IsString(const Value& v) { return v.is_text(); }
bool IsMapping(const Value& v) { return v.is_dict(); }
bool IsNumber(const Value& v) { return v.is_number(); }
// Has a length and items by index.
bool IsSequence(const Value& v) {
  return v.is_undefined() || v.is_text() || v.items() || v.is_dict() || v.get<RangeValue>();
}
bool IsEscaped(const Value& v) { return v.is_text() && v.text()->markup(); }

// str.islower / isupper: some cased character, and none of the other case.
bool HasCase(Interp& interp, const Value& value, Args args, bool lower) {
  Params p(lower ? "lower" : "upper", std::move(args), "");
  bool found = false, other = false;
  Str(interp, value).ForEachChar([&](char32_t c, Origin) {
    found = found || (lower ? IsLower(c) : IsUpper(c));
    other = other || IsTitle(c) || (lower ? IsUpper(c) : IsLower(c));
  });
  return found && !other;
}
bool IsLowerTest(Interp& interp, const Value& v, Args args) {
  return HasCase(interp, v, std::move(args), true);
}
bool IsUpperTest(Interp& interp, const Value& v, Args args) {
  return HasCase(interp, v, std::move(args), false);
}

template <Order order>
bool Ordered(Interp&, const Value& value, Args args) {
  Params p("compare", std::move(args), "/other");
  return Compare(value, order, *p[0]);
}
bool IsEqual(Interp&, const Value& value, Args args) {
  Params p("eq", std::move(args), "/other");
  return Equals(value, *p[0]);
}
bool IsNotEqual(Interp&, const Value& value, Args args) {
  Params p("ne", std::move(args), "/other");
  return !Equals(value, *p[0]);
}
bool IsIn(Interp& interp, const Value& value, Args args) {
  Params p("in", std::move(args), "seq");
  return Contains(interp, *p[0], value);
}
bool IsSameAs(Interp&, const Value& value, Args args) {
  Params p("sameas", std::move(args), "other");
  return value.Is(*p[0]);
}
bool IsFilterName(Interp&, const Value& value, Args args) {
  Params p("filter", std::move(args), "");
  Hash(value);
  return value.is_text() && FindFilter(value.text()->view()) != nullptr;
}
bool IsTestName(Interp&, const Value& value, Args args) {
  Params p("test", std::move(args), "");
  Hash(value);
  return value.is_text() && FindTest(value.text()->view()) != nullptr;
}

constexpr TestRow kTests[] = {
    {"odd", IsOdd},
    {"even", IsEven},
    {"divisibleby", IsDivisibleBy},
    {"defined", Plain<IsDefinedValue>},
    {"undefined", Plain<IsUndefinedValue>},
    {"filter", IsFilterName},
    {"test", IsTestName},
    {"none", Plain<IsNoneValue>},
    {"boolean", Plain<IsBoolean>},
    {"false", Plain<IsFalse>},
    {"true", Plain<IsTrue>},
    {"integer", Plain<IsInteger>},
    {"float", Plain<IsFloat>},
    {"lower", IsLowerTest},
    {"upper", IsUpperTest},
    {"string", Plain<IsString>},
    {"mapping", Plain<IsMapping>},
    {"number", Plain<IsNumber>},
    {"sequence", Plain<IsSequence>},
    {"iterable", Plain<IsIterable>},
    {"callable", Plain<IsCallableValue>},
    {"sameas", IsSameAs},
    {"escaped", Plain<IsEscaped>},
    {"in", IsIn},
    {"==", IsEqual},
    {"eq", IsEqual},
    {"equalto", IsEqual},
    {"!=", IsNotEqual},
    {"ne", IsNotEqual},
    {">", Ordered<Order::kGreater>},
    {"gt", Ordered<Order::kGreater>},
    {"greaterthan", Ordered<Order::kGreater>},
    {">=", Ordered<Order::kGreaterEqual>},
    {"ge", Ordered<Order::kGreaterEqual>},
    {"<", Ordered<Order::kLess>},
    {"lt", Ordered<Order::kLess>},
    {"lessthan", Ordered<Order::kLess>},
    {"<=", Ordered<Order::kLessEqual>},
    {"le", Ordered<Order::kLessEqual>},
};

}  // namespace

const TestRow* FindTest(std::string_view name) {
  auto row = std::find_if(std::begin(kTests), std::end(kTests),
                          [&](const TestRow& r) { return r.name == name; });
  return row != std::end(kTests) ? row : nullptr;
}

}  // namespace moxie::text::jinja
