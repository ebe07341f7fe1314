#include "text/added_tokens.h"

#include <algorithm>
#include <unordered_set>

#include "text/unicode.h"

namespace moxie::text {
namespace {

// So that looking for them stays linear in the text.
constexpr size_t kMaxContent = 4096;

size_t CharacterBefore(std::string_view text, size_t pos) {
  do --pos;
  while (pos > 0 && (text[pos] & 0xC0) == 0x80);
  return pos;
}

size_t SkipSpaceBackward(std::string_view text, size_t pos) {
  while (pos > 0) {
    size_t at = CharacterBefore(text, pos), next = at;
    if (!IsWhitespace(NextCodePoint(text, &next))) break;
    pos = at;
  }
  return pos;
}

size_t SkipSpaceForward(std::string_view text, size_t pos) {
  while (pos < text.size()) {
    size_t next = pos;
    if (!IsWhitespace(NextCodePoint(text, &next))) break;
    pos = next;
  }
  return pos;
}

}  // namespace

Result<AddedTokens> AddedTokens::Create(
    std::vector<AddedToken> tokens, const std::function<std::string(std::string_view)>& normalize) {
  AddedTokens added;
  std::sort(tokens.begin(), tokens.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  added.tokens_ = std::move(tokens);
  for (const AddedToken& t : added.tokens_) {
    added.pieces_.push_back(t.normalized ? normalize(t.content) : t.content);
    if (added.pieces_.back().empty() || t.content.size() > kMaxContent) {
      return InvalidArgument("added token \"", t.content, "\": its text is empty or over ",
                             kMaxContent, " bytes");
    }
  }
  std::vector<std::pair<std::string_view, int32_t>> raw, normalized;
  for (size_t i = 0; i < added.tokens_.size(); ++i) {
    const AddedToken& t = added.tokens_[i];
    if (!added.by_id_.emplace(t.id, i).second) {
      return InvalidArgument("added token \"", t.content, "\" has id ", t.id,
                             ", which another has too");
    }
    (t.normalized ? normalized : raw).emplace_back(added.pieces_[i], static_cast<int32_t>(i));
  }
  added.MarkSpecial();
  for (auto* entries : {&raw, &normalized}) {
    auto by_text = *entries;
    std::sort(by_text.begin(), by_text.end());
    auto same = std::adjacent_find(by_text.begin(), by_text.end(),
                                   [](const auto& a, const auto& b) { return a.first == b.first; });
    if (same != by_text.end()) {
      return InvalidArgument("two added tokens are looked for as \"", same->first, "\"");
    }
  }
  added.raw_ = Trie(std::move(raw));
  added.normalized_ = Trie(std::move(normalized));
  return added;
}

// The reference compares texts: what counts is whether the piece that is decoded spells a special
// token.
void AddedTokens::MarkSpecial() {
  std::unordered_set<std::string_view> texts;
  for (const AddedToken& t : tokens_) {
    if (t.special) texts.insert(t.content);
  }
  special_.resize(static_cast<size_t>(id_end()));
  for (size_t i = 0; i < tokens_.size(); ++i) {
    special_[static_cast<size_t>(tokens_[i].id)] = texts.contains(pieces_[i]);
  }
}

const AddedToken* AddedTokens::Find(int32_t id) const {
  auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &tokens_[it->second];
}

std::string_view AddedTokens::Piece(int32_t id) const {
  auto it = by_id_.find(id);
  return it == by_id_.end() ? std::string_view() : std::string_view(pieces_[it->second]);
}

int32_t AddedTokens::id_end() const { return tokens_.empty() ? 0 : tokens_.back().id + 1; }

bool AddedTokens::StandsAlone(std::string_view text, size_t begin, size_t end) const {
  if (begin > 0) {
    size_t at = CharacterBefore(text, begin);
    if (IsWordCharacter(NextCodePoint(text, &at))) return false;
  }
  return end >= text.size() || !IsWordCharacter(NextCodePoint(text, &end));
}

// The longest token at `begin`. A special token outside the regions is data, and what it covers is
// not looked at again; where it reaches into one, a shorter token or none is taken instead, so that
// no text can hide a marker behind it. `region` is the first one that ends after `begin`, kept from
// call to call.
std::optional<AddedTokens::Match> AddedTokens::MatchAt(std::string_view text, size_t begin,
                                                       const Trie& trie,
                                                       const std::vector<Region>& regions,
                                                       std::span<const int32_t> markers,
                                                       size_t& region) const {
  while (region < regions.size() && regions[region].end <= begin) ++region;
  Region near = region < regions.size() ? regions[region] : Region{text.size(), text.size()};
  std::optional<Match> best;
  trie.ForEachPrefix(text.substr(begin), [&](size_t length, int32_t index) {
    size_t end = begin + length;
    bool inside = near.begin <= begin && end <= near.end;
    bool outside = end <= near.begin;
    const AddedToken& token = tokens_[static_cast<size_t>(index)];
    bool special = token.special || std::ranges::binary_search(markers, token.id);
    if (!special || inside || outside)
      best = Match{static_cast<size_t>(index), end, special && !inside};
  });
  return best;
}

std::vector<AddedTokens::Part> AddedTokens::Split(std::string_view text, bool normalized,
                                                  const std::vector<Region>& regions,
                                                  std::span<const int32_t> markers) const {
  const Trie& trie = normalized ? normalized_ : raw_;
  std::vector<Part> parts;
  size_t done = 0, region = 0;
  for (size_t pos = 0; !trie.empty() && pos < text.size();) {
    if (!trie.StartsWith(static_cast<unsigned char>(text[pos]))) {
      ++pos;
      continue;
    }
    std::optional<Match> match = MatchAt(text, pos, trie, regions, markers, region);
    if (!match) {
      ++pos;
      continue;
    }
    const AddedToken& t = tokens_[match->token];
    size_t begin = pos, end = match->end;
    pos = end;  // also when the match is dropped: what it covers is not looked at again
    if (match->is_data || (t.single_word && !StandsAlone(text, begin, end))) continue;
    if (t.lstrip) begin = std::max(SkipSpaceBackward(text, begin), done);
    if (t.rstrip) end = SkipSpaceForward(text, end);
    if (begin >= end) continue;  // all of it is white space that the token before took
    if (done < begin) parts.push_back({-1, done, begin});
    parts.push_back({t.id, begin, end});
    done = end;
  }
  if (done < text.size()) parts.push_back({-1, done, text.size()});
  return parts;
}

}  // namespace moxie::text
