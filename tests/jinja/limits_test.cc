// No template, however it is written, takes more than its limits; errors say which one, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/jinja/template.h"

namespace moxie::text::jinja {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Status RenderStatus(std::string_view source, const RenderOptions& options = {}) {
  auto tmpl = Template::Parse(source);
  if (!tmpl.ok()) return tmpl.status();
  auto text = tmpl->Render({}, options);
  return text.ok() ? OkStatus() : text.status();
}

void ExpectLimit(std::string_view source, std::string_view name) {
  RenderOptions options;
  options.limits.max_steps = 2'000'000;
  options.limits.max_text_bytes = size_t{1} << 20;
  options.limits.max_memory_bytes = size_t{16} << 20;
  Status status = RenderStatus(source, options);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << source;
  EXPECT_THAT(status.message(), HasSubstr(std::string(name))) << source;
}

TEST(LimitsTest, TimeIsBounded) {
  ExpectLimit("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
              "max_steps");
  ExpectLimit("{% for a in range(99999) %}{{ (range(999)|list|sort)[0] }}{% endfor %}",
              "max_steps");
  ExpectLimit("{% for a in range(99999) %}{% if 'x' * 1000000 == 'y' %}{% endif %}{% endfor %}",
              "max_steps");
}

TEST(LimitsTest, TextIsBounded) {
  for (const char* source :
       {"{{ 'x' * 10000000000 }}", "{{ 'x'|center(10000000000) }}", "{{ 'x'.ljust(10**12) }}",
        "{{ '%10000000d' % 1 }}", "{{ '{:>10000000}'.format(1) }}", "{{ 'a'.zfill(10**9) }}",
        "{{ 'a\\tb'.expandtabs(10**9) }}", "{{ ('x' * 100000).replace('', 'y' * 1000) }}",
        "{{ (['x'] * 100000)|join('y' * 1000) }}", "{{ 'a\\nb'|indent(10**9, true) }}",
        "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}"
        "{% endfor %}",
        "{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
        "{% macro m() %}{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}{% endmacro %}"
        "{{ m()|length }}"}) {
    ExpectLimit(source, "max_text_bytes");
  }
}

TEST(LimitsTest, MemoryIsBounded) {
  ExpectLimit("{{ ([1] * 10**12)|length }}", "max_memory_bytes");
  ExpectLimit(
      "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}"
      "{% endfor %}",
      "max_memory_bytes");
  ExpectLimit(
      "{% set ns = namespace(l=[]) %}{% for i in range(999) %}{% set ns.l = ns.l + [('x' * 900) * "
      "1000 ~ "
      "i]"
      " %}{% endfor %}",
      "max_memory_bytes");
  ExpectLimit("{{ [1]|batch(10**12, 0)|list }}", "max_memory_bytes");
}

TEST(LimitsTest, DepthIsBounded) {
  ExpectLimit("{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}", "max_depth");
  ExpectLimit("{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}", "max_depth");
  // Containers nested beyond any stack: printed, compared, dumped, and destroyed.
  for (const char* use : {"{{ ns.x }}", "{{ ns.x|tojson }}", "{{ ns.x == [ns.x] }}"}) {
    ExpectLimit(std::string("{% set ns = namespace(x=[]) %}{% for i in range(90000) %}"
                            "{% set ns.x = [ns.x] %}{% endfor %}") +
                    use,
                "max_depth");
  }
  ExpectLimit(
      "{% set ns = namespace(x=[1]) %}{% for i in range(90000) %}{% set ns.x = ns.x|map('string') "
      "%}"
      "{% endfor %}{{ ns.x|list }}",
      "max_depth");
  std::string parentheses(5000, '('), blocks;
  EXPECT_THAT(RenderStatus("{{ " + parentheses).message(), HasSubstr("nested deeper than"));
  for (int i = 0; i < 5000; ++i) blocks += "{% if x %}";
  EXPECT_THAT(RenderStatus(blocks).message(), HasSubstr("nested deeper than"));
  std::string sum = "{{ 1";
  for (int i = 0; i < 100000; ++i) sum += "+1";
  EXPECT_THAT(RenderStatus(sum + " }}").message(), HasSubstr("nested operations"));
}

TEST(LimitsTest, LongChainsOfValuesAreDestroyed) {
  for (const char* set : {"[ns.x]", "{'a': ns.x}", "(ns.x, 1)", "namespace(y=ns.x)",
                          "ns.x|map('e')", "cycler(ns.x)", "joiner(ns.x)", "ns.x|items"}) {
    std::string source =
        StrCat("{% set ns = namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x = ", set,
               " %}{% endfor %}{% set ns.x = none %}ok");
    EXPECT_TRUE(RenderStatus(source).ok()) << source << RenderStatus(source).message();
  }
}

TEST(LimitsTest, ValuesThatHoldThemselvesAreFreed) {
  // Checked by the leak sanitizer.
  EXPECT_TRUE(RenderStatus("{% set ns = namespace() %}{% set ns.me = ns %}{% set ns.l = [ns] %}"
                           "{% macro m() %}{{ m }}{{ ns.f }}{% endmacro %}{% set ns.f = m %}"
                           "{% for x in [1] if ns.f %}{% set ns.loop = loop %}{{ loop.index }}"
                           "{% endfor %}{{ m() }}")
                  .ok());
}

// Destroyed at the program's end, after all that belongs to its thread: checked by the address
// sanitizer.
const Value kStaticValue = Value::List({Value::List({Value(1)})});

TEST(LimitsTest, ValuesMayOutliveTheirThreadsObjects) { EXPECT_TRUE(kStaticValue.is_list()); }

TEST(LimitsTest, ErrorsNameTheLine) {
  EXPECT_EQ(RenderStatus("a\n\n{% if true %}\n{{ x.y.z }}{% endif %}").message(),
            "UndefinedError: 'x' is undefined (template line 4)");
  EXPECT_THAT(RenderStatus("line\n {{ 'é' + }}").message(), StartsWith("line 2, column 11: "));
  EXPECT_THAT(RenderStatus("{% include 'x' %}").message(), HasSubstr("'include' is not supported"));
  EXPECT_THAT(RenderStatus("\xff").message(), HasSubstr("not UTF-8"));
  EXPECT_THAT(RenderStatus("{{ " + std::string(60, '9') + " }}").message(),
              StartsWith("line 1, column 4: an integer"));
  EXPECT_EQ(RenderStatus("{{ 2 ** 200 }}").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(RenderStatus("{{ [1]|random }}").code(), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace moxie::text::jinja
