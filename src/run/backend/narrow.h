/* run/backend/narrow.h - calls with operands in bf16, by kernels that have none. Internal to
 * run/backend/.
 *
 * bf16 is for memory alone. What a pass reads is converted to fp32, the kernel computes with
 * fp32, and what it writes is rounded once. Gradients that are added to are converted before,
 * too. */
#ifndef RUN_BACKEND_NARROW_H
#define RUN_BACKEND_NARROW_H

#include "run/backend/backend.h"

static inline bool hp_is_narrow_call(const struct kernel_call *call)
{
    return (call->narrow | call->narrow_grad) != 0;
}

/* The precision in memory of an operand, or of its gradient. */
static inline enum real hp_call_real(const struct kernel_call *call, int o, bool grad)
{
    return (grad ? call->narrow_grad : call->narrow) >> o & 1 ? REAL_BF16 : call->real;
}

/* Bytes of the copies, at a multiple of 64. */
size_t hp_narrow_room(const struct kernel_call *call);

/* Compute by `compute`, which is given a call without bf16. */
void hp_narrow_compute(const struct backend *b, const struct kernel_call *call, void *room,
                       void (*compute)(const struct backend *b,
                                       const struct kernel_call *call));

#endif /* RUN_BACKEND_NARROW_H */
