#include "cli/command_table.h"

#include "cli/help.h"

namespace moxie::cli {
namespace {

constexpr CommandRow kCommands[] = {
    {"help", "Show this, or the flags of a command", Help},
    {"version", "Show the version", PrintVersion},
};

}  // namespace

std::span<const CommandRow> Commands() { return kCommands; }

}  // namespace moxie::cli
