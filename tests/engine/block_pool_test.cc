#include "engine/block_pool.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/engine/case_file.h"

namespace moxie::engine {
namespace {

TEST(BlockPool, mem_last_token_boundary_CountsBlocksAndNeedsANewOneExactlyWhenFull) {
  const Json c = LoadCase("mem-last-token-boundary");
  const int64_t b = c.at("input").at("block_size").as_int64();
  const auto lengths = ToVector<int64_t>(c.at("input").at("sequence_lengths"));
  const auto blocks = ToVector<int64_t>(c.at("expected").at("blocks"));
  const JsonArray& grows = c.at("expected").at("append_needs_new_block").as_array();
  for (size_t i = 0; i < lengths.size(); ++i) {
    EXPECT_EQ(BlocksFor(lengths[i], b), blocks[i]) << lengths[i];
    EXPECT_EQ(BlocksFor(lengths[i] + 1, b) > blocks[i], grows[i].as_bool()) << lengths[i];
  }
  EXPECT_EQ(BlocksFor(0, b), c.at("expected").at("empty_sequence").at("blocks").as_int64());
}

TEST(BlockPool, mem_last_token_boundary_AThousandRoundsLeaveThePoolAsItWas) {
  const Json c = LoadCase("mem-last-token-boundary");
  const int64_t b = c.at("input").at("block_size").as_int64();
  BlockPool pool(5);
  for (int round = 0; round < 1000; ++round) {
    for (int64_t length : ToVector<int64_t>(c.at("input").at("sequence_lengths"))) {
      std::vector<int32_t> held;
      for (int64_t i = 0; i < BlocksFor(length, b); ++i) held.push_back(pool.Take());
      if (BlocksFor(length + 1, b) > BlocksFor(length, b)) held.push_back(pool.Take());
      EXPECT_EQ(pool.used(), static_cast<int64_t>(held.size()));
      for (int32_t block : held) pool.Release(block, round % 2 == 0);
      ASSERT_TRUE(pool.Check().ok()) << pool.Check().message();
    }
  }
  EXPECT_EQ(pool.free(), 5);
}

TEST(BlockPoolDeath, mem_last_token_boundary_ABlockGivenBackTwiceEndsTheProcess) {
  BlockPool pool(1);
  const int32_t block = pool.Take();
  EXPECT_DEATH(pool.Take(), "some are free");
  pool.Release(block, true);
  EXPECT_DEATH(pool.Release(block, true), "given back, once");
  EXPECT_DEATH(pool.Release(7, false), "blocks are in");
  EXPECT_DEATH(pool.Share(-1), "blocks are in");
}

TEST(BlockPool, WarmBlocksComeFirstAndThoseWorthKeepingLast) {
  BlockPool pool(3);
  EXPECT_EQ(pool.Take(), 0);
  EXPECT_EQ(pool.Take(), 1);
  pool.Release(0, true);
  pool.Release(1, false);
  EXPECT_EQ(pool.Take(), 1) << "given back last, with nothing in it";
  EXPECT_EQ(pool.Take(), 2);
  EXPECT_EQ(pool.Take(), 0) << "what is worth keeping is taken last";
}

TEST(BlockPool, SharedBlocksAreFreeWhenTheLastHolderHasGone) {
  BlockPool pool(2);
  const int32_t block = pool.Take();
  pool.Share(block);
  pool.Release(block, true);
  EXPECT_EQ(pool.free(), 1);
  pool.Release(block, true);
  EXPECT_EQ(pool.free(), 2);
  pool.Share(block);  // out of the line again
  EXPECT_EQ(pool.used(), 1);
  EXPECT_NE(pool.Take(), block);
  EXPECT_EQ(pool.free(), 0);
  EXPECT_TRUE(pool.Check().ok()) << pool.Check().message();
}

}  // namespace
}  // namespace moxie::engine
