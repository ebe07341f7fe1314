// Running a program that is no model: its weights and inputs are made up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/program.h"

namespace moxie::cli {

// What came out, short enough to compare by eye.
struct OutputSummary {
  std::string name;       // of the value
  std::string type;       // of the largest step: "f32[64,128]"
  uint64_t checksum = 0;  // of the elements' bytes, row-major
  double sum = 0;         // of the elements
  double largest = 0;     // magnitude
};

// Runs one step, the largest. Floats of inputs and weights follow from `seed` and their place, with
// deviation 1, for matrices 1 / sqrt(row's length); integers and state are 0. Refused when the
// memory is not there.
Result<std::vector<OutputSummary>> RunProgram(const runtime::Program& program, int64_t seed);

}  // namespace moxie::cli
