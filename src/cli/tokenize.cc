#include "cli/tokenize.h"

#include <cstdint>
#include <cstdio>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "cli/exit.h"
#include "text/tokenizer.h"

namespace moxie::cli {
namespace {

auto LoadTokenizer(const config::EngineConfig& config) {
  return text::Tokenizer::Load(config.tokenizer.empty() ? config.model : config.tokenizer);
}

// A file, or standard input to its end.
Result<std::string> ReadInput(const std::string& file) {
  constexpr size_t kMaxBytes = size_t{64} << 20;
  if (!file.empty() && file != "-") return ReadFile(file, kMaxBytes);
  std::string text;
  char buffer[1 << 16];
  while (size_t got = std::fread(buffer, 1, sizeof buffer, stdin)) {
    text.append(buffer, got);
    if (text.size() > kMaxBytes)
      return InvalidArgument("standard input has more than ", kMaxBytes, " bytes");
  }
  return text;
}

// As PrintIds writes them: a JSON array of integers.
Result<std::vector<int32_t>> ParseIds(std::string_view text) {
  auto json = ParseJson(text);
  if (!json.ok()) return std::move(json).status().WithContext("standard input");
  std::vector<int32_t> ids;
  for (const Json& id : json->is_array() ? json->get_array() : JsonArray{Json()}) {
    const int64_t* value = id.if_int64();
    if (value == nullptr || *value != static_cast<int32_t>(*value)) {
      return InvalidArgument("standard input: expected a JSON array of token ids");
    }
    ids.push_back(static_cast<int32_t>(*value));
  }
  return ids;
}

Status PrintIds(const config::CommandLine& line) {
  MOXIE_ASSIGN_OR_RETURN(auto tokenizer, LoadTokenizer(line.engine));
  if (line.text.text && !line.text.file.empty()) {
    return InvalidArgument("--text and --file contradict each other; give one of them");
  }
  std::string text;
  if (line.text.text) {
    text = *line.text.text;
  } else {
    MOXIE_ASSIGN_OR_RETURN(text, ReadInput(line.text.file));
  }
  MOXIE_ASSIGN_OR_RETURN(
      std::vector<int32_t> ids,
      tokenizer->Encode(text, {.add_special_tokens = line.text.add_special_tokens}));
  const std::string json = DumpJson(JsonArray(ids.begin(), ids.end())) + "\n";
  std::fputs(json.c_str(), stdout);
  return OkStatus();
}

Status PrintText(const config::CommandLine& line) {
  MOXIE_ASSIGN_OR_RETURN(auto tokenizer, LoadTokenizer(line.engine));
  std::vector<int32_t> ids(line.text.ids.begin(), line.text.ids.end());
  if (ids.empty()) {
    MOXIE_ASSIGN_OR_RETURN(std::string text, ReadInput("-"));
    MOXIE_ASSIGN_OR_RETURN(ids, ParseIds(text));
  }
  for (int32_t id : ids) {
    if (!tokenizer->HasToken(id)) {
      return InvalidArgument("no token has the id ", id, "; ids go to ",
                             tokenizer->vocab_size() - 1);
    }
  }
  const std::string text = tokenizer->Decode(ids, line.text.skip_special_tokens) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  return OkStatus();
}

}  // namespace

int Tokenize(std::span<const std::string> args) {
  return RunWithFlags(config::Command::kTokenize, args, PrintIds);
}

int Detokenize(std::span<const std::string> args) {
  return RunWithFlags(config::Command::kDetokenize, args, PrintText);
}

}  // namespace moxie::cli
