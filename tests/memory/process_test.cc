#include "memory/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace moxie::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

ProcessFacts Facts() {
  ProcessFacts facts;
  facts.code = 40 * kMiB;
  facts.main_stack = 8 * kMiB;
  facts.thread_stack = 8 * kMiB + 4096;
  facts.touched_stack = 256 << 10;
  facts.socket_buffer = 144 << 10;
  return facts;
}

Footprint Find(const std::vector<Footprint>& terms, std::string_view name) {
  auto found = std::ranges::find(terms, name, &Footprint::name);
  return found == terms.end() ? Footprint{} : *found;
}

TEST(Process, EveryTermFollowsFromItsFacts) {
  MemoryPlan others(Budget{});
  Footprint heap;
  heap.bytes = 100 * kMiB;
  heap.kind = Kind::kBounded;
  Footprint weights;
  weights.bytes = 1024 * kMiB;
  others.Add({heap, weights});
  const auto terms = ProcessFootprints(Facts(), others, 5, 1000);
  EXPECT_EQ(Find(terms, "code").bytes, 40 * kMiB);
  EXPECT_EQ(Find(terms, "stacks").address_space(), 8 * kMiB + 4 * (8 * kMiB + 4096));
  EXPECT_EQ(Find(terms, "stacks").bytes, 5 * ((256 + 24) << 10));
  EXPECT_EQ(Find(terms, "allocator").bytes, (8 + 15) * kMiB);
  EXPECT_EQ(Find(terms, "allocator").address_space(), (8 + 15 + 4 * 64) * kMiB);
  EXPECT_EQ(Find(terms, "socket_buffers").bytes, 1000 * (144 << 10));
  EXPECT_EQ(Find(terms, "socket_buffers").address_space(), 0);
  // 8 bytes for each 4 KiB that can be mapped, and not much more.
  const int64_t mapped = 1124 * kMiB + (40 + 40 + 279) * kMiB;
  EXPECT_GE(Find(terms, "page_tables").bytes, mapped / 512);
  EXPECT_LE(Find(terms, "page_tables").bytes, mapped / 512 + 2 * kMiB);
  EXPECT_EQ(Find(terms, "page_tables").address_space(), 0);
}

TEST(Process, FactsOfThisProcess) {
  const ProcessFacts facts = ReadProcessFacts();
  EXPECT_GT(facts.code, kMiB);
  EXPECT_GE(facts.thread_stack, 64 << 10);
  EXPECT_GT(facts.main_stack, 0);
  EXPECT_GE(facts.touched_stack, 256 << 10);
  EXPECT_LE(facts.touched_stack, facts.thread_stack);
  EXPECT_GT(facts.socket_buffer, 4096);
  EXPECT_EQ(ReadProcessFacts().code, facts.code) << "the same when asked again";
}

}  // namespace
}  // namespace moxie::memory
