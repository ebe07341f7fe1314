// Between schedule and token event the engine allocates nothing, and for its answer a request's
// buffers when it is admitted: operator new is counted for the whole program.
#include <gtest/gtest.h>

#include "tests/engine/allocation_counter.h"
#include "tests/engine/harness.h"

namespace moxie::engine {
namespace {

// Ids, text and where it ends; numbers, ranks and alternatives of each kind of logprobs.
int64_t Buffers(const SamplingParams& p) { return 3 + 3 * !!p.logprobs + 3 * !!p.prompt_logprobs; }

TEST(Allocations, NoneButTheAnswersBuffersToTheEndOfEveryKindOfRequest) {
  EngineOptions options = SmallOptions();
  options.eos_token_ids = {7};
  std::vector<std::string> pieces = LetterPieces(32);
  for (std::string& piece : pieces) piece.resize(40, '.');  // longer than a small string
  Harness h(HashedScript(), PiecesTokenizer(pieces), options, SmallLimits());
  std::vector<std::shared_ptr<TokenStream>> streams;
  int64_t buffers = 0;
  for (int32_t i = 0; i < 40; ++i) {
    Request request =
        MakeRequest(std::vector<int32_t>(static_cast<size_t>(1 + i % 30), i % 32), 1 + i % 30);
    SamplingParams& p = request.sampling;
    p.temperature = i % 3;
    p.top_k = i % 5;
    p.top_p = i % 2 == 0 ? 1.0 : 0.8;
    p.min_p = i % 4 == 0 ? 0.1 : 0.0;
    p.frequency_penalty = i % 3 == 0 ? 0.5 : 0.0;
    p.repetition_penalty = i % 4 == 0 ? 1.5 : 1.0;
    p.logit_bias = {{3, 1.0}};
    p.stop = {"a stop string that never comes, longer than a small string", "ab"};
    if (i % 2 == 0) p.logprobs = 3;
    if (i % 5 == 0) p.prompt_logprobs = 2;
    buffers += Buffers(p);
    streams.push_back(h.Submit(std::move(request)));
  }
  streams[30]->Abort();
  SamplingParams aborted;
  aborted.logprobs = aborted.prompt_logprobs = 2;
  const int64_t before = Allocations();
  for (int step = 0; step < 100000 && !(h.core.idle() && h.queue.empty()); ++step) {
    if (!h.core.Step().ok()) break;
  }
  const int64_t after = Allocations();
  EXPECT_EQ(after - before, buffers - Buffers(aborted));
  for (auto& stream : streams) EXPECT_NE(Drain(*stream).finish, FinishReason::kNone);
  EXPECT_GT(Allocations(), after) << "the counter counts";
}

TEST(Allocations, ARequestWithoutMemoryForItsAnswerFailsAloneAndTheNextOneRuns) {
  Harness h(HashedScript());
  auto running = h.Submit(MakeRequest({1, 2}, 5));
  auto without = h.Submit(MakeRequest({1, 2}, 60));
  auto behind = h.Submit(MakeRequest({3}, 5));
  FailAllocationsFrom(60 * sizeof(int64_t));
  const Status status = h.core.Step();
  FailAllocationsFrom(SIZE_MAX);
  ASSERT_TRUE(status.ok());
  h.RunAll();
  EXPECT_EQ(Drain(*running).ids.size(), 5u);
  EXPECT_EQ(Drain(*behind).ids.size(), 5u);
  const Outcome failed = Drain(*without);
  EXPECT_EQ(failed.finish, FinishReason::kError);
  EXPECT_EQ(failed.error.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(failed.error.message(), "no memory for an answer of 60 tokens");
  EXPECT_EQ(h.core.Stats().finished_error, 1);
}

}  // namespace
}  // namespace moxie::engine
