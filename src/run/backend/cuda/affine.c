/* Places of elements as sums of steps along axes. */
#include "run/backend/cuda/affine.h"

enum follows hp_cuda_follows(const struct nest *nest, const struct target *target,
                             const struct dim_map *dim)
{
    bool taps = dim->taps && target->axes >> dim->taps & 1;
    bool transposed = nest->kind == OP_CONV_TRANSPOSE || nest->kind == OP_GROUP_CONV_TRANSPOSE;
    if (dim->divide && transposed && taps)
        return FOLLOWS_TRANSPOSED;
    if (dim->divide || (dim->taps && !taps))
        return FOLLOWS_WINDOW;
    return taps ? FOLLOWS_TAPS : FOLLOWS_AXIS;
}

int64_t hp_cuda_dilation(const struct nest *nest, int d)
{
    return hp_attr_int(nest->attrs, ATTR_DILATION, d - 2, 1);
}

bool hp_cuda_is_whole(const struct operand *o, int d)
{
    return o->dim[d].kind == DIM_WHOLE && o->size[d] > 1;
}

bool hp_cuda_may_leave(const struct nest *nest, const struct target *target,
                       const struct operand *o, int d)
{
    const struct dim_map *dim = &o->dim[d];
    if (dim->kind != DIM_AXIS)
        return false;
    bool taps = hp_cuda_follows(nest, target, dim) == FOLLOWS_TAPS;
    return (taps && nest->axis[dim->taps].extent > 1) || dim->pad != 0 ||
           (nest->axis[dim->axis[0]].extent - 1) * dim->stride >= o->size[d];
}

static void add_axis(struct affine *f, const struct nest *nest, enum follows follows,
                     const struct dim_map *dim, int d, int64_t stride)
{
    f->axes |= 1u << dim->axis[0];
    f->step[dim->axis[0]] += dim->stride * stride;
    f->base -= dim->pad * stride;
    if (follows == FOLLOWS_TAPS) {
        f->axes |= 1u << dim->taps;
        f->step[dim->taps] += hp_cuda_dilation(nest, d) * stride;
    }
}

struct affine hp_cuda_affine_of(const struct kernel_call *call, const struct target *t, int o,
                                const struct view *view)
{
    const struct nest *nest = call->nest;
    const struct operand *operand = &nest->operand[o];
    bool target = view == (t->grad ? &call->grad[t->to] : &call->value[t->to]);
    struct affine f = { .base = 0 };
    for (int d = 0; d < operand->n_dims; d++) {
        const struct dim_map *dim = &operand->dim[d];
        int64_t stride = view->stride[d];
        f.base -= view->box.dim[d].lo * stride;
        if (dim->kind == DIM_AXIS) {
            enum follows follows = hp_cuda_follows(nest, t, dim);
            if (follows == FOLLOWS_AXIS || (follows == FOLLOWS_TAPS && !target)) {
                add_axis(&f, nest, follows, dim, d, stride);
            } else {
                f.has_position[d] = true;
                f.position[d] = stride;
            }
        } else if (dim->kind == DIM_PRODUCT) {
            for (int i = dim->n_axes - 1; i >= 0; i--) {
                f.step[dim->axis[i]] += stride;
                f.axes |= 1u << dim->axis[i];
                stride *= nest->axis[dim->axis[i]].extent;
            }
        } else if (hp_cuda_is_whole(operand, d)) {
            f.whole_extent = operand->size[d];
            f.whole = stride;
        }
    }
    return f;
}

bool hp_cuda_affine(const struct kernel_call *call, const struct target *target, int o,
                    bool grad, struct affine *out)
{
    const struct operand *operand = &call->nest->operand[o];
    *out = hp_cuda_affine_of(call, target, o, grad ? &call->grad[o] : &call->value[o]);
    for (int d = 0; d < operand->n_dims; d++)
        if (out->has_position[d] || hp_cuda_may_leave(call->nest, target, operand, d))
            return false;
    return true;
}
