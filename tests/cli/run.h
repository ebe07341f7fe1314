// Runs a command line in this process.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/cli.h"

namespace moxie::cli {

struct Outcome {
  int code = -1;
  std::string out, err;
};

inline Outcome Moxie(std::vector<std::string> words) {
  words.insert(words.begin(), "moxie");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = Main(static_cast<int>(argv.size()), argv.data());
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

}  // namespace moxie::cli
