/* Translates element-wise nodes, reductions, softmax and dropout, and recognises causal
 * masks. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "model/onnx/onnx.h"

/* One operator of one input with the attributes that the row lists. */
enum hypar_status hp_onnx_apply_row(struct importing *im)
{
    struct attr attr[4];
    double value[4];
    struct attrs attrs = { 0, attr };
    for (const char *p = im->row->attrs ? im->row->attrs : ""; *p; p += strspn(p, " ")) {
        char name[16] = "";
        size_t n = strcspn(p, "=:");
        bool given = p[n] == '=', minus = p[n + 1] == '-';
        memcpy(name, p, n);
        p += n + 1 + minus;
        p += hp_number_read(p, &value[attrs.n]);
        value[attrs.n] = minus ? -value[attrs.n] : value[attrs.n];
        if (given)
            value[attrs.n] = hp_onnx_number(im->node, name, value[attrs.n]);
        attr[attrs.n] = (struct attr){ hp_attr_find(name), 1, &value[attrs.n] };
        attrs.n++;
    }
    return hp_onnx_apply(im, im->row->kind, &attrs);
}

/* x op c, or c op x, for a number c. */
static enum hypar_status with_number(struct importing *im, int t, double c, bool first)
{
    const double most = 1e30;
    switch (im->row->kind) {
    case OP_ADD:
        TRY(hp_onnx_emit_affine(im, NULL, 1, c, &t));
        break;
    case OP_SUB:
        TRY(hp_onnx_emit_affine(im, NULL, first ? -1 : 1, first ? c : -c, &t));
        break;
    case OP_MUL:
        TRY(hp_onnx_emit_affine(im, NULL, c, 0, &t));
        break;
    case OP_DIV:
        if (first)
            TRY(hp_onnx_emit(im, OP_POW, "inverse", 1, &t, ATTRS({ ATTR_EXPONENT, 1, V(-1) }),
                             &t));
        TRY(hp_onnx_emit_affine(im, NULL, first ? c : 1 / c, 0, &t));
        break;
    default: {
        bool least = im->row->kind == OP_MAXIMUM;
        TRY(hp_onnx_emit(
            im, OP_CLIP, NULL, 1, &t,
            ATTRS({ ATTR_MIN, 1, V(least ? c : -most) }, { ATTR_MAX, 1, V(least ? most : c) }),
            &t));
    }
    }
    return hp_onnx_define_tensor(im, 0, t);
}

/* The values of a mask on and below the diagonal of its last two dimensions, and above it. */
enum mask_kind {
    MASK_ADDED,  /* 0; hugely negative */
    MASK_SEEN,   /* true; false */
    MASK_HIDDEN, /* false; true */
};

static bool is_huge(double value)
{
    return value <= -9999;
}

/* Is it a mask by which a query sees no later key? */
static bool is_causal(const struct value *mask, enum mask_kind kind)
{
    int rank = mask->shape.n_dims;
    if (mask->kind != VALUE_CONSTANT || mask->uniform || rank < 2 ||
        mask->shape.dim[rank - 1] != mask->shape.dim[rank - 2] || mask->shape.dim[rank - 1] < 2)
        return false;
    int64_t n = hp_onnx_elements(&mask->shape), side = mask->shape.dim[rank - 1];
    for (int64_t i = 0; i < n; i++) {
        bool seen = i % side <= i / side % side, set = mask->data[i] != 0;
        bool fits = kind == MASK_ADDED ? (seen ? !set : is_huge(mask->data[i]))
                                       : set == (seen == (kind == MASK_SEEN));
        if (!fits)
            return false;
    }
    return true;
}

bool hp_onnx_is_idle_mask(const struct value *mask)
{
    return mask->kind == VALUE_CONSTANT && mask->uniform &&
           mask->data[0] == (mask->type == ONNX_BOOL);
}

bool hp_onnx_is_causal_mask(const struct value *mask)
{
    return is_causal(mask, mask->type == ONNX_BOOL ? MASK_SEEN : MASK_ADDED);
}

void hp_onnx_note_causal(struct importing *im, int scores)
{
    while (im->n_causal < hp_build_graph(im->b)->n_ops) {
        im->causal = GROW(&im->arena, int, im->causal, im->n_causal, &im->causal_capacity);
        im->causal[im->n_causal++] = 0;
    }
    im->causal[im->n_causal - 1] = 1 + scores;
}

enum hypar_status hp_onnx_binary(struct importing *im)
{
    struct value *v[2] = { hp_onnx_input(im, 0), hp_onnx_input(im, 1) };
    struct hypar_shape shape;
    int t[2], scores = -1;
    if (!hp_onnx_broadcast(&v[0]->shape, &v[1]->shape, &shape))
        return hp_fail(im->err, HYPAR_INVALID, "the shapes of its inputs do not fit together");
    for (int c = 0; c < 2; c++) { /* the constant one */
        struct value *x = v[1 - c];
        if (v[c]->kind != VALUE_CONSTANT)
            continue;
        bool same = hp_onnx_elements(&shape) == hp_onnx_elements(&x->shape) &&
                    shape.n_dims == x->shape.n_dims;
        if (v[c]->uniform && same && isfinite(hp_onnx_element(v[c], 0))) {
            TRY(hp_onnx_tensor(im, x, &t[0]));
            return with_number(im, t[0], hp_onnx_element(v[c], 0), c == 0);
        }
        if (im->row->kind == OP_ADD && same && is_causal(v[c], MASK_ADDED))
            scores = 1 - c;
    }
    TRY(hp_onnx_tensors(im, 2, t));
    TRY(hp_onnx_emit(im, im->row->kind, NULL, 2, t, NULL, t));
    if (scores >= 0)
        hp_onnx_note_causal(im, scores);
    return hp_onnx_define_tensor(im, 0, t[0]);
}

/* Sum, Mean, Min, Max of any number of inputs. */
enum hypar_status hp_onnx_sum(struct importing *im)
{
    int t[2], n = im->node->n_inputs;
    for (int i = 0; i < n; i++)
        if (!hp_onnx_input(im, i))
            return hp_onnx_missing(im, "an input");
    if (n == 2 && strcmp(im->node->op, "Mean") != 0)
        return hp_onnx_binary(im);
    TRY(hp_onnx_tensor(im, hp_onnx_input(im, 0), &t[0]));
    for (int i = 1; i < n; i++) {
        TRY(hp_onnx_tensor(im, hp_onnx_input(im, i), &t[1]));
        TRY(hp_onnx_emit(im, im->row->kind, i < n - 1 ? "part" : NULL, 2, t, NULL, t));
    }
    if (strcmp(im->node->op, "Mean") == 0)
        TRY(hp_onnx_emit_affine(im, "mean", 1.0 / n, 0, t));
    return hp_onnx_define_tensor(im, 0, t[0]);
}

/* A bound of Clip: an attribute before opset 11, an input since. */
static enum hypar_status bound(struct importing *im, const char *attr, int i, double *out)
{
    const struct value *v = hp_onnx_input(im, i);
    *out = hp_onnx_float(im->node, attr, *out);
    if (v && (v->kind != VALUE_CONSTANT || hp_onnx_elements(&v->shape) != 1))
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a bound that is not constant");
    if (v)
        *out = hp_onnx_element(v, 0);
    *out = fmin(fmax(*out, -1e30), 1e30);
    return HYPAR_OK;
}

enum hypar_status hp_onnx_clip(struct importing *im)
{
    double least = -1e30, most = 1e30;
    TRY(bound(im, "min", 1, &least));
    TRY(bound(im, "max", 2, &most));
    return hp_onnx_apply(im, OP_CLIP, ATTRS({ ATTR_MIN, 1, &least }, { ATTR_MAX, 1, &most }));
}

enum hypar_status hp_onnx_pow(struct importing *im)
{
    const struct value *y = hp_onnx_input(im, 1);
    if (y->kind != VALUE_CONSTANT || !y->uniform)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "an exponent that is not one number");
    return hp_onnx_apply(im, OP_POW, ATTRS({ ATTR_EXPONENT, 1, V(hp_onnx_element(y, 0)) }));
}

/* scale elu(x, alpha) */
enum hypar_status hp_onnx_selu(struct importing *im)
{
    double alpha = hp_onnx_float(im->node, "alpha", 1.67326319217681884765625);
    int t;
    TRY(hp_onnx_tensor(im, hp_onnx_input(im, 0), &t));
    TRY(hp_onnx_emit(im, OP_ELU, "elu", 1, &t, ATTRS({ ATTR_ALPHA, 1, &alpha }), &t));
    TRY(hp_onnx_emit_affine(
        im, NULL, hp_onnx_float(im->node, "gamma", 1.05070102214813232421875), 0, &t));
    return hp_onnx_define_tensor(im, 0, t);
}

/* x Phi(x), or its approximation by tanh. */
enum hypar_status hp_onnx_gelu(struct importing *im)
{
    bool by_tanh = strcmp(hp_onnx_string(im->node, "approximate", "none"), "tanh") == 0;
    return hp_onnx_apply(im, by_tanh ? OP_GELU_TANH : OP_GELU, NULL);
}

/* relu(x) - slope relu(-x) */
enum hypar_status hp_onnx_prelu(struct importing *im)
{
    int x, up, t[2];
    TRY(hp_onnx_tensor(im, hp_onnx_input(im, 0), &x));
    TRY(hp_onnx_tensor(im, hp_onnx_input(im, 1), &t[1]));
    TRY(hp_onnx_emit(im, OP_RELU, "above", 1, &x, NULL, &up));
    TRY(hp_onnx_emit(im, OP_NEG, "neg", 1, &x, NULL, &t[0]));
    TRY(hp_onnx_emit(im, OP_RELU, "below", 1, t, NULL, &t[0]));
    TRY(hp_onnx_emit(im, OP_MUL, "slope", 2, t, NULL, &t[1]));
    t[0] = up;
    TRY(hp_onnx_emit(im, OP_SUB, NULL, 2, t, NULL, t));
    return hp_onnx_define_tensor(im, 0, t[0]);
}

bool hp_onnx_is_causal_where(const struct value *which, const struct value *other, bool first)
{
    return other->kind == VALUE_CONSTANT && other->uniform && is_huge(other->data[0]) &&
           is_causal(which, first ? MASK_SEEN : MASK_HIDDEN);
}

/* Dropout: a rate and whether it is on are an attribute before opset 12, inputs since. */
enum hypar_status hp_onnx_dropout(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), *ratio = hp_onnx_input(im, 1),
                 *on = hp_onnx_input(im, 2);
    double rate = hp_onnx_float(im->node, "ratio", 0.5);
    int t;
    bool known = !ratio || (ratio->kind == VALUE_CONSTANT && ratio->uniform);
    if (ratio && known)
        rate = hp_onnx_element(ratio, 0);
    bool trains = im->file->opset < 12 ||
                  (on && (on->kind != VALUE_CONSTANT ||
                          (hp_onnx_elements(&on->shape) == 1 && hp_onnx_element(on, 0) != 0)));
    struct hypar_shape shape = x->shape;
    if (!trains || rate == 0) {
        TRY(hp_onnx_define(im, 0, *x));
        return hp_onnx_define_mask(im, 1, &shape, 1);
    }
    if (!known)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a rate that is not constant");
    TRY(hp_onnx_tensor(im, x, &t));
    TRY(hp_onnx_emit(im, OP_DROPOUT, NULL, 1, &t, ATTRS({ ATTR_RATE, 1, &rate }), &t));
    TRY(hp_onnx_define_tensor(im, 0, t));
    return hp_onnx_define_mask(im, 1, &shape, 1 - rate);
}

/* Reductions ---------------------------------------------------------------------------- */

enum hypar_status hp_onnx_reduce(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0);
    int64_t axes[MAX_DIMS];
    double values[MAX_DIMS];
    int n, t, axis, rank = x->shape.n_dims;
    double keep = hp_onnx_int(im->node, "keepdims", 1) != 0;
    bool spatial = rank == 4; /* of 3 the last is as likely features */
    TRY(hp_onnx_list(im, "axes", 1, MAX_DIMS, axes, &n));
    if (n <= 0) { /* all of them */
        n = rank;
        for (int d = 0; d < rank; d++)
            axes[d] = d;
    }
    for (int i = 0; i < n; i++) {
        TRY(hp_onnx_axis(im, axes[i], rank, &axis));
        values[i] = axis;
        spatial &= axis >= 2;
    }
    spatial &= n == rank - 2;
    bool root = strcmp(im->node->op, "ReduceL2") == 0; /* of the sum of squares */
    TRY(hp_onnx_tensor(im, x, &t));
    if (root) {
        int both[2] = { t, t };
        TRY(hp_onnx_emit(im, OP_MUL, "squares", 2, both, NULL, &t));
    }
    if (spatial && im->row->kind != OP_REDUCE_SUM)
        TRY(hp_onnx_emit(
            im, im->row->kind == OP_REDUCE_MEAN ? OP_GLOBAL_AVG_POOL : OP_GLOBAL_MAX_POOL, NULL,
            1, &t, ATTRS({ ATTR_KEEP, 1, &keep }), &t));
    else if (rank > 0)
        TRY(hp_onnx_emit(im, im->row->kind, NULL, 1, &t,
                         ATTRS({ ATTR_AXES, n, values }, { ATTR_KEEP, 1, &keep }), &t));
    if (root)
        TRY(hp_onnx_emit(im, OP_SQRT, "root", 1, &t, NULL, &t));
    return hp_onnx_define_tensor(im, 0, t);
}

/* Softmax over one dimension; before opset 13 over all from `axis` on. Ours is over the last.
 */
enum hypar_status hp_onnx_softmax(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0);
    bool since_13 = im->file->opset >= 13;
    int axis, t, rank = x->shape.n_dims, perm[MAX_DIMS];
    TRY(hp_onnx_axis_attr(im, since_13 ? -1 : 1, &axis));
    TRY(hp_onnx_tensor(im, x, &t));
    struct hypar_shape shape = x->shape, flat = { 2, { 1, 1 } };
    bool last = axis == rank - 1, flatten = (!last && !since_13) || rank > 4;
    for (int d = 0; d < rank; d++) {
        flat.dim[d >= axis] *= shape.dim[d];
        perm[d] = d == axis ? rank - 1 : d == rank - 1 ? axis : d;
    }
    if (flatten)
        TRY(hp_onnx_emit_reshape(im, "flat", t, &flat, &t));
    else if (!last)
        TRY(hp_onnx_emit_transpose(im, "last", t, rank, perm, &t));
    TRY(hp_onnx_emit(im, im->row->kind, NULL, 1, &t, NULL, &t));
    if (flatten)
        TRY(hp_onnx_emit_reshape(im, "shape", t, &shape, &t));
    else if (!last)
        TRY(hp_onnx_emit_transpose(im, "back", t, rank, perm, &t));
    return hp_onnx_define_tensor(im, 0, t);
}
