#include "engine/sequence.h"

#include <utility>

namespace moxie::engine {

Sequence::Sequence(int64_t max_model_len, int64_t table_width) {
  tokens_.reserve(static_cast<size_t>(max_model_len));
  blocks.reserve(static_cast<size_t>(table_width));
}

int64_t Sequence::Bytes(int64_t max_model_len, int64_t table_width) {
  return static_cast<int64_t>(sizeof(Sequence)) +
         (max_model_len + table_width) * static_cast<int64_t>(sizeof(int32_t));
}

void Sequence::Begin(std::unique_ptr<Pending> pending) {
  pending_ = std::move(pending);
  const std::vector<int32_t>& prompt = pending_->request.prompt_ids;
  tokens_.assign(prompt.begin(), prompt.end());
  prompt_tokens_ = prompt.size();
  computed = 0;
  named_blocks = 0;
  prefix = pending_->scope;
}

void Sequence::End() {
  pending_.reset();
  tokens_.clear();
  prompt_tokens_ = 0;
}

}  // namespace moxie::engine
