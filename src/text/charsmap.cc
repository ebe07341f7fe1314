#include "text/charsmap.h"

#include <cstring>

#include "text/unicode.h"

namespace moxie::text {
namespace {

// The fields of a unit of darts-clone's double array.
bool HasLeaf(uint32_t unit) { return (unit >> 8) & 1; }
uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t Label(uint32_t unit) { return unit & 0x800000FF; }
uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

}  // namespace

Result<CharsMap> CharsMap::Parse(std::string_view bytes) {
  uint32_t trie_bytes = 0;
  if (bytes.size() >= 4) std::memcpy(&trie_bytes, bytes.data(), 4);
  if (bytes.size() < 4 || trie_bytes > bytes.size() - 4 || trie_bytes % 4 != 0) {
    return InvalidArgument("precompiled_charsmap of ", bytes.size(), " bytes has a trie of ",
                           trie_bytes, " bytes");
  }
  CharsMap map;
  map.units_.resize(trie_bytes / 4);
  if (trie_bytes > 0) std::memcpy(map.units_.data(), bytes.data() + 4, trie_bytes);
  map.replacements_ = bytes.substr(4 + trie_bytes);
  if (!IsValidUtf8(map.replacements_)) {
    return InvalidArgument("precompiled_charsmap: its replacements are not valid UTF-8");
  }
  return map;
}

std::string_view CharsMap::Replacement(uint32_t offset) const {
  std::string_view all = replacements_;
  if (offset >= all.size() || (all[offset] & 0xC0) == 0x80) return {};
  return all.substr(offset, all.find('\0', offset) - offset);
}

template <typename F>
void CharsMap::Walk(std::string_view text, F&& visit) const {
  if (units_.empty()) return;
  uint32_t node = Offset(units_[0]);
  for (size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size() || Label(units_[node]) != byte) return;
    bool leaf = HasLeaf(units_[node]);
    node ^= Offset(units_[node]);
    if (node >= units_.size()) return;
    if (leaf && !visit(Match{i + 1, Replacement(Value(units_[node]))})) return;
  }
}

std::optional<CharsMap::Match> CharsMap::ShortestPrefix(std::string_view text) const {
  std::optional<Match> found;
  Walk(text, [&](const Match& m) {
    found = m;
    return false;
  });
  return found;
}

std::optional<CharsMap::Match> CharsMap::LongestPrefix(std::string_view text) const {
  std::optional<Match> found;
  Walk(text, [&](const Match& m) {
    found = m;
    return true;
  });
  return found;
}

}  // namespace moxie::text
