// Template source -> tokens, with the whitespace rules of an environment that has trim_blocks and
// lstrip_blocks on (a chat template's), as jinja2's lexer has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace moxie::text::jinja {

enum class Tok {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEof
};

struct Token {
  Tok type = Tok::kEof;
  std::string text;  // data, name, unescaped string or operator
  Value number;      // of an integer or a float
  int line = 1;
  int column = 1;

  bool Is(Tok t, std::string_view s) const { return type == t && text == s; }
  bool IsOp(std::string_view s) const { return Is(Tok::kOperator, s); }
  bool IsName(std::string_view s) const { return Is(Tok::kName, s); }
};

// A place in the source, for messages.
struct SyntaxError {
  std::string message;
  int line;
  int column;
};

// All tokens, the last one kEof. Throws SyntaxError.
std::vector<Token> Tokenize(std::string_view source);

// How messages name a token: its text, or "end of template" and the like.
std::string DescribeToken(const Token& token);

}  // namespace moxie::text::jinja
