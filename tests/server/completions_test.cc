// Answers of /v1/completions, whole and streamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/case_file.h"
#include "tests/server/served.h"

namespace moxie::server {
namespace {

using testing::HasSubstr;

std::string Text(const Json& choice) { return std::string(choice.at("text").as_string()); }
Json Choice0(const Json& reply) { return reply.at("choices").at(0); }

TEST(Completions, WholeReplyHasVllmsShape) {
  Served served;
  const ClientReply reply =
      served.Post(R"({"model": "m", "prompt": "hi", "max_tokens": 3, "temperature": 0})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.Header("Content-Type"), "application/json");
  Json json = reply.json();
  const std::string id(json.at("id").as_string());
  EXPECT_EQ(id.substr(0, 5), "cmpl-");
  EXPECT_EQ(id.size(), 37u);
  EXPECT_GT(json.at("created").as_int64(), 1'600'000'000);
  json.as_object()["id"] = "cmpl-1";
  json.as_object()["created"] = 1;
  EXPECT_EQ(DumpJson(json),
            R"({"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[)"
            R"({"index":0,"text":"cde","logprobs":null,"finish_reason":"length",)"
            R"("stop_reason":null,"token_ids":null,"prompt_token_ids":null,)"
            R"("prompt_logprobs":null}],"usage":{"prompt_tokens":2,"total_tokens":5,)"
            R"("completion_tokens":3,"prompt_tokens_details":null}})");
}

TEST(Completions, TokenIdsComeWhenAskedFor) {
  Served served;
  const Json reply = served
                         .Post(R"({"prompt": [7, 8], "max_tokens": 3, "temperature": 0,
                                   "return_token_ids": true})")
                         .json();
  EXPECT_EQ(DumpJson(Choice0(reply).at("token_ids")), "[2,3,4]");
  EXPECT_EQ(DumpJson(Choice0(reply).at("prompt_token_ids")), "[7,8]");
}

TEST(Completions, StreamJoinsToTheWholeReply) {
  Served served;
  const std::string body = R"("prompt": "hi", "max_tokens": 9, "temperature": 0, "logprobs": 2,
                              "return_token_ids": true, "echo": true)";
  const Json whole = served.Post("{" + body + "}").json();
  const ClientReply streamed = served.Post("{" + body + ", \"stream\": true}");
  std::string text;
  JsonArray ids, tokens, offsets, logprobs, tops;
  const auto append = [](JsonArray& to, const Json& from) {
    to.insert(to.end(), from.as_array().begin(), from.as_array().end());
  };
  int prompts = 0;
  for (const Json& event : Events(streamed.body)) {
    const Json choice = Choice0(event);
    text += Text(choice);
    append(ids, choice.at("token_ids"));
    append(tokens, choice.at("logprobs").at("tokens"));
    append(offsets, choice.at("logprobs").at("text_offset"));
    append(logprobs, choice.at("logprobs").at("token_logprobs"));
    append(tops, choice.at("logprobs").at("top_logprobs"));
    prompts += !choice.at("prompt_token_ids").is_null();
  }
  const Json choice = Choice0(whole);
  EXPECT_EQ(text, "hicdefghijk");
  EXPECT_EQ(text, Text(choice));
  EXPECT_EQ(ids, choice.at("token_ids").as_array());
  EXPECT_EQ(tokens, choice.at("logprobs").at("tokens").as_array());
  EXPECT_EQ(offsets, choice.at("logprobs").at("text_offset").as_array());
  EXPECT_EQ(logprobs, choice.at("logprobs").at("token_logprobs").as_array());
  EXPECT_EQ(tops, choice.at("logprobs").at("top_logprobs").as_array());
  EXPECT_EQ(prompts, 1);
}

TEST(Completions, SeveralPromptsAndChoicesKeepTheirOrder) {
  Served served;
  const std::string body = R"("prompt": ["a", "abc"], "n": 2, "max_tokens": 2, "temperature": 0)";
  const Json whole = served.Post("{" + body + "}").json();
  std::vector<std::string> texts;
  for (const Json& choice : whole.at("choices").as_array()) {
    EXPECT_EQ(choice.at("index").as_int64(), static_cast<int64_t>(texts.size()));
    texts.push_back(Text(choice));
  }
  EXPECT_THAT(texts, testing::ElementsAre("bc", "bc", "de", "de"));
  EXPECT_EQ(whole.at("usage").at("prompt_tokens").as_int64(), 4);
  EXPECT_EQ(whole.at("usage").at("completion_tokens").as_int64(), 8);
  std::vector<std::string> streamed(4);
  for (const Json& event : Events(served.Post("{" + body + ", \"stream\": true}").body)) {
    streamed[static_cast<size_t>(Choice0(event).at("index").as_int64())] += Text(Choice0(event));
  }
  EXPECT_EQ(streamed, texts);
}

TEST(Completions, StopStringAndStopTokenAreNamed) {
  Served served;
  const Json by_text =
      served.Post(R"({"prompt": "hi", "temperature": 0, "stop": ["ef"], "max_tokens": 20})").json();
  EXPECT_EQ(Text(Choice0(by_text)), "cd");
  EXPECT_EQ(Choice0(by_text).at("finish_reason").as_string(), "stop");
  EXPECT_EQ(Choice0(by_text).at("stop_reason").as_string(), "ef");
  const Json by_id =
      served.Post(R"({"prompt": "hi", "temperature": 0, "stop_token_ids": [4]})").json();
  EXPECT_EQ(Choice0(by_id).at("stop_reason").as_int64(), 4);
}

TEST(Completions, case_http_sse_framing) {
  ServedSetup setup;
  setup.pieces[2] = "a\n";
  setup.pieces[3] = " b";
  setup.pieces[4] = "\r\nc";
  Served served(std::move(setup));
  Client client(served.port());
  const ClientReply reply = client.Do(
      "POST", "/v1/completions",
      R"({"model": "m", "prompt": "hi", "stream": true, "max_tokens": 3, "temperature": 0})");
  EXPECT_THAT(reply.Header("Content-Type"), HasSubstr("text/event-stream"));
  EXPECT_EQ(reply.Header("Cache-Control"), "no-cache");
  EXPECT_EQ(reply.Header("Transfer-Encoding"), "chunked");
  EXPECT_TRUE(reply.body.ends_with("data: [DONE]\n\n"));
  std::string content;
  int finishes = 0;
  const std::vector<Json> events = Events(reply.body);
  for (const Json& event : events) {
    content += Text(Choice0(event));
    finishes += !Choice0(event).at("finish_reason").is_null();
    EXPECT_EQ(event.at("id"), events[0].at("id"));
    EXPECT_EQ(event.at("created"), events[0].at("created"));
  }
  EXPECT_EQ(content, "a\n b\r\nc");
  EXPECT_EQ(finishes, 1);
  EXPECT_EQ(client.Do("GET", "/health").status, 200) << "the connection stays usable";
}

TEST(Completions, case_http_sse_framing_each_event_is_sent_when_made) {
  Served served;
  served.gate.Close();
  Client client(served.port());
  client.Send(Client::Format("POST", "/v1/completions",
                             R"({"prompt": "hi", "stream": true, "temperature": 0})"));
  EXPECT_EQ(client.ReadHead().status, 200) << "before the first step is done";
  served.gate.Open();
  std::string body;
  while (client.ReadChunk(body)) {
  }
  EXPECT_GE(Events(body).size(), 1u);
}

TEST(Completions, case_http_stream_usage_chunk) {
  Served served;
  const ClientReply reply = served.Post(
      R"({"prompt": "abcde", "stream": true, "stream_options": {"include_usage": true},
          "max_tokens": 3, "temperature": 0})");
  const std::vector<Json> events = Events(reply.body);
  ASSERT_GE(events.size(), 2u);
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    EXPECT_TRUE(events[i].at("usage").is_null());
    EXPECT_EQ(events[i].at("choices").as_array().size(), 1u);
  }
  EXPECT_TRUE(events.back().at("choices").as_array().empty());
  EXPECT_EQ(events.back().at("usage").at("prompt_tokens").as_int64(), 5);
  EXPECT_EQ(events.back().at("usage").at("completion_tokens").as_int64(), 3);
  EXPECT_EQ(events.back().at("usage").at("total_tokens").as_int64(), 8);
}

TEST(Completions, ContinuousUsageGrows) {
  Served served;
  const ClientReply reply = served.Post(
      R"({"prompt": "abcde", "stream": true, "stream_options": {"continuous_usage_stats": true},
          "max_tokens": 5, "temperature": 0})");
  int64_t last = 0;
  for (const Json& event : Events(reply.body)) {
    EXPECT_GT(event.at("usage").at("completion_tokens").as_int64(), last);
    last = event.at("usage").at("completion_tokens").as_int64();
  }
  EXPECT_EQ(last, 5);
}

TEST(Completions, case_http_stream_usage_n) {
  Served served;
  const ClientReply reply = served.Post(
      R"({"prompt": "abcde", "stream": true, "n": 3, "stream_options": {"include_usage": true},
          "max_tokens": 2, "temperature": 0})");
  const std::vector<Json> events = Events(reply.body);
  std::vector<int> ends(3);
  for (const Json& event : events) {
    if (event.at("choices").as_array().empty()) continue;
    const auto index = static_cast<size_t>(Choice0(event).at("index").as_int64());
    ends.at(index) += !Choice0(event).at("finish_reason").is_null();
  }
  EXPECT_THAT(ends, testing::ElementsAre(1, 1, 1));
  EXPECT_EQ(DumpJson(events.back().at("usage")),
            R"({"prompt_tokens":5,"total_tokens":11,"completion_tokens":6,)"
            R"("prompt_tokens_details":null})");
}

TEST(Completions, UsageTellsWhatWasFoundInTheCacheAndSaltsDoNotShare) {
  ServedSetup setup;
  setup.prompt_tokens_details = true;
  setup.force_include_usage = true;
  Served served(setup);
  auto cached = [&](std::string_view more) {
    const ClientReply reply = served.Post(
        StrCat(R"({"prompt": "abcdefghij", "max_tokens": 1, "temperature": 0)", more, "}"));
    EXPECT_EQ(reply.status, 200) << reply.body;
    const Json usage = reply.body.starts_with("data:") ? Events(reply.body).back().at("usage")
                                                       : reply.json().at("usage");
    EXPECT_EQ(usage.at("prompt_tokens").as_int64(), 10);
    return usage.at("prompt_tokens_details").at("cached_tokens").as_int64();
  };
  EXPECT_EQ(cached(""), 0);
  EXPECT_EQ(cached(""), 8);
  EXPECT_EQ(cached(R"(, "cache_salt": "ours")"), 0);
  EXPECT_EQ(cached(R"(, "cache_salt": "ours")"), 8);
  EXPECT_EQ(cached(R"(, "cache_salt": "theirs")"), 0);
  EXPECT_EQ(cached(R"(, "cache_salt": null, "stream": true)"), 8) << "usage in every stream";
  EXPECT_EQ(cached(R"(, "n": 3)"), 8) << "a prompt counts once";
}

TEST(Completions, mem_prefix_key_salt_lora_SaltsThatAreNone) {
  Served served;
  for (const char* salt : {R"("")", "1", R"(["x"])"}) {
    const ClientReply reply = served.Post(StrCat(R"({"prompt": "hi", "cache_salt": )", salt, "}"));
    EXPECT_EQ(reply.status, 400) << salt;
    EXPECT_THAT(reply.body, HasSubstr("cache_salt"));
  }
  EXPECT_EQ(served.Post(R"({"prompt": "hi", "max_tokens": 1, "cache_salt": null})").status, 200);
  served.ExpectWell();
}

TEST(Completions, BadWordsAreKeptOutOfTheText) {
  Served served;
  auto text = [&](std::string_view more) {
    const ClientReply reply = served.Post(StrCat(
        R"({"prompt": "abc", "max_tokens": 40, "temperature": 0, "ignore_eos": true)", more, "}"));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return std::string(reply.json().at("choices").at(0).at("text").as_string());
  };
  const std::string before = text("");
  const std::string word = before.substr(1, 2), letter = before.substr(4, 1);
  const std::string after = text(StrCat(R"(, "bad_words": [")", word, R"(", ")", letter, R"("])"));
  EXPECT_EQ(after.size(), before.size());
  EXPECT_THAT(after, testing::Not(HasSubstr(word)));
  EXPECT_THAT(after, testing::Not(HasSubstr(letter)));
  for (const char* bad : {R"([""])", R"(["  "])", "3", R"(["x", 1])"}) {
    const ClientReply reply = served.Post(StrCat(R"({"prompt": "hi", "bad_words": )", bad, "}"));
    EXPECT_EQ(reply.status, 400) << bad;
    EXPECT_THAT(reply.body, HasSubstr("bad_words"));
  }
}

TEST(Completions, PrioritiesNeedTheServersPolicy) {
  Served first_come;
  const ClientReply refused =
      first_come.Post(R"({"prompt": "hi", "max_tokens": 1, "priority": 2})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("--scheduling-policy priority"));
  ServedSetup setup;
  setup.engine.priorities = true;
  Served by_priority(setup);
  EXPECT_EQ(by_priority.Post(R"({"prompt": "hi", "max_tokens": 1, "priority": 2})").status, 200);
}

TEST(Completions, case_http_stream_options_variants) {
  Served served;
  const Json test_case = LoadCase("http-stream-options-variants");
  const JsonArray& bodies = test_case.at("input").at("bodies").as_array();
  const JsonArray& outcomes = test_case.at("expected").at("outcomes").as_array();
  for (size_t i = 0; i < bodies.size(); ++i) {
    const ClientReply reply = served.Post(AsCompletion(DumpJson(bodies[i])));
    if (outcomes[i].is_int64()) {
      EXPECT_EQ(reply.status, outcomes[i].as_int64()) << DumpJson(bodies[i]);
      EXPECT_THAT(reply.body, HasSubstr("stream_options"));
      continue;
    }
    EXPECT_EQ(reply.status, 200) << reply.body;
    int usages = 0;
    for (const Json& event : Events(reply.body)) usages += !event.at("usage").is_null();
    EXPECT_EQ(usages, outcomes[i].as_string() == "one usage chunk" ? 1 : 0) << DumpJson(bodies[i]);
  }
}

TEST(Completions, case_http_stop_token_ids) {
  ServedSetup setup;
  setup.script = engine::AnswerScript(2, {5, 6, 7, 8});
  Served served(std::move(setup));
  const std::pair<std::string, int> bodies[] = {
      {"[7]", 200},  {"[]", 200},           {"[999]", 200},   {"[1000]", 400},
      {"[-1]", 400}, {"[4294967296]", 400}, {"[\"7\"]", 400}, {"7", 400}};
  for (const auto& [ids, status] : bodies) {
    const ClientReply reply = served.Post(
        R"({"prompt": "hi", "temperature": 0, "return_token_ids": true, "stop_token_ids": )" + ids +
        "}");
    EXPECT_EQ(reply.status, status) << ids << ": " << reply.body;
    if (status == 400) {
      EXPECT_THAT(DumpJson(reply.json().at("error").at("param")), HasSubstr("stop_token_ids"));
    } else if (ids == "[7]") {
      EXPECT_EQ(DumpJson(Choice0(reply.json()).at("token_ids")), "[5,6,7]");
      EXPECT_EQ(Text(Choice0(reply.json())), "fg") << "the stop token's text is not shown";
      EXPECT_EQ(Choice0(reply.json()).at("finish_reason").as_string(), "stop");
    }
  }
}

TEST(Completions, case_http_max_tokens_forms) {
  Served served;
  const std::pair<std::string, int64_t> forms[] = {
      {"", 16},    {"null", 16},   {"7", 7},
      {"59", 59},  {"0", 400},     {"-1", 400},
      {"60", 400}, {"\"5\"", 400}, {"99999999999999999999", 400}};
  for (const auto& [value, outcome] : forms) {
    const std::string member = value.empty() ? "" : ", \"max_tokens\": " + value;
    const ClientReply reply = served.Post(R"({"prompt": "abcde", "temperature": 0)" + member + "}");
    if (outcome == 400) {
      EXPECT_EQ(reply.status, 400) << value << reply.body;
      EXPECT_EQ(reply.json().at("error").at("param").as_string(), "max_tokens") << reply.body;
      continue;
    }
    ASSERT_EQ(reply.status, 200) << value << reply.body;
    EXPECT_EQ(reply.json().at("usage").at("completion_tokens").as_int64(), outcome) << value;
    EXPECT_EQ(Choice0(reply.json()).at("finish_reason").as_string(), "length");
  }
}

TEST(Completions, AbsentMaxTokensTakesWhatIsLeft) {
  Served served;
  const std::string prompt(60, 'a');
  const ClientReply reply = served.Post("{\"prompt\": \"" + prompt + "\", \"temperature\": 0}");
  EXPECT_EQ(reply.json().at("usage").at("completion_tokens").as_int64(), 4);
  EXPECT_EQ(served.Post("{\"prompt\": \"" + prompt + "aaaaaaa\"}").status, 400);
}

TEST(Completions, case_http_echo_logprobs_scoring) {
  ServedSetup setup;
  setup.pieces[0] = "The";
  setup.pieces[1] = " cat";
  setup.pieces[2] = " sat";
  setup.pieces[3] = " dog";
  setup.pieces[4] = " ran";
  setup.script = [](std::span<const int32_t> history, std::span<float> logits) {
    std::ranges::fill(logits, -30.0f);
    if (history.size() == 1) logits[3] = -1.0f, logits[1] = -2.0f;
    if (history.size() >= 2) logits[2] = -0.5f, logits[4] = -1.5f;
  };
  Served served(std::move(setup));
  const auto ask = [&](const std::string& members) {
    return served.Post(R"({"model": "m", "prompt": [0, 1, 2], "temperature": 0, )" + members + "}");
  };
  const ClientReply scored = ask(R"("max_tokens": 0, "echo": true, "logprobs": 2)");
  ASSERT_EQ(scored.status, 200) << scored.body;
  const Json choice = Choice0(scored.json());
  EXPECT_EQ(Text(choice), "The cat sat");
  EXPECT_EQ(choice.at("finish_reason").as_string(), "length");
  const Json& logprobs = choice.at("logprobs");
  EXPECT_EQ(DumpJson(logprobs.at("tokens")), R"(["The"," cat"," sat"])");
  EXPECT_EQ(DumpJson(logprobs.at("text_offset")), "[0,3,7]");
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_TRUE(logprobs.at("top_logprobs").at(0).is_null());
  // The script's two numbers, made to sum to one.
  const double rest = std::log(std::exp(-1.0) + std::exp(-2.0));
  EXPECT_NEAR(logprobs.at("token_logprobs").at(1).as_double(), -2.0 - rest, 1e-5);
  const JsonObject& top = logprobs.at("top_logprobs").at(1).as_object();
  EXPECT_EQ(top.size(), 2u);
  EXPECT_NEAR(top.at(" dog").as_double(), -1.0 - rest, 1e-5);
  EXPECT_EQ(scored.json().at("usage").at("completion_tokens").as_int64(), 0);

  const Json with_one = Choice0(ask(R"("max_tokens": 1, "echo": true, "logprobs": 2)").json());
  EXPECT_EQ(with_one.at("logprobs").at("tokens").as_array().size(), 4u);
  EXPECT_EQ(with_one.at("logprobs").at("text_offset").at(3).as_int64(), 11);
  const Json zero = Choice0(ask(R"("max_tokens": 0, "echo": true, "logprobs": 0)").json());
  EXPECT_EQ(DumpJson(zero.at("logprobs").at("top_logprobs")), "[null,{},{}]");
  EXPECT_EQ(zero.at("logprobs").at("token_logprobs"), logprobs.at("token_logprobs"));
  EXPECT_EQ(ask(R"("max_tokens": 0, "echo": false)").status, 400);
  EXPECT_EQ(Text(Choice0(ask(R"("max_tokens": 0, "echo": true)").json())), "The cat sat");
  EXPECT_THAT(ask(R"("logprobs": 21)").body, HasSubstr("logprobs: must be in [0, 20]"));
}

TEST(Completions, PromptLogprobsNameRankAndText) {
  Served served;
  const ClientReply reply =
      served.Post(R"({"prompt": "bc", "max_tokens": 1, "temperature": 0, "prompt_logprobs": 1})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json scored = Choice0(reply.json()).at("prompt_logprobs");
  ASSERT_EQ(scored.as_array().size(), 2u);
  EXPECT_TRUE(scored.at(0).is_null());
  EXPECT_EQ(scored.at(1).at("1").at("rank").as_int64(), 1);
  EXPECT_EQ(scored.at(1).at("1").at("decoded_token").as_string(), "b");
  EXPECT_EQ(scored.at(1).at("2").at("decoded_token").as_string(), "c");
}

TEST(Completions, TokensAsIdsInLogprobs) {
  Served served;
  const ClientReply reply = served.Post(
      R"({"prompt": "hi", "max_tokens": 1, "temperature": 0, "logprobs": 1,
          "return_tokens_as_token_ids": true})");
  EXPECT_EQ(DumpJson(Choice0(reply.json()).at("logprobs").at("tokens")), R"(["token_id:2"])");
}

TEST(Completions, case_samp_seed_range) {
  Served served;
  const std::pair<std::string, int> seeds[] = {{"0", 200},
                                               {"-1", 200},
                                               {"9223372036854775807", 200},
                                               {"-9223372036854775808", 200},
                                               {"9223372036854775808", 400},
                                               {"18446744073709551616", 400},
                                               {"1e+20", 400},
                                               {"1.5", 400},
                                               {"\"7\"", 400},
                                               {"true", 400},
                                               {"null", 200}};
  for (const auto& [seed, status] : seeds) {
    const ClientReply reply = served.Post(R"({"prompt": "hi", "seed": )" + seed + "}");
    EXPECT_EQ(reply.status, status) << seed << ": " << reply.body;
    if (status == 400) {
      EXPECT_EQ(reply.json().at("error").at("param").as_string(), "seed");
    }
  }
  served.ExpectWell();
}

TEST(Completions, case_samp_seed_n_choices) {
  ServedSetup setup;
  setup.script = [](std::span<const int32_t>, std::span<float>) {};
  Served served(std::move(setup));
  const auto ask = [&](const std::string& members) {
    const ClientReply reply = served.Post(
        R"({"prompt": "hi", "max_tokens": 20, "return_token_ids": true, )" + members + "}");
    std::vector<std::string> choices;
    const Json json = reply.json();
    for (const Json& choice : json.at("choices").as_array()) {
      choices.push_back(DumpJson(choice.at("token_ids")));
    }
    return choices;
  };
  const auto a = ask(R"("n": 4, "seed": 42, "temperature": 1)");
  EXPECT_EQ(std::set(a.begin(), a.end()).size(), 4u);
  EXPECT_EQ(ask(R"("n": 4, "seed": 42, "temperature": 1)"), a);
  const auto b = ask(R"("n": 4, "seed": 43, "temperature": 1)");
  for (size_t i = 0; i < 4; ++i) EXPECT_NE(a[i], b[i]);
  EXPECT_NE(ask(R"("temperature": 1)"), ask(R"("temperature": 1)"));
  EXPECT_EQ(ask(R"("n": 2, "seed": 42, "temperature": 1)"), (std::vector{a[0], a[1]}));
  EXPECT_EQ(ask(R"("seed": 0, "temperature": 1)"), ask(R"("seed": 0, "temperature": 1)"));
  const auto greedy = ask(R"("n": 3, "seed": 42, "temperature": 0)");
  EXPECT_EQ(greedy, std::vector<std::string>(3, greedy[0]));
}

TEST(Completions, case_http_unknown_and_ignored_fields) {
  Served served;
  EXPECT_EQ(served
                .Post(R"({"model": "m", "prompt": "hi", "zzz": 1, "metadata": {"a": "b"},
                          "user": "u", "store": false, "service_tier": "auto"})")
                .status,
            200);
  EXPECT_THAT(served.Post(R"({"prompt": "hi", "structured_outputs": {"json": {}}})").body,
              HasSubstr("structured_outputs: is not supported"));
}

TEST(Completions, case_samp_temperature_extremes) {
  Served served;
  for (const char* value : {"-0.1", "2.1", "\"0.7\"", "1e400"}) {
    const ClientReply reply =
        served.Post(std::string(R"({"prompt": "hi", "temperature": )") + value + "}");
    EXPECT_EQ(reply.status, 400) << value;
    EXPECT_EQ(reply.json().at("error").at("param").as_string(), "temperature") << reply.body;
  }
}

}  // namespace
}  // namespace moxie::server
