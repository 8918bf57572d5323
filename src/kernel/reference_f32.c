/* The reference kernels in single precision. */
#define REAL      float
#define REFERENCE hp_reference_f32
#include "kernel/reference.inc"
