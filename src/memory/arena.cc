#include "memory/arena.h"

#include <sys/mman.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

namespace moxie::memory {

Result<Arena> Arena::Map(const Footprint& term) {
  if (term.bytes < 0) return Internal(term.owner, " ", term.name, ": ", term.bytes, " bytes");
  Arena arena;
  arena.bytes_ = term.bytes;
  if (term.bytes == 0) return arena;
  void* data = ::mmap(nullptr, static_cast<size_t>(term.bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted("cannot map ", FormatBytes(term.bytes), " for ", term.owner, " ",
                             term.name, ": ", std::strerror(errno));
  }
  arena.data_ = static_cast<std::byte*>(data);
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Arena::~Arena() {
  if (data_ != nullptr) ::munmap(data_, static_cast<size_t>(bytes_));
}

std::span<std::byte> Arena::Span(int64_t offset, int64_t bytes) const {
  assert(offset >= 0 && bytes >= 0 && offset <= bytes_ && bytes <= bytes_ - offset);
  return {data_ + offset, static_cast<size_t>(bytes)};
}

void Arena::PreferHugePages() const {
  if (data_ != nullptr) ::madvise(data_, static_cast<size_t>(bytes_), MADV_HUGEPAGE);
}

}  // namespace moxie::memory
