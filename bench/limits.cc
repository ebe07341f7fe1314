#include "bench/limits.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "backend/cpu/isa.h"

namespace moxie::bench {
namespace {

double Seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// Work a second of fn(member), which does `work` units a member: the best of `tries`.
template <typename F>
double BestRate(ThreadPool& pool, double work, int tries, F&& fn) {
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    const double start = Seconds();
    pool.Run(fn);
    best = std::max(best, work * pool.size() / (Seconds() - start));
  }
  return best;
}

constexpr int64_t kLoops = 4'000'000;

// 16 independent chains cover the latency of any current core.
__attribute__((target("avx512f,avx512bf16"))) void Bf16Loop() {
  __m512 acc[16];
  for (auto& a : acc) a = _mm512_setzero_ps();
  const __m512bh x = (__m512bh)_mm512_set1_epi32(0);
  for (int64_t i = 0; i < kLoops; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < 16; ++j) acc[j] = _mm512_dpbf16_ps(acc[j], x, x);
    asm volatile("" ::: "memory");
  }
  for (auto& a : acc) asm volatile("" ::"v"(a));
}

__attribute__((target("avx512f"))) void Fma512Loop() {
  __m512 acc[16];
  for (auto& a : acc) a = _mm512_setzero_ps();
  const __m512 x = _mm512_set1_ps(0.5f);
  for (int64_t i = 0; i < kLoops; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < 16; ++j) acc[j] = _mm512_fmadd_ps(acc[j], x, x);
    asm volatile("" ::: "memory");
  }
  for (auto& a : acc) asm volatile("" ::"v"(a));
}

__attribute__((target("avx2,fma"))) void Fma256Loop() {
  __m256 acc[12];
  for (auto& a : acc) a = _mm256_setzero_ps();
  const __m256 x = _mm256_set1_ps(0.5f);
  for (int64_t i = 0; i < kLoops; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < 12; ++j) acc[j] = _mm256_fmadd_ps(acc[j], x, x);
    asm volatile("" ::: "memory");
  }
  for (auto& a : acc) asm volatile("" ::"x"(a));
}

// Sums 64-byte lines four streams at a time, with the vectors that every x86-64 has.
int64_t ReadLoop(const char* data, int64_t bytes) {
  __m128i sum[4] = {};
  const int64_t quarter = bytes / 4 / 64 * 64;
  for (int64_t i = 0; i < quarter; i += 64) {
    for (int j = 0; j < 4; ++j) {
      const auto* p = reinterpret_cast<const __m128i*>(data + j * quarter + i);
      for (int l = 0; l < 4; ++l) sum[j] = _mm_add_epi64(sum[j], _mm_load_si128(p + l));
    }
  }
  return _mm_cvtsi128_si64(
      _mm_add_epi64(_mm_add_epi64(sum[0], sum[1]), _mm_add_epi64(sum[2], sum[3])));
}

}  // namespace

double ReadBandwidth(ThreadPool& pool) {
  static const double rate = [&] {
    const int64_t each = (int64_t{512} << 20) / pool.size() / 4096 * 4096;
    char* data = static_cast<char*>(std::aligned_alloc(4096, each * pool.size()));
    std::fill(data, data + each * pool.size(), 1);
    const double best = BestRate(pool, static_cast<double>(each), 7, [&](int member) {
      volatile int64_t sum = ReadLoop(data + member * each, each);
      (void)sum;
    });
    std::free(data);
    return best;
  }();
  return rate;
}

double F32FmaFlops(ThreadPool& pool) {
  static const double rate = [&] {
    if (cpu::BestIsa() >= cpu::Isa::kAvx512) {
      return BestRate(pool, kLoops * 16 * 32.0, 5, [](int) { Fma512Loop(); });
    }
    return BestRate(pool, kLoops * 12 * 16.0, 5, [](int) { Fma256Loop(); });
  }();
  return rate;
}

double Bf16DotFlops(ThreadPool& pool) {
  static const double rate = [&] {
    if (cpu::BestIsa() < cpu::Isa::kAvx512Bf16) return F32FmaFlops(pool);
    return BestRate(pool, kLoops * 16 * 64.0, 5, [](int) { Bf16Loop(); });
  }();
  return rate;
}

}  // namespace moxie::bench
