// Philox4x32-10: random numbers as a pure function of (key, counter).
// Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011), section 4 and table 2.
#pragma once

#include <array>
#include <cstdint>

namespace moxie::engine {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr PhiloxCounter Philox4x32(PhiloxCounter c, PhiloxKey k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c;
}

constexpr PhiloxKey KeyOf(uint64_t seed) {
  return {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
}

// The low 64 bits of a block.
constexpr uint64_t Low64(const PhiloxCounter& block) { return uint64_t{block[1]} << 32 | block[0]; }

// In [0, 1), a multiple of 2^-53.
constexpr double ToUnit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace moxie::engine
