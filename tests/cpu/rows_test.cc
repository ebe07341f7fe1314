// Kernels that treat each row alone: rms_norm, rope_table, rope, embedding, gather_rows, kv_write.
#include <gtest/gtest.h>

#include "tests/cpu/harness.h"

namespace moxie::cpu {
namespace {

TEST(RmsNorm, EveryRowMatchesDoublePrecision) {
  for (const KernelRow* row : RowsOf(OpKind::kRmsNorm)) {
    for (int64_t t : {0, 1, 3, 40}) {
      for (int64_t h : {1, 7, 64, 577, 4096}) {
        const Tensor x = Tensor::Of(row->dtypes[0], {t, h}, Random(t * h, 1, 3.0f));
        const Tensor w = Tensor::Of(DType::kF32, {h}, Random(h, 2));
        Tensor y(Result0(*row), {t, h});
        RunRow(*row, {&x, &w}, {&y}, {{AttrKey::kEps, 1e-5}});
        const auto xv = x.Values(), wv = w.Values(), got = y.Values();
        for (int64_t i = 0; i < t; ++i) {
          double sum = 0;
          for (int64_t j = 0; j < h; ++j) sum += xv[i * h + j] * xv[i * h + j];
          const double scale = 1 / std::sqrt(sum / static_cast<double>(h) + 1e-5);
          for (int64_t j = 0; j < h; ++j) {
            const double expected = xv[i * h + j] * scale * wv[j];
            ASSERT_NEAR(got[i * h + j], expected,
                        Tolerance(Result0(*row), expected, std::abs(expected), h))
                << Describe(*row) << " H=" << h;
          }
        }
      }
    }
  }
}

TEST(RmsNorm, OtherRowsDoNotChangeBits) {
  for (const KernelRow* row : RowsOf(OpKind::kRmsNorm)) {
    const std::vector<float> values = Random(30 * 577, 1);
    const Tensor w = Tensor::Of(DType::kF32, {577}, Random(577, 2));
    const Tensor x = Tensor::Of(row->dtypes[0], {30, 577}, values);
    const Tensor last = Tensor::Of(row->dtypes[0], {1, 577}, {values.end() - 577, values.end()});
    Tensor y(Result0(*row), {30, 577}), alone(Result0(*row), {1, 577});
    RunRow(*row, {&x, &w}, {&y}, {{AttrKey::kEps, 1e-5}}, 3);
    RunRow(*row, {&last, &w}, {&alone}, {{AttrKey::kEps, 1e-5}}, 1);
    EXPECT_EQ(alone.Bits(), y.Bits().substr(29 * y.Bits().size() / 30)) << Describe(*row);
  }
}

TEST(RopeTable, AngleIsRoundedToFloat) {
  const std::vector<float> inv_freq = {1.0f, 0.31f, 0.01f, 1e-4f};
  const std::vector<int32_t> positions = {0, 1, 17, 131071};
  for (const KernelRow* row : RowsOf(OpKind::kRopeTable)) {
    const Tensor p = Tensor::OfInts({4}, positions), f = Tensor::Of(DType::kF32, {4}, inv_freq);
    Tensor table(DType::kF32, {4, 8});
    RunRow(*row, {&p, &f}, {&table}, {{AttrKey::kScale, 1.25}});
    const auto got = table.Values();
    for (size_t t = 0; t < 4; ++t) {
      for (size_t i = 0; i < 4; ++i) {
        const double angle = static_cast<float>(positions[t]) * inv_freq[i];
        EXPECT_NEAR(got[t * 8 + i], 1.25 * std::cos(angle), 3e-7) << Describe(*row);
        EXPECT_NEAR(got[t * 8 + 4 + i], 1.25 * std::sin(angle), 3e-7) << Describe(*row);
      }
    }
  }
}

TEST(Rope, EveryRowMatchesDoublePrecision) {
  struct Dims {
    int64_t t, heads, dim, rotary;
  };
  for (const KernelRow* row : RowsOf(OpKind::kRope)) {
    for (const Dims& d : {Dims{0, 2, 8, 8}, Dims{1, 3, 64, 64}, Dims{5, 1, 6, 6},
                          Dims{70, 4, 128, 128}, Dims{3, 2, 80, 32}}) {
      const int64_t width = d.heads * d.dim, half = d.rotary / 2;
      const Tensor x = Tensor::Of(row->dtypes[0], {d.t, width}, Random(d.t * width, 1));
      const Tensor table = Tensor::Of(DType::kF32, {d.t, d.rotary}, Random(d.t * d.rotary, 2));
      Tensor y(Result0(*row), {d.t, width});
      RunRow(*row, {&x, &table}, {&y}, {{AttrKey::kHeads, d.heads}, {AttrKey::kHeadDim, d.dim}});
      const auto xv = x.Values(), tv = table.Values(), got = y.Values();
      for (int64_t i = 0; i < d.t * width; ++i) {
        const int64_t t = i / width, in_head = i % d.dim,
                      pair = in_head % std::max<int64_t>(1, half);
        double expected = xv[i], magnitude = 0;
        if (in_head < d.rotary) {
          const double cos = tv[t * d.rotary + pair], sin = tv[t * d.rotary + half + pair];
          const double other = in_head < half ? -xv[i + half] : xv[i - half];
          expected = xv[i] * cos + other * sin;
          magnitude = std::abs(xv[i] * cos) + std::abs(other * sin);
        }
        ASSERT_NEAR(got[i], expected, Tolerance(Result0(*row), expected, magnitude, 2))
            << Describe(*row);
      }
    }
  }
}

TEST(Embedding, TakesRowsOfEitherLayout) {
  const std::vector<int32_t> ids = {0, 69, 31, 32, 5, 5};
  for (const KernelRow* row : RowsOf(OpKind::kEmbedding)) {
    for (int64_t h : {1, 16, 33, 576}) {
      const Tensor table =
          Tensor::Of(row->dtypes[1], {70, h}, Random(70 * h, 1), PackingOf(*row, 1));
      const Tensor id = Tensor::OfInts({6}, ids);
      Tensor y(DType::kF32, {6, h});
      RunRow(*row, {&id, &table}, {&y}, {});
      const auto tv = table.Values(), got = y.Values();
      for (size_t t = 0; t < ids.size(); ++t) {
        for (int64_t i = 0; i < h; ++i)
          ASSERT_EQ(got[t * h + i], tv[ids[t] * h + i]) << Describe(*row);
      }
    }
  }
}

TEST(GatherRows, CopiesRows) {
  for (const KernelRow* row : RowsOf(OpKind::kGatherRows)) {
    const Tensor x = Tensor::Of(row->dtypes[0], {9, 35}, Random(9 * 35, 1));
    const Tensor rows = Tensor::OfInts({3}, {8, 0, 8});
    Tensor y(Result0(*row), {3, 35});
    RunRow(*row, {&x, &rows}, {&y}, {});
    const auto xv = x.Values(), got = y.Values();
    for (int64_t i = 0; i < 35; ++i) {
      EXPECT_EQ(got[i], xv[8 * 35 + i]);
      EXPECT_EQ(got[35 + i], xv[i]);
      EXPECT_EQ(got[70 + i], xv[8 * 35 + i]);
    }
  }
}

TEST(KvWrite, WritesSlotsAndNothingElse) {
  constexpr int64_t kBlocks = 5, kHeads = 2, kBlock = 3, kDim = 19;
  const std::vector<int64_t> slots = {14, -1, 0, 7};
  for (const KernelRow* row : RowsOf(OpKind::kKvWrite)) {
    const DType kv_type = row->dtypes[0];
    const int64_t width = kHeads * kDim, elements = kBlocks * 2 * kHeads * kBlock * kDim;
    Tensor kv =
        Tensor::Of(kv_type, {kBlocks, 2, kHeads, kBlock, kDim}, std::vector<float>(elements, 9.0f));
    const Tensor k = Tensor::Of(row->dtypes[1], {4, width}, Random(4 * width, 1));
    const Tensor v = Tensor::Of(row->dtypes[2], {4, width}, Random(4 * width, 2));
    const Tensor where = Tensor::OfLongs({4}, slots);
    RunRow(*row, {&kv, &k, &v, &where}, {&kv}, {});
    const auto got = kv.Values(), kvals = k.Values(), vvals = v.Values();
    for (int64_t i = 0; i < elements; ++i) {
      const int64_t d = i % kDim, b = i / kDim % kBlock, h = i / kDim / kBlock % kHeads;
      const int64_t part = i / kDim / kBlock / kHeads % 2, block = i / kDim / kBlock / kHeads / 2;
      const auto t = std::find(slots.begin(), slots.end(), block * kBlock + b) - slots.begin();
      double expected = 9.0;
      if (t < 4) expected = (part == 0 ? kvals : vvals)[t * width + h * kDim + d];
      ASSERT_NEAR(got[i], expected, Tolerance(kv_type, expected, 0, 1))
          << Describe(*row) << " element " << i;
    }
  }
}

}  // namespace
}  // namespace moxie::cpu
