// Matching call arguments to a signature, as Python does.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace moxie::text::jinja {

// Params p("replace", std::move(args), "old,new,count=");  p[2] is null when count was not given.
// A name that ends in '=' may be left out; a signature that starts with '/' takes no keywords.
class Params {
 public:
  // Raises TypeError when the arguments do not fit.
  Params(std::string_view function, Args args, std::string_view signature);

  const Value* operator[](size_t i) const { return values_[i] ? &*values_[i] : nullptr; }
  // The value, or `fallback` when it was left out.
  Value Or(size_t i, Value fallback) const { return values_[i] ? *values_[i] : fallback; }
  // The value as Python takes an integer argument; TypeError for anything else.
  Int Integer(size_t i, Int fallback) const;
  // The value's truth; false when it was left out.
  bool Flag(size_t i) const;
  // The same where Python (3.11) takes an integer for a flag, as splitlines does.
  bool IntegerFlag(size_t i) const;

 private:
  std::vector<std::optional<Value>> values_;
};

}  // namespace moxie::text::jinja
