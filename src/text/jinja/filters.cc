#include "text/jinja/filters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "text/jinja/format.h"
#include "text/jinja/markup.h"
#include "text/jinja/methods.h"
#include "text/jinja/number.h"
#include "text/jinja/objects.h"
#include "text/jinja/params.h"
#include "text/jinja/tojson.h"

namespace moxie::text::jinja {
namespace {

// --- Attribute getters, as `attribute=` and map/selectattr use them

using Getter = std::function<Value(const Value&)>;

// "a.0.b" -> "a", 0, "b"; anything else is one part. None has no parts.
std::vector<Value> AttributeParts(const Value& attribute) {
  if (attribute.is_none()) return {};
  auto* text = attribute.text();
  if (text == nullptr) return {attribute};
  std::vector<Value> parts;
  for (Value& part : Split(*text, Value("."), -1, false)) {
    bool digits = !part.text()->empty();
    part.text()->ForEachChar([&](char32_t c, Origin) { digits = digits && IsDigit(c); });
    if (!digits) {
      parts.push_back(std::move(part));
      continue;
    }
    auto number = ParseInt(part.text()->view(), 10);
    if (!number) Raise("ValueError", "invalid literal for int() with base 10");
    parts.emplace_back(*number);
  }
  return parts;
}

Value IgnoreCase(const Value& value) {
  return value.is_text() ? Value(Lower(*value.text())) : value;
}

Getter MakeGetter(Interp& interp, const Value& attribute, bool ignore_case = false,
                  Value fallback = None{}) {
  return [&interp, parts = AttributeParts(attribute), ignore_case,
          fallback = std::move(fallback)](const Value& item) {
    Value value = item;
    for (const Value& part : parts) {
      value = interp.GetItem(value, part);
      if (value.is_undefined() && !fallback.is_none()) value = fallback;
    }
    return ignore_case ? IgnoreCase(value) : value;
  };
}

// A list of keys, one for each comma-separated attribute.
Getter MakeMultiGetter(Interp& interp, const Value& attribute, bool ignore_case) {
  std::vector<Getter> getters;
  if (auto* text = attribute.text()) {
    for (Value& part : Split(*text, Value(","), -1, false)) {
      getters.push_back(MakeGetter(interp, part, ignore_case));
    }
  } else {
    getters.push_back(MakeGetter(interp, attribute, ignore_case));
  }
  return [getters = std::move(getters)](const Value& item) {
    std::vector<Value> keys;
    for (const Getter& getter : getters) keys.push_back(getter(item));
    return Value::List(std::move(keys));
  };
}

// Python's sorted(values, key=key, reverse=reverse).
std::vector<Value> Sorted(std::vector<Value> values, const Getter& key, bool reverse) {
  struct Entry {
    Value key, value;
  };
  std::vector<Entry> entries;
  entries.reserve(values.size());
  for (Value& value : values) {
    Value k = key(value);
    entries.push_back({std::move(k), std::move(value)});
  }
  auto less = [](const Entry& a, const Entry& b) { return Less(a.key, b.key); };
  // Stable in both directions: reversing before and after keeps equal items in order.
  if (reverse) std::reverse(entries.begin(), entries.end());
  std::stable_sort(entries.begin(), entries.end(), less);
  if (reverse) std::reverse(entries.begin(), entries.end());
  std::vector<Value> out;
  out.reserve(entries.size());
  for (Entry& entry : entries) out.push_back(std::move(entry.value));
  return out;
}

Value FromIterator(std::shared_ptr<Iterator> it) { return Value(std::move(it)); }

// --- Strings

Value DoUpper(Interp& interp, const Value& v, Args args) {
  Params p("upper", std::move(args), "");
  Text text = SoftStr(interp, v);
  return Upper(text).WithMarkup(text.markup());
}
Value DoLower(Interp& interp, const Value& v, Args args) {
  Params p("lower", std::move(args), "");
  Text text = SoftStr(interp, v);
  return Lower(text).WithMarkup(text.markup());
}
Value DoCapitalize(Interp& interp, const Value& v, Args args) {
  Params p("capitalize", std::move(args), "");
  Text text = SoftStr(interp, v);
  return Capitalize(text).WithMarkup(text.markup());
}
Value DoString(Interp& interp, const Value& v, Args args) {
  Params p("string", std::move(args), "");
  return SoftStr(interp, v);
}
Value DoSafe(Interp& interp, const Value& v, Args args) {
  Params p("safe", std::move(args), "");
  return Str(interp, v).WithMarkup();
}
Value DoTrim(Interp& interp, const Value& v, Args args) {
  Params p("trim", std::move(args), "chars=");
  Text text = SoftStr(interp, v);
  return Strip(text, p[0], true, true).WithMarkup(text.markup());
}
Value DoCenter(Interp& interp, const Value& v, Args args) {
  Params p("center", std::move(args), "width=");
  Text text = SoftStr(interp, v);
  return Center(text, std::min(p.Integer(0, 80), Int{1} << 40), " ").WithMarkup(text.markup());
}

// Words begin at the text's start and behind [-\s({\[<]+.
Value DoTitle(Interp& interp, const Value& v, Args args) {
  Params p("title", std::move(args), "");
  auto separates = [](char32_t c) {
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || IsSpace(c);
  };
  Text text = Str(interp, v);
  TextBuilder out;
  for (size_t pos = 0; pos < text.bytes();) {
    // A stretch of separators, or of anything else; its first character is upper-cased.
    size_t begin = pos, first_end = pos;
    bool kind = separates(DecodeUtf8(text.view(), first_end));
    pos = first_end;
    while (pos < text.bytes()) {
      size_t next = pos;
      if (separates(DecodeUtf8(text.view(), next)) != kind) break;
      pos = next;
    }
    out.Add(Upper(text.Sub(begin, first_end)));
    out.Add(Lower(text.Sub(first_end, pos)));
  }
  return out.Take();
}

Value DoReplace(Interp& interp, const Value& v, Args args) {
  Params p("replace", std::move(args), "old,new,count=");
  Int count = p[2] == nullptr || p[2]->is_none() ? Int{-1} : p.Integer(2, -1);
  return Replace(Str(interp, v), Str(interp, *p[0]), Str(interp, *p[1]), count);
}

Value DoIndent(Interp& interp, const Value& v, Args args) {
  Params p("indent", std::move(args), "width=,first=,blank=");
  Text indention;
  if (p[0] != nullptr && p[0]->is_text()) {
    indention = *p[0]->text();
  } else {
    indention = *Arithmetic(interp, BinaryOp::kMul, Value(" "), p.Or(0, Value(4))).text();
  }
  if (v.is_list()) Raise("AttributeError", "'list' object has no attribute 'splitlines'");
  Value with_newline = Arithmetic(interp, BinaryOp::kAdd, v, Value("\n"));
  const bool markup = with_newline.text()->markup();
  // An indention that is Markup escapes the lines it is put before, and those it joins.
  const bool escapes = indention.markup() && !markup;
  std::vector<Value> lines = SplitLines(*with_newline.text(), false);
  TextBuilder out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Text& line = *lines[i].text();
    const bool indented = i > 0 && (p.Flag(2) || !line.empty());
    if (i > 0) out.Add("\n", Origin::kTemplate);
    if (indented) out.Add(indention);
    out.Add(escapes && (indented || p.Flag(2)) ? EscapeHtml(line) : line);
  }
  Text text = out.Take().WithMarkup(markup || (escapes && p.Flag(2)));
  if (!p.Flag(1)) return text;
  return Arithmetic(interp, BinaryOp::kAdd, markup ? indention.WithMarkup() : indention, text);
}

Value DoTruncate(Interp& interp, const Value& v, Args args) {
  Params p("truncate", std::move(args), "length=,killwords=,end=,leeway=");
  Value end = p.Or(2, Value("..."));
  Value end_length = Length(end), length = p.Or(0, 255), leeway = p.Or(3, None{});
  if (leeway.is_none()) leeway = 5;
  if (!Compare(length, Order::kGreaterEqual, end_length)) {
    Raise("AssertionError", "expected a length of at least the end's");
  }
  if (!Compare(leeway, Order::kGreaterEqual, 0)) Raise("AssertionError", "expected leeway >= 0");
  Value longest = Arithmetic(interp, BinaryOp::kAdd, length, leeway);
  if (Compare(Length(v), Order::kLessEqual, longest)) return v;
  Value cut = Slice(v, {None{}, Arithmetic(interp, BinaryOp::kSub, length, end_length), None{}});
  if (!p.Flag(1)) {
    if (!cut.is_text()) Raise("AttributeError", "no attribute 'rsplit'");
    const bool markup = cut.text()->markup();
    cut = Split(*cut.text(), Value(" "), 1, true)[0].text()->WithMarkup(markup);
  }
  return Arithmetic(interp, BinaryOp::kAdd, cut, end);
}

Value DoWordCount(Interp& interp, const Value& v, Args args) {
  Params p("wordcount", std::move(args), "");
  Int count = 0;
  bool inside = false;
  Str(interp, v).ForEachChar([&](char32_t c, Origin) {
    bool word = IsWord(c);
    count += word && !inside;
    inside = word;
  });
  return count;
}

Value DoFormat(Interp& interp, const Value& v, Args args) {
  if (!args.positional.empty() && !args.keyword.empty()) {
    Raise("FilterArgumentError", "can't handle positional and keyword arguments at the same time");
  }
  Text format = SoftStr(interp, v);
  if (args.keyword.empty()) {
    return PercentFormat(interp, format, Value::Tuple(std::move(args.positional)));
  }
  auto dict = std::make_shared<Dict>();
  for (auto& [name, value] : args.keyword) dict->Set(Text(name, Origin::kTemplate), value);
  return PercentFormat(interp, format, Value(DictPtr(std::move(dict))));
}

Value DoEscape(Interp& interp, const Value& v, Args args) {
  Params p("escape", std::move(args), "");
  return Escape(interp, v);
}
Value DoForceEscape(Interp& interp, const Value& v, Args args) {
  Params p("forceescape", std::move(args), "");
  return EscapeHtml(Str(interp, v)).WithMarkup();
}
Value DoStripTags(Interp& interp, const Value& v, Args args) {
  Params p("striptags", std::move(args), "");
  return StripTags(Str(interp, v));
}
Value DoUrlEncode(Interp& interp, const Value& v, Args args) {
  Params p("urlencode", std::move(args), "");
  if (v.is_text() || !IsIterable(v)) return QuoteUrl(Str(interp, v), /*query=*/false);
  Value pairs = v.is_dict() ? Value(View{View::kItems, *v.get<DictPtr>()}) : v;
  TextBuilder out;
  auto it = Iterate(pairs);
  for (Value pair; it->Next(pair);) {
    std::vector<Value> items = ToVector(pair);
    if (items.size() != 2) Raise("ValueError", "urlencode takes pairs");
    if (out.bytes() > 0) out.Add("&", Origin::kTemplate);
    out.Add(QuoteUrl(Str(interp, items[0]), true));
    out.Add("=", Origin::kTemplate);
    out.Add(QuoteUrl(Str(interp, items[1]), true));
  }
  return out.Take();
}

Value DoToJson(Interp& interp, const Value& v, Args args) {
  Params p("tojson", std::move(args), "ensure_ascii=,indent=,separators=,sort_keys=");
  JsonFormat format;
  format.ensure_ascii = p.Flag(0);
  format.sort_keys = p.Flag(3);
  std::vector<Value> separators;
  if (p[2] != nullptr && !p[2]->is_none()) {
    separators = ToVector(*p[2]);
    if (separators.size() != 2) Raise("ValueError", "separators must be two strings");
  }
  if (v.is_text()) return ToJson(v, format);  // no more is looked at than that
  auto markup = [](const Value& option) { return option.is_text() && option.text()->markup(); };
  if ((p[1] != nullptr && markup(*p[1])) || std::ranges::any_of(separators, markup)) {
    Raise(kUnsupported, "tojson with an indent or separators that are Markup");
  }
  if (p[1] != nullptr && !p[1]->is_none()) {
    format.indent = p[1]->is_text() ? *p[1]->text()
                                    : *Arithmetic(interp, BinaryOp::kMul, Value(" "), *p[1]).text();
    format.item_separator = ",";
  }
  if (!separators.empty()) {
    format.item_separator = NeedText(separators[0], "a separator");
    format.key_separator = NeedText(separators[1], "a separator");
  }
  return ToJson(v, format);
}

// --- Numbers

Value DoAbs(Interp&, const Value& v, Args args) {
  Params p("abs", std::move(args), "");
  if (v.is_int()) return v.as_int() < 0 ? Negative(v) : Positive(v);
  if (v.is_float()) return std::abs(*v.get<double>());
  Raise("TypeError", "bad operand type for abs(): '", TypeName(v), "'");
}

Value IntFromDouble(double d) {
  if (std::abs(d) > 1.7e38) Raise(kLimit, "an integer of the template needs over 127 bits");
  return static_cast<Int>(d);
}

Value DoInt(Interp&, const Value& v, Args args) {
  Params p("int", std::move(args), "default=,base=");
  Value fallback = p.Or(0, Value(0));
  if (v.undefined() != nullptr) throw Error{v.undefined()->error, v.undefined()->message};
  if (auto* text = v.text()) {
    Value base_value = p.Or(1, Value(10));
    if (base_value.is_int()) {
      Int base = base_value.as_int();
      if (base == 0 || (base >= 2 && base <= 36)) {
        if (auto i = ParseInt(text->view(), static_cast<int>(base))) return *i;
      }
    }
    auto d = ParseFloat(text->view());
    return d && std::isfinite(*d) ? IntFromDouble(*d) : fallback;
  }
  if (v.is_int()) return v.as_int();
  if (!v.is_float()) return fallback;
  double d = *v.get<double>();
  if (std::isinf(d)) Raise("OverflowError", "cannot convert float infinity to integer");
  return std::isnan(d) ? fallback : IntFromDouble(d);
}

Value DoFloat(Interp&, const Value& v, Args args) {
  Params p("float", std::move(args), "default=");
  if (v.undefined() != nullptr) throw Error{v.undefined()->error, v.undefined()->message};
  if (v.is_number()) return ToDouble(v);
  if (auto* text = v.text()) {
    if (auto d = ParseFloat(text->view())) return *d;
  }
  return p.Or(0, Value(0.0));
}

// round() of an int to a negative number of digits, half to even.
Int RoundInt(Int value, Int digits) {
  if (digits >= 0) return value;
  if (digits < -37) return 0;
  Int unit = 1;
  for (Int i = 0; i < -digits; ++i) unit *= 10;
  Int quotient = value / unit, rest = value % unit;
  Int twice = (rest < 0 ? -rest : rest) * 2;
  bool up = twice > unit || (twice == unit && quotient % 2 != 0);
  return (quotient + (up ? (value < 0 ? -1 : 1) : 0)) * unit;
}

Value DoRound(Interp& interp, const Value& v, Args args) {
  Params p("round", std::move(args), "precision=,method=");
  Value precision = p.Or(0, Value(0));
  if (p[1] != nullptr) Hash(*p[1]);  // it is looked up in a set
  std::string method = p[1] == nullptr ? "common" : Str(interp, *p[1]).str();
  if (method != "common" && method != "ceil" && method != "floor") {
    Raise("FilterArgumentError", "method must be common, ceil or floor");
  }
  if (method == "common") {
    if (!v.is_number()) {
      Raise("TypeError", "type ", TypeName(v), " doesn't define __round__ method");
    }
    if (precision.is_none()) {
      if (v.is_int()) return v.as_int();
      double d = *v.get<double>();
      if (std::isnan(d)) Raise("ValueError", "cannot convert float NaN to integer");
      if (std::isinf(d)) Raise("OverflowError", "cannot convert float infinity to integer");
      return IntFromDouble(RoundFloat(d, 0));
    }
    Int digits = ToIndex(precision, "precision");
    return v.is_int() ? Value(RoundInt(v.as_int(), digits))
                      : Value(RoundFloat(*v.get<double>(), digits));
  }
  Value power = Arithmetic(interp, BinaryOp::kPow, Value(10), precision);
  Value scaled = Arithmetic(interp, BinaryOp::kMul, v, power);
  if (!scaled.is_number()) Raise("TypeError", "must be real number, not ", TypeName(scaled));
  if (scaled.is_float()) {
    double d = *scaled.get<double>();
    if (std::isnan(d)) Raise("ValueError", "cannot convert float NaN to integer");
    if (std::isinf(d)) Raise("OverflowError", "cannot convert float infinity to integer");
    scaled = IntFromDouble(method == "ceil" ? std::ceil(d) : std::floor(d));
  }
  return Arithmetic(interp, BinaryOp::kDiv, scaled, power);
}

Value DoFileSizeFormat(Interp& interp, const Value& v, Args args) {
  Params p("filesizeformat", std::move(args), "binary=");
  if (v.undefined() != nullptr) throw Error{v.undefined()->error, v.undefined()->message};
  std::optional<double> bytes;
  if (v.is_number()) bytes = ToDouble(v);
  if (auto* text = v.text()) {
    bytes = ParseFloat(text->view());
    if (!bytes) Raise("ValueError", "could not convert string to float");
  }
  if (!bytes) Raise("TypeError", "float() argument must be a string or a real number");
  bool binary = p.Flag(0);
  double base = binary ? 1024 : 1000;
  if (*bytes == 1) return "1 Byte";
  if (*bytes < base) {
    return Text(IntToString(DoInt(interp, Value(*bytes), {}).as_int()) + " Bytes",
                Origin::kTemplate);
  }
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  size_t i = 0;
  for (; i < kPrefixes.size(); ++i) {
    unit = std::pow(base, static_cast<double>(i) + 2);
    if (*bytes < unit || i + 1 == kPrefixes.size()) break;
  }
  char buffer[400];
  snprintf(buffer, sizeof buffer, "%.1f ", base * *bytes / unit);
  std::string out = buffer;
  char prefix = kPrefixes[i];
  out += binary && prefix == 'k' ? 'K' : prefix;
  return Text(out + (binary ? "iB" : "B"), Origin::kTemplate);
}

Value DoSum(Interp& interp, const Value& v, Args args) {
  Params p("sum", std::move(args), "attribute=,start=");
  Value total = p.Or(1, Value(0));
  Value attribute = p.Or(0, None{});
  auto it = Iterate(v);
  if (total.is_text()) Raise("TypeError", "sum() can't sum strings [use ''.join(seq) instead]");
  Getter getter = MakeGetter(interp, attribute);
  for (Value item; it->Next(item);) {
    total = Arithmetic(interp, BinaryOp::kAdd, total, getter(item));
  }
  return total;
}

// --- Sequences and mappings

Value DoLength(Interp&, const Value& v, Args args) {
  Params p("length", std::move(args), "");
  return Length(v);
}
Value DoList(Interp&, const Value& v, Args args) {
  Params p("list", std::move(args), "");
  return Value::List(ToVector(v));
}

Value DoFirst(Interp&, const Value& v, Args args) {
  Params p("first", std::move(args), "");
  Value item;
  if (Iterate(v)->Next(item)) return item;
  return Value::Undefined("No first item, sequence was empty.");
}
Value DoLast(Interp&, const Value& v, Args args) {
  Params p("last", std::move(args), "");
  auto it = TryReversed(v);
  if (it == nullptr) Raise("TypeError", "'", TypeName(v), "' object is not reversible");
  Value item;
  if (it->Next(item)) return item;
  return Value::Undefined("No last item, sequence was empty.");
}
Value DoReverse(Interp&, const Value& v, Args args) {
  Params p("reverse", std::move(args), "");
  if (v.is_text()) return Slice(v, {None{}, None{}, Value(-1)});
  if (auto it = TryReversed(v)) return FromIterator(std::move(it));
  if (!IsIterable(v)) Raise("FilterArgumentError", "argument must be iterable");
  std::vector<Value> items = ToVector(v);
  std::reverse(items.begin(), items.end());
  return Value::List(std::move(items));
}
Value DoRandom(Interp&, const Value&, Args) {
  Raise(kUnsupported, "the filter random has no place in a prompt");
}

Value DoJoin(Interp& interp, const Value& v, Args args) {
  Params p("join", std::move(args), "d=,attribute=");
  Text separator = Str(interp, p.Or(0, Value("")));
  Getter getter = MakeGetter(interp, p.Or(1, None{}));
  auto it = Iterate(v);
  TextBuilder out;
  bool first = true;
  for (Value item; it->Next(item);) {
    if (!first) out.Add(separator);
    first = false;
    out.Add(Str(interp, getter(item)));
  }
  return out.Take();
}

Value DoDefault(Interp&, const Value& v, Args args) {
  Params p("default", std::move(args), "default_value=,boolean=");
  if (v.is_undefined() || (p.Flag(1) && !Truth(v))) return p.Or(0, Value(""));
  return v;
}

Value DoItems(Interp&, const Value& v, Args args) {
  Params p("items", std::move(args), "");
  // A generator: what is wrong with the operand shows when it is first asked.
  return FromIterator(MakeGenerator([v, it = std::shared_ptr<Iterator>()](Value& out) mutable {
    if (v.is_undefined()) return false;
    if (!v.is_dict()) Raise("TypeError", "Can only get item pairs from a mapping.");
    if (it == nullptr) it = Iterate(Value(View{View::kItems, *v.get<DictPtr>()}));
    return it->Next(out);
  }));
}

Value DoDictSort(Interp& interp, const Value& v, Args args) {
  Params p("dictsort", std::move(args), "case_sensitive=,by=,reverse=");
  Value by = p.Or(1, Value("key"));
  bool by_key = Equals(by, Value("key"));
  if (!by_key && !Equals(by, Value("value"))) {
    Raise("FilterArgumentError", "You can only sort by either \"key\" or \"value\"");
  }
  Value items;
  if (auto* dict = v.get<DictPtr>()) {
    items = View{View::kItems, *dict};
  } else {
    items = interp.GetAttributeOnly(v, "items");
    if (items.is_undefined()) {
      Raise("AttributeError", "'", TypeName(v), "' object has no attribute 'items'");
    }
    items = interp.CallValue(items, {});
  }
  bool ignore_case = !p.Flag(0);
  auto key = [&](const Value& pair) {
    Value k = interp.GetItem(pair, Value(by_key ? 0 : 1));
    return ignore_case ? IgnoreCase(k) : k;
  };
  std::vector<Value> pairs = ToVector(items);
  return Value::List(Sorted(std::move(pairs), key, p.IntegerFlag(2)));
}

Value DoSort(Interp& interp, const Value& v, Args args) {
  Params p("sort", std::move(args), "reverse=,case_sensitive=,attribute=");
  Getter key = MakeMultiGetter(interp, p.Or(2, None{}), !p.Flag(1));
  std::vector<Value> values = ToVector(v);
  return Value::List(Sorted(std::move(values), key, p.IntegerFlag(0)));
}

Value DoUnique(Interp& interp, const Value& v, Args args) {
  Params p("unique", std::move(args), "case_sensitive=,attribute=");
  bool ignore_case = !p.Flag(0);
  Value attribute = p.Or(1, None{});
  auto seen = std::make_shared<Dict>();
  return FromIterator(MakeGenerator([&interp, v, ignore_case, attribute, seen, getter = Getter(),
                                     it = std::shared_ptr<Iterator>()](Value& out) mutable {
    if (it == nullptr) {
      getter = MakeGetter(interp, attribute, ignore_case);
      it = Iterate(v);
    }
    while (it->Next(out)) {
      Value key = getter(out);
      if (seen->Find(key) != nullptr) continue;
      seen->Set(key, None{});
      return true;
    }
    return false;
  }));
}

Value MinOrMax(Interp& interp, const Value& v, Args args, bool max) {
  Params p(max ? "max" : "min", std::move(args), "case_sensitive=,attribute=");
  auto it = Iterate(v);
  Value best;
  if (!it->Next(best)) return Value::Undefined("No aggregated item, sequence was empty.");
  Getter getter = MakeGetter(interp, p.Or(1, None{}), !p.Flag(0));
  Value best_key = getter(best);
  for (Value item; it->Next(item);) {
    Value key = getter(item);
    if (max ? Compare(key, Order::kGreater, best_key) : Less(key, best_key)) {
      best = item;
      best_key = key;
    }
  }
  return best;
}
Value DoMin(Interp& interp, const Value& v, Args args) {
  return MinOrMax(interp, v, std::move(args), false);
}
Value DoMax(Interp& interp, const Value& v, Args args) {
  return MinOrMax(interp, v, std::move(args), true);
}

Value DoSlice(Interp& interp, const Value& v, Args args) {
  Params p("slice", std::move(args), "slices,fill_with=");
  Value count = *p[0], fill = p.Or(1, None{});
  struct State {
    std::vector<Value> items;
    bool started = false;
    size_t slices = 0, each = 0, extra = 0, number = 0, offset = 0;
  };
  return FromIterator(MakeGenerator([&interp, v, count, fill, s = State()](Value& out) mutable {
    if (!s.started) {
      s.items = ToVector(v);
      s.started = true;
      if (!count.is_int()) {
        Arithmetic(interp, BinaryOp::kFloorDiv, Value(1), count);
        Raise("TypeError", "'float' object cannot be interpreted as an integer");
      }
      Int n = count.as_int();
      if (n == 0) Raise("ZeroDivisionError", "integer division or modulo by zero");
      if (n < 0) n = 0;
      s.slices = static_cast<size_t>(std::min(n, Int{1} << 40));
      if (s.slices > 0) {
        s.each = s.items.size() / s.slices;
        s.extra = s.items.size() % s.slices;
      }
    }
    if (s.number >= s.slices) return false;
    size_t start = s.offset + s.number * s.each;
    if (s.number < s.extra) ++s.offset;
    size_t end = s.offset + (s.number + 1) * s.each;
    std::vector<Value> part(s.items.begin() + static_cast<long>(start),
                            s.items.begin() + static_cast<long>(end));
    if (!fill.is_none() && s.number >= s.extra) part.push_back(fill);
    ++s.number;
    out = Value::List(std::move(part));
    return true;
  }));
}

Value DoBatch(Interp&, const Value& v, Args args) {
  Params p("batch", std::move(args), "linecount,fill_with=");
  Value count = *p[0], fill = p.Or(1, None{});
  return FromIterator(
      MakeGenerator([v, count, fill, pending = std::optional<Value>(),
                     it = std::shared_ptr<Iterator>(), done = false](Value& out) mutable {
        if (done) return false;
        if (it == nullptr) it = Iterate(v);
        std::vector<Value> batch;
        if (pending) batch.push_back(std::move(*pending));
        pending.reset();
        for (Value item; it->Next(item);) {
          if (Equals(Value(batch.size()), count)) {
            pending = item;
            out = Value::List(std::move(batch));
            return true;
          }
          batch.push_back(item);
        }
        done = true;
        if (batch.empty()) return false;
        if (!fill.is_none() && Less(Value(batch.size()), count)) {
          Int missing = ToIndex(count, "linecount") - static_cast<Int>(batch.size());
          if (Meter* meter = Meter::Current()) {
            meter->CheckRoom(static_cast<size_t>(std::min(missing, Int{1} << 40)) * sizeof(Value));
          }
          batch.insert(batch.end(), static_cast<size_t>(missing), fill);
        }
        out = Value::List(std::move(batch));
        return true;
      }));
}

Value DoGroupBy(Interp& interp, const Value& v, Args args) {
  Params p("groupby", std::move(args), "attribute,default=,case_sensitive=");
  bool ignore_case = !p.Flag(2);
  Value fallback = p.Or(1, None{});
  Getter key = MakeGetter(interp, *p[0], ignore_case, fallback);
  Getter label = MakeGetter(interp, *p[0], false, fallback);
  std::vector<Value> sorted = Sorted(ToVector(v), key, false);
  std::vector<Value> groups;
  for (size_t i = 0; i < sorted.size();) {
    Value group_key = key(sorted[i]);
    std::vector<Value> members;
    size_t first = i;
    while (i < sorted.size()) {
      Value k = key(sorted[i]);
      if (i > first && !(k.Is(group_key) || Equals(k, group_key))) break;
      members.push_back(sorted[i++]);
    }
    groups.push_back(Value::GroupTuple(label(sorted[first]), Value::List(std::move(members))));
  }
  return Value::List(std::move(groups));
}

Value DoAttr(Interp& interp, const Value& v, Args args) {
  Params p("attr", std::move(args), "name");
  if (!p[0]->is_text()) Raise("TypeError", "attribute name must be string");
  return interp.GetAttributeOnly(v, p[0]->text()->view());
}

// --- map, select and their kin

// filters.prepare_map: an attribute, or a filter by name.
Getter MakeMapFunction(Interp& interp, Args args) {
  auto attribute = std::find_if(args.keyword.begin(), args.keyword.end(),
                                [](auto& k) { return k.first == "attribute"; });
  if (args.positional.empty() && attribute != args.keyword.end()) {
    Value fallback;
    for (auto& [name, value] : args.keyword) {
      if (name == "default") fallback = value;
      if (name != "default" && name != "attribute") {
        Raise("FilterArgumentError", "Unexpected keyword argument '", name, "'");
      }
    }
    return MakeGetter(interp, attribute->second, false, fallback);
  }
  if (args.positional.empty()) {
    Raise("FilterArgumentError", "map requires a filter argument");
  }
  Value name = args.positional[0];
  args.positional.erase(args.positional.begin());
  return [&interp, name, args](const Value& item) {
    Hash(name);
    if (!name.is_text()) Raise("TemplateRuntimeError", "No such filter.");
    return interp.CallFilter(name.text()->view(), item, args);
  };
}

// filters.prepare_select_or_reject: a test by name, or truth.
std::function<bool(const Value&)> MakeSelectFunction(Interp& interp, Args args, bool by_attribute) {
  Getter getter = [](const Value& item) { return item; };
  if (by_attribute) {
    if (args.positional.empty()) {
      Raise("FilterArgumentError", "Missing parameter for attribute name");
    }
    getter = MakeGetter(interp, args.positional[0]);
    args.positional.erase(args.positional.begin());
  }
  if (args.positional.empty()) return [getter](const Value& item) { return Truth(getter(item)); };
  Value name = args.positional[0];
  args.positional.erase(args.positional.begin());
  return [&interp, getter, name, args](const Value& item) {
    Value operand = getter(item);
    Hash(name);
    if (!name.is_text()) Raise("TemplateRuntimeError", "No such test.");
    return interp.CallTest(name.text()->view(), operand, args);
  };
}

Value DoMap(Interp& interp, const Value& v, Args args) {
  return FromIterator(MakeGenerator(
      [&interp, v, args, f = Getter(), it = std::shared_ptr<Iterator>()](Value& out) mutable {
        if (it == nullptr) {
          if (!Truth(v)) return false;
          f = MakeMapFunction(interp, args);
          it = Iterate(v);
        }
        Value item;
        if (!it->Next(item)) return false;
        out = f(item);
        return true;
      }));
}

Value SelectOrReject(Interp& interp, const Value& v, Args args, bool want, bool by_attribute) {
  return FromIterator(MakeGenerator([&interp, v, args, want, by_attribute,
                                     test = std::function<bool(const Value&)>(),
                                     it = std::shared_ptr<Iterator>()](Value& out) mutable {
    if (it == nullptr) {
      if (!Truth(v)) return false;
      test = MakeSelectFunction(interp, args, by_attribute);
      it = Iterate(v);
    }
    while (it->Next(out)) {
      if (test(out) == want) return true;
    }
    return false;
  }));
}
Value DoSelect(Interp& interp, const Value& v, Args args) {
  return SelectOrReject(interp, v, std::move(args), true, false);
}
Value DoReject(Interp& interp, const Value& v, Args args) {
  return SelectOrReject(interp, v, std::move(args), false, false);
}
Value DoSelectAttr(Interp& interp, const Value& v, Args args) {
  return SelectOrReject(interp, v, std::move(args), true, true);
}
Value DoRejectAttr(Interp& interp, const Value& v, Args args) {
  return SelectOrReject(interp, v, std::move(args), false, true);
}

Value Refused(Interp&, const Value&, Args) {
  Raise(kUnsupported, "this filter writes HTML or debugging output and is not supported");
}

constexpr FilterRow kFilters[] = {
    {"abs", DoAbs},
    {"attr", DoAttr},
    {"batch", DoBatch},
    {"capitalize", DoCapitalize},
    {"center", DoCenter},
    {"count", DoLength},
    {"d", DoDefault},
    {"default", DoDefault},
    {"dictsort", DoDictSort},
    {"e", DoEscape},
    {"escape", DoEscape},
    {"filesizeformat", DoFileSizeFormat},
    {"first", DoFirst},
    {"float", DoFloat},
    {"forceescape", DoForceEscape},
    {"format", DoFormat},
    {"groupby", DoGroupBy},
    {"indent", DoIndent},
    {"int", DoInt},
    {"items", DoItems},
    {"join", DoJoin},
    {"last", DoLast},
    {"length", DoLength},
    {"list", DoList},
    {"lower", DoLower},
    {"map", DoMap},
    {"max", DoMax},
    {"min", DoMin},
    {"pprint", Refused},
    {"random", DoRandom},
    {"reject", DoReject},
    {"rejectattr", DoRejectAttr},
    {"replace", DoReplace},
    {"reverse", DoReverse},
    {"round", DoRound},
    {"safe", DoSafe},
    {"select", DoSelect},
    {"selectattr", DoSelectAttr},
    {"slice", DoSlice},
    {"sort", DoSort},
    {"string", DoString},
    {"striptags", DoStripTags},
    {"sum", DoSum},
    {"title", DoTitle},
    {"tojson", DoToJson},
    {"trim", DoTrim},
    {"truncate", DoTruncate},
    {"unique", DoUnique},
    {"upper", DoUpper},
    {"urlencode", DoUrlEncode},
    {"urlize", Refused},
    {"wordcount", DoWordCount},
    {"wordwrap", Refused},
    {"xmlattr", Refused},
};

}  // namespace

const FilterRow* FindFilter(std::string_view name) {
  auto row = std::find_if(std::begin(kFilters), std::end(kFilters),
                          [&](const FilterRow& r) { return r.name == name; });
  return row != std::end(kFilters) ? row : nullptr;
}

}  // namespace moxie::text::jinja
