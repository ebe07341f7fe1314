#include "runtime/step_tensors.h"

namespace moxie::runtime {
namespace {

// Calls f(span member, element count) for each tensor in the order of the graph's inputs.
template <typename F>
void ForEach(const StepLimits& l, StepInputs& in, F f) {
  f(in.ids, l.max_tokens);
  f(in.positions, l.max_tokens);
  f(in.slots, l.max_tokens);
  f(in.block_tables, l.max_seqs * l.table_width);
  f(in.query_start, l.max_seqs + 1);
  f(in.context, l.max_seqs);
  f(in.logit_rows, l.max_rows);
}

int64_t Align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

int64_t StepTensorBytes(const StepLimits& limits) {
  StepInputs unused;
  int64_t bytes = 0;
  ForEach(limits, unused, [&](auto& span, int64_t n) {
    bytes += Align(n * static_cast<int64_t>(sizeof(span[0])));
  });
  return bytes;
}

StepInputs CutStepTensors(const StepLimits& limits, const memory::Arena& arena) {
  StepInputs in;
  int64_t at = 0;
  ForEach(limits, in, [&]<typename T>(std::span<T>& span, int64_t n) {
    const int64_t bytes = n * static_cast<int64_t>(sizeof(T));
    span = {reinterpret_cast<T*>(arena.Span(at, bytes).data()), static_cast<size_t>(n)};
    at += Align(bytes);
  });
  return in;
}

std::vector<std::byte*> InputAddresses(const StepInputs& inputs) {
  StepInputs in = inputs;
  std::vector<std::byte*> out;
  ForEach({}, in,
          [&](auto& span, int64_t) { out.push_back(reinterpret_cast<std::byte*>(span.data())); });
  return out;
}

}  // namespace moxie::runtime
