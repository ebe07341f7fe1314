#include "config/gguf_metadata.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/json.h"

namespace moxie::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
std::string Raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string Str(std::string_view s) { return Raw<uint64_t>(s.size()) + std::string(s); }
std::string Head(uint64_t keys, uint32_t version = 3) {
  return "GGUF" + Raw(version) + Raw<uint64_t>(0) + Raw(keys);
}
std::string ErrorOf(const std::string& file) {
  auto metadata = GgufMetadata::Parse(file, "m.gguf");
  return metadata.ok() ? "OK" : metadata.status().message();
}

TEST(GgufMetadataTest, ReadsWhatModelsHave) {
  std::string file = Head(7) + Str("s") + Raw<uint32_t>(8) + Str("text") + Str("u") +
                     Raw<uint32_t>(4) + Raw<uint32_t>(7) + Str("b") + Raw<uint32_t>(7) + "\x01" +
                     Str("list") + Raw<uint32_t>(9) + Raw<uint32_t>(8) + Raw<uint64_t>(2) +
                     Str("a") + Str("") + Str("f") + Raw<uint32_t>(9) + Raw<uint32_t>(6) +
                     Raw<uint64_t>(1) + Raw(1.5f) + Str("i") + Raw<uint32_t>(9) + Raw<uint32_t>(5) +
                     Raw<uint64_t>(2) + Raw<int32_t>(-1) + Raw<int32_t>(6) + Str("big") +
                     Raw<uint32_t>(10) + Raw<uint64_t>(UINT64_MAX);
  auto m = GgufMetadata::Parse(file, "m.gguf");
  ASSERT_TRUE(m.ok()) << m.status().message();
  EXPECT_EQ(m->String("s"), "text");
  EXPECT_EQ(m->Int("u"), 7);
  EXPECT_EQ(m->Bool("b"), true);
  EXPECT_THAT(m->Strings("list"), ElementsAre("a", ""));
  EXPECT_THAT(m->Floats("f"), ElementsAre(1.5f));
  EXPECT_THAT(m->Ints("i"), ElementsAre(-1, 6));
  EXPECT_EQ(m->String("none"), std::nullopt);
  EXPECT_TRUE(m->status().ok());
  EXPECT_EQ(m->end(), file.size());
  EXPECT_EQ(m->Int("big"), std::nullopt);
  EXPECT_THAT(m->status().message(), HasSubstr("m.gguf: big: is not an integer"));
}

TEST(GgufMetadataTest, WrongTypesAreErrorsThatNameTheKey) {
  std::string file = Head(1) + Str("k") + Raw<uint32_t>(9) + Raw<uint32_t>(4) + Raw<uint64_t>(0);
  auto error = [&](auto read) {
    auto m = GgufMetadata::Parse(file, "m");
    read(*m);
    return m->status().message();
  };
  EXPECT_EQ(error([](auto& m) { m.String("k"); }), "m: k: is an array");
  EXPECT_EQ(error([](auto& m) { m.Strings("k"); }), "m: k: is not an array of strings");
  EXPECT_EQ(error([](auto& m) { m.Floats("k"); }), "m: k: is not an array of float32");
  EXPECT_THAT(ErrorOf(Head(0, 1)), HasSubstr("version 1"));
  EXPECT_THAT(ErrorOf("GGML"), HasSubstr("no GGUF file"));
}

TEST(GgufMetadataTest, EveryTruncationIsAnError) {
  std::string file = Head(2) + Str("key") + Raw<uint32_t>(9) + Raw<uint32_t>(8) + Raw<uint64_t>(1) +
                     Str("abc") + Str("other") + Raw<uint32_t>(4) + Raw<uint32_t>(7);
  EXPECT_EQ(ErrorOf(file), "OK");
  for (size_t n = 0; n < file.size(); ++n) EXPECT_NE(ErrorOf(file.substr(0, n)), "OK") << n;
}

TEST(GgufMetadataCase, gguf_counts_and_lengths) {
  auto json = ReadJsonFile(MOXIE_TEST_DATA "/cases/gguf-counts-and-lengths.json");
  ASSERT_TRUE(json.ok());
  const auto& files = json->at("input").at("files").as_array();
  const auto& results = json->at("expected").at("results").as_array();
  ASSERT_EQ(files.size(), results.size());
  for (size_t i = 0; i < files.size(); ++i) {
    std::string_view hex = files[i].at("hex").as_string();
    std::string bytes;
    for (size_t k = 0; k + 1 < hex.size(); k += 2) {
      bytes += static_cast<char>(std::stoi(std::string(hex.substr(k, 2)), nullptr, 16));
    }
    EXPECT_EQ(GgufMetadata::Parse(bytes, "m").ok(), results[i].at("accept").as_bool())
        << files[i].at("name");
  }
}

}  // namespace
}  // namespace moxie::config
