// From the words of a command line to a typed value of a flag, and the words for what a flag takes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "config/flag_table.h"

namespace moxie::config {

// `words` are the values typed after the flag: one, or several for list types; none for a boolean's
// --x. Numbers are read whole and checked against the row's domain. Errors name the flag, the value
// and the range:
//   --port: "70000" is not an integer from 0 to 65535
Result<FlagValue> ParseFlagValue(const FlagRow& row, std::span<const std::string> words);

// The row's default; monostate where it is absent. REQUIRES: the row is consistent (the table's
// test).
FlagValue DefaultValue(const FlagRow& row);

// "an integer from 0 to 65535", "one of auto, bfloat16, float32", "true or false".
std::string DescribeFlagValues(const FlagRow& row);

// "--max-num-seqs"; the positional argument in capitals, as usage lines write it: MODEL, FILE.
std::string ShownName(const FlagRow& row);

// Values as one types them: `42`, `[1, 2]`.
std::string ShowFlagValue(const FlagValue& value);

// "a|b|c" -> {"a", "b", "c"}; nothing for empty text.
std::vector<std::string> SplitFlagWords(std::string_view text, char separator);

}  // namespace moxie::config
