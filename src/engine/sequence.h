// Sequence: the engine's state of one running request, in one of max_num_seqs slots made at start.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/byte_claim.h"
#include "engine/output_processor.h"
#include "engine/prefix_cache.h"
#include "engine/request.h"
#include "engine/token_stream.h"

namespace moxie::engine {

// A request with all that Submit prepared for it, on its way to a slot.
struct Pending {
  Request request;
  std::shared_ptr<TokenStream> stream;
  OutputProcessor output;
  int64_t max_total_tokens = 0;  // prompt and answer at most
  uint64_t seed = 0;
  PrefixId scope{};  // whose keys and values it may share
  ByteClaim claim{};

  int64_t prompt_tokens() const { return static_cast<int64_t>(request.prompt_ids.size()); }
  // The reader asked to stop, or nobody holds the stream any more.
  bool abandoned() const { return stream->aborted() || stream.use_count() == 1; }
};

class Sequence {
 public:
  // All the memory that a sequence of up to `max_model_len` tokens in `table_width` blocks needs.
  Sequence(int64_t max_model_len, int64_t table_width);
  static int64_t Bytes(int64_t max_model_len, int64_t table_width);

  // Takes over a request. REQUIRES: !active().
  void Begin(std::unique_ptr<Pending> pending);
  // Lets go of the request. REQUIRES: blocks is empty.
  void End();
  bool active() const { return pending_ != nullptr; }

  const SamplingParams& sampling() const { return pending_->request.sampling; }
  const Request& request() const { return pending_->request; }
  TokenStream& stream() { return *pending_->stream; }
  std::shared_ptr<TokenStream> shared_stream() const { return pending_->stream; }
  OutputProcessor& output() { return pending_->output; }
  int64_t max_total_tokens() const { return pending_->max_total_tokens; }
  uint64_t seed() const { return pending_->seed; }
  bool abandoned() const { return pending_->abandoned(); }

  std::span<const int32_t> tokens() const { return tokens_; }  // prompt, then answer
  std::span<const int32_t> prompt() const { return tokens().first(prompt_tokens_); }
  std::span<const int32_t> answer() const { return tokens().subspan(prompt_tokens_); }
  void Append(int32_t token) { tokens_.push_back(token); }

  // Tokens whose keys and values are in the cache; the next step runs those after.
  int64_t computed = 0;
  // Blocks of the cache for them and for the rest of the tokens, in order; capacity table_width.
  std::vector<int32_t> blocks;
  // Blocks that the prefix cache was told of, and the prefix that ends with them.
  int64_t named_blocks = 0;
  PrefixId prefix{};

  // It has no blocks: not started yet, or preempted.
  bool waiting() const { return blocks.empty(); }
  const PrefixId& scope() const { return pending_->scope; }
  // Logits of each prompt token are wanted. After a preemption, those that the reader may already
  // look at are not written again.
  bool wants_prompt_rows() const {
    return sampling().prompt_logprobs && tokens_.size() == prompt_tokens_;
  }

  int64_t remaining() const { return static_cast<int64_t>(tokens_.size()) - computed; }
  // The prompt is done: one token a step from here on.
  bool decoding() const { return remaining() == 1 && tokens_.size() > prompt_tokens_; }

 private:
  std::unique_ptr<Pending> pending_;
  std::vector<int32_t> tokens_;  // capacity max_model_len
  size_t prompt_tokens_ = 0;
};

}  // namespace moxie::engine
