// Small templates with jinja2's answers (tools/fuzz_jinja.py --answer): what fuzzing found, the
// corners of the language, and some hundred random ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "text/jinja/template.h"

namespace moxie::text::jinja {
namespace {

// jinja2 refuses when compiling what Python's compiler or its own assertions refuse.
bool IsSyntaxError(std::string_view name) {
  return name == "TemplateSyntaxError" || name == "TemplateAssertionError" ||
         name == "SyntaxError" || name == "AssertionError";
}

ClockTime FixedClock() {
  ClockTime now;
  now.time = {4, 5, 7, 9, 2, 126, 1, 67, 0, 0, nullptr};  // 2026-03-09 07:05:04
  return now;
}

// The text, or "!" and the name of the error.
std::string Answer(const JsonObject& row) {
  auto tmpl = Template::Parse(std::string_view(row.at("template").as_string()));
  if (!tmpl.ok()) return "!SyntaxError";
  Variables variables;
  for (const auto& member : row.at("variables").as_object()) {
    variables.emplace(std::string(std::string_view(member.key())),
                      Value::FromJson(member.value(), Origin::kData));
  }
  RenderOptions options;
  options.clock = FixedClock;
  auto text = tmpl->Render(variables, options);
  if (text.ok()) return text->str();
  std::string message = text.status().message();
  std::string name = message.substr(0, message.find(':'));
  return IsSyntaxError(name) ? "!SyntaxError" : "!" + name;
}

TEST(ReferenceTest, EveryTemplateRendersOrFailsAsWithJinja2) {
  auto file = ReadFile(MOXIE_TEST_DATA "/jinja/reference.jsonl", size_t{16} << 20);
  ASSERT_TRUE(file.ok()) << file.status().message();
  size_t count = 0;
  for (size_t begin = 0; begin < file->size(); ++count) {
    size_t end = std::min(file->find('\n', begin), file->size());
    auto json = ParseJson(std::string_view(*file).substr(begin, end - begin));
    ASSERT_TRUE(json.ok()) << json.status().message();
    begin = end + 1;
    const JsonObject& row = json->get_object();
    std::string want;
    if (const Json* text = row.if_contains("text")) {
      want = std::string(std::string_view(text->as_string()));
    } else {
      std::string_view error = row.at("error").as_string();
      want = "!" + std::string(IsSyntaxError(error) ? "SyntaxError" : error);
    }
    EXPECT_EQ(Answer(row), want) << DumpJson(*json);
  }
  EXPECT_GT(count, 400u);
}

}  // namespace
}  // namespace moxie::text::jinja
