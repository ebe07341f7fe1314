// The handed cases st-*: what a safetensors file or a sharded directory must look like to be
// opened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/weights/temp_dir.h"
#include "weights/checkpoint.h"

namespace moxie::weights {
namespace {

using ::testing::HasSubstr;

JsonObject ReadCase(const std::string& id) {
  auto json = ReadJsonFile(std::filesystem::path(MOXIE_TEST_DATA) / "cases" / (id + ".json"));
  EXPECT_TRUE(json.ok()) << json.status().message();
  return json.ok() ? json->as_object() : JsonObject();
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

const JsonObject& ExpectedOf(const JsonObject& test_case, std::string_view name) {
  for (const Json& row : test_case.at("expected").at("results").as_array()) {
    if (row.at("name").as_string() == name) return row.as_object();
  }
  ADD_FAILURE() << "no expected result for " << name;
  static const JsonObject none;
  return none;
}

void ExpectTensors(const Checkpoint& checkpoint, const JsonObject& expected) {
  EXPECT_EQ(checkpoint.tensors().size(), expected.size());
  for (const auto& [name, want] : expected) {
    const StoredTensor* found = checkpoint.Find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->dtype_name, want.at("dtype").as_string());
    EXPECT_EQ(ShapeText(found->shape), DumpJson(want.at("shape")));
  }
}

// Opens the directory and compares with one row of the case's results.
void ExpectOutcome(const TempDir& dir, const JsonObject& expected,
                   const std::string& message_names) {
  auto checkpoint = Checkpoint::Open(dir.path());
  const bool accept = expected.at("accept").as_bool();
  ASSERT_EQ(checkpoint.ok(), accept) << checkpoint.status().message();
  if (!accept) {
    const std::string message = checkpoint.status().message();
    EXPECT_THAT(message, HasSubstr(message_names));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    if (auto* part = expected.if_contains("message_contains")) {
      EXPECT_THAT(message, HasSubstr(std::string(part->as_string())));
    }
    return;
  }
  if (auto* tensors = expected.if_contains("tensors"))
    ExpectTensors(*checkpoint, tensors->as_object());
  if (auto* file = expected.if_contains("tensor_a_from")) {
    const StoredTensor* a = checkpoint->Find("a");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(checkpoint->files()[static_cast<size_t>(a->file)].path().filename(),
              std::string(file->as_string()));
  }
}

void RunSingleFileCase(const std::string& id) {
  const JsonObject test_case = ReadCase(id);
  const JsonArray& files = test_case.at("input").at("files").as_array();
  ASSERT_FALSE(files.empty());
  for (const Json& file : files) {
    const std::string name(file.at("name").as_string());
    SCOPED_TRACE(name);
    TempDir dir;
    dir.Write("model.safetensors", FromHex(file.at("hex").as_string()));
    ExpectOutcome(dir, ExpectedOf(test_case, name), "model.safetensors");
  }
}

TEST(Cases, st_header_length) { RunSingleFileCase("st-header-length"); }

TEST(Cases, st_shape_dtype_keys) { RunSingleFileCase("st-shape-dtype-keys"); }

std::string IndexText(const JsonObject& input, const JsonObject& variant) {
  if (auto* raw = variant.if_contains("index_raw")) return std::string(raw->as_string());
  auto* other = variant.if_contains("index_override");
  return DumpJson(other != nullptr ? *other : input.at("index"));
}

TEST(Cases, st_index_shards) {
  const JsonObject test_case = ReadCase("st-index-shards");
  const JsonObject& input = test_case.at("input").as_object();
  for (const Json& variant : input.at("variants").as_array()) {
    const std::string name(variant.at("name").as_string());
    SCOPED_TRACE(name);
    TempDir dir;
    dir.Write("model.safetensors.index.json", IndexText(input, variant.as_object()));
    for (const auto& [file, content] : variant.at("files").as_object()) {
      const auto path = dir.path() / std::string(file);
      if (content.as_string() == "DIRECTORY") {
        std::filesystem::create_directory(path);
      } else {
        dir.Write(std::string(file), FromHex(content.as_string()));
      }
    }
    ExpectOutcome(dir, ExpectedOf(test_case, name), dir.path().string());
  }
}

}  // namespace
}  // namespace moxie::weights
