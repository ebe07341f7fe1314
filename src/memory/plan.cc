#include "memory/plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <utility>

namespace moxie::memory {
namespace {

struct OwnerTotal {
  std::string_view owner;
  int64_t bytes = 0;
};

constexpr size_t kBarWidth = 32;

// Saturates: a sum over any limit stays over it.
int64_t AddBytes(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

int64_t Resident(const Footprint& term) { return term.bytes; }
int64_t Mapped(const Footprint& term) { return term.address_space(); }

// Largest first; equal ones in order of their first term.
std::vector<OwnerTotal> TotalsByOwner(const std::vector<Footprint>& footprints,
                                      int64_t (*bytes)(const Footprint&)) {
  std::vector<OwnerTotal> totals;
  for (const Footprint& term : footprints) {
    auto row = std::ranges::find(totals, term.owner, &OwnerTotal::owner);
    if (row == totals.end()) row = totals.insert(row, {term.owner, 0});
    row->bytes = AddBytes(row->bytes, bytes(term));
  }
  std::ranges::stable_sort(totals, std::greater<>(), &OwnerTotal::bytes);
  return totals;
}

int64_t Sum(const std::vector<Footprint>& footprints, int64_t (*bytes)(const Footprint&)) {
  int64_t total = 0;
  for (const Footprint& term : footprints) total = AddBytes(total, bytes(term));
  return total;
}

// "weights 1 GiB + kv_cache 512 MiB"
std::string SumText(const std::vector<Footprint>& footprints, int64_t (*bytes)(const Footprint&)) {
  std::string sum;
  for (const OwnerTotal& row : TotalsByOwner(footprints, bytes)) {
    if (row.bytes == 0) continue;
    sum += StrCat(sum.empty() ? "" : " + ", row.owner, " ", FormatBytes(row.bytes));
  }
  return sum;
}

// "0.90 of 8.00 GiB (MemTotal)", without the fraction when it is 1.
std::string BudgetText(const Budget& budget) {
  std::string text = StrCat(FormatBytes(budget.memory.bytes), " (", budget.memory.source, ")");
  return budget.utilization == 1.0 ? text : StrCat(budget.utilization, " of ", text);
}

// A label, bytes, their share of `whole`, and the share as a bar.
std::string TableLine(std::string_view label, int64_t bytes, int64_t whole) {
  const double share =
      static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(whole, 1));
  const auto bar = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * kBarWidth + 0.5);
  std::array<char, 160> line{};
  std::snprintf(line.data(), line.size(), "  %-26.*s %10s %6.1f%%", static_cast<int>(label.size()),
                label.data(), FormatBytes(bytes).c_str(), 100 * share);
  return StrCat(line.data(), bar > 0 ? "  " : "", std::string(bar, '#'), "\n");
}

std::string TotalLine(std::string_view label, int64_t bytes, std::string_view limit) {
  std::array<char, 64> line{};
  std::snprintf(line.data(), line.size(), "  %-26.*s %10s", static_cast<int>(label.size()),
                label.data(), FormatBytes(bytes).c_str());
  return StrCat(line.data(), " ", limit, "\n");
}

}  // namespace

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kReserved:
      return "reserved";
    case Kind::kBounded:
      return "bounded";
    case Kind::kOverhead:
      return "overhead";
  }
  return "?";
}

void MemoryPlan::Add(std::vector<Footprint> footprints) {
  std::ranges::move(footprints, std::back_inserter(footprints_));
}

int64_t MemoryPlan::resident() const { return Sum(footprints_, Resident); }
int64_t MemoryPlan::address_space() const { return Sum(footprints_, Mapped); }

int64_t MemoryPlan::OwnerBytes(std::string_view owner) const {
  int64_t total = 0;
  for (const Footprint& term : footprints_) {
    if (term.owner == owner) total = AddBytes(total, term.bytes);
  }
  return total;
}

int64_t MemoryPlan::left() const {
  return std::min(budget_.bytes() - resident(), budget_.address_space.bytes - address_space());
}

Status MemoryPlan::CheckFits() const {
  if (resident() > budget_.bytes()) {
    return ResourceExhausted("does not fit in memory: ", SumText(footprints_, Resident), " = ",
                             FormatBytes(resident()), ", ",
                             FormatBytes(resident() - budget_.bytes()), " more than the budget of ",
                             FormatBytes(budget_.bytes()), ", ", BudgetText(budget_));
  }
  const Limit& limit = budget_.address_space;
  if (address_space() > limit.bytes) {
    return ResourceExhausted("does not fit in the address space: ", SumText(footprints_, Mapped),
                             " = ", FormatBytes(address_space()), ", ",
                             FormatBytes(address_space() - limit.bytes), " more than the limit of ",
                             FormatBytes(limit.bytes), " (", limit.source, ")");
  }
  return OkStatus();
}

std::string MemoryPlan::Table(bool terms) const {
  const int64_t budget = budget_.bytes();
  std::string table;
  for (const OwnerTotal& row : TotalsByOwner(footprints_, Resident)) {
    table += TableLine(row.owner, row.bytes, budget);
    for (const Footprint& term : footprints_) {
      if (terms && term.owner == row.owner)
        table += TableLine(StrCat("  ", term.name), term.bytes, budget);
    }
  }
  table += TableLine("resident", resident(), budget);
  table += TotalLine("  of a budget of", budget, StrCat("= ", BudgetText(budget_)));
  const Limit& limit = budget_.address_space;
  table +=
      TotalLine("address space", address_space(),
                limit.exists() ? StrCat("of ", FormatBytes(limit.bytes), " (", limit.source, ")")
                               : "of no limit");
  return table;
}

std::string FormatBytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 0)
    return bytes == std::numeric_limits<int64_t>::min() ? "-8192 PiB" : "-" + FormatBytes(-bytes);
  if (bytes < 1024) return StrCat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const bool whole = value == static_cast<double>(static_cast<int64_t>(value));
  const int decimals = whole || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, kUnits[unit]);
  return text.data();
}

}  // namespace moxie::memory
