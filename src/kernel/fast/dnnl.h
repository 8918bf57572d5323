/* kernel/fast/dnnl.h - convolutions by oneDNN, in single precision. Internal to kernel/.
 *
 * It computes on the thread that calls it: the threads of all kernels are those of
 * kernel/threads.h, and those of OpenMP, which it would take, would compete with them. */
#ifndef KERNEL_FAST_DNNL_H
#define KERNEL_FAST_DNNL_H

#include "kernel/kernel.h"

#ifdef HYPAR_WITH_DNNL

/* Whether it computes this pass: follows from shape, range and precision. */
bool hp_dnnl_takes(const struct kernel_call *call);

/* Bytes for a call that it takes. */
size_t hp_dnnl_workspace(const struct kernel_call *call);

/* The call's pass, with a bias if one is given. False: it has done nothing, the views lie as it
 * does not want them. */
bool hp_dnnl_conv(const struct kernel_call *call, const struct view *bias);

#else

static inline bool hp_dnnl_takes(const struct kernel_call *call)
{
    (void)call;
    return false;
}

static inline size_t hp_dnnl_workspace(const struct kernel_call *call)
{
    (void)call;
    return 0;
}

static inline bool hp_dnnl_conv(const struct kernel_call *call, const struct view *bias)
{
    (void)call;
    (void)bias;
    return false;
}

#endif

#endif /* KERNEL_FAST_DNNL_H */
