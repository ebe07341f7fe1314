#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace moxie::text {
namespace {

struct LowerRange {
  uint32_t first;
  uint32_t last;
  int step;
  int distance;
};

struct ScriptRange {
  uint32_t first;
  uint32_t last;
  uint16_t script;
};

#include "text/unicode_tables.inc"

template <typename R, size_t N>
const R* FindRange(const R (&table)[N], uint32_t c) {
  const R* it = std::upper_bound(table, table + N, c,
                                 [](uint32_t value, const R& r) { return value < r.first; });
  if (it == table || c > (it - 1)->last) return nullptr;
  return it - 1;
}

// A property with its answers for ASCII, and for the rest by search.
template <size_t N>
class Property {
 public:
  constexpr explicit Property(const CodeRange (&table)[N]) : table_(table) {
    for (const CodeRange& r : table) {
      for (uint32_t c = r.first; c <= r.last && c < ascii_.size(); ++c) ascii_[c] = true;
    }
  }
  bool Has(uint32_t c) const {
    return c < ascii_.size() ? ascii_[c] : FindRange(table_, c) != nullptr;
  }

 private:
  const CodeRange (&table_)[N];
  std::array<bool, 128> ascii_{};
};

bool IsContinuation(unsigned char c) { return (c & 0xC0) == 0x80; }

// The number of bytes of the sequence that `lead` begins (0 if it cannot) and the range of its
// second byte (Unicode 15, table 3-7).
struct Lead {
  int length;
  unsigned char low;
  unsigned char high;
};
Lead LeadOf(unsigned char c) {
  if (c < 0x80) return {1, 0, 0};
  if (c < 0xC2 || c > 0xF4) return {0, 0, 0};
  if (c < 0xE0) return {2, 0x80, 0xBF};
  if (c < 0xF0) {
    return {3, static_cast<unsigned char>(c == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(c == 0xED ? 0x9F : 0xBF)};
  }
  return {4, static_cast<unsigned char>(c == 0xF0 ? 0x90 : 0x80),
          static_cast<unsigned char>(c == 0xF4 ? 0x8F : 0xBF)};
}

// How many bytes at the front of `bytes` agree with the form that its first byte asks for.
int MatchingBytes(std::string_view bytes, const Lead& lead) {
  int n = 1;
  while (n < lead.length && static_cast<size_t>(n) < bytes.size()) {
    auto c = static_cast<unsigned char>(bytes[static_cast<size_t>(n)]);
    bool fits = n == 1 ? c >= lead.low && c <= lead.high : IsContinuation(c);
    if (!fits) break;
    ++n;
  }
  return n;
}

std::string NormalizeRun(std::string_view text, NormalForm form) {
  int options = UTF8PROC_STABLE;
  options |=
      form == NormalForm::kC || form == NormalForm::kKc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kKc || form == NormalForm::kKd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* out = nullptr;
  utf8proc_ssize_t n = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                    static_cast<utf8proc_ssize_t>(text.size()), &out,
                                    static_cast<utf8proc_option_t>(options));
  if (n < 0) return std::string(text);  // only for invalid UTF-8, which callers do not pass
  std::string result(reinterpret_cast<const char*>(out), static_cast<size_t>(n));
  std::free(out);
  return result;
}

struct ByteAlphabet {
  std::array<uint16_t, 256> to_char{};
  std::array<int16_t, 0x180> to_byte{};
};

constexpr ByteAlphabet MakeByteAlphabet() {
  ByteAlphabet a;
  for (auto& b : a.to_byte) b = -1;
  uint16_t next = 256;
  for (unsigned b = 0; b < 256; ++b) {
    bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    uint16_t c = printable ? static_cast<uint16_t>(b) : next++;
    a.to_char[b] = c;
    a.to_byte[c] = static_cast<int16_t>(b);
  }
  return a;
}
constexpr ByteAlphabet kBytes = MakeByteAlphabet();

}  // namespace

uint32_t NextCodePoint(std::string_view text, size_t* pos) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data()) + *pos;
  size_t n = CharLength(*p);
  *pos += n;
  switch (n) {
    case 1:
      return p[0];
    case 2:
      return (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    case 3:
      return (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    default:
      return (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
  }
}

void AppendUtf8(std::string& out, uint32_t c) {
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

size_t ValidUtf8Prefix(std::string_view bytes) {
  size_t pos = 0;
  while (pos < bytes.size()) {
    auto c = static_cast<unsigned char>(bytes[pos]);
    if (c < 0x80) {
      ++pos;
      continue;
    }
    Lead lead = LeadOf(c);
    if (lead.length == 0 || MatchingBytes(bytes.substr(pos), lead) < lead.length) break;
    pos += static_cast<size_t>(lead.length);
  }
  return pos;
}

size_t BrokenUtf8Part(std::string_view bytes, bool* unfinished) {
  Lead lead = LeadOf(static_cast<unsigned char>(bytes[0]));
  *unfinished = false;
  if (lead.length == 0) return 1;
  auto n = static_cast<size_t>(MatchingBytes(bytes, lead));
  *unfinished = n == bytes.size() && n < static_cast<size_t>(lead.length);
  return n;
}

std::string RepairUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    size_t good = ValidUtf8Prefix(bytes);
    out += bytes.substr(0, good);
    bytes.remove_prefix(good);
    if (bytes.empty()) break;
    bool unfinished;
    bytes.remove_prefix(BrokenUtf8Part(bytes, &unfinished));
    out += "\xEF\xBF\xBD";
  }
  return out;
}

bool IsWhitespace(uint32_t c) {
  static constexpr Property kTable(kWhitespace);
  return kTable.Has(c);
}
bool IsPunctuation(uint32_t c) {
  static constexpr Property kTable(kPunctuation);
  return kTable.Has(c);
}
bool IsControl(uint32_t c) {
  static constexpr Property kTable(kControl);
  return kTable.Has(c);
}
bool IsNonspacingMark(uint32_t c) {
  static constexpr Property kTable(kNonspacingMark);
  return kTable.Has(c);
}
bool IsCombiningMark(uint32_t c) {
  static constexpr Property kTable(kCombiningMark);
  return kTable.Has(c);
}
bool IsNumeric(uint32_t c) {
  static constexpr Property kTable(kNumeric);
  return kTable.Has(c);
}
bool IsWordCharacter(uint32_t c) {
  static constexpr Property kTable(kWordCharacter);
  return kTable.Has(c);
}

bool IsChinese(uint32_t c) {
  static constexpr CodeRange kTable[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                         {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                         {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return c >= 0x3400 && FindRange(kTable, c) != nullptr;
}

uint16_t ScriptOf(uint32_t c) {
  const ScriptRange* r = FindRange(kScripts, c);
  return r ? r->script : 0;
}

void AppendLowercase(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return;
  }
  if (c == 0x130) {  // the one letter whose lower case is two characters: i and a dot above
    out += "i\xCC\x87";
    return;
  }
  const LowerRange* r = FindRange(kLowercase, c);
  bool in = r && (c - r->first) % static_cast<uint32_t>(r->step) == 0;
  AppendUtf8(out, in ? static_cast<uint32_t>(static_cast<int>(c) + r->distance) : c);
}

const RegexClass* FindRegexClass(std::string_view name) {
  for (const RegexClass& c : kRegexClasses) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

std::string Normalize(std::string_view text, NormalForm form) {
  static constexpr auto is_ascii = [](char c) { return static_cast<signed char>(c) >= 0; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return std::string(text);
  // A character that the reference does not know is inert there: it neither decomposes, composes
  // nor lets marks cross it. So it cuts the text into runs.
  std::string out;
  size_t run = 0;
  for (size_t pos = 0; pos < text.size();) {
    size_t begin = pos;
    uint32_t c = NextCodePoint(text, &pos);
    if (c < 0x7FD || !FindRange(kUnknownToNormalization, c)) continue;
    out += NormalizeRun(text.substr(run, begin - run), form);
    out += text.substr(begin, pos - begin);
    run = pos;
  }
  out += NormalizeRun(text.substr(run), form);
  return out;
}

size_t GraphemeEnd(std::string_view text, size_t begin) {
  size_t pos = begin;
  auto before = static_cast<utf8proc_int32_t>(NextCodePoint(text, &pos));
  utf8proc_int32_t state = 0;
  while (pos < text.size()) {
    size_t next = pos;
    auto after = static_cast<utf8proc_int32_t>(NextCodePoint(text, &next));
    if (utf8proc_grapheme_break_stateful(before, after, &state)) break;
    before = after;
    pos = next;
  }
  return pos;
}

uint32_t ByteToChar(unsigned char byte) { return kBytes.to_char[byte]; }

int CharToByte(uint32_t c) { return c < kBytes.to_byte.size() ? kBytes.to_byte[c] : -1; }

void AppendByteChars(std::string& out, std::string_view bytes) {
  for (char b : bytes) AppendUtf8(out, ByteToChar(static_cast<unsigned char>(b)));
}

bool AppendBytesOfChars(std::string& out, std::string_view piece) {
  size_t before = out.size();
  for (size_t pos = 0; pos < piece.size();) {
    int byte = CharToByte(NextCodePoint(piece, &pos));
    if (byte < 0) {
      out.resize(before);
      return false;
    }
    out += static_cast<char>(byte);
  }
  return true;
}

}  // namespace moxie::text
