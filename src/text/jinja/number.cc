#include "text/jinja/number.h"

#include <cmath>
#include <cstdlib>

namespace moxie::text::jinja {
namespace {

// Strips whitespace, turns decimal digits of any script into ASCII; nothing when other non-ASCII
// stays.
std::optional<std::string> AsciiNumber(std::string_view text) {
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    char32_t c = DecodeUtf8(text, pos);
    if (IsSpace(c)) {
      out += ' ';
    } else if (int digit = DecimalValue(c); digit >= 0) {
      out += static_cast<char>('0' + digit);
    } else if (c < 0x80) {
      out += static_cast<char>(c);
    } else {
      return std::nullopt;
    }
  }
  size_t begin = out.find_first_not_of(' ');
  if (begin == out.npos) return std::nullopt;
  out = out.substr(begin, out.find_last_not_of(' ') - begin + 1);
  if (out.find(' ') != out.npos) return std::nullopt;
  return out;
}

// Underscores may stand between two digits only; they are removed.
bool RemoveUnderscores(std::string& s, bool after_prefix) {
  char before = after_prefix ? '0' : '_';
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '_') {
      bool next = i + 1 < s.size() && isalnum(static_cast<unsigned char>(s[i + 1]));
      if (!isalnum(static_cast<unsigned char>(before)) || !next) return false;
    } else {
      out += s[i];
    }
    before = s[i];
  }
  s = std::move(out);
  return true;
}

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

// Removes 0x / 0o / 0b where the base asks for it, and sets the base for 0.
bool TakePrefix(std::string_view& digits, int& base) {
  int named = 0;
  if (digits.size() > 1 && digits[0] == '0') {
    char c = static_cast<char>(digits[1] | 0x20);
    named = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
  }
  if (named != 0 && (base == 0 || base == named)) {
    base = named;
    digits.remove_prefix(2);
    return true;
  }
  if (base == 0) {
    // A leading zero is allowed for zero alone.
    if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of("0_") != digits.npos) {
      base = -1;
    } else {
      base = 10;
    }
  }
  return false;
}

}  // namespace

std::optional<Int> ParseInt(std::string_view text, int base) {
  auto ascii = AsciiNumber(text);
  if (!ascii) return std::nullopt;
  std::string_view digits = *ascii;
  bool negative = digits[0] == '-';
  if (digits[0] == '-' || digits[0] == '+') digits.remove_prefix(1);
  bool prefixed = TakePrefix(digits, base);
  if (base < 2) return std::nullopt;
  std::string clean(digits);
  if (!RemoveUnderscores(clean, prefixed) || clean.empty()) return std::nullopt;
  for (char c : clean) {
    if (DigitValue(c) >= base) return std::nullopt;
  }
  Int value = 0;
  for (char c : clean) {
    if (__builtin_mul_overflow(value, Int{base}, &value) ||
        __builtin_add_overflow(value, Int{DigitValue(c)}, &value)) {
      Raise(kLimit, "an integer of the template needs over 127 bits");
    }
  }
  return negative ? -value : value;
}

std::optional<double> ParseFloat(std::string_view text) {
  auto ascii = AsciiNumber(text);
  if (!ascii) return std::nullopt;
  std::string clean = *ascii;
  // Underscores between digits only, exponent's included.
  for (size_t i = 0; i < clean.size(); ++i) {
    if (clean[i] != '_') continue;
    bool before = i > 0 && isdigit(static_cast<unsigned char>(clean[i - 1]));
    bool after = i + 1 < clean.size() && isdigit(static_cast<unsigned char>(clean[i + 1]));
    if (!before || !after) return std::nullopt;
  }
  std::erase(clean, '_');
  std::string lower;
  for (char c : clean) lower += static_cast<char>(tolower(static_cast<unsigned char>(c)));
  std::string_view name = lower;
  if (name[0] == '-' || name[0] == '+') name.remove_prefix(1);
  bool special = name == "inf" || name == "infinity" || name == "nan";
  // strtod would take hexadecimal and "nan(...)" too.
  if (!special && lower.find_first_not_of("0123456789.e+-") != lower.npos) return std::nullopt;
  char* end = nullptr;
  double value = std::strtod(clean.c_str(), &end);
  if (end != clean.c_str() + clean.size()) return std::nullopt;
  return value;
}

double RoundFloat(double value, Int digits) {
  if (!std::isfinite(value) || value == 0 || digits > 330) return value;
  if (digits < -310) return std::copysign(0.0, value);
  char buffer[1500];
  if (digits >= 0) {
    // printf rounds the exact value, half to even.
    snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), value);
    return std::strtod(buffer, nullptr);
  }
  // All digits of the exact value; 1074 of them at most follow the point.
  snprintf(buffer, sizeof buffer, "%.1074f", std::abs(value));
  std::string exact = buffer;
  size_t point = exact.find('.');
  auto drop = static_cast<size_t>(-digits);
  if (drop > point) return std::copysign(0.0, value);
  size_t keep = point - drop;
  std::string kept = "0" + exact.substr(0, keep);
  std::string rest = exact.substr(keep, drop) + exact.substr(point + 1);
  bool above_half =
      rest[0] > '5' || (rest[0] == '5' && rest.find_first_not_of('0', 1) != rest.npos);
  bool half = rest[0] == '5' && !above_half;
  if (above_half || (half && (kept.back() - '0') % 2 == 1)) {
    size_t i = kept.size() - 1;
    while (kept[i] == '9') kept[i--] = '0';
    ++kept[i];
  }
  kept += std::string(drop, '0');
  return std::copysign(std::strtod(kept.c_str(), nullptr), value);
}

}  // namespace moxie::text::jinja
