// json.dumps, with the options that transformers' tojson filter takes.
#pragma once

#include <optional>
#include <string>

#include "text/jinja/ops.h"

namespace moxie::text::jinja {

struct JsonFormat {
  bool ensure_ascii = false;
  std::optional<Text> indent;  // one level of it; absent: all on one line
  Text item_separator = ", ";
  Text key_separator = ": ";
  bool sort_keys = false;
};

// Raises TypeError for what json.dumps refuses.
Text ToJson(const Value& value, const JsonFormat& format);

}  // namespace moxie::text::jinja
