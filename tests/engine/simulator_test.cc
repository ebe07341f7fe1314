// Thousands of random schedules: pools down to one sequence, chunks down to one token, priorities,
// arrivals and aborts at any time. After each step every invariant holds; at the end every answer
// equals its run alone.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>

#include "tests/engine/harness.h"

namespace moxie::engine {
namespace {

constexpr int64_t kVocab = 16;
constexpr int64_t kMaxLen = 40;

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  int64_t Roll(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int64_t n) { return Roll(1, n) == 1; }

 private:
  std::mt19937_64 random_;
};

runtime::StepLimits RandomLimits(Dice& dice) {
  runtime::StepLimits limits;
  limits.vocab_size = kVocab;
  limits.block_tokens = dice.Roll(1, 8);
  limits.table_width = BlocksFor(kMaxLen, limits.block_tokens);
  limits.num_blocks = limits.table_width + dice.Roll(0, 4 * limits.table_width);
  limits.max_seqs = dice.Roll(1, 6);
  limits.max_tokens = limits.max_seqs + dice.Roll(0, 30);
  limits.max_rows = limits.max_seqs + dice.Roll(0, 4);
  return limits;
}

runtime::StepLimits SoloLimits() {
  return {.max_tokens = 64,
          .max_seqs = 1,
          .max_rows = 64,
          .table_width = 1,
          .num_blocks = 1,
          .block_tokens = kMaxLen,
          .vocab_size = kVocab};
}

EngineOptions SimulatorOptions() {
  EngineOptions options = SmallOptions();
  options.max_model_len = kMaxLen;
  options.eos_token_ids = {3};
  return options;
}

EngineOptions SoloOptions() {
  EngineOptions options = SimulatorOptions();
  options.priorities = true;
  return options;
}

Request RandomRequest(Dice& dice) {
  Request request;
  const int64_t prompt = dice.Roll(1, dice.OneIn(3) ? kMaxLen - 1 : 6);
  for (int64_t i = 0; i < prompt; ++i)
    request.prompt_ids.push_back(static_cast<int32_t>(dice.Roll(0, kVocab - 1)));
  SamplingParams& p = request.sampling;
  if (!dice.OneIn(4)) p.max_tokens = dice.Roll(1, kMaxLen - prompt);
  p.temperature = dice.OneIn(2) ? 0.0 : 1.0;
  p.seed = dice.Roll(0, 1000);
  p.ignore_eos = dice.OneIn(2);
  if (dice.OneIn(4)) p.top_k = 3;
  if (dice.OneIn(4)) p.top_p = 0.7;
  if (dice.OneIn(4)) p.frequency_penalty = 0.5;
  if (dice.OneIn(4)) p.repetition_penalty = 1.3;
  if (dice.OneIn(4)) p.min_tokens = p.max_tokens ? dice.Roll(0, *p.max_tokens) : 5;
  if (dice.OneIn(4)) p.stop = {"ab", "fgh", "ccd"};
  if (dice.OneIn(4)) p.stop_token_ids = {5};
  if (dice.OneIn(3)) p.logprobs = 2;
  if (dice.OneIn(5)) p.prompt_logprobs = 1;
  if (p.prompt_logprobs && dice.OneIn(4)) p.max_tokens = p.min_tokens = 0;
  return request;
}

// The beginning of another prompt, the same or another salt, and some tokens of its own.
void BeginAs(const Request& other, Dice& dice, Request& request) {
  const auto most =
      static_cast<int64_t>(std::min(other.prompt_ids.size(), request.prompt_ids.size()));
  std::copy_n(other.prompt_ids.begin(), dice.Roll(1, most), request.prompt_ids.begin());
  if (dice.OneIn(6)) request.cache_salt = "salt";
}

struct Running {
  Request request;
  std::shared_ptr<TokenStream> stream;
  Outcome outcome;
};

using Coverage = std::map<std::string, int64_t>;

int64_t SharedBlocks(const BlockPool& pool) {
  int64_t shared = 0;
  for (int32_t block = 0; block < pool.total(); ++block) shared += pool.holders(block) > 1;
  return shared;
}

void CoverStep(const Harness& h, const runtime::StepLimits& limits, Coverage& coverage) {
  EngineStats stats = h.core.Stats();
  h.queue.Report(stats);
  int64_t decoding = 0;
  for (const Sequence* s : h.core.scheduler().running()) decoding += s->decoding();
  coverage["steps"] += 1;
  coverage["decode beside prefill"] += decoding > 0 && decoding < stats.running;
  coverage["head waits for blocks"] += stats.waiting > 0 && stats.running < limits.max_seqs;
  coverage["head waits for a slot"] += stats.waiting > 0 && stats.running == limits.max_seqs;
  coverage["all blocks in use"] += stats.blocks_used == stats.blocks_total;
  coverage["preempted"] += stats.preemptions;
  coverage["prompt tokens found in the cache"] += stats.prefix_hits;
  coverage["blocks with two holders"] += SharedBlocks(h.core.scheduler().pool());
}

bool IsPrefix(const std::vector<int32_t>& part, const std::vector<int32_t>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

// One schedule from its seed.
void Simulate(uint32_t seed, Coverage& coverage) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Dice dice(seed);
  const runtime::StepLimits limits = RandomLimits(dice);
  EngineOptions options = SimulatorOptions();
  options.prefix_caching = !dice.OneIn(4);
  options.priorities = dice.OneIn(3);
  Harness h(HashedScript(), options, limits);
  std::vector<Running> all;
  int64_t to_come = dice.Roll(1, 12);
  while (to_come > 0 || !h.core.idle() || !h.queue.empty()) {
    while (to_come > 0 && dice.OneIn(2)) {
      --to_come;
      Request request = RandomRequest(dice);
      if (!all.empty() && dice.OneIn(2)) BeginAs(all.front().request, dice, request);
      if (options.priorities) request.priority = dice.Roll(-1, 1);
      auto stream = h.Submit(request);
      ASSERT_NE(stream, nullptr);
      all.push_back({std::move(request), std::move(stream), {}});
    }
    if (!all.empty() && dice.OneIn(12)) {
      all[static_cast<size_t>(dice.Roll(0, static_cast<int64_t>(all.size()) - 1))].stream->Abort();
    }
    h.Step();
    if (testing::Test::HasFatalFailure()) return;
    CoverStep(h, limits, coverage);
    TokenEvent event;
    for (Running& r : all) {
      if (dice.OneIn(3)) continue;  // a slow reader
      while (r.stream->Read(event)) Take(event, *r.stream, r.outcome);
    }
    ASSERT_LT(h.runner.steps(), 12 * kMaxLen * 2) << "no end in sight";
  }
  EXPECT_EQ(h.core.scheduler().pool().free(), limits.num_blocks);
  EngineStats stats;
  h.queue.Report(stats);
  EXPECT_EQ(stats.waiting_tokens, 0);
  EXPECT_EQ(stats.request_heap, 0);

  std::map<int64_t, Clock::time_point> last_start;  // of each priority
  for (Running& r : all) {
    TokenEvent event;
    while (r.stream->Read(event)) Take(event, *r.stream, r.outcome);
    const Outcome solo = Harness(HashedScript(), SoloOptions(), SoloLimits()).RunOne(r.request);
    coverage[std::string("ended by ") + std::string(Name(r.outcome.finish))] += 1;
    if (r.outcome.finish == FinishReason::kAbort) {
      EXPECT_TRUE(IsPrefix(r.outcome.ids, solo.ids));
      continue;
    }
    EXPECT_EQ(r.outcome.ids, solo.ids);
    EXPECT_EQ(r.outcome, solo);
    Clock::time_point& last = last_start[r.request.priority];
    EXPECT_GE(r.outcome.times.scheduled, last) << "overtaken";
    last = r.outcome.times.scheduled;
  }
}

TEST(Simulator, EveryAnswerEqualsItsRunAloneAndNoBlockIsLost) {
  Coverage coverage;
  for (uint32_t seed = 1; seed <= 2000 && !testing::Test::HasFailure(); ++seed)
    Simulate(seed, coverage);
  for (const auto& [state, count] : coverage) {
    std::cout << "  " << state << ": " << count << "\n";
    EXPECT_GT(count, 0) << state;
  }
}

// The same by the definition: no scheduler, no cache, one token after the other.
TEST(Simulator, ARunAloneIsWhatTheDefinitionSays) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    Dice dice(seed);
    Request request = RandomRequest(dice);
    request.sampling.stop.clear();
    const Outcome solo = Harness(HashedScript(), SimulatorOptions(), SoloLimits()).RunOne(request);
    std::vector<int32_t> tokens = request.prompt_ids;
    Sampler sampler(kVocab);
    const std::vector<int32_t> eos = {3};
    for (int32_t id : solo.ids) {
      std::vector<float> logits(kVocab);
      HashedScript()(tokens, logits);
      const std::span<const int32_t> all(tokens);
      const auto expected =
          sampler.Sample(logits, {request.sampling, all.first(request.prompt_ids.size()),
                                  all.subspan(request.prompt_ids.size()), eos,
                                  static_cast<uint64_t>(*request.sampling.seed), 0});
      ASSERT_TRUE(expected.ok());
      ASSERT_EQ(id, *expected) << "seed " << seed;
      tokens.push_back(id);
    }
  }
}

}  // namespace
}  // namespace moxie::engine
