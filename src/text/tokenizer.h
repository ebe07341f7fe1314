// Text to token ids and back, exactly as the model's own tokenizer does it.
//
// A Tokenizer is loaded once from a model's files and never changes: every method is const and may
// be called from any thread. The steps are those of Hugging Face's `tokenizers` package, whose ids
// we equal: added tokens are cut out, the rest is normalised, split into words, and each word is
// turned into ids by the model (BPE, Unigram, WordPiece, WordLevel).
//
// Text that is not valid UTF-8 is read as Python's bytes.decode("utf-8", errors="replace") reads
// it: each maximal broken part becomes U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace moxie::text {

struct TokenizerParts;
struct GgufVocabulary;

struct EncodeOptions {
  // Also what the model's post-processor adds around a text: BOS, [CLS] ... [SEP].
  bool add_special_tokens = true;
  // Text that spells a special token ("<|im_end|>") becomes that token; when false it is data.
  // Added tokens that are not special (runs of spaces, tags) are part of the text either way.
  bool parse_special = true;
  // Ids, ascending, of added tokens that are taken for special in this text.
  std::span<const int32_t> markers = {};
  // A longer text is refused.
  size_t max_bytes = size_t{64} << 20;
};

// A stretch of a text. A template's own words may spell special tokens; a message's content may
// not.
struct TextSegment {
  std::string_view text;
  bool parse_special = true;
};

// One row of a model's special tokens.
struct SpecialToken {
  int32_t id = 0;
  std::string_view content;
};

class Tokenizer {
 public:
  // A model directory (tokenizer.json, else tekken.json, tokenizer.model, *.tiktoken, in that
  // order; tokenizer_config.json beside it names BOS and EOS), or one such file, or a *.gguf, of
  // which only the metadata is read.
  static Result<std::shared_ptr<const Tokenizer>> Load(const std::filesystem::path& dir_or_file);
  // From the text of a tokenizer.json. `origin` starts every error.
  static Result<std::shared_ptr<const Tokenizer>> FromJson(std::string_view json,
                                                           std::string_view origin);
  // From the bytes of a SentencePiece model (tokenizer.model), a tekken.json.
  static Result<std::shared_ptr<const Tokenizer>> FromSentencePiece(std::string_view bytes,
                                                                    std::string_view origin);
  static Result<std::shared_ptr<const Tokenizer>> FromTekken(std::string_view json,
                                                             std::string_view origin);
  // From the tokenizer.ggml.* metadata of a GGUF file.
  static Result<std::shared_ptr<const Tokenizer>> FromGguf(const GgufVocabulary& vocabulary,
                                                           std::string_view origin);

  explicit Tokenizer(TokenizerParts parts);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  Result<std::vector<int32_t>> Encode(std::string_view text,
                                      const EncodeOptions& options = {}) const;

  // The ids of all segments together, as if they were one text, except that special tokens are
  // recognised only where every byte of them lies in segments with parse_special. So words and
  // merges run across a segment's border, and a marker written by a user stays text.
  // options.parse_special is not used.
  Result<std::vector<int32_t>> Encode(std::span<const TextSegment> segments,
                                      const EncodeOptions& options = {}) const;

  // The text of `ids`. Ids that name no token are left out, as the reference does. Always valid
  // UTF-8: a broken byte sequence becomes U+FFFD. See IncrementalDetokenizer for the same in parts.
  std::string Decode(std::span<const int32_t> ids, bool skip_special_tokens = false) const;

  // The token's own text in the vocabulary: "Ġhello", "▁hello", "<0x0A>"; empty for no token.
  std::string_view TokenPiece(int32_t id) const;
  // The token as logprobs show it: Decode of it alone. U+FFFD where it is part of a character.
  std::string TokenString(int32_t id) const;
  // The exact bytes that the token adds in the middle of a text: " hello", one byte of a character.
  std::string TokenBytes(int32_t id) const;
  // No token has more TokenBytes than this.
  size_t MaxTokenBytes() const;

  // One more than the largest id.
  int32_t vocab_size() const;
  bool HasToken(int32_t id) const;
  bool IsSpecial(int32_t id) const;
  // The id of a token by its own text, special or not.
  std::optional<int32_t> TokenToId(std::string_view piece) const;
  // All special tokens, by id.
  std::vector<SpecialToken> SpecialTokens() const;

  std::optional<int32_t> bos_id() const;
  std::optional<int32_t> eos_id() const;
  // Whether Encode with add_special_tokens puts `bos_id` first: for a caller that must not add two.
  bool AddsBos() const;

  // For tests: the words that `text` is split into before the model sees them, in the model's own
  // alphabet; a special token is one word.
  Result<std::vector<std::string>> PreTokenize(std::string_view text) const;

  const TokenizerParts& parts() const { return *parts_; }

 private:
  std::unique_ptr<const TokenizerParts> parts_;
};

}  // namespace moxie::text
