#include "cli/exit.h"

#include <algorithm>
#include <cstdio>

#include "config/flags.h"

namespace moxie::cli {

int Fail(const Status& status, int code) {
  std::string line = status.message();
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fprintf(stderr, "moxie: error: %s\n", line.c_str());
  return code;
}

int RunWithFlags(config::Command command, std::span<const std::string> args,
                 Status (*body)(const config::CommandLine& line)) {
  auto line = config::ParseCommandLine(command, args);
  if (!line.ok()) return Fail(line.status(), kUsage);
  if (line->help) {
    std::fputs(line->help->c_str(), stdout);
    return kOk;
  }
  for (const std::string& note : line->notes)
    std::fprintf(stderr, "moxie: note: %s\n", note.c_str());
  Status status = body(*line);
  return status.ok() ? kOk : Fail(status);
}

}  // namespace moxie::cli
