// The memory plan: the sum of what each component says it needs, against a budget.
//
// Plain data. This layer knows no other layer's business: each component hands in its footprints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace moxie::memory {

enum class Kind : uint8_t {
  kReserved,  // mapped bytes equal planned bytes
  kBounded,   // heap whose high-water mark stays under the bound
  kOverhead,  // a constant per build
};
std::string_view Name(Kind kind);

// One term: who needs how many bytes, and why.
struct Footprint {
  std::string owner;  // "weights", "kv_cache", "arena", "engine"; unique with `name`
  std::string name;   // "layers.q_proj"
  std::string pool = "host";
  int64_t bytes = 0;
  Kind kind = Kind::kReserved;
  std::string formula;  // "30 layers x [576,576] bf16, panels of 32"
};

// What the process may use, and who says so.
struct Budget {
  int64_t limit_bytes = 0;   // of the tightest limit, before the fraction
  std::string source;        // "MemTotal", "cgroup /a/memory.max", "RLIMIT_AS"
  double utilization = 1.0;  // fraction that moxie may take
  int64_t bytes() const {
    return static_cast<int64_t>(static_cast<double>(limit_bytes) * utilization);
  }
};

// The tightest of physical memory, the limits of this process's cgroups (v1 and v2, parents
// included) and its RLIMIT_AS. `root` is where /proc and /sys are looked for: a test's tree.
Result<Budget> DetectBudget(double utilization, const std::filesystem::path& root = "/");

class MemoryPlan {
 public:
  explicit MemoryPlan(Budget budget) : budget_(std::move(budget)) {}

  void Add(Footprint footprint) { footprints_.push_back(std::move(footprint)); }
  void Add(std::vector<Footprint> footprints);

  const std::vector<Footprint>& footprints() const { return footprints_; }
  const Budget& budget() const { return budget_; }
  int64_t total() const;
  // Sum over one owner's terms.
  int64_t OwnerBytes(std::string_view owner) const;
  int64_t left() const { return budget_.bytes() - total(); }

  // OK when the total is within the budget; else the arithmetic, largest owners first.
  Status CheckFits() const;
  // A table for people: a line an owner, its bytes and share, the total against the budget.
  std::string Table() const;

 private:
  Budget budget_;
  std::vector<Footprint> footprints_;
};

// "1.38 GiB", "640 KiB", "12 B"
std::string FormatBytes(int64_t bytes);

}  // namespace moxie::memory
