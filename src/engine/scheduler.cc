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

Scheduler::Scheduler(const runtime::StepLimits& limits, int64_t max_model_len,
                     std::optional<uint64_t> prefix_seed)
    : limits_(limits),
      pool_(limits.num_blocks),
      cache_(limits.num_blocks, limits.block_tokens, prefix_seed) {
  const auto slots = static_cast<size_t>(limits.max_seqs);
  slots_.reserve(slots);
  free_.reserve(slots);
  running_.reserve(slots);
  batch_.items.reserve(slots);
  for (size_t i = 0; i < slots; ++i) slots_.emplace_back(max_model_len, limits.table_width);
  for (Sequence& slot : slots_) free_.push_back(&slot);
}

int64_t Scheduler::SlotBytes(const runtime::StepLimits& limits, int64_t max_model_len) {
  const int64_t lists = 2 * sizeof(Sequence*) + sizeof(StepItem);
  return limits.max_seqs * (Sequence::Bytes(max_model_len, limits.table_width) + lists);
}

template <typename F>
Scheduler::Walk Scheduler::WalkCache(const PrefixId& scope, std::span<const int32_t> tokens,
                                     F&& visit) const {
  Walk walk{.prefix = scope};
  const auto size = static_cast<size_t>(limits_.block_tokens);
  while (tokens.size() > size) {
    const auto hit = cache_.Find(walk.prefix, tokens.first(size));
    if (!hit) break;
    ++walk.blocks;
    walk.free_blocks += pool_.holders(hit->block) == 0;
    walk.prefix = hit->prefix;
    visit(hit->block);
    tokens = tokens.subspan(size);
  }
  return walk;
}

int64_t Scheduler::Needs(const PrefixId& scope, std::span<const int32_t> tokens,
                         bool cached) const {
  const int64_t all = BlocksFor(static_cast<int64_t>(tokens.size()), limits_.block_tokens);
  if (!cached) return all;
  const Walk walk = WalkCache(scope, tokens, [](int32_t) {});
  return all - walk.blocks + walk.free_blocks;
}

bool Scheduler::CanAdmit(const Pending& pending) const {
  if (free_.empty()) return false;
  int64_t needs =
      Needs(pending.scope, pending.request.prompt_ids, !pending.request.sampling.prompt_logprobs);
  for (const Sequence* sequence : running_) {
    if (!sequence->waiting()) continue;
    needs += BlocksFor(static_cast<int64_t>(sequence->tokens().size()), limits_.block_tokens);
  }
  return needs <= pool_.free();
}

void Scheduler::Admit(std::unique_ptr<Pending> pending) {
  Sequence& sequence = *free_.back();
  free_.pop_back();
  sequence.Begin(std::move(pending));
  const auto behind =
      std::ranges::upper_bound(running_, sequence.request().priority, {},
                               [](const Sequence* s) { return s->request().priority; });
  running_.insert(behind, &sequence);
}

const StepBatch& Scheduler::Plan() {
  batch_.Clear();
  behind_ = static_cast<int64_t>(running_.size());
  decoding_behind_ = std::ranges::count_if(
      running_, [](const Sequence* s) { return !s->waiting() && s->decoding(); });
  bool may_start = true;
  for (Sequence* sequence : running_) {
    --behind_;
    if (sequence->waiting()) {
      may_start =
          may_start && batch_.tokens + decoding_behind_ < limits_.max_tokens && TryStart(*sequence);
      if (!may_start) continue;
    } else if (sequence->decoding()) {
      --decoding_behind_;
    }
    if (const int64_t count = TokensToRun(*sequence); count > 0) Add(*sequence, count);
  }
  return batch_;
}

bool Scheduler::TryStart(Sequence& sequence) {
  const bool cached = !sequence.wants_prompt_rows();
  if (Needs(sequence.scope(), sequence.tokens(), cached) > pool_.free()) return false;
  sequence.prefix = sequence.scope();
  if (cached) {
    const Walk walk = WalkCache(sequence.scope(), sequence.tokens(), [&](int32_t block) {
      pool_.Share(block);
      sequence.blocks.push_back(block);
    });
    sequence.prefix = walk.prefix;
  }
  sequence.named_blocks = static_cast<int64_t>(sequence.blocks.size());
  sequence.computed = sequence.named_blocks * limits_.block_tokens;
  if (sequence.stream().times().scheduled == Clock::time_point{}) {
    sequence.stream().times().scheduled = Clock::now();
    if (cached && cache_.enabled()) {
      counters_.prefix_queries += static_cast<int64_t>(sequence.tokens().size());
      counters_.prefix_hits += sequence.computed;
    }
    sequence.stream().SetCachedTokens(sequence.computed);
  }
  TakeBlocks(sequence);
  return true;
}

// Tokens for the sequence in this step: none when the room is used up, or when it had to give way.
int64_t Scheduler::TokensToRun(const Sequence& sequence) const {
  const int64_t room = limits_.max_tokens - batch_.tokens - decoding_behind_;
  int64_t count = std::min(sequence.remaining(), room);
  if (sequence.wants_prompt_rows()) {
    count = std::min(count, limits_.max_rows - batch_.rows - behind_);
  }
  return count;
}

void Scheduler::Add(Sequence& sequence, int64_t count) {
  if (!MakeRoom(sequence, BlocksMissing(sequence))) return;
  TakeBlocks(sequence);
  NameBlocks(sequence, sequence.computed + count);
  StepItem item;
  item.sequence = &sequence;
  item.first = sequence.computed;
  item.count = count;
  item.all_rows = sequence.wants_prompt_rows();
  item.last = count == sequence.remaining();
  batch_.Add(item);
}

bool Scheduler::MakeRoom(const Sequence& sequence, int64_t count) {
  while (pool_.free() < count) {
    Sequence* victim = *std::ranges::find_if(running_.rbegin(), running_.rend(),
                                             [](const Sequence* s) { return !s->waiting(); });
    if (victim != &sequence && victim->decoding()) --decoding_behind_;
    Preempt(*victim);
    if (victim == &sequence) return false;
  }
  return true;
}

void Scheduler::Preempt(Sequence& sequence) {
  ++counters_.preemptions;
  ReleaseBlocks(sequence);
}

int64_t Scheduler::BlocksMissing(const Sequence& sequence) const {
  return BlocksFor(static_cast<int64_t>(sequence.tokens().size()), limits_.block_tokens) -
         static_cast<int64_t>(sequence.blocks.size());
}

void Scheduler::TakeBlocks(Sequence& sequence) {
  for (int64_t missing = BlocksMissing(sequence); missing > 0; --missing) {
    const int32_t block = pool_.Take();
    cache_.Forget(block);
    sequence.blocks.push_back(block);
  }
}

void Scheduler::NameBlocks(Sequence& sequence, int64_t computed) {
  if (!cache_.enabled()) return;
  const int64_t size = limits_.block_tokens;
  for (int64_t& i = sequence.named_blocks; (i + 1) * size <= computed; ++i) {
    sequence.prefix = cache_.Name(
        sequence.blocks[static_cast<size_t>(i)], sequence.prefix,
        sequence.tokens().subspan(static_cast<size_t>(i * size), static_cast<size_t>(size)));
  }
}

void Scheduler::ReleaseBlocks(Sequence& sequence) {
  // Backwards: of a prefix the end is taken first, and what is left can still be found.
  for (auto block = sequence.blocks.rbegin(); block != sequence.blocks.rend(); ++block) {
    pool_.Release(*block, cache_.Knows(*block));
  }
  sequence.blocks.clear();
  sequence.computed = 0;
  sequence.named_blocks = 0;
}

void Scheduler::Retire(Sequence& sequence) {
  ReleaseBlocks(sequence);
  sequence.End();
  std::erase(running_, &sequence);
  free_.push_back(&sequence);
}

void Scheduler::ForgetNames(const Sequence& sequence) {
  for (int32_t block : sequence.blocks) cache_.Forget(block);
}

Status Scheduler::Check() const {
  MOXIE_RETURN_IF_ERROR(pool_.Check());
  MOXIE_RETURN_IF_ERROR(cache_.Check());
  if (free_.size() + running_.size() != slots_.size()) {
    return Internal(free_.size(), " free and ", running_.size(), " running of ", slots_.size(),
                    " slots");
  }
  std::vector<int32_t> holders(static_cast<size_t>(pool_.total()), 0);
  for (const Sequence* sequence : running_) {
    for (int32_t block : sequence->blocks) ++holders[static_cast<size_t>(block)];
    const auto size = static_cast<int64_t>(sequence->blocks.size());
    const int64_t computed = sequence->computed;
    if (sequence->waiting() ? computed != 0 : size < BlocksFor(computed, limits_.block_tokens)) {
      return Internal("a sequence of ", computed, " computed tokens has ", size, " blocks");
    }
    if (size > BlocksFor(static_cast<int64_t>(sequence->tokens().size()), limits_.block_tokens)) {
      return Internal("a sequence of ", sequence->tokens().size(), " tokens has ", size, " blocks");
    }
  }
  for (int32_t block = 0; block < pool_.total(); ++block) {
    const int32_t counted = holders[static_cast<size_t>(block)];
    if (counted != pool_.holders(block)) {
      return Internal("block ", block, " is in ", counted, " tables and has ", pool_.holders(block),
                      " holders");
    }
  }
  return CheckSharing();
}

// What a step still writes belongs to one sequence.
Status Scheduler::CheckSharing() const {
  for (const Sequence* sequence : running_) {
    const auto full = static_cast<size_t>(sequence->computed / limits_.block_tokens);
    for (size_t i = full; i < sequence->blocks.size(); ++i) {
      if (pool_.holders(sequence->blocks[i]) != 1)
        return Internal("block ", sequence->blocks[i], " is shared and not full yet");
    }
  }
  return {};
}

}  // namespace moxie::engine
