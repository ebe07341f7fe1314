// Reads typed fields of one JSON object. The first problem is kept and later reads return defaults,
// so that a parser reads like a list of fields and checks once, at its end.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace moxie::config {

struct IntRange {
  int64_t min = 1;
  int64_t max = std::numeric_limits<int32_t>::max();
};

struct RealRange {
  double min = 0;
  double max = std::numeric_limits<double>::max();
  bool min_open = false;  // the minimum itself is refused
};

class JsonFields {
 public:
  // `where` starts every message: "config.json", "config.json: rope_scaling". `object` must outlive
  // this.
  JsonFields(const JsonObject& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  // The value, or null where the field is absent or null.
  const Json* Find(std::string_view field) const;

  // Absent and null are nullopt; a wrong type or a value out of range is an error.
  std::optional<int64_t> Int(std::string_view field, IntRange range);
  std::optional<double> Real(std::string_view field, RealRange range);
  std::optional<bool> Bool(std::string_view field);
  std::optional<std::string> String(std::string_view field);

  // As above, with a default; REQUIRED fields have none and absence is an error.
  int64_t IntOr(std::string_view field, IntRange range, std::optional<int64_t> fallback);
  double RealOr(std::string_view field, RealRange range, std::optional<double> fallback);

  // Keeps `<where>: field "<field>": <what>` when no error came before.
  void Fail(std::string_view field, std::string_view what,
            StatusCode code = StatusCode::kInvalidArgument);
  void Keep(Status status);

  const Status& status() const { return status_; }

 private:
  const JsonObject& object_;
  const std::string where_;
  Status status_;
};

}  // namespace moxie::config
