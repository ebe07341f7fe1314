#include "api/fields.h"

#include <algorithm>

#include "api/field_values.h"
#include "api/reply.h"

namespace moxie::api {
namespace {

const FieldRow* FindField(std::span<const FieldRow> fields, std::string_view name) {
  const auto row = std::ranges::find(fields, name, &FieldRow::name);
  return row == fields.end() ? nullptr : &*row;
}

// 1 and 1.0 are the same value: which of them a client sends depends on its language.
bool IsFallback(const FieldRow& row, const Json& value) {
  const Result<Json> fallback = ParseJson(row.fallback);
  if (!fallback.ok()) return false;
  if (!value.is_number() || !fallback->is_number()) return value == *fallback;
  return value.to_number<double>() == fallback->to_number<double>();
}

Status Refuse(const FieldRow& row, const Json& value) {
  if (IsFallback(row, value)) return {};
  return InvalidArgument(row.name, ": is not supported: ", row.why);
}

Status TakeField(const FieldRow& row, const Json& value, Body& body) {
  switch (row.kind) {
    case FieldClass::kHonoured:
      return row.set(value, body);
    case FieldClass::kIgnored:
      return {};
    case FieldClass::kRefused:
      return Refuse(row, value);
  }
  return {};
}

Status TakeUnknown(std::string_view name, Body& body) {
  if (name.starts_with("guided_")) {
    return InvalidArgument(name, ": was removed; answers cannot be constrained to a grammar");
  }
  body.unknown.emplace_back(name);
  return {};
}

// Own fields come first: an endpoint may give a shared name its own meaning.
Status TakeFields(const Json& json, std::span<const FieldRow> own, Body& body) {
  if (!json.is_object()) {
    return InvalidArgument("the body must be a JSON object, got ", JsonTypeName(json));
  }
  for (const auto& member : json.get_object()) {
    if (member.value().is_null()) continue;
    const std::string_view name = member.key();
    const FieldRow* row = FindField(own, name);
    if (row == nullptr) row = FindField(SamplingFields(), name);
    MOXIE_RETURN_IF_ERROR(row != nullptr ? TakeField(*row, member.value(), body)
                                         : TakeUnknown(name, body));
  }
  return {};
}

// What no single field can say.
Status CheckTogether(const Body& body) {
  if (body.has_stream_options && !body.stream) {
    return InvalidArgument("stream_options: only with \"stream\": true");
  }
  if (body.sampling.prompt_logprobs && body.stream) {
    return InvalidArgument("prompt_logprobs: not with \"stream\": true");
  }
  const int64_t prompts = body.chat ? 1 : static_cast<int64_t>(body.prompts.size());
  if (body.n < 1 || body.n > kMaxChoices / prompts) {
    return InvalidArgument("n: must be at least 1, and at most ", kMaxChoices,
                           " choices for all prompts together, got ", body.n, " for ", prompts,
                           prompts == 1 ? " prompt" : " prompts");
  }
  return {};
}

// The chat's way to ask for log-probabilities, and for a length, in the engine's words.
Status TranslateChat(Body& body) {
  const Chat& chat = *body.chat;
  if (chat.messages.is_null()) return InvalidArgument("messages: is required");
  if (chat.top_logprobs && !chat.logprobs) {
    return InvalidArgument("top_logprobs: only with \"logprobs\": true");
  }
  if (chat.logprobs) body.sampling.logprobs = chat.top_logprobs.value_or(0);
  if (chat.max_completion_tokens) body.sampling.max_tokens = chat.max_completion_tokens;
  return {};
}

}  // namespace

bool IsField(std::string_view name) {
  for (auto table : {SamplingFields(), CompletionFields(), ChatFields()}) {
    if (FindField(table, name) != nullptr) return true;
  }
  return name.starts_with("guided_");
}

Result<Body> ParseCompletion(const Json& json, const engine::SamplingParams& defaults) {
  Body body;
  body.format = &CompletionFormat();
  body.sampling = defaults;
  MOXIE_RETURN_IF_ERROR(TakeFields(json, CompletionFields(), body));
  if (body.prompts.empty()) return InvalidArgument("prompt: is required");
  MOXIE_RETURN_IF_ERROR(CheckTogether(body));
  return body;
}

Result<Body> ParseChat(const Json& json, const engine::SamplingParams& defaults) {
  Body body;
  body.format = &ChatFormat();
  body.sampling = defaults;
  body.add_special_tokens = false;  // the template writes them
  body.chat.emplace();
  MOXIE_RETURN_IF_ERROR(TakeFields(json, ChatFields(), body));
  MOXIE_RETURN_IF_ERROR(TranslateChat(body));
  MOXIE_RETURN_IF_ERROR(CheckTogether(body));
  return body;
}

}  // namespace moxie::api
