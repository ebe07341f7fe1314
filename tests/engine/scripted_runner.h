// ScriptedRunner: a StepRunner whose logits are a pure function of a sequence's tokens, for tests
// of engine and server.
//
// It plays the part of a model with a paged KV cache: Run() stores each token's id in the slot it
// was told, and rebuilds a sequence's history by reading slots through its block table. So a wrong
// table, slot, position or order of chunks shows as a wrong token, and a slot that was never
// written is an error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/step.h"

namespace moxie::engine {

class ScriptedRunner : public runtime::StepRunner {
 public:
  // Fills `logits` [V] for the token after `history` (prompt and answer so far). `logits` comes
  // zeroed.
  using Script = std::function<void(std::span<const int32_t> history, std::span<float> logits)>;

  ScriptedRunner(const runtime::StepLimits& limits, Script script)
      : limits_(limits),
        script_(std::move(script)),
        ids_(Size(limits.max_tokens)),
        positions_(Size(limits.max_tokens)),
        slots_(Size(limits.max_tokens)),
        query_start_(Size(limits.max_seqs) + 1),
        context_(Size(limits.max_seqs)),
        tables_(Size(limits.max_seqs * limits.table_width)),
        rows_(Size(limits.max_rows)),
        cache_(Size(limits.num_blocks * limits.block_tokens), kNeverWritten),
        logits_(Size(limits.max_rows * limits.vocab_size)) {
    history_.reserve(Size(limits.table_width * limits.block_tokens));
    inputs_.ids = ids_;
    inputs_.positions = positions_;
    inputs_.slots = slots_;
    inputs_.query_start = query_start_;
    inputs_.context = context_;
    inputs_.block_tables = tables_;
    inputs_.logit_rows = rows_;
  }

  const runtime::StepLimits& limits() const override { return limits_; }
  runtime::StepInputs& inputs() override { return inputs_; }

  Result<runtime::LogitsView> Run() override {
    ++steps_;
    if (before_step_) before_step_(steps_);
    if (steps_ == failing_step_) return Internal("scripted failure of step ", steps_);
    MOXIE_RETURN_IF_ERROR(CheckInputs());
    MOXIE_RETURN_IF_ERROR(Write());
    int64_t row = 0;
    for (int64_t s = 0; s < inputs_.seqs; ++s) {
      for (; row < inputs_.rows && rows_[Size(row)] < query_start_[Size(s + 1)]; ++row) {
        MOXIE_RETURN_IF_ERROR(Answer(s, row));
      }
    }
    return runtime::LogitsView{logits_.data(), inputs_.rows, limits_.vocab_size};
  }

  // Run() number `step`, from 1, gives an error.
  void FailAt(int64_t step) { failing_step_ = step; }
  // Called at the start of each Run(), on the engine's thread: to wait, or to look.
  void BeforeStep(std::function<void(int64_t step)> hook) { before_step_ = std::move(hook); }
  int64_t steps() const { return steps_; }

 private:
  static constexpr int32_t kNeverWritten = -1;
  static size_t Size(int64_t n) { return static_cast<size_t>(n); }

  int64_t Slot(int64_t s, int64_t position) const {
    const int64_t block = tables_[Size(s * limits_.table_width + position / limits_.block_tokens)];
    return block * limits_.block_tokens + position % limits_.block_tokens;
  }

  // All that StepInputs promises; a scripted model does not trust the engine.
  Status CheckInputs() const {
    const runtime::StepInputs& in = inputs_;
    if (in.tokens < 1 || in.tokens > limits_.max_tokens)
      return Internal(in.tokens, " tokens in a step");
    if (in.seqs < 1 || in.seqs > limits_.max_seqs) return Internal(in.seqs, " sequences in a step");
    if (in.rows < 0 || in.rows > limits_.max_rows) return Internal(in.rows, " rows in a step");
    if (query_start_[0] != 0 || query_start_[Size(in.seqs)] != in.tokens) {
      return Internal("query_start does not span the step's tokens");
    }
    for (int64_t r = 0; r < in.rows; ++r) {
      const int64_t before = r == 0 ? -1 : rows_[Size(r - 1)];
      if (rows_[Size(r)] <= before || rows_[Size(r)] >= in.tokens)
        return Internal("logit_rows not ascending");
    }
    for (int64_t s = 0; s < in.seqs; ++s) MOXIE_RETURN_IF_ERROR(CheckSequence(s));
    return {};
  }

  Status CheckSequence(int64_t s) const {
    const int64_t begin = query_start_[Size(s)];
    const int64_t end = query_start_[Size(s + 1)];
    if (begin >= end) return Internal("sequence ", s, " has no tokens");
    if (context_[Size(s)] != positions_[Size(end - 1)] + 1)
      return Internal("sequence ", s, ": context");
    for (int64_t t = begin; t < end; ++t) {
      const int64_t position = positions_[Size(t)];
      if (position != positions_[Size(begin)] + (t - begin))
        return Internal("token ", t, ": position ", position);
      if (ids_[Size(t)] < 0 || ids_[Size(t)] >= limits_.vocab_size)
        return Internal("token ", t, ": id");
      if (slots_[Size(t)] != Slot(s, position))
        return Internal("token ", t, ": slot and table differ");
      if (slots_[Size(t)] < 0 || slots_[Size(t)] >= static_cast<int64_t>(cache_.size())) {
        return Internal("token ", t, ": slot ", slots_[Size(t)]);
      }
    }
    return {};
  }

  Status Write() {
    for (int64_t t = 0; t < inputs_.tokens; ++t) cache_[Size(slots_[Size(t)])] = ids_[Size(t)];
    for (int64_t t = 0; t < inputs_.tokens; ++t) {
      if (cache_[Size(slots_[Size(t)])] != ids_[Size(t)]) return Internal("two tokens in one slot");
    }
    return {};
  }

  Status Answer(int64_t s, int64_t row) {
    const int64_t last = positions_[Size(rows_[Size(row)])];
    history_.clear();
    for (int64_t position = 0; position <= last; ++position) {
      const int32_t id = cache_[Size(Slot(s, position))];
      if (id == kNeverWritten)
        return Internal("sequence ", s, " reads a slot never written, position ", position);
      history_.push_back(id);
    }
    const std::span<float> logits(logits_.data() + row * limits_.vocab_size,
                                  Size(limits_.vocab_size));
    std::ranges::fill(logits, 0.0f);
    script_(history_, logits);
    return {};
  }

  const runtime::StepLimits limits_;
  const Script script_;
  std::vector<int32_t> ids_, positions_;
  std::vector<int64_t> slots_;
  std::vector<int32_t> query_start_, context_, tables_, rows_;
  std::vector<int32_t> cache_;  // [num_blocks * block_tokens] id of the token in each slot
  std::vector<float> logits_;   // [R, V]
  std::vector<int32_t> history_;
  runtime::StepInputs inputs_;
  int64_t steps_ = 0;
  int64_t failing_step_ = 0;
  std::function<void(int64_t)> before_step_;
};

// Logits that look random and depend on every token of the history and its order.
inline ScriptedRunner::Script HashedScript() {
  return [](std::span<const int32_t> history, std::span<float> logits) {
    uint64_t state = 0x9E3779B97F4A7C15;
    for (int32_t id : history) {
      state = (state ^ static_cast<uint64_t>(id + 1)) * 0xBF58476D1CE4E5B9;
      state ^= state >> 29;
    }
    for (float& logit : logits) {
      state = state * 6364136223846793005 + 1442695040888963407;
      logit = static_cast<float>(state >> 40) * 0x1p-21f - 4.0f;  // [-4, 4)
    }
  };
}

// After a prompt of `prompt_tokens`, the given answer, token by token, then its last token for
// ever.
inline ScriptedRunner::Script AnswerScript(int64_t prompt_tokens, std::vector<int32_t> answer) {
  return [=](std::span<const int32_t> history, std::span<float> logits) {
    const int64_t done = std::max<int64_t>(0, static_cast<int64_t>(history.size()) - prompt_tokens);
    const auto next = std::min<size_t>(static_cast<size_t>(done), answer.size() - 1);
    logits[static_cast<size_t>(answer[next])] = 10.0f;
  };
}

}  // namespace moxie::engine
