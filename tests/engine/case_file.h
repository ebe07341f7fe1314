// The cases of tests/data/cases, and numbers in them: JSON has no NaN, so they are spelled as
// strings there.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/json.h"

namespace moxie::engine {

inline Json LoadCase(const std::string& id) {
  auto json = ReadJsonFile(std::string(MOXIE_TEST_DATA "/cases/") + id + ".json");
  EXPECT_TRUE(json.ok()) << json.status().message();
  return json.ok() ? *json : Json();
}

inline double ToNumber(const Json& json) {
  if (!json.is_string()) return json.to_number<double>();
  if (json.as_string() == "NaN") return std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  return json.as_string() == "Infinity" ? infinity : -infinity;
}

template <typename T>
std::vector<T> ToVector(const Json& json) {
  std::vector<T> out;
  for (const Json& entry : json.as_array()) out.push_back(static_cast<T>(ToNumber(entry)));
  return out;
}

inline std::string ToString(const Json& json) { return std::string(json.as_string()); }

}  // namespace moxie::engine
