#include "cli/help.h"

#include <vector>

#include "base/version.h"
#include "cli/command_table.h"
#include "cli/exit.h"

namespace moxie::cli {

void PrintCommands(std::FILE* out) {
  std::fputs("Usage: moxie COMMAND [MODEL] [flags]\n\n", out);
  for (const CommandRow& row : Commands()) {
    std::fprintf(out, "  %-16.*s%.*s\n", static_cast<int>(row.name.size()), row.name.data(),
                 static_cast<int>(row.help.size()), row.help.data());
  }
}

int Help(std::span<const std::string> args) {
  if (args.empty()) {
    PrintCommands(stdout);
    return kOk;
  }
  const std::vector<std::string> ask{"--help"};
  for (const CommandRow& row : Commands()) {
    if (row.name != args[0]) continue;
    if (row.run == Help) {
      PrintCommands(stdout);
      return kOk;
    }
    return row.run(ask);
  }
  return Fail(InvalidArgument("no command \"", args[0], "\"; `moxie help` lists them"), kUsage);
}

int PrintVersion(std::span<const std::string>) {
  std::string line = StrCat("moxie ", Version(), "\n");
  std::fputs(line.c_str(), stdout);
  return kOk;
}

}  // namespace moxie::cli
