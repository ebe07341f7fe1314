// Tokens and their ids. Ids need not be dense; a piece has one id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace moxie::text {

// A fast hash of short strings; not for untrusted keys that must not collide.
uint64_t HashBytes(std::string_view bytes);

// Larger ids are refused: a table of all ids must stay small.
inline constexpr int32_t kMaxTokenId = 4'000'000;

class Vocabulary {
 public:
  void Reserve(size_t tokens, size_t bytes);
  // The piece gets this id. A piece given twice keeps the last id, an id given twice the last
  // piece, as a JSON object's readers have it.
  Status Add(std::string_view piece, int64_t id);

  std::optional<int32_t> Find(std::string_view piece) const {
    return Find(piece, HashBytes(piece));
  }
  // The same with HashBytes(piece) at hand. Prefetch starts to bring in what Find will read: a
  // large table misses every cache.
  std::optional<int32_t> Find(std::string_view piece, uint64_t hash) const;
  void Prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[Index(hash)]);
  }
  // The piece of an id; no value where the id has none.
  std::optional<std::string_view> Piece(int32_t id) const;
  // Number of different pieces.
  size_t size() const { return count_; }
  // One more than the largest id.
  int32_t id_end() const { return static_cast<int32_t>(pieces_.size()); }

 private:
  struct Span {
    uint32_t offset = 0;
    uint32_t length = kNone;
  };
  struct Slot {
    uint32_t hash = 0;
    int32_t id = -1;  // -1: free
    Span piece;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  size_t Index(uint64_t hash) const { return (hash >> 32) & (slots_.size() - 1); }
  std::string_view View(Span s) const {
    return std::string_view(bytes_).substr(s.offset, s.length);
  }
  Slot* FindSlot(uint32_t hash, std::string_view piece);
  void Grow(size_t slots);

  std::string bytes_;         // all pieces, one after the other
  std::vector<Span> pieces_;  // by id
  std::vector<Slot> slots_;   // open addressing; a power of two
  size_t count_ = 0;
};

}  // namespace moxie::text
