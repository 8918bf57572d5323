/* The fast kernels in single precision, for x86-64-v3. */
#include "kernel/fast/fast.h"

#if defined HYPAR_WITH_BLAS && defined HYPAR_X86_LEVELS
#define REAL  float
#define GEMM  hp_gemm_f32
#define TABLE hp_fast_f32_v3
#include "kernel/fast/math_f32.h"

#include "kernel/fast/fast.inc"
#endif
