// Attributes of str, list, tuple, dict, range and numbers.
#include "text/jinja/methods.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "text/jinja/format.h"
#include "text/jinja/markup.h"
#include "text/jinja/objects.h"
#include "text/jinja/params.h"

namespace moxie::text::jinja {
namespace {

using Method = Value (*)(Interp& interp, const Value& self, Args args);

const Text& Self(const Value& self) { return *self.text(); }

// Applies a case map to each character, keeping origins.
template <typename F>
Text MapChars(const Text& text, F map) {
  TextBuilder out;
  text.ForEachRun([&](std::string_view part, Origin origin) {
    std::string mapped;
    mapped.reserve(part.size());
    for (size_t pos = 0; pos < part.size();) map(DecodeUtf8(part, pos), mapped);
    out.Add(mapped, origin);
  });
  return out.Take();
}

std::u32string CodePoints(const Text& text) {
  std::u32string out;
  text.ForEachChar([&](char32_t c, Origin) { out += c; });
  return out;
}

// Lower-cases chars[i], a capital sigma at the end of a word being the final one.
void AppendLowerAt(const std::u32string& chars, size_t i, std::string& out) {
  if (chars[i] != 0x3A3) return AppendLower(chars[i], out);
  size_t j = i;
  while (j > 0 && IsCaseIgnorable(chars[j - 1])) --j;
  bool final_sigma = j > 0 && IsCased(chars[j - 1]);
  if (final_sigma) {
    j = i + 1;
    while (j < chars.size() && IsCaseIgnorable(chars[j])) ++j;
    final_sigma = j == chars.size() || !IsCased(chars[j]);
  }
  AppendUtf8(final_sigma ? 0x3C2 : 0x3C3, out);
}

// Maps by position: f(chars, i, out).
template <typename F>
Text MapIndexed(const Text& text, F map) {
  std::u32string chars = CodePoints(text);
  size_t i = 0;
  return MapChars(text, [&](char32_t, std::string& out) { map(chars, i++, out); });
}

Text Title(const Text& text) {
  bool previous_cased = false;
  return MapIndexed(text, [&](const std::u32string& chars, size_t i, std::string& out) {
    if (previous_cased) {
      AppendLowerAt(chars, i, out);
    } else {
      AppendTitle(chars[i], out);
    }
    previous_cased = IsCased(chars[i]);
  });
}

Text SwapCase(const Text& text) {
  return MapIndexed(text, [](const std::u32string& chars, size_t i, std::string& out) {
    if (IsUpper(chars[i])) {
      AppendLowerAt(chars, i, out);
    } else if (IsLower(chars[i])) {
      AppendUpper(chars[i], out);
    } else {
      AppendUtf8(chars[i], out);
    }
  });
}

bool InChars(char32_t c, const std::u32string& chars) { return chars.find(c) != chars.npos; }

// The byte range [begin, end) that optional start and end arguments (code points) select; nothing
// when start lies behind the end of the text or of the range.
struct Span {
  size_t begin = 0, end = 0;
  bool valid = true;
};

Span SelectSpan(const Text& text, const Value* start, const Value* end) {
  size_t n = text.length();
  auto index = [&](const Value* v, Int fallback) {
    return v == nullptr || v->is_none() ? fallback : ToIndex(*v, "slice indices");
  };
  Int raw_start = index(start, 0);
  Int raw_end = index(end, static_cast<Int>(n));
  size_t e = ClampIndex(raw_end, n);
  size_t s = ClampIndex(raw_start, n);
  bool valid = raw_start <= static_cast<Int>(n) && s <= e;
  return {text.ByteOffset(s), text.ByteOffset(e), valid};
}

// Code point index of `what` inside the span, or -1.
Int FindIn(const Text& text, const Text& what, const Span& span, bool last) {
  if (!span.valid) return -1;
  std::string_view view = text.view().substr(span.begin, span.end - span.begin);
  size_t at = last ? view.rfind(what.view()) : view.find(what.view());
  if (Meter* meter = Meter::Current()) meter->Step(view.size() / 64);
  return at == view.npos ? Int{-1} : static_cast<Int>(text.IndexAt(span.begin + at));
}

template <bool last, bool must>
Value Find(Interp&, const Value& self, Args args) {
  Params p("find", std::move(args), "/sub,start=,end=");
  Span span = SelectSpan(Self(self), p[1], p[2]);
  Int at = FindIn(Self(self), NeedText(*p[0], "argument"), span, last);
  if (must && at < 0) Raise("ValueError", "substring not found");
  return at;
}

Value CountMethod(Interp&, const Value& self, Args args) {
  Params p("count", std::move(args), "/sub,start=,end=");
  const Text& sub = NeedText(*p[0], "argument");
  Span span = SelectSpan(Self(self), p[1], p[2]);
  if (!span.valid) return 0;
  std::string_view view = Self(self).view().substr(span.begin, span.end - span.begin);
  if (sub.empty()) return Self(self).Sub(span.begin, span.end).length() + 1;
  Int n = 0;
  for (size_t at = view.find(sub.view()); at != view.npos;
       at = view.find(sub.view(), at + sub.bytes())) {
    ++n;
  }
  if (Meter* meter = Meter::Current()) meter->Step(view.size() / 16);
  return n;
}

template <bool at_end>
Value StartsOrEnds(Interp&, const Value& self, Args args) {
  constexpr std::string_view kName = at_end ? "endswith" : "startswith";
  Params p(kName, std::move(args), "/prefix,start=,end=");
  Span span = SelectSpan(Self(self), p[1], p[2]);
  std::string_view view =
      span.valid ? Self(self).view().substr(span.begin, span.end - span.begin) : "";
  auto matches = [&](const Value& affix) {
    if (!affix.is_text()) {
      Raise("TypeError", kName, " first arg must be str or a tuple of str, not ", TypeName(affix));
    }
    if (!span.valid) return false;
    std::string_view a = affix.text()->view();
    return at_end ? view.ends_with(a) : view.starts_with(a);
  };
  if (!p[0]->is_tuple()) return matches(*p[0]);
  for (const Value& affix : *p[0]->items()) {
    if (matches(affix)) return true;
  }
  return false;
}

template <bool left, bool right>
Value StripMethod(Interp&, const Value& self, Args args) {
  Params p("strip", std::move(args), "/chars=");
  if (p[0] && !p[0]->is_none() && !p[0]->is_text()) {
    Raise("TypeError", "strip arg must be None or str");
  }
  return Strip(Self(self), p[0], left, right);
}

template <bool from_right>
Value SplitMethod(Interp&, const Value& self, Args args) {
  Params p("split", std::move(args), "sep=,maxsplit=");
  return Value::List(Split(Self(self), p.Or(0, None{}), p.Integer(1, -1), from_right));
}

Value SplitLinesMethod(Interp&, const Value& self, Args args) {
  Params p("splitlines", std::move(args), "keepends=");
  return Value::List(SplitLines(Self(self), p.IntegerFlag(0)));
}

template <bool last>
Value PartitionMethod(Interp&, const Value& self, Args args) {
  Params p("partition", std::move(args), "/sep");
  const Text& text = Self(self);
  const Text& sep = NeedText(*p[0], "argument");
  if (sep.empty()) Raise("ValueError", "empty separator");
  size_t at = last ? text.view().rfind(sep.view()) : text.view().find(sep.view());
  if (at == std::string_view::npos) {
    return last ? Value::Tuple({Text(), Text(), text}) : Value::Tuple({text, Text(), Text()});
  }
  Text middle = text.Sub(at, at + sep.bytes()).WithMarkup(sep.markup());
  return Value::Tuple(
      {text.Sub(0, at), std::move(middle), text.Sub(at + sep.bytes(), text.bytes())});
}

Value JoinMethod(Interp& interp, const Value& self, Args args) {
  Params p("join", std::move(args), "/iterable");
  if (!IsIterable(*p[0])) Raise("TypeError", "can only join an iterable");
  TextBuilder out;
  auto it = Iterate(*p[0]);
  size_t i = 0;
  for (Value item; it->Next(item); ++i) {
    if (Self(self).markup()) item = Escape(interp, item);
    if (!item.is_text()) {
      Raise("TypeError", "sequence item ", i, ": expected str instance, ", TypeName(item),
            " found");
    }
    if (i > 0) out.Add(Self(self));
    out.Add(*item.text());
  }
  return out.Take();
}

Value ReplaceMethod(Interp&, const Value& self, Args args) {
  Params p("replace", std::move(args), "/old,new,count=");
  return Replace(Self(self), NeedText(*p[0], "replace() argument 1"),
                 NeedText(*p[1], "replace() argument 2"), p.Integer(2, -1));
}

template <Text (*map)(const Text&)>
Value Mapped(Interp&, const Value& self, Args args) {
  Params p("method", std::move(args), "");
  return map(Self(self));
}

Text Fold(const Text& text) { return MapChars(text, AppendFolded); }

// Every character satisfies the predicate, and there is one.
template <bool (*predicate)(char32_t)>
Value AllChars(Interp&, const Value& self, Args args) {
  Params p("method", std::move(args), "");
  bool all = !Self(self).empty();
  Self(self).ForEachChar([&](char32_t c, Origin) { all = all && predicate(c); });
  return all;
}
bool IsAlnum(char32_t c) { return IsAlpha(c) || IsNumeric(c); }

template <bool lower>
Value CaseTest(Interp&, const Value& self, Args args) {
  Params p("method", std::move(args), "");
  bool found = false, other = false;
  Self(self).ForEachChar([&](char32_t c, Origin) {
    found = found || (lower ? IsLower(c) : IsUpper(c));
    other = other || IsTitle(c) || (lower ? IsUpper(c) : IsLower(c));
  });
  return found && !other;
}

Value IsTitleMethod(Interp&, const Value& self, Args args) {
  Params p("istitle", std::move(args), "");
  bool cased = false, ok = true, previous = false;
  Self(self).ForEachChar([&](char32_t c, Origin) {
    if (IsUpper(c) || IsTitle(c)) {
      ok = ok && !previous;
      previous = cased = true;
    } else if (IsLower(c)) {
      ok = ok && previous;
      previous = cased = true;
    } else {
      previous = false;
    }
  });
  return cased && ok;
}

Value IsAsciiMethod(Interp&, const Value& self, Args args) {
  Params p("isascii", std::move(args), "");
  return Self(self).ascii();
}

Value IsPrintableMethod(Interp&, const Value& self, Args args) {
  Params p("isprintable", std::move(args), "");
  bool all = true;
  Self(self).ForEachChar([&](char32_t c, Origin) { all = all && IsPrintable(c); });
  return all;
}

Value IsIdentifierMethod(Interp&, const Value& self, Args args) {
  Params p("isidentifier", std::move(args), "");
  bool ok = !Self(self).empty(), first = true;
  Self(self).ForEachChar([&](char32_t c, Origin) {
    ok = ok && (first ? IsIdentifierStart(c) : IsIdentifierPart(c));
    first = false;
  });
  return ok;
}

Text Pad(const Text& text, Int left, Int right, const Text& fill) {
  TextBuilder out;
  out.AddRepeated(fill, static_cast<size_t>(std::max(left, Int{0})));
  out.Add(text);
  out.AddRepeated(fill, static_cast<size_t>(std::max(right, Int{0})));
  return out.Take();
}

const Text& FillChar(const Params& p, const Text& space) {
  if (p[1] == nullptr) return space;
  const Text& fill = NeedText(*p[1], "The fill character");
  if (fill.length() != 1) {
    Raise("TypeError", "The fill character must be exactly one character long");
  }
  return fill;
}

// A width beyond what fits any text is refused by the text's own limit.
Int Width(const Params& p) { return std::min(p.Integer(0, 0), Int{1} << 40); }

template <int side>  // -1: ljust, 0: center, 1: rjust
Value Justify(Interp&, const Value& self, Args args) {
  Params p("justify", std::move(args), "/width,fillchar=");
  const Text& text = Self(self);
  Text space = " ";
  const Text& fill = FillChar(p, space);
  if (side == 0) return Center(text, Width(p), fill);
  Int pad = Width(p) - static_cast<Int>(text.length());
  return side < 0 ? Pad(text, 0, pad, fill) : Pad(text, pad, 0, fill);
}

Value ZFill(Interp&, const Value& self, Args args) {
  Params p("zfill", std::move(args), "/width");
  const Text& text = Self(self);
  Int pad = Width(p) - static_cast<Int>(text.length());
  bool sign = !text.empty() && (text.view()[0] == '+' || text.view()[0] == '-');
  if (pad <= 0) return text;
  TextBuilder out;
  if (sign) out.AddSub(text, 0, 1);
  out.AddRepeated("0", static_cast<size_t>(pad));
  out.AddSub(text, sign ? 1 : 0, text.bytes());
  return out.Take();
}

Value ExpandTabs(Interp&, const Value& self, Args args) {
  Params p("expandtabs", std::move(args), "tabsize=");
  Int size = std::min(p.Integer(0, 8), Int{1} << 40);
  Int column = 0;
  TextBuilder out;
  Self(self).ForEachChar([&](char32_t c, Origin origin) {
    if (c == '\t') {
      Int n = size > 0 ? size - column % size : 0;
      out.AddRepeated(Text(" ", origin), static_cast<size_t>(n));
      column += n;
      return;
    }
    column = c == '\n' || c == '\r' ? 0 : column + 1;
    out.AddChar(c, origin);
  });
  return out.Take();
}

template <bool suffix>
Value RemoveAffix(Interp&, const Value& self, Args args) {
  Params p("removeprefix", std::move(args), "/affix");
  const Text& text = Self(self);
  const Text& affix = NeedText(*p[0], "argument");
  size_t n = affix.bytes();
  if (suffix) {
    return text.view().ends_with(affix.view()) ? text.Sub(0, text.bytes() - n) : text;
  }
  return text.view().starts_with(affix.view()) ? text.Sub(n, text.bytes()) : text;
}

Value FormatMethod(Interp& interp, const Value& self, Args args) {
  auto keyword = std::make_shared<Dict>();
  for (auto& [name, value] : args.keyword) keyword->Set(Text(name, Origin::kTemplate), value);
  return BraceFormat(interp, Self(self), args.positional, DictPtr(std::move(keyword)));
}

Value FormatMapMethod(Interp& interp, const Value& self, Args args) {
  Params p("format_map", std::move(args), "/mapping");
  return BraceFormat(interp, Self(self), {}, *p[0]);
}

Value UnescapeMethod(Interp&, const Value& self, Args args) {
  Params p("unescape", std::move(args), "");
  return Unescape(Self(self));
}

Value StripTagsMethod(Interp&, const Value& self, Args args) {
  Params p("striptags", std::move(args), "");
  return StripTags(Self(self));
}

Value EscapeMethod(Interp& interp, const Value&, Args args) {
  Params p("escape", std::move(args), "s");
  return Escape(interp, *p[0]);
}

Value NotBytes(Interp&, const Value&, Args) {
  Raise(kUnsupported, "templates have no bytes and no translation tables");
}

Value SequenceCount(Interp&, const Value& self, Args args) {
  Params p("count", std::move(args), "/value");
  Int n = 0;
  auto it = Iterate(self);
  for (Value item; it->Next(item);) n += item.Is(*p[0]) || Equals(item, *p[0]);
  return n;
}

Value SequenceIndex(Interp&, const Value& self, Args args) {
  Params p("index", std::move(args), "/value,start=,stop=");
  size_t n = Length(self);
  size_t start = ClampIndex(p.Integer(1, 0), n);
  size_t stop = ClampIndex(p.Integer(2, static_cast<Int>(n)), n);
  std::vector<Value> items = ToVector(self);
  for (size_t i = start; i < stop; ++i) {
    if (items[i].Is(*p[0]) || Equals(items[i], *p[0])) return i;
  }
  Raise("ValueError", "the value is not in ", TypeName(self));
}

Value RangeIndex(Interp& interp, const Value& self, Args args) {
  Params p("range.index", std::move(args), "/value");
  return SequenceIndex(interp, self, {{*p[0]}, {}});
}

Value CopyMethod(Interp&, const Value& self, Args args) {
  Params p("copy", std::move(args), "");
  if (const Dict* dict = self.dict()) return DictPtr(std::make_shared<Dict>(dict->Copy()));
  return Value::List(*self.items());
}

Value DictGet(Interp&, const Value& self, Args args) {
  Params p("get", std::move(args), "/key,default=");
  const Value* found = self.dict()->Find(*p[0]);
  return found != nullptr ? *found : p.Or(1, None{});
}

template <View::Kind kind>
Value DictView(Interp&, const Value& self, Args args) {
  Params p("view", std::move(args), "");
  return View{kind, *self.get<DictPtr>()};
}

Value DictFromKeys(Interp&, const Value&, Args args) {
  Params p("fromkeys", std::move(args), "/iterable,value=");
  auto dict = std::make_shared<Dict>();
  auto it = Iterate(*p[0]);
  for (Value key; it->Next(key);) dict->Set(key, p.Or(1, None{}));
  return DictPtr(std::move(dict));
}

Value BitLength(Interp&, const Value& self, Args args) {
  Params p("bit_length", std::move(args), "");
  Int value = self.as_int();
  Int n = 0;
  for (auto m = static_cast<unsigned __int128>(value < 0 ? -value : value); m > 0; m >>= 1) ++n;
  return n;
}

Value FloatIsInteger(Interp&, const Value& self, Args args) {
  Params p("is_integer", std::move(args), "");
  return std::isfinite(*self.get<double>()) &&
         std::floor(*self.get<double>()) == *self.get<double>();
}

Value Conjugate(Interp&, const Value& self, Args args) {
  Params p("conjugate", std::move(args), "");
  return Positive(self);
}

struct MethodRow {
  std::string_view name;
  Method call;
  size_t inserts = SIZE_MAX;  // the argument that becomes part of the text: Markup escapes it
};

constexpr MethodRow kStrMethods[] = {
    {"capitalize", Mapped<Capitalize>},
    {"casefold", Mapped<Fold>},
    {"center", Justify<0>, 1},
    {"count", CountMethod},
    {"encode", NotBytes},
    {"endswith", StartsOrEnds<true>},
    {"expandtabs", ExpandTabs},
    {"find", Find<false, false>},
    {"format", FormatMethod},
    {"format_map", FormatMapMethod},
    {"index", Find<false, true>},
    {"isalnum", AllChars<IsAlnum>},
    {"isalpha", AllChars<IsAlpha>},
    {"isascii", IsAsciiMethod},
    {"isdecimal", AllChars<IsDecimal>},
    {"isdigit", AllChars<IsDigit>},
    {"isidentifier", IsIdentifierMethod},
    {"islower", CaseTest<true>},
    {"isnumeric", AllChars<IsNumeric>},
    {"isprintable", IsPrintableMethod},
    {"isspace", AllChars<IsSpace>},
    {"istitle", IsTitleMethod},
    {"isupper", CaseTest<false>},
    {"join", JoinMethod},
    {"ljust", Justify<-1>, 1},
    {"lower", Mapped<Lower>},
    {"lstrip", StripMethod<true, false>},
    {"maketrans", NotBytes},
    {"partition", PartitionMethod<false>},
    {"removeprefix", RemoveAffix<false>},
    {"removesuffix", RemoveAffix<true>},
    {"replace", ReplaceMethod, 1},
    {"rfind", Find<true, false>},
    {"rindex", Find<true, true>},
    {"rjust", Justify<1>, 1},
    {"rpartition", PartitionMethod<true>},
    {"rsplit", SplitMethod<true>},
    {"rstrip", StripMethod<false, true>},
    {"split", SplitMethod<false>},
    {"splitlines", SplitLinesMethod},
    {"startswith", StartsOrEnds<false>},
    {"strip", StripMethod<true, true>},
    {"swapcase", Mapped<SwapCase>},
    {"title", Mapped<Title>},
    {"translate", NotBytes},
    {"upper", Mapped<Upper>},
    {"zfill", ZFill},
};

// What only Markup has.
constexpr MethodRow kMarkupMethods[] = {
    {"escape", EscapeMethod}, {"striptags", StripTagsMethod}, {"unescape", UnescapeMethod}};

constexpr MethodRow kListMethods[] = {
    {"copy", CopyMethod}, {"count", SequenceCount}, {"index", SequenceIndex}};
constexpr MethodRow kTupleMethods[] = {{"count", SequenceCount}, {"index", SequenceIndex}};
constexpr MethodRow kRangeMethods[] = {{"count", SequenceCount}, {"index", RangeIndex}};
constexpr MethodRow kDictMethods[] = {
    {"copy", CopyMethod},
    {"fromkeys", DictFromKeys},
    {"get", DictGet},
    {"items", DictView<View::kItems>},
    {"keys", DictView<View::kKeys>},
    {"values", DictView<View::kValues>},
};
constexpr MethodRow kIntMethods[] = {{"bit_length", BitLength}, {"conjugate", Conjugate}};
constexpr MethodRow kFloatMethods[] = {{"is_integer", FloatIsInteger}, {"conjugate", Conjugate}};

template <size_t n>
std::optional<Value> Lookup(const MethodRow (&rows)[n], const Value& self, std::string_view name) {
  for (const MethodRow& row : rows) {
    if (row.name != name) continue;
    return MakeFunction(std::string(name), [self, call = row.call](Interp& interp, Args args) {
      return call(interp, self, std::move(args));
    });
  }
  return std::nullopt;
}

// A text, or the texts of a list or tuple, as Markup; anything else as it is.
Value AsMarkup(const Value& value) {
  if (auto* text = value.text()) return text->WithMarkup();
  if (value.items() == nullptr) return value;
  std::vector<Value> items;
  items.reserve(value.items()->size());
  for (const Value& item : *value.items()) items.push_back(AsMarkup(item));
  return value.is_list() ? Value::List(std::move(items)) : Value::Tuple(std::move(items));
}

// The methods of Markup are those of str, but escape what they insert and give Markup.
std::optional<Value> MarkupMethod(const Value& self, std::string_view name) {
  if (auto own = Lookup(kMarkupMethods, self, name)) return own;
  auto row = std::find_if(std::begin(kStrMethods), std::end(kStrMethods),
                          [&](const MethodRow& r) { return r.name == name; });
  if (row == std::end(kStrMethods)) return std::nullopt;
  return MakeFunction(std::string(name), [self, row](Interp& interp, Args args) {
    if (row->inserts < args.positional.size()) {
      Value& inserted = args.positional[row->inserts];
      inserted = Escape(interp, inserted);
    }
    return AsMarkup(row->call(interp, self, std::move(args)));
  });
}

std::optional<Value> NumberAttribute(const Value& value, std::string_view name) {
  if (name == "real") return Positive(value);
  if (name == "imag") return value.is_int() ? Value(0) : Value(0.0);
  if (value.is_int() && name == "numerator") return Positive(value);
  if (value.is_int() && name == "denominator") return Value(1);
  return std::nullopt;
}

constexpr std::string_view kListChanges[] = {"append", "clear", "pop",    "reverse",
                                             "insert", "sort",  "extend", "remove"};
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
// What every object has.
constexpr std::string_view kObjectAttributes[] = {
    "__class__",  "__delattr__",   "__dir__",         "__doc__",
    "__eq__",     "__format__",    "__ge__",          "__getattribute__",
    "__gt__",     "__hash__",      "__init__",        "__init_subclass__",
    "__le__",     "__lt__",        "__ne__",          "__new__",
    "__reduce__", "__reduce_ex__", "__repr__",        "__setattr__",
    "__sizeof__", "__str__",       "__subclasshook__"};
// What sized containers have besides.
constexpr std::string_view kContainerAttributes[] = {"__contains__", "__getitem__", "__iter__",
                                                     "__len__"};

template <size_t n>
bool IsOneOf(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

std::optional<Value> FindMethod(const Value& value, std::string_view name) {
  if (value.is_text()) {
    return value.text()->markup() ? MarkupMethod(value, name) : Lookup(kStrMethods, value, name);
  }
  if (value.is_dict()) return Lookup(kDictMethods, value, name);
  if (value.is_list()) return Lookup(kListMethods, value, name);
  if (auto* tuple = value.get<TuplePtr>()) {
    if (tuple->ptr->group && name == "grouper") return tuple->ptr->items[0];
    if (tuple->ptr->group && name == "list") return tuple->ptr->items[1];
    return Lookup(kTupleMethods, value, name);
  }
  if (auto* range = value.get<RangeValue>()) {
    if (name == "start") return Value(range->start);
    if (name == "stop") return Value(range->stop);
    if (name == "step") return Value(range->step);
    return Lookup(kRangeMethods, value, name);
  }
  if (value.is_number()) {
    if (auto attribute = NumberAttribute(value, name)) return attribute;
    return value.is_int() ? Lookup(kIntMethods, value, name) : Lookup(kFloatMethods, value, name);
  }
  return std::nullopt;
}

bool IsUnsafeAttribute(const Value& value, std::string_view name) {
  if (value.is_list() && IsOneOf(kListChanges, name)) return true;
  if (value.is_dict() && IsOneOf(kDictChanges, name)) return true;
  if (!name.starts_with("__")) return false;
  if (dynamic_cast<Namespace*>(value.object()) != nullptr) return name == "__class__";
  bool container = value.is_undefined() || value.is_text() || value.items() || value.is_dict() ||
                   value.get<RangeValue>();
  return IsOneOf(kObjectAttributes, name) || (container && IsOneOf(kContainerAttributes, name));
}

Text Upper(const Text& text) { return MapChars(text, AppendUpper); }

Text Lower(const Text& text) {
  if (text.view().find("\xCE\xA3") == std::string_view::npos) return MapChars(text, AppendLower);
  return MapIndexed(text, AppendLowerAt);
}

Text Capitalize(const Text& text) {
  return MapIndexed(text, [](const std::u32string& chars, size_t i, std::string& out) {
    if (i == 0) {
      AppendTitle(chars[i], out);
    } else {
      AppendLowerAt(chars, i, out);
    }
  });
}

Text Strip(const Text& text, const Value* chars, bool left, bool right) {
  bool spaces = chars == nullptr || chars->is_none();
  std::u32string set = spaces ? std::u32string() : CodePoints(NeedText(*chars, "strip arg"));
  auto strips = [&](char32_t c) { return spaces ? IsSpace(c) : InChars(c, set); };
  std::string_view view = text.view();
  size_t begin = 0;
  while (left && begin < view.size()) {
    size_t next = begin;
    if (!strips(DecodeUtf8(view, next))) break;
    begin = next;
  }
  size_t end = view.size();
  while (right && end > begin) {
    size_t start = end - 1;
    while (start > begin && (static_cast<unsigned char>(view[start]) & 0xC0) == 0x80) --start;
    size_t pos = start;
    if (!strips(DecodeUtf8(view, pos))) break;
    end = start;
  }
  return text.Sub(begin, end);
}

Text Replace(const Text& text, const Text& from, const Text& to, Int count) {
  TextBuilder out;
  size_t at = 0;
  std::string_view view = text.view();
  if (from.empty()) {  // between all characters, and at both ends
    while (count != 0) {
      out.Add(to);
      --count;
      if (at >= view.size()) return out.Take();
      size_t next = at;
      DecodeUtf8(view, next);
      out.AddSub(text, at, next);
      at = next;
    }
    out.AddSub(text, at, view.size());
    return out.Take();
  }
  for (; count != 0; --count) {
    size_t found = view.find(from.view(), at);
    if (found == view.npos) break;
    out.AddSub(text, at, found);
    out.Add(to);
    at = found + from.bytes();
  }
  if (at == 0) return text;
  out.AddSub(text, at, view.size());
  return out.Take();
}

Text Center(const Text& text, Int width, const Text& fill) {
  Int pad = width - static_cast<Int>(text.length());
  if (pad <= 0) return text;
  Int left = pad / 2 + (pad & width & 1);
  return Pad(text, left, pad - left, fill);
}

std::vector<Value> SplitLines(const Text& text, bool keep_ends) {
  std::vector<Value> lines;
  std::string_view view = text.view();
  for (size_t pos = 0; pos < view.size();) {
    size_t begin = pos, end = view.size();
    while (pos < view.size()) {
      size_t at = pos;
      char32_t c = DecodeUtf8(view, pos);
      if (!IsLineBreak(c)) continue;
      end = at;
      if (c == '\r' && pos < view.size() && view[pos] == '\n') ++pos;
      break;
    }
    lines.emplace_back(text.Sub(begin, keep_ends ? pos : end));
  }
  return lines;
}

namespace {

std::vector<Value> SplitWords(const Text& text, Int limit, bool from_right) {
  // Words first; what the limit leaves unsplit is glued back from the positions.
  std::vector<std::pair<size_t, size_t>> words;
  std::string_view view = text.view();
  for (size_t pos = 0; pos < view.size();) {
    size_t begin = pos;
    if (IsSpace(DecodeUtf8(view, pos))) continue;
    size_t end = pos;
    while (pos < view.size()) {
      size_t next = pos;
      if (IsSpace(DecodeUtf8(view, next))) break;
      end = pos = next;
    }
    words.emplace_back(begin, end);
  }
  std::vector<Value> out;
  size_t n = words.size();
  if (limit < 0 || static_cast<Int>(n) <= limit) limit = static_cast<Int>(n);
  auto cut = static_cast<size_t>(limit);
  if (cut >= n) {
    for (auto [b, e] : words) out.emplace_back(text.Sub(b, e));
  } else if (from_right) {
    size_t first = n - cut;  // words before it stay together, without leading space removed
    out.emplace_back(Strip(text.Sub(0, words[first - 1].second), nullptr, false, true));
    for (size_t i = first; i < n; ++i) out.emplace_back(text.Sub(words[i].first, words[i].second));
  } else {
    for (size_t i = 0; i < cut; ++i) out.emplace_back(text.Sub(words[i].first, words[i].second));
    out.emplace_back(text.Sub(words[cut].first, view.size()));
  }
  return out;
}

}  // namespace

std::vector<Value> Split(const Text& text, const Value& separator, Int limit, bool from_right) {
  if (Meter* meter = Meter::Current()) meter->Step(text.bytes() / 16);
  if (separator.is_none()) return SplitWords(text, limit, from_right);
  const Text& sep = NeedText(separator, "separator");
  if (sep.empty()) Raise("ValueError", "empty separator");
  std::vector<Value> out;
  std::string_view view = text.view();
  if (from_right) {
    size_t end = view.size();
    for (; limit != 0; --limit) {
      size_t at = end < sep.bytes() ? view.npos : view.rfind(sep.view(), end - sep.bytes());
      if (at == view.npos) break;
      out.emplace_back(text.Sub(at + sep.bytes(), end));
      end = at;
    }
    out.emplace_back(text.Sub(0, end));
    std::reverse(out.begin(), out.end());
    return out;
  }
  size_t begin = 0;
  for (; limit != 0; --limit) {
    size_t at = view.find(sep.view(), begin);
    if (at == view.npos) break;
    out.emplace_back(text.Sub(begin, at));
    begin = at + sep.bytes();
  }
  out.emplace_back(text.Sub(begin, view.size()));
  return out;
}

}  // namespace moxie::text::jinja
