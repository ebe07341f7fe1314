// The table of sub-commands.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace moxie::cli {

struct CommandRow {
  std::string_view name;
  std::string_view help;                          // one line
  int (*run)(std::span<const std::string> args);  // the words after the name; returns the exit code
};

std::span<const CommandRow> Commands();

}  // namespace moxie::cli
