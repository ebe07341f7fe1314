// Renders templates from standard input, one JSON object a line: {"template": ..., "variables":
// {...}}. Answers each with one line: {"text": ...}, or {"error": <Python's exception or ours>,
// "message": ...}. tools/fuzz_jinja.py compares the answers with jinja2's.
#include <iostream>
#include <string>

#include "base/json.h"
#include "text/jinja/template.h"

namespace moxie::text::jinja {
namespace {

Json Answer(const std::string& line) {
  JsonObject out;
  auto fail = [&](std::string type, std::string message) {
    out["error"] = type;
    out["message"] = message;
    return Json(out);
  };
  auto request = ParseJson(line);
  if (!request.ok()) return fail("Input", request.status().message());
  JsonObject& fields = request->get_object();
  auto tmpl = Template::Parse(std::string_view(fields["template"].get_string()));
  if (!tmpl.ok()) return fail("TemplateSyntaxError", tmpl.status().message());
  Variables variables;
  for (auto& member : fields["variables"].get_object()) {
    variables.emplace(std::string(std::string_view(member.key())),
                      Value::FromJson(member.value(), Origin::kData));
  }
  RenderOptions options;
  options.clock = [] {
    ClockTime now;
    now.time = {4, 5, 7, 9, 2, 126, 1, 67, 0, 0, nullptr};  // 2026-03-09 07:05:04
    return now;
  };
  auto text = tmpl->Render(variables, options);
  if (text.ok()) {
    out["text"] = std::string(text->view());
    return out;
  }
  std::string message = text.status().message();
  return fail(message.substr(0, message.find(':')), message);
}

}  // namespace
}  // namespace moxie::text::jinja

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << moxie::DumpJson(moxie::text::jinja::Answer(line)) << '\n' << std::flush;
  }
  return 0;
}
