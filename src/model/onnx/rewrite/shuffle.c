/* Composes reshapes and transposes of a tensor, and finds the fewest operators that have the
 * same effect. */
#include "model/onnx/rewrite/shuffle.h"

#include <string.h>

/* Elements from one index of dimension `d` to the next. */
static int64_t stride_of(const struct hypar_shape *shape, int d)
{
    int64_t stride = 1;
    for (int i = d + 1; i < shape->n_dims; i++)
        stride *= shape->dim[i];
    return stride;
}

struct shuffle hp_shuffle_start(const struct hypar_shape *base)
{
    struct shuffle s = { .n_dims = base->n_dims };
    int n = 0;
    for (int d = 0; d < base->n_dims; d++) {
        s.first[d] = n;
        if (base->dim[d] == 1)
            continue;
        s.size[n] = base->dim[d];
        s.stride[n++] = stride_of(base, d);
    }
    s.first[base->n_dims] = n;
    return s;
}

struct hypar_shape hp_shuffle_shape(const struct shuffle *s)
{
    struct hypar_shape shape = { .n_dims = s->n_dims };
    for (int d = 0; d < s->n_dims; d++) {
        shape.dim[d] = 1;
        for (int f = s->first[d]; f < s->first[d + 1]; f++)
            shape.dim[d] *= s->size[f];
    }
    return shape;
}

bool hp_shuffle_same(const struct shuffle *a, const struct shuffle *b)
{
    size_t n = (size_t)a->first[a->n_dims];
    return a->n_dims == b->n_dims &&
           memcmp(a->first, b->first, (size_t)(a->n_dims + 1) * sizeof *a->first) == 0 &&
           memcmp(a->size, b->size, n * sizeof *a->size) == 0 &&
           memcmp(a->stride, b->stride, n * sizeof *a->stride) == 0;
}

bool hp_shuffle_is_plain(const struct shuffle *s, const struct hypar_shape *base)
{
    struct shuffle plain = hp_shuffle_start(base);
    return hp_shuffle_same(s, &plain);
}

void hp_shuffle_transpose(struct shuffle *s, const int *perm)
{
    struct shuffle was = *s;
    int n = 0;
    for (int d = 0; d < s->n_dims; d++) {
        s->first[d] = n;
        for (int f = was.first[perm[d]]; f < was.first[perm[d] + 1]; f++) {
            s->size[n] = was.size[f];
            s->stride[n++] = was.stride[f];
        }
    }
    s->first[s->n_dims] = n;
}

/* A list of factors; neighbours that run on from one another are joined. */
struct factors {
    int n;
    int64_t size[MAX_SHUFFLE], stride[MAX_SHUFFLE];
};

static struct factors joined(const struct shuffle *s)
{
    struct factors all = { 0 };
    for (int f = 0; f < s->first[s->n_dims]; f++) {
        bool runs_on = all.n && all.stride[all.n - 1] == s->size[f] * s->stride[f];
        if (runs_on) {
            all.size[all.n - 1] *= s->size[f];
            all.stride[all.n - 1] = s->stride[f];
        } else {
            all.size[all.n] = s->size[f];
            all.stride[all.n++] = s->stride[f];
        }
    }
    return all;
}

bool hp_shuffle_reshape(struct shuffle *s, const struct hypar_shape *to)
{
    struct factors all = joined(s);
    struct shuffle made = { .n_dims = to->n_dims };
    int n = 0, at = 0;
    for (int d = 0; d < to->n_dims; d++) {
        made.first[d] = n;
        for (int64_t left = to->dim[d]; left > 1;) {
            if (at == all.n || n == MAX_SHUFFLE)
                return false;
            int64_t size = all.size[at] < left ? all.size[at] : left;
            if (left % size || all.size[at] % size)
                return false;
            made.size[n] = size;
            made.stride[n++] = all.stride[at] * (all.size[at] / size);
            left /= size;
            all.size[at] /= size;
            at += all.size[at] == 1;
        }
    }
    made.first[to->n_dims] = n;
    if (at != all.n)
        return false;
    *s = made;
    return true;
}

int hp_shuffle_whole_dim(const struct shuffle *s, const struct hypar_shape *base, int d)
{
    int f = s->first[d];
    if (s->first[d + 1] != f + 1)
        return -1;
    for (int i = 0; i < base->n_dims; i++)
        if (base->dim[i] == s->size[f] && stride_of(base, i) == s->stride[f])
            return i;
    return -1;
}

/* The innermost part of a factor that lies in one dimension of the base: returns its size and
 * puts the dimension into *dim. 0: the factor and the dimension do not end together. */
static int64_t inner_part(const struct hypar_shape *base, int64_t size, int64_t stride,
                          int *dim)
{
    int d = base->n_dims - 1;
    while (d > 0 && stride_of(base, d) * base->dim[d] <= stride)
        d--;
    *dim = d;
    if (d < 0 || stride < 1 || stride % stride_of(base, d))
        return 0;
    int64_t end = stride_of(base, d) * base->dim[d];
    if (end % stride)
        return 0;
    int64_t room = end / stride;
    return size <= room ? size : size % room ? 0 : room;
}

bool hp_shuffle_refine(struct shuffle *s, const struct hypar_shape *base)
{
    struct shuffle made = { .n_dims = s->n_dims };
    int n = 0;
    for (int d = 0; d < s->n_dims; d++) {
        made.first[d] = n;
        for (int f = s->first[d]; f < s->first[d + 1]; f++) {
            int64_t size = s->size[f], stride = s->stride[f];
            int begin = n, dim;
            while (size > 1) { /* innermost first; put in order below */
                int64_t part = inner_part(base, size, stride, &dim);
                if (part < 2 || n == MAX_SHUFFLE)
                    return false;
                memmove(made.size + begin + 1, made.size + begin,
                        (size_t)(n - begin) * sizeof *made.size);
                memmove(made.stride + begin + 1, made.stride + begin,
                        (size_t)(n - begin) * sizeof *made.stride);
                made.size[begin] = part;
                made.stride[begin] = stride;
                n++;
                size /= part;
                stride *= part;
            }
        }
    }
    made.first[s->n_dims] = n;
    *s = made;
    return true;
}

bool hp_shuffle_rebase(struct shuffle *s, const struct hypar_shape *from,
                       const struct hypar_shape *to)
{
    struct shuffle made = *s;
    if (!hp_shuffle_refine(&made, from))
        return false;
    for (int f = 0; f < made.first[made.n_dims]; f++) {
        int dim;
        inner_part(from, made.size[f], made.stride[f], &dim);
        int64_t stride = stride_of(from, dim);
        if (from->dim[dim] != to->dim[dim]) {
            if (made.size[f] != from->dim[dim])
                return false;
            made.size[f] = to->dim[dim];
        }
        made.stride[f] = made.stride[f] / stride * stride_of(to, dim);
    }
    for (int d = 0; d < from->n_dims; d++)
        if (from->dim[d] == 1 && to->dim[d] != 1)
            return false; /* it has no factor that could grow */
    /* a factor of size 1 is no factor */
    int n = 0;
    for (int d = 0, f = 0; d < made.n_dims; d++) {
        int end = made.first[d + 1];
        made.first[d] = n;
        for (; f < end; f++)
            if (made.size[f] > 1) {
                made.size[n] = made.size[f];
                made.stride[n++] = made.stride[f];
            }
    }
    made.first[made.n_dims] = n;
    *s = made;
    return true;
}

/* Operators ----------------------------------------------------------------------------- */

bool hp_same_shape(const struct hypar_shape *a, const struct hypar_shape *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->dim, b->dim, (size_t)a->n_dims * sizeof *a->dim) == 0;
}

enum hypar_status hp_emit_reshape(struct graph_builder *b, int tensor,
                                  const struct hypar_shape *to, const char *name, int *out,
                                  struct hypar_error *err)
{
    const struct tensor *t = &hp_build_graph(b)->tensors[tensor];
    double shape[MAX_DIMS];
    for (int d = 0; d < to->n_dims; d++) {
        bool kept = d < t->shape.n_dims && t->shape.dim[d] == to->dim[d];
        shape[d] = kept && d == t->sample_dim ? 0 : (double)to->dim[d];
    }
    if (to->n_dims == 0) { /* the attribute cannot be empty */
        double axes[MAX_DIMS];
        for (int d = 0; d < t->shape.n_dims; d++)
            axes[d] = d;
        return hp_build_op(b,
                           &(struct op_request){ OP_SQUEEZE, name, 1, &tensor,
                                                 ATTRS({ ATTR_AXES, t->shape.n_dims, axes }) },
                           out, err);
    }
    return hp_build_op(b,
                       &(struct op_request){ OP_RESHAPE, name, 1, &tensor,
                                             ATTRS({ ATTR_SHAPE, to->n_dims, shape }) },
                       out, err);
}

bool hp_shuffle_plan(const struct shuffle *s, struct shuffle_plan *plan)
{
    struct factors all = joined(s); /* what stays together moves together */
    int n = all.n, place[MAX_SHUFFLE];
    *plan = (struct shuffle_plan){ .factors.n_dims = n, .target = hp_shuffle_shape(s) };
    if (n > MAX_DIMS)
        return false;
    for (int i = 0; i < n; i++) {
        place[i] = 0;
        for (int j = 0; j < n; j++)
            place[i] += all.stride[j] > all.stride[i];
        plan->moves |= place[i] != i;
    }
    for (int i = 0; i < n; i++) {
        plan->factors.dim[place[i]] = all.size[i];
        plan->perm[i] = place[i];
    }
    return true;
}

/* Do whole dimensions only change places? Then no reshape is needed. */
static bool only_moves(const struct shuffle *s, const struct hypar_shape *base, double *perm)
{
    bool taken[MAX_DIMS] = { false };
    if (s->n_dims != base->n_dims)
        return false;
    for (int d = 0; d < s->n_dims; d++) {
        int from = hp_shuffle_whole_dim(s, base, d);
        for (int i = 0; i < base->n_dims && from < 0 && s->first[d] == s->first[d + 1]; i++)
            if (base->dim[i] == 1 && !taken[i])
                from = i;
        if (from < 0 || taken[from])
            return false;
        taken[from] = true;
        perm[d] = from;
    }
    return true;
}

static enum hypar_status emit_transpose(struct graph_builder *b, int n, const double *perm,
                                        const char *name, int *tensor, struct hypar_error *err)
{
    char text[512];
    int in = *tensor;
    snprintf(text, sizeof text, "%s.transpose", name);
    return hp_build_op(
        b, &(struct op_request){ OP_TRANSPOSE, text, 1, &in, ATTRS({ ATTR_PERM, n, perm }) },
        tensor, err);
}

enum hypar_status hp_shuffle_emit(struct graph_builder *b, int tensor, const struct shuffle *s,
                                  const char *name, int *out, struct hypar_error *err)
{
    char text[512];
    struct shuffle_plan plan;
    struct hypar_shape shape = hp_build_graph(b)->tensors[tensor].shape;
    double perm[MAX_DIMS];
    *out = tensor;
    if (hp_shuffle_is_plain(s, &shape))
        return HYPAR_OK;
    if (only_moves(s, &shape, perm))
        return emit_transpose(b, s->n_dims, perm, name, out, err);
    if (!hp_shuffle_plan(s, &plan))
        return hp_fail(err, HYPAR_UNSUPPORTED, "'%s' is transposed in more than %d dimensions",
                       name, MAX_DIMS);
    if (plan.moves) {
        snprintf(text, sizeof text, "%s.factors", name);
        if (!hp_same_shape(&shape, &plan.factors))
            TRY(hp_emit_reshape(b, *out, &plan.factors, text, out, err));
        TRY(emit_transpose(b, plan.factors.n_dims, plan.perm, name, out, err));
    }
    shape = hp_build_graph(b)->tensors[*out].shape;
    if (hp_same_shape(&shape, &plan.target))
        return HYPAR_OK;
    snprintf(text, sizeof text, "%s.reshape", name);
    return hp_emit_reshape(b, *out, &plan.target, text, out, err);
}
