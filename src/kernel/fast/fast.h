/* kernel/fast/fast.h - the fast kernels, one table for each precision. Internal to kernel/.
 *
 * They are written once, in the .inc files, and compiled for both precisions and for several
 * instruction sets; the best one that the processor supports is chosen at the first use. BLAS
 * computes products; the rest are loops that compilers vectorise.
 *
 * A kernel accepts any part and any strides, or refuses (kernel/tables.h): most need a dense
 * last dimension. */
#ifndef KERNEL_FAST_FAST_H
#define KERNEL_FAST_FAST_H

#include "kernel/tables.h"

/* The table for this processor. */
const struct kernel_table *hp_fast_table(enum real real);

/* Instruction sets: the compiler's default, and for x86-64 the levels 3 (AVX2) and 4
 * (AVX-512). */
extern const struct kernel_table hp_fast_f32, hp_fast_f64;
extern const struct kernel_table hp_fast_f32_v3, hp_fast_f64_v3;
extern const struct kernel_table hp_fast_f32_v4, hp_fast_f64_v4;

#endif /* KERNEL_FAST_FAST_H */
