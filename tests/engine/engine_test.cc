#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/engine/harness.h"

namespace moxie::engine {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// An engine with its thread, on a scripted model.
struct Running {
  explicit Running(ScriptedRunner::Script script, EngineOptions options = SmallOptions())
      : tokenizer(PiecesTokenizer(LetterPieces(SmallLimits().vocab_size))),
        runner(SmallLimits(), std::move(script)) {
    auto started = Engine::Start(options, &runner, tokenizer.get());
    EXPECT_TRUE(started.ok()) << started.status().message();
    engine = std::move(*started);
  }

  std::shared_ptr<TokenStream> Submit(Request request) {
    auto stream = engine->Submit(std::move(request));
    EXPECT_TRUE(stream.ok()) << stream.status().message();
    return stream.ok() ? *stream : nullptr;
  }

  const std::shared_ptr<const text::Tokenizer> tokenizer;
  ScriptedRunner runner;
  std::unique_ptr<Engine> engine;
};

// Holds the model at the start of its steps until opened.
class Gate {
 public:
  void Wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void Open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

TEST(Engine, ThirtyTwoMixedRequestsTogetherGiveWhatEachGivesAlone) {
  std::vector<Request> requests;
  std::vector<Outcome> alone;
  for (int32_t i = 0; i < 32; ++i) {
    Request request = MakeRequest({}, 1 + i % 20);
    for (int32_t t = 0; t <= i; ++t) request.prompt_ids.push_back((7 * i + t) % 32);
    request.sampling.temperature = i % 2;
    request.sampling.seed = i;
    if (i % 3 == 0) request.sampling.logprobs = 2;
    alone.push_back(Harness(HashedScript()).RunOne(request));
    requests.push_back(std::move(request));
  }
  Running r(HashedScript());
  std::vector<std::thread> clients;
  std::vector<Outcome> together(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    clients.emplace_back([&, i] { together[i] = ReadAll(*r.Submit(requests[i])); });
  }
  for (std::thread& client : clients) client.join();
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(together[i], alone[i]) << i;
}

TEST(Engine, WakesItsReader) {
  Running r(AnswerScript(1, {4, 5}));
  std::mutex mutex;
  std::condition_variable news;
  int wakes = 0;
  auto stream = r.engine->Submit(MakeRequest({1}, 2), [&] {
    const std::lock_guard lock(mutex);
    ++wakes;
    news.notify_one();
  });
  ASSERT_TRUE(stream.ok());
  Outcome out;
  int seen = 0;
  while (out.finish == FinishReason::kNone) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(news.wait_for(lock, std::chrono::seconds(10), [&] { return wakes > seen; }));
    seen = wakes;
    lock.unlock();
    TokenEvent event;
    while ((*stream)->Read(event)) Take(event, **stream, out);
  }
  EXPECT_THAT(out.ids, ElementsAre(4, 5));
}

TEST(Engine, RefusesARequestThatIsWrongOrCouldNeverFit) {
  Running r(HashedScript());
  EXPECT_EQ(r.engine->Submit(MakeRequest({99}, 1)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(r.engine->Submit(MakeRequest({1}, 64)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadAll(*r.Submit(MakeRequest({1}, 63))).finish, FinishReason::kLength);
}

TEST(Engine, TheQueueIsBounded) {
  EngineOptions options = SmallOptions();
  options.max_queued_requests = 2;
  Running r(HashedScript(), options);
  Gate gate;
  std::atomic<int> at_gate{0};
  r.runner.BeforeStep([&](int64_t) {
    ++at_gate;
    gate.Wait();
  });
  std::vector<std::shared_ptr<TokenStream>> streams = {r.Submit(MakeRequest({1}, 5))};
  while (at_gate == 0) std::this_thread::yield();
  streams.push_back(r.Submit(MakeRequest({2}, 5)));
  streams.push_back(r.Submit(MakeRequest({3}, 5)));
  const auto refused = r.engine->Submit(MakeRequest({4}, 5));
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(r.engine->stats().waiting, 2);
  gate.Open();
  for (auto& stream : streams) EXPECT_EQ(ReadAll(*stream).ids.size(), 5u);
  EXPECT_EQ(r.engine->stats().refused_requests_full, 1);
}

TEST(Engine, AFailedStepEndsEveryRequestWithItsErrorAndTheEngineSaysSo) {
  Running r(HashedScript());
  r.runner.FailAt(3);
  Gate gate;
  r.runner.BeforeStep([&](int64_t step) {
    if (step == 3) gate.Wait();
  });
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int32_t i = 0; i < 6; ++i) streams.push_back(r.Submit(MakeRequest({i}, 20)));
  EXPECT_TRUE(r.engine->healthy());
  gate.Open();
  for (auto& stream : streams) {
    const Outcome out = ReadAll(*stream);
    EXPECT_EQ(out.finish, FinishReason::kError);
    EXPECT_THAT(out.error.message(), HasSubstr("scripted failure of step 3"));
    EXPECT_LE(out.ids.size(), 2u);
  }
  EXPECT_FALSE(r.engine->healthy());
  const auto refused = r.engine->Submit(MakeRequest({1}, 1));
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("scripted failure"));
}

TEST(Engine, StopRunsWhatWasTakenToItsEnd) {
  Running r(HashedScript());
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int32_t i = 0; i < 10; ++i) streams.push_back(r.Submit(MakeRequest({i}, 30)));
  r.engine->Stop(std::chrono::seconds(60));
  for (auto& stream : streams) EXPECT_EQ(Drain(*stream).ids.size(), 30u);
  EXPECT_EQ(r.engine->Submit(MakeRequest({1}, 1)).code(), StatusCode::kUnavailable);
  EXPECT_EQ(r.engine->stats().running, 0);
  EXPECT_EQ(r.engine->stats().finished_length, 10);
}

TEST(Engine, ASecondStopHurriesTheFirst) {
  Running r(HashedScript());
  r.runner.BeforeStep([](int64_t) { std::this_thread::sleep_for(milliseconds(20)); });
  auto stream = r.Submit(MakeRequest({1}, 60));
  auto queued = r.Submit(MakeRequest({2}, 60));
  std::thread patient([&] { r.engine->Stop(std::chrono::hours(24 * 365 * 1000)); });
  r.engine->Stop(milliseconds(0));
  patient.join();
  EXPECT_EQ(Drain(*stream).finish, FinishReason::kAbort);
  EXPECT_EQ(Drain(*queued).finish, FinishReason::kAbort);
}

TEST(Engine, ClientsThatComeAndGoLeaveNothingBehind) {
  Running r(HashedScript());
  std::vector<std::thread> clients;
  std::atomic<int> left{0};
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      for (int32_t i = 0; i < 50; ++i) {
        auto stream = r.Submit(MakeRequest({static_cast<int32_t>(c), i % 32}, 60));
        if (i % 3 == 0) {
          EXPECT_EQ(ReadAll(*stream).ids.size(), 60u);
          continue;
        }
        ++left;
        if (i % 3 == 1) stream->WaitAndRead();
        if (i % 2 == 0) stream->Abort();
      }
    });
  }
  for (std::thread& client : clients) client.join();
  r.engine->Stop(std::chrono::seconds(60));
  const EngineStats stats = r.engine->stats();
  EXPECT_EQ(stats.running + stats.waiting, 0);
  EXPECT_EQ(stats.blocks_used, 0);
  EXPECT_EQ(stats.blocks_used, 0);
  EXPECT_EQ(stats.finished_length + stats.finished_abort, 200);
  EXPECT_GE(stats.finished_length, 68);
}

TEST(Engine, StartRefusesLimitsThatCannotWork) {
  const auto tokenizer = PiecesTokenizer(LetterPieces(32));
  auto error = [&](EngineOptions options, runtime::StepLimits limits) {
    ScriptedRunner runner(limits, HashedScript());
    return Engine::Start(options, &runner, tokenizer.get()).status().message();
  };
  EngineOptions options = SmallOptions();
  runtime::StepLimits limits = SmallLimits();
  limits.max_tokens = 3;
  EXPECT_THAT(error(options, limits), HasSubstr("max_num_batched_tokens: 3"));
  limits = SmallLimits();
  limits.max_rows = 3;
  EXPECT_THAT(error(options, limits), HasSubstr("3 rows of logits"));
  options.max_model_len = 65;
  EXPECT_THAT(error(options, SmallLimits()), HasSubstr("too short for max_model_len, 65"));
  options = SmallOptions();
  options.eos_token_ids = {32};
  EXPECT_THAT(error(options, SmallLimits()), HasSubstr("eos_token_id 32"));
  options = SmallOptions();
  options.max_queued_tokens = 63;
  EXPECT_THAT(error(options, SmallLimits()), HasSubstr("max_queued_tokens: 63"));
  options = SmallOptions();
  options.max_queued_requests = 0;
  EXPECT_THAT(error(options, SmallLimits()), HasSubstr("max_queued_requests"));
}

TEST(Footprints, StateTheirFormulasAndCoverWhatIsAllocated) {
  const auto terms = Footprints(SmallOptions(), SmallLimits(), 9);
  int64_t reserved = 0;
  for (const memory::Footprint& term : terms) {
    EXPECT_EQ(term.owner, "engine");
    EXPECT_GT(term.bytes, 0) << term.name;
    EXPECT_FALSE(term.formula.empty()) << term.name;
    if (term.kind == memory::Kind::kReserved) reserved += term.bytes;
  }
  const runtime::StepLimits limits = SmallLimits();
  EXPECT_EQ(reserved, Scheduler::SlotBytes(limits, 64) + BlockPool::Bytes(limits.num_blocks) +
                          PrefixCache::Bytes(limits.num_blocks, limits.block_tokens) +
                          Sampler::Bytes(32));
}

}  // namespace
}  // namespace moxie::engine
