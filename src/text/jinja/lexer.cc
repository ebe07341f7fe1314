#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "text/jinja/number.h"

namespace moxie::text::jinja {
namespace {

std::string NormalizeNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  return out;
}

size_t SkipSpace(std::string_view s, size_t pos) {
  while (pos < s.size()) {
    size_t next = pos;
    if (!IsSpace(DecodeUtf8(s, next))) break;
    pos = next;
  }
  return pos;
}

std::string_view StripRight(std::string_view s) {
  size_t end = 0;
  for (size_t pos = 0; pos < s.size();) {
    if (!IsSpace(DecodeUtf8(s, pos))) end = pos;
  }
  return s.substr(0, end);
}

bool IsDigitChar(char c) { return c >= '0' && c <= '9'; }

int HexDigit(char c) {
  if (IsDigitChar(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(NormalizeNewlines(source)) {
    if (!source_.empty() && source_.back() == '\n') source_.pop_back();
  }

  std::vector<Token> Run() {
    while (pos_ < source_.size()) Root();
    Push(Tok::kEof, "", pos_);
    return std::move(tokens_);
  }

 private:
  std::string_view Rest(size_t pos) const { return std::string_view(source_).substr(pos); }
  bool At(size_t pos, std::string_view s) const { return Rest(pos).substr(0, s.size()) == s; }

  [[noreturn]] void Fail(std::string message, size_t pos) {
    auto [line, column] = Place(pos);
    throw SyntaxError{std::move(message), line, column};
  }

  // Line and column of a byte; positions mostly ascend, so the scan goes on from the last one.
  std::pair<int, int> Place(size_t pos) {
    if (pos < place_pos_) {
      place_pos_ = 0;
      place_line_ = place_column_ = 1;
    }
    for (; place_pos_ < pos; ++place_pos_) {
      char c = source_[place_pos_];
      if (c == '\n') {
        ++place_line_;
        place_column_ = 1;
      } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
        ++place_column_;
      }
    }
    return {place_line_, place_column_};
  }

  void Push(Tok type, std::string text, size_t pos, Value number = Value()) {
    auto [line, column] = Place(pos);
    tokens_.push_back({type, std::move(text), std::move(number), line, column});
  }

  // Length of a raw block's opening tag at `pos`, with its sign; 0 when there is none.
  size_t RawTag(size_t pos, std::string_view word, char& sign) const {
    size_t p = pos + 2;
    sign = 0;
    if (p < source_.size() && (source_[p] == '-' || source_[p] == '+')) sign = source_[p++];
    p = SkipSpace(source_, p);
    if (!At(p, word)) return 0;
    p = SkipSpace(source_, p + word.size());
    if (At(p, "-%}")) return SkipSpace(source_, p + 3) - pos;
    if (word == "endraw" && At(p, "+%}")) return p + 3 - pos;
    if (!At(p, "%}")) return 0;
    p += 2;
    if (word == "endraw" && At(p, "\n")) ++p;
    return p - pos;
  }

  // Text up to the next tag, then the tag.
  void Root() {
    size_t start = pos_;
    size_t tag = start;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        Push(Tok::kData, source_.substr(start), start);
        pos_ = source_.size();
        return;
      }
      char kind = source_[tag + 1];
      if (kind == '%' || kind == '{' || kind == '#') break;
    }
    char kind = source_[tag + 1];
    char sign = 0;
    size_t raw = kind == '%' ? RawTag(tag, "raw", sign) : 0;
    size_t end = tag + 2;
    if (raw > 0) {
      end = tag + raw;
    } else {
      sign = 0;
      if (end < source_.size() && (source_[end] == '-' || source_[end] == '+')) {
        sign = source_[end++];
      }
    }
    PushData(start, tag, sign, kind == '{');
    line_starting_ = source_[end - 1] == '\n';
    pos_ = end;
    if (raw > 0) {
      Raw();
    } else if (kind == '#') {
      Comment(tag);
    } else {
      Push(kind == '{' ? Tok::kVariableBegin : Tok::kBlockBegin, kind == '{' ? "{{" : "{%", tag);
      Tag(kind == '{' ? "}}" : "%}");
    }
  }

  // The text before a tag, stripped as the tag's sign and lstrip_blocks say.
  void PushData(size_t start, size_t end, char sign, bool variable) {
    std::string_view data = Rest(start).substr(0, end - start);
    if (sign == '-') {
      data = StripRight(data);
    } else if (sign != '+' && !variable) {
      size_t newline = data.rfind('\n');
      size_t line = newline == data.npos ? 0 : newline + 1;
      if ((line > 0 || line_starting_) && SkipSpace(data, line) == data.size()) {
        data = data.substr(0, line);
      }
    }
    if (!data.empty()) Push(Tok::kData, std::string(data), start);
  }

  void Comment(size_t begin) {
    size_t end = source_.find("#}", pos_);
    if (end == std::string::npos) Fail("Missing end of comment tag", begin);
    size_t next = end + 2;
    bool minus = end > pos_ && source_[end - 1] == '-';
    bool plus = end > pos_ && source_[end - 1] == '+';
    if (minus) {
      next = SkipSpace(source_, next);
    } else if (!plus && At(next, "\n")) {
      ++next;
    }
    line_starting_ = source_[next - 1] == '\n';
    pos_ = next;
  }

  void Raw() {
    size_t begin = pos_;
    for (size_t tag = pos_;; ++tag) {
      tag = source_.find("{%", tag);
      if (tag == std::string::npos) Fail("Missing end of raw directive", begin);
      char sign;
      size_t length = RawTag(tag, "endraw", sign);
      if (length == 0) continue;
      PushData(begin, tag, sign, false);
      pos_ = tag + length;
      line_starting_ = source_[pos_ - 1] == '\n';
      return;
    }
  }

  // Tokens up to the end of a {{ }} or {% %}.
  void Tag(std::string_view close) {
    std::string open;  // the brackets still to close
    while (pos_ < source_.size()) {
      if (open.empty() && CloseTag(close)) return;
      size_t start = pos_;
      pos_ = SkipSpace(source_, pos_);
      if (pos_ > start) continue;
      if (Number() || Name() || String()) continue;
      Operator(open);
    }
  }

  bool CloseTag(std::string_view close) {
    size_t p = pos_;
    bool block = close == "%}";
    bool minus = source_[p] == '-', plus = block && source_[p] == '+';
    if (minus || plus) ++p;
    if (!At(p, close)) return false;
    size_t next = p + 2;
    if (minus) {
      next = SkipSpace(source_, next);
    } else if (block && !plus && At(next, "\n")) {
      ++next;
    }
    Push(block ? Tok::kBlockEnd : Tok::kVariableEnd, std::string(close), pos_);
    line_starting_ = source_[next - 1] == '\n';
    pos_ = next;
    return true;
  }

  // Offset behind `(\d+_)*\d+` at p, or p.
  size_t Digits(size_t p) const {
    size_t end = p;
    while (p < source_.size() && IsDigitChar(source_[p])) {
      while (p < source_.size() && IsDigitChar(source_[p])) ++p;
      end = p;
      if (p < source_.size() && source_[p] == '_') ++p;
    }
    return end;
  }

  size_t FloatEnd() const {
    if (pos_ > 0 && source_[pos_ - 1] == '.') return pos_;
    size_t whole = Digits(pos_);
    if (whole == pos_) return pos_;
    size_t fraction = whole;
    if (At(whole, ".")) {
      size_t end = Digits(whole + 1);
      if (end > whole + 1) fraction = end;
    }
    if (At(fraction, "e") || At(fraction, "E")) {
      size_t p = fraction + 1;
      if (At(p, "+") || At(p, "-")) ++p;
      size_t end = Digits(p);
      if (end > p) return end;
    }
    return fraction > whole ? fraction : pos_;
  }

  // Offset behind `(_?[class])+` at p, or p.
  template <typename F>
  size_t Underscored(size_t p, F is_digit) const {
    while (p < source_.size()) {
      size_t q = source_[p] == '_' ? p + 1 : p;
      if (q >= source_.size() || !is_digit(source_[q])) break;
      p = q + 1;
    }
    return p;
  }

  size_t IntegerEnd() const {
    char c = source_[pos_];
    if (c >= '1' && c <= '9') return Underscored(pos_ + 1, IsDigitChar);
    if (c != '0') return pos_;
    char base = pos_ + 1 < source_.size() ? static_cast<char>(source_[pos_ + 1] | 0x20) : ' ';
    size_t digits = pos_ + 2, end = digits;
    if (base == 'b') end = Underscored(digits, [](char d) { return d == '0' || d == '1'; });
    if (base == 'o') end = Underscored(digits, [](char d) { return d >= '0' && d <= '7'; });
    if (base == 'x') end = Underscored(digits, [](char d) { return HexDigit(d) >= 0; });
    if (end > digits) return end;
    return Underscored(pos_ + 1, [](char d) { return d == '0'; });
  }

  Int Integer(const std::string& digits) {
    try {
      return *ParseInt(digits, 0);
    } catch (const Error& e) {  // too many bits
      Fail(e.message, pos_);
    }
  }

  bool Number() {
    size_t end = FloatEnd();
    bool is_float = end > pos_;
    if (!is_float) end = IntegerEnd();
    if (end == pos_) return false;
    std::string digits = source_.substr(pos_, end - pos_);
    std::erase(digits, '_');
    if (is_float) {
      Push(Tok::kFloat, digits, pos_, Value(std::strtod(digits.c_str(), nullptr)));
    } else {
      Push(Tok::kInteger, digits, pos_, Value(Integer(digits)));
    }
    pos_ = end;
    return true;
  }

  bool Name() {
    size_t p = pos_;
    if (!IsIdentifierStart(DecodeUtf8(source_, p))) return false;
    while (p < source_.size()) {
      size_t next = p;
      if (!IsIdentifierPart(DecodeUtf8(source_, next))) break;
      p = next;
    }
    Push(Tok::kName, source_.substr(pos_, p - pos_), pos_);
    pos_ = p;
    return true;
  }

  bool String() {
    char quote = source_[pos_];
    if (quote != '\'' && quote != '"') return false;
    size_t end = pos_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) Fail(std::string("unexpected char ") + quote, pos_);
    Push(Tok::kString, Unescape(Rest(pos_ + 1).substr(0, end - pos_ - 1)), pos_);
    pos_ = end + 1;
    return true;
  }

  // Python's unicode-escape, after non-ASCII characters were themselves turned into escapes.
  std::string Unescape(std::string_view body) {
    std::string out;
    for (size_t i = 0; i < body.size();) {
      if (body[i] != '\\') {
        out += body[i++];
        continue;
      }
      if (static_cast<unsigned char>(body[i + 1]) >= 0x80) {
        i = UnescapeNonAscii(body, i, out);
      } else {
        i = UnescapeOne(body, i, out);
      }
    }
    return out;
  }

  // A backslash before a character beyond ASCII meets that character's own escape: `\é` is `\xe9`.
  size_t UnescapeNonAscii(std::string_view body, size_t i, std::string& out) {
    size_t next = i + 1;
    char32_t c = DecodeUtf8(body, next);
    char buffer[16];
    const char* format = c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x";
    snprintf(buffer, sizeof buffer, format, static_cast<unsigned>(c));
    out += buffer;
    return next;
  }

  size_t UnescapeOne(std::string_view body, size_t i, std::string& out) {
    static constexpr std::string_view kFrom = "\\'\"abfnrtv";
    static constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    char c = body[i + 1];
    if (c == '\n') return i + 2;
    if (size_t at = kFrom.find(c); at != kFrom.npos) {
      out += kTo[at];
      return i + 2;
    }
    if (c >= '0' && c <= '7') {
      char32_t value = 0;
      size_t p = i + 1;
      for (; p < i + 4 && p < body.size() && body[p] >= '0' && body[p] <= '7'; ++p) {
        value = value * 8 + static_cast<char32_t>(body[p] - '0');
      }
      AppendUtf8(value, out);
      return p;
    }
    size_t width = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (c == 'N') Fail("\\N{...} escapes are not supported; use \\uXXXX", pos_);
    if (width == 0) {
      out += '\\';
      out += c;
      return i + 2;
    }
    char32_t value = 0;
    for (size_t k = 0; k < width; ++k) {
      int digit = i + 2 + k < body.size() ? HexDigit(body[i + 2 + k]) : -1;
      if (digit < 0) Fail(std::string("truncated \\") + c + " escape in a string", pos_);
      value = value << 4 | static_cast<char32_t>(digit);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
      Fail("an escape in a string is no Unicode character", pos_);
    }
    AppendUtf8(value, out);
    return i + 2 + width;
  }

  void Operator(std::string& open) {
    static constexpr std::array<std::string_view, 26> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (std::string_view op : kOperators) {
      if (!At(pos_, op)) continue;
      Balance(op[0], open);
      Push(Tok::kOperator, std::string(op), pos_);
      pos_ += op.size();
      return;
    }
    size_t next = pos_;
    DecodeUtf8(source_, next);
    Fail("unexpected char '" + source_.substr(pos_, next - pos_) + "'", pos_);
  }

  void Balance(char op, std::string& open) {
    if (op == '(') open += ')';
    if (op == '[') open += ']';
    if (op == '{') open += '}';
    if (op != ')' && op != ']' && op != '}') return;
    if (open.empty()) Fail(std::string("unexpected '") + op + "'", pos_);
    if (open.back() != op) {
      Fail(std::string("unexpected '") + op + "', expected '" + open.back() + "'", pos_);
    }
    open.pop_back();
  }

  std::string source_;
  size_t pos_ = 0;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
  size_t place_pos_ = 0;
  int place_line_ = 1, place_column_ = 1;
};

}  // namespace

std::vector<Token> Tokenize(std::string_view source) {
  if (size_t bad = FindInvalidUtf8(source); bad != source.npos) {
    auto line = std::count(source.begin(), source.begin() + static_cast<long>(bad), '\n') + 1;
    size_t start = source.substr(0, bad).rfind('\n');
    size_t column = bad - (start == source.npos ? 0 : start + 1) + 1;
    throw SyntaxError{"the template is not UTF-8", static_cast<int>(line),
                      static_cast<int>(column)};
  }
  return Lexer(source).Run();
}

std::string DescribeToken(const Token& token) {
  switch (token.type) {
    case Tok::kData:
      return "template data / text";
    case Tok::kVariableBegin:
      return "begin of print statement";
    case Tok::kVariableEnd:
      return "end of print statement";
    case Tok::kBlockBegin:
      return "begin of statement block";
    case Tok::kBlockEnd:
      return "end of statement block";
    case Tok::kString:
      return "string";
    case Tok::kInteger:
      return "integer";
    case Tok::kFloat:
      return "float";
    case Tok::kEof:
      return "end of template";
    default:
      return token.text;
  }
}

}  // namespace moxie::text::jinja
