// The Jinja engine of chat templates: what transformers' environment renders, rendered the same
// (jinja2 3.1, sandboxed and immutable, trim_blocks and lstrip_blocks, loop controls, no
// autoescape, json.dumps as tojson), held to limits.
//
// lexer -> parser (ast.h) -> bind (names to slots) -> interp (eval, exec). Values are value.h,
// Python's operations on them ops.h, and text.h keeps the origin of every character.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/jinja/interp.h"
#include "text/jinja/meter.h"
#include "text/jinja/value.h"

namespace moxie::text::jinja {

// The server's local time.
ClockTime LocalTime();

struct RenderOptions {
  Limits limits;
  Clock clock = LocalTime;
};

// A parsed template. Immutable; rendering is safe from many threads at once.
class Template {
 public:
  // Errors name line and column: `line 3, column 7: unexpected '}'`.
  static Result<Template> Parse(std::string_view source, const Limits& limits = {});

  // The output, each byte with its origin. Errors are `<Python's exception>: <message> (template
  // line n)`; a limit gives kResourceExhausted, what we do not support kUnimplemented.
  Result<Text> Render(const Variables& variables, const RenderOptions& options = {}) const;

  // What the source itself says: its text outside of tags, and its string constants. Never null.
  std::shared_ptr<const std::vector<std::string>> texts() const;

 private:
  struct Impl;
  explicit Template(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace moxie::text::jinja
