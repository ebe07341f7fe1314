#include "tests/cpu/harness.h"

#include <cstdlib>
#include <map>

namespace moxie::cpu {
namespace {

constexpr size_t kGuard = 64;
constexpr std::byte kGuardByte{0xA5};

ThreadPool& PoolOf(int threads) {
  static std::map<int, std::unique_ptr<ThreadPool>> pools;
  auto& pool = pools[threads];
  if (!pool) pool = std::make_unique<ThreadPool>(threads);
  return *pool;
}

// Element (outer.., n, k) of a tensor, in elements from its start.
int64_t IndexOf(const TensorView& view, int64_t i) {
  if (view.packing == tensor::Packing::kPlain) return i;
  const int64_t k_size = view.size(view.rank - 1), n_size = view.size(view.rank - 2);
  const int64_t k = i % k_size, n = i / k_size % n_size, matrix = i / k_size / n_size;
  return matrix * tensor::PackedElements(view.packing, n_size, k_size) +
         (n / 32 * ((k_size + 1) / 2) + k / 2) * 64 + n % 32 * 2 + k % 2;
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> sizes, tensor::Packing packing)
    : sizes_(std::move(sizes)) {
  const backend::WeightLayout layout{packing, dtype};
  used_ = static_cast<size_t>(layout.Bytes(sizes_));
  bytes_.assign(used_ + 2 * kGuard + 64, kGuardByte);
  const auto base = reinterpret_cast<uintptr_t>(bytes_.data()) + kGuard;
  offset_ = kGuard + (64 - base % 64) % 64;
  view_.data = bytes_.data() + offset_;
  view_.dtype = dtype;
  view_.packing = packing;
  view_.rank = static_cast<int>(sizes_.size());
  int64_t stride = 1;
  for (size_t i = sizes_.size(); i-- > 0;) {
    view_.sizes[i] = sizes_[i];
    view_.strides[i] = stride;
    stride *= sizes_[i];
  }
}

Tensor Tensor::Of(DType dtype, std::vector<int64_t> sizes, const std::vector<float>& values,
                  tensor::Packing packing) {
  Tensor t(dtype, std::move(sizes), packing);
  const backend::WeightLayout layout{packing, dtype};
  const int64_t k = t.sizes_.back();
  const int64_t n = t.sizes_.size() > 1 ? t.sizes_[t.sizes_.size() - 2] : 1;
  const int64_t matrix = n * k;
  for (int64_t i = 0; matrix > 0 && i < t.view_.elements() / matrix; ++i) {
    backend::PackRows(
        layout, reinterpret_cast<const std::byte*>(values.data() + i * matrix), DType::kF32, n, k,
        0, n, t.view_.data + i * tensor::PackedElements(packing, n, k) * tensor::ByteSize(dtype));
  }
  return t;
}

Tensor Tensor::OfInts(std::vector<int64_t> sizes, const std::vector<int32_t>& values) {
  Tensor t(DType::kI32, std::move(sizes));
  std::copy(values.begin(), values.end(), t.view_.as<int32_t>());
  return t;
}

Tensor Tensor::OfLongs(std::vector<int64_t> sizes, const std::vector<int64_t>& values) {
  Tensor t(DType::kI64, std::move(sizes));
  std::copy(values.begin(), values.end(), t.view_.as<int64_t>());
  return t;
}

std::vector<double> Tensor::Values() const {
  std::vector<double> values(static_cast<size_t>(view_.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t at = IndexOf(view_, static_cast<int64_t>(i));
    values[i] = view_.dtype == DType::kF32 ? view_.as<float>()[at]
                                           : tensor::BF16ToF32(view_.as<uint16_t>()[at]);
  }
  return values;
}

std::vector<int32_t> Tensor::Ints() const {
  return {view_.as<int32_t>(), view_.as<int32_t>() + view_.elements()};
}

std::string Tensor::Bits() const { return {reinterpret_cast<const char*>(view_.data), used_}; }

bool Tensor::Intact() const {
  for (size_t i = 0; i < offset_; ++i) {
    if (bytes_[i] != kGuardByte) return false;
  }
  for (size_t i = offset_ + used_; i < bytes_.size(); ++i) {
    if (bytes_[i] != kGuardByte) return false;
  }
  return true;
}

std::vector<float> Random(int64_t n, uint32_t seed, float scale) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = normal(generator);
  return values;
}

std::vector<const KernelRow*> RowsOf(OpKind op) {
  std::vector<const KernelRow*> rows;
  for (const KernelRow& row : Kernels()) {
    if (row.op == op && row.isa <= BestIsa()) rows.push_back(&row);
  }
  EXPECT_FALSE(rows.empty());
  return rows;
}

std::string Describe(const KernelRow& row) {
  std::string out = StrCat(ir::Name(row.op), " ", Name(row.isa), " (");
  for (size_t i = 0; i + 1 < row.dtypes.size(); ++i) {
    out += StrCat(i > 0 ? ", " : "", tensor::Name(row.dtypes[i]));
  }
  return out + StrCat(") -> ", tensor::Name(row.dtypes.back()));
}

void RunRow(const KernelRow& row, const std::vector<const Tensor*>& in,
            const std::vector<Tensor*>& out, const ir::Attrs& attrs, int threads) {
  std::vector<TensorView> in_views, out_views;
  std::vector<tensor::TensorType> types;
  for (const Tensor* t : in) {
    in_views.push_back(t->view());
    tensor::Shape shape;
    for (int64_t s : t->sizes()) shape.Append(s);
    types.push_back({t->view().dtype, shape});
  }
  for (Tensor* t : out) out_views.push_back(t->view());
  const int64_t bytes = row.workspace == nullptr ? 0 : row.workspace(types, attrs, {}, threads);
  Tensor workspace(DType::kU8, {bytes});
  row.run(KernelArgs{in_views,
                     out_views,
                     attrs,
                     {workspace.view().data, static_cast<size_t>(bytes)},
                     PoolOf(threads)});
  EXPECT_TRUE(workspace.Intact()) << Describe(row) << " wrote outside its workspace of " << bytes
                                  << " bytes";
  for (Tensor* t : out) EXPECT_TRUE(t->Intact()) << Describe(row) << " wrote outside its result";
}

double Tolerance(DType to, double expected, double magnitude, int64_t terms) {
  const double rounding = to == DType::kBF16 ? std::ldexp(1.0, -8) : std::ldexp(1.0, -23);
  // Random rounding errors grow with the root of the number of terms; 4 deviations and some slack.
  const double sum =
      std::ldexp(1.0, -23) * magnitude * (1.0 + std::sqrt(static_cast<double>(terms)));
  return rounding * std::abs(expected) + sum + 1e-30;
}

}  // namespace moxie::cpu
