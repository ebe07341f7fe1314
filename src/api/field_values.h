// Readers of field values, with the errors that name what was expected. Setters for the tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/body.h"
#include "base/json.h"
#include "base/status.h"

namespace moxie::api {

// `<field>: expected <expected>, got <type or value>`.
Status WrongType(std::string_view field, std::string_view expected, const Json& value);

// An integral number of 64 bits; 5.0 is one, true and "5" are not.
Result<int64_t> ReadInt(std::string_view field, const Json& value);
Result<double> ReadReal(std::string_view field, const Json& value);
Result<bool> ReadBool(std::string_view field, const Json& value);
Result<std::string> ReadString(std::string_view field, const Json& value);
// Ids that fit an int32; whether they are in the vocabulary is the engine's to say.
Result<std::vector<int32_t>> ReadTokenIds(std::string_view field, const Json& value);
// A string, or an array of strings.
Result<std::vector<std::string>> ReadStrings(std::string_view field, const Json& value);

}  // namespace moxie::api
