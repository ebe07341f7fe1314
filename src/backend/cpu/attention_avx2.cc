// Softmax of attention's key tiles for AVX2.
#include "backend/cpu/simd_avx2.h"
#include "backend/cpu/vector_attention.h"
#include "backend/cpu/vector_attention.inc"
