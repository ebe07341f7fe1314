// The functions that every template sees: range, dict, namespace, cycler, joiner, raise_exception,
// strftime_now.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/interp.h"

namespace moxie::text::jinja {

// The global function, or nothing.
std::optional<Value> FindGlobal(std::string_view name);

}  // namespace moxie::text::jinja
