// Budget: what the process may use, and who says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "base/status.h"

namespace moxie::memory {

// A number of bytes that something outside the process does not let it pass.
struct Limit {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  std::string source = "none";  // "MemTotal", "NUMA node 1", "cgroup /a/memory.max", "RLIMIT_AS"

  bool exists() const { return bytes != std::numeric_limits<int64_t>::max(); }
};

// Two limits, one for each total of a plan.
struct Budget {
  Limit memory;              // of resident bytes
  Limit address_space;       // of mapped bytes, touched or not; taken whole
  double utilization = 1.0;  // share of `memory` that moxie may take

  // Of resident bytes.
  int64_t bytes() const {
    return static_cast<int64_t>(static_cast<double>(memory.bytes) * utilization);
  }
};

// memory: the tightest of physical memory, that of the NUMA nodes this process may allocate on, and
// the limits of its cgroups (v1 and v2, parents included). address_space: RLIMIT_AS. `utilization`
// is a share of the former, as vLLM's --gpu-memory-utilization is on a CPU: of all there is, not of
// what is free. `root` is where /proc and /sys are looked for: a test's tree.
Result<Budget> DetectBudget(double utilization, const std::filesystem::path& root = "/");

}  // namespace moxie::memory
