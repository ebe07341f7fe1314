#include "config/json_fields.h"

#include <cmath>

namespace moxie::config {
namespace {

// What was found, short enough for one line of a message.
std::string Shown(const Json& value) {
  constexpr size_t kMaxShown = 60;
  std::string text = DumpJson(value);
  if (text.size() <= kMaxShown) return text;
  return StrCat(JsonTypeName(value), " of ", text.size(), " characters");
}

// The value as int64; nullopt for other types and for integers beyond int64.
std::optional<int64_t> AsInt(const Json& value) {
  if (value.is_int64()) return value.get_int64();
  return std::nullopt;
}

std::optional<double> AsReal(const Json& value) {
  if (value.is_double()) return value.get_double();
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  return std::nullopt;
}

}  // namespace

const Json* JsonFields::Find(std::string_view field) const {
  const Json* value = object_.if_contains(field);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<int64_t> JsonFields::Int(std::string_view field, IntRange range) {
  const Json* value = Find(field);
  if (value == nullptr) return std::nullopt;
  std::optional<int64_t> number = AsInt(*value);
  if (!number || *number < range.min || *number > range.max) {
    Fail(field, StrCat("found ", Shown(*value), "; an integer from ", range.min, " to ", range.max,
                       " works"));
    return std::nullopt;
  }
  return number;
}

std::optional<double> JsonFields::Real(std::string_view field, RealRange range) {
  const Json* value = Find(field);
  if (value == nullptr) return std::nullopt;
  std::optional<double> number = AsReal(*value);
  bool above = number && (range.min_open ? *number > range.min : *number >= range.min);
  if (!above || !std::isfinite(*number) || *number > range.max) {
    std::string upper = range.max == RealRange{}.max ? "" : StrCat(" and at most ", range.max);
    Fail(field, StrCat("found ", Shown(*value), "; a number ",
                       range.min_open ? "above " : "of at least ", range.min, upper, " works"));
    return std::nullopt;
  }
  return number;
}

std::optional<bool> JsonFields::Bool(std::string_view field) {
  const Json* value = Find(field);
  if (value == nullptr) return std::nullopt;
  if (value->is_bool()) return value->get_bool();
  Fail(field, StrCat("found ", Shown(*value), "; true or false works"));
  return std::nullopt;
}

std::optional<std::string> JsonFields::String(std::string_view field) {
  const Json* value = Find(field);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return std::string(value->get_string());
  Fail(field, StrCat("found ", Shown(*value), "; a string works"));
  return std::nullopt;
}

int64_t JsonFields::IntOr(std::string_view field, IntRange range, std::optional<int64_t> fallback) {
  std::optional<int64_t> value = Int(field, range);
  if (!value && !fallback)
    Fail(field, StrCat("is missing; an integer from ", range.min, " to ", range.max, " works"));
  return value.value_or(fallback.value_or(range.min));
}

double JsonFields::RealOr(std::string_view field, RealRange range, std::optional<double> fallback) {
  std::optional<double> value = Real(field, range);
  if (!value && !fallback) Fail(field, "is missing; a number works");
  return value.value_or(fallback.value_or(1.0));
}

void JsonFields::Fail(std::string_view field, std::string_view what, StatusCode code) {
  Keep({code, StrCat(where_, ": field \"", field, "\": ", what)});
}

void JsonFields::Keep(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

}  // namespace moxie::config
