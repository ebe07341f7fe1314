// Tokens that are found in a text before it is normalised and split (or, with `normalized`, before
// it is split): leftmost first, of those the longest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "text/trie.h"
#include "text/vocabulary.h"

namespace moxie::text {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space behind it
  bool normalized = true;    // matched in the normalised text, in its own normalised form
  bool special = false;      // skipped by skip_special_tokens; data where special text is
};

class AddedTokens {
 public:
  // A stretch of a text: one added token, or text (id -1).
  struct Part {
    int32_t id = -1;
    size_t begin = 0;
    size_t end = 0;
  };
  // Half-open stretches of a text, in order, in which special tokens are recognised.
  struct Region {
    size_t begin = 0;
    size_t end = 0;
  };

  // `normalize` gives the form of a token with `normalized` that is looked for. Ids are checked by
  // the caller.
  static Result<AddedTokens> Create(std::vector<AddedToken> tokens,
                                    const std::function<std::string(std::string_view)>& normalize);

  // Cuts `text` at the tokens that are looked for before (`normalized` false) or after (true)
  // normalising. Special tokens, and those whose ids are in `markers` (ascending), are found inside
  // `regions` only.
  std::vector<Part> Split(std::string_view text, bool normalized,
                          const std::vector<Region>& regions,
                          std::span<const int32_t> markers = {}) const;

  // The token of an id, or null.
  const AddedToken* Find(int32_t id) const;
  // What Decode sees for an added token: its content, or the normalised form that was matched.
  std::string_view Piece(int32_t id) const;
  // Whether skip_special_tokens leaves it out.
  bool IsSpecial(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < special_.size() &&
           special_[static_cast<size_t>(id)];
  }
  const std::vector<AddedToken>& tokens() const { return tokens_; }
  int32_t id_end() const;

 private:
  struct Match {
    size_t token = 0;  // index
    size_t end = 0;
    bool is_data = false;
  };
  std::optional<Match> MatchAt(std::string_view text, size_t begin, const Trie& trie,
                               const std::vector<Region>& regions, std::span<const int32_t> markers,
                               size_t& region) const;
  void MarkSpecial();
  bool StandsAlone(std::string_view text, size_t begin, size_t end) const;

  std::vector<AddedToken> tokens_;  // by id
  std::vector<std::string> pieces_;
  std::unordered_map<int32_t, size_t> by_id_;
  std::vector<bool> special_;  // by id
  Trie raw_;
  Trie normalized_;
};

}  // namespace moxie::text
