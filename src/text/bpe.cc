#include "text/bpe.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "text/unicode.h"

namespace moxie::text {

void MergeTable::Reserve(size_t merges) {
  size_t slots = 16;
  while (slots < merges * 2) slots *= 2;
  if (slots > slots_.size()) Grow(slots);
}

void MergeTable::Grow(size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  count_ = 0;
  for (const Slot& s : old) {
    if (s.pair != kFree)
      Add(static_cast<int32_t>(s.pair >> 32), static_cast<int32_t>(s.pair), s.merge);
  }
}

void MergeTable::Add(int32_t left, int32_t right, Merge merge) {
  if (slots_.size() < 2 * (count_ + 1)) Grow(slots_.empty() ? 16 : slots_.size() * 2);
  uint64_t key = Key(left, right);
  size_t mask = slots_.size() - 1;
  size_t i = Hash(key) & mask;
  while (slots_[i].pair != kFree && slots_[i].pair != key) i = (i + 1) & mask;
  if (slots_[i].pair == kFree) ++count_;
  slots_[i] = {key, merge};
}

const MergeTable::Merge* MergeTable::Find(int32_t left, int32_t right) const {
  if (slots_.empty()) return nullptr;
  uint64_t key = Key(left, right);
  size_t mask = slots_.size() - 1;
  for (size_t i = Hash(key) & mask; slots_[i].pair != kFree; i = (i + 1) & mask) {
    if (slots_[i].pair == key) return &slots_[i].merge;
  }
  return nullptr;
}

// Merges the symbols of one word; its memory is kept for the thread's next word.
class BpeModel::Merger {
 public:
  void Run(const MergeTable& merges, std::vector<int32_t>& ids, size_t first) {
    auto n = static_cast<int32_t>(ids.size() - first);
    symbols_.clear();
    heap_.clear();
    for (int32_t i = 0; i < n; ++i) {
      symbols_.push_back(
          {ids[first + static_cast<size_t>(i)], i - 1, i + 1 < n ? i + 1 : -1, false});
    }
    for (int32_t i = 0; i + 1 < n; ++i) Consider(merges, i, i + 1);
    std::make_heap(heap_.begin(), heap_.end());
    heaped_ = true;
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      Candidate top = heap_.back();
      heap_.pop_back();
      Apply(merges, top);
    }
    heaped_ = false;
    ids.resize(first);
    for (const Symbol& s : symbols_) {
      if (!s.gone) ids.push_back(s.id);
    }
    Shrink();
  }

 private:
  Symbol& At(int32_t i) { return symbols_[static_cast<size_t>(i)]; }

  void Consider(const MergeTable& merges, int32_t left, int32_t right) {
    const MergeTable::Merge* m = merges.Find(At(left).id, At(right).id);
    if (!m) return;
    heap_.push_back({m->rank, left, m->result});
    if (heaped_) std::push_heap(heap_.begin(), heap_.end());
  }

  // A candidate may be stale. It still applies when the pair now at its place gives the same token,
  // whatever that pair's rank: as the reference has it.
  void Apply(const MergeTable& merges, const Candidate& c) {
    Symbol& left = At(c.position);
    if (left.gone || left.next < 0) return;
    Symbol& right = At(left.next);
    const MergeTable::Merge* m = merges.Find(left.id, right.id);
    if (!m || m->result != c.result) return;
    left.id = c.result;
    left.next = right.next;
    right.gone = true;
    if (left.next >= 0) At(left.next).prev = c.position;
    if (left.prev >= 0) Consider(merges, left.prev, c.position);
    if (left.next >= 0) Consider(merges, c.position, left.next);
  }

  // A long word's memory is given back.
  void Shrink() {
    if (symbols_.capacity() > kKeep) std::vector<Symbol>().swap(symbols_);
    if (heap_.capacity() > kKeep) std::vector<Candidate>().swap(heap_);
  }

  static constexpr size_t kKeep = 1 << 14;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  bool heaped_ = false;
};

BpeModel::BpeModel(Vocabulary vocabulary, MergeTable merges, BpeOptions options)
    : Model(std::move(vocabulary)), merges_(std::move(merges)), options_(std::move(options)) {
  if (options_.unk_token) unk_ = vocabulary_.Find(*options_.unk_token);
  for (uint32_t c = 0; c < low_characters_.size(); ++c) {
    std::string text;
    AppendUtf8(text, c);
    low_characters_[c] = vocabulary_.Find(text).value_or(-1);
  }
  for (unsigned b = 0; b < byte_tokens_.size(); ++b) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", b);
    byte_tokens_[b] = vocabulary_.Find(text).value_or(-1);
  }
}

std::optional<int32_t> BpeModel::CharacterId(std::string_view word, size_t begin,
                                             size_t end) const {
  bool prefix = begin > 0 && !options_.continuing_subword_prefix.empty();
  bool suffix = end == word.size() && !options_.end_of_word_suffix.empty();
  if (prefix || suffix) {
    std::string text = prefix ? options_.continuing_subword_prefix : "";
    text += word.substr(begin, end - begin);
    if (suffix) text += options_.end_of_word_suffix;
    return vocabulary_.Find(text);
  }
  size_t pos = begin;
  uint32_t c = NextCodePoint(word, &pos);
  if (c >= low_characters_.size()) return vocabulary_.Find(word.substr(begin, end - begin));
  int32_t id = low_characters_[c];
  return id < 0 ? std::nullopt : std::optional<int32_t>(id);
}

bool BpeModel::AddByteTokens(std::string_view character, std::vector<int32_t>& symbols) const {
  for (char b : character) {
    if (byte_tokens_[static_cast<unsigned char>(b)] < 0) return false;
  }
  for (char b : character) symbols.push_back(byte_tokens_[static_cast<unsigned char>(b)]);
  return true;
}

// The word's characters as ids. A character without a token becomes its bytes, the unknown token
// (one for a run of them with fuse_unk, put before the next known character), or nothing.
Status BpeModel::AddSymbols(std::string_view word, std::vector<int32_t>& symbols) const {
  bool unknown = false;  // an unknown token is waiting
  for (size_t begin = 0; begin < word.size();) {
    size_t end = begin + CharLength(static_cast<unsigned char>(word[begin]));
    if (std::optional<int32_t> id = CharacterId(word, begin, end)) {
      if (unknown) symbols.push_back(*unk_);
      unknown = false;
      symbols.push_back(*id);
    } else {
      std::string text(begin > 0 ? options_.continuing_subword_prefix : "");
      text += word.substr(begin, end - begin);
      if (end == word.size()) text += options_.end_of_word_suffix;
      bool bytes = options_.byte_fallback && AddByteTokens(text, symbols);
      if (!bytes && options_.unk_token) {
        if (!unk_) {
          return InvalidArgument("the text needs the unknown token \"", *options_.unk_token,
                                 "\", which is not in the vocabulary");
        }
        if (unknown && !options_.fuse_unk) symbols.push_back(*unk_);
        unknown = true;
      }
    }
    begin = end;
  }
  if (unknown) symbols.push_back(*unk_);
  return OkStatus();
}

Status BpeModel::Encode(std::string_view word, std::vector<int32_t>& ids) const {
  if (word.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return InvalidArgument("a word of ", word.size(), " bytes is too long");
  }
  uint64_t hash = HashBytes(word);
  if (cache_.Find(word, hash, ids)) return OkStatus();
  size_t first = ids.size();
  std::optional<int32_t> whole = options_.ignore_merges ? vocabulary_.Find(word) : std::nullopt;
  if (whole) {
    ids.push_back(*whole);
  } else {
    MOXIE_RETURN_IF_ERROR(AddSymbols(word, ids));
    if (ids.size() - first > 1) {
      thread_local Merger merger;
      merger.Run(merges_, ids, first);
    }
  }
  cache_.Insert(word, hash, ids.data() + first, ids.size() - first);
  return OkStatus();
}

// A merge across the cut would give a token that has the mark inside, after something else. Unknown
// characters that fuse, and tokens found whole, look further than a pair.
bool BpeModel::SplitsBefore(std::string_view mark) const {
  bool all_bytes = options_.byte_fallback && std::all_of(byte_tokens_.begin(), byte_tokens_.end(),
                                                         [](int32_t id) { return id >= 0; });
  if (options_.ignore_merges || !all_bytes || !vocabulary_.Find(mark)) return false;
  if (!options_.continuing_subword_prefix.empty() || !options_.end_of_word_suffix.empty())
    return false;
  for (int32_t id = 0; id < vocabulary_.id_end(); ++id) {
    std::string_view piece = vocabulary_.Piece(id).value_or(std::string_view());
    for (size_t at = piece.find(mark); at != std::string_view::npos;
         at = piece.find(mark, at + 1)) {
      if (at > 0 && !piece.substr(0, at).ends_with(mark)) return false;
    }
  }
  return true;
}

}  // namespace moxie::text
