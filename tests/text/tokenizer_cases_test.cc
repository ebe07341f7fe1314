// Cases from public bug reports, each named in its test.
#include <gmock/gmock.h>

#include <chrono>

#include "tests/text/data.h"
#include "text/detokenizer.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

using testing::ElementsAreArray;

// The words of a byte-level tokenizer as text again.
std::vector<std::string> Words(const Tokenizer& tokenizer, std::string_view text) {
  auto words = tokenizer.PreTokenize(text);
  EXPECT_TRUE(words.ok()) << words.status().message();
  std::vector<std::string> out;
  for (const std::string& word : *words) {
    out.emplace_back();
    if (!AppendBytesOfChars(out.back(), word)) out.back() = word;
  }
  return out;
}

// {"per_tokenizer": {file: [{text, pieces, ids}]}}.
void CheckPieces(const std::string& id) {
  Json json = ReadCase(id);
  int rows = 0;
  for (const auto& member : json.at("expected").at("per_tokenizer").as_object()) {
    auto tokenizer = LoadFixture(member.key());
    ASSERT_NE(tokenizer, nullptr);
    for (const Json& row : member.value().as_array()) {
      SCOPED_TRACE(std::string(member.key()) + ": " + Text(row.at("text")));
      std::vector<std::string> pieces;
      for (const Json& piece : row.at("pieces").as_array()) pieces.push_back(Text(piece));
      EXPECT_THAT(Words(*tokenizer, Text(row.at("text"))), ElementsAreArray(pieces));
      EXPECT_EQ(EncodeOnly(*tokenizer, Text(row.at("text"))), Ids(row.at("ids")));
      ++rows;
    }
  }
  EXPECT_GT(rows, 4);
}

TEST(Case, tok_cjk_mixed) { CheckPieces("tok-cjk-mixed"); }
TEST(Case, tok_contractions_case) { CheckPieces("tok-contractions-case"); }
TEST(Case, tok_digits_grouping) { CheckPieces("tok-digits-grouping"); }
TEST(Case, tok_nonascii_numbers) { CheckPieces("tok-nonascii-numbers"); }

TEST(Case, tok_double_bos) {
  Json json = ReadCase("tok-double-bos");
  auto tokenizer = LoadFixture(Text(json.at("input").at("tokenizer")));
  ASSERT_NE(tokenizer, nullptr);
  const JsonArray& variants = json.at("input").at("rendered_variants").as_array();
  for (size_t i = 0; i < variants.size(); ++i) {
    bool chat = variants[i].at("via") == "chat";
    auto ids = tokenizer->Encode(Text(variants[i].at("rendered")), {.add_special_tokens = !chat});
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(*ids, Ids(json.at("expected").at("ids").as_array()[i])) << i;
  }
  EXPECT_TRUE(tokenizer->AddsBos());
}

TEST(Case, tok_nfc_normalizer) {
  Json json = ReadCase("tok-nfc-normalizer");
  const JsonArray& texts = json.at("input").at("texts").as_array();
  for (const auto& member : json.at("expected").at("ids").as_object()) {
    auto tokenizer = LoadFixture(member.key());
    ASSERT_NE(tokenizer, nullptr);
    const JsonArray& decoded = json.at("expected").at("decoded").at(member.key()).as_array();
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<int32_t> ids = EncodeOnly(*tokenizer, Text(texts[i]));
      EXPECT_EQ(ids, Ids(member.value().as_array()[i])) << member.key() << " " << Text(texts[i]);
      EXPECT_EQ(tokenizer->Decode(ids), Text(decoded[i]));
    }
  }
}

TEST(Case, tok_spm_byte_fallback) {
  Json json = ReadCase("tok-spm-byte-fallback");
  auto tokenizer = LoadFixture(Text(json.at("input").at("tokenizer")));
  ASSERT_NE(tokenizer, nullptr);
  const JsonArray& texts = json.at("input").at("texts").as_array();
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<int32_t> want = Ids(json.at("expected").at("ids").as_array()[i]);
    std::vector<int32_t> ids = EncodeOnly(*tokenizer, Text(texts[i]));
    EXPECT_EQ(ids, want) << Text(texts[i]);
    const JsonArray& pieces = json.at("expected").at("tokens").as_array()[i].as_array();
    for (size_t k = 0; k < ids.size() && k < pieces.size(); ++k) {
      EXPECT_EQ(tokenizer->TokenPiece(ids[k]), Text(pieces[k]));
    }
    want.insert(want.begin(), 1);
    EXPECT_EQ(*tokenizer->Encode(Text(texts[i])), want) << "with BOS";
  }
}

TEST(Case, tok_stream_utf8_split) {
  Json json = ReadCase("tok-stream-utf8-split");
  auto tokenizer = LoadFixture(Text(json.at("input").at("tokenizer")));
  ASSERT_NE(tokenizer, nullptr);
  const JsonArray& lists = json.at("input").at("token_ids").as_array();
  for (size_t i = 0; i < lists.size(); ++i) {
    std::vector<int32_t> ids = Ids(lists[i]);
    IncrementalDetokenizer stream(*tokenizer);
    for (size_t k = 0; k < ids.size(); ++k) {
      std::string want = Text(json.at("expected").at("deltas").as_array()[i].as_array()[k]);
      EXPECT_EQ(stream.Push(ids[k]), want) << "list " << i << ", token " << k;
      std::string bytes;
      for (const Json& b :
           json.at("input").at("token_bytes").as_array()[i].as_array()[k].as_array()) {
        bytes += static_cast<char>(b.as_int64());
      }
      EXPECT_EQ(tokenizer->TokenBytes(ids[k]), bytes);
    }
    EXPECT_EQ(stream.Flush(), "");
    EXPECT_EQ(tokenizer->Decode(ids), Text(json.at("expected").at("joined").as_array()[i]));
  }
}

// Messages in ChatML: the template's own words may be special tokens, the contents may not.
std::vector<int32_t> EncodeChatMl(
    const Tokenizer& tokenizer, const std::vector<std::pair<std::string, std::string>>& messages) {
  std::vector<std::string> keep;
  keep.reserve(messages.size() * 2 + 1);
  std::vector<TextSegment> segments;
  auto add = [&](std::string text, bool special) {
    keep.push_back(std::move(text));
    segments.push_back({keep.back(), special});
  };
  std::string before;
  for (const auto& [role, content] : messages) {
    add(before + "<|im_start|>" + role + "\n", true);
    add(content, false);
    before = "<|im_end|>\n";
  }
  add(before + "<|im_start|>assistant\n", true);
  auto ids = tokenizer.Encode(segments, {.add_special_tokens = false});
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return *ids;
}

void CheckInjection(const std::string& id) {
  Json json = ReadCase(id);
  auto tokenizer = LoadFixture(Text(json.at("input").at("tokenizer")));
  ASSERT_NE(tokenizer, nullptr);
  std::vector<std::pair<std::string, std::string>> messages;
  for (const Json& m : json.at("input").at("messages").as_array()) {
    messages.emplace_back(Text(m.at("role")), Text(m.at("content")));
  }
  std::vector<int32_t> ids = EncodeChatMl(*tokenizer, messages);
  EXPECT_EQ(ids, Ids(json.at("expected").at("ids")));
  for (const auto& [piece, count] : json.at("expected").at("count_of").as_object()) {
    EXPECT_EQ(std::count(ids.begin(), ids.end(), *tokenizer->TokenToId(piece)), count.as_int64())
        << piece;
  }
}

TEST(Case, tok_special_injection) {
  CheckInjection("tok-special-injection");
  Json json = ReadCase("tok-special-injection");
  auto tokenizer = LoadFixture(Text(json.at("input").at("tokenizer")));
  std::string content = Text(json.at("input").at("messages").as_array()[0].at("content"));
  auto ids = tokenizer->Encode(content, {.add_special_tokens = false, .parse_special = false});
  EXPECT_EQ(*ids, Ids(json.at("expected").at("content_ids")));
  EXPECT_EQ(tokenizer->Decode(*ids), content);
}

TEST(Case, tok_special_injection_multiturn) { CheckInjection("tok-special-injection-multiturn"); }

TEST(Case, tok_template_boundary) {
  Json json = ReadCase("tok-template-boundary");
  auto tokenizer = LoadFixture(Text(json.at("input").at("tokenizer")));
  ASSERT_NE(tokenizer, nullptr);
  for (const Json& row : json.at("expected").at("rows").as_array()) {
    EXPECT_EQ(EncodeChatMl(*tokenizer, {{"user", Text(row.at("content"))}}), Ids(row.at("ids")));
    EXPECT_EQ(EncodeOnly(*tokenizer, Text(row.at("rendered"))), Ids(row.at("ids")));
  }
}

std::string Repeat(std::string_view unit, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += unit;
  return out;
}

TEST(Case, tok_long_run_linear) {
  Json json = ReadCase("tok-long-run-linear");
  auto tokenizer = LoadFixture(Text(json.at("input").at("tokenizer")));
  ASSERT_NE(tokenizer, nullptr);
  const std::pair<std::string, std::string> runs[] = {
      {"letters", Repeat("a", 200000)},
      {"underscores", Repeat("_", 200000)},
      {"han", Repeat("世", 60000)},
      {"blanks", Repeat(" ", 200000)},
      {"mixed-letters", Repeat("abcdefghijklmnopqrstuvwxyz", 7693).substr(0, 200000)},
      {"digits", Repeat("1", 200000)},
      {"blank-lines", Repeat(" \n  \n", 40000)}};
  for (const auto& [name, text] : runs) {
    auto start = std::chrono::steady_clock::now();
    std::vector<int32_t> ids = EncodeOnly(*tokenizer, text);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(static_cast<int64_t>(ids.size()),
              json.at("expected").at("tokens").at(name).as_int64())
        << name;
    EXPECT_LT(seconds.count(), json.at("expected").at("max_seconds_each").as_double()) << name;
  }
}

}  // namespace
}  // namespace moxie::text
