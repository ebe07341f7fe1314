// Byte pair encoding. A word starts as its characters (or its bytes); the adjacent pair with the
// lowest rank, leftmost first, becomes one symbol, until no pair has a rank. With a heap of pairs
// that is O(n log n) for a word of n characters.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "text/model.h"
#include "text/word_cache.h"

namespace moxie::text {

struct BpeOptions {
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;  // characters without a token become <0x..> tokens
  bool ignore_merges = false;  // a word that is a token needs no merges
};

// Pairs of ids and what they merge to.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank;
    int32_t result;
  };
  void Reserve(size_t merges);
  // A pair given twice keeps the later rank.
  void Add(int32_t left, int32_t right, Merge merge);
  const Merge* Find(int32_t left, int32_t right) const;
  // Starts to bring in what Add will write.
  void Prefetch(int32_t left, int32_t right) const {
    if (!slots_.empty())
      __builtin_prefetch(&slots_[Hash(Key(left, right)) & (slots_.size() - 1)], 1);
  }

 private:
  struct Slot {
    uint64_t pair = kFree;
    Merge merge{};
  };
  static constexpr uint64_t kFree = UINT64_MAX;
  static uint64_t Key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  static size_t Hash(uint64_t key) {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15ull) >> 20);
  }
  void Grow(size_t slots);

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

class BpeModel : public Model {
 public:
  BpeModel(Vocabulary vocabulary, MergeTable merges, BpeOptions options);
  Status Encode(std::string_view word, std::vector<int32_t>& ids) const override;
  bool SplitsBefore(std::string_view mark) const override;

 private:
  struct Symbol {
    int32_t id;
    int32_t prev;  // -1: none
    int32_t next;  // -1: none
    bool gone;     // merged into the symbol on its left
  };
  struct Candidate {
    uint32_t rank;
    int32_t position;
    int32_t result;
    bool operator<(const Candidate& o) const {  // the heap's top is the lowest rank, then leftmost
      return rank != o.rank ? rank > o.rank : position > o.position;
    }
  };
  class Merger;

  Status AddSymbols(std::string_view word, std::vector<int32_t>& symbols) const;
  std::optional<int32_t> CharacterId(std::string_view word, size_t begin, size_t end) const;
  bool AddByteTokens(std::string_view character, std::vector<int32_t>& symbols) const;

  MergeTable merges_;
  BpeOptions options_;
  std::optional<int32_t> unk_;
  std::array<int32_t, 512> low_characters_;  // ids of U+0000..U+01FF, -1 where none
  std::array<int32_t, 256> byte_tokens_;     // ids of <0x00>..<0xFF>
  mutable WordCache cache_;
};

}  // namespace moxie::text
