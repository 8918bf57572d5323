/* A stand-in for cuDNN's convolutions, in the queue of the driver's stand-in. The first
 * algorithm that it proposes is not deterministic, and wrong; the second one is right. */
#include "tests/cuda/dnn.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/numbers.h"

enum { DONE, BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };
enum { F32, F64, BF16 = 9, MOST = 5, WORKSPACE = 1000, WRONG = 0, RIGHT = 1 };
enum { TENSOR_MATH = 1, FMA_MATH = 3 };

struct tensor { /* a filter, too */
    int type, n_dims, size[MOST], stride[MOST];
};
struct convolution {
    int n, pad[3], stride[3], dilation[3], type, math;
};

/* What is computed: 0 the output, 1 dx, 2 dw. */
struct work {
    int pass;
    struct tensor x, w, y;
    struct convolution how;
    void *data[3]; /* of x, w, y */
    double factor, keep;
    char *workspace;
};

static begin_later *later;

int stand_in_convolutions; /* that were begun */

int cudnnCreate(void **handle)
{
    later = find_later((void *)(size_t)cudnnCreate);
    *handle = &later;
    return later ? DONE : NOT_SUPPORTED;
}

int cudnnDestroy(void *handle)
{
    return handle == &later ? DONE : BAD_PARAM;
}

int cudnnSetStream(void *handle, void *stream)
{
    return handle == &later && stream ? DONE : BAD_PARAM;
}

static int new_of(void **out, size_t bytes)
{
    *out = calloc(1, bytes);
    return *out ? DONE : NOT_SUPPORTED;
}

static int end(void *descriptor)
{
    free(descriptor);
    return DONE;
}

int cudnnCreateTensorDescriptor(void **tensor)
{
    return new_of(tensor, sizeof(struct tensor));
}

int cudnnDestroyTensorDescriptor(void *tensor)
{
    return end(tensor);
}

int cudnnCreateFilterDescriptor(void **filter)
{
    return new_of(filter, sizeof(struct tensor));
}

int cudnnDestroyFilterDescriptor(void *filter)
{
    return end(filter);
}

int cudnnCreateConvolutionDescriptor(void **convolution)
{
    return new_of(convolution, sizeof(struct convolution));
}

int cudnnDestroyConvolutionDescriptor(void *convolution)
{
    return end(convolution);
}

int cudnnSetTensorNdDescriptor(void *tensor, int type, int n_dims, const int *size,
                               const int *stride)
{
    struct tensor *t = tensor;
    if ((type != F32 && type != F64 && type != BF16) || n_dims < 4 || n_dims > MOST)
        return BAD_PARAM;
    t->type = type;
    t->n_dims = n_dims;
    for (int d = 0; d < n_dims; d++) {
        if (size[d] < 1 || stride[d] < 1)
            return BAD_PARAM;
        t->size[d] = size[d];
        t->stride[d] = stride[d];
    }
    return DONE;
}

int cudnnSetFilterNdDescriptor(void *filter, int type, int format, int n_dims, const int *size)
{
    int stride[MOST], step = 1;
    if (format != 0 || n_dims > MOST)
        return BAD_PARAM;
    for (int d = n_dims - 1; d >= 0; d--) {
        stride[d] = step;
        step *= size[d];
    }
    return cudnnSetTensorNdDescriptor(filter, type, n_dims, size, stride);
}

int cudnnSetConvolutionNdDescriptor(void *convolution, int n, const int *pad, const int *stride,
                                    const int *dilation, int mode, int type)
{
    struct convolution *c = convolution;
    if (n < 2 || n > 3 || mode != 1)
        return BAD_PARAM;
    *c = (struct convolution){ .n = n, .type = type };
    for (int d = 0; d < n; d++) {
        if (pad[d] < 0 || stride[d] < 1 || dilation[d] < 1)
            return BAD_PARAM;
        c->pad[d] = pad[d];
        c->stride[d] = stride[d];
        c->dilation[d] = dilation[d];
    }
    return DONE;
}

int cudnnSetConvolutionMathType(void *convolution, int math)
{
    ((struct convolution *)convolution)->math = math;
    return math == 0 || math == TENSOR_MATH || math == FMA_MATH ? DONE : BAD_PARAM;
}

/* Do the shapes belong together? */
static bool fits(const struct tensor *x, const struct tensor *w, const struct tensor *y,
                 const struct convolution *c)
{
    bool right = x->type == w->type && x->type == y->type &&
                 c->type == (x->type == F64 ? F64 : F32) && x->n_dims == c->n + 2 &&
                 y->n_dims == x->n_dims && w->n_dims == x->n_dims && x->size[0] == y->size[0] &&
                 x->size[1] == w->size[1] && y->size[1] == w->size[0];
    for (int d = 0; right && d < c->n; d++)
        right = (x->size[d + 2] + 2 * c->pad[d] - (c->dilation[d] * (w->size[d + 2] - 1) + 1)) /
                        c->stride[d] +
                    1 ==
                y->size[d + 2];
    return right;
}

static int propose(const struct tensor *x, const struct tensor *w, const struct tensor *y,
                   const struct convolution *c, int most, int *n, struct choice *choice)
{
    if (!fits(x, w, y, c) || most < 2)
        return BAD_PARAM;
    choice[0] = (struct choice){ .algorithm = WRONG, .time = 1, .math = c->math };
    choice[1] = (struct choice){
        .algorithm = RIGHT, .time = 2, .math = c->math, .deterministic = 1, .bytes = WORKSPACE
    };
    *n = 2;
    return DONE;
}

int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *x, void *w, void *convolution,
                                           void *y, int most, int *n, struct choice *choice)
{
    return handle == &later ? propose(x, w, y, convolution, most, n, choice) : BAD_PARAM;
}

int cudnnGetConvolutionBackwardDataAlgorithm_v7(void *handle, void *w, void *dy,
                                                void *convolution, void *dx, int most, int *n,
                                                struct choice *choice)
{
    return handle == &later ? propose(dx, w, dy, convolution, most, n, choice) : BAD_PARAM;
}

int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void *handle, void *x, void *dy,
                                                  void *convolution, void *dw, int most, int *n,
                                                  struct choice *choice)
{
    return handle == &later ? propose(x, dw, dy, convolution, most, n, choice) : BAD_PARAM;
}

/* The type as the other libraries number it. */
static int type_of(const struct tensor *t)
{
    return t->type == BF16 ? NUMBER_BF16 : t->type;
}

static long long place(const struct tensor *t, const int *index)
{
    long long at = 0;
    for (int d = 0; d < t->n_dims; d++)
        at += (long long)index[d] * t->stride[d];
    return at;
}

static bool next(const struct tensor *t, int *index)
{
    for (int d = t->n_dims - 1; d >= 0; d--) {
        if (++index[d] < t->size[d])
            return true;
        index[d] = 0;
    }
    return false;
}

/* The results lie beside their places until they are all known. */
static void run(void *arg)
{
    struct work *w = arg;
    const struct tensor *to = w->pass == 0 ? &w->y : w->pass == 1 ? &w->x : &w->w;
    void *data = w->data[w->pass == 0 ? 2 : w->pass == 1 ? 0 : 1];
    int y[MOST] = { 0 };
    long long n = 0, most = 1;
    for (int d = 0; d < to->n_dims; d++)
        most += (long long)(to->size[d] - 1) * to->stride[d];
    double *sum = calloc((size_t)most, sizeof *sum);
    memset(w->workspace, 7, WORKSPACE);
    do {
        int tap[MOST] = { 0 }; /* the first index stays 0 */
        struct tensor taps = w->w;
        taps.size[0] = 1;
        do {
            int x[MOST] = { y[0], tap[1] }, filter[MOST] = { y[1] };
            bool inside = true;
            for (int d = 1; d < w->w.n_dims; d++)
                filter[d] = tap[d];
            for (int d = 2; d < w->x.n_dims; d++) {
                x[d] = y[d] * w->how.stride[d - 2] - w->how.pad[d - 2] +
                       tap[d] * w->how.dilation[d - 2];
                inside = inside && x[d] >= 0 && x[d] < w->x.size[d];
            }
            if (!inside)
                continue;
            long long at[3] = { place(&w->x, x), place(&w->w, filter), place(&w->y, y) };
            int a = w->pass == 1 ? 1 : 0, b = w->pass == 0 ? 1 : 2, t = 3 - a - b;
            sum[at[t]] += number_at(w->data[a], at[a], type_of(to)) *
                          number_at(w->data[b], at[b], type_of(to));
        } while (next(&taps, tap));
    } while (next(&w->y, y));
    int index[MOST] = { 0 };
    do {
        n = place(to, index);
        put_number(data, n, type_of(to),
                   w->factor * sum[n] +
                       (w->keep != 0 ? w->keep * number_at(data, n, type_of(to)) : 0));
    } while (next(to, index));
    free(sum);
    free(w);
}

static int begin(int pass, struct tensor *x, struct tensor *filter, struct tensor *y,
                 const struct convolution *how, void *const data[3], const void *factor,
                 const void *keep, int algorithm, void *workspace, size_t bytes)
{
    if (!fits(x, filter, y, how) || algorithm != RIGHT || !workspace || bytes < WORKSPACE)
        return BAD_PARAM;
    struct work *w = malloc(sizeof *w);
    if (!w)
        return NOT_SUPPORTED;
    *w =
        (struct work){ .pass = pass,
                       .x = *x,
                       .w = *filter,
                       .y = *y,
                       .how = *how,
                       .data = { data[0], data[1], data[2] },
                       .factor = number_at(factor, 0, x->type == F64 ? NUMBER_F64 : NUMBER_F32),
                       .keep = number_at(keep, 0, x->type == F64 ? NUMBER_F64 : NUMBER_F32),
                       .workspace = workspace };
    stand_in_convolutions++;
    later(run, w);
    return DONE;
}

int cudnnConvolutionForward(void *handle, const void *factor, void *of_x, const void *x,
                            void *of_w, const void *w, void *convolution, int algorithm,
                            void *workspace, size_t bytes, const void *keep, void *of_y,
                            void *y)
{
    void *data[] = { (void *)(size_t)x, (void *)(size_t)w, y };
    return handle == &later ? begin(0, of_x, of_w, of_y, convolution, data, factor, keep,
                                    algorithm, workspace, bytes)
                            : BAD_PARAM;
}

int cudnnConvolutionBackwardData(void *handle, const void *factor, void *of_w, const void *w,
                                 void *of_dy, const void *dy, void *convolution, int algorithm,
                                 void *workspace, size_t bytes, const void *keep, void *of_dx,
                                 void *dx)
{
    void *data[] = { dx, (void *)(size_t)w, (void *)(size_t)dy };
    return handle == &later ? begin(1, of_dx, of_w, of_dy, convolution, data, factor, keep,
                                    algorithm, workspace, bytes)
                            : BAD_PARAM;
}

int cudnnConvolutionBackwardFilter(void *handle, const void *factor, void *of_x, const void *x,
                                   void *of_dy, const void *dy, void *convolution,
                                   int algorithm, void *workspace, size_t bytes,
                                   const void *keep, void *of_dw, void *dw)
{
    void *data[] = { (void *)(size_t)x, dw, (void *)(size_t)dy };
    return handle == &later ? begin(2, of_x, of_dw, of_dy, convolution, data, factor, keep,
                                    algorithm, workspace, bytes)
                            : BAD_PARAM;
}
