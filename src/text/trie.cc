#include "text/trie.h"

#include <algorithm>

namespace moxie::text {

Trie::Trie(std::vector<std::pair<std::string_view, int32_t>> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  struct Pending {  // a node whose children are still to be made: entries [begin, end) share
                    // `depth` bytes
    size_t begin, end, depth;
  };
  std::vector<Pending> pending = {{0, entries.size(), 0}};
  nodes_.emplace_back();
  labels_.push_back(0);
  for (size_t i = 0; i < pending.size(); ++i) {
    auto [begin, end, depth] = pending[i];
    while (begin < end && entries[begin].first.size() == depth) {
      if (depth > 0) nodes_[i].value = entries[begin].second;
      ++begin;
    }
    nodes_[i].children = static_cast<int32_t>(nodes_.size());
    while (begin < end) {
      char label = entries[begin].first[depth];
      size_t next = begin;
      while (next < end && entries[next].first[depth] == label) ++next;
      nodes_.emplace_back();
      labels_.push_back(static_cast<unsigned char>(label));
      pending.push_back({begin, next, depth + 1});
      ++nodes_[i].count;
      begin = next;
    }
  }
  for (int b = 0; b < 256; ++b) {
    first_[static_cast<size_t>(b)] = Child(nodes_[0], static_cast<unsigned char>(b));
  }
}

int32_t Trie::Child(const Node& n, unsigned char byte) const {
  const unsigned char* begin = labels_.data() + n.children;
  const unsigned char* end = begin + n.count;
  const unsigned char* it =
      n.count < 8 ? std::find(begin, end, byte) : std::lower_bound(begin, end, byte);
  if (it == end || *it != byte) return -1;
  return static_cast<int32_t>(it - labels_.data());
}

}  // namespace moxie::text
