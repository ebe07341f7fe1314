#include "engine/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/engine/case_file.h"
#include "tests/engine/harness.h"

namespace moxie::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Core, AnswersEndAtMaxTokens) {
  Harness h(AnswerScript(3, {4, 5, 6, 7}));
  const Outcome out = h.RunOne(MakeRequest({1, 2, 3}, 3));
  EXPECT_THAT(out.ids, ElementsAre(4, 5, 6));
  EXPECT_EQ(out.text, "efg");
  EXPECT_EQ(out.finish, FinishReason::kLength);
  EXPECT_EQ(h.core.scheduler().pool().free(), 64);
}

TEST(Core, http_max_tokens_forms_WithoutALimitTheAnswerRunsToTheContextsEnd) {
  Harness h(AnswerScript(5, {9}));
  Request request = MakeRequest({1, 2, 3, 4, 5}, 1);
  request.sampling.max_tokens.reset();
  const Outcome out = h.RunOne(request);
  EXPECT_EQ(out.ids.size(), 59u);
  EXPECT_EQ(out.finish, FinishReason::kLength);
  request.sampling.max_tokens = 59;
  EXPECT_EQ(h.RunOne(request).ids.size(), 59u);
}

TEST(Core, EndTokensEndAndAreCountedButNotShown) {
  EngineOptions options = SmallOptions();
  options.eos_token_ids = {6};
  Harness h(AnswerScript(1, {4, 5, 6, 7}), options);
  Outcome out = h.RunOne(MakeRequest({1}, 10));
  EXPECT_THAT(out.ids, ElementsAre(4, 5, 6));
  EXPECT_EQ(out.text, "ef");
  EXPECT_EQ(out.finish, FinishReason::kStop);
  EXPECT_EQ(out.stop_reason, "");

  Request request = MakeRequest({1}, 5);
  request.sampling.ignore_eos = true;
  out = h.RunOne(request);
  EXPECT_THAT(out.ids, ElementsAre(4, 5, 6, 7, 7));
  EXPECT_EQ(out.text, "efghh");
}

TEST(Core, http_stop_token_ids) {
  const Json c = LoadCase("http-stop-token-ids");
  runtime::StepLimits limits = SmallLimits();
  limits.vocab_size = c.at("input").at("vocabulary").as_int64();
  Harness h(AnswerScript(1, ToVector<int32_t>(c.at("input").at("script_ids"))), SmallOptions(),
            limits);
  const JsonArray& bodies = c.at("input").at("bodies").as_array();
  for (size_t i = 0; i < 6; ++i) {  // those that parse as lists of integers
    Request request = MakeRequest({1}, 4);
    bool representable = true;
    for (const Json& id : bodies[i].at("stop_token_ids").as_array()) {
      representable &= std::in_range<int32_t>(id.as_int64());
      if (representable)
        request.sampling.stop_token_ids.push_back(static_cast<int32_t>(id.as_int64()));
    }
    if (!representable) continue;
    const Json& expected = c.at("expected").at("outcomes").at(i);
    const bool refused = expected.is_int64() && expected.as_int64() == 400;
    EXPECT_EQ(request.Validate(h.intake.limits()).ok(), !refused);
    if (refused) continue;
    const Outcome out = h.RunOne(request);
    if (i == 0) {
      EXPECT_THAT(out.ids, ElementsAre(5, 6, 7));
      EXPECT_EQ(out.text, "fg") << "the stop token is counted and not shown";
      EXPECT_EQ(out.finish, FinishReason::kStop);
      EXPECT_EQ(out.stop_reason, "id 7");
    } else {
      EXPECT_EQ(out.finish, FinishReason::kLength);
    }
  }
}

// Runs one variant of the case; checks what was out after each token.
void CheckStopVariant(const Json& variant, const Json& row) {
  std::vector<std::string> pieces = {"prompt"};
  std::vector<int32_t> answer;
  for (const Json& piece : variant.at("script_tokens").as_array()) {
    const auto at = std::ranges::find(pieces, ToString(piece)) - pieces.begin();
    answer.push_back(static_cast<int32_t>(at));
    if (at == std::ssize(pieces)) pieces.push_back(ToString(piece));
  }
  Harness h(AnswerScript(1, answer), PiecesTokenizer(pieces), SmallOptions(), SmallLimits());
  Request request = MakeRequest({0}, static_cast<int64_t>(answer.size()));
  for (const Json& stop : variant.at("stop").as_array())
    request.sampling.stop.push_back(ToString(stop));
  auto stream = h.Submit(request);
  Outcome out;
  std::vector<int64_t> characters;
  while (out.finish == FinishReason::kNone) {
    h.Step();
    TokenEvent event;
    while (stream->Read(event)) Take(event, *stream, out);
    characters.push_back(
        std::ranges::count_if(out.text, [](char c) { return (c & 0xC0) != 0x80; }));
  }
  EXPECT_EQ(out.text, ToString(row.at("content")));
  EXPECT_EQ(Name(out.finish), ToString(row.at("finish_reason")));
  EXPECT_EQ(static_cast<int64_t>(out.ids.size()), row.at("completion_tokens").as_int64());
  const auto most = ToVector<int64_t>(row.at("max_chars_sent_after_token"));
  for (size_t i = 0; i + 1 < characters.size(); ++i)
    EXPECT_LE(characters[i], most[i]) << "token " << i;
}

TEST(Core, http_stop_spans_tokens) {
  const Json c = LoadCase("http-stop-spans-tokens");
  const JsonArray& variants = c.at("input").at("variants").as_array();
  for (size_t i = 0; i < variants.size(); ++i) {
    SCOPED_TRACE(ToString(variants[i].at("name")));
    CheckStopVariant(variants[i], c.at("expected").at("rows").at(i));
  }
}

TEST(Core, StopStringsMayBeShownAndWaitForMinTokens) {
  Harness h(AnswerScript(1, {0, 1, 2, 0, 1, 2, 3}));
  Request request = MakeRequest({9}, 20);
  request.sampling.stop = {"bc"};
  request.sampling.include_stop_str_in_output = true;
  Outcome out = h.RunOne(request);
  EXPECT_EQ(out.text, "abc");
  EXPECT_EQ(out.stop_reason, "bc");
  request.sampling.min_tokens = 3;
  out = h.RunOne(request);
  EXPECT_EQ(out.text, "abcabc")
      << "a stop string within the first min_tokens tokens does not count";
}

TEST(Core, samp_nan_logits_FailTheRequestAndNotItsNeighbour) {
  const Json c = LoadCase("samp-nan-logits");
  const JsonArray& rows = c.at("input").at("rows").as_array();
  runtime::StepLimits limits = SmallLimits();
  limits.vocab_size = 8;
  for (const Json& setting : c.at("input").at("settings").as_array()) {
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto bad = ToVector<float>(rows[r]);
      auto script = [&](std::span<const int32_t> history, std::span<float> logits) {
        HashedScript()(history, logits);
        if (history[0] == 7 && history.size() >= 4) std::ranges::copy(bad, logits.begin());
      };
      const Outcome alone = Harness(script, SmallOptions(), limits).RunOne(MakeRequest({1, 2}, 6));
      Harness h(script, SmallOptions(), limits);
      auto neighbour = h.Submit(MakeRequest({1, 2}, 6));
      Request request = MakeRequest({7, 2}, 6);
      const JsonObject& s = setting.as_object();
      request.sampling.temperature = ToNumber(s.at("temperature"));
      if (s.contains("top_k")) request.sampling.top_k = s.at("top_k").as_int64();
      if (s.contains("presence_penalty"))
        request.sampling.presence_penalty = ToNumber(s.at("presence_penalty"));
      auto stream = h.Submit(request);
      h.RunAll();
      const Outcome out = Drain(*stream);
      EXPECT_EQ(Drain(*neighbour), alone);
      if (r == 4) {
        EXPECT_EQ(out.finish, FinishReason::kLength);
        EXPECT_EQ(out.ids[3], 1);
        continue;
      }
      EXPECT_EQ(out.finish, FinishReason::kError);
      EXPECT_EQ(out.ids.size(), 2u) << "no token after the bad step";
      EXPECT_THAT(out.error.message(), HasSubstr("the model gave a logit of"));
      EXPECT_EQ(h.core.Stats().corrupted_requests, 1);
      EXPECT_EQ(h.core.scheduler().pool().free(), 64);
    }
  }
}

// What a request forbids itself is no fault of the model's.
TEST(Core, RequestsThatMaskEveryTokenAreNotCountedAsCorrupted) {
  Harness h([](auto, auto) {}, SmallOptions());
  Request request = MakeRequest({1, 2}, 6);
  request.sampling.allowed_token_ids = std::vector<int32_t>{3};
  request.sampling.stop_token_ids = {3};
  request.sampling.min_tokens = 2;
  auto stream = h.Submit(request);
  h.RunAll();
  const Outcome out = Drain(*stream);
  EXPECT_EQ(out.finish, FinishReason::kError);
  EXPECT_EQ(out.error.code(), StatusCode::kInvalidArgument) << out.error.message();
  EXPECT_EQ(h.core.Stats().corrupted_requests, 0);
  EXPECT_EQ(h.core.Stats().finished_error, 1);
  EXPECT_EQ(h.core.Stats().blocks_used, 0);
}

TEST(Core, samp_seed_n_choices) {
  runtime::StepLimits limits = SmallLimits();
  limits.vocab_size = 1000;
  Harness h([](auto, auto) {}, SmallOptions(), limits);
  auto request = [](std::optional<int64_t> seed, int32_t choice, double temperature) {
    Request r = MakeRequest({1, 2}, 20);
    r.sampling.seed = seed;
    r.sampling.temperature = temperature;
    r.choice = choice;
    return r;
  };
  std::vector<std::vector<int32_t>> a;
  for (int32_t i = 0; i < 4; ++i) a.push_back(h.RunOne(request(42, i, 1)).ids);
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = i + 1; j < 4; ++j) EXPECT_NE(a[i], a[j]);
  }
  std::vector<std::shared_ptr<TokenStream>> again;
  for (int32_t i = 0; i < 4; ++i) {
    for (int other = 0; other < 2; ++other) h.Submit(request(std::nullopt, 0, 1));
    again.push_back(h.Submit(request(42, i, 1)));
  }
  h.RunAll();
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(Drain(*again[i]).ids, a[i]) << "equal while others run";
  for (int32_t i = 0; i < 4; ++i)
    EXPECT_NE(h.RunOne(request(43, i, 1)).ids, a[static_cast<size_t>(i)]);
  EXPECT_NE(h.RunOne(request({}, 0, 1)).ids, h.RunOne(request({}, 0, 1)).ids);
  EXPECT_NE(h.RunOne(request(-1, 0, 1)).ids, h.RunOne(request(-1, 0, 1)).ids) << "-1 is unset";
  EXPECT_EQ(h.RunOne(request(0, 0, 1)).ids, h.RunOne(request(0, 0, 1)).ids) << "0 is a seed";
  EXPECT_EQ(h.RunOne(request(42, 0, 0)).ids, h.RunOne(request(42, 1, 0)).ids)
      << "greedy has one answer";
  const int64_t extremes[] = {std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()};
  for (int64_t seed : extremes)
    EXPECT_EQ(h.RunOne(request(seed, 0, 1)).finish, FinishReason::kLength);
}

TEST(Core, LogprobsAreOfTheRawLogits) {
  Harness h(HashedScript());
  Request request = MakeRequest({1, 2, 3}, 4);
  request.sampling.temperature = 0.5;
  request.sampling.seed = 3;
  request.sampling.top_k = 4;
  request.sampling.logit_bias = {{5, 20.0}};
  request.sampling.logprobs = 2;
  auto stream = h.Submit(request);
  h.RunAll();
  const Outcome out = Drain(*stream);
  std::vector<int32_t> history = {1, 2, 3};
  for (size_t i = 0; i < out.ids.size(); ++i) {
    std::vector<float> logits(32, 0.0f);
    HashedScript()(history, logits);
    double sum = 0;
    for (float x : logits) sum += std::exp(static_cast<double>(x));
    const TokenLogprobs got = stream->logprobs(static_cast<int64_t>(i));
    EXPECT_EQ(got.chosen.token, out.ids[i]);
    EXPECT_NEAR(got.chosen.logprob, logits[static_cast<size_t>(out.ids[i])] - std::log(sum), 1e-5);
    EXPECT_EQ(got.top[0].token, std::ranges::max_element(logits) - logits.begin());
    EXPECT_GE(got.top[0].logprob, got.top[1].logprob);
    history.push_back(out.ids[i]);
  }
}

TEST(Core, PromptLogprobsAreTheSameHoweverThePromptIsCut) {
  Request request = MakeRequest({}, 3);
  for (int32_t i = 0; i < 40; ++i) request.prompt_ids.push_back(i % 32);
  request.sampling.prompt_logprobs = 3;
  runtime::StepLimits whole = SmallLimits();
  whole.max_tokens = 64;
  whole.max_rows = 64;
  const Outcome expected = Harness(HashedScript(), SmallOptions(), whole).RunOne(request);
  ASSERT_EQ(expected.prompt_logprobs.size(), 39u * 5);
  Harness h(HashedScript());  // 4 rows a step
  auto one = h.Submit(request);
  auto two = h.Submit(request);
  auto plain = h.Submit(MakeRequest({1, 2, 3}, 30));
  h.RunAll();
  EXPECT_EQ(Drain(*one), expected);
  EXPECT_EQ(Drain(*two), expected);

  request.sampling.max_tokens = 0;
  const Outcome scored = h.RunOne(request);
  EXPECT_TRUE(scored.ids.empty());
  EXPECT_EQ(scored.finish, FinishReason::kLength);
  EXPECT_EQ(scored.prompt_logprobs, expected.prompt_logprobs);
}

TEST(Core, RequestsStartInTheOrderTheyCameAndNobodyOvertakes) {
  runtime::StepLimits limits = SmallLimits();
  limits.num_blocks = 16;  // one request of 64 tokens
  Harness h(HashedScript(), SmallOptions(), limits);
  auto small = h.Submit(MakeRequest({1, 2}, 10));
  auto large = h.Submit(MakeRequest(std::vector<int32_t>(63, 5), 1));
  auto late = h.Submit(MakeRequest({1, 2}, 2));
  h.Step();
  EXPECT_EQ(h.core.Stats().running, 1) << "the large one waits, and the late one behind it";
  h.RunAll();
  TokenEvent first, second, third;
  ASSERT_TRUE(small->Read(first) && large->Read(second) && late->Read(third));
  EXPECT_LT(first.times.scheduled, second.times.scheduled);
  EXPECT_LT(second.times.scheduled, third.times.scheduled);
  EXPECT_LE(second.times.finished, third.times.scheduled);
}

TEST(Core, AbortsFreeEverythingWithinAStepRunningOrQueued) {
  Harness h(HashedScript());
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < 6; ++i) streams.push_back(h.Submit(MakeRequest({1, 2, 3}, 61)));
  for (int i = 0; i < 5; ++i) h.Step();
  EXPECT_EQ(h.core.Stats().running, 4);
  streams[1]->Abort();
  streams[5]->Abort();
  streams[2].reset();  // let go without a word
  h.Step();
  EXPECT_EQ(h.core.Stats().finished_abort, 3);
  EXPECT_EQ(h.core.Stats().running, 3) << "the queued one took a free slot";
  EXPECT_EQ(Drain(*streams[1]).finish, FinishReason::kAbort);
  EXPECT_EQ(Drain(*streams[5]).finish, FinishReason::kAbort);
  for (auto& stream : streams) {
    if (stream != nullptr) stream->Abort();
  }
  h.Step();
  EXPECT_EQ(h.core.Stats().running, 0);
  EXPECT_EQ(h.core.scheduler().pool().free(), 64);
  EXPECT_EQ(h.core.Stats().finished_abort, 6);
}

std::vector<int32_t> Numbered(int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>(i * 7 % 32));
  return ids;
}

runtime::StepLimits LimitsOf16(int64_t blocks) {
  return {.max_tokens = 256,
          .max_seqs = 4,
          .max_rows = 4,
          .table_width = 16,
          .num_blocks = blocks,
          .block_tokens = 16,
          .vocab_size = 32};
}

EngineOptions OptionsOf256() {
  EngineOptions options = SmallOptions();
  options.max_model_len = 256;
  return options;
}

TEST(Core, mem_full_prefix_hit_StillRunsOneTokenAndAnswersTheSame) {
  const Json c = LoadCase("mem-full-prefix-hit");
  const auto lengths = ToVector<int64_t>(c.at("input").at("prompt_lengths"));
  const auto cached = ToVector<int64_t>(c.at("expected").at("cached_tokens_second_time"));
  for (size_t i = 0; i < lengths.size(); ++i) {
    Harness h(HashedScript(), OptionsOf256(), LimitsOf16(64));
    const Outcome first = h.RunOne(MakeRequest(Numbered(lengths[i]), 20));
    auto again = h.Submit(MakeRequest(Numbered(lengths[i]), 20));
    h.RunAll();
    EXPECT_EQ(again->cached_tokens(), cached[i]) << lengths[i];
    EXPECT_EQ(Drain(*again), first);
    const EngineStats stats = h.core.Stats();
    EXPECT_EQ(stats.prompt_tokens, 2 * lengths[i]);
    EXPECT_EQ(stats.prompt_tokens_cached, cached[i]);
    EXPECT_EQ(stats.prefix_queries, 2 * lengths[i]);
    EXPECT_EQ(stats.prefix_hits, cached[i]);
  }
}

TEST(Core, mem_preemption_same_output_TheYoungerGivesWayAndNobodySeesIt) {
  const Json c = LoadCase("mem-preemption-same-output");
  Request older = MakeRequest(Numbered(32), 96);
  Request younger = MakeRequest(Numbered(32), 96);
  std::ranges::reverse(younger.prompt_ids);
  younger.sampling.temperature = 1;
  younger.sampling.seed = 5;
  younger.sampling.frequency_penalty = 0.5;
  younger.sampling.logprobs = 0;
  auto run = [&](int64_t blocks, int64_t* preemptions) {
    Harness h(HashedScript(), OptionsOf256(), LimitsOf16(blocks));
    auto first = h.Submit(older);
    auto second = h.Submit(younger);
    h.RunAll(1000);
    *preemptions = h.core.Stats().preemptions;
    EXPECT_EQ(h.core.Stats().generation_tokens, 192);
    EXPECT_EQ(h.core.Stats().prompt_tokens, 64) << "what is run again counts once";
    EXPECT_EQ(h.core.Stats().blocks_used, 0);
    return std::pair(Drain(*first), Drain(*second));
  };
  int64_t in_small = 0, in_large = 0;
  const auto small = run(c.at("input").at("usable_blocks").as_int64(), &in_small);
  const auto large = run(100, &in_large);
  EXPECT_GE(in_small, 1);
  EXPECT_EQ(in_large, 0);
  EXPECT_EQ(small, large);
  EXPECT_EQ(small.first.ids.size(), 96u);
  EXPECT_EQ(small.second.ids.size(), 96u);
  EXPECT_EQ(small.second.logprobs.size(), 96u * 2);
  EXPECT_LT(small.first.times.finished, small.second.times.finished);
}

TEST(Core, ChoicesOfOnePromptRunItOnce) {
  runtime::StepLimits limits = LimitsOf16(64);
  limits.max_tokens = 40;  // the prompt takes steps
  Harness h(HashedScript(), OptionsOf256(), limits);
  std::vector<std::shared_ptr<TokenStream>> choices;
  for (int32_t i = 0; i < 4; ++i) {
    Request request = MakeRequest(Numbered(100), 3);
    request.choice = i;
    choices.push_back(h.Submit(request));
  }
  h.RunAll();
  EXPECT_EQ(choices[0]->cached_tokens(), 0);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(choices[i]->cached_tokens(), 96);
}

TEST(Core, LogitsThatAreNoNumbersLeaveNothingToFind) {
  auto script = [](std::span<const int32_t> history, std::span<float> logits) {
    HashedScript()(history, logits);
    if (history.size() == 40) logits[0] = std::nanf("");
  };
  Harness h(script, OptionsOf256(), LimitsOf16(64));
  EXPECT_EQ(h.RunOne(MakeRequest(Numbered(40), 3)).finish, FinishReason::kError);
  auto again = h.Submit(MakeRequest(Numbered(40), 3));
  h.RunAll();
  EXPECT_EQ(again->cached_tokens(), 0);
}

TEST(Core, WithoutThePrefixCacheNothingIsFound) {
  EngineOptions options = OptionsOf256();
  options.prefix_caching = false;
  Harness h(HashedScript(), options, LimitsOf16(64));
  const Outcome first = h.RunOne(MakeRequest(Numbered(40), 3));
  auto again = h.Submit(MakeRequest(Numbered(40), 3));
  h.RunAll();
  EXPECT_EQ(again->cached_tokens(), 0);
  EXPECT_EQ(Drain(*again), first);
  EXPECT_EQ(h.core.Stats().prefix_queries, 0);
}

// The order in which requests got their first token.
std::vector<size_t> StartOrder(const std::vector<std::shared_ptr<TokenStream>>& streams) {
  std::vector<Clock::time_point> starts;
  for (const auto& stream : streams) starts.push_back(Drain(*stream).times.scheduled);
  std::vector<size_t> order(streams.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return starts[i]; });
  return order;
}

TEST(Core, LowerPrioritiesStartFirstAndEqualOnesInOrder) {
  EngineOptions options = SmallOptions();
  options.priorities = true;
  runtime::StepLimits limits = SmallLimits();
  limits.max_seqs = 1;
  Harness h(HashedScript(), options, limits);
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int64_t priority : {0, 5, 0, -3, 5, -3}) {
    Request request = MakeRequest({1}, 3);
    request.priority = priority;
    streams.push_back(h.Submit(std::move(request)));
  }
  h.RunAll();
  EXPECT_EQ(StartOrder(streams), (std::vector<size_t>{3, 5, 0, 2, 1, 4}));
}

TEST(Core, WhenBlocksRunOutTheHighestPriorityNumberGivesWay) {
  EngineOptions options = SmallOptions();
  options.priorities = true;
  runtime::StepLimits limits = SmallLimits();
  limits.num_blocks = limits.table_width;  // 64 tokens
  Harness h(HashedScript(), options, limits);
  auto submit = [&](int64_t priority) {
    Request request = MakeRequest({1, 2, 3}, 40);
    request.priority = priority;
    return h.Submit(std::move(request));
  };
  auto bulk = submit(9);  // came first
  h.Step();
  auto urgent = submit(1);
  while (h.core.Stats().preemptions == 0) h.Step();
  ASSERT_EQ(h.core.Stats().waiting, 1);
  EXPECT_EQ(h.core.scheduler().running().front()->request().priority, 1);
  EXPECT_FALSE(h.core.scheduler().running().front()->waiting());
  h.RunAll();
  EXPECT_EQ(Drain(*bulk).ids.size(), 40u);
  EXPECT_EQ(Drain(*urgent).ids.size(), 40u);
}

TEST(RequestQueue, RefusesWithTheNumbersWhenFullInRequestsOrTokens) {
  EngineOptions options = SmallOptions();
  options.max_queued_requests = 2;
  options.max_queued_tokens = 64;
  Harness h(HashedScript(), options);
  auto push = [&](size_t tokens) {
    auto pending = h.intake.Prepare(MakeRequest(std::vector<int32_t>(tokens, 1), 1), nullptr);
    EXPECT_TRUE(pending.ok());
    return h.queue.Push(std::move(*pending));
  };
  EXPECT_TRUE(push(60).ok());
  const Status tokens = push(5);
  EXPECT_EQ(tokens.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(tokens.message(), testing::AllOf(HasSubstr("60"), HasSubstr("64")));
  EXPECT_TRUE(push(4).ok());
  const Status requests = push(1);
  EXPECT_EQ(requests.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(requests.message(), HasSubstr("2 requests wait"));
  EngineStats stats;
  h.queue.Report(stats);
  EXPECT_EQ(stats.waiting, 2);
  EXPECT_EQ(stats.waiting_tokens, 64);
  h.Step();
  EXPECT_TRUE(push(63).ok()) << "what has started no longer counts";
  EXPECT_EQ(stats.refused_requests_full, 1);
  EXPECT_EQ(stats.refused_tokens_full, 1);
}

TEST(RequestQueue, CountsTheBytesOfRequestsUntilTheyAreGone) {
  EngineOptions options = SmallOptions();
  options.max_request_heap = 100000;
  Harness h(HashedScript(), options);
  auto request = [] {
    Request made = MakeRequest({1}, 2);
    made.sampling.stop.assign(10, std::string(1000, 'x'));
    return made;
  };
  EXPECT_GE(request().HeapBytes(), 60000);
  auto first = h.Submit(request());
  auto refuse = [&] {
    auto pending = h.intake.Prepare(request(), nullptr);
    EXPECT_TRUE(pending.ok());
    return h.queue.Push(std::move(*pending));
  };
  EXPECT_EQ(refuse().code(), StatusCode::kResourceExhausted);
  h.Step();
  ASSERT_FALSE(h.core.idle());
  const Status refused = refuse();
  EXPECT_THAT(refused.message(),
              testing::AllOf(HasSubstr("100000"), HasSubstr("--max-request-heap")));
  h.RunAll();
  EngineStats stats;
  h.queue.Report(stats);
  EXPECT_EQ(stats.request_heap, 0);
  EXPECT_EQ(stats.refused_bytes_full, 2);
  EXPECT_TRUE(refuse().ok());
}

}  // namespace
}  // namespace moxie::engine
