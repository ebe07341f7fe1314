// Arena: the bytes of one planned term, mapped once, cut into aligned spans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "memory/plan.h"

namespace moxie::memory {

// An anonymous private map of exactly a footprint's bytes, zero until written; pages are touched on
// use. Movable; unmapped on destruction.
class Arena {
 public:
  // Fails with the system's reason when the map is refused (RLIMIT_AS, overcommit).
  static Result<Arena> Map(const Footprint& term);
  Arena() = default;
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  // [offset, offset + bytes). REQUIRES: inside the arena.
  std::span<std::byte> Span(int64_t offset, int64_t bytes) const;
  // For an arena that will be written whole: fewer faults and TLB misses. Only a wish; never
  // changes what is reserved.
  void PreferHugePages() const;

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace moxie::memory
