/* kernel/fast/math_f64.h - functions of one number in double precision: the C library's.
 * Internal to kernel/. */
#ifndef KERNEL_FAST_MATH_F64_H
#define KERNEL_FAST_MATH_F64_H

#include <math.h>

#define EXP  exp
#define ERF  erf
#define TANH tanh
#define LOG  log
#define SQRT sqrt
#define POW  pow

#endif /* KERNEL_FAST_MATH_F64_H */
