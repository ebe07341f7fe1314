#include "api/tokenize.h"

#include "api/field_values.h"

namespace moxie::api {
namespace {

// The field's value, or null where it is absent or null.
const Json* Find(const Json& json, std::string_view field) {
  const Json* value = json.get_object().if_contains(field);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Status CheckBody(const ServedModel& model, const Json& json) {
  if (!json.is_object()) {
    return InvalidArgument("the body must be a JSON object, got ", JsonTypeName(json));
  }
  Body body;
  if (const Json* name = Find(json, "model")) {
    body.has_model = true;
    MOXIE_ASSIGN_OR_RETURN(body.model, ReadString("model", *name));
  }
  return ResolveModel(model, body).status();
}

Result<bool> ReadFlag(const Json& json, std::string_view field, bool fallback) {
  const Json* value = Find(json, field);
  if (value == nullptr) return fallback;
  return ReadBool(field, *value);
}

}  // namespace

Result<JsonObject> Tokenize(const ServedModel& model, const Json& json) {
  MOXIE_RETURN_IF_ERROR(CheckBody(model, json));
  const Json* prompt = Find(json, "prompt");
  if (prompt == nullptr) return InvalidArgument("prompt: is required");
  MOXIE_ASSIGN_OR_RETURN(const std::string text, ReadString("prompt", *prompt));
  MOXIE_ASSIGN_OR_RETURN(const bool special, ReadFlag(json, "add_special_tokens", true));
  MOXIE_ASSIGN_OR_RETURN(const bool strings, ReadFlag(json, "return_token_strs", false));
  text::EncodeOptions options;
  options.add_special_tokens = special;
  MOXIE_ASSIGN_OR_RETURN(const auto ids, model.tokenizer->Encode(text, options));
  JsonArray pieces;
  for (size_t i = 0; strings && i < ids.size(); ++i) {
    pieces.push_back(Json(model.tokenizer->TokenPiece(ids[i])));
  }
  return JsonObject{{"count", ids.size()},
                    {"max_model_len", model.max_model_len},
                    {"tokens", JsonArray(ids.begin(), ids.end())},
                    {"token_strs", strings ? Json(std::move(pieces)) : Json(nullptr)}};
}

Result<JsonObject> Detokenize(const ServedModel& model, const Json& json) {
  MOXIE_RETURN_IF_ERROR(CheckBody(model, json));
  const Json* tokens = Find(json, "tokens");
  if (tokens == nullptr) return InvalidArgument("tokens: is required");
  MOXIE_ASSIGN_OR_RETURN(const auto ids, ReadTokenIds("tokens", *tokens));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= model.tokenizer->vocab_size()) {
      return InvalidArgument("tokens[", i, "]: ", ids[i], " is not in the vocabulary, [0, ",
                             model.tokenizer->vocab_size(), ")");
    }
  }
  return JsonObject{{"prompt", model.tokenizer->Decode(ids)}};
}

}  // namespace moxie::api
