// moxie help, moxie version.
#pragma once

#include <cstdio>
#include <span>
#include <string>

namespace moxie::cli {

// Usage and one line a command.
void PrintCommands(std::FILE* out);

// `moxie help` lists the commands; `moxie help CMD` is `moxie CMD --help`.
int Help(std::span<const std::string> args);

// "moxie 0.1.0"
int PrintVersion(std::span<const std::string> args);

}  // namespace moxie::cli
