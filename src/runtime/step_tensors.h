// The memory behind StepInputs: one arena cut into the step's tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/arena.h"
#include "runtime/step.h"

namespace moxie::runtime {

// Bytes of all tensors, each 64-byte aligned.
int64_t StepTensorBytes(const StepLimits& limits);

// Spans over `arena`, which has StepTensorBytes(limits).
StepInputs CutStepTensors(const StepLimits& limits, const memory::Arena& arena);

// Addresses in the order of the graph's inputs: see models::Family.
std::vector<std::byte*> InputAddresses(const StepInputs& inputs);

}  // namespace moxie::runtime
