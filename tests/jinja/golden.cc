#include "tests/jinja/golden.h"

#include <map>

#include "base/file.h"
#include "text/jinja/template.h"

namespace moxie::text::jinja {
namespace {

constexpr size_t kMaxFile = size_t{64} << 20;

// What the reference's renderings were given beside the conversation.
Variables MakeVariables(const Json& conversation, bool add_generation_prompt) {
  Variables variables;
  for (const auto& member : conversation.get_object()) {
    variables.emplace(std::string(std::string_view(member.key())),
                      Value::FromJson(member.value(), Origin::kData));
  }
  variables.emplace("documents", None{});
  variables.emplace("add_generation_prompt", add_generation_prompt);
  variables.emplace("bos_token", Text("<s>"));
  variables.emplace("eos_token", Text("</s>"));
  return variables;
}

// The day the reference was made to believe in.
ClockTime FixedClock() {
  ClockTime now;
  now.time.tm_year = 2024 - 1900;
  now.time.tm_mon = 6;
  now.time.tm_mday = 26;
  std::mktime(&now.time);
  return now;
}

}  // namespace

Result<GoldenSet> ReadGoldens(const std::filesystem::path& conversations,
                              const std::filesystem::path& reference) {
  GoldenSet set;
  MOXIE_ASSIGN_OR_RETURN(Json all, ReadJsonFile(conversations));
  set.conversations = all.is_object() && all.get_object().contains("conversations")
                          ? all.get_object().at("conversations")
                          : all;
  MOXIE_ASSIGN_OR_RETURN(std::string lines, ReadFile(reference, kMaxFile));
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = std::min(lines.find('\n', begin), lines.size());
    MOXIE_ASSIGN_OR_RETURN(Json line,
                           ParseJson(std::string_view(lines).substr(begin, end - begin)));
    begin = end + 1;
    JsonObject& row = line.get_object();
    auto str = [&](const char* key) { return std::string(std::string_view(row[key].as_string())); };
    GoldenCase c;
    c.template_name = str("template");
    c.conversation = str("conversation");
    c.add_generation_prompt = row["add_generation_prompt"].as_bool();
    c.is_error = row.contains("error");
    c.expected = str(c.is_error ? "error" : "text");
    set.cases.push_back(std::move(c));
  }
  return set;
}

Result<std::vector<std::string>> CompareGoldens(const GoldenSet& set,
                                                const std::filesystem::path& templates) {
  std::map<std::string, Template> parsed;
  std::vector<std::string> differences;
  for (const GoldenCase& c : set.cases) {
    if (!parsed.contains(c.template_name)) {
      MOXIE_ASSIGN_OR_RETURN(std::string source, ReadFile(templates / c.template_name, kMaxFile));
      auto tmpl = Template::Parse(source);
      if (!tmpl.ok()) return std::move(tmpl).status().WithContext(c.template_name);
      parsed.emplace(c.template_name, std::move(tmpl).value());
    }
    RenderOptions options;
    options.clock = FixedClock;
    auto text = parsed.at(c.template_name)
                    .Render(MakeVariables(set.conversations.get_object().at(c.conversation),
                                          c.add_generation_prompt),
                            options);
    std::string got = text.ok() ? text->str() : text.status().message();
    bool same = c.is_error ? !text.ok() && got.starts_with(c.expected + " (template line ")
                           : text.ok() && got == c.expected;
    if (same) continue;
    differences.push_back(StrCat(c.template_name, ", ", c.conversation,
                                 ", add_generation_prompt=", c.add_generation_prompt,
                                 "\n--- expected ", c.is_error ? "error" : "text", "\n", c.expected,
                                 "\n--- got ", text.ok() ? "text" : "error", "\n", got));
  }
  return differences;
}

}  // namespace moxie::text::jinja
