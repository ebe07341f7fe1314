#include "engine/output_processor.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/engine/case_file.h"
#include "tests/engine/harness.h"
#include "text/unicode.h"

namespace moxie::engine {
namespace {

std::shared_ptr<const text::Tokenizer> Fixture(const std::string& name) {
  auto tokenizer = text::Tokenizer::Load(std::string(MOXIE_TEST_DATA "/cases/fixtures/") + name);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return tokenizer.ok() ? *tokenizer : nullptr;
}

// Runs `ids` through a processor of its own; the deltas, and the stream's view of the end.
struct Answer {
  Answer(const text::Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
    Request request;
    request.prompt_ids = {0};
    const auto count = static_cast<int64_t>(ids.size());
    const TokenTextBounds bounds = FindTokenTextBounds(tokenizer);
    capacity = count * bounds.max_bytes;
    TokenStream stream(1, request, count, capacity, nullptr);
    stream.Reserve();
    OutputProcessor output(&tokenizer, bounds, request.sampling, {}, count, &stream);
    for (int32_t id : ids) {
      output.Accept(id);
      TokenEvent event;
      EXPECT_TRUE(stream.Read(event));
      deltas.emplace_back(event.text);
      text += event.text;
      written = stream.text_size();
    }
  }
  std::vector<std::string> deltas;
  std::string text;
  int64_t capacity = 0;
  int64_t written = 0;
};

TEST(OutputProcessor, tok_stream_utf8_split) {
  const Json c = LoadCase("tok-stream-utf8-split");
  const auto tokenizer = Fixture("tok-gpt2.json");
  const JsonArray& ids = c.at("input").at("token_ids").as_array();
  for (size_t i = 0; i < ids.size(); ++i) {
    const Answer run(*tokenizer, ToVector<int32_t>(ids[i]));
    std::vector<std::string> expected;
    for (const Json& delta : c.at("expected").at("deltas").at(i).as_array())
      expected.push_back(ToString(delta));
    EXPECT_EQ(run.deltas, expected);
    EXPECT_EQ(run.text, ToString(c.at("expected").at("joined").at(i)));
  }
}

// Random ids are mostly broken UTF-8: the worst that a model can say.
TEST(OutputProcessor, TextNeverExceedsItsBoundAndIsAlwaysValid) {
  std::mt19937 random(5);
  for (const char* name : {"tok-gpt2.json", "tok-spm.json"}) {
    const auto tokenizer = Fixture(name);
    for (int trial = 0; trial < 300; ++trial) {
      std::vector<int32_t> ids(1 + random() % 12);
      const auto range = static_cast<uint32_t>(trial % 2 == 0 ? 256 : tokenizer->vocab_size());
      for (int32_t& id : ids) id = static_cast<int32_t>(random() % range);
      const Answer run(*tokenizer, ids);
      ASSERT_LE(run.written, run.capacity);
      ASSERT_TRUE(text::IsValidUtf8(run.text)) << run.text;
      ASSERT_EQ(run.text, tokenizer->Decode(ids, true));
    }
  }
}

}  // namespace
}  // namespace moxie::engine
