// The filters of jinja2 3.1, with transformers' tojson.
#pragma once

#include <string_view>

#include "text/jinja/interp.h"

namespace moxie::text::jinja {

struct FilterRow {
  std::string_view name;
  Value (*apply)(Interp& interp, const Value& operand, Args args);
};

// The filter, or null.
const FilterRow* FindFilter(std::string_view name);

}  // namespace moxie::text::jinja
