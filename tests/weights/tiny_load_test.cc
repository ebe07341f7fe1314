// The tiny checkpoints, from config.json to the arena: what the families declare is what the files
// hold, and every stored number arrives at its place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "config/model_config.h"
#include "models/family.h"
#include "weights/load_plan.h"

namespace moxie::weights {
namespace {

namespace fs = std::filesystem;
using tensor::DType;
using tensor::Packing;

std::vector<std::string> TinyModels() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(MOXIE_TEST_DATA) / "tiny")) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

// Elements as f32, whatever they are stored as.
float ElementAt(const std::byte* data, DType dtype, int64_t index) {
  data += index * tensor::ByteSize(dtype);
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, data, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, data, sizeof bits);
  return dtype == DType::kF16 ? tensor::F16ToF32(bits) : tensor::BF16ToF32(bits);
}

class TinyLoad : public ::testing::TestWithParam<std::string> {
 protected:
  fs::path directory() const { return fs::path(MOXIE_TEST_DATA) / "tiny" / GetParam(); }
};

TEST_P(TinyLoad, OpensAndTilesItsFile) {
  auto checkpoint = Checkpoint::Open(directory());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_FALSE(checkpoint->tensors().empty());
  EXPECT_NE(checkpoint->Find("model.embed_tokens.weight"), nullptr);
  const StoredTensor& last = checkpoint->tensors().back();
  EXPECT_EQ(last.offset + last.bytes, static_cast<int64_t>(checkpoint->files()[0].size()));
}

// A step's matrix in the arena against the file's.
void ExpectSame(const LoadStep& step, const WeightPlacement& placement,
                const Checkpoint& checkpoint, const memory::Arena& arena) {
  const StoredTensor& stored = checkpoint.tensors()[step.tensor];
  std::vector<std::byte> bytes(static_cast<size_t>(stored.bytes - step.source_offset));
  ASSERT_TRUE(checkpoint.files()[static_cast<size_t>(stored.file)]
                  .ReadAt(static_cast<size_t>(stored.offset + step.source_offset), bytes)
                  .ok());
  const std::byte* source = bytes.data();
  for (int64_t n = 0; n < step.rows; ++n) {
    for (int64_t k = 0; k < step.cols; ++k) {
      const int64_t at = placement.layout.packing == Packing::kPlain
                             ? n * step.cols + k
                             : ((n / 32) * ((step.cols + 1) / 2) + k / 2) * 64 + n % 32 * 2 + k % 2;
      const float want = ElementAt(source, step.source_dtype, n * step.cols + k);
      ASSERT_EQ(ElementAt(arena.data() + step.destination, DType::kF32, at), want)
          << stored.name << "[" << n << "," << k << "]";
    }
  }
}

TEST_P(TinyLoad, EveryNumberArrives) {
  auto config = config::LoadModelConfig(directory());
  ASSERT_TRUE(config.ok()) << config.status().message();
  auto family = models::FindFamily(*config);
  ASSERT_TRUE(family.ok()) << family.status().message();
  auto graph = (*family)->build(*config, {DType::kF32, DType::kF32, DType::kF32, 16});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  std::vector<backend::WeightLayout> layouts;
  for (const ir::WeightSpec& spec : graph->weights) {
    layouts.push_back(
        {spec.type.shape.rank() < 2 ? Packing::kPlain : Packing::kPanel32, DType::kF32});
  }
  const auto placements = PlaceWeights(*graph, layouts);
  auto checkpoint = Checkpoint::Open(directory());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  auto plan = MakeLoadPlan(*graph, placements, *checkpoint, models::IgnoredTensors(*config));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  memory::Footprint term;
  term.bytes = WeightArenaBytes(placements);
  auto arena = memory::Arena::Map(term);
  ASSERT_TRUE(arena.ok()) << arena.status().message();
  ThreadPool pool(2);
  auto derive = [&](const std::string& derived, std::span<float> out) {
    return models::FillDerived(*config, derived, out);
  };
  Status loaded = Load(*plan, placements, *graph, *checkpoint, derive, *arena, pool, nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  int64_t read = 0;
  for (const LoadStep& step : plan->steps) {
    ExpectSame(step, placements[step.placement], *checkpoint, *arena);
    read += step.rows * step.cols * tensor::ByteSize(step.source_dtype);
  }
  for (size_t t : plan->ignored) read += checkpoint->tensors()[t].bytes;
  EXPECT_EQ(read, checkpoint->total_bytes());
}

INSTANTIATE_TEST_SUITE_P(All, TinyLoad, ::testing::ValuesIn(TinyModels()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace moxie::weights
