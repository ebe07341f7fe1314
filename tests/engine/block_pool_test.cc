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
      ASSERT_TRUE(pool.Reserve(BlocksFor(length + 1, b)));
      std::vector<int32_t> held;
      for (int64_t i = 0; i < BlocksFor(length, b); ++i) held.push_back(pool.Take());
      if (BlocksFor(length + 1, b) > BlocksFor(length, b)) held.push_back(pool.Take());
      EXPECT_EQ(pool.used(), static_cast<int64_t>(held.size()));
      EXPECT_EQ(pool.promised(), 0);
      for (int32_t block : held) pool.Release(block);
      ASSERT_TRUE(pool.Check().ok()) << pool.Check().message();
    }
  }
  EXPECT_EQ(pool.available(), 5);
}

TEST(BlockPoolDeath, mem_last_token_boundary_ABlockGivenBackTwiceEndsTheProcess) {
  BlockPool pool(2);
  ASSERT_TRUE(pool.Reserve(1));
  const int32_t block = pool.Take();
  pool.Release(block);
  EXPECT_DEATH(pool.Release(block), "given back, once");
  EXPECT_DEATH(pool.Release(7), "given back, once");
  EXPECT_DEATH(pool.Take(), "promised");
  EXPECT_DEATH(pool.Unreserve(1), "promised");
}

TEST(BlockPool, PromisesNoMoreThanThereIs) {
  BlockPool pool(3);
  EXPECT_FALSE(pool.Reserve(4));
  EXPECT_TRUE(pool.Reserve(2));
  EXPECT_FALSE(pool.Reserve(2));
  const int32_t block = pool.Take();
  EXPECT_EQ(pool.available(), 1);
  pool.Unreserve(1);
  EXPECT_TRUE(pool.Reserve(2));
  EXPECT_FALSE(pool.Reserve(1));
  pool.Release(block);
  EXPECT_TRUE(pool.Reserve(1));
  EXPECT_EQ(pool.Take(), block) << "the warm block comes first";
}

}  // namespace
}  // namespace moxie::engine
