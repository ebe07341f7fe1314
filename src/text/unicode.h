// UTF-8 and the Unicode properties that tokenizers ask for. The tables are those of the reference
// package (tools/make_unicode_tables.py), not of the libraries installed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace moxie::text {

struct CodeRange {
  uint32_t first;
  uint32_t last;
};

// What a regex class \p{name} holds: PCRE2's own class `base` (may be empty) and `extra`.
struct RegexClass {
  std::string_view name;
  std::string_view base;
  std::span<const CodeRange> extra;
};

// The code point at text[*pos], and *pos moved after it. REQUIRES valid UTF-8, *pos < text.size().
uint32_t NextCodePoint(std::string_view text, size_t* pos);
// The bytes of the character that starts with `lead`: 1 to 4.
inline size_t CharLength(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}
void AppendUtf8(std::string& out, uint32_t code_point);

// The longest prefix of `bytes` that is valid UTF-8.
size_t ValidUtf8Prefix(std::string_view bytes);
inline bool IsValidUtf8(std::string_view bytes) { return ValidUtf8Prefix(bytes) == bytes.size(); }
// After a valid prefix: how many bytes form the next maximal broken part (1 to 3). `*unfinished` is
// true when more bytes could still make it a character.
size_t BrokenUtf8Part(std::string_view bytes, bool* unfinished);
// `bytes` with each maximal broken part replaced by U+FFFD.
std::string RepairUtf8(std::string_view bytes);

bool IsWhitespace(uint32_t c);      // White_Space
bool IsPunctuation(uint32_t c);     // ASCII punctuation, and P*
bool IsControl(uint32_t c);         // BERT's: C*, but not tab and line ends
bool IsNonspacingMark(uint32_t c);  // Mn
bool IsCombiningMark(uint32_t c);   // M*
bool IsNumeric(uint32_t c);         // N*
bool IsWordCharacter(uint32_t c);   // \w
bool IsChinese(uint32_t c);         // BERT's blocks of ideographs
// A number per script, 0 for none; Hiragana and Katakana count as Han.
uint16_t ScriptOf(uint32_t c);
// Appends the lower case of `c`, which may be two characters.
void AppendLowercase(std::string& out, uint32_t c);

// The class of that name, or null.
const RegexClass* FindRegexClass(std::string_view name);

enum class NormalForm { kC, kD, kKc, kKd };
// Unicode normalisation of valid UTF-8, with the reference's version of the tables.
std::string Normalize(std::string_view text, NormalForm form);

// The end of the grapheme cluster that starts at `begin`. REQUIRES valid UTF-8, begin <
// text.size().
size_t GraphemeEnd(std::string_view text, size_t begin);

// GPT-2's printable alphabet: a character for each byte.
uint32_t ByteToChar(unsigned char byte);
// The byte of a character of that alphabet, or -1.
int CharToByte(uint32_t c);
void AppendByteChars(std::string& out, std::string_view bytes);
// The bytes spelled by `piece`; false (and `out` unchanged) if it has a character outside.
bool AppendBytesOfChars(std::string& out, std::string_view piece);

}  // namespace moxie::text
