// copy, cast, add, mul, scale, shift, silu, silu_mul.
#include <gtest/gtest.h>

#include "tests/cpu/harness.h"

namespace moxie::cpu {
namespace {

constexpr int64_t kRowCounts[] = {0, 1, 5, 130};
constexpr int64_t kWidths[] = {1, 7, 16, 33, 576};

double Silu(double x) { return x / (1 + std::exp(-x)); }

struct ElementwiseCase {
  OpKind op;
  std::function<double(double, double)> f;  // b is unused by unary ops
  double relative_error;                    // of the f32 arithmetic, in units of |result| + |a|
};

void Check(const ElementwiseCase& c, const KernelRow& row, int64_t rows, int64_t width) {
  const bool binary = row.dtypes.size() == 3;
  const Tensor a = Tensor::Of(row.dtypes[0], {rows, width}, Random(rows * width, 1, 4.0f));
  const Tensor b = Tensor::Of(row.dtypes[binary ? 1 : 0], {rows, width}, Random(rows * width, 2));
  Tensor y(Result0(row), {rows, width});
  std::vector<const Tensor*> in = {&a};
  if (binary) in.push_back(&b);
  RunRow(row, in, {&y}, {{AttrKey::kScale, 0.37}, {AttrKey::kShift, 0.37}});
  const auto av = a.Values(), bv = b.Values(), got = y.Values();
  for (size_t i = 0; i < got.size(); ++i) {
    const double expected = c.f(av[i], bv[i]);
    const double error = c.relative_error * (std::abs(expected) + std::abs(av[i]));
    ASSERT_NEAR(got[i], expected, Tolerance(Result0(row), expected, 0, 1) + error)
        << Describe(row) << " of " << av[i] << ", " << bv[i];
  }
}

TEST(Elementwise, EveryRowMatchesDoublePrecision) {
  const std::vector<ElementwiseCase> cases = {
      {OpKind::kAdd, [](double a, double b) { return a + b; }, 0},
      {OpKind::kMul, [](double a, double b) { return a * b; }, 0},
      {OpKind::kScale, [](double a, double) { return a * 0.37; }, 1e-7},
      {OpKind::kShift, [](double a, double) { return a + 0.37; }, 1e-7},
      {OpKind::kSilu, [](double a, double) { return Silu(a); }, 1e-6},
      {OpKind::kSiluMul, [](double a, double b) { return Silu(a) * b; }, 1e-6},
      {OpKind::kCopy, [](double a, double) { return a; }, 0},
      {OpKind::kCast, [](double a, double) { return a; }, 0},
  };
  for (const ElementwiseCase& c : cases) {
    for (const KernelRow* row : RowsOf(c.op)) {
      if (Result0(*row) == DType::kI32 || Result0(*row) == DType::kI64) continue;
      for (int64_t rows : kRowCounts) {
        for (int64_t width : kWidths) Check(c, *row, rows, width);
      }
    }
  }
}

// At a vector's tail an element goes the same way as in its middle, so the width does not change
// bits.
TEST(Elementwise, PlaceDoesNotChangeBits) {
  for (OpKind op : {OpKind::kSilu, OpKind::kSiluMul}) {
    for (const KernelRow* row : RowsOf(op)) {
      const std::vector<float> values = Random(100, 1, 4.0f);
      auto run = [&](int64_t first, int64_t count) {
        const std::vector<float> part(values.begin() + first, values.begin() + first + count);
        const Tensor a = Tensor::Of(row->dtypes[0], {1, count}, part);
        Tensor y(Result0(*row), {1, count});
        std::vector<const Tensor*> in(row->dtypes.size() - 1, &a);
        RunRow(*row, in, {&y}, {});
        return y.Values();
      };
      const std::vector<double> whole = run(0, 100);
      for (int64_t first : {0, 3, 64, 97}) {
        const std::vector<double> part = run(first, 100 - first);
        for (size_t i = 0; i < part.size(); ++i)
          ASSERT_EQ(part[i], whole[first + i]) << Describe(*row);
      }
    }
  }
}

TEST(Elementwise, ExtremesDoNotCrashAndSaturate) {
  for (const KernelRow* row : RowsOf(OpKind::kSilu)) {
    const Tensor x = Tensor::Of(row->dtypes[0], {1, 7},
                                {-INFINITY, -1e30f, -100.0f, 0.0f, 100.0f, INFINITY, NAN});
    Tensor y(Result0(*row), {1, 7});
    RunRow(*row, {&x}, {&y}, {});
    const auto got = y.Values();
    EXPECT_NEAR(got[2], 0.0, 1e-30) << Describe(*row);
    EXPECT_EQ(got[3], 0.0) << Describe(*row);
    EXPECT_NEAR(got[4], 100.0, 0.5) << Describe(*row);
    EXPECT_EQ(got[5], INFINITY) << Describe(*row);
    EXPECT_TRUE(std::isnan(got[6])) << Describe(*row);
  }
}

// The usual way of residual sums: the result takes the place of an operand.
TEST(Elementwise, InPlace) {
  for (const KernelRow* row : RowsOf(OpKind::kAdd)) {
    if (row->dtypes[0] != Result0(*row)) continue;
    Tensor a = Tensor::Of(row->dtypes[0], {3, 37}, Random(111, 1));
    const Tensor b = Tensor::Of(row->dtypes[1], {3, 37}, Random(111, 2));
    Tensor y(Result0(*row), {3, 37});
    RunRow(*row, {&a, &b}, {&y}, {});
    RunRow(*row, {&a, &b}, {&a}, {});
    EXPECT_EQ(a.Bits(), y.Bits()) << Describe(*row);
  }
}

TEST(Copy, TakesAnyStrides) {
  for (const KernelRow* row : RowsOf(OpKind::kCopy)) {
    if (Result0(*row) != DType::kF32) continue;
    Tensor x = Tensor::Of(DType::kF32, {4, 6}, Random(24, 1));
    Tensor y(DType::kF32, {3, 4});
    const auto values = x.Values();
    x.view().sizes = {3, 4};
    x.view().strides = {2, 6};  // every other column, transposed
    RunRow(*row, {&x}, {&y}, {});
    const auto got = y.Values();
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 4; ++j) EXPECT_EQ(got[i * 4 + j], values[j * 6 + i * 2]);
    }
  }
}

}  // namespace
}  // namespace moxie::cpu
