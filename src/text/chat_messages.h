// A request's messages as a template sees them.
#pragma once

#include "base/json.h"
#include "base/status.h"
#include "text/chat_format.h"

namespace moxie::text {

// Checks the messages and gives them the form that templates are written for, as vLLM and
// transformers do:
// - text parts are joined by newlines (kString), or kept as [{type, text}] (kParts);
//   with `wrap_strings` a string becomes one part;
// - null content is "", other null members are left out;
// - the arguments of tool calls, a JSON string on the wire, become an object; "" and null are {};
// - reasoning, whatever it is called, is found as reasoning_content, reasoning and thinking.
// Errors start with the field: `messages[0].tool_calls[0].function.arguments: ...`.
Result<JsonArray> NormalizeMessages(const Json& messages, ContentFormat format,
                                    bool wrap_strings = false);

// Whether `role` is one that the API defines. Templates build markers of them ("<|user|>"), so
// these count as the template's own words.
bool IsKnownRole(std::string_view role);

}  // namespace moxie::text
