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

// Saturates: a sum over any limit stays over it.
int64_t AddBytes(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

// Largest first; equal ones in order of their first term.
std::vector<OwnerTotal> TotalsByOwner(const std::vector<Footprint>& footprints) {
  std::vector<OwnerTotal> totals;
  for (const Footprint& term : footprints) {
    auto row = std::ranges::find(totals, term.owner, &OwnerTotal::owner);
    if (row == totals.end()) row = totals.insert(row, {term.owner, 0});
    row->bytes = AddBytes(row->bytes, term.bytes);
  }
  std::ranges::stable_sort(totals, std::greater<>(), &OwnerTotal::bytes);
  return totals;
}

// "0.90 of 8.00 GiB (MemTotal)", without the fraction when it is 1.
std::string BudgetText(const Budget& budget) {
  std::string text = StrCat(FormatBytes(budget.limit_bytes), " (", budget.source, ")");
  return budget.utilization == 1.0 ? text : StrCat(budget.utilization, " of ", text);
}

std::string TableLine(std::string_view label, int64_t bytes, double share) {
  std::array<char, 128> line{};
  std::snprintf(line.data(), line.size(), "  %-16.*s %12s %6.1f%%\n",
                static_cast<int>(label.size()), label.data(), FormatBytes(bytes).c_str(),
                100 * share);
  return line.data();
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

int64_t MemoryPlan::total() const {
  int64_t total = 0;
  for (const Footprint& term : footprints_) total = AddBytes(total, term.bytes);
  return total;
}

int64_t MemoryPlan::OwnerBytes(std::string_view owner) const {
  int64_t total = 0;
  for (const Footprint& term : footprints_) {
    if (term.owner == owner) total = AddBytes(total, term.bytes);
  }
  return total;
}

Status MemoryPlan::CheckFits() const {
  if (total() <= budget_.bytes()) return OkStatus();
  std::string sum;
  for (const OwnerTotal& row : TotalsByOwner(footprints_)) {
    sum += StrCat(sum.empty() ? "" : " + ", row.owner, " ", FormatBytes(row.bytes));
  }
  return ResourceExhausted("does not fit in memory: ", sum, " = ", FormatBytes(total()), ", ",
                           FormatBytes(total() - budget_.bytes()), " more than the budget of ",
                           FormatBytes(budget_.bytes()), ", ", BudgetText(budget_));
}

std::string MemoryPlan::Table() const {
  const double budget = std::max<double>(1, static_cast<double>(budget_.bytes()));
  std::string table;
  for (const OwnerTotal& row : TotalsByOwner(footprints_)) {
    table += TableLine(row.owner, row.bytes, static_cast<double>(row.bytes) / budget);
  }
  table += TableLine("total", total(), static_cast<double>(total()) / budget);
  table +=
      StrCat("  of a budget of ", FormatBytes(budget_.bytes()), ": ", BudgetText(budget_), "\n");
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
