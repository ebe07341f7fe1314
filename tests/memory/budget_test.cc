// DetectBudget on made-up /proc and /sys trees: both cgroup versions, parents, containers.
#include "memory/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace moxie::memory {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

class BudgetTest : public ::testing::Test {
 protected:
  BudgetTest() {
    std::string name = (fs::temp_directory_path() / "moxie-test-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    Write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:        1 kB\n");
  }
  ~BudgetTest() override { fs::remove_all(root_); }

  void Write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void ExpectLimit(int64_t bytes, const std::string& source) const {
    auto budget = DetectBudget(0.5, root_);
    ASSERT_TRUE(budget.ok()) << budget.status().message();
    EXPECT_EQ(budget->memory.bytes, bytes);
    EXPECT_EQ(budget->memory.source, source);
    EXPECT_EQ(budget->bytes(), bytes / 2);
  }

  fs::path root_;
};

TEST_F(BudgetTest, PhysicalMemory) { ExpectLimit(16 * kGiB, "MemTotal"); }

TEST_F(BudgetTest, Version2TakesTheTightestOfGroupAndParents) {
  Write("proc/self/cgroup", "0::/a/b/c\n");
  Write("sys/fs/cgroup/a/memory.max", StrCat(8 * kGiB, "\n"));
  Write("sys/fs/cgroup/a/b/memory.max", StrCat(2 * kGiB, "\n"));
  Write("sys/fs/cgroup/a/b/c/memory.max", "max\n");
  ExpectLimit(2 * kGiB, "cgroup /a/b/memory.max");
  Write("sys/fs/cgroup/a/b/c/memory.max", StrCat(kGiB, "\n"));
  ExpectLimit(kGiB, "cgroup /a/b/c/memory.max");
  Write("sys/fs/cgroup/a/memory.max", "4096\n");
  ExpectLimit(4096, "cgroup /a/memory.max");
}

TEST_F(BudgetTest, Version2InAContainerIsItsOwnRoot) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", StrCat(3 * kGiB, "\n"));
  ExpectLimit(3 * kGiB, "cgroup /memory.max");
  // A process that was moved in from outside the container's root.
  Write("proc/self/cgroup", "0::/../other\n");
  Write("sys/fs/other/memory.max", "1\n");
  ExpectLimit(3 * kGiB, "cgroup /memory.max");
}

TEST_F(BudgetTest, Version1TakesTheTightestOfGroupAndParents) {
  Write("proc/self/cgroup", "11:cpu,cpuacct:/x\n4:memory:/docker/abc\n1:name=systemd:/x\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  ExpectLimit(16 * kGiB, "MemTotal");
  // The path is the host's; inside, the group's files are at the mount.
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", StrCat(5 * kGiB, "\n"));
  ExpectLimit(5 * kGiB, "cgroup /memory.limit_in_bytes");
  Write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", StrCat(kGiB, "\n"));
  ExpectLimit(kGiB, "cgroup /docker/abc/memory.limit_in_bytes");
}

TEST_F(BudgetTest, BothVersionsAtOnce) {
  Write("proc/self/cgroup", "4:memory:/a\n0::/b\n");
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", StrCat(4 * kGiB, "\n"));
  ExpectLimit(4 * kGiB, "cgroup /a/memory.limit_in_bytes");
  Write("sys/fs/cgroup/unified/b/memory.max", StrCat(2 * kGiB, "\n"));
  ExpectLimit(2 * kGiB, "cgroup /b/memory.max");
}

TEST_F(BudgetTest, AddressSpaceLimit) {
  Write("proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units\n"
        "Max address space         unlimited            unlimited            bytes\n");
  EXPECT_FALSE(DetectBudget(0.5, root_)->address_space.exists());
  Write("proc/self/limits",
        "Max address space         1073741824           unlimited            bytes\n");
  ExpectLimit(16 * kGiB, "MemTotal");
  EXPECT_EQ(DetectBudget(0.5, root_)->address_space.bytes, kGiB) << "a limit, not a share of it";
  EXPECT_EQ(DetectBudget(0.5, root_)->address_space.source, "RLIMIT_AS");
}

TEST_F(BudgetTest, NumaNodesThatWeMayAllocateOn) {
  for (int node = 0; node < 4; ++node) {
    Write(StrCat("sys/devices/system/node/node", node, "/meminfo"),
          StrCat("Node ", node, " MemTotal:        4194304 kB\nNode ", node, " MemFree: 9 kB\n"));
  }
  Write("proc/self/status", "Name:\tmoxie\nMems_allowed:\t0f\nMems_allowed_list:\t0-3\n");
  ExpectLimit(16 * kGiB, "MemTotal");
  Write("proc/self/status", "Mems_allowed_list:\t0,2-3\n");
  ExpectLimit(12 * kGiB, "NUMA node 0, 2, 3");
  Write("proc/self/status", "Mems_allowed_list:\t1\n");
  ExpectLimit(4 * kGiB, "NUMA node 1");
  // A cgroup may be tighter still, and a node that we cannot see sets no limit.
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", StrCat(kGiB, "\n"));
  ExpectLimit(kGiB, "cgroup /memory.max");
  Write("sys/fs/cgroup/memory.max", "max\n");
  Write("proc/self/status", "Mems_allowed_list:\t1,7\n");
  ExpectLimit(16 * kGiB, "MemTotal");
}

TEST_F(BudgetTest, Version2CountsTheSoftLimitToo) {
  Write("proc/self/cgroup", "0::/a\n");
  Write("sys/fs/cgroup/a/memory.max", StrCat(8 * kGiB, "\n"));
  Write("sys/fs/cgroup/a/memory.high", StrCat(2 * kGiB, "\n"));
  ExpectLimit(2 * kGiB, "cgroup /a/memory.high");
}

TEST_F(BudgetTest, BrokenFilesSetNoLimit) {
  Write("proc/self/cgroup", "nonsense\n:\n0::\n0::/a/\n4:memory\n");
  Write("sys/fs/cgroup/a/memory.max", "-5\n");
  Write("sys/fs/cgroup/memory.max", "");
  ExpectLimit(16 * kGiB, "MemTotal");
}

TEST_F(BudgetTest, Refusals) {
  for (double utilization : {0.0, -0.5, 1.5, std::nan("")}) {
    EXPECT_EQ(DetectBudget(utilization, root_).code(), StatusCode::kInvalidArgument);
  }
  fs::remove(root_ / "proc/meminfo");
  EXPECT_THAT(DetectBudget(0.9, root_).status().message(), HasSubstr("meminfo: has no MemTotal"));
}

TEST(Budget, ThisMachineHasOne) {
  auto budget = DetectBudget(0.9);
  ASSERT_TRUE(budget.ok()) << budget.status().message();
  EXPECT_GT(budget->bytes(), 0);
}

}  // namespace
}  // namespace moxie::memory
