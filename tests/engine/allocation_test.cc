// Between schedule and token event the engine allocates nothing: operator new is counted for the
// whole program.
#include <gtest/gtest.h>

#include "tests/engine/allocation_counter.h"
#include "tests/engine/harness.h"

namespace moxie::engine {
namespace {

TEST(Allocations, NoneFromAdmissionToTheEndOfEveryKindOfRequest) {
  EngineOptions options = SmallOptions();
  options.eos_token_ids = {7};
  std::vector<std::string> pieces = LetterPieces(32);
  for (std::string& piece : pieces) piece.resize(40, '.');  // longer than a small string
  Harness h(HashedScript(), PiecesTokenizer(pieces), options, SmallLimits());
  std::vector<std::shared_ptr<TokenStream>> streams;
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
    streams.push_back(h.Submit(std::move(request)));
  }
  const int64_t before = Allocations();
  for (int step = 0; step < 100000 && !(h.core.idle() && h.queue.empty()); ++step) {
    if (step == 20) streams[30]->Abort();
    if (!h.core.Step().ok()) break;
  }
  const int64_t after = Allocations();
  EXPECT_EQ(after - before, 0);
  for (auto& stream : streams) EXPECT_NE(Drain(*stream).finish, FinishReason::kNone);
  EXPECT_GT(Allocations(), after) << "the counter counts";
}

}  // namespace
}  // namespace moxie::engine
