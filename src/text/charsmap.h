// SentencePiece's precompiled map of characters: a double-array trie from strings to their
// replacements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace moxie::text {

class CharsMap {
 public:
  // `bytes`: the length of the trie (4 bytes, little endian), the trie's units, the replacements,
  // each ended by a zero byte.
  static Result<CharsMap> Parse(std::string_view bytes);

  struct Match {
    size_t length = 0;             // bytes of the text that are replaced
    std::string_view replacement;  // valid UTF-8
  };
  // The shortest, or the longest, string of the map that `text` starts with.
  std::optional<Match> ShortestPrefix(std::string_view text) const;
  std::optional<Match> LongestPrefix(std::string_view text) const;

 private:
  template <typename F>
  void Walk(std::string_view text, F&& visit) const;
  std::string_view Replacement(uint32_t offset) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace moxie::text
