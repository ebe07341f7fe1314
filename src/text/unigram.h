// The Unigram model: of all ways to cut a word into tokens, the one with the best sum of scores
// (Viterbi, O(n x longest token)). A character without a token scores 10 below the worst token.
#pragma once

#include <memory>
#include <optional>

#include "text/model.h"
#include "text/trie.h"
#include "text/word_cache.h"

namespace moxie::text {

struct UnigramPiece {
  std::string_view text;
  double score = 0;
  bool usable = true;  // false: has an id, never comes out of text
};

struct UnigramOptions {
  std::optional<int32_t> unk_id;
  bool byte_fallback = false;
  // A run of unknown characters that spells a token is that token: the tokenizers package looks it
  // up, sentencepiece does not.
  bool look_up_unknown = true;
  // Sums are kept in single precision, as sentencepiece keeps them: it decides between equals.
  bool single_precision = false;
  // The score of an unknown character, when it is not 10 below the worst token.
  std::optional<double> unk_score;
};

class UnigramModel : public Model {
 public:
  // Piece i has id i.
  static Result<std::unique_ptr<UnigramModel>> Create(const std::vector<UnigramPiece>& pieces,
                                                      UnigramOptions options);
  Status Encode(std::string_view word, std::vector<int32_t>& ids) const override;

 private:
  struct Node {  // the best way to here
    double score = 0;
    int32_t begin = -1;
    int32_t id = -1;
  };
  UnigramModel(Vocabulary vocabulary, Trie trie, std::vector<double> scores,
               UnigramOptions options);
  Status Viterbi(std::string_view word, std::vector<Node>& best) const;
  void EmitUnknown(std::string_view text, std::vector<int32_t>& ids) const;

  Trie trie_;
  std::vector<double> scores_;
  double unk_score_ = 0;
  UnigramOptions options_;
  std::vector<int32_t> byte_tokens_;  // ids of <0x00>..<0xFF>, -1 where none
  mutable WordCache cache_;
};

}  // namespace moxie::text
