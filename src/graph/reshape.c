/* Reshape, flatten, squeeze, unsqueeze: the axes are the common factors of both shapes, so that
 * a part is a box of both wherever possible. A factor that begins an axis of the operator
 * before keeps its letter: if k is cut into heads and their width, the heads are k. */
#include <string.h>

#include "graph/binding.h"

/* A shape attribute with 0 (as in the input) and -1 (the rest) filled in. */
static bool target_shape(struct binding *b, struct hypar_shape *out)
{
    const struct hypar_shape *in = &b->input[0]->shape;
    const struct attr *shape = hp_attr_get(b->attrs, ATTR_SHAPE);
    int64_t left = hp_shape_elements(in);
    int open = -1;
    if (shape->n > MAX_DIMS)
        return hp_bind_fail(b, "attribute 'shape' has %d values, expected at most %d", shape->n,
                            MAX_DIMS);
    out->n_dims = shape->n;
    for (int d = 0; d < shape->n; d++) {
        int64_t size = (int64_t)shape->v[d];
        if (size == 0 && d < in->n_dims)
            size = in->dim[d];
        if (size == -1 && open < 0) {
            open = d;
            size = 1;
        }
        if (size < 1)
            return hp_bind_fail(b, "attribute 'shape' has %g in place %d", shape->v[d], d);
        out->dim[d] = size;
        left = left % size == 0 ? left / size : 0;
    }
    if (open >= 0)
        out->dim[open] = left;
    if (left == 0 || (open < 0 && left != 1))
        return hp_bind_fail(b, "%lld elements do not fit the shape given",
                            (long long)hp_shape_elements(in));
    return true;
}

/* The output of squeeze (dimensions in `axes` are removed) and unsqueeze (they are added). */
static bool squeezed_shape(struct binding *b, bool leave, struct hypar_shape *out)
{
    const struct hypar_shape *in = &b->input[0]->shape;
    int extra = hp_attr_get(b->attrs, ATTR_AXES)->n, from = 0;
    int rank = leave ? in->n_dims : in->n_dims + extra;
    *out = (struct hypar_shape){ 0 };
    for (int d = 0; d < rank && rank <= MAX_DIMS; d++) {
        if (!hp_in_axes(b, d)) {
            if (from >= in->n_dims)
                return hp_bind_fail(b, "attribute 'axes' does not fit the input's dimensions");
            out->dim[out->n_dims++] = in->dim[from++];
        } else if (!leave) {
            out->dim[out->n_dims++] = 1;
        } else if (in->dim[from++] != 1) {
            return hp_bind_fail(b, "dimension %d has %lld, expected 1", d,
                                (long long)in->dim[d]);
        }
    }
    if (rank > MAX_DIMS || (leave ? in->n_dims - out->n_dims != extra : from != in->n_dims))
        return hp_bind_fail(b, "attribute 'axes' does not fit an input of %d dimensions",
                            in->n_dims);
    return true;
}

static bool reshaped_shape(struct binding *b, struct hypar_shape *out)
{
    const struct hypar_shape *in = &b->input[0]->shape;
    if (hp_attr_get(b->attrs, ATTR_SHAPE))
        return target_shape(b, out);
    if (hp_attr_get(b->attrs, ATTR_AXES))
        return squeezed_shape(b, b->row == &hp_op[OP_SQUEEZE], out);
    int axis;
    if (!hp_dimension_attr(b, in->n_dims, &axis))
        return false;
    *out = *in;
    out->n_dims = axis + 1;
    for (int d = axis + 1; d < in->n_dims; d++)
        out->dim[axis] *= in->dim[d];
    return true;
}

/* One side of a reshape while its dimensions are factored, outermost first. */
struct side {
    struct operand *operand;
    int d;        /* the current dimension */
    int64_t left; /* the part of it without a factor yet */
};

static void side_next(struct side *s)
{
    s->d++;
    s->left = s->d < s->operand->n_dims ? s->operand->size[s->d] : 1;
}

static bool side_add(struct side *s, int axis)
{
    struct dim_map *map = &s->operand->dim[s->d];
    if (map->n_axes == MAX_FACTORS)
        return false;
    map->axis[map->n_axes++] = (int8_t)axis;
    map->kind = map->n_axes > 1 ? DIM_PRODUCT : DIM_AXIS;
    return true;
}

static int new_factor(struct binding *b, enum hypar_role role, int64_t extent, char letter)
{
    if (b->n_axes == MAX_AXES - 1)
        return -1;
    b->axis[b->n_axes] =
        (struct hypar_axis){ .name = { letter }, .role = role, .extent = extent };
    return b->n_axes++;
}

/* From here on the two sides have no common factors: the rest of both dimensions, and further
 * ones until the products agree again, are not split. */
static bool skip_unlike(struct binding *b, struct side *in, struct side *out)
{
    struct side *sides[2] = { in, out };
    for (int i = 0; i < 2; i++)
        if (sides[i]->operand->dim[sides[i]->d].n_axes) {
            int rest = new_factor(b, HYPAR_INNER, sides[i]->left, 0);
            if (rest < 0 || !side_add(sides[i], rest))
                return false;
        }
    int64_t p = in->left, q = out->left;
    while (p != q) {
        struct side *s = p < q ? in : out;
        side_next(s);
        *(p < q ? &p : &q) *= s->left;
    }
    side_next(in);
    side_next(out);
    return true;
}

/* Make the common factors of both shapes axes; false if there are too many. */
static bool factor(struct binding *b, struct side in, struct side out, int sample_dim)
{
    while (in.d < in.operand->n_dims || out.d < out.operand->n_dims) {
        bool sample = in.d == sample_dim && !in.operand->dim[in.d].n_axes;
        bool both = sample && b->batch == 1 && out.d < out.operand->n_dims &&
                    !out.operand->dim[out.d].n_axes;
        if (in.left == 1 && in.d < in.operand->n_dims && !both) {
            side_next(&in);
            continue;
        }
        if (out.left == 1 && out.d < out.operand->n_dims && !both) {
            side_next(&out);
            continue;
        }
        int64_t common = in.left < out.left ? in.left : out.left;
        if (sample && in.left % b->batch == 0 && out.left % b->batch == 0)
            common = b->batch; /* samples come first wherever possible */
        if (in.left % common || out.left % common) {
            if (!skip_unlike(b, &in, &out))
                return false;
            continue;
        }
        sample = sample && common % b->batch == 0;
        char letter = hp_letter_at(b, in.d, in.operand->size[in.d] / in.left);
        int axis = new_factor(b, sample ? HYPAR_SAMPLE : HYPAR_ATTRIBUTE, common, letter);
        if (axis < 0 || !side_add(&in, axis) || !side_add(&out, axis))
            return false;
        in.left /= common;
        out.left /= common;
        if (in.left == 1)
            side_next(&in);
        if (out.left == 1)
            side_next(&out);
    }
    return true;
}

bool bind_reshape(struct binding *b)
{
    const struct tensor *t = b->input[0];
    struct hypar_shape out;
    if (!reshaped_shape(b, &out))
        return false;
    struct operand *x = hp_bind_operand(b, 'x', -1, OPERAND_INPUT);
    struct operand *y = hp_bind_operand(b, 'y', -1, OPERAND_OUTPUT);
    const struct hypar_shape *shapes[2] = { &t->shape, &out };
    struct operand *operands[2] = { x, y };
    for (int i = 0; i < 2; i++) {
        operands[i]->n_dims = (int8_t)shapes[i]->n_dims;
        for (int d = 0; d < shapes[i]->n_dims; d++) {
            operands[i]->size[d] = shapes[i]->dim[d];
            operands[i]->dim[d] = hp_map_whole(DIM_WHOLE);
        }
    }
    struct side in = { x, 0, x->n_dims ? x->size[0] : 1 },
                to = { y, 0, y->n_dims ? y->size[0] : 1 };
    if (!factor(b, in, to, t->sample_dim)) {
        b->n_axes = 0; /* too intricate: nothing is split */
        for (int d = 0; d < MAX_DIMS; d++)
            x->dim[d] = y->dim[d] = hp_map_whole(DIM_WHOLE);
    }
    hp_name_axes(b);
    return true;
}
