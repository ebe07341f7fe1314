// The tests of jinja2 3.1.
#pragma once

#include <string_view>

#include "text/jinja/interp.h"

namespace moxie::text::jinja {

struct TestRow {
  std::string_view name;
  bool (*apply)(Interp& interp, const Value& operand, Args args);
};

// The test, or null.
const TestRow* FindTest(std::string_view name);

}  // namespace moxie::text::jinja
