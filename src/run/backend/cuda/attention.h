/* run/backend/cuda/attention.h - a call of an attention in the terms of a card. Internal to
 * run/backend/cuda. */
#ifndef RUN_BACKEND_CUDA_ATTENTION_H
#define RUN_BACKEND_CUDA_ATTENTION_H

#include "run/backend/cuda/arguments.h"
#include "run/backend/cuda/launch.h"

/* An operand, at the current sample, window and member of a group. */
struct attention_place {
    bool is_there;
    enum real real;
    char *data;
    int64_t step[MAX_AXES], second;
};

struct attention {
    const struct backend *b;
    const struct kernel_call *call;
    enum real real;             /* of operands in memory; statistics are of call->real */
    int n, w, a, q, s, g, d, e; /* axes; w may be -1 */
    struct attention_place x, k, v, bias, m, t, y, dy, dx, dk, dv;
    struct cuda_attention args;
};

/* Does a pass of the call write the operand ("y", "dk"), and is it overwritten? */
bool hp_attention_writes(const struct kernel_call *call, const char *name);
bool hp_attention_fresh(const struct kernel_call *call, const char *name);

/* Of the part along an axis; 1 if there is no such axis. */
int64_t hp_attention_extent(const struct attention *at, int axis);

/* All passes of the call, in bf16 without scores in memory (flash.c). False: nothing is done,
 * since numbers are not bf16, or there is a bias or a cap, or the scale is negative, or vectors
 * are not aligned, or their widths are no multiples of 16 up to 128, or forward m and y are not
 * computed together. */
bool hp_cuda_flash_attend(const struct attention *at);

#endif /* RUN_BACKEND_CUDA_ATTENTION_H */
