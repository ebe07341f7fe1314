#include "memory/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace moxie::memory {
namespace {

using ::testing::HasSubstr;

Footprint Term(int64_t bytes) {
  Footprint term;
  term.owner = "weights";
  term.name = "all";
  term.bytes = bytes;
  return term;
}

TEST(Arena, IsZeroAndWritable) {
  auto arena = Arena::Map(Term(10000));
  ASSERT_TRUE(arena.ok()) << arena.status().message();
  EXPECT_EQ(arena->bytes(), 10000);
  for (std::byte b : arena->Span(0, 10000)) ASSERT_EQ(b, std::byte{0});
  arena->PreferHugePages();
  arena->Span(9990, 10)[9] = std::byte{7};
  EXPECT_EQ(arena->data()[9999], std::byte{7});
}

TEST(Arena, MovesItsBytes) {
  auto mapped = Arena::Map(Term(4096));
  ASSERT_TRUE(mapped.ok());
  Arena first = std::move(*mapped);
  first.data()[5] = std::byte{1};
  Arena second;
  second = std::move(first);
  EXPECT_EQ(second.data()[5], std::byte{1});
  EXPECT_EQ(second.bytes(), 4096);
}

TEST(Arena, OfNothingIsEmpty) {
  auto arena = Arena::Map(Term(0));
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->bytes(), 0);
  arena->PreferHugePages();
}

TEST(Arena, RefusalNamesTheTermAndTheReason) {
  auto arena = Arena::Map(Term(int64_t{1} << 60));
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(arena.status().message(),
              HasSubstr("cannot map 1024 PiB for weights all: Cannot allocate memory"));
  EXPECT_EQ(Arena::Map(Term(-1)).code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace moxie::memory
