// Chats to ids: the cases on markers in messages and on BOS.
#include "text/chat_encode.h"

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

// What a model wrote is fed back as history: its <think> is the token again, but nobody can write a
// control token. Unless the operator trusts messages.
TEST(ChatEncode, OnlySpecialTokensAreDataInMessages) {
  auto tokenizer = Tokenizer::FromJson(
      R"({"added_tokens":[{"id":3,"content":"<think>","special":false,"normalized":false},
                          {"id":4,"content":"<|im_end|>","special":true,"normalized":false}],
          "pre_tokenizer":{"type":"Split","pattern":{"Regex":"[a-z]+"},"behavior":"Isolated"},
          "model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"so":1,"end":2}}})",
      "test");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  Json messages = JsonArray{JsonObject{{"role", "assistant"}, {"content", "<think>so<|im_end|>"}}};
  auto encode = [&](bool trust) {
    ChatTemplateOptions options;
    options.trust_content = trust;
    auto chat = ChatTemplate::FromText("{{ messages[0].content }}<|im_end|>", "test", {}, options);
    auto prompt = chat->Render({&messages, nullptr, nullptr, nullptr, false, false});
    return *EncodeChat(**tokenizer, *prompt);
  };
  EXPECT_EQ(encode(true), (std::vector<int32_t>{3, 1, 4, 4}));
  std::vector<int32_t> ids = encode(false);
  EXPECT_EQ(ids.front(), 3);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 4), 1);
  EXPECT_EQ(ids.back(), 4);
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
    ChatPrompt prompt{{{text, true}}};
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
