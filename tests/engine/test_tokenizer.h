// A tokenizer whose token i is exactly the bytes of pieces[i].
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/tokenizer.h"

namespace moxie::engine {

// A byte as the character that byte-level BPE writes for it (GPT-2's bytes_to_unicode).
inline std::string ByteLevelCharacter(unsigned char byte) {
  auto printable = [](int b) {
    return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xFF && b != 0xAD);
  };
  int code = byte;
  if (!printable(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += !printable(b);
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

// Pieces must differ from each other. `special` tokens follow after them.
inline std::shared_ptr<const text::Tokenizer> PiecesTokenizer(
    const std::vector<std::string>& pieces, const std::vector<std::string>& special = {}) {
  JsonObject vocab;
  for (size_t id = 0; id < pieces.size(); ++id) {
    std::string key;
    for (char c : pieces[id]) key += ByteLevelCharacter(static_cast<unsigned char>(c));
    vocab[key] = id;
  }
  JsonArray added;
  for (size_t i = 0; i < special.size(); ++i) {
    added.push_back({{"id", pieces.size() + i},
                     {"content", special[i]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  const Json model = {{"type", "BPE"}, {"vocab", vocab}, {"merges", JsonArray()}};
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const Json json = {{"version", "1.0"},
                     {"added_tokens", added},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", byte_level},
                     {"post_processor", nullptr},
                     {"decoder", byte_level},
                     {"model", model}};
  auto tokenizer = text::Tokenizer::FromJson(DumpJson(json), "test");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return tokenizer.ok() ? *tokenizer : nullptr;
}

}  // namespace moxie::engine
