// What this machine can do, measured once a process on all threads of a pool: the best of several
// tries.
#pragma once

#include "base/threads.h"

namespace moxie::bench {

double ReadBandwidth(ThreadPool& pool);  // bytes a second, reading a buffer larger than the caches
double F32FmaFlops(ThreadPool& pool);    // flop a second of fused multiply-adds on registers
double Bf16DotFlops(
    ThreadPool& pool);  // the same of bf16 dot products; of f32 FMAs where there are none

}  // namespace moxie::bench
