#include "text/chat_messages.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace moxie::text {
namespace {

constexpr std::string_view kRoles[] = {"system",    "developer", "user",
                                       "assistant", "tool",      "function"};
constexpr std::string_view kReasoningNames[] = {"reasoning_content", "thinking", "reasoning"};

// Types of content parts that are text, and the member that holds it.
struct PartRow {
  std::string_view type, member;
};
constexpr PartRow kTextParts[] = {{"text", "text"},
                                  {"input_text", "text"},
                                  {"output_text", "text"},
                                  {"refusal", "refusal"},
                                  {"thinking", "thinking"}};

Result<std::string> PartText(const Json& part, const std::string& where) {
  if (part.is_string()) return std::string(std::string_view(part.get_string()));
  if (!part.is_object()) {
    return InvalidArgument(where, ": expected a content part, got ", JsonTypeName(part));
  }
  const JsonObject& object = part.get_object();
  const Json* type = object.if_contains("type");
  if (type == nullptr || !type->is_string()) {
    return InvalidArgument(where, ".type: expected a string such as \"text\"");
  }
  std::string_view name = type->get_string();
  auto row = std::find_if(std::begin(kTextParts), std::end(kTextParts),
                          [&](const PartRow& r) { return r.type == name; });
  if (row == std::end(kTextParts)) {
    return InvalidArgument(where, ".type: \"", name,
                           "\" is not supported: this model takes text only (type \"text\")");
  }
  const Json* text = object.if_contains(row->member);
  if (text == nullptr || !text->is_string()) {
    return InvalidArgument(where, ".", row->member, ": expected a string");
  }
  return std::string(std::string_view(text->get_string()));
}

Json MakePart(std::string_view text) { return JsonObject{{"type", "text"}, {"text", text}}; }

Result<Json> NormalizeContent(const Json& content, const std::string& where, ContentFormat format,
                              bool wrap_strings) {
  if (content.is_null()) return Json("");
  if (content.is_string()) {
    if (format == ContentFormat::kParts && wrap_strings) {
      return Json(JsonArray{MakePart(std::string_view(content.get_string()))});
    }
    return content;
  }
  if (!content.is_array()) {
    return InvalidArgument(where, ": expected a string or a list of content parts, got ",
                           JsonTypeName(content));
  }
  JsonArray parts;
  std::string joined;
  size_t i = 0;
  for (const Json& part : content.get_array()) {
    MOXIE_ASSIGN_OR_RETURN(std::string text, PartText(part, StrCat(where, "[", i, "]")));
    if (i++ > 0) joined += '\n';
    joined += text;
    parts.push_back(MakePart(text));
  }
  if (format == ContentFormat::kParts) return Json(std::move(parts));
  return Json(joined);
}

Result<Json> ParseArguments(const Json& arguments, const std::string& where) {
  if (arguments.is_object()) return arguments;
  if (arguments.is_null()) return Json(JsonObject());
  if (!arguments.is_string()) {
    return InvalidArgument(where, ": expected a JSON string or an object, got ",
                           JsonTypeName(arguments));
  }
  std::string_view text = arguments.get_string();
  if (text.empty()) return Json(JsonObject());
  auto parsed = ParseJson(text);
  if (!parsed.ok()) return std::move(parsed).status().WithContext(where + ": not JSON");
  if (parsed->is_null()) return Json(JsonObject());
  if (!parsed->is_object()) {
    return InvalidArgument(where, ": expected the JSON text of an object, got ",
                           JsonTypeName(*parsed));
  }
  return parsed;
}

void DropNulls(JsonObject& object) {
  JsonObject kept;
  for (auto& member : object) {
    if (!member.value().is_null()) kept.emplace(member.key(), std::move(member.value()));
  }
  object = std::move(kept);
}

Status NormalizeToolCalls(Json& calls, const std::string& where) {
  if (!calls.is_array()) {
    return InvalidArgument(where, ": expected a list, got ", JsonTypeName(calls));
  }
  size_t i = 0;
  for (Json& call : calls.get_array()) {
    std::string at = StrCat(where, "[", i++, "]");
    if (!call.is_object()) return InvalidArgument(at, ": expected an object");
    Json* function = call.get_object().if_contains("function");
    if (function == nullptr || !function->is_object()) {
      return InvalidArgument(at, ".function: expected an object with name and arguments");
    }
    JsonObject& f = function->get_object();
    if (!f.contains("name") || !f.at("name").is_string()) {
      return InvalidArgument(at, ".function.name: expected a string");
    }
    MOXIE_ASSIGN_OR_RETURN(f["arguments"],
                           ParseArguments(f["arguments"], at + ".function.arguments"));
    DropNulls(call.get_object());
  }
  return OkStatus();
}

void AliasReasoning(JsonObject& message) {
  for (std::string_view name : kReasoningNames) {
    const Json* found = message.if_contains(name);
    if (found == nullptr || !found->is_string()) continue;
    Json reasoning = *found;
    for (std::string_view alias : kReasoningNames) {
      // The first name wins over the others, except that thinking keeps what it was given.
      if (alias != "thinking" || !message.contains(alias)) message[alias] = reasoning;
    }
    return;
  }
}

Result<JsonObject> NormalizeMessage(const Json& json, const std::string& where,
                                    ContentFormat format, bool wrap_strings) {
  if (!json.is_object()) {
    return InvalidArgument(where, ": expected an object, got ", JsonTypeName(json));
  }
  JsonObject message = json.get_object();
  const Json* role = message.if_contains("role");
  if (role == nullptr || !role->is_string() || role->get_string().empty()) {
    return InvalidArgument(where, ".role: expected a string such as \"user\"");
  }
  Json content;
  if (const Json* given = message.if_contains("content")) content = *given;
  MOXIE_ASSIGN_OR_RETURN(content,
                         NormalizeContent(content, where + ".content", format, wrap_strings));
  message["content"] = std::move(content);
  DropNulls(message);
  if (Json* calls = message.if_contains("tool_calls")) {
    MOXIE_RETURN_IF_ERROR(NormalizeToolCalls(*calls, where + ".tool_calls"));
    // An empty list says no more than none at all, and templates index it.
    if (calls->get_array().empty()) message.erase("tool_calls");
  }
  AliasReasoning(message);
  return message;
}

}  // namespace

bool IsKnownRole(std::string_view role) {
  return std::find(std::begin(kRoles), std::end(kRoles), role) != std::end(kRoles);
}

Result<JsonArray> NormalizeMessages(const Json& messages, ContentFormat format, bool wrap_strings) {
  if (!messages.is_array()) {
    return InvalidArgument("messages: expected a list, got ", JsonTypeName(messages));
  }
  JsonArray out;
  for (const Json& message : messages.get_array()) {
    std::string where = StrCat("messages[", out.size(), "]");
    MOXIE_ASSIGN_OR_RETURN(JsonObject normal,
                           NormalizeMessage(message, where, format, wrap_strings));
    out.push_back(std::move(normal));
  }
  return out;
}

}  // namespace moxie::text
