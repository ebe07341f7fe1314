#include "weights/load_plan.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

namespace moxie::weights {
namespace {

constexpr size_t kMaxNamed = 10;  // tensors that one message names, of each kind of problem

// What is wrong with a checkpoint, as one line.
class Problems {
 public:
  void Missing(std::string tensor) { Add(0, std::move(tensor)); }
  void Wrong(std::string what) { Add(1, std::move(what)); }
  void LeftOver(std::string tensor) { Add(2, std::move(tensor)); }

  Status ToStatus(const Checkpoint& checkpoint) const {
    std::string text;
    for (const Kind& kind : kinds_) {
      if (kind.count == 0) continue;
      text += StrCat(text.empty() ? "" : "; ", kind.count, kind.title, ": ", kind.named);
      if (kind.count > kMaxNamed) text += ", ...";
    }
    if (text.empty()) return OkStatus();
    return InvalidArgument(checkpoint.directory().string(),
                           ": does not hold this model's weights: ", text);
  }

 private:
  struct Kind {
    std::string_view title;
    size_t count;
    std::string named;
  };
  void Add(size_t index, std::string what) {
    Kind& kind = kinds_[index];
    if (++kind.count > kMaxNamed) return;
    kind.named += StrCat(kind.count > 1 ? ", " : "", what);
  }

  std::array<Kind, 3> kinds_{Kind{" missing", 0, {}}, Kind{" wrong", 0, {}},
                             Kind{" left over", 0, {}}};
};

std::string Replace(std::string text, std::string_view what, int64_t number) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;) {
    text.replace(at, what.size(), StrCat(number));
  }
  return text;
}

// The matrices of one stored tensor: `leading` of them, [rows, cols] each.
struct Matrices {
  explicit Matrices(std::span<const int64_t> sizes) {
    const size_t rank = sizes.size();
    if (rank > 0) cols = sizes[rank - 1];
    if (rank > 1) rows = sizes[rank - 2];
    for (size_t d = 0; d + 2 < rank; ++d) leading *= sizes[d];
  }
  int64_t leading = 1;
  int64_t rows = 1;
  int64_t cols = 1;
};

// Whether `name` is `pattern`, in which {i} and {e} stand for any number.
bool Matches(std::string_view pattern, std::string_view name) {
  while (!pattern.empty()) {
    if (pattern.starts_with("{i}") || pattern.starts_with("{e}")) {
      const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
      if (digits == 0) return false;
      pattern.remove_prefix(3);
      name.remove_prefix(digits);
    } else {
      if (!name.starts_with(pattern.front())) return false;
      pattern.remove_prefix(1);
      name.remove_prefix(1);
    }
  }
  return name.empty();
}

bool IsIgnored(std::string_view name, std::span<const std::string> ignored) {
  return std::ranges::any_of(ignored,
                             [name](const auto& pattern) { return Matches(pattern, name); });
}

// Matches weights with tensors, collecting steps and everything that does not fit.
class Matcher {
 public:
  explicit Matcher(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint), uses_(checkpoint.tensors().size(), Use::kNone) {}

  // Adds the steps that fill one weight.
  void Fill(const ir::WeightSpec& spec, size_t index, const WeightPlacement& placement) {
    const ir::CheckpointName& source = Choose(spec, placement);
    const bool by_expert = HasExperts(source);
    const int64_t experts = by_expert ? placement.sizes[0] : 1;
    for (int64_t i = 0; i < placement.count; ++i) {
      for (int64_t e = 0; e < experts; ++e) {
        const int64_t destination = placement.offset + i * placement.stride +
                                    e * (placement.bytes / std::max<int64_t>(experts, 1));
        FillFrom(source, Replace(Replace(source.name, "{i}", i), "{e}", e), index, placement,
                 destination);
      }
    }
  }

  // What is not read by any step, or only in part, or twice; fills plan.ignored.
  void CheckConsumed(std::span<const std::string> ignored) {
    auto position = [](const LoadStep& s) { return std::tuple(s.tensor, s.source_offset); };
    std::ranges::sort(plan_.steps, {}, position);
    auto step = plan_.steps.begin();
    for (size_t t = 0; t < checkpoint_.tensors().size(); ++t) {
      auto end =
          std::find_if(step, plan_.steps.end(), [t](const LoadStep& s) { return s.tensor != t; });
      CheckTensor(t, {step, end}, ignored);
      step = end;
    }
  }

  LoadPlan& plan() { return plan_; }
  Status status() const { return problems_.ToStatus(checkpoint_); }

 private:
  static bool HasExperts(const ir::CheckpointName& source) {
    return source.name.find("{e}") != std::string::npos;
  }

  // The first spelling of which the checkpoint has any tensor; the first of all when it has none.
  const ir::CheckpointName& Choose(const ir::WeightSpec& spec,
                                   const WeightPlacement& placement) const {
    for (const ir::CheckpointName& source : spec.checkpoint) {
      const int64_t experts = HasExperts(source) ? placement.sizes[0] : 1;
      for (int64_t i = 0; i < spec.count; ++i) {
        for (int64_t e = 0; e < experts; ++e) {
          if (checkpoint_.Find(Replace(Replace(source.name, "{i}", i), "{e}", e))) return source;
        }
      }
    }
    return spec.checkpoint.front();
  }

  void FillFrom(const ir::CheckpointName& source, const std::string& name, size_t index,
                const WeightPlacement& placement, int64_t destination) {
    const int64_t found = checkpoint_.IndexOf(name);
    if (found < 0) return problems_.Missing(StrCat("\"", name, "\""));
    const StoredTensor& stored = checkpoint_.tensors()[static_cast<size_t>(found)];
    std::vector<int64_t> sizes(placement.sizes.begin() + (HasExperts(source) ? 1 : 0),
                               placement.sizes.end());
    Use& use = uses_[static_cast<size_t>(found)];
    if (!Fits(stored, sizes, source.parts)) use = Use::kWrong;
    if (use == Use::kWrong) return;
    use = Use::kRead;
    const Matrices matrices(sizes);
    const int64_t source_bytes = matrices.rows * matrices.cols * tensor::ByteSize(*stored.dtype);
    const int64_t packed_bytes =
        placement.layout.Bytes(sizes) / std::max<int64_t>(matrices.leading, 1);
    for (int64_t m = 0; m < matrices.leading; ++m) {
      plan_.steps.push_back({.tensor = static_cast<size_t>(found),
                             .source_offset = (m * source.parts + source.part) * source_bytes,
                             .source_dtype = *stored.dtype,
                             .placement = index,
                             .destination = destination + m * packed_bytes,
                             .rows = matrices.rows,
                             .cols = matrices.cols});
    }
  }

  // Whether a stored tensor has the shape of `parts` fused ones of `sizes`, and a dtype that we
  // convert.
  bool Fits(const StoredTensor& stored, std::vector<int64_t> sizes, int64_t parts) {
    if (!sizes.empty()) sizes[sizes.size() > 1 ? sizes.size() - 2 : 0] *= parts;
    if (stored.shape != sizes) {
      problems_.Wrong(StrCat(Where(stored), " has shape ", ShapeText(stored.shape), ", expected ",
                             ShapeText(sizes)));
      return false;
    }
    if (!stored.dtype || !tensor::Info(*stored.dtype).floating) {
      problems_.Wrong(
          StrCat(Where(stored), " has dtype ", stored.dtype_name, ", expected BF16, F16 or F32"));
      return false;
    }
    return true;
  }

  // Steps are in order of their offsets: they must tile the tensor.
  void CheckTensor(size_t index, std::span<const LoadStep> steps,
                   std::span<const std::string> ignored) {
    const StoredTensor& stored = checkpoint_.tensors()[index];
    if (uses_[index] == Use::kNone && IsIgnored(stored.name, ignored))
      plan_.ignored.push_back(index);
    else if (uses_[index] == Use::kNone)
      problems_.LeftOver(StrCat("\"", stored.name, "\""));
    if (uses_[index] != Use::kRead) return;
    int64_t end = 0;
    for (const LoadStep& step : steps) {
      if (step.source_offset < end) return problems_.Wrong(StrCat(Where(stored), " is read twice"));
      if (step.source_offset > end) break;
      end += step.rows * step.cols * tensor::ByteSize(step.source_dtype);
    }
    if (end != stored.bytes) {
      problems_.Wrong(StrCat(Where(stored),
                             " is read only in part: nothing takes what follows byte ", end, " of ",
                             stored.bytes));
    }
  }

  // "model.safetensors: tensor "lm_head.weight""
  std::string Where(const StoredTensor& stored) const {
    return StrCat(checkpoint_.files()[static_cast<size_t>(stored.file)].path().filename().string(),
                  ": tensor \"", stored.name, "\"");
  }

  enum class Use : uint8_t { kNone, kRead, kWrong };

  const Checkpoint& checkpoint_;
  std::vector<Use> uses_;  // of each tensor
  LoadPlan plan_;
  Problems problems_;
};

}  // namespace

Result<LoadPlan> MakeLoadPlan(const ir::Graph& graph, std::span<const WeightPlacement> placements,
                              const Checkpoint& checkpoint, std::span<const std::string> ignored) {
  if (placements.size() != graph.weights.size()) {
    return Internal("graph ", graph.name, " has ", graph.weights.size(), " weights and ",
                    placements.size(), " placements");
  }
  Matcher matcher(checkpoint);
  for (size_t w = 0; w < placements.size(); ++w) {
    const ir::WeightSpec& spec = graph.weights[w];
    if (!spec.derived.empty()) {
      matcher.plan().derived.push_back(w);
    } else if (spec.checkpoint.empty()) {
      return Internal("weight ", spec.name, " is neither stored nor derived");
    } else {
      matcher.Fill(spec, w, placements[w]);
    }
  }
  matcher.CheckConsumed(ignored);
  MOXIE_RETURN_IF_ERROR(matcher.status());
  return std::move(matcher.plan());
}

}  // namespace moxie::weights
