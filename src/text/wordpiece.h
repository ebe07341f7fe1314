// WordPiece: the longest token first, then the longest one that continues it ("##ing"). A word with
// a part that no token covers is one unknown token. WordLevel: the whole word or the unknown token.
#pragma once

#include <memory>
#include <string>

#include "text/model.h"

namespace moxie::text {

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  int64_t max_input_chars_per_word = 100;
};

class WordPieceModel : public Model {
 public:
  WordPieceModel(Vocabulary vocabulary, WordPieceOptions options);
  Status Encode(std::string_view word, std::vector<int32_t>& ids) const override;

 private:
  // Appends the word's tokens; false (and `ids` unchanged) when some part has none.
  bool Match(std::string_view word, std::vector<int32_t>& ids) const;

  WordPieceOptions options_;
  size_t longest_ = 0;  // bytes of the longest token
};

class WordLevelModel : public Model {
 public:
  WordLevelModel(Vocabulary vocabulary, std::string unk_token);
  Status Encode(std::string_view word, std::vector<int32_t>& ids) const override;

 private:
  std::string unk_token_;
};

}  // namespace moxie::text
