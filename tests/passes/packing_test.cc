// How close packing comes to the best: against brute force on small sets of intervals, and against
// the liveness lower bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "ir/text.h"
#include "passes/buffer_assignment.h"
#include "passes/check_assignment.h"

namespace moxie::passes {
namespace {

struct Interval {
  int64_t bytes;
  int begin, end;  // both included
};

// First fit of every order of the intervals. Some order's is the best packing there is: the one
// that puts a best packing's intervals down by their offsets.
int64_t BestPacking(const std::vector<Interval>& intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t best = -1;
  do {
    std::vector<int64_t> at(intervals.size());
    int64_t arena = 0;
    for (size_t n = 0; n < order.size() && (best < 0 || arena < best); ++n) {
      const Interval& b = intervals[order[n]];
      bool moved = true;
      while (moved) {
        moved = false;
        for (size_t m = 0; m < n; ++m) {
          const Interval& o = intervals[order[m]];
          const int64_t there = at[order[m]];
          const bool together = b.begin <= o.end && o.begin <= b.end;
          if (together && at[order[n]] < there + o.bytes && there < at[order[n]] + b.bytes) {
            at[order[n]] = there + o.bytes;
            moved = true;
          }
        }
      }
      arena = std::max(arena, at[order[n]] + b.bytes);
    }
    if (best < 0 || arena < best) best = arena;
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

// A program whose buffers are exactly the intervals: storage that one op makes and a later one
// reads last. Ends come after the begins of the same point, so both are alive there.
ir::Graph ProgramOf(const std::vector<Interval>& intervals) {
  std::vector<std::pair<int, size_t>> events;  // (point, interval): begins are even, ends odd
  for (size_t i = 0; i < intervals.size(); ++i) {
    events.emplace_back(2 * intervals[i].begin, i);
    events.emplace_back(2 * intervals[i].end + 1, i);
  }
  std::sort(events.begin(), events.end());
  std::string text = "graph @g {\n";
  for (const auto& [point, i] : events) {
    text += point % 2 == 0 ? StrCat("%v", i, " = empty() : f32[", intervals[i].bytes / 4, "]\n")
                           : StrCat("custom(%v", i, ") {schema=\"read(Tensor x) -> ()\"}\n");
  }
  auto graph = ir::Parse(text + "return\n}");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *graph;
}

TEST(Packing, RandomIntervalsAreWithinFivePercentOfTheBest) {
  std::mt19937 rng(11);
  double worst = 1;
  int64_t arena = 0, best_arena = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Interval> intervals(2 + rng() % 7);
    for (Interval& i : intervals) {
      i.bytes = 64 * (1 + static_cast<int64_t>(rng() % 50));
      i.begin = static_cast<int>(rng() % 12);
      i.end = i.begin + static_cast<int>(rng() % 6);
    }
    const ir::Graph graph = ProgramOf(intervals);
    auto a = AssignBuffers(graph, {}, [](const ir::Graph&, const ir::Op&) { return 0; });
    ASSERT_TRUE(a.ok()) << a.status().message();
    ASSERT_TRUE(CheckAssignment(graph, {}, *a).ok());
    const int64_t best = BestPacking(intervals);
    EXPECT_GE(a->arena_bytes, best);
    EXPECT_LE(static_cast<double>(a->arena_bytes), 1.05 * static_cast<double>(best))
        << Print(graph, *a);
    worst = std::max(worst, static_cast<double>(a->arena_bytes) / static_cast<double>(best));
    arena += a->arena_bytes;
    best_arena += best;
  }
  std::printf("packing: 200 interval sets, %.4f of the best in total, %.4f at worst\n",
              static_cast<double>(arena) / static_cast<double>(best_arena), worst);
}

}  // namespace
}  // namespace moxie::passes
