// What a Tokenizer is made of; the loaders fill it in.
#pragma once

#include <memory>
#include <optional>

#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

namespace moxie::text {

struct TokenizerParts {
  AddedTokens added;
  std::unique_ptr<Normalizer> normalizer;       // may be null
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // may be null
  std::unique_ptr<Model> model;
  PostProcessor post_processor;
  Decoder decoder;
  std::optional<int32_t> bos_id;
  std::optional<int32_t> eos_id;
};

// Gives each added token the id that the reference gives it (the vocabulary's, else the next free
// one) and fails when the file says another; then sets parts.added. `where` starts every error.
Status SetAddedTokens(std::vector<AddedToken> tokens, const std::string& where,
                      TokenizerParts& parts);

// When nothing splits the text and the model allows it, splits at "▁" so that words are short.
void SplitAtSpaceMarks(TokenizerParts& parts);

// tokenizer.json, tekken.json, SentencePiece's protobuf, and tiktoken's ranks: text or bytes in,
// parts out. `where` starts every error.
Result<TokenizerParts> PartsFromTokenizerJson(std::string_view json, const std::string& where);
Result<TokenizerParts> PartsFromTekken(std::string_view json, const std::string& where);
Result<TokenizerParts> PartsFromSentencePiece(std::string_view bytes, const std::string& where);
// `config`: the tokenizer_config.json beside the ranks, which names the special tokens; may be
// null.
Result<TokenizerParts> PartsFromTiktoken(std::string_view ranks, const Json& config,
                                         const std::string& file_name, const std::string& where);
// What a tokenizer_config.json says: BOS and EOS by name; and, where the tokenizer's own file
// cannot say it (`sets_post_processor`), whether they are put around a text.
void ApplyTokenizerConfig(const Json& config, bool sets_post_processor, TokenizerParts& parts);

}  // namespace moxie::text
