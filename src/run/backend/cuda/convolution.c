/* Convolutions as products of matrices, over columns that are gathered in scratch memory for
 * some samples at a time. */
#include <string.h>

#include "kernel/walk.h"
#include "run/backend/cuda/convolution.h"
#include "run/backend/cuda/multiply.h"
#include "run/backend/cuda/sources.h"
#include "run/backend/narrow.h"

static const int64_t most_scratch = (int64_t)1 << 28; /* bytes */

/* The element at these indices of the first two dimensions, and the first of the others. */
static char *first_of(const struct view *view, int64_t i, int64_t j, int64_t size)
{
    return (char *)view->data + ((i - view->box.dim[0].lo) * view->stride[0] +
                                 (j - view->box.dim[1].lo) * view->stride[1]) *
                                    size;
}

/* The stride of the last of dimensions `from` .. n_dims - 1 that has several elements, if those
 * of all of them lie equally far apart over these extents; else 0. */
static int64_t step_along(const struct view *view, int from, const int64_t *extent)
{
    int64_t step = 0, stride = 1;
    for (int d = view->box.n_dims - 1; d >= from && step == 0; d--)
        step = extent[d] > 1 ? view->stride[d] : 0;
    stride = step = step ? step : 1;
    for (int d = view->box.n_dims - 1; d >= from; d--) {
        if (view->stride[d] != stride && extent[d] > 1)
            return 0;
        stride *= extent[d];
    }
    return step;
}

static const struct view *find(const struct kernel_call *call, const char *value,
                               const char *grad)
{
    const struct view *view = hp_call_view(call, value);
    return view ? view : hp_call_view(call, grad);
}

static void set_spatial(struct convolution *v, const struct view *x, int64_t extent[MAX_DIMS])
{
    const struct kernel_call *call = v->call;
    const struct operand *operand = &call->nest->operand[0];
    struct cuda_convolution *a = &v->args;
    for (int i = 0; i < 3; i++) { /* dimensions that are missing come first */
        int d = operand->n_dims - 3 + i;
        a->outputs[i] = a->taps[i] = a->stride[i] = a->dilation[i] = a->size[i] =
            a->positions[i] = 1;
        if (d < 2)
            continue;
        const struct dim_map *dim = &operand->dim[d];
        struct range out = call->range[dim->axis[0]];
        struct range region = hp_region_dim(call->nest, 0, d, call->range);
        a->first_output[i] = out.lo;
        a->outputs[i] = extent[d] = out.hi - out.lo;
        a->taps[i] = dim->taps ? call->nest->axis[dim->taps].extent : 1;
        a->stride[i] = dim->stride;
        a->pad[i] = dim->pad;
        a->dilation[i] = hp_attr_int(call->nest->attrs, ATTR_DILATION, d - 2, 1);
        a->size[i] = operand->size[d];
        a->first_position[i] = region.lo;
        a->positions[i] = region.hi - region.lo;
        a->x_step[i] = x->stride[d];
        v->x -= x->box.dim[d].lo * x->stride[d] * v->size;
        v->x_whole &= x->box.dim[d].lo == 0 && x->box.dim[d].hi == a->size[i];
    }
}

/* Are there places for all positions, though no window sees the last ones? The strides tell of
 * an array that has them. */
static bool has_all_places(const struct cuda_convolution *a)
{
    int64_t all = a->size[0] * a->size[1] * a->size[2], last = a->x_step[2];
    for (int i = 0; i < 3; i++)
        if (a->first_position[i] != 0 ||
            (i > 0 && a->size[i - 1] > 1 && a->x_step[i - 1] != a->size[i] * a->x_step[i]))
            return false;
    return last == 1 ? a->x_channel == all
                     : a->x_channel == 1 && a->x_sample == all * last && last >= a->channels;
}

static bool prepare(struct convolution *v, const struct backend *b,
                    const struct kernel_call *call)
{
    const struct nest *nest = call->nest;
    const struct view *x = find(call, "x", "dx"), *w = find(call, "w", "dw");
    const struct view *y = find(call, "y", "dy");
    struct range n = call->range[hp_nest_axis(nest, 'n')],
                 k = call->range[hp_nest_axis(nest, 'k')];
    struct range c = call->range[hp_nest_axis(nest, 'c')];
    int64_t outputs[MAX_DIMS] = { 1, 1, 1, 1, 1, 1 }, taps[MAX_DIMS] = { 1, 1, 1, 1, 1, 1 };
    const struct pass *pass = &nest->pass[call->pass];
    *v = (struct convolution){ .b = b,
                               .call = call,
                               .real = hp_is_narrow_call(call) ? REAL_BF16 : call->real,
                               .x_whole = true,
                               .fresh = (pass->writes & call->fresh) ||
                                        (pass->writes_grad & call->fresh_grad) };
    v->size = (int64_t)hp_real_bytes(v->real);
    v->x = first_of(x, n.lo, c.lo, v->size);
    v->w = first_of(w, k.lo, c.lo, v->size);
    v->y = first_of(y, n.lo, k.lo, v->size);
    set_spatial(v, x, outputs);
    struct cuda_convolution *a = &v->args;
    for (int d = 2; d < y->box.n_dims; d++) {
        int axis = nest->operand[0].dim[d].axis[0];
        v->y += (call->range[axis].lo - y->box.dim[d].lo) * y->stride[d] * v->size;
        taps[d] = nest->operand[hp_operand(nest, 'w')].size[d];
    }
    a->channels = taps[1] = c.hi - c.lo;
    a->x_sample = x->stride[0];
    a->x_channel = x->stride[1];
    v->x_whole |= has_all_places(a);
    a->dy_sample = y->stride[0];
    a->dy_channel = y->stride[1];
    v->samples = n.hi - n.lo;
    v->features = k.hi - k.lo;
    v->outputs = a->outputs[0] * a->outputs[1] * a->outputs[2];
    v->rows = a->channels * a->taps[0] * a->taps[1] * a->taps[2];
    v->w_feature = w->stride[0];
    v->y_feature = y->stride[1];
    v->y_step = a->dy_step = step_along(y, 2, outputs);
    return v->y_step > 0 && step_along(w, 1, taps) == 1;
}

static void launch(const struct convolution *v, const char *kernel, int64_t n)
{
    struct cuda_convolution args = v->args;
    struct cuda_grid grid = hp_cuda_grid(n);
    args.n = n;
    hp_cuda_launch(
        v->b->card,
        hp_cuda_function_of(v->b->card, "convolution", hp_cuda_convolution, kernel, v->real),
        &grid, (void *[]){ &args });
}

static void multiply(const struct convolution *v, struct hp_cuda_product p)
{
    p.real = p.from_real = v->real;
    p.factor = 1;
    if (!hp_cuda_multiply_matrices(v->b->card, &p))
        hp_cuda_fail(v->b->card, HYPAR_RUNTIME, "convolution: a product cannot be computed");
}

/* y[n] = w columns[n], for `n` samples from the current ones on. */
static void forward(const struct convolution *v, int64_t n)
{
    launch(v, "gather", n * v->rows * v->outputs);
    multiply(v, (struct hp_cuda_product){ .fresh = v->fresh,
                                          .to = v->y,
                                          .from = { v->w, v->args.columns },
                                          .rows = v->features,
                                          .columns = v->outputs,
                                          .summed = v->rows,
                                          .each = n,
                                          .to_row = v->y_feature,
                                          .to_column = v->y_step,
                                          .to_each = v->args.dy_sample,
                                          .from_row = v->w_feature,
                                          .from_summed = { 1, v->outputs },
                                          .from_column = 1,
                                          .from_each = { 0, v->rows * v->outputs } });
}

/* columns[n] = w' dy[n], whose elements are added to dx. */
static void input_gradient(const struct convolution *v, int64_t n)
{
    const struct cuda_convolution *a = &v->args;
    multiply(v, (struct hp_cuda_product){ .fresh = true,
                                          .to = a->columns,
                                          .from = { v->w, v->y },
                                          .rows = v->rows,
                                          .columns = v->outputs,
                                          .summed = v->features,
                                          .each = n,
                                          .to_row = v->outputs,
                                          .to_column = 1,
                                          .to_each = v->rows * v->outputs,
                                          .from_row = 1,
                                          .from_summed = { v->w_feature, v->y_feature },
                                          .from_column = v->y_step,
                                          .from_each = { 0, a->dy_sample } });
    launch(v, "scatter", n * a->channels * a->positions[0] * a->positions[1] * a->positions[2]);
}

/* dw = the sum over samples and outputs of dy times columns. */
static void weight_gradient(const struct convolution *v, int64_t n, bool first)
{
    launch(v, "gather_rows", n * v->rows * v->outputs);
    launch(v, "turn", n * v->features * v->outputs);
    multiply(v, (struct hp_cuda_product){ .fresh = first && v->fresh,
                                          .to = v->w,
                                          .from = { v->args.turned, v->args.columns },
                                          .rows = v->features,
                                          .columns = v->rows,
                                          .summed = n * v->outputs,
                                          .each = 1,
                                          .to_row = v->w_feature,
                                          .to_column = 1,
                                          .from_row = n * v->outputs,
                                          .from_summed = { 1, 1 },
                                          .from_column = n * v->outputs });
}

static bool worth(const struct kernel_call *call)
{
    enum { LEAST = 1 << 14 };
    const struct pass *pass = &call->nest->pass[call->pass];
    return call->nest->kind == OP_CONV && pass->macs >= LEAST && !hp_call_writes(call, "db");
}

bool hp_cuda_convolution_of(struct convolution *v, const struct backend *b,
                            const struct kernel_call *call)
{
    return worth(call) && prepare(v, b, call);
}

bool hp_cuda_convolve(const struct backend *b, const struct kernel_call *call)
{
    struct convolution v;
    const struct cuda_blas *blas;
    if (!hp_cuda_convolution_of(&v, b, call) || !hp_cuda_blas(b->card, &blas))
        return false;
    int64_t each = (v.rows + v.features) * v.outputs * v.size, done = 0;
    int64_t at_once = most_scratch / each < 1 ? 1 : most_scratch / each;
    if (at_once > v.samples)
        at_once = v.samples;
    char *scratch = hp_cuda_scratch(b->card, (size_t)(at_once * each));
    v.args.columns = scratch;
    v.args.turned = scratch + at_once * v.rows * v.outputs * v.size;
    v.args.fresh = v.fresh;
    for (int64_t n; scratch && done < v.samples; done += n) {
        n = v.samples - done < at_once ? v.samples - done : at_once;
        v.args.samples = n;
        v.args.x = v.x;
        v.args.dy = v.y;
        if (hp_call_writes(call, "y"))
            forward(&v, n);
        else if (hp_call_writes(call, "dx"))
            input_gradient(&v, n);
        else
            weight_gradient(&v, n, done == 0);
        v.x += n * v.args.x_sample * v.size;
        v.y += n * v.args.dy_sample * v.size;
    }
    return true;
}
