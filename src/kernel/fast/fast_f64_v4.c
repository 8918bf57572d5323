/* The fast kernels in double precision, for x86-64-v4. */
#include "kernel/fast/fast.h"

#if defined HYPAR_WITH_BLAS && defined HYPAR_X86_LEVELS
#define REAL  double
#define GEMM  hp_gemm_f64
#define TABLE hp_fast_f64_v4
#include "kernel/fast/math_f64.h"

#include "kernel/fast/fast.inc"
#endif
