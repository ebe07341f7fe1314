// BlockPool: who holds which block of the KV cache.
//
// A block has any number of holders: sequences with the same beginning share the blocks of it.
// Blocks without a holder stand in a line and are taken from its front. Those with contents that
// somebody may ask for again join at the back, the others at the front, where their pages are
// still warm; so the line's order is least recently used first.
//
// Invariants, after every call: a block is in the line exactly when it has no holder. Breaking them
// (a block given back once too often, one taken when none is free) ends the process: the cache of
// some other request would be wrong.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace moxie::engine {

// Blocks that hold `tokens` tokens.
constexpr int64_t BlocksFor(int64_t tokens, int64_t block_tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}

class BlockPool {
 public:
  explicit BlockPool(int64_t total);

  // The block at the front of the line gets its first holder. REQUIRES: free() > 0.
  int32_t Take();
  // One more holder for a block, free or not.
  void Share(int32_t block);
  // One holder fewer. The last one says whether the contents are worth keeping for later.
  void Release(int32_t block, bool keep);

  int64_t total() const { return static_cast<int64_t>(holders_.size()); }
  int64_t free() const { return free_; }
  int64_t used() const { return total() - free_; }
  int32_t holders(int32_t block) const { return holders_[static_cast<size_t>(block)]; }

  // Bytes of the pool's own tables.
  static int64_t Bytes(int64_t total);
  // Recounts everything; an error says which invariant is broken.
  Status Check() const;

 private:
  struct Link {
    int32_t before = 0;
    int32_t after = 0;
  };
  void Insert(int32_t block, int32_t before, int32_t after);
  void Remove(int32_t block);
  void RequireValid(int32_t block) const;

  std::vector<int32_t> holders_;  // [total]
  std::vector<Link> line_;        // [total + 1] a ring; the last is its start and end
  int64_t free_ = 0;
};

}  // namespace moxie::engine
