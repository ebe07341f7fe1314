// The fields of POST /v1/completions alone.
#include "api/field_values.h"
#include "api/fields.h"

namespace moxie::api {
namespace {

constexpr std::string_view kPromptType =
    "a string, an array of strings, an array of token ids, or an array of such arrays";

// One element of a prompt array that holds whole prompts.
Result<Prompt> ReadPrompt(size_t index, const Json& value) {
  if (value.is_string()) return Prompt(std::string(value.get_string()));
  MOXIE_ASSIGN_OR_RETURN(auto ids, ReadTokenIds(StrCat("prompt[", index, "]"), value));
  return Prompt(std::move(ids));
}

Status SetPrompt(const Json& value, Body& body) {
  if (value.is_string()) {
    body.prompts.emplace_back(std::string(value.get_string()));
    return {};
  }
  if (!value.is_array()) return WrongType("prompt", kPromptType, value);
  const JsonArray& array = value.get_array();
  if (array.empty()) return InvalidArgument("prompt: must not be an empty array");
  if (array[0].is_number()) {
    MOXIE_ASSIGN_OR_RETURN(body.prompts.emplace_back(), ReadTokenIds("prompt", value));
    return {};
  }
  if (static_cast<int64_t>(array.size()) > kMaxChoices) {
    return InvalidArgument("prompt: at most ", kMaxChoices, " prompts, got ", array.size());
  }
  for (size_t i = 0; i < array.size(); ++i) {
    MOXIE_ASSIGN_OR_RETURN(body.prompts.emplace_back(), ReadPrompt(i, array[i]));
  }
  return {};
}

Status SetMaxTokens(const Json& value, Body& body) {
  MOXIE_ASSIGN_OR_RETURN(body.sampling.max_tokens, ReadInt("max_tokens", value));
  return {};
}

Status SetLogprobs(const Json& value, Body& body) {
  MOXIE_ASSIGN_OR_RETURN(body.sampling.logprobs, ReadInt("logprobs", value));
  return {};
}

Status SetEcho(const Json& value, Body& body) {
  MOXIE_ASSIGN_OR_RETURN(body.echo, ReadBool("echo", value));
  return {};
}

// clang-format off
constexpr FieldRow kFields[] = {
  {.name = "prompt", .type = kPromptType, .range = "at least one token, at most the context", .set = SetPrompt},
  {.name = "max_tokens", .type = "an integer", .range = "at least 1; 0 with echo", .fallback = "16", .set = SetMaxTokens},
  {.name = "logprobs", .type = "an integer", .range = "[0, --max-logprobs]", .set = SetLogprobs},
  {.name = "echo", .type = "a boolean", .fallback = "false", .set = SetEcho},
  {.name = "suffix", .type = "a string", .kind = FieldClass::kRefused, .why = "the model writes only after the prompt"},
  {.name = "best_of", .type = "an integer", .fallback = "1", .kind = FieldClass::kRefused, .why = "use n"},
};
// clang-format on

}  // namespace

std::span<const FieldRow> CompletionFields() { return kFields; }

}  // namespace moxie::api
