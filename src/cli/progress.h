// One line of progress on stderr.
#pragma once

#include <cstdint>
#include <string>

namespace moxie::cli {

// "moxie: loading weights: 640 MiB of 1.38 GiB (45%)": rewritten in place on a terminal, else
// printed once at the end.
class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  void Show(int64_t done_bytes, int64_t total_bytes);

 private:
  const std::string what_;
  const bool terminal_;
  int64_t last_percent_ = -1;
};

}  // namespace moxie::cli
