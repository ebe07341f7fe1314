// What a process takes beside the bytes its components plan: code, stacks, the allocator's slack,
// and what the kernel keeps for it.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/plan.h"

namespace moxie::memory {

// Keeps malloc to few arenas, each of which reserves 64 MiB of addresses: else their number, and so
// the address space, would follow the machine's cores. Call it before any thread is started.
void BoundMalloc();

// What the kernel was asked about once: pure data, so that plans can be made again and again.
struct ProcessFacts {
  int64_t code = 0;           // mapped files: this program and its libraries
  int64_t main_stack = 0;     // that the first thread's may grow to
  int64_t thread_stack = 0;   // of any other thread, its guard included
  int64_t touched_stack = 0;  // of any thread's, what calls may touch
  int64_t socket_buffer = 0;  // of one connection, both directions, as the kernel begins
};
ProcessFacts ReadProcessFacts();

// Terms that follow from the facts, the plan's other terms, and the numbers of threads (the first
// included) and connections.
std::vector<Footprint> ProcessFootprints(const ProcessFacts& facts, const MemoryPlan& others,
                                         int64_t threads, int64_t connections);

}  // namespace moxie::memory
