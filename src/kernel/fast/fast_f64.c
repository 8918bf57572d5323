/* The fast kernels in double precision. */
#include "kernel/fast/fast.h"

#ifdef HYPAR_WITH_BLAS
#define REAL  double
#define GEMM  hp_gemm_f64
#define TABLE hp_fast_f64
#include "kernel/fast/math_f64.h"

#include "kernel/fast/fast.inc"
#endif
