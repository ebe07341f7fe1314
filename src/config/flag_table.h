// The flag table: every flag of `vllm serve` 0.32 and moxie's own, one row each. Parsing, defaults,
// help and the checks all read this table; nothing else knows a flag's name or default.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "config/command_line.h"

namespace moxie::config {

enum class FlagClass : uint8_t {
  kMust,   // honoured by its setter, or refused when set to what would matter until code reaches it
  kLater,  // refused when set to what would matter
  kTrivial,  // one value is true of moxie; others are refused
  kIgnore,   // accepted with a note: it cannot change an answer or a byte here
  kRefuse,   // refused for good
};

enum class FlagType : uint8_t {
  kBool,            // --x, --no-x
  kInt,             // 42
  kHumanInt,        // 42, 4k = 4000, 4K = 4096, 1.5m; also g, G, t, T
  kReal,            // 0.9
  kString,          // any text
  kOptionalString,  // --x, --x text
  kStrings,         // --x a b c
  kInts,            // --x 1 2 3, --x 1,2,3
  kJson,            // --x '{"a": 1}', --x.a 1, --x.list+ a,b
};

// Which values a row takes, beyond its type.
struct FlagDomain {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;          // min itself is refused
  bool max_open = false;          // max itself is refused
  std::string_view choices = "";  // kString: "a|b|c"; empty: any. kHumanInt: words beside numbers
};

// monostate: absent, also typed as `None`.
using FlagValue = std::variant<std::monostate, bool, int64_t, double, std::string,
                               std::vector<std::string>, std::vector<int64_t>, Json>;

using FlagSetter = void (*)(const FlagValue& value, CommandLine& line);

inline constexpr uint8_t kEngineCommands = 1 | 2 | 4 | 8;  // serve, plan, complete, bench

struct FlagRow {
  std::string_view name;   // "--max-num-seqs"; without dashes: the positional argument
  std::string_view alias;  // another name: "-tp"; empty: none
  FlagType type;
  std::string_view initial;  // the default as it would be typed; empty: absent
  FlagDomain domain;
  std::string_view harmless;  // without a setter: further values that change nothing, "true|false"
  std::string_view group;     // vLLM's, for --help=GROUP
  FlagClass flag_class;
  FlagSetter set;         // nullptr: no code is reached by this flag
  std::string_view help;  // what it does; without a setter: what it is about, or why not
  uint8_t commands = kEngineCommands;
  bool required = false;  // its commands cannot run without it

  bool positional() const { return !name.starts_with("--"); }
  bool Takes(Command command) const { return (commands & static_cast<uint8_t>(command)) != 0; }
};

std::span<const FlagRow> FlagTable();
// The positional argument of a command; every command has one.
const FlagRow& PositionalRow(Command command);

// Flags that vLLM had and removed.
struct RemovedFlag {
  std::string_view name;
  bool takes_value;
  bool refused;           // it changed answers: ignoring it would be wrong
  std::string_view note;  // what replaced it
};

std::span<const RemovedFlag> RemovedFlags();

}  // namespace moxie::config
