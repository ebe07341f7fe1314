// SentencePiece's models, whether they come from a tokenizer.model or from GGUF metadata.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/charsmap.h"
#include "text/tokenizer_parts.h"

namespace moxie::text {

enum class PieceType {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct SentencePieceModel {
  struct Piece {
    std::string text;
    float score = 0;
    PieceType type = PieceType::kNormal;
  };
  enum class Kind { kUnigram = 1, kBpe = 2 };
  Kind kind = Kind::kUnigram;
  std::vector<Piece> pieces;  // by id
  std::string charsmap;       // empty: characters stay as they are
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool treat_whitespace_as_suffix = false;
  bool byte_fallback = false;
  // As llama.cpp and transformers take such a vocabulary, and sentencepiece does not: user-defined
  // pieces are cut out first, and the prefix also goes before what follows a special token.
  bool cuts_user_defined = false;
  int32_t bos_id = -1;  // -1: none
  int32_t eos_id = -1;
};

// Reads the protobuf. Fields that change no text's ids are passed over.
Result<SentencePieceModel> ParseSentencePieceModel(std::string_view bytes,
                                                   const std::string& where);
Result<TokenizerParts> PartsFromSentencePieceModel(SentencePieceModel model,
                                                   const std::string& where);

}  // namespace moxie::text
