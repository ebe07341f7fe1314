// What goes wrong inside a template, as a C++ exception that never leaves this folder: Template
// turns it into a Status.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace moxie::text::jinja {

// `type` is the name of Python's exception class ("TypeError"), or kLimit / kUnsupported for ours.
struct Error {
  const char* type;
  std::string message;

  // By the name: a literal need not have one address.
  bool Is(std::string_view name) const { return name == type; }
};

inline constexpr const char* kLimit = "LimitError";
inline constexpr const char* kUnsupported = "Unsupported";

template <typename... Parts>
[[noreturn]] void Raise(const char* type, const Parts&... parts) {
  throw Error{type, StrCat(parts...)};
}

}  // namespace moxie::text::jinja
