#include "tests/engine/allocation_counter.h"

#include <cstdlib>
#include <new>

namespace {
thread_local int64_t allocations = 0;

void* CountedOrNull(std::size_t bytes) noexcept {
  ++allocations;
  return std::malloc(bytes);
}

void* Counted(std::size_t bytes) {
  if (void* memory = CountedOrNull(bytes)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return Counted(bytes); }
void* operator new[](std::size_t bytes) { return Counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return CountedOrNull(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return CountedOrNull(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace moxie::engine {

int64_t Allocations() { return allocations; }

}  // namespace moxie::engine
