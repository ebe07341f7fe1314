// StopMatcher: finds the first stop string in a text that comes in pieces, and says how much of the
// text is decided. One Knuth-Morris-Pratt automaton a stop string: O(1) amortised a byte and
// string, no allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moxie::engine {

class StopMatcher {
 public:
  // Keeps its own copy of the strings. None may be empty.
  explicit StopMatcher(const std::vector<std::string>& stops);

  struct Match {
    std::string_view stop;
    int64_t begin;  // offsets in the whole text fed so far
    int64_t end;
  };
  // The stop string that ends first in the text; of several that end there, the first listed. After
  // a match nothing more may be fed.
  std::optional<Match> Feed(std::string_view text);

  // Bytes at the end of the text that may be the beginning of a stop string: to be held back.
  int64_t undecided() const;
  int64_t text_size() const { return text_size_; }

 private:
  struct Automaton {
    std::string stop;
    std::vector<int32_t> border;  // [stop.size()+1] longest proper border of each prefix
    int32_t matched = 0;          // bytes of `stop` that end the text so far
    bool Advance(char c);         // true when all of `stop` is matched
  };
  std::vector<Automaton> automata_;
  int64_t text_size_ = 0;
};

}  // namespace moxie::engine
