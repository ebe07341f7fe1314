#include <string>

#include "weights/load_plan.h"

namespace moxie::weights {
namespace {

constexpr int64_t kAlign = 64;  // of every tensor: a cache line, and an AVX-512 vector

int64_t AlignUp(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// "30 x [8,1536,576] bf16 panels of 32"
std::string Formula(const WeightPlacement& placement) {
  std::string times = placement.count == 1 ? "" : StrCat(placement.count, " x ");
  return StrCat(times, ShapeText(placement.sizes), " ", backend::ToString(placement.layout));
}

}  // namespace

std::vector<WeightPlacement> PlaceWeights(const ir::Graph& graph,
                                          std::span<const backend::WeightLayout> layouts) {
  std::vector<WeightPlacement> placements;
  int64_t offset = 0;
  for (size_t w = 0; w < graph.weights.size(); ++w) {
    const ir::WeightSpec& spec = graph.weights[w];
    WeightPlacement placement{
        .name = spec.name, .layout = layouts[w], .sizes = {}, .count = spec.count};
    for (tensor::Dim dim : spec.type.shape.dims()) placement.sizes.push_back(dim.factor);
    placement.offset = offset;
    placement.bytes = placement.layout.Bytes(placement.sizes);
    placement.stride = AlignUp(placement.bytes);
    offset += placement.count * placement.stride;
    placements.push_back(std::move(placement));
  }
  return placements;
}

std::vector<memory::Footprint> WeightFootprints(std::span<const WeightPlacement> placements) {
  std::vector<memory::Footprint> terms;
  for (const WeightPlacement& placement : placements) {
    terms.push_back({.owner = "weights",
                     .name = placement.name,
                     .bytes = placement.count * placement.stride,
                     .kind = memory::Kind::kReserved,
                     .formula = Formula(placement)});
  }
  return terms;
}

int64_t WeightArenaBytes(std::span<const WeightPlacement> placements) {
  if (placements.empty()) return 0;
  const WeightPlacement& last = placements.back();
  return last.offset + last.count * last.stride;
}

}  // namespace moxie::weights
