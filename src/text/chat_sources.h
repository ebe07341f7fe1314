// What a model's files say about chats: its templates, and the special tokens they speak of.
//
// A model is a directory, or a file in one (its tokenizer.json), or a *.gguf, of which only the
// metadata is read.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace moxie::text {

struct ChatSources {
  std::map<std::string, std::string> templates;  // by name: "default", "tool_use"; empty: none
  std::string origin;                            // the file they came from
};

// From a directory: chat_template.jinja (with additional_chat_templates/*.jinja), else
// tokenizer_config.json's chat_template (one, or a named list), else chat_template.json. From a
// GGUF file: tokenizer.chat_template and those it names.
Result<ChatSources> ReadChatSources(const std::filesystem::path& model);

// "bos_token" and the like, by the names templates know them under; strings, or lists of strings.
// From tokenizer_config.json, none when there is no such file, or from a GGUF file.
Result<std::map<std::string, Json>> ReadSpecialTokens(const std::filesystem::path& model);

}  // namespace moxie::text
