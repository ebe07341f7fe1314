// What every fuzz target of a tokenizer's file does with one that loads: a text through it, and
// back token by token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace moxie::text {

// The input's parts: the file, and the text behind the last 0xFF byte, which no text has.
struct FuzzInput {
  std::string_view file, text;
};
inline FuzzInput SplitInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  size_t mark = bytes.rfind('\xFF');
  if (mark == std::string_view::npos) return {bytes, "Hello, 世界! 12 don't\n\n  <s></s>"};
  return {bytes.substr(0, mark), bytes.substr(mark + 1)};
}

inline void UseTokenizer(const Result<std::shared_ptr<const Tokenizer>>& made,
                         std::string_view text) {
  if (!made.ok()) {
    if (made.status().message().empty()) __builtin_trap();
    return;
  }
  const Tokenizer& tokenizer = **made;
  auto ids = tokenizer.Encode(text);
  if (!ids.ok()) return;
  std::string whole = tokenizer.Decode(*ids);
  IncrementalDetokenizer stream(tokenizer, false);
  std::string joined;
  for (int32_t id : *ids) stream.Push(id, joined);
  joined += stream.Flush();
  if (joined != whole) __builtin_trap();
  for (int32_t id : *ids) {
    if (tokenizer.TokenBytes(id).size() > tokenizer.MaxTokenBytes()) __builtin_trap();
  }
}

}  // namespace moxie::text
