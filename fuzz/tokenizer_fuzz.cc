// A tokenizer file of any format, then a text through it. The first byte says which format; the
// text is what follows the last zero byte.
#include <cstdint>
#include <string_view>

#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace {

using moxie::text::Tokenizer;

void Use(const Tokenizer& tokenizer, std::string_view text) {
  auto ids = tokenizer.Encode(text);
  if (!ids.ok()) return;
  std::string whole = tokenizer.Decode(*ids);
  moxie::text::IncrementalDetokenizer stream(tokenizer, false);
  std::string joined;
  for (int32_t id : *ids) stream.Push(id, joined);
  joined += stream.Flush();
  if (joined != whole) __builtin_trap();
  for (int32_t id : *ids) {
    if (tokenizer.TokenBytes(id).size() > tokenizer.MaxTokenBytes()) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  size_t zero = bytes.rfind('\0');
  std::string_view text = zero == std::string_view::npos ? "Hello, 世界! " : bytes.substr(zero + 1);
  std::string_view file = bytes.substr(0, zero);
  auto tokenizer = data[0] % 3 == 0   ? Tokenizer::FromJson(file, "fuzz")
                   : data[0] % 3 == 1 ? Tokenizer::FromSentencePiece(file, "fuzz")
                                      : Tokenizer::FromTekken(file, "fuzz");
  if (tokenizer.ok()) Use(**tokenizer, text);
  return 0;
}
