#include "api/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "api/error.h"

namespace moxie::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

// Members besides the prompt, as JSON text: `"n": 2`.
Result<Body> Parse(const std::string& members, const engine::SamplingParams& defaults = {}) {
  const std::string text = R"({"prompt": "hi")" + (members.empty() ? "" : ", " + members) + "}";
  auto json = ParseJson(text);
  if (!json.ok()) return json.status();
  return ParseCompletion(*json, defaults);
}

std::string ErrorText(const std::string& members) { return Parse(members).status().message(); }

engine::RequestLimits Limits() {
  return {.vocab_size = 1000, .max_model_len = 64, .pool_tokens = 64, .max_logprobs = 20};
}

TEST(Fields, RowsAreWhole) {
  std::set<std::string_view> names;
  for (auto table : {SamplingFields(), CompletionFields(), ChatFields()}) {
    if (table.data() == ChatFields().data()) names.clear();  // may give a name its own meaning
    for (const FieldRow& row : table) {
      EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
      EXPECT_FALSE(row.type.empty()) << row.name;
      EXPECT_EQ(row.set != nullptr, row.kind == FieldClass::kHonoured) << row.name;
      EXPECT_EQ(row.why.empty(), row.kind != FieldClass::kRefused) << row.name;
      EXPECT_TRUE(ParseJson(row.fallback).ok()) << row.name << ": " << row.fallback;
      EXPECT_TRUE(IsField(row.name));
    }
  }
}

TEST(Fields, EveryFieldTakesNullAsNotGiven) {
  for (auto table : {SamplingFields(), CompletionFields()}) {
    for (const FieldRow& row : table) {
      if (row.name == "prompt") continue;
      EXPECT_TRUE(Parse("\"" + std::string(row.name) + "\": null").ok()) << row.name;
    }
  }
}

TEST(Fields, EveryFieldRefusesAnotherTypeByName) {
  for (auto table : {SamplingFields(), CompletionFields()}) {
    for (const FieldRow& row : table) {
      if (row.kind == FieldClass::kIgnored) continue;
      // An object of a name nobody knows fits no field but the two that are objects.
      const bool object = row.name == "logit_bias" || row.name == "stream_options";
      const std::string value = object ? "[1]" : R"({"zzz": 1})";
      const std::string member = "\"" + std::string(row.name) + "\": " + value;
      const auto json = ParseJson("{" + member + "}");
      const Status status = ParseCompletion(*json, {}).status();
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << row.name;
      EXPECT_THAT(status.message(), StartsWith(std::string(row.name) + ":"));
      EXPECT_EQ(ErrorOf(status).param, row.name);
    }
  }
}

TEST(Fields, FallbacksAreWhatAnEmptyRequestGets) {
  const Body plain = *Parse("");
  for (auto table : {SamplingFields(), CompletionFields()}) {
    for (const FieldRow& row : table) {
      if (row.kind != FieldClass::kHonoured || row.fallback == "null") continue;
      const auto body = Parse("\"" + std::string(row.name) + "\": " + std::string(row.fallback));
      ASSERT_TRUE(body.ok()) << body.status().message();
      const auto key = [](const Body& b) {
        return std::tuple(b.sampling.temperature, b.sampling.top_p, b.sampling.top_k,
                          b.sampling.min_p, b.sampling.presence_penalty,
                          b.sampling.frequency_penalty, b.sampling.repetition_penalty, b.n,
                          b.sampling.min_tokens, b.sampling.ignore_eos, b.stream, b.echo,
                          b.sampling.include_stop_str_in_output, b.sampling.skip_special_tokens,
                          b.return_token_ids, b.tokens_as_ids, b.add_special_tokens);
      };
      EXPECT_EQ(key(*body), key(plain)) << row.name;
    }
  }
}

TEST(Fields, RangesOfTheTableAreThoseOfTheEngine) {
  const std::pair<std::string, std::string> outside[] = {
      {"temperature", "2.1"},
      {"temperature", "-0.1"},
      {"temperature", "1e400"},
      {"top_p", "0"},
      {"top_p", "1.1"},
      {"top_k", "-2"},
      {"min_p", "-0.1"},
      {"min_p", "1.1"},
      {"presence_penalty", "2.5"},
      {"frequency_penalty", "-2.5"},
      {"repetition_penalty", "0"},
  };
  for (const auto& [name, value] : outside) {
    const auto body = Parse("\"" + name + "\": " + value);
    ASSERT_TRUE(body.ok()) << name << ": " << body.status().message();
    const Status status = body->sampling.Validate(Limits());
    const auto row = std::ranges::find(SamplingFields(), name, &FieldRow::name);
    EXPECT_THAT(status.message(), StartsWith(name + ":")) << value;
    EXPECT_THAT(status.message(), HasSubstr(std::string(row->range))) << value;
    EXPECT_EQ(ErrorOf(status).param, name);
    EXPECT_EQ(ErrorOf(status).http_status, 400);
  }
}

// JSON has one kind of number: 1 and 1.0 are the same, and both are taken where nothing changes.
TEST(Fields, RefusedFieldsAreTakenAtTheirFallback) {
  for (const char* harmless : {R"("length_penalty": 1)", R"("length_penalty": 1.0)",
                               R"("best_of": 1.0)", R"("use_beam_search": false)"}) {
    EXPECT_TRUE(Parse(harmless).ok()) << harmless;
  }
  for (const char* asking : {R"("length_penalty": 1.1)", R"("best_of": 2)",
                             R"("use_beam_search": true)", R"("best_of": "1")"}) {
    EXPECT_THAT(Parse(asking).status().message(), HasSubstr("is not supported")) << asking;
  }
}

TEST(Fields, ValuesArrive) {
  const auto body = Parse(
      R"("temperature": 0, "top_p": 0.5, "top_k": 7, "min_p": 0.1, "seed": -9223372036854775808,
         "stop": "x", "stop_token_ids": [1, 2], "logit_bias": {"5": -1.5}, "max_tokens": 3.0,
         "min_tokens": 2, "logprobs": 4, "n": 3, "stream": true, "return_token_ids": true,
         "stream_options": {"include_usage": true, "continuous_usage_stats": true}, "echo": true)");
  ASSERT_TRUE(body.ok()) << body.status().message();
  EXPECT_EQ(body->sampling.temperature, 0);
  EXPECT_EQ(body->sampling.top_p, 0.5);
  EXPECT_EQ(body->sampling.top_k, 7);
  EXPECT_EQ(body->sampling.min_p, 0.1);
  EXPECT_EQ(body->sampling.seed, std::numeric_limits<int64_t>::min());
  EXPECT_THAT(body->sampling.stop, ElementsAre("x"));
  EXPECT_THAT(body->sampling.stop_token_ids, ElementsAre(1, 2));
  EXPECT_THAT(body->sampling.logit_bias, ElementsAre(Pair(5, -1.5)));
  EXPECT_EQ(body->sampling.max_tokens, 3);
  EXPECT_EQ(body->sampling.min_tokens, 2);
  EXPECT_EQ(body->sampling.logprobs, 4);
  EXPECT_EQ(body->n, 3);
  EXPECT_TRUE(body->stream && body->include_usage && body->continuous_usage && body->echo);
  EXPECT_TRUE(body->return_token_ids);
}

TEST(Fields, GivenValuesWinOverTheModelsDefaults) {
  engine::SamplingParams defaults;
  defaults.temperature = 0.7;
  defaults.top_k = 20;
  EXPECT_EQ(Parse("", defaults)->sampling.temperature, 0.7);
  EXPECT_EQ(Parse(R"("temperature": null)", defaults)->sampling.temperature, 0.7);
  const auto given = Parse(R"("temperature": 0, "top_k": -1)", defaults);
  EXPECT_EQ(given->sampling.temperature, 0);
  EXPECT_EQ(given->sampling.top_k, -1);
}

TEST(Fields, PromptForms) {
  const auto prompts = [](const std::string& prompt) {
    auto body = ParseCompletion(*ParseJson("{\"prompt\": " + prompt + "}"), {});
    return body.ok() ? std::move(body->prompts) : std::vector<Prompt>{body.status().message()};
  };
  using Ids = std::vector<int32_t>;
  EXPECT_THAT(prompts(R"("a")"), ElementsAre(Prompt("a")));
  EXPECT_THAT(prompts(R"(["a", "b"])"), ElementsAre(Prompt("a"), Prompt("b")));
  EXPECT_THAT(prompts("[1, 2]"), ElementsAre(Prompt(Ids{1, 2})));
  EXPECT_THAT(prompts("[[1], [2, 3]]"), ElementsAre(Prompt(Ids{1}), Prompt(Ids{2, 3})));
  EXPECT_THAT(prompts(R"(["a\u0000b"])"), ElementsAre(Prompt(std::string("a\0b", 3))));
  EXPECT_THAT(prompts("[]"), ElementsAre(Prompt("prompt: must not be an empty array")));
  EXPECT_THAT(prompts("[1, \"a\"]"),
              ElementsAre(Prompt("prompt[1]: expected an integer of 64 bits, got a string")));
  EXPECT_THAT(prompts("[[1], [-4]]"), ElementsAre(Prompt("prompt[1][0]: -4 is not a token id")));
  EXPECT_THAT(prompts("[null]"),
              ElementsAre(Prompt("prompt[0]: expected an array of token ids, got null")));
  EXPECT_THAT(prompts("null"), ElementsAre(Prompt("prompt: is required")));
}

TEST(Fields, UnknownNamesAreNotedAndGuidedOnesRefused) {
  const auto body = Parse(R"("zzz": 1, "user": "u", "stream": true, "stream_options": {"x": 1})");
  ASSERT_TRUE(body.ok());
  EXPECT_THAT(body->unknown, ElementsAre("zzz", "stream_options.x"));
  EXPECT_THAT(ErrorText(R"("guided_json": {})"), HasSubstr("guided_json: was removed"));
  EXPECT_THAT(ErrorText(R"("guided_json": null)"), IsEmpty());
}

TEST(Fields, RefusedOnesPassWithTheirFallback) {
  EXPECT_THAT(ErrorText(R"("use_beam_search": false, "best_of": 1, "bad_words": [])"), IsEmpty());
  EXPECT_THAT(ErrorText(R"("use_beam_search": true)"), HasSubstr("there is no beam search"));
  EXPECT_THAT(ErrorText(R"("suffix": "x")"), StartsWith("suffix: is not supported"));
}

TEST(Fields, FieldsThatContradictEachOther) {
  EXPECT_THAT(ErrorText(R"("stream_options": {})"), HasSubstr("stream_options: only with"));
  EXPECT_THAT(ErrorText(R"("stream": true, "prompt_logprobs": 1)"), HasSubstr("prompt_logprobs"));
  EXPECT_THAT(ErrorText(R"("n": 0)"), StartsWith("n: must be at least 1"));
  EXPECT_THAT(ErrorText(R"("n": 1025)"), HasSubstr("at most 1024 choices"));
}

TEST(Fields, LogitBiasKeysAreIds) {
  for (const char* key : {"abc", "1.5", "", "99999999999999999999", " 1"}) {
    EXPECT_THAT(ErrorText(std::string("\"logit_bias\": {\"") + key + "\": 1}"),
                StartsWith("logit_bias: \""))
        << key;
  }
}

TEST(Errors, HaveVllmsShape) {
  EXPECT_EQ(DumpJson(ErrorBody(ErrorOf(InvalidArgument("top_p: must be in (0, 1], got 2")))),
            R"({"error":{"message":"top_p: must be in (0, 1], got 2","type":"BadRequestError",)"
            R"("param":"top_p","code":400}})");
  EXPECT_EQ(ErrorOf(InvalidArgument("line 3, column 7: syntax error")).param, "");
  EXPECT_EQ(ErrorOf(InvalidArgument("prompt[3][1]: -4 is not a token id")).param, "prompt[3][1]");
  EXPECT_EQ(ErrorOf(NotFound("model: `x`")).http_status, 404);
  EXPECT_EQ(ErrorOf(ResourceExhausted("queue")).http_status, 503);
  EXPECT_EQ(ErrorOf(Unavailable("stopping")).type, "ServiceUnavailableError");
  EXPECT_EQ(ErrorOf(Internal("bug")).http_status, 500);
  EXPECT_EQ(HttpError(404, "Not Found").type, "Not Found");
}

Result<Body> Chatting(const std::string& members) {
  return ParseChat(
      *ParseJson(R"({"messages": [{}])" + (members.empty() ? "" : ", " + members) + "}"), {});
}

TEST(ChatFields, RefuseAnotherTypeByName) {
  for (const FieldRow& row : ChatFields()) {
    if (row.kind == FieldClass::kIgnored) continue;
    const std::string value = row.name == "chat_template_kwargs" ? "[1]" : R"({"zzz": 1})";
    const Json json = *ParseJson("{\"" + std::string(row.name) + "\": " + value + "}");
    const Status status = ParseChat(json, {}).status();
    EXPECT_THAT(status.message(), StartsWith(std::string(row.name) + ":"));
  }
}

TEST(ChatFields, AreTranslated) {
  EXPECT_FALSE(Chatting("")->sampling.max_tokens);
  EXPECT_FALSE(Chatting("")->add_special_tokens);
  EXPECT_EQ(Chatting(R"("max_tokens": 7)")->sampling.max_tokens, 7);
  EXPECT_EQ(Chatting(R"("max_completion_tokens": 1, "max_tokens": 32)")->sampling.max_tokens, 1);
  EXPECT_FALSE(Chatting(R"("logprobs": false)")->sampling.logprobs);
  EXPECT_EQ(Chatting(R"("logprobs": true)")->sampling.logprobs, 0);
  EXPECT_EQ(Chatting(R"("top_logprobs": 3, "logprobs": true)")->sampling.logprobs, 3);
  EXPECT_THAT(Chatting(R"("top_logprobs": 3)").status().message(),
              StartsWith("top_logprobs: only"));
  EXPECT_THAT(ParseChat(*ParseJson("{}"), {}).status().message(), StartsWith("messages: is requ"));
}

}  // namespace
}  // namespace moxie::api
