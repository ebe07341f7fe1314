#include "engine/block_pool.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace moxie::engine {
namespace {

void Require(bool holds, const char* invariant) {
  if (holds) return;
  std::fprintf(stderr, "block pool: broken invariant: %s\n", invariant);
  std::abort();
}

}  // namespace

BlockPool::BlockPool(int64_t total)
    : free_(static_cast<size_t>(total)), held_(static_cast<size_t>(total), 0) {
  std::iota(free_.rbegin(), free_.rend(), 0);  // block 0 is taken first
}

bool BlockPool::Reserve(int64_t count) {
  if (count > available()) return false;
  promised_ += count;
  return true;
}

void BlockPool::Unreserve(int64_t count) {
  Require(count >= 0 && count <= promised_, "only promised blocks are unreserved");
  promised_ -= count;
}

int32_t BlockPool::Take() {
  Require(promised_ > 0, "only promised blocks are taken");
  --promised_;
  const int32_t block = free_.back();
  free_.pop_back();
  held_[static_cast<size_t>(block)] = 1;
  return block;
}

void BlockPool::Release(int32_t block) {
  Require(block >= 0 && block < total() && held_[static_cast<size_t>(block)] == 1,
          "only held blocks are given back, once");
  held_[static_cast<size_t>(block)] = 0;
  free_.push_back(block);
}

int64_t BlockPool::Bytes(int64_t total) {
  return total * static_cast<int64_t>(sizeof(int32_t) + sizeof(uint8_t));
}

Status BlockPool::Check() const {
  std::vector<uint8_t> seen(held_);
  for (int32_t block : free_) {
    if (block < 0 || block >= total()) return Internal("free block ", block, " is not in the pool");
    if (seen[static_cast<size_t>(block)]++ != 0)
      return Internal("block ", block, " is free twice, or free and held");
  }
  const auto missing = std::find(seen.begin(), seen.end(), 0);
  if (missing != seen.end())
    return Internal("block ", missing - seen.begin(), " is neither free nor held");
  if (promised_ < 0 || available() < 0) {
    return Internal(promised_, " blocks promised, ", free_.size(), " free");
  }
  return {};
}

}  // namespace moxie::engine
