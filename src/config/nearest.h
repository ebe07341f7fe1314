// "Did you mean": the name with the fewest edits.
#pragma once

#include <span>
#include <string_view>

namespace moxie::config {

// The candidate with the smallest Levenshtein distance to `name`, the first of equals; empty when
// all differ by more than a third of `name`.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace moxie::config
