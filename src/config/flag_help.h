// Help texts made from the flag table.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "config/command_line.h"

namespace moxie::config {

// `moxie COMMAND --help` (topic ""): usage, the flags that moxie honours, and the groups. Topics,
// as vLLM has them: a group's name, `all`, `listgroup`, or part of a flag's name; anything else is
// an error.
Result<std::string> FlagHelp(Command command, std::string_view topic);

}  // namespace moxie::config
