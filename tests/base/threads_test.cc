#include "base/threads.h"

#include <gtest/gtest.h>

#include <numeric>

namespace moxie {
namespace {

TEST(SplitRange, CoversEverythingOnceOnGrainBounds) {
  for (int64_t n : {0, 1, 7, 16, 100, 1000}) {
    for (int parts : {1, 2, 3, 7}) {
      for (int64_t grain : {1, 4, 32}) {
        int64_t at = 0;
        for (int i = 0; i < parts; ++i) {
          Range r = SplitRange(n, parts, i, grain);
          EXPECT_EQ(r.begin, at);
          EXPECT_TRUE(r.end == n || r.end % grain == 0);
          at = r.end;
        }
        EXPECT_EQ(at, n);
      }
    }
  }
}

TEST(ThreadPool, RunsEveryMemberOnceEachTime) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::vector<int> calls(static_cast<size_t>(threads));
    for (int i = 0; i < 500; ++i) {
      pool.Run([&](int member) { ++calls[static_cast<size_t>(member)]; });
    }
    EXPECT_EQ(calls, std::vector<int>(static_cast<size_t>(threads), 500));
  }
}

TEST(ThreadPool, StopsWhenNeverUsed) { ThreadPool pool(3); }

}  // namespace
}  // namespace moxie
