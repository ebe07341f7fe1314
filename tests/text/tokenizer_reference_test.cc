// Real tokenizers against the ids and texts of Hugging Face's package, and vocabularies of real
// GGUF files against llama.cpp's ids too. The tokenizers belong to their makers and are fetched;
// the package's strings and ids are here.
#include <algorithm>
#include <ctime>
#include <iterator>
#include <sstream>

#include "tests/text/data.h"
#include "text/detokenizer.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

struct Row {
  std::string text;
  std::vector<int32_t> ids;
  std::string decoded;
};

std::vector<Row> ReadRows(const std::string& name) {
  auto file = ReadFile(kData / "tokenizers" / name / "encodings.jsonl", 1 << 20);
  EXPECT_TRUE(file.ok()) << file.status().message();
  std::vector<Row> rows;
  std::string_view rest = *file;
  while (!rest.empty()) {
    size_t end = rest.find('\n');
    auto json = ParseJson(rest.substr(0, end));
    EXPECT_TRUE(json.ok()) << json.status().message();
    rows.push_back({Text(json->at("text")), Ids(json->at("ids")), Text(json->at("decoded"))});
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return rows;
}

// Cut at every token, a stream gives valid text that joins to the whole.
void CheckStream(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool skip) {
  IncrementalDetokenizer stream(tokenizer, skip);
  std::string joined;
  for (int32_t id : ids) {
    std::string part = stream.Push(id);
    ASSERT_TRUE(IsValidUtf8(part));
    joined += part;
  }
  joined += stream.Flush();
  ASSERT_EQ(joined, tokenizer.Decode(ids, skip));
}

TEST(StreamTest, CutAtEveryTokenEqualsTheWhole) {
  for (const char* name : {"tok-deepseek3", "tok-gpt2-strip", "tok-gpt2", "tok-llama3-bos",
                           "tok-llama3", "tok-qwen2", "tok-spm"}) {
    auto tokenizer = LoadFixture(std::string("fixtures/") + name + ".json");
    ASSERT_NE(tokenizer, nullptr);
    for (const Row& row : ReadRows("smollm2")) {
      SCOPED_TRACE(std::string(name) + ": " + row.text);
      auto ids = tokenizer->Encode(row.text);
      ASSERT_TRUE(ids.ok());
      CheckStream(*tokenizer, *ids, false);
      std::reverse(ids->begin(), ids->end());  // broken characters too
      CheckStream(*tokenizer, *ids, true);
    }
  }
}

class ReferenceTest : public testing::TestWithParam<const char*> {};

TEST_P(ReferenceTest, IdsTextsAndStreamsEqualThePackages) {
  std::filesystem::path file = std::filesystem::path("tokenizers") / GetParam() / "tokenizer.json";
  if (!HaveFetched(file)) GTEST_SKIP() << "run tools/fetch_text_data";
  auto tokenizer = Tokenizer::Load(kData / "fetched" / file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  std::vector<Row> rows = ReadRows(GetParam());
  ASSERT_EQ(rows.size(), 240u);
  for (const Row& row : rows) {
    EXPECT_EQ(EncodeOnly(**tokenizer, row.text), row.ids) << row.text;
    EXPECT_EQ((*tokenizer)->Decode(row.ids), row.decoded) << row.text;
    CheckStream(**tokenizer, row.ids, false);
    CheckStream(**tokenizer, row.ids, true);
  }
}

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// 200 KB of one letter, whose merges all have the same rank: exact ids, and no quadratic time.
TEST_P(ReferenceTest, LongRunsOfOneLetterEqualThePackagesInTwoSeconds) {
  std::filesystem::path file = std::filesystem::path("tokenizers") / GetParam() / "tokenizer.json";
  if (!HaveFetched(file)) GTEST_SKIP() << "run tools/fetch_text_data";
  auto tokenizer = Tokenizer::Load(kData / "fetched" / file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  auto json = ReadJsonFile(kData / "tokenizers" / "long_runs.json");
  ASSERT_TRUE(json.ok()) << json.status().message();
  for (const auto& [letter, runs] : json->at(GetParam()).as_object()) {
    std::string text;
    while (text.size() < 200'000) text += letter;
    std::vector<int32_t> want;
    for (const Json& run : runs.as_array()) {
      want.insert(want.end(), run.at(1).to_number<size_t>(), run.at(0).to_number<int32_t>());
    }
    const double start = ThreadSeconds();
    const std::vector<int32_t> ids = EncodeOnly(**tokenizer, text);
    EXPECT_LT(ThreadSeconds() - start, 2.0) << letter;
    EXPECT_TRUE(ids == want) << letter << ": " << ids.size() << " ids, expected " << want.size();
  }
}

std::string TestName(std::string name) {
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceTest,
                         testing::Values("deepseek-v4", "gemma3", "ggml-gpt-2", "ggml-llama-bpe",
                                         "ggml-llama-spm", "ggml-phi-3", "ggml-qwen2",
                                         "ggml-starcoder", "minilm-l6-v2", "smollm2"),
                         [](const auto& info) { return TestName(info.param); });

struct GgufFile {
  const char* name;
  const char* reference = nullptr;  // of the package, where there is one
};
class GgufTest : public testing::TestWithParam<GgufFile> {};

// llama.cpp's own: texts between marks, and a line of ids for each.
void CheckLlamaCpps(const Tokenizer& tokenizer, const std::filesystem::path& gguf) {
  auto texts = ReadFile(gguf.string() + ".inp", 1 << 20);
  auto ids = ReadFile(gguf.string() + ".out", 1 << 20);
  ASSERT_TRUE(texts.ok() && ids.ok());
  constexpr std::string_view kMark = "\n__ggml_vocab_test__\n";
  std::string_view rest = *texts;
  std::istringstream lines(*ids);
  size_t rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const size_t end = rest.find(kMark);
    if (end == rest.npos) break;
    std::istringstream words(line);
    const std::vector<int32_t> want(std::istream_iterator<int32_t>(words), {});
    EXPECT_EQ(EncodeOnly(tokenizer, rest.substr(0, end)), want) << rest.substr(0, end);
    rest.remove_prefix(end + kMark.size());
  }
  EXPECT_GE(rows, 46u);
}

TEST_P(GgufTest, IdsAndTextsEqualLlamaCppsAndThePackages) {
  const std::string file = std::string("ggufs/") + GetParam().name + ".gguf";
  if (!HaveFetched(file)) GTEST_SKIP() << "run tools/fetch_text_data";
  auto tokenizer = Tokenizer::Load(kData / "fetched" / file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  CheckLlamaCpps(**tokenizer, kData / "fetched" / file);
  if (GetParam().reference == nullptr) return;
  for (const Row& row : ReadRows(GetParam().reference)) {
    // A token to llama.cpp and to Llama's own file; the reference was converted without it.
    if (row.text == "<unk>") continue;
    EXPECT_EQ(EncodeOnly(**tokenizer, row.text), row.ids) << row.text;
    EXPECT_EQ((*tokenizer)->Decode(row.ids), row.decoded) << row.text;
    CheckStream(**tokenizer, row.ids, false);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GgufTest,
                         testing::Values(GgufFile{"bert-bge", "minilm-l6-v2"},
                                         GgufFile{"deepseek-coder"}, GgufFile{"deepseek-llm"},
                                         GgufFile{"falcon"}, GgufFile{"gpt-2", "ggml-gpt-2"},
                                         GgufFile{"llama-bpe", "ggml-llama-bpe"},
                                         GgufFile{"llama-spm", "ggml-llama-spm"}, GgufFile{"mpt"},
                                         GgufFile{"phi-3", "ggml-phi-3"},
                                         GgufFile{"qwen2", "ggml-qwen2"}, GgufFile{"qwen35"},
                                         GgufFile{"starcoder", "ggml-starcoder"}),
                         [](const auto& info) { return TestName(info.param.name); });

}  // namespace
}  // namespace moxie::text
