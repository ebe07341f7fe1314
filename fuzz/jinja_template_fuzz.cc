// Any bytes as a template, over the same variables: no crash, no hang, no more memory than the
// limits say.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "text/chat_format.h"
#include "text/jinja/template.h"

namespace {

using namespace moxie;
using namespace moxie::text;

const jinja::Variables& Context() {
  static const jinja::Variables variables = [] {
    auto json = ParseJson(
        R"({"messages": [{"role": "user", "content": "hi <|im_end|>"},
                         {"role": "assistant", "content": null, "tool_calls": [{"a": [1, 2.5]}]}],
            "x": "text é", "n": 3, "xs": [3, 1, 2], "d": {"a": 1, "b": {"c": "x"}}, "tools": null})");
    jinja::Variables out;
    for (const auto& member : json->get_object()) {
      out.emplace(std::string(std::string_view(member.key())),
                  jinja::Value::FromJson(member.value(), jinja::Origin::kData));
    }
    return out;
  }();
  return variables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view source(reinterpret_cast<const char*>(data), size);
  jinja::RenderOptions options;
  options.limits.max_steps = 200000;
  options.limits.max_text_bytes = size_t{1} << 20;
  options.limits.max_memory_bytes = size_t{32} << 20;
  options.limits.max_template_bytes = size_t{1} << 20;
  options.clock = [] { return jinja::ClockTime(); };
  DetectContentFormat(source);
  auto tmpl = jinja::Template::Parse(source, options.limits);
  if (!tmpl.ok()) return 0;
  auto text = tmpl->Render(Context(), options);
  if (text.ok() && text->bytes() > options.limits.max_text_bytes) std::abort();
  return 0;
}
