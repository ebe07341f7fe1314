#include "memory/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace moxie::memory {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

Footprint Term(std::string owner, std::string name, int64_t bytes) {
  Footprint term;
  term.owner = std::move(owner);
  term.name = std::move(name);
  term.bytes = bytes;
  return term;
}

Budget BudgetOf(int64_t limit, double utilization) {
  Budget budget;
  budget.memory = {limit, "MemTotal"};
  budget.utilization = utilization;
  return budget;
}

TEST(FormatBytes, ThreeDigitsAndWholeNumbers) {
  const struct {
    int64_t bytes;
    const char* text;
  } kCases[] = {
      {0, "0 B"},
      {12, "12 B"},
      {1023, "1023 B"},
      {1024, "1 KiB"},
      {640 * 1024, "640 KiB"},
      {1536, "1.50 KiB"},
      {1481763717, "1.38 GiB"},
      {64 * kMiB, "64 MiB"},
      {kMiB - 1, "1.00 MiB"},
      {kMiB * 1024 * 10 + kMiB * 256, "10.2 GiB"},
      {-2048, "-2 KiB"},
      {std::numeric_limits<int64_t>::max(), "8192 PiB"},
      {std::numeric_limits<int64_t>::min(), "-8192 PiB"},
  };
  for (const auto& c : kCases) EXPECT_EQ(FormatBytes(c.bytes), c.text) << c.bytes;
}

TEST(MemoryPlan, AddsUpByOwner) {
  MemoryPlan plan(BudgetOf(100 * kMiB, 0.5));
  plan.Add(Term("weights", "q", 10 * kMiB));
  plan.Add({Term("weights", "k", 5 * kMiB), Term("kv_cache", "kv", 20 * kMiB)});
  EXPECT_EQ(plan.resident(), 35 * kMiB);
  EXPECT_EQ(plan.OwnerBytes("weights"), 15 * kMiB);
  EXPECT_EQ(plan.OwnerBytes("nobody"), 0);
  EXPECT_EQ(plan.left(), 15 * kMiB);
  EXPECT_TRUE(plan.CheckFits().ok());
}

TEST(MemoryPlan, ExactlyTheBudgetFitsAndOneByteMoreDoesNot) {
  MemoryPlan plan(BudgetOf(kMiB, 1.0));
  plan.Add(Term("weights", "q", kMiB));
  EXPECT_TRUE(plan.CheckFits().ok());
  plan.Add(Term("weights", "k", 1));
  EXPECT_EQ(plan.CheckFits().code(), StatusCode::kResourceExhausted);
}

TEST(MemoryPlan, RefusalShowsTheArithmetic) {
  MemoryPlan plan(BudgetOf(1024 * kMiB, 0.9));
  plan.Add(Term("kv_cache", "kv", 512 * kMiB));
  plan.Add(Term("weights", "q", 1024 * kMiB));
  EXPECT_EQ(
      plan.CheckFits().message(),
      "does not fit in memory: weights 1 GiB + kv_cache 512 MiB = 1.50 GiB, 614 MiB more than the "
      "budget of 922 MiB, 0.9 of 1 GiB (MemTotal)");
}

TEST(MemoryPlan, SumsOverAllBoundsStayOverTheBudget) {
  MemoryPlan plan(BudgetOf(kMiB, 1.0));
  plan.Add(Term("weights", "a", std::numeric_limits<int64_t>::max()));
  plan.Add(Term("weights", "b", std::numeric_limits<int64_t>::max()));
  EXPECT_FALSE(plan.CheckFits().ok());
}

// What is mapped but not touched, and what the kernel keeps.
TEST(MemoryPlan, HasTwoTotals) {
  MemoryPlan plan(BudgetOf(100 * kMiB, 1.0));
  plan.Add(Term("weights", "q", 30 * kMiB));
  plan.Add(Term("process", "stacks", kMiB));
  Footprint stacks = Term("process", "more_stacks", kMiB);
  stacks.mapped = 40 * kMiB;
  Footprint tables = Term("kernel", "page_tables", 2 * kMiB);
  tables.mapped = 0;
  plan.Add({stacks, tables});
  EXPECT_EQ(plan.resident(), 34 * kMiB);
  EXPECT_EQ(plan.address_space(), 71 * kMiB);
  EXPECT_EQ(plan.left(), 66 * kMiB);
}

TEST(MemoryPlan, EachTotalHasItsLimit) {
  Budget budget = BudgetOf(200 * kMiB, 0.5);
  budget.address_space = {80 * kMiB, "RLIMIT_AS"};
  MemoryPlan plan(budget);
  Footprint stacks = Term("process", "stacks", 10 * kMiB);
  stacks.mapped = 50 * kMiB;
  plan.Add({stacks, Term("weights", "q", 30 * kMiB)});
  EXPECT_EQ(plan.left(), 0);
  EXPECT_TRUE(plan.CheckFits().ok()) << "RLIMIT_AS is taken whole";
  plan.Add(Term("weights", "k", 1));
  EXPECT_EQ(plan.left(), -1);
  EXPECT_EQ(plan.CheckFits().message(),
            "does not fit in the address space: process 50 MiB + weights 30.0 MiB = 80.0 MiB, 1 B "
            "more than the limit of 80 MiB (RLIMIT_AS)");
}

TEST(MemoryPlan, TableHasALineAnOwnerAndBothTotals) {
  MemoryPlan plan(BudgetOf(100 * kMiB, 1.0));
  plan.Add(Term("kv_cache", "kv", 20 * kMiB));
  plan.Add({Term("weights", "q", 20 * kMiB), Term("weights", "k", 10 * kMiB)});
  EXPECT_EQ(plan.Table(),
            "  weights                        30 MiB   30.0%  ##########\n"
            "  kv_cache                       20 MiB   20.0%  ######\n"
            "  resident                       50 MiB   50.0%  ################\n"
            "    of a budget of              100 MiB = 100 MiB (MemTotal)\n"
            "  address space                  50 MiB of no limit\n");
  EXPECT_THAT(plan.Table(true),
              HasSubstr("    k                            10 MiB   10.0%  ###\n"));
}

TEST(Kind, HasNames) {
  EXPECT_EQ(Name(Kind::kReserved), "reserved");
  EXPECT_EQ(Name(Kind::kBounded), "bounded");
  EXPECT_EQ(Name(Kind::kOverhead), "overhead");
}

}  // namespace
}  // namespace moxie::memory
