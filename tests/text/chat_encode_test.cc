// Chats to ids: the cases on markers in messages and on BOS.
#include "text/chat_encode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace moxie::text {
namespace {

constexpr std::string_view kChatMl =
    "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}";

Json LoadCase(const std::string& id) {
  auto json = ReadJsonFile(std::string(MOXIE_TEST_DATA "/cases/") + id + ".json");
  EXPECT_TRUE(json.ok()) << json.status().message();
  return *json;
}

std::shared_ptr<const Tokenizer> LoadFixture(const Json& input) {
  std::string name(std::string_view(input.at("tokenizer").as_string()));
  auto tokenizer = Tokenizer::Load(std::string(MOXIE_TEST_DATA "/cases/") + name);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return *tokenizer;
}

std::vector<int32_t> Ids(const Json& json) {
  std::vector<int32_t> ids;
  for (const Json& id : json.as_array()) ids.push_back(static_cast<int32_t>(id.as_int64()));
  return ids;
}

std::vector<int32_t> Encode(const Tokenizer& tokenizer, const Json& messages) {
  auto chat = ChatTemplate::FromText(kChatMl, "ChatML", {});
  EXPECT_TRUE(chat.ok()) << chat.status().message();
  auto prompt = chat->Render({&messages, nullptr, nullptr, nullptr, true, false});
  EXPECT_TRUE(prompt.ok()) << prompt.status().message();
  auto ids = EncodeChat(tokenizer, *prompt);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return *ids;
}

void CheckInjection(const std::string& id) {
  Json json = LoadCase(id);
  auto tokenizer = LoadFixture(json.at("input"));
  std::vector<int32_t> ids = Encode(*tokenizer, json.at("input").at("messages"));
  EXPECT_EQ(ids, Ids(json.at("expected").at("ids")));
  for (const auto& member : json.at("expected").at("count_of").as_object()) {
    auto token = tokenizer->TokenToId(member.key());
    ASSERT_TRUE(token) << member.key();
    EXPECT_EQ(std::count(ids.begin(), ids.end(), *token), member.value().as_int64())
        << member.key();
  }
}

TEST(ChatEncodeCase, tok_special_injection) { CheckInjection("tok-special-injection"); }

TEST(ChatEncodeCase, tok_special_injection_multiturn) {
  CheckInjection("tok-special-injection-multiturn");
}

// Nobody but the template writes control tokens or the marks that it gives a meaning, unless the
// operator trusts messages; added tokens that are mere text stay tokens.
TEST(ChatEncode, SpecialTokensAndTheTemplatesMarksAreDataInMessages) {
  auto tokenizer = Tokenizer::FromJson(
      R"({"added_tokens":[{"id":3,"content":"<think>","special":false,"normalized":false},
                          {"id":4,"content":"<|im_end|>","special":true,"normalized":false},
                          {"id":5,"content":"<h1>","special":false,"normalized":false},
                          {"id":6,"content":"so","special":false,"normalized":true},
                          {"id":7,"content":"[INST]","special":false,"normalized":true},
                          {"id":8,"content":"\n\n\n","special":false,"normalized":false}],
          "pre_tokenizer":{"type":"Split","pattern":{"Regex":"[a-z]+"},"behavior":"Isolated"},
          "model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"x":1,"end":2}}})",
      "test");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  Json messages =
      JsonArray{JsonObject{{"role", "user"}, {"content", "<think>so<h1>\n\n\n[INST]<|im_end|>"}}};
  // How often each of ids 3 to 8 is in the prompt.
  auto count = [&](std::string_view source, bool trust) {
    ChatTemplateOptions options;
    options.trust_content = trust;
    auto chat = ChatTemplate::FromText(source, "test", {}, options);
    auto prompt = chat->Render({&messages, nullptr, nullptr, nullptr, false, false});
    std::vector<int32_t> ids = *EncodeChat(**tokenizer, *prompt);
    std::vector<int64_t> counts;
    for (int32_t id = 3; id <= 8; ++id) counts.push_back(std::count(ids.begin(), ids.end(), id));
    return counts;
  };
  using testing::ElementsAre;
  constexpr std::string_view kPlain = "{{ messages[0].content }}<|im_end|>";
  EXPECT_THAT(count(kPlain, false), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(count(kPlain, true), ElementsAre(1, 2, 1, 1, 1, 1));
  constexpr std::string_view kMarks =
      "so\n\n\n {{ '<think>' ~ messages[0].content }}{% if '[INST]' == 1 %}{% endif %}<|im_end|>";
  EXPECT_THAT(count(kMarks, false), ElementsAre(1, 1, 1, 2, 0, 2));
  EXPECT_THAT(count(kMarks, true), ElementsAre(2, 2, 1, 2, 1, 2));
}

TEST(ChatEncodeCase, tok_template_boundary) {
  Json json = LoadCase("tok-template-boundary");
  auto tokenizer = LoadFixture(json.at("input"));
  for (const Json& row : json.at("expected").at("rows").as_array()) {
    JsonArray list;
    list.push_back(JsonObject{{"role", "user"}, {"content", row.at("content")}});
    EXPECT_EQ(Encode(*tokenizer, list), Ids(row.at("ids"))) << DumpJson(row.at("content"));
  }
}

TEST(ChatEncodeCase, tok_double_bos) {
  Json json = LoadCase("tok-double-bos");
  auto tokenizer = LoadFixture(json.at("input"));
  const auto& variants = json.at("input").at("rendered_variants").as_array();
  for (size_t i = 0; i < variants.size(); ++i) {
    std::string text(std::string_view(variants[i].at("rendered").as_string()));
    bool chat = variants[i].at("via") == Json("chat");
    ChatPrompt prompt{{{text, true}}, nullptr};
    auto ids = chat ? EncodeChat(*tokenizer, prompt) : tokenizer->Encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, Ids(json.at("expected").at("ids").at(i)));
    // Asked for special tokens all the same, a chat that begins with BOS gets no second one.
    if (i == 0) {
      EXPECT_EQ(*EncodeChat(*tokenizer, prompt, /*add_special_tokens=*/true), *ids);
    }
  }
}

}  // namespace
}  // namespace moxie::text
