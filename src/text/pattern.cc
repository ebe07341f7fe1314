#include "text/pattern.h"

namespace moxie::text {

Result<Pattern> Pattern::Compile(std::string_view regex) {
  MOXIE_ASSIGN_OR_RETURN(Regex compiled, Regex::Compile(regex));
  return Pattern(std::move(compiled));
}

Result<Pattern> Pattern::FromJson(const Json& json, const std::string& where) {
  if (const JsonObject* object = json.if_object(); object && object->size() == 1) {
    const auto& member = *object->begin();
    if (member.value().is_string()) {
      std::string_view text = member.value().get_string();
      if (member.key() == "String" && !text.empty()) return Literal(std::string(text));
      if (member.key() == "Regex") {
        Result<Pattern> compiled = Compile(text);
        if (!compiled.ok()) return std::move(compiled).status().WithContext(where);
        return compiled;
      }
    }
  }
  return InvalidArgument(where, ": \"pattern\" must be {\"String\": a text} or {\"Regex\": ...}");
}

}  // namespace moxie::text
