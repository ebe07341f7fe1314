// From a checkpoint on disk to bytes in the arena: placement, matching, packing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "tests/weights/safetensors_writer.h"
#include "tests/weights/temp_dir.h"
#include "weights/load_plan.h"

namespace moxie::weights {
namespace {

using backend::WeightLayout;
using tensor::DType;
using tensor::Packing;
using ::testing::HasSubstr;

constexpr WeightLayout kPanels{Packing::kPanel32, DType::kF32};
constexpr WeightLayout kPlain{Packing::kPlain, DType::kF32};

// Values first, first + 1, ... as f32.
std::string Floats(int64_t count, float first) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TensorToWrite F32(std::string name, std::vector<int64_t> shape, float first) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return {std::move(name), "F32", std::move(shape), Floats(count, first)};
}

ir::WeightSpec Stored(std::string name, tensor::Shape shape, int64_t count,
                      std::vector<ir::CheckpointName> checkpoint) {
  ir::WeightSpec spec;
  spec.name = std::move(name);
  spec.type = {DType::kF32, shape};
  spec.count = count;
  spec.checkpoint = std::move(checkpoint);
  return spec;
}

// A model: its weights, their layouts, and a directory with its checkpoint.
class LoadTest : public ::testing::Test {
 protected:
  void AddWeight(ir::WeightSpec spec, WeightLayout layout = kPanels) {
    graph_.weights.push_back(std::move(spec));
    layouts_.push_back(layout);
  }
  void WriteModel(const std::vector<TensorToWrite>& tensors, size_t blanks = 0) {
    WriteSafetensors(dir_.path() / "model.safetensors", tensors, blanks);
  }
  // Everything that start-up does with weights.
  Status Run() {
    placements_ = PlaceWeights(graph_, layouts_);
    MOXIE_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(dir_.path()));
    MOXIE_ASSIGN_OR_RETURN(plan_, MakeLoadPlan(graph_, placements_, checkpoint, ignored_));
    memory::Footprint term;
    term.bytes = WeightArenaBytes(placements_);
    MOXIE_ASSIGN_OR_RETURN(arena_, memory::Arena::Map(term));
    ThreadPool pool(3);
    return Load(plan_, placements_, graph_, checkpoint, derive_, arena_, pool, progress_);
  }
  // Element (n, k) of matrix m of iteration i of a weight.
  float At(size_t weight, int64_t i, int64_t m, int64_t n, int64_t k) const {
    const WeightPlacement& p = placements_[weight];
    const int64_t cols = p.sizes.back();
    const int64_t rows = p.sizes.size() < 2 ? 1 : p.sizes[p.sizes.size() - 2];
    int64_t element = m * tensor::PackedElements(p.layout.packing, rows, cols);
    element += p.layout.packing == Packing::kPlain
                   ? n * cols + k
                   : ((n / 32) * ((cols + 1) / 2) + k / 2) * 64 + (n % 32) * 2 + k % 2;
    float value;
    std::memcpy(&value, arena_.data() + p.offset + i * p.stride + element * 4, sizeof value);
    return value;
  }

  TempDir dir_;
  ir::Graph graph_;
  std::vector<WeightLayout> layouts_;
  std::vector<std::string> ignored_;
  std::vector<WeightPlacement> placements_;
  LoadPlan plan_;
  memory::Arena arena_;
  DeriveFn derive_;
  ProgressFn progress_;
};

TEST_F(LoadTest, PlacesOneAfterAnotherAndAddsUp) {
  AddWeight(Stored("norm", {5}, 3, {{"n.{i}"}}), kPlain);
  AddWeight(Stored("proj", {33, 3}, 2, {{"p.{i}"}}));
  auto placements = PlaceWeights(graph_, layouts_);
  ASSERT_EQ(placements.size(), 2u);
  EXPECT_EQ(placements[0].bytes, 20);
  EXPECT_EQ(placements[0].stride, 64);
  EXPECT_EQ(placements[1].offset, 192);
  EXPECT_EQ(placements[1].bytes, 64 * 4 * 4);  // 33 rows in two panels, 3 columns in two pairs
  auto terms = WeightFootprints(placements);
  EXPECT_EQ(terms[0].bytes + terms[1].bytes, WeightArenaBytes(placements));
  EXPECT_EQ(terms[1].owner, "weights");
  EXPECT_EQ(terms[1].formula, "2 x [33,3] f32 panels of 32");
}

TEST_F(LoadTest, LoadsMatricesVectorsAndStacks) {
  AddWeight(Stored("proj", {33, 3}, 2, {{"p.{i}.weight"}}));
  AddWeight(Stored("norm", {5}, 1, {{"norm.weight"}}), kPlain);
  WriteModel({F32("p.1.weight", {33, 3}, 1000), F32("norm.weight", {5}, 7),
              F32("p.0.weight", {33, 3}, 0)});
  ASSERT_EQ(Run().message(), "");
  EXPECT_EQ(At(0, 0, 0, 0, 0), 0);
  EXPECT_EQ(At(0, 0, 0, 32, 2), 98);
  EXPECT_EQ(At(0, 1, 0, 31, 1), 1000 + 31 * 3 + 1);
  EXPECT_EQ(At(1, 0, 0, 0, 4), 11);
}

TEST_F(LoadTest, DataNeedNotBeAligned) {
  AddWeight(Stored("w", {40, 6}, 1, {{"w"}}));
  AddWeight(Stored("v", {9}, 1, {{"v"}}), kPlain);
  for (size_t blanks = 0; blanks < 4; ++blanks) {
    WriteModel({F32("w", {40, 6}, 1), F32("v", {9}, 5)}, blanks);
    ASSERT_EQ(Run().message(), "");
    EXPECT_EQ(At(0, 0, 0, 39, 5), 240);
    EXPECT_EQ(At(1, 0, 0, 0, 8), 13);
  }
}

// Experts as one tensor each (transformers 4), and all in one with gate and up fused (transformers
// 5).
class ExpertsTest : public LoadTest {
 protected:
  void SetUp() override {
    AddWeight(Stored("gate", {2, 3, 4}, 2, {{"l.{i}.gate_up", 0, 2}, {"l.{i}.e.{e}.w1"}}));
    AddWeight(Stored("up", {2, 3, 4}, 2, {{"l.{i}.gate_up", 1, 2}, {"l.{i}.e.{e}.w3"}}));
  }
  void ExpectLoaded() {
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t e = 0; e < 2; ++e) {
        // Numbers count through [i][e][gate or up][n][k].
        const auto first = static_cast<float>((i * 2 + e) * 24);
        EXPECT_EQ(At(0, i, e, 0, 0), first);
        EXPECT_EQ(At(0, i, e, 2, 3), first + 11);
        EXPECT_EQ(At(1, i, e, 0, 0), first + 12);
        EXPECT_EQ(At(1, i, e, 2, 3), first + 23);
      }
    }
  }
};

TEST_F(ExpertsTest, OneTensorAnExpert) {
  std::vector<TensorToWrite> tensors;
  for (int i = 0; i < 2; ++i) {
    for (int e = 0; e < 2; ++e) {
      const auto first = static_cast<float>((i * 2 + e) * 24);
      tensors.push_back(F32(StrCat("l.", i, ".e.", e, ".w1"), {3, 4}, first));
      tensors.push_back(F32(StrCat("l.", i, ".e.", e, ".w3"), {3, 4}, first + 12));
    }
  }
  WriteModel(tensors);
  ASSERT_EQ(Run().message(), "");
  ExpectLoaded();
}

TEST_F(ExpertsTest, Fused) {
  WriteModel({F32("l.0.gate_up", {2, 6, 4}, 0), F32("l.1.gate_up", {2, 6, 4}, 48)});
  ASSERT_EQ(Run().message(), "");
  ExpectLoaded();
}

TEST_F(ExpertsTest, MissingExpertIsNamed) {
  WriteModel({F32("l.0.e.0.w1", {3, 4}, 0), F32("l.0.e.0.w3", {3, 4}, 0),
              F32("l.0.e.1.w1", {3, 4}, 0), F32("l.0.e.1.w3", {3, 4}, 0),
              F32("l.1.e.0.w1", {3, 4}, 0), F32("l.1.e.0.w3", {3, 4}, 0),
              F32("l.1.e.1.w3", {3, 4}, 0)});
  EXPECT_THAT(Run().message(), HasSubstr("1 missing: \"l.1.e.1.w1\""));
}

TEST_F(ExpertsTest, HalfReadFusedTensorIsRefused) {
  graph_.weights.pop_back();
  layouts_.pop_back();
  WriteModel({F32("l.0.gate_up", {2, 6, 4}, 0), F32("l.1.gate_up", {2, 6, 4}, 48)});
  EXPECT_THAT(Run().message(), HasSubstr("tensor \"l.0.gate_up\" is read only in part"));
}

TEST_F(LoadTest, FusedVectorsAreCutInParts) {
  AddWeight(Stored("a", {3}, 1, {{"ab", 0, 2}}), kPlain);
  AddWeight(Stored("b", {3}, 1, {{"ab", 1, 2}}), kPlain);
  WriteModel({F32("ab", {6}, 1)});
  ASSERT_EQ(Run().message(), "");
  EXPECT_EQ(At(0, 0, 0, 0, 2), 3);
  EXPECT_EQ(At(1, 0, 0, 0, 0), 4);
}

TEST_F(LoadTest, WrongShapeNamesFileTensorFoundAndExpected) {
  AddWeight(Stored("w", {2, 3}, 1, {{"w.weight"}}));
  WriteModel({F32("w.weight", {3, 2}, 0)});
  Status status = Run();
  EXPECT_EQ(status.message(),
            dir_.path().string() +
                ": does not hold this model's weights: 1 wrong: model.safetensors: "
                "tensor \"w.weight\" has shape [3,2], expected [2,3]");
}

TEST_F(LoadTest, WrongDTypeIsNamed) {
  AddWeight(Stored("w", {2}, 1, {{"w"}}));
  WriteModel({{"w", "F8_E4M3", {2}, "ab"}});
  EXPECT_THAT(Run().message(), HasSubstr("\"w\" has dtype F8_E4M3, expected BF16, F16 or F32"));
  WriteModel({{"w", "I32", {2}, "abcdefgh"}});
  EXPECT_THAT(Run().message(), HasSubstr("\"w\" has dtype I32"));
}

TEST_F(LoadTest, MissingAndLeftOverAreNamedUpToTen) {
  AddWeight(Stored("w", {2, 2}, 12, {{"new.{i}"}, {"old.{i}"}}));
  WriteModel({F32("other", {2, 2}, 0), F32("more", {1}, 0)});
  Status status = Run();
  EXPECT_THAT(status.message(), HasSubstr("12 missing: \"new.0\", \"new.1\""));
  EXPECT_THAT(status.message(), HasSubstr("\"new.9\", ...; 2 left over: \"other\", \"more\""));
}

TEST_F(LoadTest, TensorReadTwiceIsRefused) {
  AddWeight(Stored("a", {2, 2}, 1, {{"w"}}));
  AddWeight(Stored("b", {2, 2}, 1, {{"w"}}));
  WriteModel({F32("w", {2, 2}, 0)});
  EXPECT_THAT(Run().message(), HasSubstr("tensor \"w\" is read twice"));
}

TEST_F(LoadTest, LeftOversAreIgnoredOnlyWhenListed) {
  AddWeight(Stored("embed", {4, 2}, 1, {{"model.embed_tokens.weight"}}), kPlain);
  WriteModel({F32("model.embed_tokens.weight", {4, 2}, 0), F32("lm_head.weight", {4, 2}, 9),
              F32("model.layers.11.self_attn.rotary_emb.inv_freq", {2}, 0),
              F32("model.layers.3.mask", {1}, 0)});
  EXPECT_THAT(Run().message(), HasSubstr("3 left over: \"lm_head.weight\""));
  ignored_ = {"lm_head.weight", "model.layers.{i}.self_attn.rotary_emb.inv_freq"};
  EXPECT_THAT(Run().message(), HasSubstr("1 left over: \"model.layers.3.mask\""));
  ignored_.push_back("model.layers.{i}.mask");
  ASSERT_EQ(Run().message(), "");
  EXPECT_EQ(plan_.ignored.size(), 3u);
  EXPECT_EQ(At(0, 0, 0, 3, 1), 7);
}

TEST_F(LoadTest, ListedTensorThatTheGraphWantsIsLoaded) {
  AddWeight(Stored("head", {4, 2}, 1, {{"lm_head.weight"}}), kPlain);
  ignored_ = {"lm_head.weight"};
  WriteModel({F32("lm_head.weight", {4, 2}, 9)});
  ASSERT_EQ(Run().message(), "");
  EXPECT_EQ(At(0, 0, 0, 0, 0), 9);
  WriteModel({});
  EXPECT_THAT(Run().message(), HasSubstr("1 missing: \"lm_head.weight\""));
}

TEST_F(LoadTest, ConvertsBF16AndF16) {
  AddWeight(Stored("b", {2}, 1, {{"b"}}), kPlain);
  AddWeight(Stored("h", {1, 2}, 1, {{"h"}}), {Packing::kPanel32, DType::kBF16});
  using namespace std::string_literals;
  WriteModel({{"b", "BF16", {2}, "\x80\x3f\x00\xc0"s}, {"h", "F16", {1, 2}, "\x00\x3c\x00\xc1"s}});
  ASSERT_EQ(Run().message(), "");
  EXPECT_EQ(At(0, 0, 0, 0, 0), 1.0f);
  EXPECT_EQ(At(0, 0, 0, 0, 1), -2.0f);
  uint16_t packed[2];
  std::memcpy(packed, arena_.data() + placements_[1].offset, sizeof packed);
  EXPECT_EQ(tensor::BF16ToF32(packed[0]), 1.0f);
  EXPECT_EQ(tensor::BF16ToF32(packed[1]), -2.5f);
}

TEST_F(LoadTest, DerivedWeightsAreComputed) {
  ir::WeightSpec rope = Stored("rope", {3}, 1, {});
  rope.derived = "rope_inv_freq";
  AddWeight(rope, kPlain);
  WriteModel({});
  derive_ = [](const std::string& what, std::span<float> out) {
    EXPECT_EQ(what, "rope_inv_freq");
    std::iota(out.begin(), out.end(), 2.0f);
    return OkStatus();
  };
  ASSERT_EQ(Run().message(), "");
  EXPECT_EQ(At(0, 0, 0, 0, 2), 4);
  derive_ = [](const std::string&, std::span<float>) { return InvalidArgument("no such rope"); };
  EXPECT_EQ(Run().message(), "weight rope: no such rope");
}

TEST_F(LoadTest, EmptyTensorsAndScalarsLoad) {
  AddWeight(Stored("e", {0, 4}, 1, {{"e"}}));
  AddWeight(Stored("s", {}, 1, {{"s"}}), kPlain);
  WriteModel({F32("e", {0, 4}, 0), F32("s", {}, 3)});
  ASSERT_EQ(Run().message(), "");
}

// Tensors of many units: every element arrives, and progress ends at the total.
TEST_F(LoadTest, LargeTensorsAreCutAndComplete) {
  const int64_t rows = 9001, cols = 131;  // of 4.7 MB, no whole panels, an odd column
  AddWeight(Stored("w", {rows, cols}, 1, {{"w"}}));
  AddWeight(Stored("p", {rows, cols}, 1, {{"p"}}), kPlain);
  WriteModel({F32("w", {rows, cols}, 0), F32("p", {rows, cols}, 1)});
  int64_t last = 0, total = 0;
  progress_ = [&](int64_t done, int64_t of) {
    EXPECT_GE(done, last);
    last = done;
    total = of;
  };
  ASSERT_EQ(Run().message(), "");
  EXPECT_EQ(total, 2 * rows * cols * 4);
  EXPECT_EQ(last, total);
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t k = 0; k < cols; ++k) {
      const auto value = static_cast<float>(n * cols + k);
      ASSERT_EQ(At(0, 0, 0, n, k), value) << n << "," << k;
      ASSERT_EQ(At(1, 0, 0, n, k), value + 1) << n << "," << k;
    }
  }
}

}  // namespace
}  // namespace moxie::weights
