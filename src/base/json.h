// JSON: Boost.JSON's value, which keeps the order of an object's members and looks them up by hash.
// Parsing is strict RFC 8259, bounded in depth and bytes, and never throws across this header.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/status.h"

namespace moxie {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

struct JsonLimits {
  size_t max_depth = 64;
  size_t max_bytes = size_t{64} << 20;
};

// Errors name the line and column and what was expected: `line 3, column 7: syntax error`.
Result<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});

// Reads and parses a file; errors start with the path.
Result<Json> ReadJsonFile(const std::filesystem::path& path, const JsonLimits& limits = {});

// Compact text, members in order. Doubles print in the shortest form that reads back equal.
std::string DumpJson(const Json& value);

// As Python's json.dumps(value, indent=indent, ensure_ascii=False).
std::string DumpJsonPretty(const Json& value, int indent = 2);

// "null", "a boolean", "an integer", "a number", "a string", "an array", "an object": for messages.
std::string_view JsonTypeName(const Json& value);

}  // namespace moxie
