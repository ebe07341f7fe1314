// PrefixCache: which block of the KV cache holds the keys and values of which tokens, so that a
// prompt that begins as an earlier one need not be run again.
//
// A full block is named by what its contents depend on: the prefix before it and its own tokens.
// Names are compared in full, never by a hash, so no two contents can be taken for one another; the
// hash only finds the place in the table, and a secret seed keeps clients from choosing it. (vLLM
// chains hashes instead, and trusts them.)
//
// Everything is allocated at construction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace moxie::engine {

// All tokens up to some block's end, and what else keys and values depend on. A scope's name is a
// SHA-256, that of a prefix a number never given twice.
using PrefixId = std::array<uint64_t, 4>;

// A part of what a request's keys and values depend on, or must not be shared across.
struct ScopePart {
  enum class Kind : uint8_t { kSalt = 1, kLoraName = 2, kLoraVersion = 3 };
  Kind kind;
  std::string_view value;
};

// The prefix of no token yet: each part goes in with its kind and length, so that no value can
// stand for another's. Throws std::bad_alloc.
PrefixId MakeScope(std::span<const ScopePart> parts);

class PrefixCache {
 public:
  // For `blocks` blocks of `block_tokens` tokens. Without a seed the cache is off: it finds nothing
  // and names nothing.
  PrefixCache(int64_t blocks, int64_t block_tokens, std::optional<uint64_t> seed);
  static int64_t Bytes(int64_t blocks, int64_t block_tokens);

  bool enabled() const { return enabled_; }

  struct Hit {
    int32_t block = 0;
    PrefixId prefix;  // with the block's tokens
  };
  // The block that holds `tokens` after `before`. REQUIRES: block_tokens tokens.
  std::optional<Hit> Find(const PrefixId& before, std::span<const int32_t> tokens) const;
  // `block` holds `tokens` after `before`; gives the prefix with them. When another block holds the
  // same, that one keeps the name. REQUIRES: enabled(), !Knows(block).
  PrefixId Name(int32_t block, const PrefixId& before, std::span<const int32_t> tokens);
  // The block will hold something else. It need not have a name.
  void Forget(int32_t block);
  bool Knows(int32_t block) const { return enabled_ && names_[Index(block)].id != 0; }

  // Every name is found where it is looked for; an error says which is not.
  Status Check() const;

 private:
  struct Entry {
    PrefixId before{};
    uint64_t id = 0;  // 0: no name
  };
  static constexpr int32_t kEmpty = -1;
  static size_t Index(int64_t i) { return static_cast<size_t>(i); }

  std::span<const int32_t> tokens(int32_t block) const;
  uint64_t Home(const PrefixId& before, std::span<const int32_t> tokens) const;
  uint64_t HomeOf(int32_t block) const;
  // Of the entry, or of the empty place where its search ends.
  uint64_t Place(const PrefixId& before, std::span<const int32_t> tokens) const;

  const bool enabled_;
  const int64_t block_tokens_;
  const uint64_t seed_;
  uint64_t last_id_ = 0;
  std::vector<Entry> names_;     // [blocks]
  std::vector<int32_t> tokens_;  // [blocks, block_tokens]
  std::vector<int32_t> table_;   // open addressing, at most half full
  uint64_t mask_ = 0;
};

}  // namespace moxie::engine
