#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "memory/plan.h"

namespace moxie::cli {

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressLine::Show(int64_t done_bytes, int64_t total_bytes) {
  const bool complete = done_bytes >= total_bytes;
  const int64_t percent = complete ? 100
                                   : static_cast<int64_t>(100.0 * static_cast<double>(done_bytes) /
                                                          static_cast<double>(total_bytes));
  if (percent == last_percent_ || (!terminal_ && !complete)) return;
  last_percent_ = percent;
  std::fprintf(stderr, "%smoxie: %s: %s of %s (%d%%)%s", terminal_ ? "\r" : "", what_.c_str(),
               memory::FormatBytes(done_bytes).c_str(), memory::FormatBytes(total_bytes).c_str(),
               static_cast<int>(percent), complete || !terminal_ ? "\n" : "");
  std::fflush(stderr);
}

}  // namespace moxie::cli
