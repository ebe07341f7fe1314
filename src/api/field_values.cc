#include "api/field_values.h"

#include <cmath>
#include <limits>

namespace moxie::api {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

std::string Element(std::string_view field, size_t index) { return StrCat(field, "[", index, "]"); }

}  // namespace

Status WrongType(std::string_view field, std::string_view expected, const Json& value) {
  const bool number = value.is_number();
  return InvalidArgument(field, ": expected ", expected, ", got ",
                         number ? DumpJson(value) : std::string(JsonTypeName(value)));
}

Result<int64_t> ReadInt(std::string_view field, const Json& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_double()) {
    const double real = value.get_double();
    if (real == std::trunc(real) && real >= -kTwoTo63 && real < kTwoTo63) {
      return static_cast<int64_t>(real);
    }
  }
  return WrongType(field, "an integer of 64 bits", value);
}

Result<double> ReadReal(std::string_view field, const Json& value) {
  if (!value.is_number()) return WrongType(field, "a number", value);
  return value.to_number<double>();
}

Result<bool> ReadBool(std::string_view field, const Json& value) {
  if (!value.is_bool()) return WrongType(field, "a boolean", value);
  return value.get_bool();
}

Result<std::string> ReadString(std::string_view field, const Json& value) {
  if (!value.is_string()) return WrongType(field, "a string", value);
  return std::string(value.get_string());
}

Result<std::vector<int32_t>> ReadTokenIds(std::string_view field, const Json& value) {
  if (!value.is_array()) return WrongType(field, "an array of token ids", value);
  const JsonArray& array = value.get_array();
  std::vector<int32_t> ids;
  ids.reserve(array.size());
  for (size_t i = 0; i < array.size(); ++i) {
    MOXIE_ASSIGN_OR_RETURN(const int64_t id, ReadInt(Element(field, i), array[i]));
    if (id < 0 || id > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument(Element(field, i), ": ", id, " is not a token id");
    }
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

Result<std::vector<std::string>> ReadStrings(std::string_view field, const Json& value) {
  if (value.is_string()) return std::vector<std::string>{std::string(value.get_string())};
  if (!value.is_array()) return WrongType(field, "a string or an array of strings", value);
  const JsonArray& array = value.get_array();
  std::vector<std::string> strings;
  for (size_t i = 0; i < array.size(); ++i) {
    MOXIE_ASSIGN_OR_RETURN(strings.emplace_back(), ReadString(Element(field, i), array[i]));
  }
  return strings;
}

}  // namespace moxie::api
