#include "engine/stop_matcher.h"

#include <algorithm>

namespace moxie::engine {
namespace {

// border[i]: length of the longest proper prefix of stop[0, i) that is also its suffix; border[0]
// is -1.
std::vector<int32_t> Borders(std::string_view stop) {
  std::vector<int32_t> border(stop.size() + 1);
  border[0] = -1;
  int32_t k = -1;
  for (size_t i = 0; i < stop.size(); ++i) {
    while (k >= 0 && stop[static_cast<size_t>(k)] != stop[i]) k = border[static_cast<size_t>(k)];
    border[i + 1] = ++k;
  }
  return border;
}

}  // namespace

StopMatcher::StopMatcher(const std::vector<std::string>& stops) {
  automata_.reserve(stops.size());
  for (const std::string& stop : stops) automata_.push_back({stop, Borders(stop)});
}

bool StopMatcher::Automaton::Advance(char c) {
  while (matched >= 0 && stop[static_cast<size_t>(matched)] != c) {
    matched = border[static_cast<size_t>(matched)];
  }
  return ++matched == static_cast<int32_t>(stop.size());
}

std::optional<StopMatcher::Match> StopMatcher::Feed(std::string_view text) {
  for (char c : text) {
    ++text_size_;
    const Automaton* found = nullptr;
    for (Automaton& automaton : automata_) {
      if (automaton.Advance(c) && found == nullptr) found = &automaton;
    }
    if (found != nullptr) {
      return Match{found->stop, text_size_ - static_cast<int64_t>(found->stop.size()), text_size_};
    }
  }
  return std::nullopt;
}

int64_t StopMatcher::undecided() const {
  int32_t longest = 0;
  for (const Automaton& automaton : automata_) longest = std::max(longest, automaton.matched);
  return longest;
}

}  // namespace moxie::engine
