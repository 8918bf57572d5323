/* run/backend/cuda/convolution.h - a pass of a convolution in the terms of a card. Internal to
 * run/backend/cuda. */
#ifndef RUN_BACKEND_CUDA_CONVOLUTION_H
#define RUN_BACKEND_CUDA_CONVOLUTION_H

#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/launch.h"

struct convolution {
    const struct backend *b;
    const struct kernel_call *call;
    enum real real; /* in memory */
    int64_t size, rows, outputs, features, samples;
    char *w, *y, *x;                      /* the first elements, or those of their gradients */
    int64_t w_feature, y_feature, y_step; /* from one output to the next */
    bool fresh;                           /* the result replaces what is there */
    bool x_whole;                         /* x, or dx, has all positions */
    struct cuda_convolution args;
};

/* False: the pass is no product of a convolution, or is too small, or results or weights are
 * not contiguous. */
bool hp_cuda_convolution_of(struct convolution *out, const struct backend *b,
                            const struct kernel_call *call);

#endif /* RUN_BACKEND_CUDA_CONVOLUTION_H */
