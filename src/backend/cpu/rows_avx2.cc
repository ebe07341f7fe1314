// Kernels of one row for AVX2.
#include "backend/cpu/simd_avx2.h"
#include "backend/cpu/vector_rows.h"
#include "backend/cpu/vector_rows.inc"
