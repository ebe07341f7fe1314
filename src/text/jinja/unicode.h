// Unicode facts as Python's str has them: classes, case maps and line breaks, one code point at a
// time. Properties come from ICU; text is UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace moxie::text::jinja {

// The code point at text[pos], which moves past it. A byte that starts no valid sequence is read as
// U+FFFD and skipped alone. REQUIRES: pos < text.size().
char32_t DecodeUtf8(std::string_view text, size_t& pos);
void AppendUtf8(char32_t c, std::string& out);
// Bytes of the sequence that starts with `lead` (1 for anything invalid).
size_t Utf8Length(char lead);
// Offset of the first byte that is not valid UTF-8, or npos.
size_t FindInvalidUtf8(std::string_view text);

// str.isspace, which is also re's \s.
bool IsSpace(char32_t c);
// Where str.splitlines cuts.
bool IsLineBreak(char32_t c);
bool IsAlpha(char32_t c);
bool IsDecimal(char32_t c);
bool IsDigit(char32_t c);
bool IsNumeric(char32_t c);
bool IsLower(char32_t c);
bool IsUpper(char32_t c);
bool IsTitle(char32_t c);
// Whether repr shows the character itself.
bool IsPrintable(char32_t c);
// re's \w: letters, digits and underscore (marks excluded).
bool IsWord(char32_t c);
// May start, or continue, a template name.
bool IsIdentifierStart(char32_t c);
bool IsIdentifierPart(char32_t c);
// Neither cased nor ignored when str.lower looks for the end of a word behind a capital sigma.
bool IsCased(char32_t c);
bool IsCaseIgnorable(char32_t c);

// The full mapping of one code point, one to three of them; no context.
void AppendUpper(char32_t c, std::string& out);
void AppendLower(char32_t c, std::string& out);
void AppendTitle(char32_t c, std::string& out);
void AppendFolded(char32_t c, std::string& out);

// The value 0..9 of a decimal digit of any script, or -1.
int DecimalValue(char32_t c);

}  // namespace moxie::text::jinja
