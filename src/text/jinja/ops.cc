#include "text/jinja/ops.h"

#include <algorithm>
#include <cmath>

#include "text/jinja/reaper.h"

namespace moxie::text::jinja {
namespace {

constexpr double kIntLimit = 1.7e38;  // just under 2^127

// Sign of i - d, exactly; d is not NaN.
int CompareIntDouble(Int i, double d) {
  if (d > kIntLimit) return -1;
  if (d < -kIntLimit) return 1;
  Int whole = static_cast<Int>(d);
  if (i != whole) return i < whole ? -1 : 1;
  double fraction = d - std::trunc(d);
  return fraction > 0 ? -1 : fraction < 0 ? 1 : 0;
}

// Sign of a - b for two numbers, or nothing when one is NaN.
std::optional<int> CompareNumbers(const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) {
    Int x = a.as_int(), y = b.as_int();
    return x < y ? -1 : x > y;
  }
  if (a.is_int()) {
    double d = *b.get<double>();
    if (std::isnan(d)) return std::nullopt;
    return CompareIntDouble(a.as_int(), d);
  }
  double x = *a.get<double>();
  if (std::isnan(x)) return std::nullopt;
  if (b.is_int()) return -CompareIntDouble(b.as_int(), x);
  double y = *b.get<double>();
  if (std::isnan(y)) return std::nullopt;
  return x < y ? -1 : x > y;
}

bool Same(const Value& a, const Value& b) { return a.Is(b) || Equals(a, b); }

bool EqualItems(const std::vector<Value>& a, const std::vector<Value>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), Same);
}

bool EqualDicts(const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.items().begin(), a.items().end(), [&](const Dict::Item& item) {
    const Value* other = b.Find(item.key);
    return other != nullptr && Same(item.value, *other);
  });
}

bool EqualRanges(const RangeValue& a, const RangeValue& b) {
  Int n = a.length();
  if (n != b.length()) return false;
  return n == 0 || (a.start == b.start && (n == 1 || a.step == b.step));
}

bool Holds(Order order, int sign) {
  switch (order) {
    case Order::kLess:
      return sign < 0;
    case Order::kLessEqual:
      return sign <= 0;
    case Order::kGreater:
      return sign > 0;
    case Order::kGreaterEqual:
      return sign >= 0;
  }
  return false;
}

bool CompareItems(const std::vector<Value>& a, Order order, const std::vector<Value>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!Same(a[i], b[i])) return Compare(a[i], order, b[i]);
  }
  return Holds(order, a.size() < b.size() ? -1 : a.size() > b.size());
}

void Step(size_t n = 1) {
  if (Meter* meter = Meter::Current()) meter->Step(n);
}

class Generator : public Iterator {
 public:
  explicit Generator(std::function<bool(Value&)> next) : next_(std::move(next)) {}
  ~Generator() override { Reap(std::move(next_)); }
  bool Next(Value& out) override {
    Meter::Nest nest(Meter::Current());
    Step();
    if (done_ || !next_(out)) done_ = true;
    return !done_;
  }

 private:
  std::function<bool(Value&)> next_;
  bool done_ = false;
};

// Iterates over at(0), at(1), ... at(n - 1).
template <typename At>
std::shared_ptr<Iterator> Counted(size_t n, At at) {
  return MakeGenerator([n, at, i = size_t{0}](Value& out) mutable {
    if (i >= n) return false;
    out = at(i++);
    return true;
  });
}

Value ViewItem(const View& view, size_t i) {
  const Dict::Item& item = view.dict->items()[i];
  if (view.kind == View::kKeys) return item.key;
  if (view.kind == View::kValues) return item.value;
  return Value::Tuple({item.key, item.value});
}

// at(i) for anything with a length and an order, or null.
std::function<Value(size_t)> ItemReader(const Value& value) {
  if (value.items() != nullptr) {
    return [value](size_t i) { return (*value.items())[i]; };
  }
  if (auto* dict = value.get<DictPtr>()) {
    return [d = *dict](size_t i) { return d->items()[i].key; };
  }
  if (auto* view = value.get<View>()) {
    return [v = *view](size_t i) { return ViewItem(v, i); };
  }
  if (auto* range = value.get<RangeValue>()) {
    return [r = *range](size_t i) { return Value(r.at(static_cast<Int>(i))); };
  }
  return nullptr;
}

// Resolved slice: `count` indices from `first` by `step`.
// The positions first, first + step, ... (`count` of them) before `stop`.
struct SlicePlan {
  Int first, stop, step;
  size_t count;
};

constexpr Int kFar = Int{1} << 100;

SlicePlan PlanSlice(const SliceBounds& bounds, size_t size) {
  constexpr std::string_view kWhat = "slice indices";
  Int n = static_cast<Int>(size);
  Int step = bounds.step.is_none() ? 1 : ToIndex(bounds.step, kWhat);
  if (step == 0) Raise("ValueError", "slice step cannot be zero");
  Int low = step > 0 ? 0 : -1;
  Int high = step > 0 ? n : n - 1;
  auto clamp = [&](const Value& bound, Int fallback) {
    if (bound.is_none()) return fallback;
    Int i = ToIndex(bound, kWhat);
    if (i < 0) i += n;
    return std::clamp(i, low, high);
  };
  Int start = clamp(bounds.start, step > 0 ? low : high);
  Int stop = clamp(bounds.stop, step > 0 ? high : low);
  step = std::clamp(step, -kFar, kFar);  // far beyond any length: keeps the sums in range
  RangeValue range{start, stop, step};
  return {start, stop, step, static_cast<size_t>(range.length())};
}

Text SliceText(const Text& text, const SlicePlan& plan) {
  auto first = static_cast<size_t>(plan.first);
  if (plan.step == 1) return text.Slice(first, first + plan.count);
  std::vector<size_t> offsets;  // of each code point
  offsets.reserve(text.length() + 1);
  for (size_t pos = 0; pos < text.bytes();) {
    offsets.push_back(pos);
    DecodeUtf8(text.view(), pos);
  }
  offsets.push_back(text.bytes());
  Step(text.length() / 16);
  TextBuilder out;
  for (size_t k = 0; k < plan.count; ++k) {
    auto i = static_cast<size_t>(plan.first + static_cast<Int>(k) * plan.step);
    out.AddSub(text, offsets[i], offsets[i + 1]);
  }
  return out.Take();
}

// The index as a position in [0, length), or nothing when out of range.
std::optional<size_t> Position(Int index, size_t length) {
  Int n = static_cast<Int>(length);
  if (index < 0) index += n;
  if (index < 0 || index >= n) return std::nullopt;
  return static_cast<size_t>(index);
}

}  // namespace

void FailUndefined(const Value& value) {
  throw Error{value.undefined()->error, value.undefined()->message};
}

bool Truth(const Value& value) {
  if (auto* b = value.get<bool>()) return *b;
  if (auto* i = value.get<Int>()) return *i != 0;
  if (auto* d = value.get<double>()) return *d != 0;
  if (value.is_none() || value.is_undefined()) return false;
  if (value.iterator() != nullptr) return true;
  auto length = TryLength(value);
  return !length || *length > 0;
}

bool Equals(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    auto sign = CompareNumbers(a, b);
    return sign && *sign == 0;
  }
  if (a.storage().index() != b.storage().index()) return false;
  if (a.is_undefined() || a.is_none()) return true;
  if (a.is_text()) return *a.text() == *b.text();
  Meter::Nest nest(Meter::Current());
  Step();
  if (a.items() != nullptr) return EqualItems(*a.items(), *b.items());
  if (a.dict() != nullptr) return EqualDicts(*a.dict(), *b.dict());
  if (auto* range = a.get<RangeValue>()) return EqualRanges(*range, *b.get<RangeValue>());
  return a.Is(b);
}

uint64_t Hash(const Value& value) {
  if (auto* text = value.text()) return std::hash<std::string_view>()(text->view());
  if (value.is_int()) return std::hash<uint64_t>()(static_cast<uint64_t>(value.as_int()));
  if (auto* d = value.get<double>()) {
    if (*d == std::trunc(*d) && std::abs(*d) < kIntLimit) return Hash(Value(static_cast<Int>(*d)));
    return std::hash<double>()(*d);
  }
  if (value.is_none()) return 0x9e37;
  if (value.is_undefined()) return 0x79b9;
  if (auto* tuple = value.get<TuplePtr>()) {
    Meter::Nest nest(Meter::Current());
    uint64_t hash = 0x345678;
    for (const Value& item : tuple->ptr->items) hash = hash * 1000003 ^ Hash(item);
    return hash;
  }
  if (auto* range = value.get<RangeValue>()) {
    Int n = range->length();
    Int start = n > 0 ? range->start : 0, step = n > 1 ? range->step : 0;
    return std::hash<uint64_t>()(static_cast<uint64_t>((n * 1000003 + start) * 1000003 + step));
  }
  if (Object* object = value.object()) return std::hash<void*>()(object);
  if (Iterator* it = value.iterator()) return std::hash<void*>()(it);
  Raise("TypeError", "unhashable type: '", TypeName(value), "'");
}

bool Compare(const Value& a, Order order, const Value& b) {
  Step();
  if (a.is_undefined()) FailUndefined(a);
  if (b.is_undefined()) FailUndefined(b);
  if (a.is_number() && b.is_number()) {
    auto sign = CompareNumbers(a, b);
    return sign && Holds(order, *sign);
  }
  if (a.is_text() && b.is_text()) return Holds(order, a.text()->view().compare(b.text()->view()));
  if ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple())) {
    Meter::Nest nest(Meter::Current());
    return CompareItems(*a.items(), order, *b.items());
  }
  static constexpr std::string_view kSymbols[] = {"<", "<=", ">", ">="};
  Raise("TypeError", "'", kSymbols[static_cast<int>(order)],
        "' not supported between instances of '", TypeName(a), "' and '", TypeName(b), "'");
}

bool Contains(Interp&, const Value& haystack, const Value& needle) {
  Step();
  if (auto* text = haystack.text()) {
    if (!needle.is_text()) {
      Raise("TypeError", "'in <string>' requires string as left operand, not ", TypeName(needle));
    }
    Step(text->bytes() / 64);
    return text->view().find(needle.text()->view()) != std::string_view::npos;
  }
  if (const Dict* dict = haystack.dict()) return dict->Find(needle) != nullptr;
  if (auto* view = haystack.get<View>(); view != nullptr && view->kind == View::kKeys) {
    return view->dict->Find(needle) != nullptr;
  }
  if (!IsIterable(haystack)) {
    Raise("TypeError", "argument of type '", TypeName(haystack), "' is not iterable");
  }
  auto it = Iterate(haystack);
  for (Value item; it->Next(item);) {
    if (Same(item, needle)) return true;
  }
  return false;
}

size_t Length(const Value& value) {
  if (auto length = TryLength(value)) return *length;
  Raise("TypeError", "object of type '", TypeName(value), "' has no len()");
}

std::optional<size_t> TryLength(const Value& value) {
  if (value.is_undefined()) return 0;
  if (auto* text = value.text()) return text->length();
  if (auto* items = value.items()) return items->size();
  if (const Dict* dict = value.dict()) return dict->size();
  if (auto* view = value.get<View>()) return view->dict->size();
  if (auto* range = value.get<RangeValue>()) return static_cast<size_t>(range->length());
  if (Object* object = value.object()) return object->Length();
  return std::nullopt;
}

std::optional<Value> TrySubscript(const Value& object, const Value& key) {
  if (object.is_undefined()) FailUndefined(object);
  if (const Dict* dict = object.dict()) {
    if (key.is_list() || key.is_dict() || key.get<View>() != nullptr) return std::nullopt;
    try {
      const Value* found = dict->Find(key);
      return found != nullptr ? std::optional<Value>(*found) : std::nullopt;
    } catch (const Error& e) {  // a tuple holding something unhashable
      if (e.Is("TypeError")) return std::nullopt;
      throw;
    }
  }
  if (!key.is_int()) return std::nullopt;
  if (auto* text = object.text()) {
    auto at = Position(key.as_int(), text->length());
    if (!at) return std::nullopt;
    return Value(text->Slice(*at, *at + 1).WithMarkup(text->markup()));
  }
  if (auto* items = object.items()) {
    auto at = Position(key.as_int(), items->size());
    return at ? std::optional<Value>((*items)[*at]) : std::nullopt;
  }
  if (auto* range = object.get<RangeValue>()) {
    auto at = Position(key.as_int(), static_cast<size_t>(range->length()));
    return at ? std::optional<Value>(range->at(static_cast<Int>(*at))) : std::nullopt;
  }
  return std::nullopt;
}

Value Slice(const Value& object, const SliceBounds& bounds) {
  if (object.is_undefined()) FailUndefined(object);
  if (auto* text = object.text()) {
    return SliceText(*text, PlanSlice(bounds, text->length())).WithMarkup(text->markup());
  }
  if (auto* items = object.items()) {
    SlicePlan plan = PlanSlice(bounds, items->size());
    std::vector<Value> out;
    out.reserve(plan.count);
    Step(plan.count);
    for (size_t k = 0; k < plan.count; ++k) {
      out.push_back((*items)[static_cast<size_t>(plan.first + static_cast<Int>(k) * plan.step)]);
    }
    return object.is_list() ? Value::List(std::move(out)) : Value::Tuple(std::move(out));
  }
  if (auto* range = object.get<RangeValue>()) {
    SlicePlan plan = PlanSlice(bounds, static_cast<size_t>(range->length()));
    Int step = 0;
    if (__builtin_mul_overflow(range->step, plan.step, &step) || step > kFar || step < -kFar) {
      Raise(kLimit, "a range step of over 100 bits");
    }
    return RangeValue{range->at(plan.first), range->at(plan.stop), step};
  }
  if (object.is_dict()) Raise("TypeError", "unhashable type: 'slice'");
  Raise("TypeError", "'", TypeName(object), "' object is not subscriptable");
}

bool IsIterable(const Value& value) {
  if (Object* object = value.object()) return object->Iterate() != nullptr;
  return value.is_undefined() || value.is_text() || value.iterator() != nullptr ||
         value.items() != nullptr || value.is_dict() || value.get<View>() != nullptr ||
         value.get<RangeValue>() != nullptr;
}

std::shared_ptr<Iterator> Iterate(const Value& value) {
  if (auto* it = value.get<std::shared_ptr<Iterator>>()) return *it;
  if (value.is_undefined()) return Counted(0, [](size_t) { return Value(); });
  if (auto* text = value.text()) {
    return MakeGenerator([text = *text, pos = size_t{0}](Value& out) mutable {
      if (pos >= text.bytes()) return false;
      size_t start = pos;
      DecodeUtf8(text.view(), pos);
      out = Value(text.Sub(start, pos));
      return true;
    });
  }
  if (Object* object = value.object()) {
    if (auto it = object->Iterate()) return it;
  }
  if (auto reader = ItemReader(value)) return Counted(*TryLength(value), std::move(reader));
  Raise("TypeError", "'", TypeName(value), "' object is not iterable");
}

std::vector<Value> ToVector(const Value& value) {
  if (auto* items = value.items()) {
    Step(items->size());
    return *items;
  }
  std::vector<Value> out;
  auto it = Iterate(value);
  Meter* meter = Meter::Current();
  for (Value item; it->Next(item);) {
    if (meter != nullptr) meter->CheckRoom((out.size() + 1) * sizeof(Value));
    out.push_back(std::move(item));
  }
  return out;
}

std::shared_ptr<Iterator> TryReversed(const Value& value) {
  if (auto* text = value.text()) {
    auto chars = Iterate(Slice(value, {None{}, None{}, Value(-1)}));
    if (!text->markup()) return chars;
    return MakeGenerator([chars](Value& out) {
      const bool more = chars->Next(out);
      if (more) out = Value(out.text()->WithMarkup());
      return more;
    });
  }
  if (value.is_undefined()) return Iterate(value);
  auto reader = ItemReader(value);
  if (!reader) return nullptr;
  size_t n = *TryLength(value);
  return Counted(n, [n, reader](size_t i) { return reader(n - 1 - i); });
}

Int ToIndex(const Value& value, std::string_view what) {
  if (value.is_int()) return value.as_int();
  if (what == "slice indices") {
    Raise("TypeError", "slice indices must be integers or None or have an __index__ method");
  }
  Raise("TypeError", "'", TypeName(value), "' object cannot be interpreted as an integer");
}

const Text& NeedText(const Value& value, std::string_view what) {
  if (auto* text = value.text()) return *text;
  Raise("TypeError", what, " must be str, not ", TypeName(value));
}

size_t ClampIndex(Int index, size_t length) {
  Int n = static_cast<Int>(length);
  if (index < 0) index += n;
  return static_cast<size_t>(std::clamp(index, Int{0}, n));
}

double ToDouble(const Value& value) {
  return value.is_float() ? *value.get<double>() : static_cast<double>(value.as_int());
}

std::shared_ptr<Iterator> MakeGenerator(std::function<bool(Value&)> next) {
  return std::make_shared<Generator>(std::move(next));
}

}  // namespace moxie::text::jinja
