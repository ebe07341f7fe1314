// Kernels of one row for AVX-512.
#include "backend/cpu/simd_avx512.h"
#include "backend/cpu/vector_rows.h"
#include "backend/cpu/vector_rows.inc"
