// Declarations of a graph's leaves: the weights a model stores or derives, and the state it keeps.
// Rule R3: these, the inputs and small literals are all that a graph may read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/shape.h"

namespace moxie::ir {

// Where a weight, or a part of one, is found in a checkpoint. In `name`, {i} stands for the
// iteration of a stacked weight (the layer) and {e} for the expert.
struct CheckpointName {
  std::string name;  // "model.layers.{i}.block_sparse_moe.experts.{e}.w1.weight"
  // A weight may be a part of a fused tensor: rows [part, part + 1) of `parts` equal ones along the
  // stored tensor's dimension before the last (gate and up fused as [E, 2I, H] are parts 0 and 1 of
  // 2).
  int64_t part = 0;
  int64_t parts = 1;
};

// A weight: `count` tensors of one type, one for each iteration of the repeat that uses it.
struct WeightSpec {
  std::string name;         // unique in the graph: "layers.q_proj"
  tensor::TensorType type;  // of one iteration; dtype is the dtype the kernels compute on
  int64_t count = 1;
  // Alternatives, in order of preference: the first whose tensor exists in the checkpoint is taken.
  // Empty for a derived weight.
  std::vector<CheckpointName> checkpoint;
  // A pure function of the model's config ("rope_inv_freq"), computed when loading; empty when
  // stored.
  std::string derived;
  // Dimension along which tensor parallelism cuts it; -1 = every rank holds it whole.
  int shard_dim = -1;

  bool operator==(const WeightSpec& o) const {
    return name == o.name && type == o.type && count == o.count && derived == o.derived;
  }
};

enum class StateKind : uint8_t {
  kPaged,   // blocks of tokens, from one pool: a KV cache
  kWindow,  // the last n tokens of each sequence
  kSlot,    // fixed bytes a sequence: a recurrent layer
};

// A state of the model: one pool, sized by the plan. `count` as in WeightSpec.
struct StateSpec {
  std::string name;  // "kv"
  StateKind kind = StateKind::kPaged;
  tensor::TensorType type;  // of one iteration: [N, 2, kv_heads, B, D]
  int64_t count = 1;
  int64_t block_tokens = 0;  // kPaged: B, tokens in a block

  bool operator==(const StateSpec&) const = default;
};

// Bytes of one block (kPaged) over all iterations: what the block pool divides its budget by.
int64_t BytesPerBlock(const StateSpec& state);

}  // namespace moxie::ir
