// The memory plan: the sum of what each component says it needs, against a budget.
//
// Plain data. This layer knows no other layer's business: each component hands in its footprints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "memory/budget.h"

namespace moxie::memory {

enum class Kind : uint8_t {
  kReserved,  // mapped bytes equal planned bytes
  kBounded,   // heap whose high-water mark stays under the bound
  kOverhead,  // what the process and its kernel objects take beside: a constant per build
};
std::string_view Name(Kind kind);

// One term: who needs how many bytes, and why.
struct Footprint {
  std::string owner;  // "weights", "kv_cache", "arena", "engine"; unique with `name`
  std::string name;   // "layers.q_proj"
  std::string pool = "host";
  int64_t bytes = 0;  // resident when all of it is in use: what a cgroup charges
  Kind kind = Kind::kReserved;
  std::string formula;  // "30 layers x [576,576] bf16, panels of 32"
  // What RLIMIT_AS charges, where that differs: reserved but never touched (a thread's stack), or
  // kept by the kernel (page tables).
  std::optional<int64_t> mapped = std::nullopt;

  int64_t address_space() const { return mapped.value_or(bytes); }
};

class MemoryPlan {
 public:
  explicit MemoryPlan(Budget budget) : budget_(std::move(budget)) {}

  void Add(Footprint footprint) { footprints_.push_back(std::move(footprint)); }
  void Add(std::vector<Footprint> footprints);

  const std::vector<Footprint>& footprints() const { return footprints_; }
  const Budget& budget() const { return budget_; }
  // Anonymous and mapped file pages, page tables, socket buffers, all in use at once.
  int64_t resident() const;
  // Everything mapped, touched or not.
  int64_t address_space() const;
  // Sum over one owner's resident terms.
  int64_t OwnerBytes(std::string_view owner) const;
  // What may be added to both totals before one passes its limit; negative: it has.
  int64_t left() const;

  // OK when each total is within its limit; else the arithmetic, largest owners first.
  Status CheckFits() const;
  // A table for people: an owner a line, with its bytes, share and a bar; below it its terms when
  // `terms`; then both totals against their limits.
  std::string Table(bool terms = false) const;

 private:
  Budget budget_;
  std::vector<Footprint> footprints_;
};

// "1.38 GiB", "640 KiB", "12 B"
std::string FormatBytes(int64_t bytes);

}  // namespace moxie::memory
