#include "engine/engine.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"

namespace moxie::engine {
namespace {

memory::Footprint Term(const char* name, int64_t bytes, memory::Kind kind, std::string formula) {
  return {
      .owner = "engine", .name = name, .bytes = bytes, .kind = kind, .formula = std::move(formula)};
}

}  // namespace

std::vector<memory::Footprint> Footprints(const EngineOptions& options,
                                          const runtime::StepLimits& limits,
                                          int64_t max_token_text_bytes) {
  const int64_t len = options.max_model_len;
  const int64_t sequences = Scheduler::SlotBytes(limits, len);
  const int64_t cache =
      options.prefix_caching ? PrefixCache::Bytes(limits.num_blocks, limits.block_tokens) : 0;
  const int64_t position =
      TokenStream::Bytes(0, 1, max_token_text_bytes, options.max_logprobs, {}) -
      TokenStream::Bytes(0, 0, 0, {}, {});
  const auto id = static_cast<int64_t>(sizeof(int32_t));
  using memory::Kind;
  return {
      Term("sequences", sequences, Kind::kReserved,
           StrCat(limits.max_seqs, " slots x (", len, " ids + ", limits.table_width, " blocks) x ",
                  id, " B + ", sequences / limits.max_seqs - (len + limits.table_width) * id,
                  " B a slot")),
      Term("block_pool", BlockPool::Bytes(limits.num_blocks), Kind::kReserved,
           StrCat(limits.num_blocks, " blocks x ", BlockPool::Bytes(1) - BlockPool::Bytes(0),
                  " B, and a ring's end")),
      Term("prefix_cache", cache, Kind::kReserved,
           options.prefix_caching ? StrCat(limits.num_blocks, " blocks x (a name, ",
                                           limits.block_tokens, " ids x ", id, " B, a table)")
                                  : std::string("off")),
      Term("sampler", Sampler::Bytes(limits.vocab_size), Kind::kReserved,
           StrCat(limits.vocab_size, " tokens x ", Sampler::Bytes(1), " B")),
      Term("answers", limits.max_seqs * len * position, Kind::kBounded,
           StrCat(limits.max_seqs, " running x ", len, " tokens x ", position, " B: id, ",
                  max_token_text_bytes, " B of text, ", options.max_logprobs, " + 1 logprobs")),
      Term("requests", options.max_request_heap, Kind::kBounded,
           "--max-request-heap: prompts and fields of requests that wait or run"),
  };
}

}  // namespace moxie::engine
