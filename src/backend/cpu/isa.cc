#include "backend/cpu/isa.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace moxie::cpu {
namespace {

constexpr std::string_view kNames[] = {"portable", "avx2", "avx512", "avx512bf16"};

#if defined(__x86_64__)
struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Zeros when the leaf does not exist.
Registers CpuId(unsigned leaf, unsigned subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

// Register files that the OS saves. REQUIRES: CPUID says OSXSAVE.
uint64_t Xcr0() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

constexpr bool Has(unsigned reg, std::initializer_list<int> bits) {
  for (int bit : bits) {
    if (!((reg >> bit) & 1)) return false;
  }
  return true;
}

// Bits from Intel's manual, volume 2A, CPUID: leaf 1, leaf 7 sub-leaves 0 and 1.
Isa MachineIsa() {
  const Registers l1 = CpuId(1, 0);
  if (!Has(l1.ecx, {12 /* FMA */, 27 /* OSXSAVE */, 28 /* AVX */, 29 /* F16C */})) {
    return Isa::kPortable;
  }
  const uint64_t saved = Xcr0();
  const Registers l7 = CpuId(7, 0);
  if ((saved & 0x6) != 0x6 || !Has(l7.ebx, {5 /* AVX2 */})) return Isa::kPortable;
  if ((saved & 0xE6) != 0xE6 || !Has(l7.ebx, {16 /* F */, 17 /* DQ */, 30 /* BW */, 31 /* VL */})) {
    return Isa::kAvx2;
  }
  const Registers l71 = CpuId(7, 1);
  if (!Has(l7.ecx, {11 /* VNNI */}) || !Has(l71.eax, {5 /* BF16 */})) return Isa::kAvx512;
  return Isa::kAvx512Bf16;
}
#else
Isa MachineIsa() { return Isa::kPortable; }
#endif

Isa Choose() {
  const Isa machine = MachineIsa();
  const char* wanted = std::getenv("MOXIE_ISA");
  if (wanted == nullptr || *wanted == '\0') return machine;
  const std::optional<Isa> isa = ParseIsa(wanted);
  if (isa && *isa <= machine) return *isa;
  std::fprintf(
      stderr, "MOXIE_ISA=%s: %s; using %s\n", wanted,
      isa ? "this machine does not have it" : "not one of portable, avx2, avx512, avx512bf16",
      std::string(Name(machine)).c_str());
  return machine;
}

}  // namespace

std::string_view Name(Isa isa) { return kNames[static_cast<size_t>(isa)]; }

std::optional<Isa> ParseIsa(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Isa>(i);
  }
  return std::nullopt;
}

Isa BestIsa() {
  static const Isa isa = Choose();
  return isa;
}

}  // namespace moxie::cpu
