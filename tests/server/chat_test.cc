// Answers of /v1/chat/completions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/case_file.h"
#include "tests/server/served.h"

namespace moxie::server {
namespace {

using testing::HasSubstr;

// A user's "hi" is the five tokens of "uhiza"; the answer goes on with "fgh".
std::string Hi(const std::string& members = "") {
  return R"({"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0)" +
         (members.empty() ? "" : ", " + members) + "}";
}

Json Choice0(const Json& reply) { return reply.at("choices").at(0); }

TEST(Chat, WholeReplyHasVllmsShape) {
  Served served;
  const ClientReply reply = served.PostChat(Hi(R"("max_tokens": 3)"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  Json json = reply.json();
  EXPECT_THAT(std::string(json.at("id").as_string()), testing::StartsWith("chatcmpl-"));
  json.as_object()["id"] = "chatcmpl-1";
  json.as_object()["created"] = 1;
  EXPECT_EQ(DumpJson(json),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[)"
            R"({"index":0,"message":{"role":"assistant","content":"fgh","refusal":null,)"
            R"("reasoning":null},"logprobs":null,"finish_reason":"length","stop_reason":null,)"
            R"("token_ids":null}],"usage":{"prompt_tokens":5,"total_tokens":8,)"
            R"("completion_tokens":3,"prompt_tokens_details":null},"prompt_token_ids":null,)"
            R"("prompt_logprobs":null})");
}

TEST(Chat, StreamJoinsToTheWholeReply) {
  Served served;
  const std::string members = R"("max_tokens": 9, "n": 2, "return_token_ids": true)";
  const Json whole = served.PostChat(Hi(members)).json();
  std::vector<std::string> texts(2);
  std::vector<JsonArray> ids(2);
  std::vector<int> roles(2);
  int prompts = 0;
  for (const Json& event : Events(served.PostChat(Hi(members + R"(, "stream": true)")).body)) {
    const JsonObject* object = event.if_object();
    prompts += object->contains("prompt_token_ids") && !object->at("prompt_token_ids").is_null();
    const Json choice = Choice0(event);
    const auto index = static_cast<size_t>(choice.at("index").as_int64());
    const JsonObject& delta = choice.at("delta").as_object();
    texts[index] += std::string(delta.at("content").as_string());
    roles[index] += delta.contains("role");
    if (delta.contains("role")) continue;
    const JsonArray& more = choice.at("token_ids").as_array();
    ids[index].insert(ids[index].end(), more.begin(), more.end());
  }
  EXPECT_THAT(texts, testing::ElementsAre("fghijklmn", "fghijklmn"));
  EXPECT_THAT(roles, testing::ElementsAre(1, 1));
  EXPECT_EQ(prompts, 2) << "once a choice";
  EXPECT_EQ(Json(ids[1]), whole.at("choices").at(1).at("token_ids"));
  EXPECT_EQ(whole.at("choices").at(1).at("message").at("content").as_string(), "fghijklmn");
  EXPECT_EQ(whole.at("usage").at("prompt_tokens").as_int64(), 5);
}

TEST(Chat, case_http_stream_usage_chunk) {
  Served served;
  const ClientReply reply = served.PostChat(
      Hi(R"("stream": true, "stream_options": {"include_usage": true}, "max_tokens": 3)"));
  const std::vector<Json> events = Events(reply.body);
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(DumpJson(Choice0(events[0]).at("delta")), R"({"role":"assistant","content":""})");
  std::string text;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    EXPECT_EQ(events[i].at("object").as_string(), "chat.completion.chunk");
    EXPECT_TRUE(events[i].at("usage").is_null());
    text += std::string(Choice0(events[i]).at("delta").at("content").as_string());
  }
  EXPECT_EQ(text, "fgh");
  EXPECT_EQ(Choice0(events[events.size() - 2]).at("finish_reason").as_string(), "length");
  EXPECT_TRUE(events.back().at("choices").as_array().empty());
  EXPECT_EQ(events.back().at("usage").at("total_tokens").as_int64(), 8);
}

TEST(Chat, case_http_chat_logprobs_shape) {
  ServedSetup setup;
  setup.pieces[23] = "x";
  setup.script = [](std::span<const int32_t> history, std::span<float> logits) {
    std::ranges::fill(logits, -60.0f);
    const bool first = history.size() == 5;
    logits[first ? 0 : 24] = first ? -0.1f : -0.69f;
    logits[first ? 23 : 1] = first ? -3.0f : -0.7f;
  };
  Served served(std::move(setup));
  const ClientReply reply =
      served.PostChat(Hi(R"("max_tokens": 2, "logprobs": true, "top_logprobs": 2)"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json content = Choice0(reply.json()).at("logprobs").at("content");
  ASSERT_EQ(content.as_array().size(), 2u);
  EXPECT_EQ(content.at(0).at("token").as_string(), "a");
  EXPECT_EQ(DumpJson(content.at(0).at("bytes")), "[97]");
  EXPECT_EQ(content.at(0).at("top_logprobs").at(1).at("token").as_string(), "x");
  EXPECT_EQ(content.at(1).at("top_logprobs").at(1).at("token").as_string(), "b");
  EXPECT_GT(content.at(1).at("top_logprobs").at(0).at("logprob").as_double(),
            content.at(1).at("top_logprobs").at(1).at("logprob").as_double());
  for (const char* members : {R"("logprobs": true)", R"("logprobs": true, "top_logprobs": 0)"}) {
    const Json plain = Choice0(served.PostChat(Hi(members)).json()).at("logprobs").at("content");
    EXPECT_TRUE(plain.at(0).at("top_logprobs").as_array().empty());
  }
  EXPECT_TRUE(Choice0(served.PostChat(Hi()).json()).at("logprobs").is_null());
  for (const char* members : {R"("logprobs": false, "top_logprobs": 2)", R"("top_logprobs": 2)",
                              R"("logprobs": true, "top_logprobs": 21)",
                              R"("logprobs": true, "top_logprobs": -1)", R"("logprobs": 2)"}) {
    EXPECT_EQ(served.PostChat(Hi(members)).status, 400) << members;
  }
}

TEST(Chat, case_http_max_tokens_forms) {
  Served served;
  const Json test_case = LoadCase("http-max-tokens-forms");
  const JsonArray& variants = test_case.at("input").at("variants").as_array();
  const JsonArray& outcomes = test_case.at("expected").at("completion_tokens_or_status").as_array();
  for (size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].at("endpoint").as_string() != "POST /v1/chat/completions") continue;
    const std::string members = DumpJson(variants[i].at("set"));
    const ClientReply reply = served.PostChat(Hi(members.substr(1, members.size() - 2)));
    if (outcomes[i].as_int64() == 400) {
      EXPECT_EQ(reply.status, 400) << members;
      continue;
    }
    ASSERT_EQ(reply.status, 200) << members << reply.body;
    EXPECT_EQ(reply.json().at("usage").at("completion_tokens"), outcomes[i]) << members;
    EXPECT_EQ(Choice0(reply.json()).at("finish_reason").as_string(), "length");
  }
}

TEST(Chat, MessagesAreCheckedByName) {
  Served served;
  const auto error = [&](const std::string& messages) {
    const ClientReply reply = served.PostChat("{\"messages\": " + messages + "}");
    EXPECT_EQ(reply.status, 400) << messages << reply.body;
    return reply.body;
  };
  EXPECT_THAT(error("[]"), HasSubstr("messages: must not be empty"));
  EXPECT_THAT(error(R"([{"role": "user", "content": 7}])"), HasSubstr("messages[0].content"));
  EXPECT_THAT(error("null"), HasSubstr("messages: is required"));
  EXPECT_THAT(served.PostChat(Hi(R"("continue_final_message": true)")).body,
              HasSubstr("continue_final_message"));
  EXPECT_THAT(served.PostChat(Hi(R"("tools": [{}])")).body, HasSubstr("tools: is not supported"));
  served.ExpectWell();
}

TEST(Chat, case_http_unknown_and_ignored_fields) {
  Served served;
  const Json test_case = LoadCase("http-unknown-and-ignored-fields");
  const JsonArray& bodies = test_case.at("input").at("bodies").as_array();
  const int statuses[] = {200, 200, 400, 200, 400};  // tools are refused by name, as audio is
  for (size_t i = 0; i < bodies.size(); ++i) {
    const ClientReply reply = served.PostChat(DumpJson(bodies[i]));
    EXPECT_EQ(reply.status, statuses[i]) << DumpJson(bodies[i]) << reply.body;
  }
  // A developer's message is the template's system message: "sxzuyza".
  const ClientReply developer = served.PostChat(
      R"({"messages": [{"role": "developer", "content": "x"}, {"role": "user", "content": "y"}],
          "return_token_ids": true, "max_tokens": 1})");
  EXPECT_EQ(DumpJson(developer.json().at("prompt_token_ids")), "[18,23,25,20,24,25,0]");
  EXPECT_THAT(served.PostChat(DumpJson(bodies[4])).body, HasSubstr("modalities: is not"));
}

TEST(Chat, TemplatesOfRequestsNeedTheOperatorsTrust) {
  constexpr std::string_view kBody =
      R"({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1, "return_token_ids": true,
          "chat_template": "x{{ messages[0].content }}"})";
  Served distrusting;
  const ClientReply refused = distrusting.PostChat(kBody);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("--trust-request-chat-template"));
  ServedSetup setup;
  setup.trust_request_template = true;
  Served trusting(std::move(setup));
  const ClientReply reply = trusting.PostChat(kBody);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(DumpJson(reply.json().at("prompt_token_ids")), "[23,7,8]");
  const ClientReply broken = trusting.PostChat(
      R"({"messages": [{"role": "user", "content": "hi"}], "chat_template": "{% if %}"})");
  EXPECT_EQ(broken.status, 400);
  EXPECT_THAT(broken.body, HasSubstr("chat_template: line 1, column 7"));
}

TEST(Chat, WithoutATemplateSaysWhatWorks) {
  ServedSetup setup;
  setup.chat_template.clear();
  Served served(std::move(setup));
  const ClientReply reply = served.PostChat(Hi());
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("no chat template; use /v1/completions"));
}

}  // namespace
}  // namespace moxie::server
