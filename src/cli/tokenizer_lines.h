// A tokenizer as a filter: a JSON object a line in, one out. Tools that compare moxie with another
// tokenizer drive it so.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace moxie::cli {

// {"text": ..., or "hex": bytes in hexadecimal, or "ids": [...],
//  "add": add special tokens (false), "special": parse special text (true),
//  "skip": leave special tokens out of the decoded text (false)}
// gives {"ids": [...], "decoded": ..., "stream": whether token by token gives the same text},
// or {"error": ...}.
std::string TokenizerLine(const text::Tokenizer& tokenizer, std::string_view line);

// `moxie tokenizer-lines DIR_OR_FILE`: answers each line of standard input.
int TokenizerLines(std::span<const std::string> args);

}  // namespace moxie::cli
