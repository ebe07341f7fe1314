#include "api/fields.h"

#include <algorithm>

#include "api/field_values.h"

namespace moxie::api {
namespace {

const FieldRow* FindField(std::span<const FieldRow> fields, std::string_view name) {
  const auto row = std::ranges::find(fields, name, &FieldRow::name);
  return row == fields.end() ? nullptr : &*row;
}

Status Refuse(const FieldRow& row, const Json& value) {
  if (DumpJson(value) == row.fallback) return {};
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
Status TakeFields(const JsonObject& object, std::span<const FieldRow> own, Body& body) {
  for (const auto& member : object) {
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
  const int64_t prompts = static_cast<int64_t>(body.prompts.size());
  if (body.n < 1 || body.n > kMaxChoices / std::max<int64_t>(prompts, 1)) {
    return InvalidArgument("n: must be at least 1, and at most ", kMaxChoices,
                           " choices for all prompts together, got ", body.n, " for ", prompts,
                           prompts == 1 ? " prompt" : " prompts");
  }
  return {};
}

}  // namespace

bool IsField(std::string_view name) {
  return FindField(SamplingFields(), name) != nullptr ||
         FindField(CompletionFields(), name) != nullptr || name.starts_with("guided_");
}

Result<Body> ParseCompletion(const Json& json, const engine::SamplingParams& defaults) {
  if (!json.is_object()) {
    return InvalidArgument("the body must be a JSON object, got ", JsonTypeName(json));
  }
  Body body;
  body.sampling = defaults;
  MOXIE_RETURN_IF_ERROR(TakeFields(json.get_object(), CompletionFields(), body));
  if (body.prompts.empty()) return InvalidArgument("prompt: is required");
  MOXIE_RETURN_IF_ERROR(CheckTogether(body));
  return body;
}

}  // namespace moxie::api
