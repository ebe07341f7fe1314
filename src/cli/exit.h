// How commands end.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "config/command_line.h"

namespace moxie::cli {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

// Prints `moxie: error: <message>` to stderr, on one line, and returns `code`.
int Fail(const Status& status, int code = kFailed);

// Parses `args` with the flag table, prints notes to stderr or the help asked for to stdout, and
// runs `body`. Errors of the command line end with kUsage, those of `body` with kFailed.
int RunWithFlags(config::Command command, std::span<const std::string> args,
                 Status (*body)(const config::CommandLine& line));

}  // namespace moxie::cli
