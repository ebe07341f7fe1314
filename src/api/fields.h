// The request fields of each endpoint, as tables: one row a field. A new field is a new row.
//
// Names that no row has are accepted, as vLLM does, except the removed guided_* ones: to ignore a
// constraint would be a wrong answer. null always means "not given".
#pragma once

#include <span>
#include <string_view>

#include "api/body.h"
#include "base/json.h"
#include "base/status.h"

namespace moxie::api {

enum class FieldClass : uint8_t {
  kHonoured,
  kIgnored,  // no effect on the answer
  kRefused,  // a value other than the fallback is an error: it would be a wrong answer
};

struct FieldRow {
  std::string_view name;
  std::string_view type;               // "a number"
  std::string_view range = "";         // "[0, 2]"; empty: the type's
  std::string_view fallback = "null";  // JSON text
  FieldClass kind = FieldClass::kHonoured;
  Status (*set)(const Json& value, Body& body) = nullptr;  // kHonoured
  std::string_view why = "";                               // kRefused: what to do instead
};

// Shared by all generating endpoints.
std::span<const FieldRow> SamplingFields();
// Only of /v1/completions.
std::span<const FieldRow> CompletionFields();
// Only of /v1/chat/completions.
std::span<const FieldRow> ChatFields();

// Whether any table has a field of this name.
bool IsField(std::string_view name);

// The body of POST /v1/completions. `defaults` is where absent sampling fields come from. Errors
// start with the field: `temperature: expected a number, got a string`.
Result<Body> ParseCompletion(const Json& json, const engine::SamplingParams& defaults);
// The same of POST /v1/chat/completions. Messages are checked when they are rendered.
Result<Body> ParseChat(const Json& json, const engine::SamplingParams& defaults);

}  // namespace moxie::api
