#include "cli/tokenizer_lines.h"

#include <iostream>
#include <limits>

#include "base/json.h"
#include "cli/exit.h"
#include "config/json_fields.h"
#include "text/detokenizer.h"

namespace moxie::cli {
namespace {

using config::JsonFields;

Result<std::string> FromHex(std::string_view hex) {
  auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    int high = digit(hex[i]), low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return InvalidArgument("\"hex\" is not lower-case hexadecimal");
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

Result<std::vector<int32_t>> IdsOf(const JsonArray& list) {
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    if (!id.is_int64() || id.get_int64() < 0 ||
        id.get_int64() > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("\"ids\" has an entry that is no token id");
    }
    ids.push_back(static_cast<int32_t>(id.get_int64()));
  }
  return ids;
}

Result<std::vector<int32_t>> Ids(const text::Tokenizer& tokenizer, JsonFields& fields) {
  const Json* ids = fields.Find("ids");
  if (ids && ids->is_array()) return IdsOf(ids->get_array());
  text::EncodeOptions options;
  options.add_special_tokens = fields.Bool("add").value_or(false);
  options.parse_special = fields.Bool("special").value_or(true);
  if (auto hex = fields.String("hex")) {
    MOXIE_ASSIGN_OR_RETURN(std::string bytes, FromHex(*hex));
    return tokenizer.Encode(bytes, options);
  }
  std::optional<std::string> text = fields.String("text");
  if (!text) return InvalidArgument("expected \"text\", \"hex\" or \"ids\"");
  return tokenizer.Encode(*text, options);
}

Result<JsonObject> Answer(const text::Tokenizer& tokenizer, std::string_view line) {
  MOXIE_ASSIGN_OR_RETURN(Json json, ParseJson(line));
  if (!json.is_object()) return InvalidArgument("expected an object a line");
  JsonFields fields(json.get_object(), "line");
  bool skip = fields.Bool("skip").value_or(false);
  MOXIE_ASSIGN_OR_RETURN(std::vector<int32_t> ids, Ids(tokenizer, fields));
  MOXIE_RETURN_IF_ERROR(fields.status());
  std::string decoded = tokenizer.Decode(ids, skip);
  text::IncrementalDetokenizer stream(tokenizer, skip);
  std::string joined;
  for (int32_t id : ids) stream.Push(id, joined);
  joined += stream.Flush();
  return JsonObject{{"ids", JsonArray(ids.begin(), ids.end())},
                    {"decoded", decoded},
                    {"stream", joined == decoded}};
}

}  // namespace

std::string TokenizerLine(const text::Tokenizer& tokenizer, std::string_view line) {
  Result<JsonObject> answer = Answer(tokenizer, line);
  if (answer.ok()) return DumpJson(*answer);
  return DumpJson(JsonObject{{"error", answer.status().message()}});
}

int TokenizerLines(std::span<const std::string> args) {
  constexpr std::string_view kHow = "usage: moxie tokenizer-lines DIR_OR_FILE < lines";
  if (args.size() == 1 && args[0] == "--help") {
    std::cout << kHow << std::endl;
    return kOk;
  }
  if (args.size() != 1 || args[0].starts_with("-")) return Fail(InvalidArgument(kHow), kUsage);
  auto tokenizer = text::Tokenizer::Load(args[0]);
  if (!tokenizer.ok()) return Fail(tokenizer.status());
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << TokenizerLine(**tokenizer, line) << std::endl;
  }
  return kOk;
}

}  // namespace moxie::cli
