/* kernel/reference.h - the reference kernels, one table for each precision. Internal.
 *
 * They are written once, in the .inc files, and compiled for both precisions: numbers in memory
 * are REAL; functions and sums along a run are computed in double. To add a kernel: a function
 * in the .inc file it fits, and its row in reference.inc. */
#ifndef KERNEL_REFERENCE_H
#define KERNEL_REFERENCE_H

#include "kernel/tables.h"

struct reference {
    kernel_function *kernel[OP_KIND_COUNT]; /* NULL: there is none */
    kernel_function *add_after;
    void (*clear)(const struct view *view, enum combine combine);
    void (*combine)(const struct view *to, const struct view *from, enum combine combine);
};

extern const struct reference hp_reference_f32, hp_reference_f64;

#endif /* KERNEL_REFERENCE_H */
