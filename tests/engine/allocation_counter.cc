#include "tests/engine/allocation_counter.h"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
thread_local int64_t allocations = 0;
thread_local std::size_t too_large = SIZE_MAX;

void* CountedOrNull(std::size_t bytes) noexcept {
  ++allocations;
  return bytes < too_large ? std::malloc(bytes) : nullptr;
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
void FailAllocationsFrom(std::size_t bytes) { too_large = bytes; }

}  // namespace moxie::engine
