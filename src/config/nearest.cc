#include "config/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace moxie::config {
namespace {

// Insertions, deletions and substitutions from a to b, by rows of the usual table.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr size_t kLongestName = 128;  // longer ones are no slip of the hand
  if (name.size() > kLongestName) return {};
  std::string_view best;
  size_t best_distance = name.size() / 3 + 1;
  for (std::string_view candidate : candidates) {
    size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace moxie::config
