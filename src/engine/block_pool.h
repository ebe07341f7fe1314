// BlockPool: who holds which block of the KV cache.
//
// A sequence first reserves as many blocks as it can ever need, then takes them one by one as its
// tokens come, so that a reserved sequence never waits and never-reached blocks are never touched.
//
// Invariants, after every call: used + promised + available == total; each block is either free or
// held, once. Breaking them (a block given back twice, more taken than reserved) ends the process:
// the cache of some other request would be wrong.
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

  // Promises `count` blocks. False, and nothing promised, when fewer are available.
  bool Reserve(int64_t count);
  // Gives back promised blocks that were not taken.
  void Unreserve(int64_t count);
  // A promised block becomes a held one. The block given back last comes first: its pages are warm.
  int32_t Take();
  void Release(int32_t block);

  int64_t total() const { return static_cast<int64_t>(held_.size()); }
  int64_t used() const { return total() - static_cast<int64_t>(free_.size()); }
  int64_t promised() const { return promised_; }
  int64_t available() const { return static_cast<int64_t>(free_.size()) - promised_; }

  // Bytes of the pool's own tables.
  static int64_t Bytes(int64_t total);
  // Recounts everything; an error says which invariant is broken.
  Status Check() const;

 private:
  std::vector<int32_t> free_;  // a stack
  std::vector<uint8_t> held_;  // [total] 1: held by a sequence
  int64_t promised_ = 0;
};

}  // namespace moxie::engine
