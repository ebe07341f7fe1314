#include "cli/tokenize.h"

#include <cstdint>
#include <cstdio>
#include <vector>

#include "base/json.h"
#include "cli/exit.h"
#include "text/tokenizer.h"

namespace moxie::cli {
namespace {

auto LoadTokenizer(const config::EngineConfig& config) {
  return text::Tokenizer::Load(config.tokenizer.empty() ? config.model : config.tokenizer);
}

// Standard input, to its end.
Result<std::string> ReadInput() {
  constexpr size_t kMaxBytes = size_t{64} << 20;
  std::string text;
  char buffer[1 << 16];
  while (size_t got = std::fread(buffer, 1, sizeof buffer, stdin)) {
    text.append(buffer, got);
    if (text.size() > kMaxBytes)
      return InvalidArgument("standard input has more than ", kMaxBytes, " bytes");
  }
  return text;
}

Status PrintIds(const config::CommandLine& line) {
  MOXIE_ASSIGN_OR_RETURN(auto tokenizer, LoadTokenizer(line.engine));
  std::string text;
  if (line.text.text) {
    text = *line.text.text;
  } else {
    MOXIE_ASSIGN_OR_RETURN(text, ReadInput());
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
  const std::vector<int32_t> ids(line.text.ids.begin(), line.text.ids.end());
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
