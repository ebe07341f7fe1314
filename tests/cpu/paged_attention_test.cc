#include <gtest/gtest.h>

#include <numeric>

#include "tests/cpu/harness.h"

namespace moxie::cpu {
namespace {

struct Sequence {
  int64_t rows, context;  // rows of this step, tokens after it
};

struct AttentionCase {
  std::string name;
  int64_t heads, kv_heads, dim, block, window;
  std::vector<Sequence> seqs;
  float scale = 0.2f;
};

// A step's tensors; `seed` picks where blocks lie, not what is in them.
struct Step {
  Tensor q, kv, tables, start, context;
  std::vector<double> k, v;   // [seq][position][kv_heads * dim], one after another
  std::vector<int64_t> base;  // of each sequence in k and v
  ir::Attrs attrs;
};

int64_t Blocks(const AttentionCase& c, const Sequence& s) {
  return (s.context + c.block - 1) / c.block;
}

Step MakeStep(const AttentionCase& c, DType q_type, DType kv_type, uint32_t seed) {
  int64_t rows = 0, blocks = 1, width = 1, tokens = 0;
  std::vector<int32_t> start = {0}, context;
  for (const Sequence& s : c.seqs) {
    rows += s.rows;
    blocks += Blocks(c, s);
    width = std::max(width, Blocks(c, s));
    tokens += s.context;
    start.push_back(static_cast<int32_t>(rows));
    context.push_back(static_cast<int32_t>(s.context));
  }
  std::vector<int32_t> free(static_cast<size_t>(blocks)), tables;
  std::iota(free.begin(), free.end(), 0);
  std::mt19937 generator(seed);
  std::shuffle(free.begin(), free.end(), generator);

  // Slots that hold no token are NaN: nobody may look at them.
  const int64_t seqs = static_cast<int64_t>(c.seqs.size()), kvd = c.kv_heads * c.dim;
  std::vector<float> cache(static_cast<size_t>(blocks * 2 * c.block * kvd), NAN);
  const std::vector<float> k = Random(tokens * kvd, 11), v = Random(tokens * kvd, 12);
  std::vector<int64_t> base;
  int64_t token = 0;
  size_t next = 0;
  for (const Sequence& s : c.seqs) {
    base.push_back(token * kvd);
    std::vector<int32_t> table(static_cast<size_t>(width), -1);
    for (int64_t b = 0; b < Blocks(c, s); ++b) table[b] = free[next++];
    for (int64_t p = 0; p < s.context; ++p, ++token) {
      for (int64_t i = 0; i < kvd; ++i) {
        for (int64_t part = 0; part < 2; ++part) {
          const int64_t at =
              (((table[p / c.block] * 2 + part) * c.kv_heads + i / c.dim) * c.block + p % c.block) *
              c.dim;
          cache[at + i % c.dim] = (part == 0 ? k : v)[token * kvd + i];
        }
      }
    }
    tables.insert(tables.end(), table.begin(), table.end());
  }
  Step step{Tensor::Of(q_type, {rows, c.heads * c.dim}, Random(rows * c.heads * c.dim, 13)),
            Tensor::Of(kv_type, {blocks, 2, c.kv_heads, c.block, c.dim}, cache),
            Tensor::OfInts({seqs, width}, tables),
            Tensor::OfInts({seqs + 1}, start),
            Tensor::OfInts({seqs}, context),
            Tensor::Of(kv_type, {tokens, kvd}, k).Values(),
            Tensor::Of(kv_type, {tokens, kvd}, v).Values(),
            base,
            {{AttrKey::kHeads, c.heads},
             {AttrKey::kKvHeads, c.kv_heads},
             {AttrKey::kHeadDim, c.dim},
             {AttrKey::kScale, static_cast<double>(c.scale)},
             {AttrKey::kWindow, c.window}}};
  return step;
}

Tensor Attend(const KernelRow& row, const Step& s, int threads) {
  Tensor out(Result0(row), s.q.sizes());
  RunRow(row, {&s.q, &s.kv, &s.tables, &s.start, &s.context}, {&out}, s.attrs, threads);
  return out;
}

// Attention of one row and head in double precision, and the sums of the magnitudes of its terms.
struct RowResult {
  std::vector<double> out, magnitude;
};
RowResult Expected(const AttentionCase& c, const Step& step, size_t s, int64_t position,
                   const double* q, int64_t head) {
  const int64_t kvd = c.kv_heads * c.dim;
  const int64_t first = c.window > 0 ? std::max<int64_t>(0, position - c.window + 1) : 0;
  const int64_t at = step.base[s] + head / (c.heads / c.kv_heads) * c.dim;
  std::vector<double> p;
  RowResult result{std::vector<double>(c.dim), std::vector<double>(c.dim)};
  double max = -1e300, total = 0;
  for (int64_t j = first; j <= position; ++j) {
    double dot = 0;
    for (int64_t i = 0; i < c.dim; ++i) dot += q[i] * step.k[at + j * kvd + i];
    p.push_back(dot * static_cast<double>(c.scale));
    max = std::max(max, p.back());
  }
  for (double& x : p) total += x = std::exp(x - max);
  for (int64_t j = first; j <= position; ++j) {
    for (int64_t i = 0; i < c.dim; ++i) {
      const double term = p[j - first] / total * step.v[at + j * kvd + i];
      result.out[i] += term;
      result.magnitude[i] += std::abs(term);
    }
  }
  return result;
}

// Scores carry an error of some 2^-22 of their size, which moves the weights by as much.
double ToleranceOf(const KernelRow& row, const AttentionCase& c, double expected,
                   double magnitude) {
  return Tolerance(Result0(row), expected, magnitude, 300) + 3e-6 * c.scale * 64 * magnitude;
}

const std::vector<AttentionCase>& Cases() {
  static const std::vector<AttentionCase> cases = {
      {"no sequences", 2, 1, 16, 16, 0, {}},
      {"one token", 3, 1, 64, 16, 0, {{1, 1}}},
      {"decode", 9, 3, 64, 16, 0, {{1, 5}, {1, 300}, {1, 256}, {1, 257}}},
      {"prefill", 4, 2, 32, 16, 0, {{37, 37}}},
      {"chunk after 255 tokens", 4, 4, 24, 8, 0, {{9, 264}}},
      {"mixed, odd sizes", 6, 2, 20, 7, 0, {{1, 70}, {33, 33}, {0, 12}, {13, 289}}},
      {"window", 4, 2, 32, 16, 10, {{40, 40}, {1, 300}, {3, 5}}},
      {"window over tiles", 2, 1, 16, 16, 300, {{30, 620}, {1, 556}}},
      {"window of one", 2, 2, 8, 4, 1, {{9, 9}, {1, 513}}},
      {"odd head size", 2, 1, 5, 3, 0, {{4, 11}}},
      {"head size 128", 8, 1, 128, 32, 0, {{5, 261}}},
      {"large scores", 2, 1, 64, 16, 0, {{20, 280}}, 8.0f},
  };
  return cases;
}

TEST(PagedAttention, EveryRowMatchesDoublePrecision) {
  for (const KernelRow* row : RowsOf(OpKind::kPagedAttention)) {
    for (const AttentionCase& c : Cases()) {
      const Step step = MakeStep(c, row->dtypes[0], row->dtypes[1], 1);
      const Tensor out = Attend(*row, step, 2);
      const auto q = step.q.Values(), got = out.Values();
      int64_t r = 0;
      for (size_t s = 0; s < c.seqs.size(); ++s) {
        for (int64_t i = 0; i < c.seqs[s].rows; ++i, ++r) {
          for (int64_t head = 0; head < c.heads; ++head) {
            const int64_t at = (r * c.heads + head) * c.dim;
            const RowResult expected =
                Expected(c, step, s, c.seqs[s].context - c.seqs[s].rows + i, &q[at], head);
            for (int64_t d = 0; d < c.dim; ++d) {
              ASSERT_NEAR(got[at + d], expected.out[d],
                          ToleranceOf(*row, c, expected.out[d], expected.magnitude[d]))
                  << Describe(*row) << ", " << c.name << ": row " << r << " head " << head << " d "
                  << d;
            }
          }
        }
      }
    }
  }
}

TEST(PagedAttention, ThreadsAndBlocksDoNotChangeBits) {
  for (const KernelRow* row : RowsOf(OpKind::kPagedAttention)) {
    for (const AttentionCase& c : Cases()) {
      const std::string bits =
          Attend(*row, MakeStep(c, row->dtypes[0], row->dtypes[1], 1), 1).Bits();
      for (int threads : {2, 3, 7}) {
        const Step moved =
            MakeStep(c, row->dtypes[0], row->dtypes[1], static_cast<uint32_t>(threads));
        ASSERT_EQ(Attend(*row, moved, threads).Bits(), bits) << Describe(*row) << ", " << c.name;
      }
    }
  }
}

// A prompt in one step, in chunks, and token by token beside another sequence: the same bits.
TEST(PagedAttention, PrefillEqualsDecode) {
  constexpr int64_t kLength = 279;
  for (const KernelRow* row : RowsOf(OpKind::kPagedAttention)) {
    for (int64_t window : {0, 40}) {
      const AttentionCase whole = {"whole", 6, 2, 40, 16, window, {{kLength, kLength}}};
      const Step step = MakeStep(whole, row->dtypes[0], row->dtypes[1], 1);
      const std::string bits = Attend(*row, step, 2).Bits();
      const size_t row_bytes = bits.size() / kLength;
      const std::vector<float> q = Random(kLength * 240, 13);
      for (int64_t chunk : {1, 7, 100}) {
        for (int64_t first : {int64_t{0}, int64_t{254}, kLength - chunk}) {
          if (first + chunk > kLength) continue;
          // The step after `first` tokens; later keys are in the cache and must not be seen.
          Step part = MakeStep(whole, row->dtypes[0], row->dtypes[1], 5);
          part.q = Tensor::Of(row->dtypes[0], {chunk, 240},
                              {q.begin() + first * 240, q.begin() + (first + chunk) * 240});
          part.start = Tensor::OfInts({2}, {0, static_cast<int32_t>(chunk)});
          part.context = Tensor::OfInts({1}, {static_cast<int32_t>(first + chunk)});
          ASSERT_EQ(Attend(*row, part, 3).Bits(),
                    bits.substr(static_cast<size_t>(first) * row_bytes,
                                static_cast<size_t>(chunk) * row_bytes))
              << Describe(*row) << " rows " << first << " to " << first + chunk << ", window "
              << window;
        }
      }
    }
  }
}

// A query of NaNs or infinities spoils its own row and no other.
TEST(PagedAttention, NonFiniteQueriesStayAlone) {
  const AttentionCase c = {"mixed", 4, 2, 32, 16, 0, {{20, 270}, {1, 30}}};
  constexpr int64_t kWidth = 4 * 32;
  for (const KernelRow* row : RowsOf(OpKind::kPagedAttention)) {
    Step step = MakeStep(c, row->dtypes[0], row->dtypes[1], 1);
    const std::vector<double> clean = Attend(*row, step, 2).Values();
    std::vector<float> q = Random(21 * kWidth, 13);
    q[3 * kWidth + 5] = NAN;
    std::fill(q.begin() + 9 * kWidth, q.begin() + 10 * kWidth, INFINITY);
    step.q = Tensor::Of(row->dtypes[0], {21, kWidth}, q);
    const std::vector<double> got = Attend(*row, step, 2).Values();
    for (int64_t i = 0; i < 21 * kWidth; ++i) {
      if (i / kWidth == 3 || i / kWidth == 9) continue;
      ASSERT_EQ(got[i], clean[i]) << Describe(*row) << " row " << i / kWidth;
    }
    ASSERT_TRUE(std::isnan(got[3 * kWidth])) << Describe(*row);
  }
}

}  // namespace
}  // namespace moxie::cpu
