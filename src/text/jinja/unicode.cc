#include "text/jinja/unicode.h"

#include <unicode/uchar.h>
#include <unicode/ustring.h>

namespace moxie::text::jinja {
namespace {

UChar32 Icu(char32_t c) { return static_cast<UChar32>(c); }

using CaseMap = int32_t (*)(UChar* dest, int32_t capacity, const UChar* src, int32_t length,
                            UErrorCode* error);

// Maps one code point through ICU's string function, which knows the one-to-many cases.
void AppendMapped(char32_t c, CaseMap map, std::string& out) {
  UChar src[2];
  int32_t length = 0;
  U16_APPEND_UNSAFE(src, length, Icu(c));
  UChar dest[16];
  UErrorCode error = U_ZERO_ERROR;
  int32_t n = map(dest, 16, src, length, &error);
  if (U_FAILURE(error) || n > 16) {
    AppendUtf8(c, out);
    return;
  }
  for (int32_t i = 0; i < n;) {
    UChar32 mapped;
    U16_NEXT(dest, i, n, mapped);
    AppendUtf8(static_cast<char32_t>(mapped), out);
  }
}

constexpr uint32_t kLetters = U_GC_L_MASK;

}  // namespace

size_t Utf8Length(char lead) {
  auto b = static_cast<unsigned char>(lead);
  if (b < 0xC2) return 1;
  if (b < 0xE0) return 2;
  if (b < 0xF0) return 3;
  return b < 0xF5 ? 4 : 1;
}

char32_t DecodeUtf8(std::string_view text, size_t& pos) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(pos);
  if (lead < 0x80) return text[pos++];
  size_t n = Utf8Length(text[pos]);
  if (n == 1 || pos + n > text.size()) {
    ++pos;
    return 0xFFFD;
  }
  char32_t c = lead & (0x7F >> n);
  for (size_t i = 1; i < n; ++i) {
    if ((byte(pos + i) & 0xC0) != 0x80) {
      ++pos;
      return 0xFFFD;
    }
    c = c << 6 | (byte(pos + i) & 0x3F);
  }
  bool bad = (n == 3 && (c < 0x800 || (c >= 0xD800 && c < 0xE000))) ||
             (n == 4 && (c < 0x10000 || c > 0x10FFFF));
  pos += bad ? 1 : n;
  return bad ? 0xFFFD : c;
}

void AppendUtf8(char32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

size_t FindInvalidUtf8(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    size_t start = pos;
    if (DecodeUtf8(text, pos) == 0xFFFD && text.substr(start, 3) != "\xEF\xBF\xBD") return start;
  }
  return std::string_view::npos;
}

bool IsSpace(char32_t c) {
  if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 28 && c <= 32);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsLineBreak(char32_t c) {
  return (c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool IsAlpha(char32_t c) { return (U_GET_GC_MASK(Icu(c)) & kLetters) != 0; }
bool IsDecimal(char32_t c) { return u_charType(Icu(c)) == U_DECIMAL_DIGIT_NUMBER; }
bool IsDigit(char32_t c) {
  auto type = u_getIntPropertyValue(Icu(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DIGIT || type == U_NT_DECIMAL;
}
bool IsNumeric(char32_t c) {
  return u_getIntPropertyValue(Icu(c), UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}
bool IsLower(char32_t c) { return u_hasBinaryProperty(Icu(c), UCHAR_LOWERCASE); }
bool IsUpper(char32_t c) { return u_hasBinaryProperty(Icu(c), UCHAR_UPPERCASE); }
bool IsTitle(char32_t c) { return u_charType(Icu(c)) == U_TITLECASE_LETTER; }

bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  return (U_GET_GC_MASK(Icu(c)) & (U_GC_C_MASK | U_GC_Z_MASK)) == 0;
}

bool IsWord(char32_t c) { return c == '_' || IsAlpha(c) || IsNumeric(c); }
bool IsIdentifierStart(char32_t c) {
  return c == '_' || u_hasBinaryProperty(Icu(c), UCHAR_XID_START);
}
bool IsIdentifierPart(char32_t c) { return u_hasBinaryProperty(Icu(c), UCHAR_XID_CONTINUE); }
bool IsCased(char32_t c) { return u_hasBinaryProperty(Icu(c), UCHAR_CASED); }
bool IsCaseIgnorable(char32_t c) { return u_hasBinaryProperty(Icu(c), UCHAR_CASE_IGNORABLE); }

void AppendUpper(char32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    return;
  }
  AppendMapped(
      c,
      [](UChar* d, int32_t n, const UChar* s, int32_t m, UErrorCode* e) {
        return u_strToUpper(d, n, s, m, "", e);
      },
      out);
}

void AppendLower(char32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return;
  }
  AppendMapped(
      c,
      [](UChar* d, int32_t n, const UChar* s, int32_t m, UErrorCode* e) {
        return u_strToLower(d, n, s, m, "", e);
      },
      out);
}

void AppendTitle(char32_t c, std::string& out) {
  if (c < 0x80) return AppendUpper(c, out);
  AppendMapped(
      c,
      [](UChar* d, int32_t n, const UChar* s, int32_t m, UErrorCode* e) {
        return u_strToTitle(d, n, s, m, nullptr, "", e);
      },
      out);
}

void AppendFolded(char32_t c, std::string& out) {
  if (c < 0x80) return AppendLower(c, out);
  AppendMapped(
      c,
      [](UChar* d, int32_t n, const UChar* s, int32_t m, UErrorCode* e) {
        return u_strFoldCase(d, n, s, m, U_FOLD_CASE_DEFAULT, e);
      },
      out);
}

int DecimalValue(char32_t c) { return IsDecimal(c) ? u_charDigitValue(Icu(c)) : -1; }

}  // namespace moxie::text::jinja
