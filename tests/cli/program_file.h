// A program in the text form of graphs, as a file.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace moxie::cli {

// Removed at the end.
class ProgramFile {
 public:
  explicit ProgramFile(std::string_view text)
      : path_(::testing::TempDir() + "moxie_program_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".ir") {
    std::ofstream(path_) << text;
  }
  ~ProgramFile() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace moxie::cli
