// A model's chat template: found, parsed once, and rendered to a prompt that remembers which words
// are the template's own. Messages, tools, documents and keyword arguments are data: a special
// token or a marker of the template spelled inside them is text when the prompt is encoded, unless
// the operator trusts them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "text/chat_format.h"
#include "text/jinja/template.h"

namespace moxie::text {

// What a request asks of the template. The JSON values are borrowed.
struct ChatRequest {
  const Json* messages = nullptr;   // required: a list
  const Json* tools = nullptr;      // a list of {type, function}, or null
  const Json* documents = nullptr;  // a list of objects, or null
  const Json* kwargs = nullptr;     // chat_template_kwargs: an object, or null
  bool add_generation_prompt = true;
  bool continue_final_message = false;  // the prompt ends inside the last message
};

struct ChatTemplateOptions {
  // --chat-template-content-format; absent: auto.
  std::optional<ContentFormat> content_format;
  // --default-chat-template-kwargs: the operator's, so special tokens in them count.
  JsonObject default_kwargs;
  // Special tokens and markers spelled inside messages become tokens too.
  bool trust_content = false;
  jinja::RenderOptions render;
};

struct ChatSegment {
  std::string text;
  bool from_template = false;
};

struct ChatPrompt {
  std::vector<ChatSegment> segments;  // neighbours differ in origin; together they are the prompt
  // What the template's source says, where its markers are found; null: nothing.
  std::shared_ptr<const std::vector<std::string>> template_texts;
  std::string Text() const;
};

// Immutable once made; Render may be called from any thread.
class ChatTemplate {
 public:
  // bos_token and the like, by the names templates know them under; strings, or lists of strings.
  using SpecialTokens = std::map<std::string, Json>;

  // From a model's files (chat_sources.h). kNotFound when there is none; a template that does not
  // parse is an error that names file, line and column.
  static Result<ChatTemplate> Load(const std::filesystem::path& model,
                                   const ChatTemplateOptions& options = {});

  // Of a model that has no template: only WithSource makes one that renders.
  static ChatTemplate None(const SpecialTokens& tokens, const ChatTemplateOptions& options = {});

  // --chat-template: the path of a file, or the template itself (told by a brace or a line break in
  // it).
  static Result<ChatTemplate> FromArgument(std::string_view path_or_template,
                                           const SpecialTokens& tokens,
                                           const ChatTemplateOptions& options = {});

  // From the template's text; `origin` starts every error.
  static Result<ChatTemplate> FromText(std::string_view source, std::string_view origin,
                                       const SpecialTokens& tokens,
                                       const ChatTemplateOptions& options = {});

  // Another template, with this one's tokens and options: one that a request brings.
  Result<ChatTemplate> WithSource(std::string_view source, std::string_view origin) const;

  // The special tokens of a model's files.
  static Result<SpecialTokens> LoadSpecialTokens(const std::filesystem::path& model);

  // kInvalidArgument for a bad request and for what the template itself refuses (raise_exception);
  // fields are named as `messages[2].content`.
  Result<ChatPrompt> Render(const ChatRequest& request) const;

  // Of the template used without tools.
  ContentFormat content_format() const;
  // The names of the templates: "default", "tool_use".
  std::vector<std::string> names() const;

 private:
  struct Entry {
    jinja::Template tmpl;
    ContentFormat format;
    bool wrap_strings;  // it shows nothing of content that is a string
  };

  static Result<Entry> MakeEntry(std::string_view source, const ChatTemplate& chat);
  static Result<ChatTemplate> FromSources(const std::map<std::string, std::string>& sources,
                                          std::string_view origin, const SpecialTokens& tokens,
                                          const ChatTemplateOptions& options);
  Result<const Entry*> Choose(bool with_tools) const;
  jinja::Variables MakeVariables(const JsonArray& messages, const ChatRequest& request) const;

  std::map<std::string, Entry> entries_;
  SpecialTokens tokens_;
  ChatTemplateOptions options_;
};

}  // namespace moxie::text
