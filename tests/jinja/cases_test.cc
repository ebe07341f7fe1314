// The template cases of tests/data/cases: each item rendered, or refused, as transformers does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "text/jinja/template.h"

namespace moxie::text::jinja {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Json LoadCase(const std::string& id) {
  auto json = ReadJsonFile(std::string(MOXIE_TEST_DATA "/cases/") + id + ".json");
  EXPECT_TRUE(json.ok()) << json.status().message();
  return json.ok() ? *json : Json();
}

std::string String(const Json& json) { return std::string(std::string_view(json.as_string())); }

Variables ToVariables(const Json& json) {
  Variables variables;
  if (!json.is_object()) return variables;
  for (const auto& member : json.get_object()) {
    variables.emplace(std::string(std::string_view(member.key())),
                      Value::FromJson(member.value(), Origin::kData));
  }
  return variables;
}

// 2026-03-09T07:05:04, as the case of strftime says.
RenderOptions FixedClock() {
  RenderOptions options;
  options.clock = [] {
    ClockTime now;
    now.time = {4, 5, 7, 9, 2, 126, 1, 67, 0, 0, nullptr};
    return now;
  };
  return options;
}

class RenderCase : public testing::TestWithParam<const char*> {};

TEST_P(RenderCase, EveryItemIsAsExpected) {
  Json json = LoadCase(GetParam());
  const auto& items = json.at("input").at("items").as_array();
  const auto& results = json.at("expected").at("results").as_array();
  ASSERT_EQ(items.size(), results.size());
  for (size_t i = 0; i < items.size(); ++i) {
    SCOPED_TRACE(String(items[i].at("name")));
    auto tmpl = Template::Parse(String(items[i].at("template")));
    ASSERT_TRUE(tmpl.ok()) << tmpl.status().message();
    auto text = tmpl->Render(ToVariables(items[i].at("variables")), FixedClock());
    if (results[i].as_object().contains("output")) {
      ASSERT_TRUE(text.ok()) << text.status().message();
      EXPECT_EQ(text->str(), String(results[i].at("output")));
    } else {
      ASSERT_FALSE(text.ok()) << text->str();
      EXPECT_THAT(text.status().message(), StartsWith(String(results[i].at("error")) + ": "));
      EXPECT_THAT(text.status().message(), HasSubstr(String(results[i].at("message"))));
    }
  }
}

std::string CaseName(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, RenderCase,
                         testing::Values("tmpl-break-continue-generation", "tmpl-content-parts",
                                         "tmpl-filters-and-tests", "tmpl-raise-exception-400",
                                         "tmpl-reverse-slice-namespace",
                                         "tmpl-slice-unary-minus-dotted-index",
                                         "tmpl-strftime-and-defined", "tmpl-tojson-python-form",
                                         "tmpl-tool-arguments-object", "tmpl-whitespace-control"),
                         CaseName);

TEST(BadTemplateCase, tmpl_bad_template_no_silent_fallback) {
  Json json = LoadCase("tmpl-bad-template-no-silent-fallback");
  for (const Json& item : json.at("input").at("items").as_array()) {
    std::string name = String(item.at("name"));
    SCOPED_TRACE(name);
    auto tmpl = Template::Parse(String(item.at("template")));
    bool at_parse = name == "unclosed" || name == "unknown-tag" || name == "unknown-filter" ||
                    name == "go-template";
    EXPECT_EQ(tmpl.ok(), !at_parse);
    if (!tmpl.ok()) {
      EXPECT_THAT(tmpl.status().message(), HasSubstr("line 1"));
      continue;
    }
    auto text = tmpl->Render({});
    EXPECT_FALSE(text.ok()) << text->str();
  }
}

}  // namespace
}  // namespace moxie::text::jinja
