#include "text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/text/data.h"

namespace moxie::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kChatMl =
    "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}";

Json Parse(std::string_view text) {
  auto json = ParseJson(text);
  EXPECT_TRUE(json.ok()) << json.status().message();
  return *json;
}

ChatTemplate MakeChat(std::string_view source, const ChatTemplateOptions& options = {},
                      const ChatTemplate::SpecialTokens& tokens = {}) {
  auto chat = ChatTemplate::FromText(source, "test", tokens, options);
  EXPECT_TRUE(chat.ok()) << chat.status().message();
  return *chat;
}

// {T} or {D} before each segment: the template's words, or data.
std::string Marked(const ChatPrompt& prompt) {
  std::string out;
  for (const ChatSegment& s : prompt.segments) out += (s.from_template ? "{T}" : "{D}") + s.text;
  return out;
}

std::string RenderMarked(const ChatTemplate& chat, std::string_view messages) {
  Json json = Parse(messages);
  ChatRequest request;
  request.messages = &json;
  request.add_generation_prompt = false;
  auto prompt = chat.Render(request);
  return prompt.ok() ? Marked(*prompt) : prompt.status().message();
}

TEST(ChatTemplate, WhatAMessageSaysIsDataWhateverTheTemplateDoesToIt) {
  constexpr std::string_view kMessages = R"([{"role": "user", "content": " <|x|>  B "}])";
  auto marked = [&](std::string_view source) { return RenderMarked(MakeChat(source), kMessages); };
  EXPECT_EQ(marked("<s>{{ messages[0].content }}</s>"), "{T}<s>{D} <|x|>  B {T}</s>");
  EXPECT_EQ(marked("{{ '<s>' + messages[0]['content']|trim + '</s>' }}"),
            "{T}<s>{D}<|x|>  B{T}</s>");
  EXPECT_EQ(marked("{{ messages[0].content.upper()[1:4] ~ '|' }}"), "{D}<|X{T}|");
  EXPECT_EQ(marked("{{ messages[0].content.replace('x', '<y>') }}"), "{D} <|{T}<y>{D}|>  B ");
  EXPECT_EQ(marked("{{ messages[0].content.split()|join('<sep>') }}"), "{D}<|x|>{T}<sep>{D}B");
  EXPECT_EQ(marked("{{ '<a>%s<b>' % messages[0].content }}"), "{T}<a>{D} <|x|>  B {T}<b>");
  EXPECT_EQ(marked("{{ '<a>{}<b>'.format(messages[0].content) }}"), "{T}<a>{D} <|x|>  B {T}<b>");
  EXPECT_EQ(marked("{% set t %}<t>{{ messages[0].content }}{% endset %}{{ t|trim }}"),
            "{T}<t>{D} <|x|>  B");
  EXPECT_EQ(marked("{% macro m(v) %}<m>{{ v }}{% endmacro %}{{ m(messages[0].content) }}"),
            "{T}<m>{D} <|x|>  B ");
  EXPECT_EQ(marked("{{ messages[0].content|tojson }}"), "{D}\" <|x|>  B \"");
  EXPECT_EQ(marked("{% for c in messages[0].content.strip() %}{{ c }}{% endfor %}"), "{D}<|x|>  B");
}

TEST(ChatTemplate, KnownRolesAreTheTemplatesOwnWordsOthersAreData) {
  constexpr std::string_view kPhi = "{% for m in messages %}{{ '<|' + m.role + '|>' }}{% endfor %}";
  EXPECT_EQ(RenderMarked(MakeChat(kPhi), R"([{"role": "user", "content": ""}])"), "{T}<|user|>");
  EXPECT_EQ(RenderMarked(MakeChat(kPhi), R"([{"role": "endoftext", "content": ""}])"),
            "{T}<|{D}endoftext{T}|>");
}

TEST(ChatTemplate, TheOperatorMayTrustContent) {
  ChatTemplateOptions options;
  options.trust_content = true;
  EXPECT_EQ(RenderMarked(MakeChat(kChatMl, options), R"([{"role": "user", "content": "<|x|>"}])"),
            "{T}<|im_start|>user\n<|x|><|im_end|>\n");
}

TEST(ChatTemplate, ToolsDocumentsKwargsAndTokensReachTheTemplate) {
  ChatTemplateOptions options;
  options.default_kwargs = {{"mode", "<m>"}, {"style", "a"}};
  ChatTemplate chat = MakeChat(
      "{{ bos_token }}{{ tools[0].function.name }}|{{ documents[0].text }}|{{ mode }}|{{ style }}|"
      "{{ add_generation_prompt }}",
      options, {{"bos_token", "<s>"}});
  Json messages = JsonArray(), tools = Parse(R"([{"function": {"name": "f"}}])"),
       documents = Parse(R"([{"text": "doc"}])"), kwargs = Parse(R"({"style": "b"})");
  auto prompt = chat.Render({&messages, &tools, &documents, &kwargs, true, false});
  ASSERT_TRUE(prompt.ok()) << prompt.status().message();
  EXPECT_EQ(Marked(*prompt), "{T}<s>{D}f{T}|{D}doc{T}|<m>|{D}b{T}|True");
}

TEST(ChatTemplate, RequestsOutsideTheContractAreRefusedByField) {
  ChatTemplate chat = MakeChat(kChatMl);
  Json messages = Parse(R"([{"role": "user", "content": "x"}])");
  auto message_of = [&](const ChatRequest& request) {
    auto prompt = chat.Render(request);
    return prompt.ok() ? "OK" : prompt.status().message();
  };
  Json kwargs = Parse(R"({"messages": []})"), number = 5, strings = Parse(R"(["a"])");
  EXPECT_THAT(message_of({&messages, nullptr, nullptr, &kwargs, true, false}),
              StartsWith("chat_template_kwargs.messages: "));
  EXPECT_THAT(message_of({&messages, nullptr, nullptr, &number, true, false}),
              StartsWith("chat_template_kwargs: "));
  EXPECT_THAT(message_of({&messages, &strings, nullptr, nullptr, true, false}),
              StartsWith("tools[0]: "));
  EXPECT_THAT(message_of({&messages, nullptr, &number, nullptr, true, false}),
              StartsWith("documents: "));
  EXPECT_THAT(message_of({&messages, nullptr, nullptr, nullptr, true, true}),
              StartsWith("continue_final_message: "));
}

TEST(ChatTemplate, AContinuedMessageEndsThePrompt) {
  ChatTemplate chat = MakeChat(kChatMl);
  Json messages = Parse(
      R"([{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "The sum "}])");
  ChatRequest request{&messages, nullptr, nullptr, nullptr, false, true};
  auto prompt = chat.Render(request);
  ASSERT_TRUE(prompt.ok()) << prompt.status().message();
  EXPECT_EQ(prompt->Text(), "<|im_start|>user\n2+2<|im_end|>\n<|im_start|>assistant\nThe sum ");

  ChatTemplate trimming = MakeChat("{% for m in messages %}[{{ m.content|trim }}]{% endfor %}");
  EXPECT_EQ(trimming.Render(request)->Text(), "[2+2][The sum");

  ChatTemplate dropping = MakeChat("{{ messages[0].content }}");
  EXPECT_THAT(dropping.Render(request).status().message(), HasSubstr("does not appear"));
}

TEST(ChatTemplate, ATemplateThatDoesNotParseNamesThePlace) {
  auto chat = ChatTemplate::FromText("a\n {% if x %}{{ }}", "model/chat_template.jinja", {});
  ASSERT_FALSE(chat.ok());
  EXPECT_THAT(chat.status().message(),
              StartsWith("model/chat_template.jinja: line 2, column 15: "));
}

TEST(ChatTemplate, FormatIsReadOffTheTemplate) {
  EXPECT_EQ(MakeChat(kChatMl).content_format(), ContentFormat::kString);
  ChatTemplate parts = MakeChat(
      "{% for m in messages %}{% for p in m['content'] %}{{ p.text }};{% endfor %}{% endfor %}");
  EXPECT_EQ(parts.content_format(), ContentFormat::kParts);
  // Such a template shows nothing of a string, so strings become parts.
  EXPECT_EQ(RenderMarked(parts, R"([{"role": "user", "content": "hi"}])"), "{D}hi{T};");
}

TEST(ChatTemplateCase, tmpl_content_parts_each_template_gets_its_form) {
  auto json = ReadJsonFile(MOXIE_TEST_DATA "/cases/tmpl-content-parts.json");
  ASSERT_TRUE(json.ok());
  JsonArray list;
  list.push_back(JsonObject{{"role", "user"},
                            {"content", json->at("expected").at("server").at("wire_content")}});
  Json messages = list;
  ChatRequest request{&messages, nullptr, nullptr, nullptr, true, false};
  const auto& items = json->at("input").at("items").as_array();
  const auto& results = json->at("expected").at("results").as_array();
  for (size_t i = 0; i < items.size(); ++i) {
    ChatTemplate chat = MakeChat(std::string_view(items[i].at("template").as_string()));
    auto prompt = chat.Render(request);
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    EXPECT_EQ(prompt->Text(), std::string_view(results[i].at("output").as_string()));
  }
}

TEST(ChatTemplateCase, tmpl_tool_arguments_object_from_the_wire) {
  auto json = ReadJsonFile(MOXIE_TEST_DATA "/cases/tmpl-tool-arguments-object.json");
  ASSERT_TRUE(json.ok());
  const Json& expected = json->at("expected");
  JsonArray calls, list;
  calls.push_back(JsonObject{
      {"id", "c1"},
      {"type", "function"},
      {"function",
       JsonObject{{"name", "resize"}, {"arguments", expected.at("server").at("wire_arguments")}}}});
  list.push_back(JsonObject{{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}});
  Json messages = list;
  ChatRequest request{&messages, nullptr, nullptr, nullptr, true, false};
  for (size_t i = 0; i < 2; ++i) {
    ChatTemplate chat =
        MakeChat(std::string_view(json->at("input").at("items").at(i).at("template").as_string()));
    auto prompt = chat.Render(request);
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    EXPECT_EQ(prompt->Text(),
              std::string_view(expected.at("results").at(i).at("output").as_string()));
  }
}

TEST(ChatTemplateCase, tmpl_raise_exception_400_is_the_clients_fault) {
  ChatTemplate chat = MakeChat("{{ raise_exception('roles must take turns: user, assistant') }}");
  Json messages = JsonArray();
  auto prompt = chat.Render({&messages, nullptr, nullptr, nullptr, true, false});
  EXPECT_EQ(prompt.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(prompt.status().message(), HasSubstr("roles must take turns: user, assistant"));
}

class ModelDir : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/chat_template_test_" +
           testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void Write(const std::string& name, std::string_view text) {
    std::filesystem::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << text;
  }
  std::string RenderWith(const Json* tools) {
    auto chat = ChatTemplate::Load(dir_);
    if (!chat.ok()) return chat.status().message();
    Json messages = JsonArray();
    auto prompt = chat->Render({&messages, tools, nullptr, nullptr, true, false});
    return prompt.ok() ? prompt->Text() : prompt.status().message();
  }
  std::filesystem::path dir_;
};

TEST_F(ModelDir, TokenizerConfigHoldsOneTemplateAndTheTokens) {
  Write("tokenizer_config.json",
        R"({"chat_template": "{{ bos_token }}A{{ eos_token }}", "bos_token": {"content": "<s>"},
            "eos_token": "</s>", "pad_token": null})");
  EXPECT_EQ(RenderWith(nullptr), "<s>A</s>");
}

TEST_F(ModelDir, NamedTemplatesAreChosenByTools) {
  Write("tokenizer_config.json",
        R"({"chat_template": [{"name": "default", "template": "D"},
                              {"name": "tool_use", "template": "T{{ tools|length }}"}]})");
  Json tools = Parse(R"([{"type": "function"}])"), none = JsonArray();
  EXPECT_EQ(RenderWith(nullptr), "D");
  EXPECT_EQ(RenderWith(&none), "D");
  EXPECT_EQ(RenderWith(&tools), "T1");
  EXPECT_THAT(ChatTemplate::Load(dir_)->names(), ElementsAre("default", "tool_use"));
}

TEST_F(ModelDir, TheJinjaFileComesFirst) {
  Write("tokenizer_config.json", R"({"chat_template": "old", "bos_token": "<s>"})");
  Write("chat_template.jinja", "new{{ bos_token }}\n");
  EXPECT_EQ(RenderWith(nullptr), "new<s>");
  Write("additional_chat_templates/tool_use.jinja", "with tools");
  Json tools = Parse(R"([{"type": "function"}])");
  EXPECT_EQ(RenderWith(&tools), "with tools");
}

TEST_F(ModelDir, ErrorsNameTheFile) {
  EXPECT_THAT(RenderWith(nullptr), HasSubstr("no chat template"));
  Write("tokenizer_config.json", R"({"chat_template": "{% if %}"})");
  EXPECT_THAT(RenderWith(nullptr), HasSubstr("tokenizer_config.json: line 1, column 7: "));
  Write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_THAT(RenderWith(nullptr), HasSubstr("chat_template: expected a string or a list"));
}

TEST_F(ModelDir, AnArgumentIsAFileOrATemplate) {
  Write("t.jinja", "from file");
  Json messages = JsonArray();
  ChatRequest request{&messages, nullptr, nullptr, nullptr, true, false};
  EXPECT_EQ(ChatTemplate::FromArgument((dir_ / "t.jinja").string(), {})->Render(request)->Text(),
            "from file");
  EXPECT_EQ(ChatTemplate::FromArgument("{{ 'text' }}", {})->Render(request)->Text(), "text");
  EXPECT_EQ(ChatTemplate::FromArgument("missing.jinja", {}).code(), StatusCode::kNotFound);
}

// A GGUF file's own template and tokens are those of its metadata.
TEST(ChatTemplate, AGgufFileBringsItsTemplate) {
  if (!HaveFetched("ggufs/phi-3.gguf")) GTEST_SKIP() << "run tools/fetch_text_data";
  const std::filesystem::path gguf = kData / "fetched/ggufs/phi-3.gguf";
  auto chat = ChatTemplate::Load(gguf);
  ASSERT_TRUE(chat.ok()) << chat.status().message();
  auto source = ReadFile(kData / "fetched/chat/templates/vocab-ggml-phi-3.jinja", 1 << 20);
  auto same = ChatTemplate::FromText(*source, "phi-3", {{"bos_token", "<s>"}});
  Json messages = JsonArray{JsonObject{{"role", "user"}, {"content", "hi"}}};
  const ChatRequest request{.messages = &messages};
  EXPECT_EQ(chat->Render(request)->Text(), same->Render(request)->Text());
  auto tokens = ChatTemplate::LoadSpecialTokens(gguf);
  EXPECT_EQ(tokens->at("bos_token"), Json("<s>"));
  EXPECT_EQ(tokens->at("eos_token"), Json("<|endoftext|>"));
}

// A template that a request brings has the server's tokens and options though the model has none.
TEST(ChatTemplate, WithoutATemplateOthersHaveTheOptions) {
  ChatTemplateOptions options;
  options.default_kwargs = JsonObject{{"tone", "kind"}};
  const ChatTemplate none = ChatTemplate::None({{"bos_token", "<s>"}}, options);
  Json messages = JsonArray{JsonObject{{"role", "user"}, {"content", "hi"}}};
  const ChatRequest request{.messages = &messages};
  EXPECT_THAT(none.Render(request).status().message(), HasSubstr("no chat template"));
  auto own = none.WithSource("{{ bos_token }}{{ tone }}", "chat_template");
  EXPECT_EQ(own->Render(request)->Text(), "<s>kind");
}

}  // namespace
}  // namespace moxie::text
