// The file of `--config`: a YAML map from flag names to values, as vLLM reads it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace moxie::config {

// The file as words of a command line: `port: 80` gives --port=80, `x: true` --x, `x: false`
// --no-x, a list
// `--x=a --x...` its words, a map its JSON; `model` gives the positional model. Errors name file
// and key.
Result<std::vector<std::string>> ReadFlagFile(const std::string& path);

}  // namespace moxie::config
