// Byte strings with values, walked byte by byte. Built once; nodes in one array, the children of a
// node side by side and sorted.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace moxie::text {

class Trie {
 public:
  // `entries` need not be sorted; of equal strings the last value counts. Empty strings are left
  // out.
  explicit Trie(std::vector<std::pair<std::string_view, int32_t>> entries);
  Trie() : Trie(std::vector<std::pair<std::string_view, int32_t>>()) {}

  bool empty() const { return nodes_.size() == 1; }
  // Whether some string starts with this byte.
  bool StartsWith(unsigned char byte) const { return first_[byte] >= 0; }

  // Calls visit(length, value) for each string that is a prefix of `text`, shortest first.
  template <typename F>
  void ForEachPrefix(std::string_view text, F&& visit) const {
    if (text.empty()) return;
    int32_t node = first_[static_cast<unsigned char>(text[0])];
    for (size_t i = 1; node >= 0; ++i) {
      const Node& n = nodes_[static_cast<size_t>(node)];
      if (n.value >= 0) visit(i, n.value);
      if (i >= text.size()) return;
      node = Child(n, static_cast<unsigned char>(text[i]));
    }
  }

 private:
  struct Node {
    int32_t children = 0;  // the first one's index in nodes_ and labels_
    int16_t count = 0;
    int32_t value = -1;
  };
  int32_t Child(const Node& n, unsigned char byte) const;

  std::vector<Node> nodes_;  // [0] is the root
  std::vector<unsigned char> labels_;
  std::array<int32_t, 256> first_;  // the root's children
};

}  // namespace moxie::text
