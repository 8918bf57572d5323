/* Translates LSTM and GRU. ONNX keeps all gates in one matrix, in the order i o f c or z r
 * h, and the sequence is the first dimension. Our operators keep the gates as [4, k, ...] in
 * the order i f c o, or as [3, k, ...] in the order r z h, and the samples are the first
 * dimension. */
#include <string.h>

#include "model/onnx/onnx.h"

struct lstm {
    bool gru;
    int n_gates, n_states;
    int n_directions;
    bool reverse, batch_first;
    int64_t length, samples, width, hidden;
    struct value *x, *w, *r, *bias, *state[2];
};

/* Of i f c o in i o f c; of r z h in z r h. */
static const int place_of_gate[2][4] = { { 0, 2, 3, 1 }, { 1, 0, 2 } };

/* A number 0 for all? Then it need not be there. */
static bool is_zero(const struct value *v)
{
    return !v || (v->kind == VALUE_CONSTANT && v->uniform && v->data[0] == 0);
}

static bool has_shape(const struct value *v, int64_t a, int64_t b, int64_t c)
{
    const int64_t want[3] = { a, b, c };
    int rank = c ? 3 : 2;
    if (v->shape.n_dims != rank)
        return false;
    for (int d = 0; d < rank; d++)
        if (v->shape.dim[d] != want[d])
            return false;
    return true;
}

/* Forms that ours does not have. */
static enum hypar_status check_form(struct importing *im, const struct lstm *l)
{
    const char *direction = hp_onnx_string(im->node, "direction", "forward");
    const struct value *lengths = hp_onnx_input(im, 4);
    bool known = strcmp(direction, "forward") == 0 || strcmp(direction, "reverse") == 0 ||
                 strcmp(direction, "bidirectional") == 0;
    if (!known || hp_onnx_attr(im->node, "activations") || hp_onnx_attr(im->node, "clip") ||
        hp_onnx_int(im->node, "input_forget", 0) || (!l->gru && hp_onnx_input(im, 7)))
        return hp_fail(im->err, HYPAR_UNSUPPORTED,
                       "%s with its own activations, clipping or peepholes",
                       l->gru ? "a GRU" : "an LSTM");
    bool whole = !lengths || (lengths->kind == VALUE_CONSTANT && lengths->uniform &&
                              lengths->data[0] == (double)l->length);
    if (!whole)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "sequences of different lengths");
    if (l->w->kind != VALUE_WEIGHT || l->r->kind != VALUE_WEIGHT ||
        (l->bias && l->bias->kind != VALUE_WEIGHT && !is_zero(l->bias)))
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "weights that are not initializers");
    return HYPAR_OK;
}

static enum hypar_status read_lstm(struct importing *im, struct lstm *l)
{
    bool gru = im->row->kind == OP_GRU;
    *l = (struct lstm){ .gru = gru,
                        .n_gates = gru ? 3 : 4,
                        .n_states = gru ? 1 : 2,
                        .x = hp_onnx_input(im, 0),
                        .w = hp_onnx_input(im, 1),
                        .r = hp_onnx_input(im, 2),
                        .bias = hp_onnx_input(im, 3),
                        .state = { hp_onnx_input(im, 5), gru ? NULL : hp_onnx_input(im, 6) } };
    const char *direction = hp_onnx_string(im->node, "direction", "forward");
    if (!l->w || !l->r || l->x->shape.n_dims != 3 || l->w->shape.n_dims != 3)
        return hp_fail(im->err, HYPAR_INVALID, "expected x, w and r of 3 dimensions");
    l->batch_first = hp_onnx_int(im->node, "layout", 0) != 0;
    l->length = l->x->shape.dim[l->batch_first];
    l->samples = l->x->shape.dim[!l->batch_first];
    l->width = l->x->shape.dim[2];
    l->n_directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    l->reverse = strcmp(direction, "reverse") == 0;
    l->hidden = l->w->shape.dim[1] / l->n_gates;
    int64_t k = l->hidden, all = l->n_gates * k;
    if (k < 1 || !has_shape(l->w, l->n_directions, all, l->width) ||
        !has_shape(l->r, l->n_directions, all, k) ||
        (l->bias && !has_shape(l->bias, l->n_directions, 2 * all, 0)))
        return hp_fail(im->err, HYPAR_INVALID, "the shapes of its weights do not fit together");
    for (int i = 0; i < 2; i++)
        if (l->state[i] && !is_zero(l->state[i]) &&
            (l->batch_first || !has_shape(l->state[i], l->n_directions, l->samples, k)))
            return hp_fail(im->err, l->batch_first ? HYPAR_UNSUPPORTED : HYPAR_INVALID,
                           "the shape of a first state does not fit");
    return check_form(im, l);
}

/* The gates of one direction, `width` columns each, from element `at` of a weight on. */
static enum hypar_status gates(struct importing *im, const struct lstm *l,
                               const struct value *weight, int64_t at, int64_t width,
                               const char *what, int direction, int *out)
{
    struct weight_range part[4];
    struct hypar_shape shape = { width ? 3 : 2, { l->n_gates, l->hidden, width } };
    int64_t size = l->hidden * (width ? width : 1);
    for (int g = 0; g < l->n_gates; g++)
        part[g] = (struct weight_range){ 0, at + place_of_gate[l->gru][g] * size, size };
    const char *name = hp_arena_printf(&im->arena, "%s.%s%d", im->node->name, what, direction);
    hp_onnx_divide(im, weight);
    return hp_onnx_part_param(im, weight, l->n_gates, part, &shape, name, out);
}

/* A first state [directions, n, k]: that of one direction as [n, k]. */
static enum hypar_status first_state(struct importing *im, const struct lstm *l,
                                     struct value *state, int direction, int *out)
{
    struct hypar_shape shape = { 2, { l->samples, l->hidden } };
    *out = HP_ABSENT;
    if (is_zero(state))
        return HYPAR_OK;
    TRY(hp_onnx_tensor(im, state, out));
    if (l->n_directions == 2)
        TRY(hp_onnx_emit_slice(im, "state", *out, 0, (int64_t[]){ direction, direction + 1, 1 },
                               out));
    return hp_onnx_emit_reshape(im, "state", *out, &shape, out);
}

/* One direction; y[n,t,k], and h and c [n,k]. */
static enum hypar_status run_direction(struct importing *im, const struct lstm *l, int x,
                                       int direction, int *y)
{
    int in[7] = { x, HP_ABSENT, HP_ABSENT, HP_ABSENT, HP_ABSENT, HP_ABSENT, HP_ABSENT };
    int64_t k = l->hidden, c = l->width, d = direction, all = l->n_gates * k;
    double reverse = l->reverse || direction == 1;
    int *weight = &in[1 + l->n_states];
    for (int i = 0; i < l->n_states; i++)
        TRY(first_state(im, l, l->state[i], direction, &in[1 + i]));
    TRY(gates(im, l, l->w, d * all * c, c, "w", direction, &weight[0]));
    TRY(gates(im, l, l->r, d * all * k, k, "u", direction, &weight[1]));
    if (!is_zero(l->bias)) {
        TRY(gates(im, l, l->bias, 2 * d * all, 0, "b", direction, &weight[2]));
        TRY(gates(im, l, l->bias, 2 * d * all + all, 0, "d", direction, &weight[3]));
    }
    return hp_onnx_emit(im, im->row->kind, direction ? "back" : NULL, 5 + l->n_states, in,
                        ATTRS({ ATTR_REVERSE, 1, &reverse }), y);
}

/* Bring y[n,t,k] into the order of ONNX, with a dimension for the direction. */
static enum hypar_status as_output(struct importing *im, const struct lstm *l, int *y)
{
    static const int sequence_first[3] = { 1, 0, 2 };
    struct hypar_shape shape = { 4, { l->length, 1, l->samples, l->hidden } };
    if (l->batch_first)
        shape = (struct hypar_shape){ 4, { l->samples, l->length, 1, l->hidden } };
    else
        TRY(hp_onnx_emit_transpose(im, "sequence", *y, 3, sequence_first, y));
    return hp_onnx_emit_reshape(im, "direction", *y, &shape, y);
}

enum hypar_status hp_onnx_lstm(struct importing *im)
{
    static const int batch_first[3] = { 1, 0, 2 };
    struct lstm l;
    int x, out[3][2] = { { 0 } };
    TRY(read_lstm(im, &l));
    TRY(hp_onnx_tensor(im, l.x, &x));
    if (!l.batch_first)
        TRY(hp_onnx_emit_transpose(im, "samples", x, 3, batch_first, &x));
    for (int d = 0; d < l.n_directions; d++) {
        int y[3];
        TRY(run_direction(im, &l, x, d, y));
        TRY(as_output(im, &l, &y[0]));
        struct hypar_shape shape = { 3, { 1, l.samples, l.hidden } };
        if (l.batch_first)
            shape = (struct hypar_shape){ 3, { l.samples, 1, l.hidden } };
        for (int i = 1; i <= l.n_states; i++)
            TRY(hp_onnx_emit_reshape(im, "state", y[i], &shape, &y[i]));
        for (int i = 0; i <= l.n_states; i++)
            out[i][d] = y[i];
    }
    for (int i = 0; i <= l.n_states; i++) {
        double axis = i ? l.batch_first : 1 + l.batch_first;
        if (l.n_directions == 2)
            TRY(hp_onnx_emit(im, OP_CONCAT, "both", 2, out[i], ATTRS({ ATTR_AXIS, 1, &axis }),
                             out[i]));
        TRY(hp_onnx_define_tensor(im, i, out[i][0]));
    }
    return HYPAR_OK;
}

/* The reset gate stands behind the product, as PyTorch has it; else it is opaque. */
enum hypar_status hp_onnx_gru(struct importing *im)
{
    return hp_onnx_int(im->node, "linear_before_reset", 0) ? hp_onnx_lstm(im)
                                                           : hp_onnx_opaque_node(im);
}
