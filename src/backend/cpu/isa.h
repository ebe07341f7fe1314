// CPU features, found at run time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace moxie::cpu {

// In increasing order of preference; each includes those before it.
enum class Isa : uint8_t {
  kPortable,    // any x86-64 (or other) machine: the reference
  kAvx2,        // AVX2, FMA, F16C
  kAvx512,      // AVX-512 F, BW, VL, DQ
  kAvx512Bf16,  // + BF16 dot products and VNNI
};

std::string_view Name(Isa isa);  // "portable", "avx2", "avx512", "avx512bf16"
std::optional<Isa> ParseIsa(std::string_view name);

// The best ISA of this machine (CPUID and the OS's XCR0), lowered to environment variable MOXIE_ISA
// when that is set; an unknown or unavailable name there is reported once on stderr and ignored
// upwards: it can lower, never raise. Computed once.
Isa BestIsa();

}  // namespace moxie::cpu
