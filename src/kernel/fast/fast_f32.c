/* The fast kernels in single precision. */
#include "kernel/fast/fast.h"

#ifdef HYPAR_WITH_BLAS
#define REAL  float
#define GEMM  hp_gemm_f32
#define TABLE hp_fast_f32
#include "kernel/fast/math_f32.h"

#include "kernel/fast/fast.inc"
#endif
