// Checkpoint::Open beyond the handed cases: each error is one line that names file and tensor.
#include "weights/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "tests/weights/safetensors_writer.h"
#include "tests/weights/temp_dir.h"

namespace moxie::weights {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A file of this header and `data_bytes` zeros.
std::string FileOf(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header +
         std::string(data_bytes, '\0');
}

// What opening a directory with this one file says; empty when it opens.
std::string OpenOne(const std::string& header, size_t data_bytes) {
  TempDir dir;
  dir.Write("model.safetensors", FileOf(header, data_bytes));
  return Checkpoint::Open(dir.path()).status().message();
}

TEST(Checkpoint, OpensASingleFile) {
  TempDir dir;
  WriteSafetensors(dir.path() / "model.safetensors",
                   {{"a", "BF16", {2, 2}, "12345678"}, {"b", "F32", {1}, "abcd"}});
  auto checkpoint = Checkpoint::Open(dir.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const StoredTensor* b = checkpoint->Find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, tensor::DType::kF32);
  std::string data(4, '\0');
  ASSERT_TRUE(checkpoint->files()[0]
                  .ReadAt(static_cast<size_t>(b->offset), std::as_writable_bytes(std::span(data)))
                  .ok());
  EXPECT_EQ(data, "abcd");
  EXPECT_TRUE(checkpoint->files()[0].bytes().empty()) << "no weight file stays mapped";
  EXPECT_EQ(checkpoint->Find("c"), nullptr);
  EXPECT_EQ(checkpoint->total_bytes(), 12);
}

TEST(Checkpoint, TheFormatsOwnTypesAreKnown) {
  EXPECT_EQ(OpenOne(R"({"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}})", 2), "");
  EXPECT_THAT(OpenOne(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2),
              HasSubstr("tensor \"a\" has shape [3] of F4, which is no number of bytes"));
}

TEST(Checkpoint, MissingDirectoryAndFileInItsPlace) {
  TempDir dir;
  EXPECT_THAT(Checkpoint::Open(dir.path() / "none").status().message(),
              HasSubstr("none: no such directory"));
  dir.Write("file", "x");
  EXPECT_THAT(Checkpoint::Open(dir.path() / "file").status().message(),
              HasSubstr("file: is not a directory"));
  EXPECT_THAT(Checkpoint::Open(dir.path()).status().message(),
              HasSubstr("has neither model.safetensors nor model.safetensors.index.json"));
}

TEST(Checkpoint, TruncatedFileNamesTheFirstTensorThatIsCut) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})";
  EXPECT_THAT(OpenOne(header, 15), AllOf(HasSubstr("model.safetensors: truncated: tensor \"b\""),
                                         HasSubstr("the file holds 15")));
  EXPECT_THAT(OpenOne(header, 17), HasSubstr("1 bytes at the end belong to no tensor"));
  EXPECT_EQ(OpenOne(header, 16), "");
}

TEST(Checkpoint, HolesAndOverlapsAreRefused) {
  EXPECT_THAT(OpenOne(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3),
              HasSubstr("tensor \"a\" begins at byte 1 of the data, after a hole"));
  EXPECT_THAT(OpenOne(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                      R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                      3),
              HasSubstr("tensor \"b\" begins at byte 1 of the data, inside the tensor before it"));
}

TEST(Checkpoint, DescriptionsAreStrict) {
  const struct {
    const char* header;
    const char* message;
  } kCases[] = {
      {R"({"a":3})", "tensor \"a\" is described by an integer"},
      {R"({"a":[]})", "tensor \"a\" is described by an array"},
      {R"(3)", "is not a JSON object"},
      {R"({"a":{"dtype":1,"shape":[],"data_offsets":[0,0]}})", "has an integer as dtype"},
      {R"({"a":{"dtype":"U8","shape":2,"data_offsets":[0,2]}})", "has an integer in its shape"},
      {R"({"a":{"dtype":"U8","shape":[[2]],"data_offsets":[0,2]}})",
       "has a nested list in its shape"},
      {R"({"a":{"dtype":"U8","shape":{"n":2},"data_offsets":[0,2]}})",
       "has an object in its shape"},
      {R"({"a":{"dtype":"U8","shape":[2.0],"data_offsets":[0,2]}})", "has 2.0 in its shape"},
      {R"({"a":{"dtype":"U8","shape":["2"],"data_offsets":[0,2]}})", "has a string in its shape"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2,4]}})",
       "has too many numbers in its data_offsets"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2]}})", "has 1 data_offsets, not 2"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", "which run backwards"},
      {R"({"a":{"dtype":"U8","shape":[2],"shape":[2],"data_offsets":[0,2]}})",
       "has field \"shape\" twice"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2],"x":1}})", "has unknown field \"x\""},
      {R"({"__metadata__":{"k":"1","k":"2"}})", "key \"k\" is declared twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "key \"__metadata__\" is declared twice"},
      {R"({"__metadata__":{"k":{"l":"m"}}})", "__metadata__ has an object as a value"},
      {R"({"\u0061":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("a":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
       "tensor \"a\" is declared twice"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(OpenOne(c.header, 2),
                AllOf(HasSubstr("model.safetensors: header: "), HasSubstr(c.message)))
        << c.header;
  }
}

TEST(Checkpoint, DeepOrEndlessHeadersEnd) {
  EXPECT_THAT(OpenOne(std::string(100000, '['), 0), HasSubstr("model.safetensors: header: "));
  EXPECT_THAT(OpenOne("{\"__metadata__\":" + std::string(100000, '{'), 0), HasSubstr("header: "));
  std::string many = R"({"a":{"dtype":"U8","shape":[1)";
  for (int i = 0; i < 100000; ++i) many += ",1";
  EXPECT_THAT(OpenOne(many + R"(],"data_offsets":[0,1]}})", 1),
              HasSubstr("too many numbers in its shape"));
}

// Whatever one to three bytes become, opening ends; what it accepts lies inside the file.
TEST(Checkpoint, MutatedFilesAreReadSafely) {
  const std::string good = FileOf(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
      R"("b":{"dtype":"F32","shape":[],"data_offsets":[12,16]}})",
      16);
  TempDir dir;
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = good;
    const size_t header = bytes.size() - 16;
    for (uint32_t flips = 1 + random() % 3; flips > 0; --flips) {
      bytes[random() % header] = "0123456789-.,:{}[]\"\\e\0 \xff"[random() % 25];
    }
    dir.Write("model.safetensors", bytes);
    auto checkpoint = Checkpoint::Open(dir.path());
    if (!checkpoint.ok()) continue;
    ++accepted;
    for (const StoredTensor& t : checkpoint->tensors()) {
      EXPECT_GE(t.offset, 8);
      EXPECT_LE(t.offset + t.bytes, static_cast<int64_t>(bytes.size()));
    }
  }
  EXPECT_LT(accepted, 500);
}

class Sharded : public ::testing::Test {
 protected:
  void WriteIndex(const std::string& weight_map) {
    dir_.Write("model.safetensors.index.json",
               "{\"metadata\":{\"total_size\":1},\"weight_map\":" + weight_map + "}");
  }
  void WriteShard(const std::string& file, const std::string& tensor) {
    WriteSafetensors(dir_.path() / file, {{tensor, "U8", {1}, "x"}});
  }
  std::string Message() { return Checkpoint::Open(dir_.path()).status().message(); }

  TempDir dir_;
};

TEST_F(Sharded, MissingShardsAreCountedAndNamed) {
  WriteIndex(R"({"a":"1.safetensors","b":"2.safetensors","c":"3.safetensors"})");
  WriteShard("2.safetensors", "b");
  EXPECT_THAT(Message(),
              HasSubstr("2 of the 3 files that model.safetensors.index.json names are missing: "
                        "1.safetensors, 3.safetensors"));
}

TEST_F(Sharded, TensorsThatTheIndexDoesNotNameAreRefused) {
  WriteIndex(R"({"a":"1.safetensors"})");
  WriteSafetensors(dir_.path() / "1.safetensors", {{"a", "U8", {1}, "x"}, {"z", "U8", {1}, "x"}});
  EXPECT_THAT(Message(),
              HasSubstr("1.safetensors: tensor \"z\" is not in model.safetensors.index.json"));
}

TEST_F(Sharded, OneTensorInTwoShardsIsRefused) {
  WriteIndex(R"({"a":"1.safetensors","b":"2.safetensors"})");
  WriteShard("1.safetensors", "a");
  WriteSafetensors(dir_.path() / "2.safetensors", {{"a", "U8", {1}, "x"}, {"b", "U8", {1}, "x"}});
  EXPECT_THAT(Message(), AllOf(HasSubstr("2.safetensors: tensor \"a\" is also in "),
                               HasSubstr("1.safetensors")));
}

TEST_F(Sharded, TensorInTheWrongShardIsRefused) {
  WriteIndex(R"({"a":"2.safetensors","b":"1.safetensors"})");
  WriteShard("1.safetensors", "a");
  WriteShard("2.safetensors", "b");
  EXPECT_THAT(Message(),
              HasSubstr("has no tensor \"a\", which model.safetensors.index.json says it has"));
}

TEST_F(Sharded, IndexIsStrict) {
  const struct {
    const char* map;
    const char* message;
  } kCases[] = {
      {R"([])", "\"weight_map\" is an array, not an object"},
      {R"(null)", "\"weight_map\" is null, not an object"},
      {R"({"a":1})", "the shard of tensor \"a\" is not a string"},
      {R"({"a":["1"]})", "the shard of tensor \"a\" is not a string"},
      {R"({"a":""})", "is not a path inside the model's directory"},
      {R"({"a":"/etc/passwd"})", "is not a path inside the model's directory"},
      {R"({"a":"x/../../y"})", "is not a path inside the model's directory"},
      {R"({"a":"sub/"})", "is not a path inside the model's directory"},
      {R"({"a":"1","a":"1"})", "declares tensor \"a\" twice"},
      {R"({},"weight_map":{})", "has \"weight_map\" twice"},
  };
  for (const auto& c : kCases) {
    WriteIndex(c.map);
    EXPECT_THAT(Message(), AllOf(HasSubstr("model.safetensors.index.json: "), HasSubstr(c.message)))
        << c.map;
  }
  dir_.Write("model.safetensors.index.json", R"({"metadata":{}})");
  EXPECT_THAT(Message(), HasSubstr("has no \"weight_map\""));
}

TEST_F(Sharded, LinksAndFoldersBelowAreFollowed) {
  TempDir blobs;
  WriteSafetensors(blobs.path() / "blob", {{"a", "U8", {1}, "x"}});
  std::filesystem::create_symlink(blobs.path() / "blob", dir_.path() / "1.safetensors");
  std::filesystem::create_directory(dir_.path() / "sub");
  WriteShard("sub/2.safetensors", "b");
  WriteIndex(R"({"a":"1.safetensors","b":"sub/2.safetensors"})");
  EXPECT_EQ(Message(), "");
}

// A reader that opened a FIFO without care would wait for a writer for ever.
TEST_F(Sharded, FifoIsRefused) {
  WriteIndex(R"({"a":"1.safetensors"})");
  ASSERT_EQ(::mkfifo((dir_.path() / "1.safetensors").c_str(), 0600), 0);
  EXPECT_THAT(Message(), HasSubstr("1.safetensors: not a regular file"));
}

TEST_F(Sharded, SingleFileComesFirst) {
  WriteIndex(R"({"a":"1.safetensors"})");
  WriteSafetensors(dir_.path() / "model.safetensors", {{"whole", "U8", {1}, "x"}});
  auto checkpoint = Checkpoint::Open(dir_.path());
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_NE(checkpoint->Find("whole"), nullptr);
}

}  // namespace
}  // namespace moxie::weights
