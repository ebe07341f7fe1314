// Speed of matrix products against this machine's limits, measured in the same run.
//
// Each product reports GFLOP/s, GB/s of weights, and both as shares of the limits (peak, read):
// what the bf16 dot (or f32 FMA) instructions reach on registers, and what plain reads of a buffer
// much larger than the caches reach. Weights rotate through copies that exceed the caches, as the
// layers of a model do. MOXIE_BENCH_THREADS=1 measures one thread by its CPU time, which other
// processes disturb less than the clock on the wall.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/cpu/kernel.h"
#include "bench/limits.h"

namespace moxie::cpu {
namespace {

using ir::AttrKey;
using ir::OpKind;
using tensor::Packing;

int Threads() {
  const char* wanted = std::getenv("MOXIE_BENCH_THREADS");
  return std::max(1, wanted != nullptr ? std::atoi(wanted)
                                       : static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool& Pool() {
  static ThreadPool pool(Threads());
  return pool;
}

// Page-aligned, filled with small numbers of both signs.
class Buffer {
 public:
  explicit Buffer(int64_t bytes)
      : bytes_(bytes), data_(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }
  void Fill(DType dtype) {
    const int64_t n = bytes_ / tensor::ByteSize(dtype);
    for (int64_t i = 0; i < n; ++i) {
      const float v = static_cast<float>((i * 2654435761u >> 7) % 255) / 127.0f - 1.0f;
      if (dtype == DType::kF32) {
        static_cast<float*>(data_)[i] = v;
      } else {
        static_cast<uint16_t*>(data_)[i] = tensor::F32ToBF16(v);
      }
    }
  }
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_;
  void* data_;
};

// The row that the executor would pick.
const KernelRow* BestRow(OpKind op, const std::vector<DType>& dtypes) {
  const KernelRow* best = nullptr;
  for (const KernelRow& row : Kernels()) {
    if (row.op == op && row.isa <= BestIsa() &&
        std::equal(row.dtypes.begin(), row.dtypes.end(), dtypes.begin(), dtypes.end()) &&
        (best == nullptr || row.isa > best->isa)) {
      best = &row;
    }
  }
  return best;
}

void Report(benchmark::State& state, double flops, double bytes, DType weights) {
  using benchmark::Counter;
  const double peak = weights == DType::kBF16 && BestIsa() == Isa::kAvx512Bf16
                          ? bench::Bf16DotFlops(Pool())
                          : bench::F32FmaFlops(Pool());
  const auto rate = Counter::kIsIterationInvariantRate;
  state.counters["GFLOP/s"] = Counter(flops / 1e9, rate);
  state.counters["GB/s"] = Counter(bytes / 1e9, rate);
  state.counters["peak"] = Counter(flops / peak, rate);
  state.counters["read"] = Counter(bytes / bench::ReadBandwidth(Pool()), rate);
}

// Copies of a weight that together exceed any cache.
int64_t CopiesOf(int64_t bytes) { return std::max<int64_t>(1, (int64_t{256} << 20) / bytes); }

void Matmul(benchmark::State& state, DType type, int64_t m, int64_t k, int64_t n) {
  const backend::WeightLayout layout{Packing::kPanel32, type};
  const std::vector<int64_t> sizes = {n, k};
  const int64_t matrix = layout.Bytes(sizes), copies = CopiesOf(matrix);
  Buffer x(m * k * tensor::ByteSize(type)), w(matrix * copies), y(m * n * 4);
  x.Fill(type);
  w.Fill(type);
  const KernelRow* row = BestRow(OpKind::kMatmul, {type, type, DType::kF32});
  const TensorView out = tensor::MakeView(y.data(), DType::kF32, {m, n});
  const ir::Attrs attrs;
  const std::vector<tensor::TensorType> types = {{type, {m, k}}, {type, {n, k}}};
  Buffer workspace(std::max<int64_t>(
      64, row->workspace == nullptr ? 0 : row->workspace(types, attrs, {}, Pool().size())));
  int64_t copy = 0;
  for (auto _ : state) {
    const TensorView in[2] = {tensor::MakeView(x.data(), type, {m, k}),
                              tensor::MakeView(static_cast<std::byte*>(w.data()) + copy * matrix,
                                               type, {n, k}, Packing::kPanel32)};
    row->run(KernelArgs{
        in,
        {&out, 1},
        attrs,
        {static_cast<std::byte*>(workspace.data()), static_cast<size_t>(workspace.bytes())},
        Pool()});
    copy = (copy + 1) % copies;
  }
  Report(state, 2.0 * static_cast<double>(m * n * k), static_cast<double>(matrix), type);
}

// Tokens to experts: evenly, or all to the first ones.
void GroupedMatmul(benchmark::State& state, int64_t tokens, int64_t experts, int64_t k, int64_t n,
                   bool skewed) {
  constexpr int64_t kTopK = 2;
  const DType type = DType::kBF16;
  const backend::WeightLayout layout{Packing::kPanel32, type};
  const std::vector<int64_t> sizes = {experts, n, k};
  const int64_t matrix = layout.Bytes(sizes), copies = CopiesOf(matrix), rows = tokens * kTopK;
  std::vector<int32_t> order, offsets = {0};
  for (int64_t e = 0; e < experts; ++e) {
    for (int64_t i = 0; i < rows; ++i) {
      if ((skewed ? i % kTopK : i % experts) == e) order.push_back(static_cast<int32_t>(i));
    }
    offsets.push_back(static_cast<int32_t>(order.size()));
  }
  int64_t used = 0;
  for (int64_t e = 0; e < experts; ++e) used += offsets[e + 1] > offsets[e];
  Buffer x(tokens * k * 2), w(matrix * copies), y(rows * n * 4);
  x.Fill(type);
  w.Fill(type);
  const KernelRow* row =
      BestRow(OpKind::kGroupedMatmul, {type, type, DType::kI32, DType::kI32, DType::kF32});
  const TensorView out = tensor::MakeView(y.data(), DType::kF32, {rows, n});
  const ir::Attrs attrs = {{AttrKey::kGather, int64_t{1}}, {AttrKey::kTopK, kTopK}};
  const std::vector<tensor::TensorType> types = {{type, {tokens, k}},
                                                 {type, {experts, n, k}},
                                                 {DType::kI32, {rows}},
                                                 {DType::kI32, {experts + 1}}};
  Buffer workspace(std::max<int64_t>(
      64, row->workspace == nullptr ? 0 : row->workspace(types, attrs, {}, Pool().size())));
  int64_t copy = 0;
  for (auto _ : state) {
    const TensorView in[4] = {tensor::MakeView(x.data(), type, {tokens, k}),
                              tensor::MakeView(static_cast<std::byte*>(w.data()) + copy * matrix,
                                               type, {experts, n, k}, Packing::kPanel32),
                              tensor::MakeView(order.data(), DType::kI32, {rows}),
                              tensor::MakeView(offsets.data(), DType::kI32, {experts + 1})};
    row->run(KernelArgs{
        in,
        {&out, 1},
        attrs,
        {static_cast<std::byte*>(workspace.data()), static_cast<size_t>(workspace.bytes())},
        Pool()});
    copy = (copy + 1) % copies;
  }
  Report(state, 2.0 * static_cast<double>(rows * n * k),
         static_cast<double>(matrix * used / experts), type);
}

void Limits(benchmark::State& state) {
  for (auto _ : state) benchmark::ClobberMemory();
  state.counters["read GB/s"] = bench::ReadBandwidth(Pool()) / 1e9;
  state.counters["bf16 GFLOP/s"] = bench::Bf16DotFlops(Pool()) / 1e9;
  state.counters["f32 GFLOP/s"] = bench::F32FmaFlops(Pool()) / 1e9;
}

template <typename F>
void Add(const std::string& name, F&& f) {
  auto* benchmark = benchmark::RegisterBenchmark(name.c_str(), f);
  if (Threads() > 1) benchmark->UseRealTime();
}

[[maybe_unused]] const bool registered = [] {
  benchmark::RegisterBenchmark("limits", Limits)->Iterations(1);
  const std::pair<int64_t, int64_t> shapes[] = {
      {576, 1536}, {1536, 576}, {576, 49152}, {4096, 4096}};  // K, N
  for (DType type : {DType::kBF16, DType::kF32}) {
    for (auto [k, n] : shapes) {
      for (int64_t m : {1, 8, 32, 512}) {
        const std::string name = StrCat("matmul/", tensor::Name(type), "/", k, "x", n, "/rows:", m);
        Add(name, [=](benchmark::State& s) { Matmul(s, type, m, k, n); });
      }
    }
  }
  for (bool skewed : {false, true}) {
    for (auto [k, n] : {shapes[0], shapes[1]}) {
      for (int64_t m : {1, 8, 32, 512}) {
        const std::string name =
            StrCat("grouped_matmul/", skewed ? "skewed/" : "even/", k, "x", n, "/tokens:", m);
        Add(name, [=](benchmark::State& s) { GroupedMatmul(s, m, 8, k, n, skewed); });
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace moxie::cpu
