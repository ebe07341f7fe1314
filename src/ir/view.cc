#include "ir/view.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <unordered_set>
#include <vector>

namespace moxie::ir {
namespace {

constexpr int64_t kMaxEnumerated = 4096;  // elements compared one by one

// Sizes times strides of a program that nobody has checked yet.
__extension__ using Wide = __int128;

int64_t Saturated(Wide v) {
  constexpr Wide kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::clamp(v, -kMost, kMost));
}

bool Constant(const Shape& shape) {
  return std::all_of(shape.dims().begin(), shape.dims().end(), [](Dim d) { return d.constant(); });
}

// Every element that a view of constant sizes and strides reaches.
std::vector<int64_t> Elements(const Shape& sizes, const ViewSpec& view) {
  const Extents e;
  std::vector<int64_t> out = {view.offset};
  for (int i = 0; i < sizes.rank(); ++i) {
    std::vector<int64_t> next;
    for (int64_t at : out) {
      for (int64_t k = 0; k < sizes[i].At(e); ++k) next.push_back(at + k * view.strides[i].At(e));
    }
    out = std::move(next);
  }
  return out;
}

bool Enumerable(const Shape& sizes, const ViewSpec& view) {
  return Constant(sizes) && Constant(view.strides) && sizes.Elements({}) <= kMaxEnumerated;
}

// Sorted by stride, each dimension must step over all that the smaller ones reach.
bool MayOverlapAt(const Shape& sizes, const ViewSpec& view, const Extents& e) {
  std::vector<std::pair<Wide, Wide>> dims;  // (stride, size)
  for (int i = 0; i < sizes.rank(); ++i) {
    const int64_t size = sizes[i].At(e);
    if (size > 1) dims.emplace_back(std::abs(view.strides[i].At(e)), size);
  }
  std::sort(dims.begin(), dims.end());
  Wide reach = 0;
  for (auto [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

}  // namespace

std::array<Extents, 2> ExtremeExtents() {
  std::array<Extents, 2> out;
  out[1].value = {1, 1000, 1000, 1000, 1000, 1000, 1000};
  return out;
}

std::pair<int64_t, int64_t> Reach(const Shape& sizes, const ViewSpec& view, const Extents& e) {
  Wide first = view.offset, last = view.offset;
  for (int i = 0; i < sizes.rank(); ++i) {
    const Wide reach = Wide{sizes[i].At(e) - 1} * view.strides[i].At(e);
    (reach < 0 ? first : last) += reach;
  }
  return {Saturated(first), Saturated(last)};
}

bool MayOverlapItself(const Shape& sizes, const ViewSpec& view) {
  const auto extremes = ExtremeExtents();
  return std::any_of(extremes.begin(), extremes.end(),
                     [&](const Extents& e) { return MayOverlapAt(sizes, view, e); });
}

bool MayMeet(const Shape& a_sizes, const ViewSpec& a, const Shape& b_sizes, const ViewSpec& b) {
  if (Enumerable(a_sizes, a) && Enumerable(b_sizes, b)) {
    const auto in_a = Elements(a_sizes, a), in_b = Elements(b_sizes, b);
    const std::unordered_set<int64_t> set(in_a.begin(), in_a.end());
    return std::any_of(in_b.begin(), in_b.end(), [&](int64_t at) { return set.contains(at); });
  }
  const auto extremes = ExtremeExtents();
  return std::any_of(extremes.begin(), extremes.end(), [&](const Extents& e) {
    const auto [a_first, a_last] = Reach(a_sizes, a, e);
    const auto [b_first, b_last] = Reach(b_sizes, b, e);
    return a_first <= b_last && b_first <= a_last;
  });
}

}  // namespace moxie::ir
