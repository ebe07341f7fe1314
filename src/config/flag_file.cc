#include "config/flag_file.h"

#include <yaml-cpp/yaml.h>

#include <optional>

#include "base/file.h"
#include "base/json.h"

namespace moxie::config {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr int kMaxDepth = 16;
constexpr int kMaxValues = 10000;  // aliases can repeat a node more often than the file has bytes

// A plain scalar's JSON: numbers, booleans and null by their text, all else (and all quoted text)
// strings.
Json ScalarJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  bool quoted = node.Tag() == "!";
  if (!quoted) {
    auto json = ParseJson(text);
    if (json.ok() && !json->is_structured()) return *json;
  }
  return Json(text);
}

// `budget` is how many values may still be made.
Result<Json> ToJson(const YAML::Node& node, int depth, int& budget) {
  if (depth > kMaxDepth) return InvalidArgument("is nested deeper than ", kMaxDepth);
  if (--budget < 0) return InvalidArgument("holds more than ", kMaxValues, " values");
  if (node.IsScalar()) return ScalarJson(node);
  if (node.IsSequence()) {
    JsonArray array;
    for (const YAML::Node& item : node) {
      MOXIE_ASSIGN_OR_RETURN(Json value, ToJson(item, depth + 1, budget));
      array.push_back(std::move(value));
    }
    return Json(std::move(array));
  }
  if (node.IsMap()) {
    JsonObject object;
    for (const auto& member : node) {
      MOXIE_ASSIGN_OR_RETURN(object[member.first.Scalar()],
                             ToJson(member.second, depth + 1, budget));
    }
    return Json(std::move(object));
  }
  return Json();
}

// One key's words, appended.
Status AppendWords(const std::string& key, const YAML::Node& value,
                   std::vector<std::string>& words) {
  if (value.IsSequence()) {
    words.push_back("--" + key);
    for (const YAML::Node& item : value) {
      if (!item.IsScalar())
        return InvalidArgument("key \"", key, "\": a list may hold plain values only");
      words.push_back(item.Scalar());
    }
    return OkStatus();
  }
  if (value.IsMap()) {
    int budget = kMaxValues;
    auto json = ToJson(value, 0, budget);
    if (!json.ok()) return std::move(json).status().WithContext(StrCat("key \"", key, "\""));
    words.push_back(StrCat("--", key, "=", DumpJson(*json)));
    return OkStatus();
  }
  if (value.IsNull()) return InvalidArgument("key \"", key, "\": has no value");
  const std::string& text = value.Scalar();
  if (key == "model" || key == "model_tag") {
    words.insert(words.begin(), text);
  } else if (text == "true") {
    words.push_back("--" + key);
  } else if (text == "false") {
    words.push_back("--no-" + key);
  } else {
    words.push_back(StrCat("--", key, "=", text));
  }
  return OkStatus();
}

Result<std::vector<std::string>> FlagFileWords(const std::string& text) {
  YAML::Node root = YAML::Load(text);
  std::vector<std::string> words;
  if (root.IsNull()) return words;
  if (!root.IsMap()) return InvalidArgument("is not a map from flag names to values");
  for (const auto& member : root) {
    if (!member.first.IsScalar()) return InvalidArgument("a key is not a flag name");
    MOXIE_RETURN_IF_ERROR(AppendWords(member.first.Scalar(), member.second, words));
  }
  return words;
}

}  // namespace

Result<std::vector<std::string>> ReadFlagFile(const std::string& path) {
  MOXIE_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMaxBytes));
  try {
    auto words = FlagFileWords(text);
    if (!words.ok()) return std::move(words).status().WithContext(path);
    return words;
  } catch (const YAML::Exception& error) {
    return InvalidArgument(path, ": line ", error.mark.line + 1, ": ", error.msg);
  }
}

}  // namespace moxie::config
