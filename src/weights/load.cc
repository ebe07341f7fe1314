#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "weights/load_plan.h"

namespace moxie::weights {
namespace {

constexpr int64_t kPanelRows = 32;                    // of backend::WeightLayout's panels
constexpr int64_t kUnitBytes = int64_t{1} << 20;      // of source that one thread packs at a time
constexpr size_t kUnitsAhead = 16;                    // that the kernel is asked to read early
constexpr int64_t kProgressBytes = int64_t{8} << 20;  // between two reports

// A piece of a step that one thread packs: whole panels, or a run of a plain tensor's elements.
struct Unit {
  size_t step;
  int64_t begin;  // rows of a packed matrix, elements of a plain one
  int64_t end;
};

// The bytes that a unit reads: [begin, end) of a file.
struct Source {
  const MappedFile* file;
  int64_t begin;
  int64_t end;
  size_t size() const { return static_cast<size_t>(end - begin); }
};

// Items of a unit.
int64_t Grain(int64_t item_bytes) {
  return std::max<int64_t>(kUnitBytes / item_bytes / kPanelRows, 1) * kPanelRows;
}

class Loader {
 public:
  Loader(const LoadPlan& plan, std::span<const WeightPlacement> placements,
         const Checkpoint& checkpoint, std::byte* arena, int threads, const ProgressFn& progress)
      : plan_(plan),
        placements_(placements),
        checkpoint_(checkpoint),
        arena_(arena),
        progress_(progress) {
    for (size_t s = 0; s < plan.steps.size(); ++s) Cut(s);
    for (int i = 0; i < threads; ++i) buffers_.emplace_back(static_cast<size_t>(largest_unit_));
  }

  // Called by every thread at once; member 0 reports. Ends early once any thread has failed.
  void Work(int member) {
    int64_t reported = 0;
    for (size_t u; (u = next_.fetch_add(1, std::memory_order_relaxed)) < units_.size();) {
      if (u + kUnitsAhead < units_.size()) Prefetch(SourceOf(units_[u + kUnitsAhead]));
      const Source source = SourceOf(units_[u]);
      const std::span<std::byte> bytes(buffers_[static_cast<size_t>(member)].data(), source.size());
      if (Status status = source.file->ReadAt(static_cast<size_t>(source.begin), bytes);
          !status.ok()) {
        Fail(std::move(status));
        return;
      }
      Pack(units_[u], bytes.data());
      const int64_t size = source.end - source.begin;
      const int64_t done = done_.fetch_add(size, std::memory_order_relaxed) + size;
      if (member == 0 && done - reported >= kProgressBytes) Report(reported = done);
    }
  }

  // The first failure of any thread.
  Status status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  void Report(int64_t done) const {
    if (progress_) progress_(done, total_);
  }
  int64_t total() const { return total_; }

 private:
  const backend::WeightLayout& LayoutOf(const LoadStep& step) const {
    return placements_[step.placement].layout;
  }
  bool Plain(const LoadStep& step) const {
    return LayoutOf(step).packing == tensor::Packing::kPlain;
  }
  // Source bytes of one unit of a step's length: a row, or an element.
  int64_t ItemBytes(const LoadStep& step) const {
    return tensor::ByteSize(step.source_dtype) * (Plain(step) ? 1 : step.cols);
  }

  void Cut(size_t index) {
    const LoadStep& step = plan_.steps[index];
    const int64_t items = step.rows * (Plain(step) ? step.cols : 1);
    const int64_t item_bytes = std::max<int64_t>(ItemBytes(step), 1);
    const int64_t grain = Grain(item_bytes);
    for (int64_t begin = 0; begin < items; begin += grain) {
      units_.push_back({index, begin, std::min(items, begin + grain)});
      largest_unit_ =
          std::max(largest_unit_, (std::min(items, begin + grain) - begin) * item_bytes);
    }
    total_ += items * item_bytes;
  }

  Source SourceOf(const Unit& unit) const {
    const LoadStep& step = plan_.steps[unit.step];
    const StoredTensor& stored = checkpoint_.tensors()[step.tensor];
    const int64_t start = stored.offset + step.source_offset;
    return {&checkpoint_.files()[static_cast<size_t>(stored.file)],
            start + unit.begin * ItemBytes(step), start + unit.end * ItemBytes(step)};
  }

  void Pack(const Unit& unit, const std::byte* src) {
    const LoadStep& step = plan_.steps[unit.step];
    const backend::WeightLayout& layout = LayoutOf(step);
    std::byte* dst = arena_ + step.destination;
    if (Plain(step)) {  // rows do not matter: one long row from the unit's first element
      backend::PackRows(layout, src, step.source_dtype, 1, unit.end - unit.begin, 0, 1,
                        dst + unit.begin * tensor::ByteSize(layout.dtype));
    } else {
      backend::PackRows(layout, src, step.source_dtype, step.rows, step.cols, unit.begin, unit.end,
                        dst);
    }
  }

  static void Prefetch(const Source& source) {
    source.file->Prefetch(static_cast<size_t>(source.begin), source.size());
  }

  void Fail(Status status) {
    next_.store(units_.size(), std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = std::move(status);
  }

  const LoadPlan& plan_;
  std::span<const WeightPlacement> placements_;
  const Checkpoint& checkpoint_;
  std::byte* arena_;
  const ProgressFn& progress_;
  std::vector<Unit> units_;
  int64_t total_ = 0;
  std::atomic<size_t> next_{0};
  std::atomic<int64_t> done_{0};
  int64_t largest_unit_ = 0;
  std::vector<std::vector<std::byte>> buffers_;  // one a thread, of the largest unit
  mutable std::mutex mutex_;
  Status status_;
};

// A derived weight has the same values in each iteration.
Status FillDerivedWeight(const ir::WeightSpec& spec, const WeightPlacement& placement,
                         const DeriveFn& derive, std::byte* arena) {
  int64_t elements = 1;
  for (int64_t size : placement.sizes) elements *= size;
  std::vector<float> values(static_cast<size_t>(elements));
  Status status = derive(spec.derived, values);
  if (!status.ok()) return std::move(status).WithContext(StrCat("weight ", spec.name));
  const int64_t cols = placement.sizes.empty() ? 1 : placement.sizes.back();
  const int64_t rows = cols == 0 ? 0 : elements / cols;
  for (int64_t i = 0; i < placement.count; ++i) {
    backend::PackRows(placement.layout, reinterpret_cast<const std::byte*>(values.data()),
                      tensor::DType::kF32, rows, cols, 0, rows,
                      arena + placement.offset + i * placement.stride);
  }
  return OkStatus();
}

}  // namespace

int64_t StagingBytes(std::span<const WeightPlacement> placements, int threads) {
  constexpr int64_t kWidestElement = 4;  // F32
  int64_t largest = kUnitBytes;
  for (const WeightPlacement& placement : placements) {
    if (placement.sizes.empty()) continue;
    const int64_t row = std::max<int64_t>(placement.sizes.back(), 1) * kWidestElement;
    largest = std::max(largest, Grain(row) * row);
  }
  return largest * threads;
}

Status Load(const LoadPlan& plan, std::span<const WeightPlacement> placements,
            const ir::Graph& graph, const Checkpoint& checkpoint, const DeriveFn& derive,
            memory::Arena& arena, ThreadPool& pool, const ProgressFn& progress) {
  if (arena.bytes() < WeightArenaBytes(placements)) {
    return Internal("weight arena of ", arena.bytes(), " bytes, planned ",
                    WeightArenaBytes(placements));
  }
  arena.PreferHugePages();
  for (size_t w : plan.derived) {
    MOXIE_RETURN_IF_ERROR(FillDerivedWeight(graph.weights[w], placements[w], derive, arena.data()));
  }
  Loader loader(plan, placements, checkpoint, arena.data(), pool.size(), progress);
  pool.Run([&loader](int member) { loader.Work(member); });
  MOXIE_RETURN_IF_ERROR(loader.status());
  loader.Report(loader.total());
  return OkStatus();
}

}  // namespace moxie::weights
