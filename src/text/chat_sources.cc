#include "text/chat_sources.h"

#include <string_view>

#include "base/file.h"
#include "config/gguf_metadata.h"
#include "text/jinja/template.h"

namespace moxie::text {
namespace {

constexpr size_t kMaxConfigBytes = size_t{64} << 20;
constexpr std::string_view kTokenNames[] = {
    "bos_token", "eos_token", "unk_token",  "sep_token",
    "pad_token", "cls_token", "mask_token", "additional_special_tokens"};
// The same in a GGUF file.
constexpr struct {
  std::string_view name, key;
} kGgufTokens[] = {{"bos_token", "bos_token_id"},     {"eos_token", "eos_token_id"},
                   {"unk_token", "unknown_token_id"}, {"sep_token", "seperator_token_id"},
                   {"pad_token", "padding_token_id"}, {"cls_token", "cls_token_id"},
                   {"mask_token", "mask_token_id"}};

std::string_view View(const Json& json) { return json.get_string(); }

bool IsGguf(const std::filesystem::path& model) { return model.extension() == ".gguf"; }

std::filesystem::path Directory(const std::filesystem::path& model) {
  std::error_code error;
  return std::filesystem::is_regular_file(model, error) ? model.parent_path() : model;
}

// A token is a string, or an object with its content.
Json TokenText(const Json& json) {
  if (json.is_object() && json.get_object().contains("content")) {
    return json.get_object().at("content");
  }
  if (!json.is_array()) return json;
  JsonArray out;
  for (const Json& item : json.get_array()) out.push_back(TokenText(item));
  return out;
}

Status ReadNamedList(const Json& list, ChatSources& sources) {
  for (const Json& entry : list.get_array()) {
    const JsonObject* object = entry.if_object();
    const Json* name = object ? object->if_contains("name") : nullptr;
    const Json* text = object ? object->if_contains("template") : nullptr;
    if (name == nullptr || text == nullptr || !name->is_string() || !text->is_string()) {
      return InvalidArgument(sources.origin,
                             ": chat_template: expected a list of {name, template} strings");
    }
    sources.templates[std::string(View(*name))] = std::string(View(*text));
  }
  return OkStatus();
}

// Reads `chat_template` of a JSON file; leaves `sources` empty when the file or the member is
// missing.
Status ReadFromJson(const std::filesystem::path& path, ChatSources& sources) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return OkStatus();
  JsonLimits limits;
  limits.max_bytes = kMaxConfigBytes;
  MOXIE_ASSIGN_OR_RETURN(Json json, ReadJsonFile(path, limits));
  sources.origin = path.string();
  const Json* field = json.is_object() ? json.get_object().if_contains("chat_template") : nullptr;
  if (field == nullptr || field->is_null()) return OkStatus();
  if (field->is_string()) {
    sources.templates["default"] = std::string(View(*field));
    return OkStatus();
  }
  if (field->is_array()) return ReadNamedList(*field, sources);
  return InvalidArgument(path.string(), ": chat_template: expected a string or a list, got ",
                         JsonTypeName(*field));
}

Status ReadJinjaFiles(const std::filesystem::path& dir, ChatSources& sources) {
  std::error_code error;
  std::filesystem::path main = dir / "chat_template.jinja";
  if (!std::filesystem::exists(main, error)) return OkStatus();
  size_t limit = jinja::Limits().max_template_bytes;
  MOXIE_ASSIGN_OR_RETURN(sources.templates["default"], ReadFile(main, limit));
  sources.origin = main.string();
  std::filesystem::directory_iterator more(dir / "additional_chat_templates", error);
  if (error) return OkStatus();
  for (const auto& file : more) {
    if (file.path().extension() != ".jinja") continue;
    MOXIE_ASSIGN_OR_RETURN(sources.templates[file.path().stem().string()],
                           ReadFile(file.path(), limit));
  }
  return OkStatus();
}

// Calls read(metadata) while the file is mapped.
template <typename F>
Status WithGguf(const std::filesystem::path& path, F&& read) {
  MOXIE_ASSIGN_OR_RETURN(MappedFile map, MappedFile::Open(path));
  const std::string_view bytes(reinterpret_cast<const char*>(map.bytes().data()),
                               map.bytes().size());
  MOXIE_ASSIGN_OR_RETURN(auto metadata, config::GgufMetadata::Parse(bytes, path.string()));
  read(metadata);
  return metadata.status();
}

void ReadGgufTemplates(config::GgufMetadata& metadata, ChatSources& sources) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  if (auto text = metadata.String(kKey)) sources.templates["default"] = std::string(*text);
  for (std::string_view name : metadata.Strings("tokenizer.chat_templates")) {
    if (auto text = metadata.String(StrCat(kKey, ".", name))) {
      sources.templates[std::string(name)] = std::string(*text);
    }
  }
}

void ReadGgufTokens(config::GgufMetadata& metadata, std::map<std::string, Json>& tokens) {
  const auto pieces = metadata.Strings("tokenizer.ggml.tokens");
  for (const auto& [name, key] : kGgufTokens) {
    const auto id = metadata.Int(StrCat("tokenizer.ggml.", key));
    if (id && *id >= 0 && static_cast<size_t>(*id) < pieces.size()) {
      tokens[std::string(name)] = Json(pieces[static_cast<size_t>(*id)]);
    }
  }
}

}  // namespace

Result<ChatSources> ReadChatSources(const std::filesystem::path& model) {
  ChatSources sources;
  if (IsGguf(model)) {
    sources.origin = model.string();
    MOXIE_RETURN_IF_ERROR(WithGguf(model, [&](auto& m) { ReadGgufTemplates(m, sources); }));
    return sources;
  }
  const std::filesystem::path dir = Directory(model);
  MOXIE_RETURN_IF_ERROR(ReadJinjaFiles(dir, sources));
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    if (!sources.templates.empty()) break;
    MOXIE_RETURN_IF_ERROR(ReadFromJson(dir / name, sources));
  }
  return sources;
}

Result<std::map<std::string, Json>> ReadSpecialTokens(const std::filesystem::path& model) {
  std::map<std::string, Json> tokens;
  if (IsGguf(model)) {
    MOXIE_RETURN_IF_ERROR(WithGguf(model, [&](auto& m) { ReadGgufTokens(m, tokens); }));
    return tokens;
  }
  const std::filesystem::path path = Directory(model) / "tokenizer_config.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return tokens;
  JsonLimits limits;
  limits.max_bytes = kMaxConfigBytes;
  MOXIE_ASSIGN_OR_RETURN(Json json, ReadJsonFile(path, limits));
  if (!json.is_object()) return InvalidArgument(path.string(), ": expected an object");
  for (std::string_view name : kTokenNames) {
    const Json* found = json.get_object().if_contains(name);
    if (found != nullptr && !found->is_null()) tokens[std::string(name)] = TokenText(*found);
  }
  return tokens;
}

}  // namespace moxie::text
