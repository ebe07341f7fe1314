#include "ir/graph.h"

namespace moxie::ir {

ValueId Graph::FindValue(std::string_view name) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].name == name) return static_cast<ValueId>(i);
  }
  return kNoId;
}

std::vector<ValueId> Graph::DonatedInputs() const {
  std::vector<ValueId> out;
  for (ValueId v : inputs) {
    if (values[v].donated) out.push_back(v);
  }
  return out;
}

int64_t BytesPerBlock(const StateSpec& state) {
  tensor::Extents one_block;
  return state.type.Bytes(one_block) * state.count;
}

}  // namespace moxie::ir
