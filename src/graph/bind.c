/* Fitting rows whose index maps depend on attributes: concat, split, slice, pad, transpose,
 * expand, reduce, cumsum, gather, opaque. (Reshape: graph/reshape.c.) */
#include <string.h>

#include "base/number.h"
#include "graph/binding.h"

/* Names of the axes of rank 1, 2, .... */
const char *const hp_names_by_rank[MAX_AXES] = {
    "", "n", "nc", "ntc", "nchw", "ncdhw", "ncdehw", "ncdefhw", "ncdefghw", "ncdefghwz",
};

struct dim_map hp_map_axis(int axis)
{
    return hp_map_offset(axis, 1, 0);
}

struct dim_map hp_map_offset(int axis, int64_t stride, int64_t pad)
{
    return (struct dim_map){ .kind = DIM_AXIS,
                             .n_axes = 1,
                             .axis = { (int8_t)axis },
                             .stride = stride,
                             .pad = pad,
                             .span = 1 };
}

struct dim_map hp_map_whole(enum dim_kind kind)
{
    return (struct dim_map){ .kind = kind, .stride = 1, .span = 1 };
}

struct operand *hp_bind_operand(struct binding *b, char letter, int number,
                                enum operand_role role)
{
    struct operand *operand = &b->operand[b->n_operands++];
    *operand = (struct operand){ .name = { letter }, .role = role };
    if (number >= 10)
        operand->name[1] = (char)('0' + number / 10);
    if (number >= 0)
        operand->name[number >= 10 ? 2 : 1] = (char)('0' + number % 10);
    return operand;
}

bool hp_bind_axes(struct binding *b, int n_dims, const int64_t *size, int sample_dim)
{
    const char *names = hp_names_by_rank[n_dims];
    int next = 1; /* index of the next name other than n */
    for (int d = 0; d < n_dims; d++) {
        bool here = d == (sample_dim > 0 ? sample_dim : 0);
        b->axis[d] = (struct hypar_axis){ .name = { here ? 'n' : names[next] },
                                          .role = HYPAR_ATTRIBUTE,
                                          .extent = size[d] };
        next += !here;
    }
    if (sample_dim >= 0 && size[sample_dim] % b->batch == 0)
        b->axis[sample_dim].role = HYPAR_SAMPLE;
    b->n_axes = n_dims;
    return true;
}

/* An operand with the shape of `t`; each dimension is indexed by the axis of the same number. A
 * dimension of size 1 on a longer axis is a broadcast. */
static struct operand *add_like(struct binding *b, char letter, int number,
                                enum operand_role role, const struct hypar_shape *shape)
{
    struct operand *operand = hp_bind_operand(b, letter, number, role);
    operand->n_dims = (int8_t)shape->n_dims;
    for (int d = 0; d < shape->n_dims; d++) {
        operand->size[d] = shape->dim[d];
        operand->dim[d] = hp_map_axis(d);
        if (shape->dim[d] == 1 && d < b->n_axes && b->axis[d].extent != 1)
            operand->dim[d] = hp_map_whole(DIM_BROADCAST);
    }
    return operand;
}

bool hp_dimension_attr(struct binding *b, int rank, int *axis)
{
    *axis = (int)hp_attr_int(b->attrs, ATTR_AXIS, 0, 1);
    char range[RANGE_TEXT_BYTES];
    return *axis < rank || hp_bind_fail(b, "attribute 'axis' is %d, expected %s", *axis,
                                        hp_range_text(range, 0, rank - 1));
}

bool bind_concat(struct binding *b)
{
    struct hypar_shape out = b->input[0]->shape;
    int axis, sample_dim = -1;
    if (!hp_dimension_attr(b, out.n_dims, &axis))
        return false;
    out.dim[axis] = 0;
    for (int i = 0; i < b->n_inputs; i++) {
        const struct tensor *t = b->input[i];
        if (t->shape.n_dims != out.n_dims)
            return hp_bind_fail(b, "input %d has %d dimensions, expected %d", i,
                                t->shape.n_dims, out.n_dims);
        for (int d = 0; d < out.n_dims; d++) {
            int64_t size = t->shape.dim[d];
            if (d == axis)
                out.dim[d] += size;
            else if (out.dim[d] == 1)
                out.dim[d] = size;
            else if (size != 1 && size != out.dim[d])
                return hp_bind_fail(b, "input %d has %lld in dimension %d, expected %lld", i,
                                    (long long)size, d, (long long)out.dim[d]);
        }
        if (sample_dim < 0 && t->sample_dim != axis)
            sample_dim = t->sample_dim;
    }
    hp_bind_axes(b, out.n_dims, out.dim, sample_dim);
    int64_t offset = 0;
    for (int i = 0; i < b->n_inputs; i++) {
        struct operand *x = add_like(b, 'x', i, OPERAND_INPUT, &b->input[i]->shape);
        x->dim[axis] = hp_map_offset(axis, 1, offset);
        offset += x->size[axis];
    }
    add_like(b, 'y', -1, OPERAND_OUTPUT, &out);
    return true;
}

bool bind_split(struct binding *b)
{
    const struct tensor *t = b->input[0];
    const struct attr *sizes = hp_attr_get(b->attrs, ATTR_SIZES);
    int axis;
    if (!hp_dimension_attr(b, t->shape.n_dims, &axis))
        return false;
    double sum = 0;
    for (int i = 0; i < sizes->n; i++)
        sum += sizes->v[i];
    if (sum != (double)t->shape.dim[axis])
        return hp_bind_fail(b, "attribute 'sizes' sums to %g, expected %lld", sum,
                            (long long)t->shape.dim[axis]);
    hp_bind_axes(b, t->shape.n_dims, t->shape.dim, t->sample_dim == axis ? -1 : t->sample_dim);
    add_like(b, 'x', -1, OPERAND_INPUT, &t->shape);
    int64_t offset = 0;
    for (int i = 0; i < sizes->n; i++) {
        struct hypar_shape shape = t->shape;
        shape.dim[axis] = (int64_t)sizes->v[i];
        struct operand *y = add_like(b, 'y', i, OPERAND_OUTPUT, &shape);
        y->dim[axis] = hp_map_offset(axis, 1, offset);
        offset += shape.dim[axis];
    }
    return true;
}

bool bind_slice(struct binding *b)
{
    const struct tensor *t = b->input[0];
    struct hypar_shape out = t->shape;
    int axis;
    if (!hp_dimension_attr(b, out.n_dims, &axis))
        return false;
    int64_t start = hp_attr_int(b->attrs, ATTR_START, 0, 0);
    int64_t stop = hp_attr_int(b->attrs, ATTR_STOP, 0, 0);
    int64_t step = hp_attr_int(b->attrs, ATTR_STEP, 0, 1);
    if (start >= stop || stop > out.dim[axis])
        return hp_bind_fail(b, "slice from %lld to %lld of a dimension of %lld",
                            (long long)start, (long long)stop, (long long)out.dim[axis]);
    out.dim[axis] = (stop - start - 1) / step + 1; /* a form that cannot overflow */
    hp_bind_axes(b, out.n_dims, out.dim, t->sample_dim == axis ? -1 : t->sample_dim);
    struct operand *x = add_like(b, 'x', -1, OPERAND_INPUT, &t->shape);
    x->dim[axis] = hp_map_offset(axis, step, -start);
    add_like(b, 'y', -1, OPERAND_OUTPUT, &out);
    return true;
}

bool bind_pad(struct binding *b)
{
    const struct tensor *t = b->input[0];
    const struct attr *pad = hp_attr_get(b->attrs, ATTR_PAD);
    struct hypar_shape out = t->shape;
    int rank = out.n_dims, sample_dim = t->sample_dim;
    if (pad->n != 2 * rank)
        return hp_bind_fail(b, "attribute 'pad' has %d values, expected %d", pad->n, 2 * rank);
    for (int d = 0; d < rank; d++) {
        out.dim[d] += (int64_t)pad->v[d] + (int64_t)pad->v[rank + d];
        if (d == sample_dim && out.dim[d] != t->shape.dim[d])
            sample_dim = -1;
    }
    hp_bind_axes(b, rank, out.dim, sample_dim);
    struct operand *x = add_like(b, 'x', -1, OPERAND_INPUT, &t->shape);
    for (int d = 0; d < rank; d++)
        x->dim[d] = hp_map_offset(d, 1, (int64_t)pad->v[d]);
    add_like(b, 'y', -1, OPERAND_OUTPUT, &out);
    return true;
}

bool bind_transpose(struct binding *b)
{
    const struct tensor *t = b->input[0];
    const struct attr *perm = hp_attr_get(b->attrs, ATTR_PERM);
    struct hypar_shape out = { .n_dims = t->shape.n_dims };
    int place[MAX_DIMS] = {
        -1, -1, -1, -1, -1, -1
    }; /* by input dimension: its place in the output */
    if (perm->n != out.n_dims)
        return hp_bind_fail(b, "attribute 'perm' has %d values, expected %d", perm->n,
                            out.n_dims);
    for (int d = 0; d < out.n_dims; d++) {
        int from = (int)perm->v[d];
        if (from >= out.n_dims || place[from] >= 0)
            return hp_bind_fail(b, "attribute 'perm' is not a permutation of 0 to %d",
                                out.n_dims - 1);
        place[from] = d;
        out.dim[d] = t->shape.dim[from];
    }
    hp_bind_axes(b, out.n_dims, out.dim, t->sample_dim < 0 ? -1 : place[t->sample_dim]);
    struct operand *x = hp_bind_operand(b, 'x', -1, OPERAND_INPUT);
    x->n_dims = (int8_t)out.n_dims;
    for (int d = 0; d < out.n_dims; d++) {
        b->axis[place[d]].name[0] = hp_letter_at(b, d, 1);
        x->size[d] = t->shape.dim[d];
        x->dim[d] = hp_map_axis(place[d]);
    }
    add_like(b, 'y', -1, OPERAND_OUTPUT, &out);
    hp_name_axes(b);
    return true;
}

bool hp_in_axes(const struct binding *b, int d)
{
    const struct attr *axes = hp_attr_get(b->attrs, ATTR_AXES);
    for (int i = 0; axes && i < axes->n; i++)
        if ((int)axes->v[i] == d)
            return true;
    return false;
}

bool bind_expand(struct binding *b)
{
    const struct tensor *t = b->input[0];
    const struct attr *shape = hp_attr_get(b->attrs, ATTR_SHAPE);
    struct hypar_shape out = { .n_dims = shape->n };
    int shift = shape->n - t->shape.n_dims;
    if (shape->n > MAX_DIMS || shift < 0)
        return hp_bind_fail(b, "attribute 'shape' has %d values, expected %d to %d", shape->n,
                            t->shape.n_dims, MAX_DIMS);
    for (int d = 0; d < out.n_dims; d++) {
        int64_t size = (int64_t)shape->v[d], have = d >= shift ? t->shape.dim[d - shift] : 1;
        out.dim[d] = size == 0 || size == -1 ? have : size;
        if (d == 0 && shift && size == 0 && t->sample_dim < 0)
            out.dim[0] = b->batch; /* a new dimension: one entry for each sample */
        if (have != 1 && have != out.dim[d])
            return hp_bind_fail(b, "dimension %d has %lld, expected 1 or %lld", d - shift,
                                (long long)have, (long long)out.dim[d]);
    }
    /* A parameter repeated for every sample (a class token): its new first dimension is the
     * samples. */
    int sample_dim = t->sample_dim >= 0 ? t->sample_dim + shift
                     : out.n_dims && out.dim[0] == b->batch && (shift || t->shape.dim[0] == 1)
                         ? 0
                         : -1;
    hp_bind_axes(b, out.n_dims, out.dim, sample_dim);
    struct operand *x = hp_bind_operand(b, 'x', -1, OPERAND_INPUT);
    x->n_dims = (int8_t)t->shape.n_dims;
    for (int d = 0; d < t->shape.n_dims; d++) {
        x->size[d] = t->shape.dim[d];
        x->dim[d] = t->shape.dim[d] == out.dim[d + shift] ? hp_map_axis(d + shift)
                                                          : hp_map_whole(DIM_BROADCAST);
    }
    add_like(b, 'y', -1, OPERAND_OUTPUT, &out);
    return true;
}

bool bind_reduce(struct binding *b)
{
    const struct tensor *t = b->input[0];
    const struct attr *axes = hp_attr_get(b->attrs, ATTR_AXES);
    bool keep = hp_attr_int(b->attrs, ATTR_KEEP, 0, 0) != 0;
    int rank = t->shape.n_dims;
    char range[RANGE_TEXT_BYTES];
    for (int i = 0; axes && i < axes->n; i++)
        if ((int)axes->v[i] >= rank)
            return hp_bind_fail(b, "attribute 'axes' has %g, expected %s", axes->v[i],
                                hp_range_text(range, 0, rank - 1));
    if (!axes && rank < 3)
        return hp_bind_fail(b, "input 'x' has %d dimensions, expected 3 to %d", rank, MAX_DIMS);
    hp_bind_axes(b, rank, t->shape.dim, t->sample_dim);
    add_like(b, 'x', -1, OPERAND_INPUT, &t->shape);
    struct operand *y = hp_bind_operand(b, 'y', -1, OPERAND_OUTPUT);
    if (strstr(b->row->operands, "y=max"))
        y->combine = COMBINE_MAX;
    for (int d = 0; d < rank; d++) {
        bool reduced = axes ? hp_in_axes(b, d) : d >= 2;
        if (reduced && b->axis[d].role != HYPAR_SAMPLE)
            b->axis[d].role = HYPAR_REDUCTION;
        if (reduced && !keep)
            continue;
        y->size[y->n_dims] = reduced ? 1 : t->shape.dim[d];
        y->dim[y->n_dims++] = reduced ? hp_map_whole(DIM_WHOLE) : hp_map_axis(d);
    }
    return true;
}

/* Along the summed dimension a part would wait for the parts before it, so this dimension is
 * not split. */
bool bind_cumsum(struct binding *b)
{
    const struct tensor *t = b->input[0];
    int axis;
    if (!hp_dimension_attr(b, t->shape.n_dims, &axis))
        return false;
    hp_bind_axes(b, t->shape.n_dims, t->shape.dim, t->sample_dim == axis ? -1 : t->sample_dim);
    b->axis[axis].role = HYPAR_INNER;
    add_like(b, 'x', -1, OPERAND_INPUT, &t->shape);
    add_like(b, 'y', -1, OPERAND_OUTPUT, &t->shape);
    return true;
}

/* An operand that is looked up along dimension `axis`. An integer may name any element there,
 * so every part has the whole dimension. */
static void add_looked_up(struct binding *b, char letter, enum operand_role role,
                          const struct hypar_shape *shape, int axis)
{
    struct operand *x = add_like(b, letter, -1, role, shape);
    for (int d = 0; d < shape->n_dims; d++)
        x->dim[d] = d == axis ? hp_map_whole(DIM_WHOLE) : hp_map_axis(d);
}

/* The integers have the shape of the looked-up tensor except along the axis; in index_select
 * they have only that dimension. */
static bool check_index(struct binding *b, int axis, bool one_dimension)
{
    const struct hypar_shape *x = &b->input[0]->shape, *i = &b->input[1]->shape;
    if (i->n_dims != (one_dimension ? 1 : x->n_dims))
        return hp_bind_fail(b, "'i' has %d dimensions, expected %d", i->n_dims,
                            one_dimension ? 1 : x->n_dims);
    if (one_dimension && b->input[1]->sample_dim >= 0)
        return hp_bind_fail(b, "'i' holds samples, expected the same for all of them");
    for (int d = 0; d < x->n_dims && !one_dimension; d++)
        if (d != axis && i->dim[d] != x->dim[d])
            return hp_bind_fail(b, "'i' has %lld in dimension %d, expected %lld",
                                (long long)i->dim[d], d, (long long)x->dim[d]);
    return true;
}

bool bind_gather(struct binding *b)
{
    const struct tensor *t = b->input[0];
    bool select = b->row == &hp_op[OP_INDEX_SELECT], scatter = b->row == &hp_op[OP_SCATTER_ADD];
    struct hypar_shape out = t->shape;
    int axis;
    if (!hp_dimension_attr(b, out.n_dims, &axis) || !check_index(b, axis, select))
        return false;
    const struct hypar_shape *index = &b->input[1]->shape;
    out.dim[axis] = index->dim[select ? 0 : axis];
    for (int d = 0; scatter && d < out.n_dims; d++)
        if (b->input[2]->shape.n_dims != out.n_dims || b->input[2]->shape.dim[d] != out.dim[d])
            return hp_bind_fail(b, "'s' does not have the shape of 'i', expected the same");
    hp_bind_axes(b, out.n_dims, out.dim, t->sample_dim == axis ? -1 : t->sample_dim);
    add_looked_up(b, 'x', OPERAND_INPUT, &t->shape, axis);
    struct operand *i = hp_bind_operand(b, 'i', -1, OPERAND_INPUT);
    i->index = true;
    i->n_dims = (int8_t)index->n_dims;
    for (int d = 0; d < index->n_dims; d++) {
        i->size[d] = index->dim[d];
        i->dim[d] = hp_map_axis(select ? axis : d);
    }
    if (scatter) {
        add_like(b, 's', -1, OPERAND_INPUT, &out);
        add_looked_up(b, 'y', OPERAND_OUTPUT, &t->shape, axis);
    } else {
        add_like(b, 'y', -1, OPERAND_OUTPUT, &out);
    }
    return true;
}

/* Only samples are known to be independent of each other. */
bool bind_opaque(struct binding *b)
{
    const struct attr *shape = hp_attr_get(b->attrs, ATTR_SHAPE);
    const struct tensor *first =
        b->input[0]; /* the first input with samples, if there is one */
    for (int i = 1; i < b->n_inputs && first->sample_dim < 0; i++)
        first = b->input[i]->sample_dim >= 0 ? b->input[i] : first;
    int sample_dim = first->sample_dim;
    if (shape->n > MAX_DIMS)
        return hp_bind_fail(b, "attribute 'shape' has %d values, expected at most %d", shape->n,
                            MAX_DIMS);
    int64_t samples = sample_dim >= 0 ? first->shape.dim[sample_dim] : 1;
    hp_bind_axes(b, 1, &samples, sample_dim >= 0 ? 0 : -1);
    for (int i = 0; i < b->n_inputs; i++) {
        const struct tensor *t = b->input[i];
        struct operand *x = add_like(b, 'x', i, OPERAND_INPUT, &t->shape);
        x->index = t->index;
        for (int d = 0; d < x->n_dims; d++)
            x->dim[d] = d == t->sample_dim && x->size[d] == samples ? hp_map_axis(0)
                                                                    : hp_map_whole(DIM_WHOLE);
    }
    struct operand *y = hp_bind_operand(b, 'y', -1, OPERAND_OUTPUT);
    y->n_dims = (int8_t)shape->n;
    for (int d = 0; d < shape->n; d++) {
        int64_t size = (int64_t)shape->v[d];
        if (size == 0 && d < first->shape.n_dims)
            size = first->shape.dim[d];
        if (size < 1)
            return hp_bind_fail(b, "attribute 'shape' has %g in place %d, expected 1 or more",
                                shape->v[d], d);
        y->size[d] = size;
        y->dim[d] =
            d == sample_dim && size == samples ? hp_map_axis(0) : hp_map_whole(DIM_WHOLE);
    }
    return true;
}
