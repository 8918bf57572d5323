#include "tests/random_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "tests/random_maker.h"

/* How an operator of each kind is added; where there is no row: emit_unary, and nothing for a
 * loss, which stands at the end. */
static bool (*const emitters[OP_KIND_COUNT])(struct maker *m, enum op_kind kind) = {
    [OP_LINEAR] = emit_linear,
    [OP_CONV] = emit_conv,
    [OP_GROUP_CONV] = emit_conv,
    [OP_CONV_TRANSPOSE] = emit_conv_transpose,
    [OP_GROUP_CONV_TRANSPOSE] = emit_conv_transpose,
    [OP_GRU] = emit_gru,
    [OP_GRU_CELL] = emit_gru_cell,
    [OP_ADAPTIVE_MAX_POOL] = emit_resize,
    [OP_ADAPTIVE_AVG_POOL] = emit_resize,
    [OP_RESIZE_NEAREST] = emit_resize,
    [OP_RESIZE_LINEAR] = emit_resize,
    [OP_WHERE] = emit_where,
    [OP_CUMSUM] = emit_cumsum,
    [OP_REDUCE_MAX] = emit_reduce,
    [OP_GATHER_ELEMENTS] = emit_gather,
    [OP_INDEX_SELECT] = emit_gather,
    [OP_SCATTER_ADD] = emit_gather,
    [OP_EMBEDDING] = emit_embedding,
    [OP_LSTM] = emit_lstm,
    [OP_LSTM_CELL] = emit_lstm_cell,
    [OP_MATMUL] = emit_matmul,
    [OP_ATTENTION] = emit_attention,
    [OP_MAX_POOL] = emit_pool,
    [OP_AVG_POOL] = emit_pool,
    [OP_LRN] = emit_lrn,
    [OP_BATCH_NORM] = emit_norm,
    [OP_LAYER_NORM] = emit_norm,
    [OP_RMS_NORM] = emit_norm,
    [OP_GROUP_NORM] = emit_norm,
    [OP_SOFTMAX] = emit_softmax,
    [OP_LOG_SOFTMAX] = emit_softmax,
    [OP_ADD] = emit_binary,
    [OP_SUB] = emit_binary,
    [OP_MUL] = emit_binary,
    [OP_DIV] = emit_binary,
    [OP_MINIMUM] = emit_binary,
    [OP_MAXIMUM] = emit_binary,
    [OP_ROPE] = emit_rope,
    [OP_CONCAT] = emit_concat,
    [OP_SPLIT] = emit_split,
    [OP_SLICE] = emit_slice,
    [OP_PAD] = emit_pad,
    [OP_TRANSPOSE] = emit_transpose,
    [OP_RESHAPE] = emit_reshape,
    [OP_FLATTEN] = emit_flatten,
    [OP_SQUEEZE] = emit_squeeze,
    [OP_UNSQUEEZE] = emit_squeeze,
    [OP_EXPAND] = emit_expand,
    [OP_REDUCE_SUM] = emit_reduce,
    [OP_REDUCE_MEAN] = emit_reduce,
    [OP_GLOBAL_AVG_POOL] = emit_global_pool,
    [OP_GLOBAL_MAX_POOL] = emit_global_pool,
};

static bool is_body(enum op_kind kind)
{
    return kind < OP_KIND_COUNT && !(hp_op[kind].flags & (ROW_LOSS | ROW_OPAQUE));
}

static void emit(struct maker *m, enum op_kind kind)
{
    for (int tries = 0; tries < 20; tries++)
        if ((emitters[kind] ? emitters[kind] : emit_unary)(m, kind))
            return;
}

/* The kind whose name, hashed with a number that is drawn, comes out highest: one more operator
 * in the table changes nothing but the draws that it wins. */
static enum op_kind any_kind(struct maker *m)
{
    enum op_kind best = OP_KIND_COUNT;
    uint64_t drawn = hp_random_u64(m->random), most = 0;
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        uint64_t hash = hp_hash(drawn, hp_op[kind].name, strlen(hp_op[kind].name));
        hash = hp_random_u64(&(struct random){ hash });
        if (is_body((enum op_kind)kind) && (best == OP_KIND_COUNT || hash > most)) {
            best = (enum op_kind)kind;
            most = hash;
        }
    }
    return best;
}

/* Two ends made one: both flattened and joined, if their first dimension is the samples'. */
static bool join(struct maker *m, int *x, int y)
{
    double axis = 1;
    int both[2] = { *x, y };
    for (int i = 0; i < 2; i++) {
        const struct hypar_shape *shape = maker_shape(m, both[i]);
        if (maker_sample_dim(m, both[i]) != 0 || shape->dim[0] != m->batch || shape->n_dims < 2)
            return false;
        if (shape->n_dims > 2)
            both[i] = maker_apply(m, OP_FLATTEN, both[i], NULL);
    }
    int out[1];
    if (!maker_op(m, OP_CONCAT, 2, both, ATTRS({ ATTR_AXIS, 1, &axis }), out))
        return false;
    *x = out[0];
    return hp_shape_elements(maker_shape(m, *x)) <= MAX_ELEMENTS;
}

/* One tensor for the loss: what nobody has read yet, mostly all of it. */
static int gather_ends(struct maker *m)
{
    int x = m->n_pool ? m->pool[m->n_pool - 1] : maker_fresh(m, 2);
    maker_mark_used(m, x);
    for (int i = 0, n = m->n_pool; i < n; i++)
        if (!m->used[i] && m->pool[i] != x && !one_in(m->random, 8))
            join(m, &x, m->pool[i]);
    if (!hp_build_graph(m->builder)->tensors[x].needs_grad && !one_in(m->random, 20)) {
        int y[1];
        if (maker_op(m, OP_MUL, IN(x, maker_broadcast_param(m, x)), NULL, y))
            x = y[0];
    }
    return x;
}

static void finish(struct maker *m, enum op_kind focus)
{
    int x = gather_ends(m);
    if (focus == OP_CROSS_ENTROPY && (maker_rank(m, x) < 2 || maker_rank(m, x) > 4))
        x = maker_fresh(m, (int)draw(m->random, 2, 4));
    int rank = maker_rank(m, x), sample_dim = maker_sample_dim(m, x);
    bool classes = rank >= 2 && rank <= 4 && focus != OP_MSE_LOSS;
    struct hypar_shape target = *maker_shape(m, x);
    if (sample_dim >= 0 && target.dim[sample_dim] != m->batch)
        sample_dim = -1; /* samples joined with something else */
    if (classes && (focus == OP_CROSS_ENTROPY || one_in(m->random, 2))) {
        target.n_dims--;
        sample_dim = sample_dim == target.n_dims ? -1 : sample_dim;
        int labels = maker_input(m, target, true, sample_dim);
        maker_op(m, OP_CROSS_ENTROPY, IN(x, labels), NULL, NULL);
    } else {
        maker_op(m, OP_MSE_LOSS, IN(x, maker_input(m, target, false, sample_dim)), NULL, NULL);
    }
}

struct hypar_graph *random_graph(struct random *random, enum op_kind focus)
{
    int64_t batch = draw(random, 1, one_in(random, 3) ? 2 : 6);
    struct maker m = { .random = random, .batch = batch, .builder = hp_build("random", batch) };
    int n = (int)draw(random, 1, 7), at = (int)hp_random_below(random, n);
    maker_fresh(&m, (int)draw(random, 2, 4));
    for (int i = 0; i < n; i++)
        emit(&m, i == at && is_body(focus) ? focus : any_kind(&m));
    finish(&m, focus);
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hp_build_finish(m.builder, &graph, &err) != HYPAR_OK) {
        fprintf(stderr, "random graph: %s\n", err.text);
        abort();
    }
    return graph;
}
