// A tiny checkpoint with a tokenizer of its own: the words w0 ... w255, one id each, parted by
// blanks.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace moxie::cli {

// A tokenizer.json with id i for the word "w<i>".
inline std::string WordTokenizer(int words) {
  JsonObject vocabulary;
  for (int i = 0; i < words; ++i) vocabulary[StrCat("w", i)] = i;
  return DumpJson(
      JsonObject{{"version", "1.0"},
                 {"truncation", nullptr},
                 {"padding", nullptr},
                 {"added_tokens", JsonArray{}},
                 {"normalizer", nullptr},
                 {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                 {"post_processor", nullptr},
                 {"decoder", nullptr},
                 {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w0"}}}});
}

// A directory that holds the checkpoint of tests/data/tiny/<name> and that tokenizer; removed at
// the end.
class TinyModel {
 public:
  explicit TinyModel(const std::string& name, const std::string& where) : path_(where) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    const std::filesystem::path source = std::filesystem::path(MOXIE_TEST_DATA) / "tiny" / name;
    for (const char* file : {"config.json", "model.safetensors"}) {
      std::filesystem::create_symlink(source / file, path_ / file);
    }
    std::ofstream(path_ / "tokenizer.json") << WordTokenizer(256);
  }
  ~TinyModel() { std::filesystem::remove_all(path_); }

  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

}  // namespace moxie::cli
