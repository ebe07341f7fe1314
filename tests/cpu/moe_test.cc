// expert_sort, grouped_matmul, moe_combine and moe_ffn, which share their cases.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/cpu/harness.h"

namespace moxie::cpu {
namespace {

struct MoeCase {
  std::string name;
  int64_t tokens, top_k, experts, hidden, intermediate;
  std::vector<int32_t> ids;  // [tokens, top_k]
};

// Distinct random experts a token.
std::vector<int32_t> RandomIds(int64_t tokens, int64_t k, int64_t experts, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<int32_t> all(static_cast<size_t>(experts)), ids;
  std::iota(all.begin(), all.end(), 0);
  for (int64_t t = 0; t < tokens; ++t) {
    std::shuffle(all.begin(), all.end(), generator);
    ids.insert(ids.end(), all.begin(), all.begin() + k);
  }
  return ids;
}

std::vector<MoeCase> Cases() {
  return {{"no tokens", 0, 2, 4, 16, 8, {}},
          {"one token", 1, 2, 8, 33, 40, {7, 2}},
          {"uniform", 37, 2, 8, 64, 96, RandomIds(37, 2, 8, 1)},
          {"all to one", 53, 1, 8, 35, 31, std::vector<int32_t>(53, 5)},
          {"many experts, most empty", 11, 3, 300, 17, 33, RandomIds(11, 3, 300, 2)},
          {"large groups", 150, 2, 3, 48, 70, RandomIds(150, 2, 3, 3)}};
}

struct Sorted {
  Tensor order, position, offsets;
};

Sorted Sort(const MoeCase& c) {
  const KernelRow& row = *RowsOf(OpKind::kExpertSort).front();
  const Tensor ids = Tensor::OfInts({c.tokens, c.top_k}, c.ids);
  Sorted s{Tensor(DType::kI32, {c.tokens * c.top_k}), Tensor(DType::kI32, {c.tokens * c.top_k}),
           Tensor(DType::kI32, {c.experts + 1})};
  RunRow(row, {&ids}, {&s.order, &s.position, &s.offsets}, {{AttrKey::kExperts, c.experts}});
  return s;
}

TEST(ExpertSort, IsAStableSortAndItsInverse) {
  for (const MoeCase& c : Cases()) {
    const Sorted s = Sort(c);
    const auto order = s.order.Ints(), position = s.position.Ints(), offsets = s.offsets.Ints();
    EXPECT_EQ(offsets.front(), 0) << c.name;
    EXPECT_EQ(offsets.back(), static_cast<int32_t>(c.ids.size())) << c.name;
    for (int64_t e = 0; e < c.experts; ++e) {
      for (int32_t i = offsets[e]; i < offsets[e + 1]; ++i) {
        EXPECT_EQ(c.ids[order[i]], e) << c.name;
        EXPECT_EQ(position[order[i]], i) << c.name;
        if (i > offsets[e]) {
          EXPECT_GT(order[i], order[i - 1]) << c.name;
        }
      }
    }
  }
}

TEST(GroupedMatmul, EveryRowMatchesDoublePrecision) {
  for (const KernelRow* row : RowsOf(OpKind::kGroupedMatmul)) {
    for (const MoeCase& c : Cases()) {
      const Sorted s = Sort(c);
      const auto order = s.order.Ints();
      const int64_t rows = c.tokens * c.top_k, n = c.intermediate, k = c.hidden;
      for (int64_t gather : {1, 0}) {
        const int64_t x_rows = gather ? c.tokens : rows;
        const Tensor x = Tensor::Of(row->dtypes[0], {x_rows, k}, Random(x_rows * k, 1));
        const Tensor w = Tensor::Of(row->dtypes[1], {c.experts, n, k}, Random(c.experts * n * k, 2),
                                    PackingOf(*row, 1));
        const ir::Attrs attrs = {{AttrKey::kGather, gather}, {AttrKey::kTopK, c.top_k}};
        Tensor y(Result0(*row), {rows, n});
        RunRow(*row, {&x, &w, &s.order, &s.offsets}, {&y}, attrs, 1);
        const auto xv = x.Values(), wv = w.Values(), got = y.Values();
        for (int64_t i = 0; i < rows; ++i) {
          const int64_t from = gather ? order[i] / c.top_k : i, e = c.ids[order[i]];
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0, magnitude = 0;
            for (int64_t l = 0; l < k; ++l) {
              const double product = xv[from * k + l] * wv[(e * n + j) * k + l];
              sum += product;
              magnitude += std::abs(product);
            }
            ASSERT_NEAR(got[i * n + j], sum, Tolerance(Result0(*row), sum, magnitude, k))
                << Describe(*row) << ", " << c.name << " at (" << i << ", " << j << ")";
          }
        }
        for (int threads : {2, 3, 7}) {
          Tensor again(Result0(*row), {rows, n});
          RunRow(*row, {&x, &w, &s.order, &s.offsets}, {&again}, attrs, threads);
          ASSERT_EQ(again.Bits(), y.Bits())
              << Describe(*row) << ", " << c.name << ", " << threads << " threads";
        }
      }
    }
  }
}

// A token's rows are the same to the bit alone and with others.
TEST(GroupedMatmul, OtherTokensDoNotChangeBits) {
  const MoeCase all = {"all", 90, 2, 5, 40, 70, RandomIds(90, 2, 5, 4)};
  for (const KernelRow* row : RowsOf(OpKind::kGroupedMatmul)) {
    const std::vector<float> values = Random(all.tokens * all.hidden, 1);
    const Tensor x = Tensor::Of(row->dtypes[0], {all.tokens, all.hidden}, values);
    const Tensor w =
        Tensor::Of(row->dtypes[1], {all.experts, all.intermediate, all.hidden},
                   Random(all.experts * all.intermediate * all.hidden, 2), PackingOf(*row, 1));
    const ir::Attrs attrs = {{AttrKey::kGather, int64_t{1}}, {AttrKey::kTopK, all.top_k}};
    const Sorted s = Sort(all);
    Tensor whole(Result0(*row), {all.tokens * all.top_k, all.intermediate});
    RunRow(*row, {&x, &w, &s.order, &s.offsets}, {&whole}, attrs);
    const size_t row_bytes = whole.Bits().size() / static_cast<size_t>(all.tokens * all.top_k);
    for (int64_t t : {0, 17, 89}) {
      const MoeCase one = {"one", 1, 2, 5, 40, 70, {all.ids[2 * t], all.ids[2 * t + 1]}};
      const Tensor x1 =
          Tensor::Of(row->dtypes[0], {1, all.hidden},
                     {values.begin() + t * all.hidden, values.begin() + (t + 1) * all.hidden});
      const Sorted s1 = Sort(one);
      Tensor y(Result0(*row), {2, all.intermediate});
      RunRow(*row, {&x1, &w, &s1.order, &s1.offsets}, {&y}, attrs);
      for (size_t j = 0; j < 2; ++j) {
        const size_t in_whole = static_cast<size_t>(s.position.Ints()[2 * t + j]);
        const size_t in_one = static_cast<size_t>(s1.position.Ints()[j]);
        ASSERT_EQ(y.Bits().substr(in_one * row_bytes, row_bytes),
                  whole.Bits().substr(in_whole * row_bytes, row_bytes))
            << Describe(*row) << " token " << t;
      }
    }
  }
}

TEST(MoeCombine, EveryRowMatchesDoublePrecision) {
  for (const KernelRow* row : RowsOf(OpKind::kMoeCombine)) {
    for (const MoeCase& c : Cases()) {
      const Sorted s = Sort(c);
      const int64_t rows = c.tokens * c.top_k, h = c.hidden;
      const Tensor y = Tensor::Of(row->dtypes[0], {rows, h}, Random(rows * h, 1));
      const Tensor weights = Tensor::Of(DType::kF32, {c.tokens, c.top_k}, Random(rows, 2));
      Tensor out(DType::kF32, {c.tokens, h});
      RunRow(*row, {&y, &s.position, &weights}, {&out}, {});
      const auto yv = y.Values(), wv = weights.Values(), got = out.Values();
      const auto position = s.position.Ints();
      for (int64_t t = 0; t < c.tokens; ++t) {
        for (int64_t i = 0; i < h; ++i) {
          double sum = 0, magnitude = 0;
          for (int64_t j = 0; j < c.top_k; ++j) {
            const double product = wv[t * c.top_k + j] * yv[position[t * c.top_k + j] * h + i];
            sum += product;
            magnitude += std::abs(product);
          }
          ASSERT_NEAR(got[t * h + i], sum, Tolerance(DType::kF32, sum, magnitude, c.top_k))
              << Describe(*row);
        }
      }
    }
  }
}

// The unfused chain with rows of the same ISA and types: what moe_ffn says that it equals, to the
// bit.
Tensor Unfused(const KernelRow& ffn, DType act_type, const MoeCase& c, const Tensor& x,
               const Tensor& weights, const Tensor& gate, const Tensor& up, const Tensor& down) {
  auto find = [&](OpKind op, std::vector<DType> dtypes) {
    const KernelRow* best = nullptr;
    for (const KernelRow* row : RowsOf(op)) {
      if (row->isa <= ffn.isa &&
          std::vector<DType>(row->dtypes.begin(), row->dtypes.end()) == dtypes &&
          (best == nullptr || row->isa > best->isa)) {
        best = row;
      }
    }
    return best;
  };
  const Sorted s = Sort(c);
  const int64_t rows = c.tokens * c.top_k;
  const ir::Attrs gather = {{AttrKey::kGather, int64_t{1}}, {AttrKey::kTopK, c.top_k}};
  const ir::Attrs sorted = {{AttrKey::kGather, int64_t{0}}, {AttrKey::kTopK, c.top_k}};
  Tensor g(DType::kF32, {rows, c.intermediate}), u(DType::kF32, {rows, c.intermediate}),
      act(act_type, {rows, c.intermediate}), y(DType::kF32, {rows, c.hidden}),
      out(DType::kF32, {c.tokens, c.hidden});
  const DType i32 = DType::kI32, f32 = DType::kF32, w = gate.view().dtype;
  const KernelRow* first = find(OpKind::kGroupedMatmul, {x.view().dtype, w, i32, i32, f32});
  RunRow(*first, {&x, &gate, &s.order, &s.offsets}, {&g}, gather);
  RunRow(*first, {&x, &up, &s.order, &s.offsets}, {&u}, gather);
  RunRow(*find(OpKind::kSiluMul, {f32, f32, act_type}), {&g, &u}, {&act}, {});
  RunRow(*find(OpKind::kGroupedMatmul, {act_type, w, i32, i32, f32}),
         {&act, &down, &s.order, &s.offsets}, {&y}, sorted);
  RunRow(*find(OpKind::kMoeCombine, {f32, i32, f32, f32}), {&y, &s.position, &weights}, {&out}, {});
  return out;
}

TEST(MoeFfn, EqualsTheUnfusedChainToTheBit) {
  for (const KernelRow* row : RowsOf(OpKind::kMoeFfn)) {
    for (const MoeCase& c : Cases()) {
      const int64_t matrix = c.experts * c.hidden * c.intermediate;
      const Tensor x =
          Tensor::Of(row->dtypes[0], {c.tokens, c.hidden}, Random(c.tokens * c.hidden, 1));
      const Tensor weights =
          Tensor::Of(DType::kF32, {c.tokens, c.top_k}, Random(c.tokens * c.top_k, 2));
      const Tensor ids = Tensor::OfInts({c.tokens, c.top_k}, c.ids);
      const DType w = row->dtypes[3];
      const auto panels = PackingOf(*row, 3);
      const Tensor gate =
          Tensor::Of(w, {c.experts, c.intermediate, c.hidden}, Random(matrix, 3, 0.1f), panels);
      const Tensor up =
          Tensor::Of(w, {c.experts, c.intermediate, c.hidden}, Random(matrix, 4, 0.1f), panels);
      const Tensor down =
          Tensor::Of(w, {c.experts, c.hidden, c.intermediate}, Random(matrix, 5, 0.1f), panels);
      for (DType act : {DType::kF32, DType::kBF16}) {
        const Tensor expected = Unfused(*row, act, c, x, weights, gate, up, down);
        for (int threads : {1, 2, 3}) {
          Tensor out(DType::kF32, {c.tokens, c.hidden});
          RunRow(*row, {&x, &weights, &ids, &gate, &up, &down}, {&out},
                 {{AttrKey::kDType, std::string(tensor::Name(act))}}, threads);
          ASSERT_EQ(out.Bits(), expected.Bits())
              << Describe(*row) << ", " << c.name << ", " << threads << " threads";
        }
      }
    }
  }
}

}  // namespace
}  // namespace moxie::cpu
