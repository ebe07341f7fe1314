// str(x) and repr(x).
#include <charconv>
#include <cmath>

#include "text/jinja/ops.h"

namespace moxie::text::jinja {
namespace {

void AppendRepr(Interp& interp, const Value& value, TextBuilder& out);

void AppendItems(Interp& interp, const std::vector<Value>& items, TextBuilder& out) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.Add(", ", Origin::kData);
    AppendRepr(interp, items[i], out);
  }
}

void AppendDict(Interp& interp, const Dict& dict, TextBuilder& out) {
  out.Add("{", Origin::kData);
  bool first = true;
  for (const Dict::Item& item : dict.items()) {
    if (!first) out.Add(", ", Origin::kData);
    first = false;
    AppendRepr(interp, item.key, out);
    out.Add(": ", Origin::kData);
    AppendRepr(interp, item.value, out);
  }
  out.Add("}", Origin::kData);
}

void AppendContainer(Interp& interp, const Value& value, TextBuilder& out) {
  Meter::Nest nest(Meter::Current());
  if (value.is_list()) {
    out.Add("[", Origin::kData);
    AppendItems(interp, *value.items(), out);
    out.Add("]", Origin::kData);
  } else if (value.is_tuple()) {
    out.Add("(", Origin::kData);
    AppendItems(interp, *value.items(), out);
    out.Add(value.items()->size() == 1 ? ",)" : ")", Origin::kData);
  } else if (const Dict* dict = value.dict()) {
    AppendDict(interp, *dict, out);
  } else {
    out.Add(TypeName(value), Origin::kData);
    out.Add("([", Origin::kData);
    AppendItems(interp, ToVector(value), out);
    out.Add("])", Origin::kData);
  }
}

// What needs no recursion and no quotes: numbers, None and the like.
std::string ScalarRepr(const Value& value) {
  if (value.is_none()) return "None";
  if (auto* b = value.get<bool>()) return *b ? "True" : "False";
  if (auto* i = value.get<Int>()) return IntToString(*i);
  if (auto* d = value.get<double>()) return FloatRepr(*d);
  if (auto* r = value.get<RangeValue>()) {
    std::string out = "range(" + IntToString(r->start) + ", " + IntToString(r->stop);
    return out + (r->step == 1 ? ")" : ", " + IntToString(r->step) + ")");
  }
  return value.is_undefined() ? "Undefined" : "<generator object>";
}

void AppendRepr(Interp& interp, const Value& value, TextBuilder& out) {
  if (Meter* meter = Meter::Current()) meter->Step();
  if (auto* text = value.text()) {
    if (text->markup()) out.Add("Markup(", Origin::kData);
    AppendTextRepr(*text, out);
    if (text->markup()) out.Add(")", Origin::kData);
  } else if (value.items() || value.dict() || value.get<View>()) {
    AppendContainer(interp, value, out);
  } else if (Object* object = value.object()) {
    out.Add(object->Repr(interp));
  } else {
    out.Add(ScalarRepr(value), Origin::kTemplate);
  }
}

void AppendHex(char32_t c, std::string& out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  int width = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
  out += c < 0x100 ? "\\x" : c < 0x10000 ? "\\u" : "\\U";
  for (int shift = 4 * (width - 1); shift >= 0; shift -= 4) out += kDigits[c >> shift & 15];
}

}  // namespace

void AppendTextRepr(const Text& text, TextBuilder& out) {
  std::string_view view = text.view();
  bool double_quotes = view.find('\'') != view.npos && view.find('"') == view.npos;
  char quote = double_quotes ? '"' : '\'';
  out.Add(std::string_view(&quote, 1), Origin::kData);
  text.ForEachRun([&](std::string_view part, Origin origin) {
    std::string escaped;
    for (size_t pos = 0; pos < part.size();) {
      size_t start = pos;
      char32_t c = DecodeUtf8(part, pos);
      if (c == static_cast<char32_t>(quote) || c == '\\') {
        escaped += '\\';
        escaped += static_cast<char>(c);
      } else if (c == '\n' || c == '\r' || c == '\t') {
        escaped += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
      } else if (IsPrintable(c)) {
        escaped += part.substr(start, pos - start);
      } else {
        AppendHex(c, escaped);
      }
    }
    out.Add(escaped, origin);
  });
  out.Add(std::string_view(&quote, 1), Origin::kData);
}

// Shortest digits that read back equal; exponent form below 1e-4 and from 1e16 on.
std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  auto [end, ec] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  size_t e = text.find('e');
  int exponent = std::stoi(std::string(text.substr(e + 1)));
  std::string sign = text[0] == '-' ? "-" : "";
  std::string digits;
  for (char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  if (exponent < -4 || exponent >= 16) {
    std::string out = sign + digits.substr(0, 1);
    if (digits.size() > 1) out += "." + digits.substr(1);
    std::string power = std::to_string(std::abs(exponent));
    return out + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0) {
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

Text Repr(Interp& interp, const Value& value) {
  TextBuilder out;
  AppendRepr(interp, value, out);
  return out.Take();
}

Text Str(Interp& interp, const Value& value) { return SoftStr(interp, value).WithMarkup(false); }

Text SoftStr(Interp& interp, const Value& value) {
  if (auto* text = value.text()) return *text;
  if (value.is_undefined()) return Text();
  return Repr(interp, value);
}

}  // namespace moxie::text::jinja
