#include "text/chat_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace moxie::text {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Json Parse(std::string_view text) {
  auto json = ParseJson(text);
  EXPECT_TRUE(json.ok()) << json.status().message();
  return *json;
}

std::string Normal(std::string_view messages, ContentFormat format, bool wrap = false) {
  auto out = NormalizeMessages(Parse(messages), format, wrap);
  return out.ok() ? DumpJson(*out) : out.status().message();
}

TEST(ChatMessages, TextPartsAreJoinedByNewlinesForTemplatesThatTakeStrings) {
  constexpr std::string_view kMessages =
      R"([{"role": "user", "content": [{"type": "text", "text": "first"},
                                       {"type": "input_text", "text": "second"}, "third"]}])";
  EXPECT_EQ(Normal(kMessages, ContentFormat::kString),
            R"([{"role":"user","content":"first\nsecond\nthird"}])");
  EXPECT_EQ(Normal(kMessages, ContentFormat::kParts),
            R"([{"role":"user","content":[{"type":"text","text":"first"},)"
            R"({"type":"text","text":"second"},{"type":"text","text":"third"}]}])");
}

TEST(ChatMessages, StringsAreWrappedOnlyWhenAsked) {
  constexpr std::string_view kMessages = R"([{"role": "user", "content": "hi"}])";
  EXPECT_EQ(Normal(kMessages, ContentFormat::kParts), R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(Normal(kMessages, ContentFormat::kParts, true),
            R"([{"role":"user","content":[{"type":"text","text":"hi"}]}])");
}

TEST(ChatMessages, NullContentIsEmptyAndOtherNullsAreGone) {
  EXPECT_EQ(Normal(R"([{"role": "assistant", "content": null, "name": null, "tool_calls": []}])",
                   ContentFormat::kString),
            R"([{"role":"assistant","content":""}])");
  EXPECT_EQ(Normal(R"([{"role": "assistant"}])", ContentFormat::kString),
            R"([{"role":"assistant","content":""}])");
  EXPECT_EQ(Normal(R"([{"role": "user", "content": []}])", ContentFormat::kString),
            R"([{"role":"user","content":""}])");
}

TEST(ChatMessages, ReasoningIsFoundUnderAllItsNames) {
  EXPECT_EQ(Normal(R"([{"role": "assistant", "content": "2", "reasoning": "easy"}])",
                   ContentFormat::kString),
            R"([{"role":"assistant","content":"2","reasoning":"easy",)"
            R"("reasoning_content":"easy","thinking":"easy"}])");
}

TEST(ChatMessages, ErrorsNameTheField) {
  auto error = [](std::string_view messages) { return Normal(messages, ContentFormat::kString); };
  EXPECT_THAT(error(R"({"role": "user"})"), StartsWith("messages: expected a list"));
  EXPECT_THAT(error(R"(["x"])"), StartsWith("messages[0]: expected an object"));
  EXPECT_THAT(error(R"([{"content": "x"}])"), StartsWith("messages[0].role: "));
  EXPECT_THAT(error(R"([{"role": "user", "content": 5}])"), StartsWith("messages[0].content: "));
  EXPECT_THAT(error(R"([{"role":"a","content":"x"},{"role":"user","content":[{"type":"text"}]}])"),
              StartsWith("messages[1].content[0].text: "));
  EXPECT_THAT(error(R"([{"role": "a", "content": "", "tool_calls": [{"type": "function"}]}])"),
              StartsWith("messages[0].tool_calls[0].function: "));
}

Json LoadCase(const std::string& id) {
  auto json = ReadJsonFile(std::string(MOXIE_TEST_DATA "/cases/") + id + ".json");
  EXPECT_TRUE(json.ok()) << json.status().message();
  return *json;
}

TEST(ChatMessagesCase, tmpl_content_parts_unknown_part_is_refused_by_name) {
  Json server = LoadCase("tmpl-content-parts").at("expected").at("server");
  JsonArray parts;
  parts.push_back(server.at("unknown_part"));
  JsonArray messages;
  messages.push_back(JsonObject{{"role", "user"}, {"content", parts}});
  auto out = NormalizeMessages(messages, ContentFormat::kString);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(out.status().message(), HasSubstr("\"image_url\""));
  EXPECT_THAT(out.status().message(), StartsWith("messages[0].content[0].type"));
}

TEST(ChatMessagesCase, tmpl_tool_arguments_object_bad_arguments_are_refused_by_field) {
  Json server = LoadCase("tmpl-tool-arguments-object").at("expected").at("server");
  for (const Json& bad : server.at("bad_arguments").as_array()) {
    std::string text(std::string_view(bad.as_string()));
    SCOPED_TRACE(text);
    JsonArray calls;
    calls.push_back(JsonObject{{"function", JsonObject{{"name", "f"}, {"arguments", text}}}});
    JsonArray messages;
    messages.push_back(JsonObject{{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}});
    auto out = NormalizeMessages(messages, ContentFormat::kString);
    if (server.at("bad_outcome").at(text) == Json("as {}")) {
      ASSERT_TRUE(out.ok()) << out.status().message();
      EXPECT_EQ(DumpJson(out->at(0).at("tool_calls").at(0).at("function").at("arguments")), "{}");
      continue;
    }
    ASSERT_FALSE(out.ok());
    EXPECT_THAT(
        out.status().message(),
        StartsWith(std::string(std::string_view(server.at("bad_param").as_string())) + ":"));
  }
}

}  // namespace
}  // namespace moxie::text
