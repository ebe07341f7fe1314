// Counts what operator new hands out; linking this file replaces it for the whole program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace moxie::engine {

// Allocations by this thread so far.
int64_t Allocations();
// From now on this thread's allocations of so many bytes or more fail.
void FailAllocationsFrom(std::size_t bytes);

}  // namespace moxie::engine
