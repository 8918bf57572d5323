/* The values behind the names of an ONNX file (constants, weights, tensors), and how a value
 * becomes a tensor of the first graph. Also the functions by which translations append
 * operators. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "model/onnx/onnx.h"

struct value *hp_onnx_find(struct importing *im, const char *name)
{
    int i = *name ? hp_table_get(&im->names, name, strlen(name)) : -1;
    return i < 0 ? NULL : &im->value[i];
}

int hp_onnx_initializer(const struct importing *im, const char *name)
{
    return *name ? hp_table_get(&im->initializers, name, strlen(name)) : -1;
}

struct value *hp_onnx_input(struct importing *im, int i)
{
    return i < im->node->n_inputs ? hp_onnx_find(im, im->node->input[i]) : NULL;
}

enum hypar_status hp_onnx_enter(struct importing *im, const char *name, struct value value)
{
    if (hp_table_put(&im->names, &im->arena, name, strlen(name), im->n_values) != im->n_values)
        return hp_fail(im->err, HYPAR_INVALID, "'%.80s' is defined twice", name);
    im->value = GROW(&im->arena, struct value, im->value, im->n_values, &im->value_capacity);
    im->value[im->n_values++] = value;
    return HYPAR_OK;
}

const struct onnx_info *hp_onnx_told(const struct importing *im, const char *name)
{
    const struct onnx_file *file = im->file;
    int at = hp_table_get(&im->infos, name, strlen(name));
    return at < 0               ? NULL
           : at < file->n_infos ? &file->info[at]
                                : &file->output[at - file->n_infos];
}

/* Does a shape contradict what the file says about it? */
static enum hypar_status check_told(struct importing *im, const char *name,
                                    const struct hypar_shape *shape)
{
    const struct onnx_info *info = hp_onnx_told(im, name);
    if (!info || !info->shaped || !im->told)
        return HYPAR_OK;
    if (info->n_dims != shape->n_dims)
        return hp_fail(im->err, HYPAR_INVALID,
                       "'%.80s' has %d dimensions, but the file says %d", name, shape->n_dims,
                       info->n_dims);
    for (int d = 0; d < shape->n_dims; d++)
        if (info->dim[d].size > 0 && info->dim[d].size != shape->dim[d])
            return hp_fail(im->err, HYPAR_INVALID,
                           "'%.80s' has %lld in dimension %d, but the file says %lld", name,
                           (long long)shape->dim[d], d, (long long)info->dim[d].size);
    return HYPAR_OK;
}

enum hypar_status hp_onnx_define(struct importing *im, int i, struct value value)
{
    if (i >= im->node->n_outputs || !*im->node->output[i])
        return HYPAR_OK; /* nobody wants it */
    TRY(check_told(im, im->node->output[i], &value.shape));
    return hp_onnx_enter(im, im->node->output[i], value);
}

struct value hp_onnx_tensor_value(const struct importing *im, int t)
{
    return (struct value){
        .kind = VALUE_NUMBERS, .type = ONNX_FLOAT, .shape = *hp_onnx_shape(im, t), .tensor = t
    };
}

enum hypar_status hp_onnx_define_tensor(struct importing *im, int i, int t)
{
    return hp_onnx_define(im, i, hp_onnx_tensor_value(im, t));
}

const struct hypar_shape *hp_onnx_shape(const struct importing *im, int tensor)
{
    return &hp_build_graph(im->b)->tensors[tensor].shape;
}

void hp_onnx_note(struct importing *im, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    im->notes = GROW(&im->arena, const char *, im->notes, im->n_notes, &im->note_capacity);
    im->notes[im->n_notes++] = hp_arena_strdup(&im->arena, text);
}

bool hp_onnx_from_data(struct importing *im, int t)
{
    const struct hypar_graph *g = hp_build_graph(im->b);
    for (int i = im->n_from_data; i < g->n_tensors; i++) {
        int op = g->tensors[i].producer;
        bool constant = i < im->n_sources && im->source[i].name;
        bool from_data = g->tensors[i].kind == TENSOR_INPUT && !constant;
        for (int o = 0; op >= 0 && o < g->ops[op].nest->n_inputs; o++)
            from_data |= g->ops[op].tensor[o] >= 0 && im->from_data[g->ops[op].tensor[o]];
        im->from_data = GROW(&im->arena, bool, im->from_data, i, &im->from_data_capacity);
        im->from_data[i] = from_data;
        im->n_from_data = i + 1;
    }
    return im->from_data[t];
}

/* Names and operators ------------------------------------------------------------------- */

const char *hp_unique_name(struct name_set *set, struct arena *arena, const char *name)
{
    if (!*name || strcmp(name, "*") == 0) /* a star is the rest, in a plan */
        name = "unnamed";
    const char *unique = name;
    int first = hp_table_get(&set->names, name, strlen(name));
    while (hp_table_get(&set->names, unique, strlen(unique)) >= 0)
        unique = hp_arena_printf(arena, "%s_%d", name, ++set->count[first]);
    set->count = GROW(arena, int, set->count, set->n, &set->capacity);
    set->count[set->n] = 1;
    unique = hp_arena_strdup(arena, unique);
    hp_table_put(&set->names, arena, unique, strlen(unique), set->n++);
    return unique;
}

const char *hp_onnx_unique(struct importing *im, const char *name)
{
    return hp_unique_name(&im->op_names, &im->arena, name);
}

enum hypar_status hp_onnx_emit(struct importing *im, enum op_kind kind, const char *suffix,
                               int n_inputs, const int *inputs, const struct attrs *attrs,
                               int *outputs)
{
    int written[MAX_OPERANDS];
    const char *name = im->node->name;
    if (suffix)
        name = hp_arena_printf(&im->arena, "%s.%s", name, suffix);
    struct op_request request = { kind, hp_onnx_unique(im, name), n_inputs, inputs, attrs };
    TRY(hp_build_op(im->b, &request, written, im->err));
    const struct hypar_graph *g = hp_build_graph(im->b);
    const struct op *op = &g->ops[g->n_ops - 1];
    for (int o = op->nest->n_inputs, n = 0; o < op->nest->n_operands; o++)
        if (op->nest->operand[o].role == OPERAND_OUTPUT) {
            outputs[n] = written[n];
            n++;
        }
    return HYPAR_OK;
}

enum hypar_status hp_onnx_emit_reshape(struct importing *im, const char *suffix, int x,
                                       const struct hypar_shape *shape, int *out)
{
    const char *name = im->node->name;
    if (suffix)
        name = hp_arena_printf(&im->arena, "%s.%s", name, suffix);
    return hp_emit_reshape(im->b, x, shape, hp_onnx_unique(im, name), out, im->err);
}

enum hypar_status hp_onnx_emit_transpose(struct importing *im, const char *suffix, int x, int n,
                                         const int *perm, int *out)
{
    double values[MAX_DIMS];
    for (int d = 0; d < n; d++)
        values[d] = perm[d];
    return hp_onnx_emit(im, OP_TRANSPOSE, suffix, 1, &x, ATTRS({ ATTR_PERM, n, values }), out);
}

enum hypar_status hp_onnx_emit_expand(struct importing *im, const char *suffix, int x,
                                      const struct hypar_shape *shape, int *out)
{
    double dims[MAX_DIMS];
    for (int d = 0; d < shape->n_dims; d++)
        dims[d] = (double)shape->dim[d];
    return hp_onnx_emit(im, OP_EXPAND, suffix, 1, &x,
                        ATTRS({ ATTR_SHAPE, shape->n_dims, dims }), out);
}

enum hypar_status hp_onnx_emit_slice(struct importing *im, const char *suffix, int x, int axis,
                                     const int64_t range[3], int *out)
{
    return hp_onnx_emit(im, OP_SLICE, suffix, 1, &x,
                        ATTRS({ ATTR_AXIS, 1, V(axis) }, { ATTR_START, 1, V((double)range[0]) },
                              { ATTR_STOP, 1, V((double)range[1]) },
                              { ATTR_STEP, 1, V((double)range[2]) }),
                        out);
}

enum hypar_status hp_onnx_apply(struct importing *im, enum op_kind kind,
                                const struct attrs *attrs)
{
    int t;
    TRY(hp_onnx_tensor(im, hp_onnx_input(im, 0), &t));
    TRY(hp_onnx_emit(im, kind, NULL, 1, &t, attrs, &t));
    return hp_onnx_define_tensor(im, 0, t);
}

enum hypar_status hp_onnx_emit_affine(struct importing *im, const char *suffix, double alpha,
                                      double beta, int *t)
{
    int in = *t;
    if (alpha == 1 && beta == 0)
        return HYPAR_OK;
    return hp_onnx_emit(im, OP_AFFINE, suffix, 1, &in,
                        ATTRS({ ATTR_ALPHA, 1, &alpha }, { ATTR_BETA, 1, &beta }), t);
}

/* Tensors ------------------------------------------------------------------------------- */

/* Note where the values of an input or of a parameter come from. */
static void keep_source(struct importing *im, int tensor, const char *name,
                        struct weight_source source)
{
    while (im->n_sources <= tensor) {
        im->source = GROW(&im->arena, struct named_source, im->source, im->n_sources,
                          &im->source_capacity);
        im->source[im->n_sources++] = (struct named_source){ 0 };
    }
    im->source[tensor] = (struct named_source){ name, source };
}

enum hypar_status hp_onnx_make(struct importing *im, const char *label, enum made_as as,
                               int samples, struct weight_source source, int *out)
{
    const char *name = hp_onnx_unique(im, label);
    *out = as == MADE_PARAM
               ? hp_build_param(im->b, name, &source.whole)
               : hp_build_input(im->b, name, &source.whole, as == MADE_INDEX, samples);
    if (*out < 0) /* the builder has kept the reason, for the next operator */
        return hp_fail(im->err, HYPAR_INVALID, "'%.80s' is no tensor", name);
    if (source.n_ranges || source.constant)
        keep_source(im, *out, name, source);
    return HYPAR_OK;
}

/* The parameter of a whole initializer; all that read it share it. */
static enum hypar_status whole_param(struct importing *im, int initializer, int *out)
{
    const struct onnx_tensor *t = &im->file->initializer[initializer];
    int *param = &im->param[initializer];
    if (*param < 0 && im->copy_of[initializer] >= 0) {
        static const int turned[2] = { 1, 0 };
        int other;
        TRY(whole_param(im, im->copy_of[initializer], &other));
        TRY(hp_onnx_emit_transpose(im, "tied", other, 2, turned, param));
    } else if (*param < 0) {
        bool integers = hp_onnx_family(t->type) == ONNX_INTEGERS;
        struct weight_range *range = NEW(&im->arena, struct weight_range, 1);
        *range = (struct weight_range){ initializer, 0, t->elements };
        TRY(hp_onnx_make(
            im, t->label,
            im->trained[initializer] ? MADE_PARAM
            : integers               ? MADE_INDEX
                                     : MADE_NUMBERS,
            -1, (struct weight_source){ .n_ranges = 1, .range = range, .whole = t->shape },
            param));
    }
    *out = *param;
    if (im->divided[initializer])
        hp_onnx_note(im,
                     "parameter '%.80s' is used whole and in parts, which are trained apart",
                     t->name);
    return HYPAR_OK;
}

/* Rows of an initializer, by a slice of its parameter. */
static enum hypar_status range_tensor(struct importing *im, const struct weight_range *range,
                                      int *out)
{
    const struct onnx_tensor *t = &im->file->initializer[range->initializer];
    TRY(whole_param(im, range->initializer, out));
    if (range->count == t->elements)
        return HYPAR_OK;
    int64_t row = t->elements / t->shape.dim[0]; /* not empty: a range is a part of it */
    if (range->start % row || range->count % row)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a part of '%.80s' that is no rows of it",
                       t->name);
    int64_t start = range->start / row, stop = start + range->count / row;
    return hp_onnx_emit_slice(im, "rows", *out, 0, (int64_t[]){ start, stop, 1 }, out);
}

static enum hypar_status weight_tensor(struct importing *im, const struct value *v, int *out)
{
    int part[MAX_OPERANDS] = { 0 };
    if (v->n_ranges < 1)
        return hp_fail(im->err, HYPAR_INVALID, "a weight without elements");
    if (v->n_ranges > MAX_OPERANDS - 2)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a weight joined from %d parts",
                       v->n_ranges);
    for (int i = 0; i < v->n_ranges; i++)
        TRY(range_tensor(im, &v->range[i], &part[i]));
    *out = part[0];
    if (v->n_ranges > 1)
        TRY(hp_onnx_emit(im, OP_CONCAT, "join", v->n_ranges, part,
                         ATTRS({ ATTR_AXIS, 1, V(0) }), out));
    return hp_same_shape(hp_onnx_shape(im, *out), &v->shape)
               ? HYPAR_OK
               : hp_onnx_emit_reshape(im, "weight", *out, &v->shape, out);
}

/* Numbers of the size of infinity are as large as a mask needs them. */
static const double *finite(struct importing *im, const struct value *v)
{
    const double most = 1e30;
    int64_t n = v->uniform ? 1 : hp_onnx_elements(&v->shape), i = 0;
    while (i < n && !isinf(v->data[i]))
        i++;
    if (i == n)
        return v->data;
    double *data = NEW(&im->arena, double, n);
    for (i = 0; i < n; i++)
        data[i] = isinf(v->data[i]) ? v->data[i] > 0 ? most : -most : v->data[i];
    return data;
}

/* Constants that are no single number are inputs which never change. */
static enum hypar_status constant_tensor(struct importing *im, const struct value *v, int *out)
{
    const char *label =
        v->label ? v->label : hp_arena_printf(&im->arena, "%s.constant", im->node->name);
    return hp_onnx_make(im, label, MADE_NUMBERS, -1,
                        (struct weight_source){ .whole = v->shape,
                                                .constant = finite(im, v),
                                                .uniform = v->uniform },
                        out);
}

enum hypar_status hp_onnx_tensor(struct importing *im, struct value *v, int *out)
{
    if (v->kind == VALUE_SEQUENCE)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a sequence in place of a tensor");
    if (v->kind == VALUE_INDEX && v->computed)
        return hp_onnx_computed_input(im, v, false, out);
    if (v->kind == VALUE_INDEX && v->shuffle)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "integers in another order");
    if (v->tensor < 0 && v->kind == VALUE_WEIGHT)
        TRY(weight_tensor(im, v, &v->tensor));
    if (v->tensor < 0 && v->kind == VALUE_CONSTANT)
        TRY(constant_tensor(im, v, &v->tensor));
    *out = v->tensor;
    return HYPAR_OK;
}

enum hypar_status hp_onnx_tensors(struct importing *im, int n, int *out)
{
    for (int i = 0; i < n; i++) {
        if (!hp_onnx_input(im, i))
            return hp_onnx_missing(im, "an input");
        TRY(hp_onnx_tensor(im, hp_onnx_input(im, i), &out[i]));
    }
    return HYPAR_OK;
}

int hp_onnx_take_range(const struct value *from, struct weight_range part,
                       struct weight_range *range, int n)
{
    int64_t at = 0; /* in the weight */
    for (int i = 0; i < from->n_ranges; i++) {
        const struct weight_range *r = &from->range[i];
        int64_t lo = part.start > at ? part.start : at;
        int64_t hi =
            part.start + part.count < at + r->count ? part.start + part.count : at + r->count;
        int64_t start = r->start + lo - at;
        bool runs_on = n && range[n - 1].initializer == r->initializer &&
                       range[n - 1].start + range[n - 1].count == start;
        if (lo < hi && runs_on)
            range[n - 1].count += hi - lo;
        else if (lo < hi)
            range[n++] = (struct weight_range){ r->initializer, start, hi - lo };
        at += r->count;
    }
    return n;
}

enum hypar_status hp_onnx_part_param(struct importing *im, const struct value *weight,
                                     int n_parts, const struct weight_range *parts,
                                     const struct hypar_shape *shape, const char *name,
                                     int *out)
{
    struct weight_range *range =
        NEW(&im->arena, struct weight_range, n_parts * weight->n_ranges);
    int n = 0;
    for (int p = 0; p < n_parts; p++)
        n = hp_onnx_take_range(weight, parts[p], range, n);
    if (n < 1)
        return hp_fail(im->err, HYPAR_INVALID, "a weight without elements");
    const struct onnx_tensor *first = &im->file->initializer[range[0].initializer];
    if (n == 1 && range[0].count == first->elements && im->param[range[0].initializer] < 0)
        name = first->label;
    return hp_onnx_make(
        im, name, MADE_PARAM, -1,
        (struct weight_source){ .n_ranges = n, .range = range, .whole = *shape }, out);
}

void hp_onnx_divide(struct importing *im, const struct value *weight)
{
    for (int i = 0; i < weight->n_ranges; i++)
        im->divided[weight->range[i].initializer] = true;
}
