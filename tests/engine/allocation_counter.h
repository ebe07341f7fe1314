// Counts what operator new hands out; linking this file replaces it for the whole program.
#pragma once

#include <cstdint>

namespace moxie::engine {

// Allocations by this thread so far.
int64_t Allocations();

}  // namespace moxie::engine
