#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/cpu/harness.h"

namespace moxie::cpu {
namespace {

struct Chosen {
  std::vector<double> weights;
  std::vector<int32_t> ids;
};

Chosen Route(const KernelRow& row, int64_t tokens, int64_t experts, int64_t k, bool normalize,
             const std::vector<float>& logits) {
  const Tensor x = Tensor::Of(DType::kF32, {tokens, experts}, logits);
  Tensor weights(DType::kF32, {tokens, k}), ids(DType::kI32, {tokens, k});
  RunRow(row, {&x}, {&weights, &ids},
         {{AttrKey::kTopK, k}, {AttrKey::kNormalize, int64_t{normalize}}});
  return {weights.Values(), ids.Ints()};
}

TEST(RouterTopk, EveryRowMatchesDoublePrecision) {
  for (const KernelRow* row : RowsOf(OpKind::kRouterTopk)) {
    for (auto [tokens, experts, k] :
         {std::array<int64_t, 3>{0, 8, 2}, {1, 8, 2}, {37, 8, 8}, {9, 61, 6}, {5, 300, 8}}) {
      const std::vector<float> logits = Random(tokens * experts, 1, 2.0f);
      for (bool normalize : {false, true}) {
        const Chosen got = Route(*row, tokens, experts, k, normalize, logits);
        for (int64_t t = 0; t < tokens; ++t) {
          const float* x = logits.data() + t * experts;
          std::vector<int32_t> by_logit(static_cast<size_t>(experts));
          std::iota(by_logit.begin(), by_logit.end(), 0);
          std::stable_sort(by_logit.begin(), by_logit.end(),
                           [&](int a, int b) { return x[a] > x[b]; });
          double total = 0;
          for (int64_t e = 0; e < (normalize ? k : experts); ++e)
            total += std::exp(double{x[by_logit[e]]});
          for (int64_t j = 0; j < k; ++j) {
            ASSERT_EQ(got.ids[t * k + j], by_logit[j]) << Describe(*row);
            ASSERT_NEAR(got.weights[t * k + j], std::exp(double{x[by_logit[j]]}) / total, 1e-6)
                << Describe(*row);
          }
        }
      }
    }
  }
}

TEST(RouterTopk, EqualLogitsTakeTheLowerExpert) {
  for (const KernelRow* row : RowsOf(OpKind::kRouterTopk)) {
    const Chosen got = Route(*row, 1, 5, 3, true, {1, 2, 2, 1, 2});
    EXPECT_EQ(got.ids, (std::vector<int32_t>{1, 2, 4}));
  }
}

TEST(RouterTopk, NonFiniteLogitsStillGiveDistinctExperts) {
  for (const KernelRow* row : RowsOf(OpKind::kRouterTopk)) {
    for (float v : {NAN, INFINITY, -INFINITY}) {
      const Chosen got = Route(*row, 1, 6, 4, true, {v, 1.0f, v, v, v, v});
      const std::set<int32_t> distinct(got.ids.begin(), got.ids.end());
      EXPECT_EQ(distinct.size(), 4u) << Describe(*row);
      EXPECT_GE(*distinct.begin(), 0) << Describe(*row);
      EXPECT_LT(*distinct.rbegin(), 6) << Describe(*row);
    }
  }
}

}  // namespace
}  // namespace moxie::cpu
