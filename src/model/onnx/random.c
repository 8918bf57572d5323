/* Random numbers of a model in training mode. The importer follows them through the nodes
 * that read them. A product of a tensor and a random mask is a dropout, also where one
 * number is drawn for a whole sample (stochastic depth). Any other random tensor that a
 * layer reads becomes an input of the network. */
#include <math.h>
#include <string.h>

#include "model/onnx/onnx.h"

static enum hypar_status define_drawn(struct importing *im, int i,
                                      const struct hypar_shape *shape, struct drawn drawn)
{
    struct drawn *kept = NEW(&im->arena, struct drawn, 1);
    if (i >= im->node->n_outputs)
        return HYPAR_OK;
    *kept = drawn;
    return hp_onnx_define(im, i,
                          (struct value){ .kind = VALUE_DRAWN,
                                          .type = ONNX_FLOAT,
                                          .shape = *shape,
                                          .tensor = -1,
                                          .drawn = kept,
                                          .label = im->node->output[i] });
}

enum hypar_status hp_onnx_define_mask(struct importing *im, int i,
                                      const struct hypar_shape *shape, double chance)
{
    return define_drawn(im, i, shape,
                        (struct drawn){ .kind = DRAWN_EITHER, .chance = chance, .on = 1 });
}

/* Where numbers are drawn ------------------------------------------------------------------ */

static enum hypar_status drawn_shape(struct importing *im, struct hypar_shape *out)
{
    const struct onnx_attr *a = hp_onnx_attr(im->node, "shape");
    const struct value *like = hp_onnx_input(im, 0);
    if (im->node->n_inputs) {
        if (!like)
            return hp_onnx_missing(im, "its first input");
        *out = like->shape;
        return HYPAR_OK;
    }
    if (!a || a->n_ints > MAX_DIMS)
        return hp_fail(im->err, HYPAR_INVALID, "a shape of 0 to %d dimensions is missing",
                       MAX_DIMS);
    *out = (struct hypar_shape){ .n_dims = a->n_ints };
    for (int d = 0; d < a->n_ints; d++)
        out->dim[d] = a->ints[d];
    return hp_onnx_check_dims(im, out);
}

/* RandomUniform, RandomNormal, also like a tensor; Bernoulli. */
enum hypar_status hp_onnx_random(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0);
    struct drawn drawn = { .kind = DRAWN_OTHERWISE };
    struct hypar_shape shape;
    TRY(drawn_shape(im, &shape));
    if (strncmp(im->node->op, "RandomUniform", 13) == 0) {
        drawn.low = hp_onnx_float(im->node, "low", 0);
        drawn.high = hp_onnx_float(im->node, "high", 1);
        if (drawn.low < drawn.high)
            drawn.kind = DRAWN_EVENLY;
    } else if (strcmp(im->node->op, "Bernoulli") == 0) {
        if (!x)
            return hp_onnx_missing(im, "its first input");
        if (x->kind != VALUE_CONSTANT && x->kind != VALUE_WEIGHT)
            return hp_onnx_opaque_node(im); /* the probabilities are computed */
        if (x->kind == VALUE_CONSTANT && x->uniform)
            return hp_onnx_define_mask(im, 0, &shape, fmin(fmax(x->data[0], 0), 1));
    }
    return define_drawn(im, 0, &shape, drawn);
}

/* Multinomial: classes, which layers may look up with. */
enum hypar_status hp_onnx_multinomial(struct importing *im)
{
    const struct value *x = hp_onnx_input(im, 0);
    struct hypar_shape shape = { 2, { 1, hp_onnx_int(im->node, "sample_size", 1) } };
    static const struct drawn otherwise = { .kind = DRAWN_OTHERWISE };
    if (x->shape.n_dims != 2 || shape.dim[1] < 1)
        return hp_fail(im->err, HYPAR_INVALID, "expected 2 dimensions, and samples");
    shape.dim[0] = x->shape.dim[0];
    TRY(hp_onnx_check_dims(im, &shape));
    return hp_onnx_define(im, 0,
                          (struct value){ .kind = VALUE_INDEX,
                                          .type = ONNX_INT64,
                                          .shape = shape,
                                          .tensor = -1,
                                          .computed = true,
                                          .drawn = &otherwise,
                                          .label = im->node->output[0] });
}

/* Nodes that read them --------------------------------------------------------------------- */

static bool is_op(const struct importing *im, const char *op)
{
    return strcmp(im->node->op, op) == 0;
}

/* A constant that is one number, and not of a larger shape. */
static bool is_number(const struct value *v, const struct value *beside)
{
    struct hypar_shape shape;
    return v && v->kind == VALUE_CONSTANT && v->uniform && isfinite(v->data[0]) &&
           hp_onnx_broadcast(&v->shape, &beside->shape, &shape) &&
           hp_same_shape(&shape, &beside->shape);
}

/* a op b for numbers; not a number: an operator that is not followed. */
static double computed(const struct importing *im, double a, double b)
{
    static const char followed[] = "Add Sub Mul Div Less LessOrEqual Greater GreaterOrEqual";
    return im->row && hp_onnx_lists(followed, im->node->op) ? im->row->of_two(a, b)
                                                            : (double)NAN;
}

/* An even number next to `c` becomes one of two numbers. */
static bool is_comparison(const struct importing *im)
{
    return hp_onnx_lists("Less LessOrEqual Greater GreaterOrEqual", im->node->op);
}

/* What follows from drawn numbers and the number `c`, which comes first if `first`; false: that
 * is not followed. */
static bool with_number(const struct importing *im, const struct drawn *d, double c, bool first,
                        struct drawn *out)
{
    *out = *d;
    if (d->kind == DRAWN_EITHER) {
        out->on = first ? computed(im, c, d->on) : computed(im, d->on, c);
        out->off = first ? computed(im, c, d->off) : computed(im, d->off, c);
        return isfinite(out->on) && isfinite(out->off);
    }
    if (d->kind != DRAWN_EVENLY)
        return false;
    if (is_comparison(im)) {
        double below = fmin(fmax((c - d->low) / (d->high - d->low), 0), 1);
        bool less = (is_op(im, "Less") || is_op(im, "LessOrEqual")) != first;
        *out =
            (struct drawn){ .kind = DRAWN_EITHER, .chance = less ? below : 1 - below, .on = 1 };
        return true;
    }
    double a = first ? computed(im, c, d->low) : computed(im, d->low, c);
    double b = first ? computed(im, c, d->high) : computed(im, d->high, c);
    out->low = fmin(a, b);
    out->high = fmax(a, b);
    return isfinite(a) && isfinite(b) && out->low < out->high && !(is_op(im, "Div") && first);
}

/* Floor, Not. */
static bool of_one(const struct importing *im, const struct drawn *d, struct drawn *out)
{
    bool floors = is_op(im, "Floor"), known = floors || is_op(im, "Not");
    *out = *d;
    if (known && im->row && d->kind == DRAWN_EITHER) {
        out->on = im->row->of_one(d->on);
        out->off = im->row->of_one(d->off);
        return true;
    }
    if (!floors || d->kind != DRAWN_EVENLY)
        return false;
    double least = floor(d->low);
    *out = (struct drawn){ .kind = DRAWN_EITHER,
                           .chance = fmax((d->high - least - 1) / (d->high - d->low), 0),
                           .on = least + 1,
                           .off = least };
    return d->high <= least + 2;
}

/* The tensor that the tensor `t` is by a factor, if that with `factor` makes 1; else `t`. */
static int unscaled(const struct importing *im, int t, double *factor)
{
    const struct hypar_graph *g = hp_build_graph(im->b);
    int op = g->tensors[t].producer;
    if (op < 0 || g->ops[op].kind != OP_AFFINE)
        return t;
    const struct attrs *attrs = g->ops[op].nest->attrs;
    double both = *factor * hp_attr(attrs, ATTR_ALPHA, 0, 1);
    if (fabs(both - 1) > 1e-6 || hp_attr(attrs, ATTR_BETA, 0, 0) != 0)
        return t;
    *factor = 1;
    return g->ops[op].tensor[0];
}

/* Output 0 is x, by `on` with the probability `chance`, else 0. Dropout is by 1 / chance. */
static enum hypar_status dropped(struct importing *im, struct value *x, double chance,
                                 double on, bool whole_samples)
{
    double factor = on * chance, rate = 1 - chance;
    int t;
    TRY(hp_onnx_tensor(im, x, &t));
    t = unscaled(im, t, &factor);
    if (rate > 0 && rate < 1) {
        TRY(hp_onnx_emit(im, OP_DROPOUT, NULL, 1, &t, ATTRS({ ATTR_RATE, 1, &rate }), &t));
        im->n_paths += whole_samples;
    }
    if (fabs(factor - 1) > 1e-6)
        TRY(hp_onnx_emit_affine(im, "scale", factor, 0, &t));
    return hp_onnx_define_tensor(im, 0, t);
}

/* Is what is drawn either 0 or something else? *chance: that it is not 0. */
static bool is_switch(const struct value *v, double *chance, double *on)
{
    if (v->kind != VALUE_DRAWN || v->drawn->kind != DRAWN_EITHER ||
        (v->drawn->on != 0) == (v->drawn->off != 0))
        return false;
    bool turned = v->drawn->on == 0;
    *on = turned ? v->drawn->off : v->drawn->on;
    *chance = turned ? 1 - v->drawn->chance : v->drawn->chance;
    return true;
}

/* Does `mask` fit x without more elements? */
static bool is_beside(const struct value *mask, const struct value *x)
{
    struct hypar_shape shape;
    return x && (x->kind == VALUE_NUMBERS || x->kind == VALUE_WEIGHT) && x->shape.n_dims > 0 &&
           hp_onnx_broadcast(&mask->shape, &x->shape, &shape) &&
           hp_same_shape(&shape, &x->shape);
}

/* x mask, and where(mask, x, 0). */
static enum hypar_status switched(struct importing *im, bool *done)
{
    bool product = is_op(im, "Mul"), choice = is_op(im, "Where");
    double chance, on;
    for (int i = 0; i < 2 && (product || choice) && !*done; i++) {
        const struct value *mask = hp_onnx_input(im, product ? i : 0),
                           *other = hp_onnx_input(im, choice ? 2 - i : 0);
        struct value *x = hp_onnx_input(im, product ? 1 - i : 1 + i);
        if (!mask || !is_switch(mask, &chance, &on) || !is_beside(mask, x))
            continue;
        if (choice && (!other || !is_number(other, x) || other->data[0] != 0))
            continue;
        *done = true;
        if (choice) {
            on = 1;
            chance = i ? 1 - chance : chance;
        }
        TRY(dropped(im, x, chance, on,
                    hp_onnx_elements(&mask->shape) != hp_onnx_elements(&x->shape)));
    }
    return HYPAR_OK;
}

/* The numbers as an input. */
static enum hypar_status settle(struct importing *im, struct value *v)
{
    int t;
    if (!v->shape.n_dims) /* a tensor of one element */
        v->shape = (struct hypar_shape){ 1, { 1 } };
    TRY(hp_onnx_computed_input(im, v, false, &t));
    v->kind = VALUE_NUMBERS;
    return HYPAR_OK;
}

enum hypar_status hp_onnx_read_drawn(struct importing *im, bool *done)
{
    struct drawn made;
    TRY(switched(im, done));
    for (int i = 0; i < 2 && !*done && im->node->n_inputs <= 2; i++) {
        const struct value *v = hp_onnx_input(im, i), *other = hp_onnx_input(im, 1 - i);
        if (!v || v->kind != VALUE_DRAWN)
            continue;
        *done = im->node->n_inputs == 1
                    ? of_one(im, v->drawn, &made)
                    : is_number(other, v) &&
                          with_number(im, v->drawn, other->data[0], i == 1, &made);
        if (*done)
            return define_drawn(im, 0, &v->shape, made);
    }
    for (int i = 0; i < im->node->n_inputs && !*done; i++)
        if (hp_onnx_input(im, i) && hp_onnx_input(im, i)->kind == VALUE_DRAWN)
            TRY(settle(im, hp_onnx_input(im, i)));
    return HYPAR_OK;
}
