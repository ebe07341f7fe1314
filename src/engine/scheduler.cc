#include "engine/scheduler.h"

#include <algorithm>
#include <utility>

namespace moxie::engine {

Status Scheduler::CheckLimits(const runtime::StepLimits& limits, int64_t max_model_len) {
  if (limits.max_tokens < limits.max_seqs) {
    return InvalidArgument("max_num_batched_tokens: ", limits.max_tokens,
                           " is less than max_num_seqs, ", limits.max_seqs,
                           ": a step must have a token for each sequence");
  }
  if (limits.max_rows < limits.max_seqs) {
    return InvalidArgument("a step gives ", limits.max_rows,
                           " rows of logits, fewer than max_num_seqs, ", limits.max_seqs);
  }
  if (limits.table_width * limits.block_tokens < max_model_len) {
    return InvalidArgument("block tables of ", limits.table_width, " blocks of ",
                           limits.block_tokens, " tokens are too short for max_model_len, ",
                           max_model_len);
  }
  return {};
}

Scheduler::Scheduler(const runtime::StepLimits& limits, int64_t max_model_len)
    : limits_(limits), pool_(limits.num_blocks) {
  const auto slots = static_cast<size_t>(limits.max_seqs);
  slots_.reserve(slots);
  free_.reserve(slots);
  running_.reserve(slots);
  batch_.items.reserve(slots);
  for (size_t i = 0; i < slots; ++i) slots_.emplace_back(max_model_len, limits.table_width);
  for (Sequence& slot : slots_) free_.push_back(&slot);
}

int64_t Scheduler::Bytes(const runtime::StepLimits& limits, int64_t max_model_len) {
  const int64_t lists = 2 * sizeof(Sequence*) + sizeof(StepItem);
  return BlockPool::Bytes(limits.num_blocks) +
         limits.max_seqs * (Sequence::Bytes(max_model_len, limits.table_width) + lists);
}

bool Scheduler::CanAdmit(int64_t max_total_tokens) const {
  return !free_.empty() && BlocksFor(max_total_tokens, limits_.block_tokens) <= pool_.available();
}

Sequence& Scheduler::Admit(std::unique_ptr<Pending> pending) {
  const int64_t blocks = BlocksFor(pending->max_total_tokens, limits_.block_tokens);
  pool_.Reserve(blocks);
  Sequence& sequence = *free_.back();
  free_.pop_back();
  sequence.Start(std::move(pending));
  sequence.promised = blocks;
  running_.push_back(&sequence);
  return sequence;
}

const StepBatch& Scheduler::Plan() {
  batch_.Clear();
  for (Sequence* sequence : running_) {
    if (sequence->decoding()) Add(*sequence, 1);
  }
  // Sequences that this step has not reached yet: each may need one row of logits.
  auto behind = static_cast<int64_t>(running_.size() - batch_.items.size());
  for (Sequence* sequence : running_) {
    const int64_t room = limits_.max_tokens - batch_.tokens;
    if (room == 0) break;
    if (sequence->decoding()) continue;
    --behind;
    int64_t count = std::min(sequence->remaining(), room);
    if (sequence->sampling().prompt_logprobs) {
      count = std::min(count, limits_.max_rows - batch_.rows - behind);
    }
    Add(*sequence, count);
  }
  return batch_;
}

void Scheduler::Add(Sequence& sequence, int64_t count) {
  TakeBlocks(sequence, sequence.computed + count);
  StepItem item;
  item.sequence = &sequence;
  item.first = sequence.computed;
  item.count = count;
  item.all_rows = sequence.sampling().prompt_logprobs && !sequence.decoding();
  item.last = count == sequence.remaining();
  batch_.Add(item);
}

void Scheduler::TakeBlocks(Sequence& sequence, int64_t tokens) {
  const auto needed = static_cast<size_t>(BlocksFor(tokens, limits_.block_tokens));
  while (sequence.blocks.size() < needed) {
    sequence.blocks.push_back(pool_.Take());
    --sequence.promised;
  }
}

void Scheduler::Retire(Sequence& sequence) {
  // Backwards, so that the pool's stack hands them out in order again.
  for (auto block = sequence.blocks.rbegin(); block != sequence.blocks.rend(); ++block) {
    pool_.Release(*block);
  }
  sequence.blocks.clear();
  pool_.Unreserve(sequence.promised);
  sequence.promised = 0;
  sequence.End();
  std::erase(running_, &sequence);
  free_.push_back(&sequence);
}

Status Scheduler::Check() const {
  MOXIE_RETURN_IF_ERROR(pool_.Check());
  if (free_.size() + running_.size() != slots_.size()) {
    return Internal(free_.size(), " free and ", running_.size(), " running of ", slots_.size(),
                    " slots");
  }
  std::vector<uint8_t> holders(static_cast<size_t>(pool_.total()), 0);
  int64_t held = 0;
  int64_t promised = 0;
  for (const Sequence* sequence : running_) {
    held += static_cast<int64_t>(sequence->blocks.size());
    promised += sequence->promised;
    for (int32_t block : sequence->blocks) {
      if (holders[static_cast<size_t>(block)]++ != 0)
        return Internal("block ", block, " is in two tables");
    }
    const auto expected = BlocksFor(sequence->computed, limits_.block_tokens);
    if (static_cast<int64_t>(sequence->blocks.size()) != expected) {
      return Internal("a sequence of ", sequence->computed, " computed tokens has ",
                      sequence->blocks.size(), " blocks, not ", expected);
    }
  }
  if (held != pool_.used())
    return Internal("tables hold ", held, " blocks, the pool lent ", pool_.used());
  if (promised != pool_.promised()) {
    return Internal("sequences await ", promised, " blocks, the pool promised ", pool_.promised());
  }
  return {};
}

}  // namespace moxie::engine
