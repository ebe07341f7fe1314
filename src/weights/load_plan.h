// LoadPlan: every copy that loading will make, as data. `moxie plan` takes its bytes from it and
// the loader its work, so the two cannot disagree.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/weight_layout.h"
#include "base/status.h"
#include "base/threads.h"
#include "ir/graph.h"
#include "memory/arena.h"
#include "memory/plan.h"
#include "weights/checkpoint.h"

namespace moxie::weights {

// Where one WeightSpec lives in the weight arena: `count` tensors, `stride` bytes apart.
struct WeightPlacement {
  std::string name;  // the spec's
  backend::WeightLayout layout;
  std::vector<int64_t> sizes;  // of one iteration
  int64_t count = 1;
  int64_t offset = 0;  // in the weight arena, 64-byte aligned
  int64_t bytes = 0;   // of one iteration, without padding between
  int64_t stride = 0;
};

// Places the weights one after another; `layouts` is by weight index of the graph.
std::vector<WeightPlacement> PlaceWeights(const ir::Graph& graph,
                                          std::span<const backend::WeightLayout> layouts);
// One reserved term a weight; their sum is the arena's size (`WeightArenaBytes`).
std::vector<memory::Footprint> WeightFootprints(std::span<const WeightPlacement> placements);
int64_t WeightArenaBytes(std::span<const WeightPlacement> placements);

// One copy: a stored matrix (or a part of one) into one matrix of a placed weight.
struct LoadStep {
  size_t tensor = 0;          // index into Checkpoint::tensors()
  int64_t source_offset = 0;  // bytes from the tensor's start
  tensor::DType source_dtype = tensor::DType::kF32;
  size_t placement = 0;     // index into the placements
  int64_t destination = 0;  // byte offset in the weight arena
  int64_t rows = 0;         // N; 1 for a vector
  int64_t cols = 0;         // K
};

struct LoadPlan {
  std::vector<LoadStep> steps;  // in the order of the files' bytes
  std::vector<size_t> derived;  // placements that are computed, not copied
  std::vector<size_t> ignored;  // tensors of the checkpoint that are known and not read
};

// Matches the graph's weights with the checkpoint's tensors. Every byte of the checkpoint is
// consumed exactly once, every stored weight is filled exactly once, shapes fit and dtypes are
// BF16, F16 or F32: else an error naming (up to ten of) the tensors left over, missing, or wrong,
// with the shape found and the shape expected. `ignored` names tensors that may be left over
// (models::IgnoredTensors); {i} and {e} stand for any number.
Result<LoadPlan> MakeLoadPlan(const ir::Graph& graph, std::span<const WeightPlacement> placements,
                              const Checkpoint& checkpoint, std::span<const std::string> ignored);

// Most bytes of the buffers that `threads` pack from, whatever the checkpoint's types are.
int64_t StagingBytes(std::span<const WeightPlacement> placements, int threads);

// Computes a derived weight into `out` (f32): see models::FillDerived.
using DeriveFn = std::function<Status(const std::string& derived, std::span<float> out)>;

// Bytes done so far of the total; called from the loading thread, at most every few MiB.
using ProgressFn = std::function<void(int64_t done, int64_t total)>;

// Runs the plan on all threads: each reads about a mebibyte of source at a time into a buffer of
// its own and packs it into the arena, so that resident memory stays near the arena's bytes.
Status Load(const LoadPlan& plan, std::span<const WeightPlacement> placements,
            const ir::Graph& graph, const Checkpoint& checkpoint, const DeriveFn& derive,
            memory::Arena& arena, ThreadPool& pool, const ProgressFn& progress);

}  // namespace moxie::weights
