// Splits a command line into occurrences of flags, by vLLM's rules: underscores for dashes,
// `--a=b`,
// `--x/--no-x`, lists up to the next flag, `--json.key value`, `-O3`, and a `--config` file whose
// flags come first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/flag_table.h"

namespace moxie::config {

// One flag as it was given.
struct FlagUse {
  const FlagRow* row = nullptr;  // nullptr: `removed` is set
  const RemovedFlag* removed = nullptr;
  std::vector<std::string> words = {};      // its values; {"true"} or {"false"} for booleans
  std::vector<std::string> json_path = {};  // --hf-overrides.a.b: {"a", "b"}
  bool append = false;                      // --json.list+ a,b
};

struct FlagWords {
  std::vector<FlagUse> uses;  // those of --config first
  bool wants_help = false;
  std::string help_topic;  // --help=TOPIC
};

// Unknown names are errors that give the nearest name. A value that starts with '-' needs
// `--flag=-value`, unless it is a number. `command_name` is for messages.
Result<FlagWords> SplitCommandLine(Command command, std::span<const std::string> args);

// The command of `serve`, `plan`, ... as typed.
std::string_view CommandName(Command command);

}  // namespace moxie::config
