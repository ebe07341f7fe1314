// The vocabulary in a GGUF file's metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/gguf_metadata.h"
#include "text/tokenizer_parts.h"

namespace moxie::text {

// "tokenizer.ggml.<field>"; arrays that the file lacks are empty.
struct GgufVocabulary {
  std::string model;  // "gpt2", "llama", "bert", "t5"
  std::string pre;    // the split of a "gpt2" vocabulary: "llama-bpe", "qwen2"
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t>
      token_type;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
  std::vector<std::string> merges;  // "left right"
  std::vector<uint8_t> precompiled_charsmap;
  std::optional<int64_t> bos_token_id, eos_token_id, unknown_token_id, cls_token_id,
      separator_token_id;
  std::optional<bool> add_bos_token, add_eos_token, add_space_prefix, remove_extra_whitespaces;
};

// Copies it out of the metadata; a field of a wrong type is an error.
Result<GgufVocabulary> ReadGgufVocabulary(config::GgufMetadata& metadata);

Result<TokenizerParts> PartsFromGguf(const GgufVocabulary& vocabulary, const std::string& where);

}  // namespace moxie::text
