#include "base/json.h"

#include <algorithm>
#include <boost/json/parse_options.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <charconv>
#include <cmath>

#include "base/file.h"

namespace moxie {
namespace {

// Shortest round-trip form, as Python's repr: an integral double keeps its ".0".
void DumpDouble(std::string& out, double d) {
  if (!std::isfinite(d)) {
    out += "null";
    return;
  }
  char buffer[40];
  auto [end, ec] = std::to_chars(buffer, buffer + sizeof buffer, d);
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

class Dumper {
 public:
  explicit Dumper(int indent) : indent_(indent) {}

  void Dump(const Json& v) {
    switch (v.kind()) {
      case boost::json::kind::double_:
        return DumpDouble(out_, v.get_double());
      case boost::json::kind::array:
        return DumpArray(v.get_array());
      case boost::json::kind::object:
        return DumpObject(v.get_object());
      default:
        out_ += boost::json::serialize(v);
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  void NewLine() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(indent_ * depth_), ' ');
  }
  void DumpArray(const JsonArray& array) {
    if (array.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    ++depth_;
    for (size_t i = 0; i < array.size(); ++i) {
      if (i > 0) out_ += ',';
      NewLine();
      Dump(array[i]);
    }
    --depth_;
    NewLine();
    out_ += ']';
  }
  void DumpObject(const JsonObject& object) {
    if (object.empty()) {
      out_ += "{}";
      return;
    }
    out_ += '{';
    ++depth_;
    bool first = true;
    for (const auto& member : object) {
      if (!first) out_ += ',';
      first = false;
      NewLine();
      out_ += boost::json::serialize(boost::json::string(member.key()));
      out_ += indent_ < 0 ? ":" : ": ";
      Dump(member.value());
    }
    --depth_;
    NewLine();
    out_ += '}';
  }

  const int indent_;
  int depth_ = 0;
  std::string out_;
};

std::string Position(std::string_view text, size_t offset) {
  std::string_view before = text.substr(0, offset);
  size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  size_t start = before.rfind('\n');
  size_t column = offset - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return StrCat("line ", line, ", column ", column);
}

}  // namespace

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return InvalidArgument("JSON text of ", text.size(), " bytes is over the limit of ",
                           limits.max_bytes);
  }
  boost::json::parse_options options;
  options.max_depth = limits.max_depth;
  try {
    boost::json::stream_parser parser({}, options);
    boost::json::error_code ec;
    size_t used = parser.write_some(text.data(), text.size(), ec);
    if (!ec && used == text.size()) parser.finish(ec);
    if (ec) return InvalidArgument(Position(text, used), ": ", ec.message());
    if (used < text.size()) {
      return InvalidArgument(Position(text, used), ": unexpected text after the JSON value");
    }
    return parser.release();
  } catch (const std::exception& e) {
    return ResourceExhausted("JSON: ", e.what());
  }
}

Result<Json> ReadJsonFile(const std::filesystem::path& path, const JsonLimits& limits) {
  MOXIE_ASSIGN_OR_RETURN(std::string text, ReadFile(path, limits.max_bytes));
  auto json = ParseJson(text, limits);
  if (!json.ok()) return std::move(json).status().WithContext(path.string());
  return json;
}

std::string DumpJson(const Json& value) {
  Dumper dumper(-1);
  dumper.Dump(value);
  return dumper.Take();
}

std::string DumpJsonPretty(const Json& value, int indent) {
  Dumper dumper(indent);
  dumper.Dump(value);
  return dumper.Take();
}

std::string_view JsonTypeName(const Json& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      return "an integer";
    case boost::json::kind::double_:
      return "a number";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "an array";
    case boost::json::kind::object:
      return "an object";
  }
  return "a value";
}

}  // namespace moxie
