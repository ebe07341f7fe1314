// Real tokenizers against the ids and texts of Hugging Face's package. The tokenizers belong to
// their makers and are fetched; the strings and ids are here.
#include <algorithm>

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

INSTANTIATE_TEST_SUITE_P(All, ReferenceTest,
                         testing::Values("deepseek-v4", "gemma3", "ggml-gpt-2", "ggml-llama-bpe",
                                         "ggml-llama-spm", "ggml-phi-3", "ggml-qwen2",
                                         "ggml-starcoder", "minilm-l6-v2", "smollm2"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace moxie::text
