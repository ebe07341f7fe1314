#include "engine/step_batch.h"

#include <algorithm>

namespace moxie::engine {
namespace {

// ids, positions and slots of an item's tokens, from row `row` on.
void FillTokens(const StepItem& item, int64_t row, int64_t block_tokens, runtime::StepInputs& in) {
  const Sequence& sequence = *item.sequence;
  for (int64_t i = 0; i < item.count; ++i) {
    const int64_t position = item.first + i;
    const int64_t block = sequence.blocks[static_cast<size_t>(position / block_tokens)];
    const auto at = static_cast<size_t>(row + i);
    in.ids[at] = sequence.tokens()[static_cast<size_t>(position)];
    in.positions[at] = static_cast<int32_t>(position);
    in.slots[at] = block * block_tokens + position % block_tokens;
  }
}

void FillLogitRows(const StepItem& item, int64_t row, runtime::StepInputs& in) {
  const int64_t skipped = item.count - item.rows();
  for (int64_t i = 0; i < item.rows(); ++i) {
    in.logit_rows[static_cast<size_t>(item.row + i)] = static_cast<int32_t>(row + skipped + i);
  }
}

}  // namespace

void StepBatch::Clear() {
  items.clear();
  tokens = 0;
  rows = 0;
}

void StepBatch::Add(StepItem item) {
  item.row = rows;
  items.push_back(item);
  tokens += item.count;
  rows += item.rows();
}

void FillInputs(const StepBatch& batch, const runtime::StepLimits& limits,
                runtime::StepInputs& inputs) {
  int64_t row = 0;
  for (size_t s = 0; s < batch.items.size(); ++s) {
    const StepItem& item = batch.items[s];
    FillTokens(item, row, limits.block_tokens, inputs);
    FillLogitRows(item, row, inputs);
    inputs.query_start[s] = static_cast<int32_t>(row);
    inputs.context[s] = static_cast<int32_t>(item.first + item.count);
    std::ranges::copy(item.sequence->blocks,
                      inputs.block_tables.begin() + static_cast<int64_t>(s) * limits.table_width);
    row += item.count;
  }
  inputs.query_start[batch.items.size()] = static_cast<int32_t>(row);
  inputs.tokens = batch.tokens;
  inputs.seqs = static_cast<int64_t>(batch.items.size());
  inputs.rows = batch.rows;
}

}  // namespace moxie::engine
