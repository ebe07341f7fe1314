#include "bench/limits.h"

#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "backend/cpu/isa.h"

namespace moxie::bench {
namespace {

// Of this thread, while it ran: a machine that is shared slows the wall clock, not this one.
double ThreadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Units a second of fn(member), which does `work` units a member, over all members: the best of
// `tries`.
template <typename F>
double BestRate(ThreadPool& pool, double work, int tries, F&& fn) {
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    std::vector<double> rates(static_cast<size_t>(pool.size()));
    pool.Run([&](int member) {
      const double start = ThreadSeconds();
      fn(member);
      rates[static_cast<size_t>(member)] = work / (ThreadSeconds() - start);
    });
    best = std::max(best, std::accumulate(rates.begin(), rates.end(), 0.0));
  }
  return best;
}

constexpr int64_t kLoops = 4'000'000;

// 12 independent chains cover the latency of any current core and fit the registers of AVX2. The
// empty asm keeps the compiler from seeing that the chains are equal.
constexpr int kChains = 12;
#define MOXIE_CHAINS(V, zero, step)                    \
  V acc[kChains];                                      \
  _Pragma("GCC unroll 12") for (V & a : acc) a = zero; \
  for (int64_t i = 0; i < kLoops; ++i) {               \
    _Pragma("GCC unroll 12") for (V & a : acc) {       \
      a = step;                                        \
      asm volatile("" : "+v"(a));                      \
    }                                                  \
  }

__attribute__((target("avx512f,avx512bf16"))) void Bf16Loop() {
  const __m512bh x = (__m512bh)_mm512_set1_epi32(0x3F803F80);
  MOXIE_CHAINS(__m512, _mm512_setzero_ps(), _mm512_dpbf16_ps(a, x, x));
}
__attribute__((target("avx512f"))) void Fma512Loop() {
  const __m512 x = _mm512_set1_ps(0.5f);
  MOXIE_CHAINS(__m512, _mm512_setzero_ps(), _mm512_fmadd_ps(a, x, x));
}
__attribute__((target("avx2,fma"))) void Fma256Loop() {
  const __m256 x = _mm256_set1_ps(0.5f);
  MOXIE_CHAINS(__m256, _mm256_setzero_ps(), _mm256_fmadd_ps(a, x, x));
}
#undef MOXIE_CHAINS

// Sums 64-byte lines of four streams.
__attribute__((target("avx2"))) void ReadLoop(const char* data, int64_t bytes) {
  const int64_t quarter = bytes / 4 / 4096 * 4096;
  __m256i sum[4] = {};
  for (int64_t i = 0; i < quarter; i += 64) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const auto* v = reinterpret_cast<const __m256i*>(data + j * quarter + i);
      sum[j] = _mm256_add_epi64(sum[j],
                                _mm256_add_epi64(_mm256_load_si256(v), _mm256_load_si256(v + 1)));
    }
  }
  asm volatile("" ::"x"(
      _mm256_add_epi64(_mm256_add_epi64(sum[0], sum[1]), _mm256_add_epi64(sum[2], sum[3]))));
}

}  // namespace

double ReadBandwidth(ThreadPool& pool) {
  static const double rate = [&] {
    const int64_t each = (int64_t{512} << 20) / pool.size() / 4096 * 4096;
    char* data = static_cast<char*>(std::aligned_alloc(4096, each * pool.size()));
    std::fill(data, data + each * pool.size(), 1);
    const double best = BestRate(pool, static_cast<double>(each), 7,
                                 [&](int member) { ReadLoop(data + member * each, each); });
    std::free(data);
    return best;
  }();
  return rate;
}

double F32FmaFlops(ThreadPool& pool) {
  static const double rate = [&] {
    if (cpu::BestIsa() >= cpu::Isa::kAvx512) {
      return BestRate(pool, kLoops * kChains * 32.0, 5, [](int) { Fma512Loop(); });
    }
    return BestRate(pool, kLoops * kChains * 16.0, 5, [](int) { Fma256Loop(); });
  }();
  return rate;
}

double Bf16DotFlops(ThreadPool& pool) {
  static const double rate = [&] {
    if (cpu::BestIsa() < cpu::Isa::kAvx512Bf16) return F32FmaFlops(pool);
    return BestRate(pool, kLoops * kChains * 64.0, 5, [](int) { Bf16Loop(); });
  }();
  return rate;
}

}  // namespace moxie::bench
