/* Building a graph of one operator from a row of measurements. */
#include "fit/one_op.h"

#include <math.h>
#include <string.h>

#include "base/word.h"
#include "graph/binding.h"

struct making {
    const struct op_traits *row;
    struct shape shape;
    struct arena *scratch;
    struct hypar_error *err;
};

/* Inputs -------------------------------------------------------------------------------- */

/* The elements under a window of `taps` at `extent` positions; transposed, the elements that
 * yield this many outputs. */
static int64_t window_size(const struct making *m, int64_t extent, int64_t taps, int place,
                           int spatial, bool transposed)
{
    const struct attrs *attrs = &m->shape.attrs;
    const struct attr *pad = hp_attr_get(attrs, ATTR_PAD),
                      *stride = hp_attr_get(attrs, ATTR_STRIDE),
                      *dilation = hp_attr_get(attrs, ATTR_DILATION);
    if (!strstr(m->row->attrs, "pad")) /* it keeps the size */
        return extent;
    double step = stride ? stride->v[stride->n > place ? place : 0] : 1;
    double apart = dilation ? dilation->v[dilation->n > place ? place : 0] : 1;
    double pads = 0;
    if (pad && pad->n == 1)
        pads = 2 * pad->v[0];
    else if (pad && pad->n == 2 * spatial)
        pads = pad->v[place] + pad->v[spatial + place];
    double size = (double)(extent - 1) * step + apart * (double)(taps - 1) + 1 - pads;
    if (transposed)
        size = floor(((double)(extent - 1) + pads - apart * (double)(taps - 1)) / step) + 1;
    return size < 1 ? 1 : size > 0x1p40 ? (int64_t)1 << 40 : (int64_t)size;
}

static enum hypar_status extent_of(const struct making *m, char letter, int64_t *out)
{
    *out = hp_shape_extent(&m->shape, letter);
    return *out ? HYPAR_OK
                : hp_fail(m->err, HYPAR_INVALID, "axis '%c' of %s is missing", letter,
                          m->row->name);
}

/* One dimension of a map, at *p: "n", "t?", "h~i", "h/i", "h%n", "(a,g,d)", "4". */
static enum hypar_status read_dim(const struct making *m, const char **p, int *place,
                                  int spatial, struct hypar_shape *shape)
{
    int64_t size = 1, extent;
    const char *at = *p;
    *p += strcspn(*p, *at == '(' ? ")" : ",]");
    *p += **p == ')';
    bool optional = (*p)[-1] == '?' || **p == '?';
    *p += strspn(*p, "?");
    if (optional && !hp_shape_extent(&m->shape, *at)) {
        return HYPAR_OK;
    } else if (at[1] == '~' || at[1] == '/') {
        int64_t taps;
        TRY(extent_of(m, at[0], &extent));
        TRY(extent_of(m, at[2], &taps));
        size = window_size(m, extent, taps, (*place)++, spatial, at[1] == '/');
    } else if (at[1] == '%') { /* any size: as many as there are outputs */
        TRY(extent_of(m, at[0], &size));
    } else if (*at >= '0' && *at <= '9') {
        size = *at - '0';
    } else {
        for (; at < *p; at++)
            if (*at >= 'a' && *at <= 'z') {
                TRY(extent_of(m, *at, &extent));
                size =
                    (double)size * (double)extent < 0x1p50 ? size * extent : (int64_t)1 << 50;
            }
    }
    shape->dim[shape->n_dims++] = size;
    return HYPAR_OK;
}

static int count_windows(const struct making *m, const struct op_operand *o)
{
    int n = 0;
    for (int i = 0; i < o->map_length; i++)
        n += strchr("~/", o->map[i]) && hp_shape_extent(&m->shape, o->map[i - 1]) > 0;
    return n;
}

/* The shape of an input from its map; *sample_dim is the dimension of the samples. */
static enum hypar_status input_shape(const struct making *m, const struct op_operand *o,
                                     struct hypar_shape *shape, int *sample_dim)
{
    int place = 0, spatial = count_windows(m, o);
    *shape = (struct hypar_shape){ 0 };
    *sample_dim = -1;
    for (const char *p = o->map + 1; *p != ']'; p += *p == ',') {
        if (*p == 'n')
            *sample_dim = shape->n_dims;
        TRY(read_dim(m, &p, &place, spatial, shape));
    }
    if (o->exchanged && hp_attr_int(&m->shape.attrs, ATTR_TRANSPOSED, 0, 0)) {
        int64_t last = shape->dim[shape->n_dims - 1];
        shape->dim[shape->n_dims - 1] = shape->dim[shape->n_dims - 2];
        shape->dim[shape->n_dims - 2] = last;
    }
    return HYPAR_OK;
}

/* One axis for each dimension, in the order of the text. */
static enum hypar_status shape_in_order(const struct making *m, struct hypar_shape *shape,
                                        int *sample_dim)
{
    const char *order = m->shape.order, *n = strchr(order, 'n');
    *shape = (struct hypar_shape){ 0 };
    *sample_dim = n ? (int)(n - order) : -1;
    if (!*order || strlen(order) > MAX_DIMS)
        return hp_fail(m->err, HYPAR_INVALID, "%zu dimensions of %s, expected 1 to %d",
                       strlen(order), m->row->name, MAX_DIMS);
    for (; *order; order++)
        shape->dim[shape->n_dims++] = hp_shape_extent(&m->shape, *order);
    return HYPAR_OK;
}

/* A slice goes from `start` to `stop`, so the dimension reaches `stop`. */
static void reach_stop(const struct making *m, struct hypar_shape *shape)
{
    const struct attrs *attrs = &m->shape.attrs;
    int64_t axis = hp_attr_int(attrs, ATTR_AXIS, 0, 0),
            stop = hp_attr_int(attrs, ATTR_STOP, 0, 0),
            start = hp_attr_int(attrs, ATTR_START, 0, 0),
            step = hp_attr_int(attrs, ATTR_STEP, 0, 1);
    axis += axis < 0 ? shape->n_dims : 0;
    if (axis < 0 || axis >= shape->n_dims || step < 1 || start < 0 || start >= stop)
        return;
    if (shape->dim[axis] == (stop - start - 1) / step + 1 && shape->dim[axis] < stop)
        shape->dim[axis] = stop;
}

/* Building ------------------------------------------------------------------------------ */

enum { MANY_INPUTS = 2 }; /* unless the text says how many */

/* The inputs of an operator with any number of them: equal pieces of the shape. */
static enum hypar_status add_pieces(const struct making *m, struct graph_builder *b, int *input,
                                    int *n_inputs)
{
    struct hypar_shape shape;
    int sample_dim;
    int64_t n = m->shape.inputs ? m->shape.inputs : MANY_INPUTS;
    TRY(shape_in_order(m, &shape, &sample_dim));
    int64_t axis = hp_attr_int(&m->shape.attrs, ATTR_AXIS, 0, 0);
    axis += axis < 0 ? shape.n_dims : 0;
    if (axis < 0 || axis >= shape.n_dims || n > MAX_OPERANDS - 2 || shape.dim[axis] % n)
        return hp_fail(m->err, HYPAR_INVALID,
                       "%lld inputs along axis %lld, expected equal pieces of the result",
                       (long long)n, (long long)axis);
    shape.dim[axis] /= n;
    for (*n_inputs = 0; *n_inputs < n; (*n_inputs)++) {
        const char *name = hp_arena_printf(m->scratch, "x%d", *n_inputs);
        input[*n_inputs] =
            hp_build_input(b, name, &shape, false, axis == sample_dim ? -1 : sample_dim);
    }
    return HYPAR_OK;
}

static enum hypar_status add_inputs(const struct making *m, struct graph_builder *b, int *input,
                                    int *n_inputs)
{
    const char *text = m->row->operands;
    bool in_order = m->row->axes[0] == '*';
    for (struct op_operand o = { 0 }; hp_op_next_operand(&text, &o);) {
        struct hypar_shape shape;
        int sample_dim;
        if (o.part == 'o' || o.part == 's')
            break;
        if (o.many)
            return add_pieces(m, b, input, n_inputs);
        if (o.part == 'p' || o.optional) {
            input[(*n_inputs)++] = o.part == 'p' ? HP_MAKE : HP_ABSENT;
            continue;
        }
        if (in_order)
            TRY(shape_in_order(m, &shape, &sample_dim));
        if (m->row == &hp_op[OP_SLICE])
            reach_stop(m, &shape);
        if (m->row == &hp_op[OP_INDEX_SELECT] && o.index) {
            int64_t axis = hp_attr_int(&m->shape.attrs, ATTR_AXIS, 0, 0);
            axis += axis < 0 ? shape.n_dims : 0;
            shape = (struct hypar_shape){ 1, { axis < MAX_DIMS ? shape.dim[axis] : 1 } };
            sample_dim = -1;
        }
        if (!in_order)
            TRY(input_shape(m, &o, &shape, &sample_dim));
        input[(*n_inputs)++] =
            hp_build_input(b, (char[]){ o.name, '\0' }, &shape, o.index, sample_dim);
    }
    return HYPAR_OK;
}

static enum hypar_status add_op(const struct making *m, struct graph_builder *b,
                                enum op_kind kind)
{
    int input[MAX_OPERANDS], output[MAX_OPERANDS], n_inputs = 0;
    TRY(add_inputs(m, b, input, &n_inputs));
    return hp_build_op(b,
                       &(struct op_request){ .kind = kind,
                                             .name = "op",
                                             .n_inputs = n_inputs,
                                             .inputs = input,
                                             .attrs = &m->shape.attrs },
                       output, m->err);
}

/* Passes -------------------------------------------------------------------------------- */

static bool is_called(const struct operand *operand, const char *name, size_t n)
{
    return strlen(operand->name) == n && memcmp(operand->name, name, n) == 0;
}

/* Does the pass write the tensor `name`: "y", "dx"? For x0, x1, ... the first letter
 * suffices. */
static bool writes(const struct op *op, int pass, const char *name, size_t n)
{
    const struct nest *nest = op->nest;
    for (int o = 0; o < nest->n_operands; o++) {
        const struct operand *operand = &nest->operand[o];
        bool many = operand->name[1] != '\0';
        bool value = is_called(operand, name, n) || (many && n == 1 && *name == *operand->name);
        bool grad = n > 1 && *name == 'd' &&
                    (is_called(operand, name + 1, n - 1) ||
                     (many && n == 2 && name[1] == *operand->name));
        if (op->tensor[o] >= 0 && ((value && nest->pass[pass].writes >> o & 1) ||
                                   (grad && nest->pass[pass].writes_grad >> o & 1)))
            return true;
    }
    return false;
}

static uint32_t find_passes(const struct op *op, const char *name, size_t n)
{
    uint32_t passes = 0;
    for (int p = 0; p < op->nest->n_passes; p++)
        if (writes(op, p, name, n))
            passes |= 1u << p;
    return passes;
}

/* The operands that the passes write, for messages: "y, dx, dw, db". */
static void list_passes(const struct op *op, char *text, size_t size)
{
    const struct nest *nest = op->nest;
    size_t at = 0;
    *text = '\0';
    for (int p = 0; p < nest->n_passes; p++)
        for (int o = 0; o < nest->n_operands && at < size; o++) {
            bool value = nest->pass[p].writes >> o & 1,
                 grad = nest->pass[p].writes_grad >> o & 1;
            if (op->tensor[o] >= 0 && (value || grad))
                at += (size_t)snprintf(text + at, size - at, "%s%s%s", at ? ", " : "",
                                       grad ? "d" : "", nest->operand[o].name);
        }
}

static enum hypar_status read_passes(struct one_op *op, const char *text,
                                     struct hypar_error *err)
{
    for (const char *p = text;; p++) { /* behind a + */
        p += strspn(p, " ");
        size_t n = strcspn(p, "+ ");
        uint32_t found = find_passes(op->op, p, n);
        if (!found) {
            char known[120];
            list_passes(op->op, known, sizeof known);
            return hp_fail(err, HYPAR_INVALID, "no pass of %s writes '%.*s', expected %s",
                           hp_op[op->op->kind].name, (int)(n < 24 ? n : 24), p, known);
        }
        op->passes |= found;
        p += n;
        p += strspn(p, " ");
        if (!*p)
            return HYPAR_OK;
        if (*p != '+')
            return hp_fail(err, HYPAR_SYNTAX, "passes '%.40s', expected '+' between them",
                           text);
    }
}

static enum hypar_status find_kind(const char *name, enum op_kind *out, struct hypar_error *err)
{
    const char *names[OP_KIND_COUNT + 1];
    char near[120];
    *out = hp_op_find(name);
    if (*out != OP_KIND_COUNT && !(hp_op[*out].flags & ROW_OPAQUE))
        return HYPAR_OK;
    for (int k = 0; k < OP_KIND_COUNT; k++)
        names[k] = hp_op[k].name;
    names[OP_KIND_COUNT] = "update";
    if (hp_nearest_text(name, names, OP_KIND_COUNT + 1, near, sizeof near))
        return hp_fail(err, HYPAR_INVALID, "unknown operator '%.40s', did you mean %s?", name,
                       near);
    return hp_fail(err, HYPAR_INVALID,
                   "unknown operator '%.40s', expected 'update' or one of 'hypar ops'", name);
}

enum hypar_status hp_one_op(struct one_op *out, const char *kind_name, const char *shape,
                            const char *passes, struct hypar_error *err)
{
    enum op_kind kind;
    struct arena scratch = { 0 };
    struct making m = { .scratch = &scratch, .err = err };
    struct graph_builder *b = NULL;
    *out = (struct one_op){ 0 };
    TRY(find_kind(kind_name, &kind, err));
    m.row = &hp_op[kind];
    enum hypar_status status = hp_shape_read(&m.shape, &scratch, m.row, shape, err);
    if (status == HYPAR_OK)
        status = hp_shape_complete(&m.shape, &scratch, m.row, err);
    if (status == HYPAR_OK) {
        int64_t batch = hp_shape_extent(&m.shape, 'n');
        b = hp_build("op", batch ? batch : 1);
        status = add_op(&m, b, kind);
        if (status == HYPAR_OK)
            status = hp_build_finish(b, &out->graph, err);
        else
            hp_build_abandon(b);
    }
    if (status == HYPAR_OK) {
        out->op = &out->graph->ops[0];
        status = read_passes(out, passes, err);
    }
    if (status != HYPAR_OK) {
        hypar_graph_free(out->graph);
        *out = (struct one_op){ 0 };
    }
    hp_arena_free(&scratch);
    return status;
}
