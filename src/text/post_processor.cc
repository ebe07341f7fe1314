#include "text/post_processor.h"

#include "config/json_fields.h"
#include "text/vocabulary.h"

namespace moxie::text {
namespace {

constexpr int kMaxDepth = 16;
constexpr size_t kMaxItems = 64;

const JsonObject* ObjectAt(const JsonObject& object, std::string_view field) {
  const Json* value = object.if_contains(field);
  return value ? value->if_object() : nullptr;
}

std::optional<int32_t> IdOf(const Json& json) {
  if (!json.is_int64() || json.get_int64() < 0 || json.get_int64() > kMaxTokenId)
    return std::nullopt;
  return static_cast<int32_t>(json.get_int64());
}

}  // namespace

PostProcessor::PostProcessor(std::vector<int32_t> before, std::vector<int32_t> after) {
  template_.clear();
  for (int32_t id : before) template_.push_back({.id = id});
  template_.push_back({.is_text = true});
  for (int32_t id : after) template_.push_back({.id = id});
}

Result<PostProcessor> PostProcessor::FromJson(const Json& json, const std::string& where) {
  PostProcessor processor;
  MOXIE_ASSIGN_OR_RETURN(processor.template_, Parse(json, where, 0));
  return processor;
}

// "single" of TemplateProcessing: a list of {"SpecialToken": {"id": name}} and {"Sequence": ...}.
Result<PostProcessor::Template> PostProcessor::ParseTemplate(const JsonObject& object,
                                                             const std::string& where) {
  const Json* single = object.if_contains("single");
  const JsonObject* specials = ObjectAt(object, "special_tokens");
  if (!single || !single->is_array() || !specials) {
    return InvalidArgument(where,
                           ": needs \"single\", an array, and \"special_tokens\", an object");
  }
  Template items;
  for (const Json& piece : single->get_array()) {
    const JsonObject* entry = piece.if_object();
    const JsonObject* sequence = entry ? ObjectAt(*entry, "Sequence") : nullptr;
    const JsonObject* special = entry ? ObjectAt(*entry, "SpecialToken") : nullptr;
    if (sequence) {
      const Json* id = sequence->if_contains("id");
      if (!id || *id != "A") return InvalidArgument(where, ": \"single\" must use sequence A only");
      items.push_back({.is_text = true});
      continue;
    }
    const Json* name = special ? special->if_contains("id") : nullptr;
    if (!name || !name->is_string()) {
      return InvalidArgument(where,
                             ": an item of \"single\" is neither a Sequence nor a SpecialToken");
    }
    const JsonObject* token = ObjectAt(*specials, name->get_string());
    const Json* ids = token ? token->if_contains("ids") : nullptr;
    if (!ids || !ids->is_array()) {
      return InvalidArgument(where, ": special token \"", std::string_view(name->get_string()),
                             "\" has no \"ids\" in \"special_tokens\"");
    }
    for (const Json& id : ids->get_array()) {
      std::optional<int32_t> value = IdOf(id);
      if (!value) return InvalidArgument(where, ": an id in \"special_tokens\" is no token id");
      items.push_back({.id = *value});
    }
  }
  return items;
}

// BertProcessing and RobertaProcessing: "cls" and "sep", each [text, id].
Result<PostProcessor::Template> PostProcessor::ParsePair(const JsonObject& object,
                                                         const std::string& where) {
  auto id_of = [&](std::string_view field) -> std::optional<int32_t> {
    const Json* pair = object.if_contains(field);
    if (!pair || !pair->is_array() || pair->get_array().size() != 2) return std::nullopt;
    return IdOf(pair->get_array()[1]);
  };
  std::optional<int32_t> cls = id_of("cls"), sep = id_of("sep");
  if (!cls || !sep) return InvalidArgument(where, ": needs \"cls\" and \"sep\", each [text, id]");
  return Template{{.id = *cls}, {.is_text = true}, {.id = *sep}};
}

Result<PostProcessor::Template> PostProcessor::Parse(const Json& json, const std::string& where,
                                                     int depth) {
  const JsonObject* object = json.if_object();
  if (!object || depth > kMaxDepth)
    return InvalidArgument(where, ": expected an object with a \"type\"");
  config::JsonFields fields(*object, where);
  std::string type = fields.String("type").value_or("");
  if (type == "ByteLevel") return Template{{.is_text = true}};  // only moves offsets
  if (type == "TemplateProcessing") return ParseTemplate(*object, where);
  if (type == "BertProcessing" || type == "RobertaProcessing") return ParsePair(*object, where);
  if (type != "Sequence") return Unimplemented(where, ": post-processor \"", type, "\" is unknown");
  const Json* list = fields.Find("processors");
  if (!list || !list->is_array()) return InvalidArgument(where, ": \"processors\" is not an array");
  Template whole = {{.is_text = true}};
  for (size_t i = 0; i < list->get_array().size(); ++i) {
    MOXIE_ASSIGN_OR_RETURN(Template step,
                           Parse(list->get_array()[i], StrCat(where, "[", i, "]"), depth + 1));
    Template wrapped;
    for (const Item& item : step) {
      if (item.is_text)
        wrapped.insert(wrapped.end(), whole.begin(), whole.end());
      else
        wrapped.push_back(item);
      if (wrapped.size() > kMaxItems) return InvalidArgument(where, ": adds too many tokens");
    }
    whole = std::move(wrapped);
  }
  return whole;
}

std::vector<int32_t> PostProcessor::Apply(std::vector<int32_t> ids, bool add_special_tokens) const {
  if (template_.size() == 1 && template_[0].is_text) return ids;
  std::vector<int32_t> out;
  out.reserve(ids.size() + template_.size());
  for (const Item& item : template_) {
    if (item.is_text)
      out.insert(out.end(), ids.begin(), ids.end());
    else if (add_special_tokens)
      out.push_back(item.id);
  }
  return out;
}

std::optional<int32_t> PostProcessor::First() const {
  if (template_.empty() || template_[0].is_text) return std::nullopt;
  return template_[0].id;
}

}  // namespace moxie::text
