/* The reference kernels in double precision. */
#define REAL      double
#define REFERENCE hp_reference_f64
#include "kernel/reference.inc"
