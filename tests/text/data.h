// The text tests' data: files of the repository, and files of others that a script fetches.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "text/tokenizer.h"

namespace moxie::text {

inline const std::filesystem::path kData = MOXIE_TEST_DATA;

inline Json ReadCase(const std::string& id) {
  auto json = ReadJsonFile(kData / "cases" / (id + ".json"));
  EXPECT_TRUE(json.ok()) << json.status().message();
  return json.ok() ? std::move(*json) : Json();
}

// `name`: "fixtures/tok-llama3.json".
inline std::shared_ptr<const Tokenizer> LoadFixture(std::string_view name) {
  auto tokenizer = Tokenizer::Load(kData / "cases" / name);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return tokenizer.ok() ? *tokenizer : nullptr;
}

inline std::vector<int32_t> Ids(const Json& list) {
  std::vector<int32_t> ids;
  for (const Json& id : list.as_array()) ids.push_back(static_cast<int32_t>(id.as_int64()));
  return ids;
}

inline std::string Text(const Json& json) { return std::string(json.as_string()); }

// Encodes as data of a text: without what goes around it.
inline std::vector<int32_t> EncodeOnly(const Tokenizer& tokenizer, std::string_view text) {
  auto ids = tokenizer.Encode(text, {.add_special_tokens = false});
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return ids.ok() ? *ids : std::vector<int32_t>{-1};
}

// Whether a fetched file is there; fails, or says that it is skipped when missing data is allowed.
inline bool HaveFetched(const std::filesystem::path& relative) {
  if (std::filesystem::exists(kData / "fetched" / relative)) return true;
  const char* allowed = std::getenv("MOXIE_ALLOW_MISSING_DATA");
  std::string what = "no tests/data/fetched/" + relative.string() + ": run tools/fetch_text_data";
  if (allowed != nullptr && std::string_view(allowed) == "1") {
    std::fprintf(stderr, "SKIPPED: %s\n", what.c_str());
  } else {
    ADD_FAILURE() << what << ", or set MOXIE_ALLOW_MISSING_DATA=1 to go without";
  }
  return false;
}

}  // namespace moxie::text
