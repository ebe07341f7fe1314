// A checksum that finds changes: any change of one word changes it. Not for adversaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace moxie {

inline constexpr uint64_t kChecksumStart = 0x9E3779B97F4A7C15;

// The checksum of what `so_far` stands for, followed by `bytes`.
uint64_t Checksum(std::span<const std::byte> bytes, uint64_t so_far = kChecksumStart);

}  // namespace moxie
