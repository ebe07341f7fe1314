#include "text/tokenizer.h"

#include <gmock/gmock.h>

#include <thread>

#include "tests/text/data.h"
#include "text/detokenizer.h"
#include "text/gguf_vocabulary.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A WordLevel tokenizer with the given parts: small enough to see what each part does.
std::string MakeJson(const std::string& parts,
                     const std::string& vocab = R"("a":0,"b":1,"c":2,"?":3)") {
  return R"({"version":"1.0",)" + parts +
         R"("model":{"type":"WordLevel","unk_token":"?","vocab":{)" + vocab + "}}}";
}

std::shared_ptr<const Tokenizer> Make(const std::string& json) {
  auto tokenizer = Tokenizer::FromJson(json, "test");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return tokenizer.ok() ? *tokenizer : nullptr;
}

std::string ErrorOf(const std::string& json) {
  auto tokenizer = Tokenizer::FromJson(json, "tokenizer.json");
  return tokenizer.ok() ? "loaded" : tokenizer.status().message();
}

TEST(TokenizerTest, BrokenUtf8IsReadAsPythonReadsIt) {
  auto t = LoadFixture("fixtures/tok-gpt2.json");
  const std::pair<std::string, std::string> rows[] = {
      {"a\xff"
       "b",
       "a\uFFFDb"},
      {"\xe4\xb8", "\uFFFD"},
      {"\xe4\xb8"
       "a",
       "\uFFFDa"},
      {"\xf0\x9f\x98\xe4\xb8\x96", "\uFFFD世"},
      {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\xc0\xaf", "\uFFFD\uFFFD"},
      {"\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"}};
  for (const auto& [broken, repaired] : rows) {
    EXPECT_EQ(EncodeOnly(*t, broken), EncodeOnly(*t, repaired)) << repaired;
    EXPECT_EQ(t->Decode(EncodeOnly(*t, broken)), repaired);
  }
}

TEST(TokenizerTest, AMarkerCannotBeHiddenBehindTextThatEndsLikeOne) {
  auto t = Make(MakeJson(R"("added_tokens":[
      {"id":4,"content":"<x>","normalized":false,"special":true},
      {"id":5,"content":"a<x>","normalized":false,"special":true}],)"));
  TextSegment both[] = {{"a", false}, {"<x>", true}};
  EXPECT_THAT(*t->Encode(both), ElementsAre(0, 4));
  TextSegment trusted[] = {{"a", true}, {"<x>", true}};
  EXPECT_THAT(*t->Encode(trusted), ElementsAre(5));
  TextSegment split[] = {{"<", true}, {"x>", false}};
  EXPECT_THAT(*t->Encode(split), ElementsAre(3));
}

TEST(TokenizerTest, AddedTokensStripAndStandAlone) {
  auto t = Make(MakeJson(R"("pre_tokenizer":{"type":"WhitespaceSplit"},"added_tokens":[
      {"id":4,"content":"<l>","lstrip":true,"normalized":false},
      {"id":5,"content":"<r>","rstrip":true,"normalized":false},
      {"id":6,"content":"w","single_word":true,"normalized":false}],)"));
  EXPECT_THAT(EncodeOnly(*t, "a  <l> b"), ElementsAre(0, 4, 1));
  EXPECT_THAT(EncodeOnly(*t, "<r>  <l>"), ElementsAre(5, 4));
  EXPECT_THAT(EncodeOnly(*t, "w aw w"), ElementsAre(6, 3, 6));
}

TEST(TokenizerTest, SpecialTokensAreSkippedAndNamed) {
  auto t = LoadFixture("fixtures/tok-llama3.json");
  std::vector<int32_t> ids = EncodeOnly(*t, "<|im_start|>hello<|im_end|>");
  EXPECT_EQ(t->Decode(ids, true), "hello");
  EXPECT_EQ(t->Decode(ids), "<|im_start|>hello<|im_end|>");
  EXPECT_TRUE(t->IsSpecial(ids[0]));
  EXPECT_EQ(t->TokenToId("<|im_start|>"), ids[0]);
  EXPECT_FALSE(t->SpecialTokens().empty());
  EXPECT_EQ(t->TokenString(ids[0]), "<|im_start|>");
  EXPECT_EQ(t->Decode(std::vector<int32_t>{-1, 1 << 30}), "") << "no such tokens";
}

TEST(TokenizerTest, ByteTokensOfARunAreOneText) {
  auto t = LoadFixture("fixtures/tok-spm.json");
  auto byte = [&](const char* piece) { return *t->TokenToId(piece); };
  std::vector<int32_t> good = {byte("<0xE4>"), byte("<0xB8>"), byte("<0x96>")};
  EXPECT_EQ(t->Decode(good), "世");
  EXPECT_EQ(t->TokenBytes(good[0]), "\xE4");
  std::vector<int32_t> broken = {byte("<0xE4>"), byte("<0xB8>"), byte("<0x41>")};
  EXPECT_EQ(t->Decode(broken), "\uFFFD\uFFFD\uFFFD") << "as the reference: all of the run";
  IncrementalDetokenizer stream(*t);
  for (int32_t id : good) EXPECT_EQ(stream.Push(id), "");
  EXPECT_EQ(stream.Push(*t->TokenToId("x")), "世x");
}

TEST(TokenizerTest, TooMuchTextIsRefused) {
  auto t = LoadFixture("fixtures/tok-gpt2.json");
  auto ids = t->Encode("hello", {.max_bytes = 4});
  ASSERT_FALSE(ids.ok());
  EXPECT_THAT(ids.status().message(), HasSubstr("5 bytes is over the limit of 4"));
}

TEST(TokenizerTest, ThreadsShareOneTokenizer) {
  auto t = LoadFixture("fixtures/tok-llama3.json");
  std::vector<int32_t> want = EncodeOnly(*t, "the router sends two tokens to each expert");
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int& w : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        w += EncodeOnly(*t, "the router sends two tokens to each expert") != want;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST(TokenizerTest, AGrowingTextIsRefused) {
  const std::string step = R"({"type":"Replace","pattern":{"String":"a"},"content":")" +
                           std::string(1 << 16, 'a') + "\"}";
  const std::string steps = step + "," + step;
  auto t = Make(MakeJson(R"("normalizer":{"type":"Sequence","normalizers":[)" + steps + "]},"));
  auto ids = t->Encode("aaaa");
  EXPECT_EQ(ids.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(ids.status().message(), HasSubstr("the normalizer makes more than"));
}

TEST(TokenizerTest, ErrorsSayWhere) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("tokenizer.json: line 1"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("expected an object, got an array"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("model"));
  EXPECT_THAT(ErrorOf(MakeJson("", R"("a":-1)")), HasSubstr("token \"a\" has id -1"));
  EXPECT_THAT(ErrorOf(MakeJson("", R"("a":2e9)")), HasSubstr("has an id that is"));
  EXPECT_THAT(ErrorOf(MakeJson(R"("normalizer":{"type":"Nfq"},)")),
              HasSubstr("normalizer \"Nfq\" is unknown"));
  EXPECT_THAT(ErrorOf(MakeJson(R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"}},)")),
              HasSubstr("a group is not closed"));
  EXPECT_THAT(ErrorOf(MakeJson(R"("added_tokens":[{"id":9,"content":"z"}],)")),
              HasSubstr("is said to have id 9 but the vocabulary gives it 4"));
  EXPECT_THAT(ErrorOf(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}})"),
              HasSubstr("merge 0: token \"b\" is not in the vocabulary"));
  EXPECT_THAT(ErrorOf(R"({"model":{"type":"BPE","dropout":0.1,"vocab":{},"merges":[]}})"),
              HasSubstr("dropout"));
  EXPECT_FALSE(Tokenizer::Load("/nonexistent/dir").ok());
}

// Strings that once gave other ids than the reference.
TEST(TokenizerTest, FoundByFuzzing) {
  auto digits = Make(MakeJson(
      R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\w+|[^\\w\\s]+"},"behavior":"Isolated"},)"));
  // Alone ² is a word character, in a class it is not: "a²" is one word, and so is "²!".
  EXPECT_THAT(*digits->PreTokenize("a²!"), ElementsAre("a²", "!"));
  EXPECT_THAT(*digits->PreTokenize("!²a"), ElementsAre("!²", "a"));
  auto bert = Make(MakeJson(
      R"("normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"WhitespaceSplit"},)"));
  EXPECT_THAT(*bert->PreTokenize("a\fb c"), ElementsAre("ab", "c"))
      << "form feed is a control character";
  auto taken = Make(MakeJson(R"("added_tokens":[
      {"id":4,"content":"é","rstrip":true,"normalized":false},
      {"id":5,"content":"\n\n","lstrip":true,"normalized":false}],)"));
  EXPECT_THAT(EncodeOnly(*taken, "é\n\n"), ElementsAre(4));
  auto first =
      Make(MakeJson(R"("normalizer":{"type":"Replace","pattern":{"Regex":"b+"},"content":"_"},
      "pre_tokenizer":{"type":"Metaspace","prepend_scheme":"first"},)"));
  EXPECT_THAT(*first->PreTokenize("ba"), ElementsAre("▁_a"));
  EXPECT_THAT(*first->PreTokenize("bba"), ElementsAre("_a")) << "what is first was not first";
  // Every word that comes from the text's first character is first, however often it was cut.
  auto bytes =
      Make(MakeJson(R"("normalizer":{"type":"ByteLevel"},"pre_tokenizer":{"type":"Sequence",
      "pretokenizers":[{"type":"Whitespace"},{"type":"Metaspace","prepend_scheme":"first"}]},)"));
  EXPECT_THAT(*bytes->PreTokenize("²a²"), ElementsAre("▁Â", "▁²", "aÂ", "²"));
  auto prepended = Make(MakeJson(R"("normalizer":{"type":"Prepend","prepend":"_-"},"pre_tokenizer":{
      "type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\b"},"behavior":"Removed"},
      {"type":"Metaspace","prepend_scheme":"first"}]},)"));
  EXPECT_THAT(*prepended->PreTokenize("a-b"), ElementsAre("▁_", "▁-", "▁a", "-", "b"));
  auto unpaired = Make(MakeJson(R"("normalizer":{"type":"NFC"},)"));
  EXPECT_THAT(*unpaired->PreTokenize("\U00011935\U00011930"), ElementsAre("\U00011935\U00011930"))
      << "a composition younger than the reference's tables";
}

GgufVocabulary ByteVocabulary() {
  GgufVocabulary v;
  v.model = "gpt2";
  v.pre = "qwen2";
  for (int b = 0; b < 256; ++b) {
    v.tokens.emplace_back();
    AppendByteChars(v.tokens.back(), std::string(1, static_cast<char>(b)));
    v.token_type.push_back(1);
  }
  v.tokens.insert(v.tokens.end(), {"he", "ll", "hell", "hello", "<|end|>"});
  v.token_type.insert(v.token_type.end(), {1, 1, 1, 1, 3});
  v.merges = {"h e", "l l", "he ll", "hell o"};
  v.eos_token_id = 260;
  return v;
}

TEST(GgufVocabularyTest, ByteLevelBpe) {
  auto t = Tokenizer::FromGguf(ByteVocabulary(), "model.gguf");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_THAT(*(*t)->Encode("hello12<|end|>"), ElementsAre(259, '1', '2', 260));
  EXPECT_EQ((*t)->eos_id(), 260);
  EXPECT_EQ((*t)->Decode(*(*t)->Encode("hello wörld")), "hello wörld");
}

TEST(GgufVocabularyTest, Qwen2ComposesCharacters) {
  auto t = Tokenizer::FromGguf(ByteVocabulary(), "model.gguf");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_EQ(*(*t)->Encode("e\u0301"), *(*t)->Encode("\u00e9"));
}

TEST(GgufVocabularyTest, SentencePieceBpe) {
  GgufVocabulary v;
  v.model = "llama";
  auto add = [&](std::string token, float score, int type) {
    v.tokens.push_back(std::move(token));
    v.scores.push_back(score);
    v.token_type.push_back(type);
  };
  add("<unk>", 0, 2);
  add("<s>", 0, 3);
  add("</s>", 0, 3);
  for (int b = 0; b < 256; ++b) {
    char piece[8];
    std::snprintf(piece, sizeof piece, "<0x%02X>", b);
    add(piece, 0, 6);
  }
  for (const char* c : {"▁", "h", "i"}) add(c, -10, 1);
  add("hi", -1, 1);
  add("▁hi", -2, 1);
  v.bos_token_id = 1;
  auto t = Tokenizer::FromGguf(v, "model.gguf");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_THAT(*(*t)->Encode("hi hi"), ElementsAre(1, 263, 263));
  EXPECT_THAT(*(*t)->Encode("\n"), ElementsAre(1, 259, 3 + 10));
  EXPECT_EQ((*t)->Decode(*(*t)->Encode("hi hi世"), true), "hi hi世");
  EXPECT_THAT(*(*t)->Encode("hi</s>hi"), ElementsAre(1, 263, 2, 263)) << "a prefix after each";
}

TEST(GgufVocabularyTest, ErrorsNameTheProblem) {
  GgufVocabulary v = ByteVocabulary();
  v.pre = "nobody";
  EXPECT_THAT(Tokenizer::FromGguf(v, "model.gguf").status().message(), HasSubstr("pre \"nobody\""));
  v = ByteVocabulary();
  v.merges.push_back("h zz");
  EXPECT_THAT(Tokenizer::FromGguf(v, "m").status().message(), HasSubstr("merge 4"));
  v.model = "rwkv";
  EXPECT_THAT(Tokenizer::FromGguf(v, "m").status().message(), HasSubstr("\"rwkv\" is unknown"));
}

TEST(TekkenTest, RanksAndSpecialTokens) {
  std::string json =
      R"({"config":{"pattern":"[a-z]+|[^a-z]","default_num_special_tokens":3,"default_vocab_size":8},
    "vocab":[{"rank":0,"token_bytes":"YQ=="},{"rank":1,"token_bytes":"Yg=="},{"rank":2,"token_bytes":"IA=="},
             {"rank":3,"token_bytes":"YWI="},{"rank":4,"token_bytes":"YWJh"}]})";
  auto t = Tokenizer::FromTekken(json, "tekken.json");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_THAT(*(*t)->Encode("ab aba ba"), ElementsAre(1, 6, 5, 7, 5, 4, 3));
  EXPECT_EQ((*t)->bos_id(), 1);
  EXPECT_EQ((*t)->Decode(*(*t)->Encode("ab aba"), true), "ab aba");
}

TEST(SentencePieceTest, BrokenBytesAreAnError) {
  EXPECT_FALSE(Tokenizer::FromSentencePiece("", "tokenizer.model").ok());
  EXPECT_FALSE(Tokenizer::FromSentencePiece("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                                            "tokenizer.model")
                   .ok());
  EXPECT_THAT(Tokenizer::FromSentencePiece("hello", "tokenizer.model").status().message(),
              HasSubstr("tokenizer.model: "));
}

}  // namespace
}  // namespace moxie::text
