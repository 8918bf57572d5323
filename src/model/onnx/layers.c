/* Translates convolutions, pooling, matrix products and norms. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "model/onnx/onnx.h"

/* Windows: kernel, strides, pads, dilations ---------------------------------------------- */

struct taps {
    int spatial; /* 1 to 3 dimensions */
    double kernel[3], stride[3], dilation[3], pad[6];
};

/* Values of a list attribute, one per spatial dimension. */
static enum hypar_status read_list(struct importing *im, const char *name, int n, double *out)
{
    const struct onnx_attr *a = hp_onnx_attr(im->node, name);
    if (a && a->n_ints != n)
        return hp_fail(im->err, HYPAR_INVALID, "'%s' has %d values, expected %d", name,
                       a->n_ints, n);
    for (int i = 0; a && i < n; i++)
        out[i] = (double)a->ints[i];
    return HYPAR_OK;
}

/* Padding so that the output has size / stride positions, the odd one on either side. */
static void pad_same(struct taps *w, const struct hypar_shape *x, bool upper)
{
    for (int i = 0; i < w->spatial; i++) {
        double size = (double)x->dim[2 + i], out = ceil(size / w->stride[i]);
        double room = (out - 1) * w->stride[i] + w->dilation[i] * (w->kernel[i] - 1) + 1 - size;
        double half = room > 0 ? floor(room / 2) : 0;
        double rest = room > 0 ? room - half : 0;
        w->pad[i] = upper ? half : rest;
        w->pad[w->spatial + i] = upper ? rest : half;
    }
}

static enum hypar_status read_taps(struct importing *im, const struct hypar_shape *x,
                                   const struct hypar_shape *weight, struct taps *w)
{
    const char *how = hp_onnx_string(im->node, "auto_pad", "NOTSET");
    *w = (struct taps){ .spatial = x->n_dims - 2,
                        .kernel = { 1, 1, 1 },
                        .stride = { 1, 1, 1 },
                        .dilation = { 1, 1, 1 } };
    if (w->spatial < 1 || w->spatial > 3)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "an input of %d dimensions, expected 3 to 5",
                       x->n_dims);
    for (int i = 0; weight && i < w->spatial && weight->n_dims == x->n_dims; i++)
        w->kernel[i] = (double)weight->dim[2 + i];
    TRY(read_list(im, "kernel_shape", w->spatial, w->kernel));
    TRY(read_list(im, "strides", w->spatial, w->stride));
    TRY(read_list(im, "dilations", w->spatial, w->dilation));
    TRY(read_list(im, "pads", 2 * w->spatial, w->pad));
    for (int i = 0; i < w->spatial; i++)
        if (w->stride[i] < 1 || w->kernel[i] < 1 || w->dilation[i] < 1)
            return hp_fail(im->err, HYPAR_INVALID, "a window, stride or dilation below 1");
    if (strncmp(how, "SAME", 4) == 0)
        pad_same(w, x, strcmp(how, "SAME_LOWER") != 0);
    return HYPAR_OK;
}

/* Also transposed, with `more` outputs; of groups the nest cannot tell how many outputs there
 * are by itself. */
static enum hypar_status emit_conv(struct importing *im, const struct taps *w, double out,
                                   const double *more)
{
    struct value *bias = hp_onnx_input(im, 2);
    if (bias && bias->kind == VALUE_CONSTANT && bias->uniform && bias->data[0] == 0)
        bias = NULL; /* PyTorch writes such a bias for a layer without one */
    double groups = (double)hp_onnx_int(im->node, "group", 1);
    struct attr attr[7] = { { ATTR_KERNEL, w->spatial, w->kernel },
                            { ATTR_STRIDE, w->spatial, w->stride },
                            { ATTR_PAD, 2 * w->spatial, w->pad },
                            { ATTR_DILATION, w->spatial, w->dilation },
                            { ATTR_OUT, 1, &out } };
    int t[3], y, n = 5;
    if (more)
        attr[n++] = (struct attr){ ATTR_OUTPUT_PAD, w->spatial, more };
    if (groups != 1)
        attr[n++] = (struct attr){ ATTR_GROUPS, 1, &groups };
    enum op_kind kind = more ? groups == 1 ? OP_CONV_TRANSPOSE : OP_GROUP_CONV_TRANSPOSE
                        : groups == 1 ? OP_CONV
                                      : OP_GROUP_CONV;
    TRY(hp_onnx_tensors(im, 2, t));
    if (bias)
        TRY(hp_onnx_tensor(im, bias, &t[2]));
    TRY(hp_onnx_emit(im, kind, NULL, bias ? 3 : 2, t, &(struct attrs){ n, attr }, &y));
    return hp_onnx_define_tensor(im, 0, y);
}

enum hypar_status hp_onnx_conv(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0), *weight = hp_onnx_input(im, 1);
    struct taps w;
    TRY(read_taps(im, &x->shape, &weight->shape, &w));
    return emit_conv(im, &w, weight->shape.n_dims ? (double)weight->shape.dim[0] : 1, NULL);
}

enum hypar_status hp_onnx_conv_transpose(struct importing *im)
{
    const struct hypar_shape *x = &hp_onnx_input(im, 0)->shape,
                             *weight = &hp_onnx_input(im, 1)->shape;
    struct taps w;
    double more[3] = { 0 };
    if (weight->n_dims != x->n_dims || x->n_dims < 3 ||
        strncmp(hp_onnx_string(im->node, "auto_pad", "NOTSET"), "SAME", 4) == 0 ||
        hp_onnx_attr(im->node, "output_shape"))
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "not known in this form");
    TRY(read_taps(im, x, weight, &w));
    TRY(read_list(im, "output_padding", w.spatial, more));
    return emit_conv(im, &w, (double)weight->dim[1] * (double)hp_onnx_int(im->node, "group", 1),
                     more);
}

static bool is_wanted(const struct importing *im, int output)
{
    return output < im->node->n_outputs && *im->node->output[output];
}

enum hypar_status hp_onnx_pool(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0);
    struct taps w;
    bool mean = im->row->kind == OP_AVG_POOL;
    double up = hp_onnx_int(im->node, "ceil_mode", 0) != 0;
    double count_pad = hp_onnx_int(im->node, "count_include_pad", 0) != 0;
    TRY(read_taps(im, &x->shape, NULL, &w));
    if (is_wanted(im, 1))
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "the places of the largest");
    if (mean && (w.dilation[0] != 1 || w.dilation[1] != 1 || w.dilation[2] != 1))
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a dilated mean");
    struct attr attr[] = { { ATTR_KERNEL, w.spatial, w.kernel },
                           { ATTR_STRIDE, w.spatial, w.stride },
                           { ATTR_PAD, 2 * w.spatial, w.pad },
                           { ATTR_CEIL, 1, &up },
                           { ATTR_DILATION, w.spatial, w.dilation } };
    if (mean)
        attr[4] = (struct attr){ ATTR_COUNT_PAD, 1, &count_pad };
    return hp_onnx_apply(im, im->row->kind, &(struct attrs){ 5, attr });
}

/* Products ------------------------------------------------------------------------------- */

static bool is_param(const struct importing *im, int t)
{
    return hp_build_graph(im->b)->tensors[t].kind == TENSOR_PARAM;
}

/* Is `t` the same for all samples: a parameter, or made from parameters and constants alone? */
static bool is_weight(struct importing *im, int t)
{
    return !hp_onnx_from_data(im, t);
}

/* x (as a matrix per sample) times the matrix w[c,k], or w[k,c] if `transposed`. */
static enum hypar_status times_weight(struct importing *im, int x, int w, bool transposed,
                                      int bias, const char *suffix, int *out)
{
    struct hypar_shape shape = *hp_onnx_shape(im, x), flat = { 2, { 1, 1 } };
    double value = transposed;
    bool deep = shape.n_dims > 4 || shape.n_dims < 2;
    for (int d = 0; d < shape.n_dims; d++)
        flat.dim[d == shape.n_dims - 1] *= shape.dim[d];
    if (deep)
        TRY(hp_onnx_emit_reshape(im, "rows", x, &flat, &x));
    int in[3] = { x, w, bias };
    TRY(hp_onnx_emit(im, OP_LINEAR, suffix, bias < 0 ? 2 : 3, in,
                     ATTRS({ ATTR_TRANSPOSED, 1, &value }), out));
    if (!deep)
        return HYPAR_OK;
    const struct hypar_shape *made = hp_onnx_shape(im, *out);
    shape.dim[shape.n_dims - 1] = made->dim[made->n_dims - 1];
    return hp_onnx_emit_reshape(im, "shape", *out, &shape, out);
}

/* Bring both to one rank of 3 or 4 with the same outer dimensions, and multiply. */
static enum hypar_status times_activation(struct importing *im, const int *given, int *out)
{
    struct hypar_shape shape[2], outer, result;
    int t[2];
    for (int i = 0; i < 2; i++) {
        shape[i] = *hp_onnx_shape(im, given[i]);
        t[i] = given[i];
    }
    struct hypar_shape head[2] = { shape[0], shape[1] };
    head[0].n_dims -= 2;
    head[1].n_dims -= 2;
    if (!hp_onnx_broadcast(&head[0], &head[1], &outer))
        return hp_fail(im->err, HYPAR_INVALID, "the shapes of its inputs do not fit together");
    result = outer;
    result.dim[result.n_dims++] = shape[0].dim[head[0].n_dims];
    result.dim[result.n_dims++] = shape[1].dim[head[1].n_dims + 1];
    int rank = outer.n_dims == 2 ? 4 : 3;
    for (int i = 0; i < 2; i++) {
        struct hypar_shape wide = outer, made = { .n_dims = rank };
        for (int d = 0; d < 2; d++)
            wide.dim[wide.n_dims++] = shape[i].dim[head[i].n_dims + d];
        if (hp_onnx_elements(&wide) != hp_onnx_elements(&shape[i]))
            TRY(hp_onnx_emit_expand(im, i ? "right" : "left", t[i], &wide, &t[i]));
        made.dim[0] = rank == 4 ? outer.dim[0] : hp_onnx_elements(&outer);
        made.dim[1] = rank == 4 ? outer.dim[1] : wide.dim[wide.n_dims - 2];
        made.dim[rank - 2] = wide.dim[wide.n_dims - 2];
        made.dim[rank - 1] = wide.dim[wide.n_dims - 1];
        if (hp_onnx_shape(im, t[i])->n_dims != rank)
            TRY(hp_onnx_emit_reshape(im, i ? "right3" : "left3", t[i], &made, &t[i]));
    }
    TRY(hp_onnx_emit(im, OP_MATMUL, NULL, 2, t, NULL, out));
    if (result.n_dims != rank)
        TRY(hp_onnx_emit_reshape(im, "shape", *out, &result, out));
    return HYPAR_OK;
}

enum hypar_status hp_onnx_matmul(struct importing *im)
{
    int t[2], y;
    TRY(hp_onnx_tensors(im, 2, t));
    int left = hp_onnx_shape(im, t[0])->n_dims, right = hp_onnx_shape(im, t[1])->n_dims;
    if (left < 2 || right < 2)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "a product with a vector");
    if (right == 2 && is_weight(im, t[1]) && !is_weight(im, t[0])) {
        TRY(times_weight(im, t[0], t[1], false, -1, NULL, &y));
    } else if (left == 2 && is_weight(im, t[0])) { /* (y' w')' */
        int perm[MAX_DIMS];
        for (int d = 0; d < right; d++)
            perm[d] = d < right - 2 ? d : 2 * right - 3 - d;
        TRY(hp_onnx_emit_transpose(im, "turned", t[1], right, perm, &y));
        TRY(times_weight(im, y, t[0], true, -1, NULL, &y));
        TRY(hp_onnx_emit_transpose(im, "back", y, right, perm, &y));
    } else {
        TRY(times_activation(im, t, &y));
    }
    return hp_onnx_define_tensor(im, 0, y);
}

/* Einsum of two: the letters of both and of the result are outer, one of each is the row, the
 * column, and what is summed. `order` are the letters that an operand is wanted in. */
static enum hypar_status in_order(struct importing *im, const char *suffix, const char *have,
                                  const char *order, int *t)
{
    int n = (int)strlen(have), perm[MAX_DIMS];
    bool plain = true;
    if (hp_onnx_shape(im, *t)->n_dims != n || (int)strlen(order) != n)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "an equation that does not fit its inputs");
    for (int d = 0; d < n; d++) {
        perm[d] = (int)(strchr(have, order[d]) - have);
        plain &= perm[d] == d;
    }
    return plain ? HYPAR_OK : hp_onnx_emit_transpose(im, suffix, *t, n, perm, t);
}

/* Letters of "ab,bc->ac": two operands and the result; false: it is written otherwise. */
static bool read_equation(const char *p, char terms[3][MAX_DIMS + 3])
{
    int term = 0, n = 0;
    for (; *p; p++) {
        if (*p == ' ' || *p == '>')
            continue;
        if (*p == ',' || *p == '-') {
            if (++term > 2 || (term == 2) != (*p == '-'))
                return false;
            n = 0;
        } else if (n == MAX_DIMS || !isalpha((unsigned char)*p) || strchr(terms[term], *p)) {
            return false;
        } else {
            terms[term][n++] = *p;
        }
    }
    return term == 2;
}

enum hypar_status hp_onnx_einsum(struct importing *im)
{
    char terms[3][MAX_DIMS + 3] = { "", "", "" }, order[3][MAX_DIMS + 3] = { "", "", "" };
    char row = 0, column = 0, summed = 0;
    int n = 0, t[2], y;
    if (im->node->n_inputs != 2 || !hp_onnx_input(im, 1) ||
        !read_equation(hp_onnx_string(im->node, "equation", ""), terms))
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "an equation that is no product of two");
    for (const char *p = terms[0]; *p; p++) {
        bool other = strchr(terms[1], *p), result = strchr(terms[2], *p);
        if (other && result)
            order[0][n] = order[1][n] = order[2][n] = *p, n++;
        else if (result ? row : other ? summed : 1)
            return hp_fail(im->err, HYPAR_UNSUPPORTED, "an equation that is no product");
        else
            *(result ? &row : &summed) = *p;
    }
    for (const char *p = terms[1]; *p; p++)
        if (!strchr(terms[0], *p)) {
            if (column)
                return hp_fail(im->err, HYPAR_UNSUPPORTED, "an equation that is no product");
            column = *p;
        }
    if (!row || !column || !summed || n < 1)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "an equation that is no product");
    order[0][n] = order[2][n] = row;
    order[0][n + 1] = order[1][n] = summed;
    order[1][n + 1] = order[2][n + 1] = column;
    for (int i = 0; i < 2; i++) {
        TRY(hp_onnx_tensor(im, hp_onnx_input(im, i), &t[i]));
        TRY(in_order(im, i ? "right" : "left", terms[i], order[i], &t[i]));
    }
    TRY(times_activation(im, t, &y));
    for (const char *p = terms[2]; *p; p++)
        if (!strchr(order[2], *p))
            return hp_fail(im->err, HYPAR_UNSUPPORTED, "an equation that is no product");
    TRY(in_order(im, "back", order[2], terms[2], &y));
    return hp_onnx_define_tensor(im, 0, y);
}

/* alpha A B + beta C, A and B perhaps transposed. */
enum hypar_status hp_onnx_gemm(struct importing *im)
{
    struct value *c = hp_onnx_input(im, 2);
    double alpha = hp_onnx_float(im->node, "alpha", 1),
           beta = hp_onnx_float(im->node, "beta", 1);
    static const int turned[2] = { 1, 0 };
    bool transposed = hp_onnx_int(im->node, "transB", 0) != 0;
    int t[3] = { -1, -1, -1 }, y;
    for (int i = 0; i < (c ? 3 : 2); i++) {
        TRY(hp_onnx_tensor(im, hp_onnx_input(im, i), &t[i]));
        if (i < 2 && hp_onnx_shape(im, t[i])->n_dims != 2)
            return hp_fail(im->err, HYPAR_INVALID, "input %d has %d dimensions, expected 2", i,
                           hp_onnx_shape(im, t[i])->n_dims);
    }
    if (hp_onnx_int(im->node, "transA", 0))
        TRY(hp_onnx_emit_transpose(im, "a", t[0], 2, turned, &t[0]));
    bool plain = c && alpha == 1 && beta == 1 && c->shape.n_dims == 1 && is_param(im, t[2]) &&
                 c->shape.dim[0] == hp_onnx_shape(im, t[1])->dim[!transposed];
    if (is_weight(im, t[1])) {
        TRY(times_weight(im, t[0], t[1], transposed, plain ? t[2] : -1,
                         c && !plain ? "product" : NULL, &y));
    } else {
        if (transposed)
            TRY(hp_onnx_emit_transpose(im, "b", t[1], 2, turned, &t[1]));
        TRY(times_activation(im, t, &y));
        plain = false;
    }
    if (!plain)
        TRY(hp_onnx_emit_affine(im, "alpha", alpha, 0, &y));
    if (c && !plain) {
        TRY(hp_onnx_emit_affine(im, "beta", beta, 0, &t[2]));
        int in[2] = { y, t[2] };
        TRY(hp_onnx_emit(im, OP_ADD, "sum", 2, in, NULL, &y));
    }
    return hp_onnx_define_tensor(im, 0, y);
}

/* Normalisation -------------------------------------------------------------------------- */

/* Scale and shift of a norm; -1 where they are constants that do nothing. */
static enum hypar_status scale_and_shift(struct importing *im, int *t)
{
    for (int i = 1; i <= 2; i++) {
        struct value *v = hp_onnx_input(im, i);
        t[i] = HP_ABSENT;
        if (!v || (v->kind == VALUE_CONSTANT && v->uniform && v->data[0] == (i == 1)))
            continue;
        bool idle = v->kind == VALUE_CONSTANT;
        for (int64_t k = 0; idle && k < hp_onnx_elements(&v->shape); k++)
            idle = hp_onnx_element(v, k) == (i == 1);
        if (!idle)
            TRY(hp_onnx_tensor(im, v, &t[i]));
    }
    return HYPAR_OK;
}

static bool is_stored(const struct value *v)
{
    return v->kind == VALUE_WEIGHT || v->kind == VALUE_CONSTANT;
}

static struct weight_source source_of(const struct value *v)
{
    return v->kind == VALUE_WEIGHT ? (struct weight_source){ .n_ranges = v->n_ranges,
                                                             .range = v->range,
                                                             .whole = v->shape }
                                   : (struct weight_source){ .whole = v->shape,
                                                             .constant = v->data,
                                                             .uniform = v->uniform };
}

/* Note where the statistics of the batch norm at hand lie, if they are weights. */
static void note_statistics(struct importing *im)
{
    const struct value *mean = hp_onnx_input(im, 3), *variance = hp_onnx_input(im, 4);
    const struct hypar_graph *g = hp_build_graph(im->b);
    if (!mean || !variance || !is_stored(mean) || !is_stored(variance))
        return;
    const char *op = g->ops[g->n_ops - 1].name;
    hp_table_put(&im->norm_names, &im->arena, op, strlen(op), im->n_statistics);
    for (int i = 0; i < 2; i++) {
        im->statistics = GROW(&im->arena, struct weight_source, im->statistics,
                              im->n_statistics, &im->statistics_capacity);
        im->statistics[im->n_statistics++] = source_of(i ? variance : mean);
    }
}

enum hypar_status hp_onnx_batch_norm(struct importing *im)
{
    double eps = hp_onnx_float(im->node, "epsilon", 1e-5);
    int t[3], y, rank = hp_onnx_input(im, 0)->shape.n_dims;
    bool trains = im->file->opset < 14 ? is_wanted(im, 1)
                                       : hp_onnx_int(im->node, "training_mode", 0) != 0;
    if (rank < 2 || rank > 5)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "an input of %d dimensions, expected 2 to 5",
                       rank);
    im->n_frozen += !trains;
    TRY(hp_onnx_tensor(im, hp_onnx_input(im, 0), &t[0]));
    TRY(scale_and_shift(im, t));
    TRY(hp_onnx_emit(im, OP_BATCH_NORM, NULL, 3, t, ATTRS({ ATTR_EPS, 1, &eps }), &y));
    note_statistics(im);
    return hp_onnx_define_tensor(im, 0, y);
}

/* A norm over the dimensions from `axis` on. Ours is over the last of 2 to 4 dimensions: any
 * other is done on a matrix of rows. t: the tensor, its scale, and its shift. */
static enum hypar_status norm_rows(struct importing *im, enum op_kind kind, int n, int *t)
{
    static const char *const suffix[] = { "rows", "w", "b" };
    const struct hypar_shape shape = hp_onnx_input(im, 0)->shape;
    struct hypar_shape rows = { 2, { 1, 1 } }, row = { 1, { 1 } };
    double eps = hp_onnx_float(im->node, "epsilon", 1e-5);
    int y, axis, rank = shape.n_dims;
    TRY(hp_onnx_axis_attr(im, -1, &axis));
    bool flat = axis != rank - 1 || rank < 2 || rank > 4;
    for (int d = 0; d < rank; d++)
        rows.dim[d >= axis] *= shape.dim[d];
    row.dim[0] = rows.dim[1];
    for (int i = 0; flat && i < n; i++)
        if (t[i] >= 0)
            TRY(hp_onnx_emit_reshape(im, suffix[i], t[i], i ? &row : &rows, &t[i]));
    TRY(hp_onnx_emit(im, kind, NULL, n, t, ATTRS({ ATTR_EPS, 1, &eps }), &y));
    if (flat)
        TRY(hp_onnx_emit_reshape(im, "shape", y, &shape, &y));
    return hp_onnx_define_tensor(im, 0, y);
}

/* LayerNormalization, RMSNormalization. */
enum hypar_status hp_onnx_norm(struct importing *im)
{
    bool centred = im->row->kind == OP_LAYER_NORM;
    int t[3];
    if (centred && (is_wanted(im, 1) || is_wanted(im, 2)))
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "mean and deviation as outputs");
    TRY(hp_onnx_tensors(im, centred ? 1 : 2, t));
    if (centred)
        TRY(scale_and_shift(im, t));
    return norm_rows(im, im->row->kind, centred ? 3 : 2, t);
}

/* A group norm with as many groups as channels. */
enum hypar_status hp_onnx_instance_norm(struct importing *im)
{
    struct value *x = hp_onnx_input(im, 0);
    double eps = hp_onnx_float(im->node, "epsilon", 1e-5);
    int t[3], y, rank = x->shape.n_dims;
    if (rank < 2 || rank > 5)
        return hp_fail(im->err, HYPAR_UNSUPPORTED, "an input of %d dimensions, expected 2 to 5",
                       rank);
    double groups = (double)x->shape.dim[1];
    TRY(hp_onnx_tensor(im, x, &t[0]));
    TRY(scale_and_shift(im, t));
    TRY(hp_onnx_emit(im, OP_GROUP_NORM, NULL, 3, t,
                     ATTRS({ ATTR_EPS, 1, &eps }, { ATTR_GROUPS, 1, &groups }), &y));
    return hp_onnx_define_tensor(im, 0, y);
}
