// Compares renderings with a reference file: one JSON object a line, {template, conversation,
// add_generation_prompt, text | error}, as jinja2 in transformers' environment gave them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace moxie::text::jinja {

struct GoldenCase {
  std::string template_name, conversation;
  bool add_generation_prompt = false;
  bool is_error = false;
  std::string expected;  // the text, or the reference's error
};

struct GoldenSet {
  Json conversations;  // name -> {messages, tools}
  std::vector<GoldenCase> cases;
};

// Reads conversations.json and golden.jsonl.
Result<GoldenSet> ReadGoldens(const std::filesystem::path& conversations,
                              const std::filesystem::path& reference);

// Renders every case with the templates of a directory. Returns one message for each difference.
Result<std::vector<std::string>> CompareGoldens(const GoldenSet& set,
                                                const std::filesystem::path& templates);

}  // namespace moxie::text::jinja
