/* Reads the sizes of a transformer from the operators of its first layer. */
#include "emit/transformer.h"

#include "graph/structure/repeated.h"

static int64_t extent(const struct nest *nest, char name)
{
    int axis = hp_nest_axis(nest, name);
    return axis < 0 ? 0 : nest->axis[axis].extent;
}

/* Does an attention write one of its inputs? */
static bool reads_attention(const struct hypar_graph *graph, const struct op *op)
{
    for (int o = 0; o < op->nest->n_inputs; o++) {
        int from = op->tensor[o] < 0 ? -1 : graph->tensors[op->tensor[o]].producer;
        if (from >= 0 && graph->ops[from].kind == OP_ATTENTION)
            return true;
    }
    return false;
}

static int64_t last_extent(const struct hypar_graph *graph, int tensor)
{
    const struct hypar_shape *shape = &graph->tensors[tensor].shape;
    return shape->n_dims > 0 ? shape->dim[shape->n_dims - 1] : 0;
}

/* Does the operator only move elements, without changing their values? */
static bool is_move(enum op_kind kind)
{
    switch (kind) {
    case OP_RESHAPE:
    case OP_FLATTEN:
    case OP_SQUEEZE:
    case OP_UNSQUEEZE:
    case OP_TRANSPOSE:
    case OP_EXPAND:
    case OP_SPLIT:
    case OP_SLICE:
    case OP_IDENTITY:
        return true;
    default:
        return false;
    }
}

static bool is_norm(enum op_kind kind)
{
    return kind == OP_RMS_NORM || kind == OP_LAYER_NORM;
}

/* The operator that computes a tensor, before moves of elements and, with `rotary`, before
 * rotary embeddings; -1: none. */
static int computed_by(const struct hypar_graph *graph, int tensor, bool rotary)
{
    int at = tensor < 0 ? -1 : graph->tensors[tensor].producer;
    while (at >= 0 &&
           (is_move(graph->ops[at].kind) || (rotary && graph->ops[at].kind == OP_ROPE))) {
        tensor = graph->ops[at].tensor[0];
        at = tensor < 0 ? -1 : graph->tensors[tensor].producer;
    }
    return at;
}

/* Between a linear layer and operand `o` of attention there may be a rotary embedding, and
 * before that, for queries and keys, a norm over each head. Returns the first operator of
 * another kind, such as those of a rotary embedding that was not recognised; -1: none. */
static int between(const struct hypar_graph *graph, const struct op *attention, int o,
                   bool *has_norm)
{
    int at = computed_by(graph, attention->tensor[o], true);
    const struct op *norm = at < 0 ? NULL : &graph->ops[at];
    int64_t heads = hp_attr_int(attention->nest->attrs, ATTR_HEADS, 0, 1),
            head = last_extent(graph, attention->tensor[0]) / heads;
    *has_norm = o < 2 && norm && is_norm(norm->kind) && extent(norm->nest, 'c') == head;
    if (*has_norm)
        at = computed_by(graph, norm->tensor[0], false);
    return at >= 0 && graph->ops[at].kind != OP_LINEAR ? at : -1;
}

static void read_attention(const struct hypar_graph *graph, const struct op *op,
                           struct transformer *out)
{
    out->heads = hp_attr_int(op->nest->attrs, ATTR_HEADS, 0, 1);
    out->kv_heads = hp_attr_int(op->nest->attrs, ATTR_KV_HEADS, 0, out->heads);
    out->causal = hp_attr_int(op->nest->attrs, ATTR_CAUSAL, 0, 0) != 0;
    out->sequence = extent(op->nest, 'q');
    out->head = last_extent(graph, op->tensor[0]) / out->heads;
    between(graph, op, 0, &out->qk_norm);
}

static void read_layer_op(const struct hypar_graph *graph, const struct op *op,
                          struct transformer *out)
{
    switch (op->kind) {
    case OP_ATTENTION:
        read_attention(graph, op, out);
        break;
    case OP_MATMUL: /* attention in single operators; the first product computes the scores */
        if (out->heads > 0)
            break;
        out->heads = out->kv_heads = extent(op->nest, 'b');
        out->sequence = extent(op->nest, 'm');
        out->head = extent(op->nest, 'c');
        break;
    case OP_SOFTMAX:
        out->causal |= hp_attr_int(op->nest->attrs, ATTR_CAUSAL, 0, 0) != 0;
        break;
    case OP_RMS_NORM:
    case OP_LAYER_NORM:
        out->rms_norm = op->kind == OP_RMS_NORM;
        if (extent(op->nest, 'c') > out->hidden) /* others are over heads */
            out->hidden = extent(op->nest, 'c');
        out->epsilon = hp_attr(op->nest->attrs, ATTR_EPS, 0, 0);
        break;
    case OP_ROPE:
        out->rotary_base = hp_attr(op->nest->attrs, ATTR_THETA, 0, HP_USUAL_ROTARY_BASE);
        break;
    case OP_LINEAR:
        if (!reads_attention(graph, op))
            out->ffn = extent(op->nest, 'c');
        out->bias |= op->tensor[2] >= 0;
        out->no_bias |= op->tensor[2] < 0;
        break;
    case OP_MUL:
        out->gated = true;
        break;
    case OP_SILU:
        out->silu = true;
        break;
    case OP_GELU:
    case OP_GELU_TANH:
        out->gelu = true;
        break;
    case OP_DROPOUT:
        out->dropout = true;
        break;
    default:
        break;
    }
}

/* The operator that makes attention another one than the flags of a framework can say; -1:
 * none. */
static int unknown_of_attention(const struct hypar_graph *graph, int i)
{
    const struct op *op = &graph->ops[i];
    bool has_norm[3];
    if (op->tensor[3] >= 0 || hp_attr(op->nest->attrs, ATTR_SOFT_CAP, 0, 0) > 0)
        return i; /* scores are masked or capped */
    for (int o = 0; o < 3; o++) {
        int at = between(graph, op, o, &has_norm[o]);
        if (at >= 0)
            return at;
    }
    return has_norm[0] == has_norm[1] ? -1 : computed_by(graph, op->tensor[!has_norm[0]], true);
}

/* Is this an operator of a layer that struct transformer cannot describe? */
static bool is_unknown(const struct hypar_graph *graph, int i, int *at)
{
    const struct op *op = &graph->ops[i];
    *at = i;
    switch (op->kind) {
    case OP_ATTENTION:
        *at = unknown_of_attention(graph, i);
        return *at >= 0;
    case OP_MATMUL:
    case OP_SOFTMAX:
    case OP_RMS_NORM:
    case OP_LAYER_NORM:
    case OP_ROPE:
    case OP_LINEAR:
    case OP_ADD:
    case OP_MUL:
    case OP_DIV:
    case OP_AFFINE:
    case OP_SILU:
    case OP_GELU:
    case OP_GELU_TANH:
    case OP_DROPOUT:
        return false;
    default:
        return !is_move(op->kind);
    }
}

static bool is_param(const struct hypar_graph *graph, int tensor)
{
    return tensor >= 0 && graph->tensors[tensor].kind == TENSOR_PARAM;
}

/* Does an operator outside the layers add learned positions? */
static bool adds_positions(const struct hypar_graph *graph, const struct op *op, int table)
{
    return (op->kind == OP_EMBEDDING && op->tensor[1] != table) ||
           (op->kind == OP_ADD &&
            (is_param(graph, op->tensor[0]) || is_param(graph, op->tensor[1])));
}

/* Read the tables outside the layers: of the vocabulary, and of learned positions. */
static void read_tables(const struct hypar_graph *graph, struct transformer *out)
{
    int table = -1;
    for (int op = graph->n_ops - 1; op >= 0; op--) {
        const struct op *o = &graph->ops[op];
        if (o->kind == OP_EMBEDDING && extent(o->nest, 'v') >= out->vocabulary) {
            out->vocabulary = extent(o->nest, 'v');
            table = o->tensor[1];
        }
    }
    for (int op = 0; op < graph->n_ops; op++)
        out->positions |= adds_positions(graph, &graph->ops[op], table);
    for (int u = table < 0 ? 0 : graph->use_start[table];
         table >= 0 && u < graph->use_start[table + 1]; u++)
        out->tied |= graph->ops[graph->use[u].op].kind == OP_LINEAR;
}

/* Does a language model have such an operator outside its layers? Tables of words and positions
 * come before them; a norm, a linear layer and the loss come behind them. */
static bool is_expected(enum op_kind kind, bool behind)
{
    switch (kind) {
    case OP_EMBEDDING:
    case OP_ADD:
    case OP_DROPOUT:
        return !behind;
    case OP_RMS_NORM:
    case OP_LAYER_NORM:
    case OP_LINEAR:
    case OP_CROSS_ENTROPY:
        return behind;
    default:
        return is_move(kind);
    }
}

/* Does a loss have every position of a sample, or all except the last? */
static bool has_positions(const struct hypar_graph *graph, int op, int64_t sequence)
{
    int tensor = graph->ops[op].tensor[1];
    return hp_shape_elements(&graph->tensors[tensor].shape) >= graph->batch * (sequence - 1);
}

/* Does the operator read what an operator of `reached` wrote? */
static bool reads_reached(const struct hypar_graph *graph, const struct op *op,
                          const bool *reached)
{
    for (int o = 0; o < op->nest->n_inputs; o++) {
        int from = op->tensor[o] < 0 ? -1 : graph->tensors[op->tensor[o]].producer;
        if (from >= 0 && reached[from])
            return true;
    }
    return false;
}

/* Find an operator outside the layers that a language model does not have there, among those
 * that compute with the words' vectors: factors of embeddings, other losses than the cross
 * entropy of each position. */
static void find_outside(const struct hypar_graph *graph, const struct repeated_layers *layers,
                         struct transformer *out)
{
    struct arena scratch = { 0 };
    bool *reached = NEW(&scratch, bool, graph->n_ops); /* by operator: it computes with them */
    int end = layers->first + layers->count * layers->n_ops;
    for (int op = 0; op < graph->n_ops && out->outside < 0; op++) {
        const struct op *o = &graph->ops[op];
        bool behind = op >= end;
        reached[op] = o->kind == OP_EMBEDDING || reads_reached(graph, o, reached);
        if (!reached[op] || (op >= layers->first && !behind))
            continue;
        bool loss = o->kind == OP_CROSS_ENTROPY;
        if (is_expected(o->kind, behind) && (!loss || has_positions(graph, op, out->sequence)))
            continue;
        out->outside = op;
        out->behind = behind;
    }
    hp_arena_free(&scratch);
}

/* A norm of a layer that is not like the last one, which the flags describe; -1: none. */
static int find_other_norm(const struct hypar_graph *graph,
                           const struct repeated_layers *layers, const struct transformer *t)
{
    for (int i = layers->first; i < layers->first + layers->n_ops; i++) {
        const struct op *op = &graph->ops[i];
        if (is_norm(op->kind) && ((op->kind == OP_RMS_NORM) != t->rms_norm ||
                                  hp_attr(op->nest->attrs, ATTR_EPS, 0, 0) != t->epsilon))
            return i;
    }
    return -1;
}

bool hp_transformer(const struct hypar_graph *graph, struct transformer *out, int *op)
{
    struct repeated_layers layers = hp_repeated_layers(graph);
    int attentions = 0;
    *out = (struct transformer){ .unknown = -1, .outside = -1 };
    *op = -1;
    for (int i = 0; layers.count > 0 && i < layers.n_ops; i++) {
        const struct op *o = &graph->ops[layers.first + i];
        attentions += o->kind == OP_ATTENTION || o->kind == OP_SOFTMAX;
        read_layer_op(graph, o, out);
        int at;
        if (out->unknown < 0 && is_unknown(graph, layers.first + i, &at))
            out->unknown = at;
    }
    if (attentions != 1 || out->heads < 1) {
        *op = layers.count > 0 ? layers.first : -1;
        return false;
    }
    out->layers = layers.count;
    if (out->unknown < 0)
        out->unknown = find_other_norm(graph, &layers, out);
    read_tables(graph, out);
    find_outside(graph, &layers, out);
    return true;
}
