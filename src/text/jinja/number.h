// Reading numbers as Python's int() and float() read strings.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/value.h"

namespace moxie::text::jinja {

// int(text, base), base 0 or 2..36; nothing where Python raises ValueError. Raises kLimit for more
// than 127 bits.
std::optional<Int> ParseInt(std::string_view text, int base);

// float(text); nothing where Python raises ValueError.
std::optional<double> ParseFloat(std::string_view text);

// round(value, digits), half to even on the exact binary value.
double RoundFloat(double value, Int digits);

}  // namespace moxie::text::jinja
