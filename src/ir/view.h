// Arithmetic on affine views: where they reach, whether they meet.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "ir/graph.h"

namespace moxie::ir {

// Both ends of the range of a step's sizes. Dimensions are linear in one variable each, so what
// holds at both holds between.
std::array<Extents, 2> ExtremeExtents();

// The smallest and the largest element that a view reaches, counted from its base's first.
std::pair<int64_t, int64_t> Reach(const Shape& sizes, const ViewSpec& view, const Extents& extents);

// False only when no element of the base is reached twice.
bool MayOverlapItself(const Shape& sizes, const ViewSpec& view);

// False only when two views of one base have no element in common.
bool MayMeet(const Shape& a_sizes, const ViewSpec& a, const Shape& b_sizes, const ViewSpec& b);

}  // namespace moxie::ir
