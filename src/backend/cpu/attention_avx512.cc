// Softmax of attention's key tiles for AVX-512.
#include "backend/cpu/simd_avx512.h"
#include "backend/cpu/vector_attention.h"
#include "backend/cpu/vector_attention.inc"
