/* kernel/kernel.h - computing one part of one pass of an operator. Internal.
 *
 * The reference kernels are plain C that reads like the formula. They work in global
 * coordinates: a part is a range for each axis of the nest, a tensor is a view that holds at
 * least the region which the part touches, so one kernel serves every split, the unsplit
 * operator included.
 *
 * A kernel ADDS what its part contributes into the views it writes; whoever calls it has filled
 * them with the neutral element of the operand's combination (hp_view_clear()). Operands that
 * are added once, after partial sums (a bias), are left to hp_kernel_add_after().
 *
 * Of several outputs, those that nobody uses have no gradient: left out, it counts as 0. Of
 * several gradients that one pass writes, those that nobody needs may be left out. */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "layout/layout.h"

enum real { REAL_F32, REAL_F64 };

/* A dense row-major array over `box`. Of numbers, or of int32_t where the operand is an index.
 */
struct view {
    void *data; /* NULL: not there */
    struct box box;
};

struct kernel_call {
    const struct nest *nest;
    int pass;
    enum real real;
    struct range range[MAX_AXES];    /* the part */
    struct view value[MAX_OPERANDS]; /* what the pass reads and writes */
    struct view grad[MAX_OPERANDS];
    /* The samples that belong together: all of the batch, or one micro-batch. Statistics over
     * samples (batch norm) are means over these. */
    struct range samples;
    uint64_t key; /* of an operator that draws random numbers (dropout): its seed and place */
};

/* Compute the pass on the part. */
void hp_kernel(const struct kernel_call *call);

/* Add what `pass` adds after partial sums (pass->adds) to the operand it writes, over
 * call->range. Nothing to do for most passes. */
void hp_kernel_add_after(const struct kernel_call *call);

/* Fill with the neutral element of `combine`; put `from` together with what `to` holds, where
 * their boxes overlap. Softmax statistics are pairs in the last dimension. */
void hp_view_clear(const struct view *view, enum combine combine, enum real real);
void hp_view_combine(const struct view *to, const struct view *from, enum combine combine,
                     enum real real);

/* Does the table have a kernel for this kind? (Opaque operators have none.) */
bool hp_kernel_exists(enum op_kind kind);

#endif /* KERNEL_KERNEL_H */
