#include "base/checksum.h"

#include <bit>
#include <cstring>

namespace moxie {
namespace {

// A bijection of `h` for any word, and of the word for any `h`: odd multipliers are invertible.
uint64_t Mix(uint64_t h, uint64_t word) {
  return std::rotl((h ^ word) * 0xFF51AFD7ED558CCD, 29) + 0xC4CEB9FE1A85EC53;
}

}  // namespace

uint64_t Checksum(std::span<const std::byte> bytes, uint64_t so_far) {
  uint64_t h = so_far;
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    h = Mix(h, word);
  }
  uint64_t rest = 0;
  if (at < bytes.size()) std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
  return Mix(Mix(h, rest), bytes.size());
}

}  // namespace moxie
