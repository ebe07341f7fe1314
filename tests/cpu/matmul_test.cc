#include <gtest/gtest.h>

#include "tests/cpu/harness.h"

namespace moxie::cpu {
namespace {

struct MatmulShape {
  int64_t t, n, k;
};

constexpr MatmulShape kShapes[] = {{0, 32, 8},    {1, 1, 1},     {1, 33, 7},   {2, 64, 64},
                                   {3, 31, 101},  {5, 97, 2},    {7, 128, 96}, {12, 32, 33},
                                   {13, 65, 64},  {16, 160, 48}, {29, 40, 66}, {64, 96, 32},
                                   {131, 37, 29}, {1, 300, 512}};

// x * w^T + bias in double precision, and the sums of magnitudes.
void Expect(const std::vector<double>& x, const std::vector<double>& w,
            const std::vector<double>* bias, const MatmulShape& s, const Tensor& y,
            const std::string& what) {
  const std::vector<double> got = y.Values();
  for (int64_t t = 0; t < s.t; ++t) {
    for (int64_t n = 0; n < s.n; ++n) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < s.k; ++k) {
        const double product = x[t * s.k + k] * w[n * s.k + k];
        sum += product;
        magnitude += std::abs(product);
      }
      if (bias != nullptr) sum += (*bias)[n];
      ASSERT_NEAR(got[t * s.n + n], sum, Tolerance(y.view().dtype, sum, magnitude, s.k))
          << what << " T=" << s.t << " N=" << s.n << " K=" << s.k << " at (" << t << ", " << n
          << ")";
    }
  }
}

TEST(Matmul, EveryRowMatchesDoublePrecision) {
  for (const KernelRow* row : RowsOf(OpKind::kMatmul)) {
    const bool has_bias = row->dtypes.size() == 4;
    for (const MatmulShape& s : kShapes) {
      const Tensor x = Tensor::Of(row->dtypes[0], {s.t, s.k}, Random(s.t * s.k, 1));
      const Tensor w =
          Tensor::Of(row->dtypes[1], {s.n, s.k}, Random(s.n * s.k, 2), PackingOf(*row, 1));
      const Tensor bias = Tensor::Of(DType::kF32, {s.n}, Random(s.n, 3));
      Tensor y(Result0(*row), {s.t, s.n});
      std::vector<const Tensor*> in = {&x, &w};
      if (has_bias) in.push_back(&bias);
      RunRow(*row, in, {&y}, {});
      const std::vector<double> bias_values = bias.Values();
      Expect(x.Values(), w.Values(), has_bias ? &bias_values : nullptr, s, y, Describe(*row));
    }
  }
}

// A row's result is the same to the bit alone, at any place among others, and for any number of
// threads.
TEST(Matmul, RowsAndThreadsDoNotChangeBits) {
  constexpr int64_t kRows = 67, kN = 129, kK = 75;
  for (const KernelRow* row : RowsOf(OpKind::kMatmul)) {
    if (row->dtypes.size() == 4) continue;
    const std::vector<float> values = Random(kRows * kK, 1);
    const Tensor x = Tensor::Of(row->dtypes[0], {kRows, kK}, values);
    const Tensor w = Tensor::Of(row->dtypes[1], {kN, kK}, Random(kN * kK, 2), PackingOf(*row, 1));
    Tensor whole(Result0(*row), {kRows, kN});
    RunRow(*row, {&x, &w}, {&whole}, {}, 1);
    for (int threads : {2, 3, 7}) {
      Tensor again(Result0(*row), {kRows, kN});
      RunRow(*row, {&x, &w}, {&again}, {}, threads);
      ASSERT_EQ(again.Bits(), whole.Bits()) << Describe(*row) << " on " << threads << " threads";
    }
    const size_t row_bytes = whole.Bits().size() / kRows;
    for (int64_t count : {1, 2, 3, 4, 6, 7, 8, 11, 12, 13, 24, 31}) {
      for (int64_t first : {int64_t{0}, int64_t{5}, kRows - count}) {
        const Tensor part =
            Tensor::Of(row->dtypes[0], {count, kK},
                       {values.begin() + first * kK, values.begin() + (first + count) * kK});
        Tensor y(Result0(*row), {count, kN});
        RunRow(*row, {&part, &w}, {&y}, {}, 2);
        ASSERT_EQ(y.Bits(), whole.Bits().substr(static_cast<size_t>(first) * row_bytes,
                                                static_cast<size_t>(count) * row_bytes))
            << Describe(*row) << " rows " << first << " to " << first + count;
      }
    }
  }
}

// Rows of x and y further apart than their length: a view of a wider tensor.
TEST(Matmul, StridedRows) {
  for (const KernelRow* row : RowsOf(OpKind::kMatmul)) {
    if (row->dtypes.size() == 4) continue;
    constexpr int64_t kT = 9, kN = 40, kK = 21;
    Tensor wide_x = Tensor::Of(row->dtypes[0], {kT, 2 * kK}, Random(kT * 2 * kK, 1));
    const Tensor w = Tensor::Of(row->dtypes[1], {kN, kK}, Random(kN * kK, 2), PackingOf(*row, 1));
    Tensor wide_y = Tensor::Of(Result0(*row), {kT, 2 * kN}, std::vector<float>(kT * 2 * kN, 7.0f));
    const std::vector<double> all = wide_x.Values();
    wide_x.view().sizes[1] = kK;
    wide_y.view().sizes[1] = kN;
    RunRow(*row, {&wide_x, &w}, {&wide_y}, {});
    wide_y.view().sizes[1] = 2 * kN;
    const std::vector<double> got = wide_y.Values(), wv = w.Values();
    for (int64_t t = 0; t < kT; ++t) {
      for (int64_t n = 0; n < kN; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < kK; ++k) sum += all[t * 2 * kK + k] * wv[n * kK + k];
        ASSERT_NEAR(got[t * 2 * kN + n], sum, Tolerance(Result0(*row), sum, 30, kK))
            << Describe(*row);
        ASSERT_EQ(got[t * 2 * kN + kN + n], 7.0) << Describe(*row) << " wrote past the row";
      }
    }
  }
}

// A NaN or infinity in one row of x stays in that row.
TEST(Matmul, NonFiniteRowsStayAlone) {
  for (const KernelRow* row : RowsOf(OpKind::kMatmul)) {
    if (row->dtypes.size() == 4) continue;
    constexpr int64_t kT = 14, kN = 50, kK = 17;
    std::vector<float> values = Random(kT * kK, 1);
    const Tensor w = Tensor::Of(row->dtypes[1], {kN, kK}, Random(kN * kK, 2), PackingOf(*row, 1));
    const Tensor clean = Tensor::Of(row->dtypes[0], {kT, kK}, values);
    values[3 * kK + 16] = NAN;
    values[7 * kK + 2] = INFINITY;
    const Tensor x = Tensor::Of(row->dtypes[0], {kT, kK}, values);
    Tensor expected(Result0(*row), {kT, kN}), y(Result0(*row), {kT, kN});
    RunRow(*row, {&clean, &w}, {&expected}, {});
    RunRow(*row, {&x, &w}, {&y}, {});
    const std::vector<double> e = expected.Values(), got = y.Values();
    for (int64_t t = 0; t < kT; ++t) {
      for (int64_t n = 0; n < kN; ++n) {
        if (t == 3 || t == 7) {
          ASSERT_FALSE(std::isfinite(got[t * kN + n])) << Describe(*row);
        } else {
          ASSERT_EQ(got[t * kN + n], e[t * kN + n]) << Describe(*row);
        }
      }
    }
  }
}

}  // namespace
}  // namespace moxie::cpu
