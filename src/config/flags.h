// From a command line to a CommandLine: defaults, the --config file, the flags as typed, and the
// checks.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "config/command_line.h"

namespace moxie::config {

// `args` are the words after the sub-command. What a flag does follows from its row's class:
//   a setter          the value is stored
//   no setter         the default and harmless values pass; IGNORE takes all values with a note;
//   the others are
//                     refused with what the flag is about
// Errors are usage errors (exit 2), one line each: unknown flags come with the nearest name, bad
// values with the flag, the value and the range.
Result<CommandLine> ParseCommandLine(Command command, std::span<const std::string> args);

}  // namespace moxie::config
