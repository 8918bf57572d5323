/* kernel/fast/fast.h - the fast kernels, one table for each precision. Internal to kernel/.
 *
 * They are written once, in the .inc files, and compiled for both precisions and for several
 * sets of instructions, of which the best that the processor has is taken when they are first
 * used. Products are left to BLAS; the rest are loops that a compiler makes vectors of.
 *
 * A kernel takes any part and any strides, or refuses (kernel/tables.h): most want the last
 * dimension dense. */
#ifndef KERNEL_FAST_FAST_H
#define KERNEL_FAST_FAST_H

#include "kernel/tables.h"

/* The table for this processor. */
const struct kernel_table *hp_fast_table(enum real real);

/* Sets of instructions: the compiler's default, and of x86-64 the levels 3 (AVX2) and 4
 * (AVX-512). */
extern const struct kernel_table hp_fast_f32, hp_fast_f64;
extern const struct kernel_table hp_fast_f32_v3, hp_fast_f64_v3;
extern const struct kernel_table hp_fast_f32_v4, hp_fast_f64_v4;

#endif /* KERNEL_FAST_FAST_H */
