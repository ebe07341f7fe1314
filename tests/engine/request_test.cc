#include "engine/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/engine/case_file.h"

namespace moxie::engine {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const RequestLimits kLimits = {
    .vocab_size = 1000, .max_model_len = 2048, .pool_tokens = 784, .max_logprobs = 20};

Request Valid() {
  Request request;
  request.prompt_ids = {1, 2, 3};
  request.sampling.max_tokens = 5;
  return request;
}

struct Bad {
  const char* field;
  std::function<void(SamplingParams&)> set;
};

TEST(SamplingParams, EachFieldOutOfItsRangeIsNamed) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Bad> bad = {
      {"temperature", [](auto& p) { p.temperature = -0.1; }},
      {"temperature", [](auto& p) { p.temperature = 2.1; }},
      {"temperature", [=](auto& p) { p.temperature = inf; }},
      {"temperature", [](auto& p) { p.temperature = std::nan(""); }},
      {"top_p", [](auto& p) { p.top_p = 0; }},
      {"top_p", [](auto& p) { p.top_p = -0.1; }},
      {"top_p", [](auto& p) { p.top_p = 1.1; }},
      {"top_k", [](auto& p) { p.top_k = -2; }},
      {"min_p", [](auto& p) { p.min_p = -0.1; }},
      {"min_p", [](auto& p) { p.min_p = 1.1; }},
      {"presence_penalty", [](auto& p) { p.presence_penalty = 2.1; }},
      {"frequency_penalty", [](auto& p) { p.frequency_penalty = -2.1; }},
      {"repetition_penalty", [](auto& p) { p.repetition_penalty = 0; }},
      {"repetition_penalty", [](auto& p) { p.repetition_penalty = -1; }},
      {"repetition_penalty", [=](auto& p) { p.repetition_penalty = inf; }},
      {"max_tokens", [](auto& p) { p.max_tokens = 0; }},
      {"max_tokens", [](auto& p) { p.max_tokens = -1; }},
      {"min_tokens", [](auto& p) { p.min_tokens = -1; }},
      {"min_tokens", [](auto& p) { p.min_tokens = 6; }},
      {"stop_token_ids", [](auto& p) { p.stop_token_ids = {1000}; }},
      {"stop_token_ids", [](auto& p) { p.stop_token_ids = {-1}; }},
      {"stop",
       [](auto& p) {
         p.stop = {"x", ""};
       }},
      {"stop", [](auto& p) { p.stop.assign(kMaxStopStrings + 1, "x"); }},
      {"stop", [](auto& p) { p.stop = {std::string(kMaxStopStringBytes + 1, 'x')}; }},
      {"logprobs", [](auto& p) { p.logprobs = 21; }},
      {"logprobs", [](auto& p) { p.logprobs = -1; }},
      {"prompt_logprobs", [](auto& p) { p.prompt_logprobs = 21; }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{1000, 1.0}};
       }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{-1, 1.0}};
       }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{1, 101.0}};
       }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{1, -100.5}};
       }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{1, std::nan("")}};
       }},
      {"allowed_token_ids", [](auto& p) { p.allowed_token_ids.emplace(); }},
      {"allowed_token_ids", [](auto& p) { p.allowed_token_ids = std::vector<int32_t>{1000}; }},
  };
  for (const Bad& b : bad) {
    Request request = Valid();
    b.set(request.sampling);
    const Status status = request.Validate(kLimits);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << b.field;
    EXPECT_THAT(status.message(), StartsWith(std::string(b.field) + ": "));
  }
}

TEST(SamplingParams, TheEdgesOfTheRangesAreValid) {
  Request request = Valid();
  SamplingParams& p = request.sampling;
  for (double t : {0.0, 2.0}) {
    p.temperature = t;
    EXPECT_TRUE(request.Validate(kLimits).ok());
  }
  for (int64_t k : {-1, 0, 1, 100000}) {
    p.top_k = k;
    EXPECT_TRUE(request.Validate(kLimits).ok());
  }
  for (double x : {-2.0, 2.0}) {
    p.presence_penalty = p.frequency_penalty = x;
    EXPECT_TRUE(request.Validate(kLimits).ok());
  }
  p.stop_token_ids = {0, 999};
  p.logit_bias = {{999, 100}, {0, -100}};
  p.logprobs = 20;
  EXPECT_TRUE(request.Validate(kLimits).ok());
  p.max_tokens = 0;
  p.prompt_logprobs = 0;
  EXPECT_TRUE(request.Validate(kLimits).ok()) << "nothing generated, the prompt scored";
}

TEST(Request, PromptsAreChecked) {
  Request request = Valid();
  request.prompt_ids.clear();
  EXPECT_THAT(request.Validate(kLimits).message(), StartsWith("prompt: "));
  request.prompt_ids = {0, 1000};
  EXPECT_THAT(request.Validate(kLimits).message(), StartsWith("prompt: token id 1000"));
  request.prompt_ids.assign(2048, 1);
  EXPECT_THAT(request.Validate(kLimits).message(), StartsWith("prompt: 2048"));
}

TEST(Request, mem_request_larger_than_pool_IsRefusedWithTheNumbers) {
  const Json c = LoadCase("mem-request-larger-than-pool");
  RequestLimits limits = kLimits;
  limits.max_model_len = c.at("input").at("max_model_len").as_int64();
  limits.pool_tokens =
      c.at("input").at("usable_blocks").as_int64() * c.at("input").at("block_size").as_int64();
  const JsonArray& requests = c.at("input").at("requests").as_array();
  for (size_t i = 0; i < requests.size(); ++i) {
    Request request;
    request.prompt_ids.assign(static_cast<size_t>(requests[i].at("prompt_tokens").as_int64()), 1);
    request.sampling.max_tokens = requests[i].at("max_tokens").as_int64();
    const bool fits = ToString(c.at("expected").at("outcomes").at(i)).starts_with("200");
    const Status status = request.Validate(limits);
    EXPECT_EQ(status.ok(), fits) << ToString(requests[i].at("name"));
    if (i == 1) {
      EXPECT_THAT(status.message(), testing::AllOf(HasSubstr("800"), HasSubstr("784")));
    }
  }
}

TEST(Request, http_max_tokens_forms_PromptAndLimitOverTheContextNameBothNumbers) {
  const RequestLimits limits = {
      .vocab_size = 10, .max_model_len = 64, .pool_tokens = 640, .max_logprobs = 0};
  Request request;
  request.prompt_ids.assign(5, 1);
  EXPECT_TRUE(request.Validate(limits).ok());
  EXPECT_EQ(request.MaxTotalTokens(limits), 64) << "absent: to the context's end";
  request.sampling.max_tokens = 59;
  EXPECT_TRUE(request.Validate(limits).ok());
  request.sampling.max_tokens = 60;
  EXPECT_THAT(request.Validate(limits).message(),
              testing::AllOf(HasSubstr(" 5 "), HasSubstr("60"), HasSubstr("64")));
  request.sampling.max_tokens = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(request.Validate(limits).ok());
}

TEST(Request, SaltsHaveOneToAThousandAndTwentyFourCharacters) {
  Request request = Valid();
  std::string longest;
  for (int i = 0; i < 1024; ++i) longest += "\xC3\xA9";
  for (const std::string& salt : {std::string("x"), longest}) {
    request.cache_salt = salt;
    EXPECT_TRUE(request.Validate(kLimits).ok());
  }
  for (const std::string& salt : {std::string(), longest + "x"}) {
    request.cache_salt = salt;
    EXPECT_THAT(request.Validate(kLimits).message(), StartsWith("cache_salt: "));
  }
}

TEST(Request, APriorityNeedsAServerThatOrdersByIt) {
  Request request = Valid();
  request.priority = -2;
  EXPECT_EQ(request.Validate(kLimits).message(),
            "priority: -2 needs a server started with --scheduling-policy priority");
  RequestLimits limits = kLimits;
  limits.priorities = true;
  EXPECT_TRUE(request.Validate(limits).ok());
}

}  // namespace
}  // namespace moxie::engine
