// A Core on a scripted model, stepped by the test itself; and what a reader collects from a stream.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core.h"
#include "engine/intake.h"
#include "tests/engine/scripted_runner.h"
#include "tests/engine/test_tokenizer.h"

namespace moxie::engine {

// Enough for most tests: 4 sequences of up to 64 tokens, 16 tokens a step.
inline runtime::StepLimits SmallLimits() {
  return {.max_tokens = 16,
          .max_seqs = 4,
          .max_rows = 4,
          .table_width = 16,
          .num_blocks = 64,
          .block_tokens = 4,
          .vocab_size = 32};
}

inline EngineOptions SmallOptions() {
  EngineOptions options;
  options.max_model_len = 64;
  options.max_queued_requests = 1000;
  options.max_queued_tokens = 64000;
  options.max_request_heap = 16 << 20;
  options.max_logprobs = 5;
  options.seed = 1;
  return options;
}

// "a", "b", ... for every id.
inline std::vector<std::string> LetterPieces(int64_t count) {
  std::vector<std::string> pieces;
  for (int64_t i = 0; i < count; ++i) {
    std::string piece(1, static_cast<char>('a' + i % 26));
    if (i >= 26) piece += std::to_string(i / 26);
    pieces.push_back(piece);
  }
  return pieces;
}

// Of LetterPieces; made once for each size.
inline std::shared_ptr<const text::Tokenizer> LetterTokenizer(int64_t count) {
  static std::map<int64_t, std::shared_ptr<const text::Tokenizer>> made;
  auto& tokenizer = made[count];
  if (tokenizer == nullptr) tokenizer = PiecesTokenizer(LetterPieces(count));
  return tokenizer;
}

// Everything that a stream said.
struct Outcome {
  std::vector<int32_t> ids;
  std::string text;
  std::vector<std::string> deltas;
  FinishReason finish = FinishReason::kNone;
  std::string stop_reason;  // "", "id 7", or the stop string
  Status error;
  RequestTimes times;
  std::vector<std::pair<int32_t, float>> logprobs;  // chosen, then alternatives, token by token
  std::vector<std::pair<int32_t, float>> prompt_logprobs;

  bool operator==(const Outcome& other) const {
    return ids == other.ids && text == other.text && finish == other.finish &&
           stop_reason == other.stop_reason && logprobs == other.logprobs &&
           prompt_logprobs == other.prompt_logprobs;
  }
};

inline void AppendLogprobs(const TokenLogprobs& from, std::vector<std::pair<int32_t, float>>& to) {
  to.emplace_back(from.chosen.token, from.chosen.logprob);
  to.emplace_back(from.rank, 0.0f);
  for (const Logprob& entry : from.top) to.emplace_back(entry.token, entry.logprob);
}

inline void Take(const TokenEvent& event, const TokenStream& stream, Outcome& out) {
  EXPECT_EQ(event.first_token, static_cast<int64_t>(out.ids.size()));
  out.ids.insert(out.ids.end(), event.token_ids.begin(), event.token_ids.end());
  EXPECT_EQ(event.completion_tokens, static_cast<int64_t>(out.ids.size()));
  out.text += event.text;
  out.deltas.emplace_back(event.text);
  if (stream.has_logprobs()) {
    for (size_t i = 0; i < event.token_ids.size(); ++i) {
      AppendLogprobs(stream.logprobs(event.first_token + static_cast<int64_t>(i)), out.logprobs);
    }
  }
  if (event.finish == FinishReason::kNone) return;
  out.finish = event.finish;
  out.error = event.error;
  out.times = event.times;
  if (const auto* id = std::get_if<int32_t>(&event.stop_reason))
    out.stop_reason = StrCat("id ", *id);
  if (const auto* s = std::get_if<std::string_view>(&event.stop_reason)) out.stop_reason = *s;
  if (stream.has_prompt_logprobs() && event.finish != FinishReason::kAbort &&
      event.finish != FinishReason::kError) {
    for (int64_t i = 1; i < event.prompt_tokens; ++i) {
      AppendLogprobs(stream.prompt_logprobs(i), out.prompt_logprobs);
    }
  }
}

// What is there now.
inline Outcome Drain(TokenStream& stream) {
  Outcome out;
  TokenEvent event;
  while (stream.Read(event)) Take(event, stream, out);
  return out;
}

// Everything, waiting for the end.
inline Outcome ReadAll(TokenStream& stream) {
  Outcome out;
  while (out.finish == FinishReason::kNone) Take(stream.WaitAndRead(), stream, out);
  return out;
}

inline Request MakeRequest(std::vector<int32_t> prompt, int64_t max_tokens) {
  Request request;
  request.prompt_ids = std::move(prompt);
  request.sampling.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  return request;
}

class Harness {
 public:
  explicit Harness(ScriptedRunner::Script script, EngineOptions options = SmallOptions(),
                   runtime::StepLimits limits = SmallLimits())
      : Harness(std::move(script), LetterTokenizer(limits.vocab_size), std::move(options), limits) {
  }

  Harness(ScriptedRunner::Script script, std::shared_ptr<const text::Tokenizer> its_tokenizer,
          EngineOptions options, runtime::StepLimits limits)
      : options(std::move(options)),
        tokenizer(std::move(its_tokenizer)),
        runner(limits, std::move(script)),
        intake(this->options, limits, tokenizer.get()),
        queue({this->options.max_queued_requests, this->options.max_queued_tokens,
               this->options.max_request_heap}),
        core(this->options, &runner, &queue) {}

  std::shared_ptr<TokenStream> Submit(Request request) {
    auto pending = intake.Prepare(std::move(request), nullptr);
    if (!pending.ok()) {
      ADD_FAILURE() << pending.status().message();
      return nullptr;
    }
    std::shared_ptr<TokenStream> stream = (*pending)->stream;
    const Status pushed = queue.Push(std::move(*pending));
    EXPECT_TRUE(pushed.ok()) << pushed.message();
    return stream;
  }

  // One step, and every invariant after it.
  void Step() {
    const Status status = core.Step();
    ASSERT_TRUE(status.ok()) << status.message();
    const Status check = core.scheduler().Check();
    ASSERT_TRUE(check.ok()) << check.message();
  }

  // Until nothing is left to do.
  void RunAll(int64_t max_steps = 100000) {
    for (int64_t i = 0; i < max_steps; ++i) {
      Step();
      if (testing::Test::HasFatalFailure()) return;
      if (core.idle() && queue.empty()) return;
    }
    FAIL() << "no end after " << max_steps << " steps";
  }

  Outcome RunOne(Request request) {
    auto stream = Submit(std::move(request));
    if (stream == nullptr) return {};
    RunAll();
    return Drain(*stream);
  }

  const EngineOptions options;
  const std::shared_ptr<const text::Tokenizer> tokenizer;
  ScriptedRunner runner;
  Intake intake;
  RequestQueue queue;
  Core core;
};

}  // namespace moxie::engine
