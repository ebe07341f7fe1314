#include "engine/core.h"

#include <algorithm>
#include <new>
#include <optional>
#include <random>
#include <utility>

#include "engine/logprobs.h"

namespace moxie::engine {
namespace {

void CountStep(int64_t tokens, EngineStats& stats) {
  const auto bucket =
      std::ranges::lower_bound(kStepTokenBuckets, tokens) - kStepTokenBuckets.begin();
  ++stats.steps;
  ++stats.step_tokens[static_cast<size_t>(bucket)];
  stats.step_tokens_sum += tokens;
}

int64_t* FinishCounter(FinishReason reason, EngineStats& stats) {
  switch (reason) {
    case FinishReason::kStop:
      return &stats.finished_stop;
    case FinishReason::kLength:
      return &stats.finished_length;
    case FinishReason::kAbort:
      return &stats.finished_abort;
    case FinishReason::kNone:
    case FinishReason::kError:
      break;
  }
  return &stats.finished_error;
}

void SetLogprobs(TokenStream::LogprobSlot slot, std::span<const float> logits, int32_t token) {
  const ChosenLogprob chosen = ComputeLogprobs(logits, token, slot.top);
  *slot.chosen = chosen.chosen;
  *slot.rank = chosen.rank;
}

Status Reserve(const Pending& pending) try {
  pending.stream->Reserve();
  return {};
} catch (const std::bad_alloc&) {
  return ResourceExhausted("no memory for an answer of ",
                           pending.max_total_tokens - pending.prompt_tokens(), " tokens");
}

// Clients must not be able to choose where the prefix cache's names fall.
std::optional<uint64_t> PrefixSeed(const EngineOptions& options) {
  if (!options.prefix_caching) return {};
  std::random_device system;
  return uint64_t{system()} << 32 | system();
}

}  // namespace

Core::Core(const EngineOptions& options, runtime::StepRunner* runner, RequestQueue* queue)
    : options_(options),
      runner_(runner),
      queue_(queue),
      scheduler_(runner->limits(), options.max_model_len, PrefixSeed(options)),
      sampler_(runner->limits().vocab_size) {}

Status Core::Step() {
  EndAbandoned();
  AdmitWaiting();
  const StepBatch& batch = scheduler_.Plan();
  if (batch.items.empty()) return {};
  FillInputs(batch, runner_->limits(), runner_->inputs());
  MOXIE_ASSIGN_OR_RETURN(const runtime::LogitsView logits, runner_->Run());
  CountStep(batch.tokens, counters_);
  for (const StepItem& item : batch.items) TakeResult(item, logits);
  return {};
}

void Core::EndAbandoned() {
  EndAllOf(queue_->TakeAbandoned(), FinishReason::kAbort, {});
  const auto running = scheduler_.running();
  for (size_t i = running.size(); i-- > 0;) {  // backwards: ending one moves those behind it up
    if (running[i]->abandoned()) End(*running[i], FinishReason::kAbort, {});
  }
}

void Core::AdmitWaiting() {
  auto fits = [this](const Pending& head) { return scheduler_.CanAdmit(head); };
  while (std::unique_ptr<Pending> head = queue_->PopIf(fits)) {
    if (const Status reserved = Reserve(*head); !reserved.ok()) {
      EndWaiting(*head, FinishReason::kError, reserved);
    } else {
      scheduler_.Admit(std::move(head));
    }
  }
}

// A prompt counts once it is done, in whole, as in vLLM: what was found in the cache is among it,
// and what a preemption runs again is not.
void Core::CountPrompt(const StepItem& item) {
  Sequence& sequence = *item.sequence;
  if (!item.last || !sequence.answer().empty()) return;
  counters_.prompt_tokens += static_cast<int64_t>(sequence.prompt().size());
  counters_.prompt_tokens_cached += sequence.stream().cached_tokens();
}

void Core::TakeResult(const StepItem& item, const runtime::LogitsView& logits) {
  Sequence& sequence = *item.sequence;
  const auto prompt = static_cast<int64_t>(sequence.prompt().size());
  CountPrompt(item);
  sequence.computed += item.count;
  if (item.all_rows) {
    if (Status bad = TakePromptLogprobs(item, logits); !bad.ok())
      return EndCorrupted(sequence, bad);
  }
  if (!item.last) return;
  if (sequence.max_total_tokens() == prompt) return End(sequence, FinishReason::kLength, {});
  TakeToken(sequence, logits.row(item.row + item.rows() - 1));
}

// The logits of token i say how likely token i + 1 was.
Status Core::TakePromptLogprobs(const StepItem& item, const runtime::LogitsView& logits) {
  Sequence& sequence = *item.sequence;
  const auto prompt = sequence.prompt();
  for (int64_t i = 0; i < item.count; ++i) {
    const int64_t next = item.first + i + 1;
    if (next >= static_cast<int64_t>(prompt.size())) break;
    const std::span<const float> row = logits.row(item.row + i);
    MOXIE_RETURN_IF_ERROR(CheckLogits(row));
    SetLogprobs(sequence.stream().prompt_logprob_slot(next), row,
                prompt[static_cast<size_t>(next)]);
  }
  return {};
}

void Core::TakeToken(Sequence& sequence, std::span<const float> logits) {
  const Result<int32_t> token = Sample(sequence, logits);
  if (token.code() == StatusCode::kInvalidArgument) {
    return End(sequence, FinishReason::kError, token.status());
  }
  if (!token.ok()) return EndCorrupted(sequence, token.status());
  TokenStream& stream = sequence.stream();
  const auto index = static_cast<int64_t>(sequence.answer().size());
  if (sequence.sampling().logprobs) SetLogprobs(stream.logprob_slot(index), logits, *token);
  if (index == 0) stream.times().first_token = Clock::now();
  sequence.Append(*token);
  ++counters_.generation_tokens;
  const FinishReason reason = sequence.output().Accept(*token);
  if (reason != FinishReason::kNone) return Close(sequence, reason);
  stream.Notify();
}

Result<int32_t> Core::Sample(const Sequence& sequence, std::span<const float> logits) {
  return sampler_.Sample(logits, {.params = sequence.sampling(),
                                  .prompt = sequence.prompt(),
                                  .answer = sequence.answer(),
                                  .eos_ids = options_.eos_token_ids,
                                  .seed = sequence.seed(),
                                  .choice = sequence.request().choice});
}

void Core::EndAll(FinishReason reason, const Status& error) {
  while (!scheduler_.running().empty()) End(*scheduler_.running().back(), reason, error);
  EndAllOf(queue_->TakeAll(), reason, error);
}

void Core::EndAllOf(const RequestQueue::List& list, FinishReason reason, const Status& error) {
  for (const std::unique_ptr<Pending>& pending : list) EndWaiting(*pending, reason, error);
}

void Core::EndWaiting(Pending& pending, FinishReason reason, const Status& error) {
  pending.output.Finish(reason, {}, error);
  ++*FinishCounter(reason, counters_);
  pending.stream->Notify();
}

void Core::EndCorrupted(Sequence& sequence, const Status& error) {
  ++counters_.corrupted_requests;
  scheduler_.ForgetNames(sequence);
  End(sequence, FinishReason::kError, error);
}

void Core::End(Sequence& sequence, FinishReason reason, const Status& error) {
  sequence.output().Finish(reason, {}, error);
  Close(sequence, reason);
}

void Core::Close(Sequence& sequence, FinishReason reason) {
  ++*FinishCounter(reason, counters_);
  // The reader may look at the engine's gauges as soon as it sees the end: free first.
  const std::shared_ptr<TokenStream> stream = sequence.shared_stream();
  scheduler_.Retire(sequence);
  stream->Notify();
}

EngineStats Core::Stats() const {
  EngineStats stats = counters_;
  const BlockPool& pool = scheduler_.pool();
  const Scheduler::Counters& counters = scheduler_.counters();
  stats.waiting = std::ranges::count_if(scheduler_.running(), &Sequence::waiting);
  stats.running = static_cast<int64_t>(scheduler_.running().size()) - stats.waiting;
  stats.preemptions = counters.preemptions;
  stats.prefix_queries = counters.prefix_queries;
  stats.prefix_hits = counters.prefix_hits;
  stats.blocks_total = pool.total();
  stats.blocks_used = pool.used();
  return stats;
}

}  // namespace moxie::engine
