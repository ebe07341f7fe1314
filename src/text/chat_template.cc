#include "text/chat_template.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "text/chat_messages.h"
#include "text/chat_sources.h"

namespace moxie::text {
namespace {

using jinja::Origin;
using jinja::Text;
using jinja::Value;

// Arguments of a request that cannot come in by its chat_template_kwargs.
constexpr std::string_view kRefusedKwargs[] = {"messages", "tools", "chat_template", "tokenize",
                                               "continue_final_message"};
constexpr std::string_view kContinueTag = "CONTINUE_FINAL_MESSAGE_TAG ";
constexpr std::string_view kProbe = "c0n7en7";  // no template spells this

std::string_view View(const Json& json) { return json.get_string(); }

// Messages as values; the role, where the API defines it, is the template's own word.
Value MessagesToValue(const JsonArray& messages, Origin origin) {
  std::vector<Value> out;
  for (const Json& message : messages) {
    auto dict = std::make_shared<jinja::Dict>();
    for (const auto& member : message.get_object()) {
      std::string key(std::string_view(member.key()));
      bool trusted = key == "role" && IsKnownRole(View(member.value()));
      dict->Set(Text(key, origin),
                Value::FromJson(member.value(), trusted ? Origin::kTemplate : origin));
    }
    out.emplace_back(jinja::DictPtr(std::move(dict)));
  }
  return Value::List(std::move(out));
}

void AppendSegment(std::vector<ChatSegment>& segments, std::string_view text, bool own) {
  if (!segments.empty() && segments.back().from_template == own) {
    segments.back().text += text;
  } else {
    segments.push_back({std::string(text), own});
  }
}

ChatPrompt ToPrompt(const Text& text, bool trust_content) {
  ChatPrompt prompt;
  text.ForEachRun([&](std::string_view part, Origin origin) {
    AppendSegment(prompt.segments, part, trust_content || origin == Origin::kTemplate);
  });
  return prompt;
}

std::string_view StripSpace(std::string_view s) {
  size_t begin = s.find_first_not_of(" \t\n\r\v\f");
  if (begin == s.npos) return "";
  return s.substr(begin, s.find_last_not_of(" \t\n\r\v\f") - begin + 1);
}

// The string at the end of the last message that a continued answer goes on from, or null.
Json* FinalText(JsonArray& messages) {
  if (messages.empty()) return nullptr;
  Json& content = messages.back().get_object()["content"];
  if (content.is_string()) return &content;
  JsonArray& parts = content.get_array();
  return parts.empty() ? nullptr : &parts.back().get_object()["text"];
}

// Cuts the rendering behind the final message, where its tag stands, as transformers does.
Result<Text> CutAtTag(const Text& rendered, const std::string& final_text) {
  std::string_view view = rendered.view();
  size_t tag = view.rfind(StripSpace(kContinueTag));
  if (tag == view.npos || view.find(StripSpace(final_text)) == view.npos) {
    return InvalidArgument(
        "continue_final_message: the final message does not appear in the prompt after the chat "
        "template is applied; the template may drop or change parts of it");
  }
  Text cut = rendered.Sub(0, tag);
  if (view.substr(tag, kContinueTag.size()) == kContinueTag) return cut;
  // The template trimmed the message, so its end is trimmed as well.
  size_t end = cut.view().find_last_not_of(" \t\n\r\v\f");
  return cut.Sub(0, end == view.npos ? 0 : end + 1);
}

Status CheckRequest(const ChatRequest& request) {
  if (request.messages == nullptr) return InvalidArgument("messages: required");
  if (request.add_generation_prompt && request.continue_final_message) {
    return InvalidArgument(
        "continue_final_message: cannot be true together with add_generation_prompt");
  }
  auto check_list = [](const Json* json, std::string_view name) {
    if (json == nullptr || json->is_null()) return OkStatus();
    if (!json->is_array()) {
      return InvalidArgument(name, ": expected a list, got ", JsonTypeName(*json));
    }
    for (size_t i = 0; i < json->get_array().size(); ++i) {
      if (json->get_array()[i].is_object()) continue;
      return InvalidArgument(name, "[", i, "]: expected an object, got ",
                             JsonTypeName(json->get_array()[i]));
    }
    return OkStatus();
  };
  MOXIE_RETURN_IF_ERROR(check_list(request.tools, "tools"));
  MOXIE_RETURN_IF_ERROR(check_list(request.documents, "documents"));
  if (request.kwargs == nullptr || request.kwargs->is_null()) return OkStatus();
  if (!request.kwargs->is_object()) {
    return InvalidArgument("chat_template_kwargs: expected an object, got ",
                           JsonTypeName(*request.kwargs));
  }
  for (std::string_view name : kRefusedKwargs) {
    if (!request.kwargs->get_object().contains(name)) continue;
    return InvalidArgument("chat_template_kwargs.", name, ": is not an argument of the template; ",
                           "use the request's own field");
  }
  return OkStatus();
}

void AddKwargs(const JsonObject& kwargs, Origin origin, jinja::Variables& variables) {
  for (const auto& member : kwargs) {
    variables.insert_or_assign(std::string(std::string_view(member.key())),
                               Value::FromJson(member.value(), origin));
  }
}

bool IsEmpty(const Json* list) {
  return list == nullptr || list->is_null() || list->get_array().empty();
}

}  // namespace

std::string ChatPrompt::Text() const {
  std::string out;
  for (const ChatSegment& segment : segments) out += segment.text;
  return out;
}

Result<ChatTemplate::SpecialTokens> ChatTemplate::LoadSpecialTokens(
    const std::filesystem::path& model) {
  return ReadSpecialTokens(model);
}

Result<ChatTemplate> ChatTemplate::Load(const std::filesystem::path& model,
                                        const ChatTemplateOptions& options) {
  MOXIE_ASSIGN_OR_RETURN(SpecialTokens tokens, ReadSpecialTokens(model));
  MOXIE_ASSIGN_OR_RETURN(ChatSources sources, ReadChatSources(model));
  if (sources.templates.empty()) {
    return NotFound(model.string(),
                    ": the model has no chat template (chat_template.jinja, or chat_template in "
                    "tokenizer_config.json); give one with --chat-template");
  }
  return FromSources(sources.templates, sources.origin, tokens, options);
}

Result<ChatTemplate> ChatTemplate::FromArgument(std::string_view path_or_template,
                                                const SpecialTokens& tokens,
                                                const ChatTemplateOptions& options) {
  std::filesystem::path path(path_or_template);
  std::error_code error;
  if (path_or_template.size() < 4096 && std::filesystem::is_regular_file(path, error)) {
    MOXIE_ASSIGN_OR_RETURN(std::string source,
                           ReadFile(path, options.render.limits.max_template_bytes));
    return FromText(source, path.string(), tokens, options);
  }
  if (path_or_template.find_first_of("{}\n") == path_or_template.npos) {
    return NotFound("--chat-template: no file \"", path_or_template,
                    "\", and it is no template either");
  }
  return FromText(path_or_template, "--chat-template", tokens, options);
}

Result<ChatTemplate> ChatTemplate::FromText(std::string_view source, std::string_view origin,
                                            const SpecialTokens& tokens,
                                            const ChatTemplateOptions& options) {
  return FromSources({{"default", std::string(source)}}, origin, tokens, options);
}

ChatTemplate ChatTemplate::None(const SpecialTokens& tokens, const ChatTemplateOptions& options) {
  ChatTemplate chat;
  chat.tokens_ = tokens;
  chat.options_ = options;
  return chat;
}

Result<ChatTemplate> ChatTemplate::WithSource(std::string_view source,
                                              std::string_view origin) const {
  return FromText(source, origin, tokens_, options_);
}

Result<ChatTemplate> ChatTemplate::FromSources(const std::map<std::string, std::string>& sources,
                                               std::string_view origin, const SpecialTokens& tokens,
                                               const ChatTemplateOptions& options) {
  ChatTemplate chat = None(tokens, options);
  for (auto& [name, source] : sources) {
    auto entry = MakeEntry(source, chat);
    if (!entry.ok()) {
      std::string context = sources.size() > 1 ? StrCat(origin, ": ", name) : std::string(origin);
      return std::move(entry).status().WithContext(context);
    }
    chat.entries_.emplace(name, std::move(entry).value());
  }
  return chat;
}

Result<ChatTemplate::Entry> ChatTemplate::MakeEntry(std::string_view source,
                                                    const ChatTemplate& chat) {
  MOXIE_ASSIGN_OR_RETURN(jinja::Template tmpl,
                         jinja::Template::Parse(source, chat.options_.render.limits));
  ContentFormat format = chat.options_.content_format.value_or(DetectContentFormat(source));
  Entry entry{std::move(tmpl), format, false};
  if (format == ContentFormat::kString) return entry;
  // Does it show content that is a string, or only the parts of a list?
  Json messages = JsonArray{JsonObject{{"role", "user"}, {"content", kProbe}}};
  ChatRequest request;
  request.messages = &messages;
  auto shows = [&](const JsonArray& normal) {
    auto text = entry.tmpl.Render(chat.MakeVariables(normal, request), chat.options_.render);
    return text.ok() && text->view().find(kProbe) != std::string_view::npos;
  };
  auto as_parts = NormalizeMessages(messages, format, /*wrap_strings=*/true);
  entry.wrap_strings = !shows(messages.get_array()) && as_parts.ok() && shows(*as_parts);
  return entry;
}

Result<const ChatTemplate::Entry*> ChatTemplate::Choose(bool with_tools) const {
  auto found = entries_.end();
  if (with_tools) found = entries_.find("tool_use");
  if (found == entries_.end()) found = entries_.find("default");
  if (found == entries_.end() && entries_.size() == 1) found = entries_.begin();
  if (found != entries_.end()) return &found->second;
  if (entries_.empty()) {
    return InvalidArgument("messages: the model has no chat template; use /v1/completions");
  }
  std::string have;
  for (auto& [name, entry] : entries_) have += StrCat(have.empty() ? "" : ", ", name);
  return InvalidArgument("the model's chat templates (", have,
                         ") have no \"default\"; give one with ", "--chat-template");
}

jinja::Variables ChatTemplate::MakeVariables(const JsonArray& messages,
                                             const ChatRequest& request) const {
  auto list = [](const Json* json) {
    return IsEmpty(json) ? Value(jinja::None{}) : Value::FromJson(*json, Origin::kData);
  };
  jinja::Variables variables;
  for (auto& [name, token] : tokens_) {
    variables.emplace(name, Value::FromJson(token, Origin::kTemplate));
  }
  variables.insert_or_assign("messages", MessagesToValue(messages, Origin::kData));
  variables.insert_or_assign("tools", list(request.tools));
  variables.insert_or_assign("documents", list(request.documents));
  variables.insert_or_assign("add_generation_prompt", Value(request.add_generation_prompt));
  AddKwargs(options_.default_kwargs, Origin::kTemplate, variables);
  if (request.kwargs != nullptr && request.kwargs->is_object()) {
    AddKwargs(request.kwargs->get_object(), Origin::kData, variables);
  }
  return variables;
}

Result<ChatPrompt> ChatTemplate::Render(const ChatRequest& request) const {
  MOXIE_RETURN_IF_ERROR(CheckRequest(request));
  MOXIE_ASSIGN_OR_RETURN(const Entry* entry, Choose(!IsEmpty(request.tools)));
  MOXIE_ASSIGN_OR_RETURN(JsonArray messages,
                         NormalizeMessages(*request.messages, entry->format, entry->wrap_strings));
  std::string final_text;
  if (request.continue_final_message) {
    Json* text = FinalText(messages);
    if (text == nullptr) {
      return InvalidArgument("continue_final_message: there is no final message with text");
    }
    final_text = std::string(View(*text));
    *text = final_text + std::string(kContinueTag);
  }
  MOXIE_ASSIGN_OR_RETURN(Text text,
                         entry->tmpl.Render(MakeVariables(messages, request), options_.render));
  if (request.continue_final_message) {
    MOXIE_ASSIGN_OR_RETURN(text, CutAtTag(text, final_text));
  }
  ChatPrompt prompt = ToPrompt(text, options_.trust_content);
  prompt.template_texts = entry->tmpl.texts();
  return prompt;
}

ContentFormat ChatTemplate::content_format() const {
  auto entry = Choose(false);
  return entry.ok() ? (*entry)->format : ContentFormat::kString;
}

std::vector<std::string> ChatTemplate::names() const {
  std::vector<std::string> out;
  for (auto& [name, entry] : entries_) out.push_back(name);
  return out;
}

}  // namespace moxie::text
