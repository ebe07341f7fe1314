// Python's three ways to format: "%d" % x, "{}".format(x), format(x, spec).
#pragma once

#include <string_view>

#include "text/jinja/ops.h"

namespace moxie::text::jinja {

// format % value
Text PercentFormat(Interp& interp, const Text& format, const Value& value);

// format.format(*args, **kwargs); names look up `fields`.
Text BraceFormat(Interp& interp, const Text& format, const std::vector<Value>& positional,
                 const Dict& keyword);

// format(value, spec)
Text FormatValue(Interp& interp, const Value& value, const Text& spec);

}  // namespace moxie::text::jinja
