// The fields of POST /v1/chat/completions alone.
#include "api/field_values.h"
#include "api/fields.h"
#include "text/chat_messages.h"

namespace moxie::api {
namespace {

// What the API asks of a message beyond its form, which the template's side checks.
Status CheckMessage(const std::string& where, JsonObject& message) {
  const Json* role = message.if_contains("role");
  if (role == nullptr || !role->is_string()) return {};
  const std::string name(role->get_string());
  if (!text::IsKnownRole(name)) return InvalidArgument(where, ".role: \"", name, "\" is no role");
  const Json* content = message.if_contains("content");
  if (name != "assistant" && (content == nullptr || content->is_null())) {
    return InvalidArgument(where, ".content: is required of role \"", name, "\"");
  }
  if (name == "developer")
    message["role"] = "system";  // its newer name; templates know the old one
  return {};
}

Status SetMessages(const Json& value, Body& body) {
  if (!value.is_array()) return WrongType("messages", "an array of messages", value);
  JsonArray messages = value.get_array();
  if (messages.empty()) return InvalidArgument("messages: must not be empty");
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].is_object()) continue;
    MOXIE_RETURN_IF_ERROR(CheckMessage(StrCat("messages[", i, "]"), messages[i].get_object()));
  }
  body.chat->messages = std::move(messages);
  return {};
}

Status SetKwargs(const Json& value, Body& body) {
  if (!value.is_object()) return WrongType("chat_template_kwargs", "an object", value);
  body.chat->kwargs = value;
  return {};
}

Status SetDocuments(const Json& value, Body& body) {
  if (!value.is_array()) return WrongType("documents", "an array of objects", value);
  body.chat->documents = value;
  return {};
}

// clang-format off
#define MOXIE_SET(field, read, member)                               \
  [](const Json& value, Body& body) -> Status {                      \
    MOXIE_ASSIGN_OR_RETURN(body.member, read(field, value));         \
    return {};                                                       \
  }

constexpr std::string_view kNoTools = "answers are text; there are no tool calls";

constexpr FieldRow kFields[] = {
  {.name = "messages", .type = "an array of messages", .range = "not empty", .set = SetMessages},
  {.name = "max_tokens", .type = "an integer", .range = "at least 1", .set = MOXIE_SET("max_tokens", ReadInt, sampling.max_tokens)},
  {.name = "max_completion_tokens", .type = "an integer", .range = "at least 1", .set = MOXIE_SET("max_completion_tokens", ReadInt, chat->max_completion_tokens)},
  {.name = "logprobs", .type = "a boolean", .fallback = "false", .set = MOXIE_SET("logprobs", ReadBool, chat->logprobs)},
  {.name = "top_logprobs", .type = "an integer", .range = "[0, --max-logprobs], with logprobs", .set = MOXIE_SET("top_logprobs", ReadInt, chat->top_logprobs)},
  {.name = "add_special_tokens", .type = "a boolean", .fallback = "false", .set = MOXIE_SET("add_special_tokens", ReadBool, add_special_tokens)},
  {.name = "add_generation_prompt", .type = "a boolean", .fallback = "true", .set = MOXIE_SET("add_generation_prompt", ReadBool, chat->add_generation_prompt)},
  {.name = "continue_final_message", .type = "a boolean", .range = "not with add_generation_prompt", .fallback = "false", .set = MOXIE_SET("continue_final_message", ReadBool, chat->continue_final_message)},
  {.name = "chat_template_kwargs", .type = "an object", .set = SetKwargs},
  {.name = "chat_template", .type = "a string", .range = "with --trust-request-chat-template", .set = MOXIE_SET("chat_template", ReadString, chat->chat_template)},
  {.name = "documents", .type = "an array of objects", .set = SetDocuments},
  // No effect on the answer
  {.name = "parallel_tool_calls", .type = "a boolean", .fallback = "true", .kind = FieldClass::kIgnored},
  {.name = "include_reasoning", .type = "a boolean", .fallback = "true", .kind = FieldClass::kIgnored},
  {.name = "audio", .type = "an object", .kind = FieldClass::kIgnored},  // matters with modalities
  // Would be a wrong answer if ignored
  {.name = "tools", .type = "an array", .fallback = "[]", .kind = FieldClass::kRefused, .why = kNoTools},
  {.name = "tool_choice", .type = "a string", .fallback = "\"none\"", .kind = FieldClass::kRefused, .why = kNoTools},
  {.name = "functions", .type = "an array", .fallback = "[]", .kind = FieldClass::kRefused, .why = kNoTools},
  {.name = "function_call", .type = "a string", .fallback = "\"none\"", .kind = FieldClass::kRefused, .why = kNoTools},
  {.name = "modalities", .type = "an array of strings", .fallback = "[\"text\"]", .kind = FieldClass::kRefused, .why = "answers are text"},
  {.name = "echo", .type = "a boolean", .fallback = "false", .kind = FieldClass::kRefused, .why = "use /v1/completions"},
  {.name = "reasoning_effort", .type = "a string", .kind = FieldClass::kRefused, .why = "use chat_template_kwargs, where the model's template has it"},
};
#undef MOXIE_SET
// clang-format on

}  // namespace

std::span<const FieldRow> ChatFields() { return kFields; }

}  // namespace moxie::api
