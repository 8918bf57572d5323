/* Convolutions by cuDNN. */
#include "run/backend/cuda/convolution.h"

#include <string.h>

#include "kernel/walk.h"
#include "run/backend/cuda/driver.h"

static const size_t most_workspace = (size_t)1 << 30; /* bytes */

/* Types; bf16 is summed in fp32. */
enum { F32 = 0, F64 = 1, BF16 = 9 };

/* What a choice of an algorithm follows from. */
enum { MOST = 5 };
struct shape {
    int pass; /* 0: forward, 1: dx, 2: dw */
    int type, tf32, n_dims;
    int x[MOST], x_stride[MOST], y[MOST], y_stride[MOST], w[MOST];
    int pad[3], stride[3], dilation[3];
};

struct choice {
    bool works;
    int algorithm, math;
    size_t bytes;
};

static bool fits_int(const long long *value, int n)
{
    for (int i = 0; i < n; i++)
        if (value[i] > INT32_MAX)
            return false;
    return true;
}

/* A window of one element, and positions between windows: there cuDNN takes three times as long
 * as gathering the elements and one product, forward and for dx (resnet50 on an H200). */
static bool skips_positions(const struct convolution *v)
{
    bool skips = false;
    for (int i = 0; i < 3; i++) {
        if (v->args.taps[i] > 1)
            return false;
        skips |= v->args.stride[i] > 1;
    }
    return skips;
}

/* Dimensions are samples, channels, and the last two or three of three spatial ones. False:
 * cuDNN has no such convolution: padding is the same at both ends, and parts of outputs have
 * other paddings. */
static bool find_shape(const struct convolution *v, struct shape *s)
{
    static const int type[] = { [REAL_F32] = F32, [REAL_F64] = F64, [REAL_BF16] = BF16 };
    const struct cuda_convolution *a = &v->args;
    const struct nest *nest = v->call->nest;
    int n_dims = nest->operand[0].n_dims > 4 ? 5 : 4;
    memset(s, 0, sizeof *s); /* it is a key: no unknown bytes */
    s->n_dims = n_dims;
    s->type = type[v->real];
    s->tf32 = hp_cuda_has_tf32(v->b->card);
    s->pass = hp_call_writes(v->call, "y") ? 0 : hp_call_writes(v->call, "dx") ? 1 : 2;
    if (s->pass < 2 && skips_positions(v))
        return false;
    const long long head[][5] = { { v->samples, a->channels, v->features, v->rows,
                                    a->x_sample },
                                  { a->x_channel, a->dy_sample, a->dy_channel, 0, 0 } };
    if (!fits_int(head[0], 5) || !fits_int(head[1], 5) || !fits_int(a->size, 3) ||
        !fits_int(a->x_step, 3) || v->w_feature != v->rows)
        return false;
    s->x[0] = s->y[0] = (int)v->samples;
    s->x[1] = s->w[1] = (int)a->channels;
    s->y[1] = s->w[0] = (int)v->features;
    s->x_stride[0] = (int)a->x_sample;
    s->x_stride[1] = (int)a->x_channel;
    s->y_stride[0] = (int)a->dy_sample;
    s->y_stride[1] = (int)a->dy_channel;
    int y_step = 1;
    for (int d = n_dims - 1; d >= 2; d--) {
        int i = 3 - n_dims + d; /* of the three */
        long long span = a->dilation[i] * (a->taps[i] - 1) + 1;
        /* cuDNN is faster with contiguous arrays, even if no window sees the last positions */
        long long size = v->x_whole ? a->size[i] : a->positions[i];
        long long most = size + 2 * a->pad[i] - span; /* the last window's begin */
        if (a->pad[i] < 0 || a->first_output[i] || a->first_position[i] || most < 0 ||
            most / a->stride[i] + 1 != a->outputs[i])
            return false;
        s->x[d] = (int)size;
        s->x_stride[d] = a->x_step[i] ? (int)a->x_step[i] : 1;
        s->y[d] = (int)a->outputs[i];
        s->y_stride[d] = y_step;
        y_step *= s->y[d];
        s->w[d] = (int)a->taps[i];
        s->pad[d - 2] = (int)a->pad[i];
        s->stride[d - 2] = (int)a->stride[i];
        s->dilation[d - 2] = (int)a->dilation[i];
    }
    return true;
}

static bool describe(const struct cuda_dnn *dnn, const struct cuda_dnn_handles *h,
                     const struct shape *s)
{
    enum { CORRELATION = 1, ROW_MAJOR = 0 };
    return dnn->cudnnSetTensorNdDescriptor(h->x, s->type, s->n_dims, s->x, s->x_stride) == 0 &&
           dnn->cudnnSetTensorNdDescriptor(h->y, s->type, s->n_dims, s->y, s->y_stride) == 0 &&
           dnn->cudnnSetFilterNdDescriptor(h->filter, s->type, ROW_MAJOR, s->n_dims, s->w) ==
               0 &&
           dnn->cudnnSetConvolutionNdDescriptor(h->convolution, s->n_dims - 2, s->pad,
                                                s->stride, s->dilation, CORRELATION,
                                                s->type == F64 ? F64 : F32) == 0;
}

/* The first that gives the same results in every run, in the precision that is allowed. cuDNN
 * has sorted them by the time that it expects. */
static struct choice choose(const struct cuda_dnn *dnn, const struct cuda_dnn_handles *h,
                            const struct shape *s)
{
    enum { MOST_CHOICES = 16, DEFAULT_MATH = 0, TENSOR_MATH = 1, FMA_MATH = 3 };
    bool narrow = s->type == BF16;
    struct cudnn_choice at[MOST_CHOICES];
    int n = 0, result;
    dnn->cudnnSetConvolutionMathType(h->convolution, narrow    ? TENSOR_MATH
                                                     : s->tf32 ? DEFAULT_MATH
                                                               : FMA_MATH);
    if (s->pass == 0)
        result = dnn->cudnnGetConvolutionForwardAlgorithm_v7(
            h->handle, h->x, h->filter, h->convolution, h->y, MOST_CHOICES, &n, at);
    else if (s->pass == 1)
        result = dnn->cudnnGetConvolutionBackwardDataAlgorithm_v7(
            h->handle, h->filter, h->y, h->convolution, h->x, MOST_CHOICES, &n, at);
    else
        result = dnn->cudnnGetConvolutionBackwardFilterAlgorithm_v7(
            h->handle, h->x, h->y, h->convolution, h->filter, MOST_CHOICES, &n, at);
    for (int i = 0; result == 0 && i < n; i++)
        if (at[i].status == 0 && at[i].deterministic && at[i].bytes <= most_workspace)
            return (struct choice){ true, at[i].algorithm,
                                    narrow || s->tf32 ? at[i].math : FMA_MATH, at[i].bytes };
    return (struct choice){ .works = false };
}

static int begin(const struct convolution *v, const struct cuda_dnn *dnn,
                 const struct cuda_dnn_handles *h, const struct shape *s,
                 const struct choice *choice)
{
    float one_f = 1, keep_f = v->fresh ? 0 : 1;
    double one_d = 1, keep_d = v->fresh ? 0 : 1;
    const void *one = s->type == F64 ? (void *)&one_d : &one_f;
    const void *keep = s->type == F64 ? (void *)&keep_d : &keep_f;
    void *scratch = choice->bytes ? hp_cuda_scratch(v->b->card, choice->bytes) : NULL;
    dnn->cudnnSetConvolutionMathType(h->convolution, choice->math);
    if (choice->bytes && !scratch) /* the card's status tells */
        return 0;
    if (s->pass == 0)
        return dnn->cudnnConvolutionForward(h->handle, one, h->x, v->x, h->filter, v->w,
                                            h->convolution, choice->algorithm, scratch,
                                            choice->bytes, keep, h->y, v->y);
    if (s->pass == 1)
        return dnn->cudnnConvolutionBackwardData(h->handle, one, h->filter, v->w, h->y, v->y,
                                                 h->convolution, choice->algorithm, scratch,
                                                 choice->bytes, keep, h->x, v->x);
    return dnn->cudnnConvolutionBackwardFilter(h->handle, one, h->x, v->x, h->y, v->y,
                                               h->convolution, choice->algorithm, scratch,
                                               choice->bytes, keep, h->filter, v->w);
}

bool hp_cuda_convolve_dnn(const struct backend *b, const struct kernel_call *call)
{
    const struct cuda_dnn *dnn;
    struct convolution convolution, *v = &convolution;
    struct shape shape;
    if (!hp_cuda_convolution_of(v, b, call))
        return false;
    struct cuda_dnn_handles h = hp_cuda_dnn(b->card, &dnn);
    if (!h.handle || !find_shape(v, &shape))
        return false;
    void **kept = hp_cuda_kept(b->card, &shape, sizeof shape);
    struct choice *choice = *kept;
    if (choice && !choice->works)
        return false;
    bool described = describe(dnn, &h, &shape);
    if (!choice) {
        choice = *kept = NEW(hp_cuda_kept_arena(b->card), struct choice, 1);
        *choice = described ? choose(dnn, &h, &shape) : (struct choice){ .works = false };
    }
    choice->works = choice->works && described && begin(v, dnn, &h, &shape, choice) == 0;
    return choice->works;
}
