#include "cli/cli.h"

#include <exception>
#include <string>
#include <vector>

#include "cli/command_table.h"
#include "cli/exit.h"
#include "cli/help.h"
#include "config/nearest.h"

namespace moxie::cli {
namespace {

Status UnknownCommand(const std::string& name) {
  std::vector<std::string_view> names;
  for (const CommandRow& row : Commands()) names.push_back(row.name);
  std::string_view nearest = config::NearestName(name, names);
  return InvalidArgument(
      "unknown command \"", name, "\"; ",
      nearest.empty() ? "see `moxie help`" : StrCat("did you mean ", nearest, "?"));
}

int Run(std::vector<std::string> words) {
  if (words.empty()) {
    PrintCommands(stderr);
    return kUsage;
  }
  std::string name = words[0];
  if (name == "--version" || name == "-V") name = "version";
  if (name == "--help" || name == "-h") name = "help";
  std::span<const std::string> args = std::span(words).subspan(1);
  for (const CommandRow& row : Commands()) {
    if (row.name == name) return row.run(args);
  }
  return Fail(UnknownCommand(name), kUsage);
}

}  // namespace

int Main(int argc, char** argv) {
  try {
    return Run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::exception&
               error) {  // allocation failure; libraries are caught where they are called
    return Fail(Internal(error.what()));
  }
}

}  // namespace moxie::cli
