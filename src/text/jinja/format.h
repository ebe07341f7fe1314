// Python's three ways to format: "%d" % x, "{}".format(x), format(x, spec).
#pragma once

#include <string_view>

#include "text/jinja/ops.h"

namespace moxie::text::jinja {

// format % value
Text PercentFormat(Interp& interp, const Text& format, const Value& value);

// format.format(*positional, **named); `named` is a dict, or what format_map was given, which fails
// only where a name is looked up in it.
Text BraceFormat(Interp& interp, const Text& format, const std::vector<Value>& positional,
                 const Value& named);

// format(value, spec)
Text FormatValue(Interp& interp, const Value& value, const Text& spec);

}  // namespace moxie::text::jinja
