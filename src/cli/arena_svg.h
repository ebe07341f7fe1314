// A picture of a step's memory: the ops of the step from left to right, the arena from bottom to
// top, a box for each value while it lives.
#pragma once

#include <string>
#include <string_view>

#include "passes/buffer_assignment.h"

namespace moxie::cli {

// A whole SVG file. Boxes that are alive at the peak are filled strongly and listed; every box has
// a title (name, type, bytes, ops) that viewers show on hovering.
std::string ArenaSvg(const passes::BufferAssignment& assignment, std::string_view model);

}  // namespace moxie::cli
