// Python's arithmetic.
#include <cmath>
#include <limits>

#include "text/jinja/format.h"
#include "text/jinja/markup.h"

namespace moxie::text::jinja {
namespace {

constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

[[noreturn]] void FailOperands(BinaryOp op, const Value& a, const Value& b) {
  Raise("TypeError", "unsupported operand type(s) for ", kSymbols[static_cast<int>(op)], ": '",
        TypeName(a), "' and '", TypeName(b), "'");
}

[[noreturn]] void FailTooBig() { Raise(kLimit, "an integer of the template needs over 127 bits"); }

Int FloorDiv(Int a, Int b) {
  if (b == 0) Raise("ZeroDivisionError", "integer division or modulo by zero");
  if (b == -1) {
    Int out;
    if (__builtin_sub_overflow(Int{0}, a, &out)) FailTooBig();
    return out;
  }
  Int q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

Int FloorMod(Int a, Int b) {
  if (b == 0) Raise("ZeroDivisionError", "integer modulo by zero");
  if (b == -1) return 0;
  Int r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Value PowFloat(double a, double b);

Value PowInt(Int base, Int exponent) {
  if (exponent < 0) return PowFloat(static_cast<double>(base), static_cast<double>(exponent));
  Int result = 1;
  if (base == 0 || base == 1 || base == -1) {
    if (exponent == 0) return Int{1};
    return base == -1 && exponent % 2 == 0 ? Int{1} : base;
  }
  if (exponent > 127) FailTooBig();
  for (Int i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) FailTooBig();
  }
  return result;
}

Value IntArithmetic(BinaryOp op, Int a, Int b) {
  Int out = 0;
  switch (op) {
    case BinaryOp::kAdd:
      if (__builtin_add_overflow(a, b, &out)) FailTooBig();
      return out;
    case BinaryOp::kSub:
      if (__builtin_sub_overflow(a, b, &out)) FailTooBig();
      return out;
    case BinaryOp::kMul:
      if (__builtin_mul_overflow(a, b, &out)) FailTooBig();
      return out;
    case BinaryOp::kDiv:
      if (b == 0) Raise("ZeroDivisionError", "division by zero");
      return static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b));
    case BinaryOp::kFloorDiv:
      return FloorDiv(a, b);
    case BinaryOp::kMod:
      return FloorMod(a, b);
    case BinaryOp::kPow:
      return PowInt(a, b);
  }
  return out;
}

// CPython's _float_div_mod.
std::pair<double, double> FloatDivMod(double a, double b) {
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      div -= 1.0;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  if (div == 0) return {std::copysign(0.0, a / b), mod};
  double floor = std::floor(div);
  return {div - floor > 0.5 ? floor + 1.0 : floor, mod};
}

Value PowFloat(double a, double b) {
  if (a == 0 && b < 0) Raise("ZeroDivisionError", "0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    Raise(kUnsupported, "a power that is a complex number");
  }
  double out = std::pow(a, b);
  if (std::isinf(out) && std::isfinite(a) && std::isfinite(b)) {
    Raise("OverflowError", "(34, 'Numerical result out of range')");
  }
  return out;
}

Value FloatArithmetic(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      if (b == 0) Raise("ZeroDivisionError", "float division by zero");
      return a / b;
    case BinaryOp::kFloorDiv:
      if (b == 0) Raise("ZeroDivisionError", "float floor division by zero");
      return FloatDivMod(a, b).first;
    case BinaryOp::kMod:
      if (b == 0) Raise("ZeroDivisionError", "float modulo");
      return FloatDivMod(a, b).second;
    case BinaryOp::kPow:
      return PowFloat(a, b);
  }
  return 0.0;
}

Value Add(Interp& interp, const Value& a, const Value& b) {
  if (a.is_text()) {
    if (!b.is_text()) {
      Raise("TypeError", "can only concatenate str (not \"", TypeName(b), "\") to str");
    }
    const bool markup = a.text()->markup() || b.text()->markup();
    TextBuilder out;
    out.Add(markup ? Escape(interp, a) : *a.text());
    out.Add(markup ? Escape(interp, b) : *b.text());
    return out.Take().WithMarkup(markup);
  }
  if (a.items() != nullptr) {
    if (a.is_list() != b.is_list() || b.items() == nullptr) {
      Raise("TypeError", "can only concatenate ", TypeName(a), " (not \"", TypeName(b), "\") to ",
            TypeName(a));
    }
    std::vector<Value> out;
    if (Meter* meter = Meter::Current()) {
      size_t n = a.items()->size() + b.items()->size();
      meter->CheckRoom(n * sizeof(Value));
      meter->Step(n);
    }
    out.reserve(a.items()->size() + b.items()->size());
    out.insert(out.end(), a.items()->begin(), a.items()->end());
    out.insert(out.end(), b.items()->begin(), b.items()->end());
    return a.is_list() ? Value::List(std::move(out)) : Value::Tuple(std::move(out));
  }
  FailOperands(BinaryOp::kAdd, a, b);
}

Value Repeat(const Value& sequence, Int times) {
  constexpr Int kMost = std::numeric_limits<int64_t>::max();
  if (times > kMost || times < -kMost - 1) {
    Raise("OverflowError", "cannot fit 'int' into an index-sized integer");
  }
  times = std::clamp(times, Int{0}, Int{1} << 60);
  if (auto* text = sequence.text()) {
    TextBuilder out;
    out.AddRepeated(*text, static_cast<size_t>(times));
    return out.Take().WithMarkup(text->markup());
  }
  const auto& items = *sequence.items();
  size_t limit = Meter::Current() ? Meter::Current()->limits().max_memory_bytes : size_t{1} << 28;
  if (!items.empty() && static_cast<size_t>(times) > limit / sizeof(Value) / items.size()) {
    Raise(kLimit, "a list of the template needs more than max_memory_bytes = ", limit);
  }
  std::vector<Value> out;
  size_t n = items.size() * static_cast<size_t>(times);
  if (Meter* meter = Meter::Current()) {
    meter->CheckRoom(n * sizeof(Value));
    meter->Step(n);
  }
  out.reserve(n);
  for (size_t i = 0; i < n; ++i) out.push_back(items[i % items.size()]);
  return sequence.is_list() ? Value::List(std::move(out)) : Value::Tuple(std::move(out));
}

Value Multiply(const Value& a, const Value& b) {
  auto is_sequence = [](const Value& v) { return v.is_text() || v.items() != nullptr; };
  if (is_sequence(a) && b.is_int()) return Repeat(a, b.as_int());
  if (is_sequence(b) && a.is_int()) return Repeat(b, a.as_int());
  if (is_sequence(a) || is_sequence(b)) {
    Raise("TypeError", "can't multiply sequence by non-int of type '",
          TypeName(is_sequence(a) ? b : a), "'");
  }
  FailOperands(BinaryOp::kMul, a, b);
}

[[noreturn]] void FailUnary(std::string_view symbol, const Value& value) {
  if (auto* undefined = value.undefined()) throw Error{undefined->error, undefined->message};
  Raise("TypeError", "bad operand type for unary ", symbol, ": '", TypeName(value), "'");
}

}  // namespace

Value Arithmetic(Interp& interp, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_text() && op == BinaryOp::kMod) return PercentFormat(interp, *a.text(), b);
  if (a.is_text() && a.text()->markup() && op == BinaryOp::kMul) ToIndex(b, "times");  // asks first
  for (const Value* v : {&a, &b}) {
    if (auto* undefined = v->undefined()) throw Error{undefined->error, undefined->message};
  }
  if (a.is_int() && b.is_int()) return IntArithmetic(op, a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return FloatArithmetic(op, ToDouble(a), ToDouble(b));
  if (op == BinaryOp::kAdd) return Add(interp, a, b);
  if (op == BinaryOp::kMul) return Multiply(a, b);
  FailOperands(op, a, b);
}

Value Negative(const Value& value) {
  if (value.is_int()) {
    Int out;
    if (__builtin_sub_overflow(Int{0}, value.as_int(), &out)) FailTooBig();
    return out;
  }
  if (value.is_float()) return -*value.get<double>();
  FailUnary("-", value);
}

Value Positive(const Value& value) {
  if (value.is_int()) return value.as_int();
  if (value.is_float()) return value;
  FailUnary("+", value);
}

}  // namespace moxie::text::jinja
