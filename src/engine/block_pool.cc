#include "engine/block_pool.h"

#include <cstdio>
#include <cstdlib>

namespace moxie::engine {
namespace {

void Require(bool holds, const char* invariant) {
  if (holds) return;
  std::fprintf(stderr, "block pool: broken invariant: %s\n", invariant);
  std::abort();
}

}  // namespace

BlockPool::BlockPool(int64_t total)
    : holders_(static_cast<size_t>(total), 0), line_(static_cast<size_t>(total) + 1), free_(total) {
  const auto count = static_cast<int32_t>(line_.size());
  for (int32_t i = 0; i < count; ++i) {  // block 0 is taken first
    line_[static_cast<size_t>(i)] = {(i + count - 1) % count, (i + 1) % count};
  }
}

void BlockPool::RequireValid(int32_t block) const {
  Require(block >= 0 && block < total(), "blocks are in [0, total)");
}

int32_t BlockPool::Take() {
  Require(free_ > 0, "blocks are taken while some are free");
  const int32_t block = line_.back().after;
  Share(block);
  return block;
}

void BlockPool::Share(int32_t block) {
  RequireValid(block);
  if (holders_[static_cast<size_t>(block)]++ == 0) Remove(block);
}

void BlockPool::Release(int32_t block, bool keep) {
  RequireValid(block);
  int32_t& holders = holders_[static_cast<size_t>(block)];
  Require(holders > 0, "only held blocks are given back, once a holder");
  if (--holders > 0) return;
  const auto end = static_cast<int32_t>(total());
  if (keep) {
    Insert(block, line_.back().before, end);
  } else {
    Insert(block, end, line_.back().after);
  }
}

void BlockPool::Insert(int32_t block, int32_t before, int32_t after) {
  line_[static_cast<size_t>(block)] = {before, after};
  line_[static_cast<size_t>(before)].after = block;
  line_[static_cast<size_t>(after)].before = block;
  ++free_;
}

void BlockPool::Remove(int32_t block) {
  const Link link = line_[static_cast<size_t>(block)];
  line_[static_cast<size_t>(link.before)].after = link.after;
  line_[static_cast<size_t>(link.after)].before = link.before;
  --free_;
}

int64_t BlockPool::Bytes(int64_t total) {
  return total * static_cast<int64_t>(sizeof(int32_t) + sizeof(Link)) +
         static_cast<int64_t>(sizeof(Link));
}

Status BlockPool::Check() const {
  const auto end = static_cast<int32_t>(total());
  int64_t in_line = 0;
  for (int32_t at = end;;) {
    const int32_t next = line_[static_cast<size_t>(at)].after;
    if (next < 0 || next > end) return Internal("the line leads to block ", next);
    if (line_[static_cast<size_t>(next)].before != at)
      return Internal("the line forks at block ", next);
    if (next == end) break;
    if (holders_[static_cast<size_t>(next)] != 0)
      return Internal("block ", next, " is free and held");
    if (++in_line > total()) return Internal("the line has no end");
    at = next;
  }
  int64_t unheld = 0;
  for (int32_t holders : holders_) {
    if (holders < 0) return Internal("a block has ", holders, " holders");
    unheld += holders == 0;
  }
  if (in_line != free_ || unheld != free_) {
    return Internal(free_, " blocks are free, ", in_line, " are in the line, ", unheld,
                    " have no holder");
  }
  return {};
}

}  // namespace moxie::engine
