#include "text/jinja/format.h"

#include <algorithm>
#include <cmath>

#include "text/jinja/interp.h"
#include "text/jinja/markup.h"
#include "text/jinja/number.h"

namespace moxie::text::jinja {
namespace {

constexpr Int kMaxWidth = Int{1} << 31;  // beyond any text's limit
constexpr int kMaxPrecision = 1000;

// %a, !a: repr with everything beyond ASCII escaped.
Text Ascii(Interp& interp, const Value& value) {
  TextBuilder out;
  Repr(interp, value).ForEachChar([&](char32_t c, Origin origin) {
    if (c < 0x80) return out.AddChar(c, origin);
    char buffer[16];
    const char* format = c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x";
    snprintf(buffer, sizeof buffer, format, static_cast<unsigned>(c));
    out.Add(buffer, origin);
  });
  return out.Take();
}

std::string Digits(Int value, int base, bool upper) {
  const char* digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  auto m = static_cast<unsigned __int128>(value);
  if (value < 0) m = -m;
  std::string out;
  do {
    auto digit = static_cast<size_t>(m % static_cast<unsigned>(base));
    out += digits[digit];
    m /= static_cast<unsigned>(base);
  } while (m > 0);
  std::reverse(out.begin(), out.end());
  return out;
}

// printf of |value| by one of e E f F g G; names for what is not finite.
std::string FloatDigits(double value, char type, int precision, bool alternate) {
  bool upper = type >= 'A' && type <= 'Z';
  if (std::isnan(value)) return upper ? "NAN" : "nan";
  if (std::isinf(value)) return upper ? "INF" : "inf";
  if (precision > kMaxPrecision) Raise(kLimit, "a format precision over ", kMaxPrecision);
  std::string format = alternate ? "%#.*" : "%.*";
  format += type;
  std::string out(static_cast<size_t>(precision) + 400, '\0');
  int n = snprintf(out.data(), out.size(), format.c_str(), precision, std::abs(value));
  out.resize(static_cast<size_t>(n));
  return out;
}

// The parts of a formatted number, and how to lay them out.
struct Layout {
  char32_t fill = ' ';
  Origin fill_origin = Origin::kTemplate;
  char align = 0;  // '<', '>', '^', '=' or 0: the type's own
  Int width = 0;
};

size_t PadCount(const Layout& layout, size_t length) {
  Int pad = layout.width - static_cast<Int>(length);
  return pad > 0 ? static_cast<size_t>(pad) : 0;
}

Text LayOut(const Layout& layout, char default_align, const Text& prefix, const Text& body) {
  size_t pad = PadCount(layout, prefix.length() + body.length());
  char align = layout.align != 0 ? layout.align : default_align;
  size_t left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
  size_t middle = align == '=' ? pad : 0;
  TextBuilder fill;
  fill.AddChar(layout.fill, layout.fill_origin);
  Text f = fill.Take();
  TextBuilder out;
  out.AddRepeated(f, left);
  out.Add(prefix);
  out.AddRepeated(f, middle);
  out.Add(body);
  out.AddRepeated(f, pad - left - middle);
  return out.Take();
}

// --- "%..." % value

class Percent {
 public:
  // A format that is Markup escapes what it takes in.
  Percent(Interp& interp, const Text& format, const Value& value)
      : interp_(interp),
        format_(format),
        view_(format.view()),
        escapes_(format.markup()),
        values_(value) {
    if (value.is_tuple()) {
      count_ = static_cast<Int>(value.items()->size());
      next_ = 0;
    } else {
      count_ = -1;
      next_ = -2;
      mapping_ = !value.is_text() && (value.is_dict() || value.is_list() || value.is_undefined() ||
                                      value.get<RangeValue>() != nullptr);
    }
    if (mapping_) dict_ = value;
  }

  Text Run() {
    while (at_ < view_.size()) {
      size_t percent = std::min(view_.find('%', at_), view_.size());
      out_.AddSub(format_, at_, percent);
      at_ = percent;
      if (at_ < view_.size()) Directive();
    }
    if (next_ < count_ && !mapping_) {
      Raise("TypeError", "not all arguments converted during string formatting");
    }
    return out_.Take().WithMarkup(escapes_);
  }

 private:
  struct Spec {
    bool left = false, plus = false, space = false, alternate = false, zero = false;
    Int width = 0;
    Int precision = -1;
    char type = 0;
  };

  [[noreturn]] void FailIncomplete() { Raise("ValueError", "incomplete format"); }
  char Peek() {
    if (at_ >= view_.size()) FailIncomplete();
    return view_[at_];
  }

  Value NextValue() {
    if (next_ < count_) {
      ++next_;
      if (count_ < 0) return values_;
      return (*values_.items())[static_cast<size_t>(next_ - 1)];
    }
    Raise("TypeError", "not enough arguments for format string");
  }

  void Key() {
    if (!mapping_) Raise("TypeError", "format requires a mapping");
    size_t begin = ++at_;
    int depth = 1;
    for (; at_ < view_.size(); ++at_) {
      depth += view_[at_] == '(' ? 1 : view_[at_] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    if (at_ >= view_.size()) Raise("ValueError", "incomplete format key");
    Value key(format_.Sub(begin, at_++));
    auto found = TrySubscript(dict_, key);
    if (!found) Raise(dict_.is_dict() ? "KeyError" : "TypeError", Repr(interp_, key).view());
    values_ = *found;
    count_ = -1;
    next_ = -2;
  }

  Int Number(Int limit) {
    if (Peek() == '*') {
      ++at_;
      Value value = NextValue();
      if (!value.is_int() || escapes_) Raise("TypeError", "* wants int");
      return std::clamp(value.as_int(), -limit, limit);
    }
    Int n = 0;
    while (at_ < view_.size() && view_[at_] >= '0' && view_[at_] <= '9') {
      n = std::min(n * 10 + (view_[at_++] - '0'), limit);
    }
    return n;
  }

  Spec ParseSpec() {
    Spec spec;
    ++at_;
    if (Peek() == '(') Key();
    for (;; ++at_) {
      char c = Peek();
      if (c == '-') {
        spec.left = true;
      } else if (c == '+') {
        spec.plus = true;
      } else if (c == ' ') {
        spec.space = true;
      } else if (c == '#') {
        spec.alternate = true;
      } else if (c == '0') {
        spec.zero = true;
      } else {
        break;
      }
    }
    spec.width = Number(kMaxWidth);
    if (spec.width < 0) {
      spec.left = true;
      spec.width = -spec.width;
    }
    if (Peek() == '.') {
      ++at_;
      spec.precision = std::max(Number(kMaxWidth), Int{0});
    }
    if (Peek() == 'h' || Peek() == 'l' || Peek() == 'L') ++at_;
    spec.type = Peek();
    ++at_;
    return spec;
  }

  void Directive() {
    Origin origin = format_.OriginAt(at_);
    if (view_.substr(at_).starts_with("%%")) {
      at_ += 2;
      return out_.Add("%", origin);
    }
    Spec spec = ParseSpec();
    static constexpr std::string_view kTypes = "srdiuoxXeEfFgGca";
    // Python reads the argument before it looks at the type.
    Value value = NextValue();
    if (kTypes.find(spec.type) == kTypes.npos) {
      Raise("ValueError", "unsupported format character '", spec.type, "'");
    }
    Layout layout;
    layout.width = spec.width;
    if (spec.left) layout.align = '<';
    if (spec.type == 's' || spec.type == 'r' || spec.type == 'a') {
      Text text = spec.type == 's'   ? Str(interp_, value)
                  : spec.type == 'r' ? Repr(interp_, value)
                                     : Ascii(interp_, value);
      if (escapes_) {
        const bool safe = spec.type == 's' && value.is_text() && value.text()->markup();
        if (!safe) text = EscapeHtml(text);
      }
      if (spec.precision >= 0 && spec.precision < static_cast<Int>(text.length())) {
        text = text.Slice(0, static_cast<size_t>(spec.precision));
      }
      return out_.Add(LayOut(layout, '>', Text(), text));
    }
    if (spec.type == 'c') return out_.Add(LayOut(layout, '>', Text(), Character(value)));
    std::string body, prefix;
    bool negative = false;
    if (std::string_view("eEfFgG").find(spec.type) != std::string_view::npos) {
      double d = Float(value);
      negative = std::signbit(d) && !std::isnan(d);
      auto precision = static_cast<int>(spec.precision < 0 ? Int{6} : spec.precision);
      body = FloatDigits(d, spec.type, precision, spec.alternate);
    } else {
      body = Integer(spec, value, prefix, negative);
    }
    std::string sign = negative ? "-" : spec.plus ? "+" : spec.space ? " " : "";
    if (spec.zero && !spec.left) {
      layout.fill = '0';
      layout.align = '=';
    }
    out_.Add(
        LayOut(layout, '>', Text(sign + prefix, Origin::kTemplate), Text(body, Origin::kTemplate)));
  }

  Text Character(const Value& value) {
    if (escapes_) Raise("TypeError", "%c requires int or char");
    if (auto* text = value.text(); text != nullptr && text->length() == 1) return *text;
    if (!value.is_int()) Raise("TypeError", "%c requires int or char");
    Int c = value.as_int();
    if (c < 0 || c > 0x10FFFF) Raise("OverflowError", "%c arg not in range(0x110000)");
    if (c >= 0xD800 && c < 0xE000) Raise(kUnsupported, "a lone surrogate");
    std::string out;
    AppendUtf8(static_cast<char32_t>(c), out);
    return Text(out, Origin::kData);
  }

  // Markup's arguments are wrapped in what knows int() and float(), which read texts too.
  double Float(const Value& value) {
    if (auto* undefined = value.undefined()) throw Error{undefined->error, undefined->message};
    if (auto* text = value.text(); text != nullptr && escapes_) {
      if (auto number = ParseFloat(text->view())) return *number;
      Raise("ValueError", "could not convert string to float");
    }
    if (!value.is_number()) Raise("TypeError", "must be real number, not ", TypeName(value));
    return ToDouble(value);
  }

  std::string Integer(const Spec& spec, const Value& value, std::string& prefix, bool& negative) {
    bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    Int i = 0;
    if (value.is_int() && (decimal || !escapes_)) {
      i = value.as_int();
    } else if (auto* text = value.text(); text != nullptr && escapes_ && decimal) {
      auto number = ParseInt(text->view(), 10);
      if (!number) Raise("ValueError", "invalid literal for int() with base 10");
      i = *number;
    } else if (decimal && value.is_float()) {
      double d = *value.get<double>();
      if (std::isnan(d)) Raise("ValueError", "cannot convert float NaN to integer");
      if (std::isinf(d)) Raise("OverflowError", "cannot convert float infinity to integer");
      if (std::abs(d) > 1.7e38) Raise(kLimit, "an integer of the template needs over 127 bits");
      i = static_cast<Int>(d);
    } else {
      if (auto* undefined = value.undefined(); undefined != nullptr && decimal) {
        throw Error{undefined->error, undefined->message};
      }
      Raise("TypeError", "%", spec.type, " format: ", decimal ? "a real number" : "an integer",
            " is required, not ", TypeName(value));
    }
    negative = i < 0;
    int base = spec.type == 'o' ? 8 : decimal ? 10 : 16;
    std::string digits = Digits(i, base, spec.type == 'X');
    if (spec.precision > static_cast<Int>(digits.size())) {
      if (spec.precision > kMaxPrecision) Raise(kLimit, "a format precision over ", kMaxPrecision);
      digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
    }
    if (spec.alternate && !decimal) prefix = std::string("0") + spec.type;
    return digits;
  }

  Interp& interp_;
  const Text format_;
  std::string_view view_;
  const bool escapes_;
  Value values_, dict_;
  Int count_, next_;  // as CPython's arglen and argidx
  bool mapping_ = false;
  size_t at_ = 0;
  TextBuilder out_;
};

// --- format specs

struct FormatSpec {
  Layout layout;
  char sign = '-';
  bool alternate = false;
  char grouping = 0;
  Int precision = -1;
  char type = 0;
};

bool IsAlign(char32_t c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

Int SpecNumber(std::string_view s, size_t& at) {
  Int n = 0;
  for (; at < s.size() && s[at] >= '0' && s[at] <= '9'; ++at) {
    n = n * 10 + (s[at] - '0');
    if (n > (Int{1} << 62)) Raise("ValueError", "Too many decimal digits in format string");
  }
  return n;
}

FormatSpec ParseFormatSpec(const Text& text) {
  FormatSpec spec;
  std::string_view s = text.view();
  size_t at = 0;
  size_t after_first = 0;
  char32_t first = s.empty() ? 0 : DecodeUtf8(s, after_first);
  if (!s.empty() && after_first < s.size() && IsAlign(static_cast<unsigned char>(s[after_first]))) {
    spec.layout.fill = first;
    spec.layout.fill_origin = text.OriginAt(0);
    spec.layout.align = s[after_first];
    at = after_first + 1;
  } else if (IsAlign(first)) {
    spec.layout.align = s[0];
    at = 1;
  }
  auto take = [&](std::string_view any) { return at < s.size() && any.find(s[at]) != any.npos; };
  if (take("+- ")) spec.sign = s[at++];
  if (take("#")) spec.alternate = (++at, true);
  if (take("0")) {
    ++at;
    if (spec.layout.align == 0) {
      spec.layout.fill = '0';
      spec.layout.align = '=';
    }
  }
  spec.layout.width = SpecNumber(s, at);
  if (take(",_")) spec.grouping = s[at++];
  if (take(".")) {
    size_t begin = ++at;
    spec.precision = SpecNumber(s, at);
    if (at == begin) Raise("ValueError", "Format specifier missing precision");
  }
  if (at < s.size()) spec.type = s[at++];
  if (at < s.size()) Raise("ValueError", "Invalid format specifier");
  return spec;
}

[[noreturn]] void FailType(char type, const Value& value) {
  Raise("ValueError", "Unknown format code '", type, "' for object of type '", TypeName(value),
        "'");
}

// Puts `mark` between groups of `size` digits, counted from the right, in the leading digits of
// body; zero padding grows in groups too.
std::string Group(std::string body, char mark, size_t size, const Layout& layout, size_t prefix) {
  size_t end = 0;
  while (end < body.size() && isxdigit(static_cast<unsigned char>(body[end])) && body[end] != '.' &&
         !(size == 3 && !isdigit(static_cast<unsigned char>(body[end])))) {
    ++end;
  }
  std::string digits = body.substr(0, end), rest = body.substr(end);
  auto grouped = [&](const std::string& d) {
    std::string out;
    for (size_t i = 0; i < d.size(); ++i) {
      if (i > 0 && (d.size() - i) % size == 0) out += mark;
      out += d[i];
    }
    return out;
  };
  if (layout.fill == '0' && layout.align == '=' && layout.width > 0) {
    if (layout.width > 4096) Raise(kLimit, "a grouped number wider than 4096");
    while (static_cast<Int>(grouped(digits).size() + rest.size() + prefix) < layout.width) {
      digits.insert(0, 1, '0');
    }
  }
  return grouped(digits) + rest;
}

Text NumberText(const FormatSpec& spec, bool negative, std::string prefix, std::string body,
                size_t group) {
  std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.grouping != 0) {
    body = Group(body, spec.grouping, group, spec.layout, sign.size() + prefix.size());
  }
  return LayOut(spec.layout, '>', Text(sign + prefix, Origin::kTemplate),
                Text(body, Origin::kTemplate));
}

// General format that keeps ".0" and turns to exponents one digit earlier: a float without a type.
std::string BareFloat(double value, int precision, bool alternate) {
  if (!std::isfinite(value)) return FloatDigits(value, 'g', 0, false);
  if (precision < 0) return FloatRepr(std::abs(value));
  if (precision == 0) precision = 1;
  std::string e = FloatDigits(value, 'e', precision - 1, false);
  int exponent = std::stoi(e.substr(e.find('e') + 1));
  std::string general = FloatDigits(value, 'g', precision, alternate);
  if (exponent + 1 > precision - 1 || exponent < -4) {
    if (general.find('e') == general.npos) {
      std::string mantissa = e.substr(0, e.find('e'));
      while (!alternate && mantissa.find('.') != mantissa.npos && mantissa.back() == '0') {
        mantissa.pop_back();
      }
      if (!alternate && mantissa.back() == '.') mantissa.pop_back();
      return mantissa + e.substr(e.find('e'));
    }
    return general;
  }
  return general.find('.') == general.npos ? general + ".0" : general;
}

Text FormatFloat(const FormatSpec& spec, double value, const Value& original) {
  bool negative = std::signbit(value) && !std::isnan(value);
  auto precision = static_cast<int>(std::min(spec.precision, Int{kMaxPrecision} + 1));
  std::string body;
  if (spec.type == 0) {
    body = BareFloat(value, precision, spec.alternate);
  } else if (std::string_view("eEfFgGn%").find(spec.type) != std::string_view::npos) {
    char type = spec.type == '%' ? 'f' : spec.type == 'n' ? 'g' : spec.type;
    if (precision < 0) precision = 6;
    body = FloatDigits(spec.type == '%' ? value * 100 : value, type, precision, spec.alternate);
    if (spec.type == '%') body += '%';
  } else {
    FailType(spec.type, original);
  }
  return NumberText(spec, negative, "", body, 3);
}

Text FormatInt(const FormatSpec& spec, const Value& value) {
  static constexpr std::string_view kTypes = "bcdoxXn";
  if (std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos && spec.type != 0) {
    return FormatFloat(spec, ToDouble(value), value);
  }
  if (spec.type != 0 && kTypes.find(spec.type) == kTypes.npos) FailType(spec.type, value);
  if (spec.precision >= 0) Raise("ValueError", "Precision not allowed in integer format specifier");
  Int i = value.as_int();
  if (spec.type == 'c') {
    if (i < 0 || i > 0x10FFFF) Raise("OverflowError", "%c arg not in range(0x110000)");
    if (i >= 0xD800 && i < 0xE000) Raise(kUnsupported, "a lone surrogate");
    std::string c;
    AppendUtf8(static_cast<char32_t>(i), c);
    return LayOut(spec.layout, '<', Text(), Text(c, Origin::kData));
  }
  int base = spec.type == 'b'                       ? 2
             : spec.type == 'o'                     ? 8
             : spec.type == 'x' || spec.type == 'X' ? 16
                                                    : 10;
  if (spec.grouping == ',' && base != 10) {
    Raise("ValueError", "Cannot specify ',' with '", spec.type, "'.");
  }
  std::string prefix;
  if (spec.alternate && base != 10) prefix = std::string("0") + spec.type;
  return NumberText(spec, i < 0, prefix, Digits(i, base, spec.type == 'X'), base == 10 ? 3 : 4);
}

Text FormatText(const FormatSpec& spec, const Text& text) {
  if (spec.type != 0 && spec.type != 's') FailType(spec.type, Value(text));
  if (spec.sign != '-' || spec.alternate) {
    Raise("ValueError", "Sign or alternate form not allowed in string format specifier");
  }
  if (spec.layout.align == '=') {
    if (spec.layout.fill != '0') {
      Raise("ValueError", "'=' alignment not allowed in string format specifier");
    }
  }
  if (spec.grouping != 0) Raise("ValueError", "Cannot specify '", spec.grouping, "' with 's'.");
  FormatSpec own = spec;
  if (own.layout.align == '=') own.layout.align = '<';
  Text body = text;
  if (spec.precision >= 0 && spec.precision < static_cast<Int>(text.length())) {
    body = text.Slice(0, static_cast<size_t>(spec.precision));
  }
  return LayOut(own.layout, '<', Text(), body);
}

// --- "{...}".format(...)

class Brace {
 public:
  Brace(Interp& interp, bool escapes, const std::vector<Value>& positional, const Value& named)
      : interp_(interp), escapes_(escapes), positional_(positional), named_(named) {}

  Text Run(const Text& format, int depth) {
    if (depth < 0) Raise("ValueError", "Max string recursion exceeded");
    TextBuilder out;
    std::string_view s = format.view();
    for (size_t at = 0; at < s.size();) {
      size_t brace = std::min(s.find_first_of("{}", at), s.size());
      out.AddSub(format, at, brace);
      if (brace == s.size()) break;
      if (brace + 1 < s.size() && s[brace + 1] == s[brace]) {
        out.AddSub(format, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (s[brace] == '}') Raise("ValueError", "Single '}' encountered in format string");
      at = Field(format, brace + 1, depth, out);
    }
    return out.Take();
  }

 private:
  // A replacement field from behind its brace; returns the offset behind its end.
  size_t Field(const Text& format, size_t begin, int depth, TextBuilder& out) {
    std::string_view s = format.view();
    size_t end = begin;
    int nested = 1;
    for (; end < s.size(); ++end) {
      nested += s[end] == '{' ? 1 : s[end] == '}' ? -1 : 0;
      if (nested == 0) break;
    }
    if (begin >= s.size()) Raise("ValueError", "Single '{' encountered in format string");
    if (nested > 0) Raise("ValueError", "expected '}' before end of string");
    size_t name_end = begin;
    bool bracket = false;
    for (; name_end < end; ++name_end) {
      char c = s[name_end];
      if (c == '{') Raise("ValueError", "unexpected '{' in field name");
      if (c == '[') bracket = true;
      if (c == ']') bracket = false;
      if (!bracket && (c == '!' || c == ':')) break;
    }
    Value value = Lookup(s.substr(begin, name_end - begin));
    size_t at = name_end;
    if (at < end && s[at] == '!') {
      if (at + 1 >= end)
        Raise("ValueError", "end of string while looking for conversion specifier");
      value = Convert(value, s[at + 1]);
      at += 2;
      if (at < end && s[at] != ':') Raise("ValueError", "expected ':' after conversion specifier");
    }
    Text spec = at < end ? format.Sub(at + 1, end) : Text();
    if (spec.view().find_first_of("{}") != std::string_view::npos) spec = Run(spec, depth - 1);
    out.Add(escapes_ ? FormatEscaped(value, spec) : FormatValue(interp_, value, spec));
    return end + 1;
  }

  Text FormatEscaped(const Value& value, const Text& spec) {
    if (!value.is_text() || !value.text()->markup()) {
      return EscapeHtml(FormatValue(interp_, value, spec));
    }
    if (!spec.empty()) Raise("ValueError", "Unsupported format specification for Markup.");
    return *value.text();
  }

  Value Convert(const Value& value, char how) {
    if (how == 's') return Str(interp_, value);
    if (how == 'r') return Repr(interp_, value);
    if (how == 'a') return Ascii(interp_, value);
    Raise("ValueError", "Unknown conversion specifier ", how);
  }

  static bool AllDigits(std::string_view s) {
    return !s.empty() && s.find_first_not_of("0123456789") == s.npos;
  }

  Value First(std::string_view name) {
    if (name.empty()) {
      if (manual_) {
        Raise("ValueError",
              "cannot switch from manual field specification to automatic field "
              "numbering");
      }
      automatic_ = true;
      return Positional(next_++);
    }
    if (AllDigits(name)) {
      if (automatic_) {
        Raise("ValueError",
              "cannot switch from automatic field numbering to manual field specification");
      }
      manual_ = true;
      auto index = ParseInt(name, 10);
      return Positional(index ? *index : Int{-1});
    }
    return Named(name);
  }

  Value Named(std::string_view name) {
    if (named_.is_undefined()) FailUndefined(named_);
    const Dict* dict = named_.dict();
    if (dict == nullptr) Raise("TypeError", "'", TypeName(named_), "' object has no named items");
    const Value* found = dict->Find(name);
    if (found == nullptr) Raise("KeyError", "'", name, "'");
    return *found;
  }

  Value Positional(Int index) {
    if (index < 0 || index >= static_cast<Int>(positional_.size())) {
      Raise("IndexError", "Replacement index ", static_cast<long long>(index),
            " out of range for positional args tuple");
    }
    return positional_[static_cast<size_t>(index)];
  }

  Value Lookup(std::string_view name) {
    size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = First(name.substr(0, end));
    while (end < name.size()) {
      if (name[end] == '.') {
        size_t stop = std::min(name.find_first_of(".[", end + 1), name.size());
        if (stop == end + 1) Raise("ValueError", "Empty attribute in format string");
        value = interp_.GetAttribute(value, name.substr(end + 1, stop - end - 1));
        end = stop;
        continue;
      }
      if (name[end] != '[') {
        Raise("ValueError", "Only '.' or '[' may follow ']' in format field specifier");
      }
      size_t stop = name.find(']', end);
      if (stop == name.npos) Raise("ValueError", "Missing ']' in format string");
      std::string_view key = name.substr(end + 1, stop - end - 1);
      if (key.empty()) Raise("ValueError", "Empty attribute in format string");
      Value index = AllDigits(key) ? Value(*ParseInt(key, 10))
                                   : Value(Text(std::string(key), Origin::kTemplate));
      value = interp_.GetItem(value, index);
      end = stop + 1;
    }
    return value;
  }

  Interp& interp_;
  const bool escapes_;
  const std::vector<Value>& positional_;
  const Value& named_;
  Int next_ = 0;
  bool automatic_ = false, manual_ = false;
};

}  // namespace

Text PercentFormat(Interp& interp, const Text& format, const Value& value) {
  return Percent(interp, format, value).Run();
}

Text BraceFormat(Interp& interp, const Text& format, const std::vector<Value>& positional,
                 const Value& named) {
  return Brace(interp, format.markup(), positional, named)
      .Run(format, 2)
      .WithMarkup(format.markup());
}

Text FormatValue(Interp& interp, const Value& value, const Text& spec) {
  if (spec.empty()) return Str(interp, value);
  if (!value.is_text() && !value.is_number()) {
    Raise("TypeError", "unsupported format string passed to ", TypeName(value), ".__format__");
  }
  FormatSpec parsed = ParseFormatSpec(spec);
  if (auto* text = value.text()) return FormatText(parsed, *text);
  if (value.is_float()) return FormatFloat(parsed, *value.get<double>(), value);
  return FormatInt(parsed, value);
}

}  // namespace moxie::text::jinja
