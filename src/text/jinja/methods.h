// The methods of Python's built-in types that a sandboxed template may reach.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/interp.h"

namespace moxie::text::jinja {

// value.name as a bound method or an attribute, or nothing.
std::optional<Value> FindMethod(const Value& value, std::string_view name);

// Whether the attribute exists and the immutable sandbox forbids it: those that change a list or a
// dict, and those that begin with an underscore.
bool IsUnsafeAttribute(const Value& value, std::string_view name);

// Operations of str that filters share.
Text Lower(const Text& text);
Text Upper(const Text& text);
Text Capitalize(const Text& text);
Text Strip(const Text& text, const Value* chars, bool left, bool right);
Text Replace(const Text& text, const Text& from, const Text& to, Int count);
Text Center(const Text& text, Int width, const Text& fill);
std::vector<Value> SplitLines(const Text& text, bool keep_ends);
std::vector<Value> Split(const Text& text, const Value& separator, Int limit, bool from_right);

}  // namespace moxie::text::jinja
