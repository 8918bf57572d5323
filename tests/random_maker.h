/* random_maker.h - the parts that random_graph.c is made of. Internal to the random graphs. */
#ifndef TESTS_RANDOM_MAKER_H
#define TESTS_RANDOM_MAKER_H

#include "tests/random_graph.h"

enum { MAX_POOL = 96, MAX_ELEMENTS = 500 };

/* A graph being made: what has been computed so far lies in the pool. */
struct maker {
    struct random *random;
    struct graph_builder *builder;
    int64_t batch;
    int pool[MAX_POOL];
    bool used[MAX_POOL];
    int n_pool, n_names;
};

/* Tensors at a call: how many, and which. */
#define IN(...)                                                  \
    (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[]) \
    {                                                            \
        __VA_ARGS__                                              \
    }

const struct hypar_shape *maker_shape(const struct maker *m, int t);
int maker_sample_dim(const struct maker *m, int t);
int maker_rank(const struct maker *m, int t);

/* Sources; and a parameter that broadcasts to the shape of x, rarely with a place for each
 * sample.
 */
int maker_input(struct maker *m, struct hypar_shape shape, bool index, int sample_dim);
int maker_param(struct maker *m, struct hypar_shape shape);
int maker_broadcast_param(struct maker *m, int x);

/* Append an operator; false if it does not fit. Outputs go to the pool, and to outputs[] if
 * given. */
bool maker_op(struct maker *m, enum op_kind kind, int n_inputs, const int *inputs,
              const struct attrs *attrs, int *outputs);

/* An operator of one input: its first output, or x itself if it does not fit. */
int maker_apply(struct maker *m, enum op_kind kind, int x, const struct attrs *attrs);

/* Nobody need look for another reader of t. */
void maker_mark_used(struct maker *m, int t);

/* A shape with the samples first; a new tensor of a shape, or of a rank: a model input, mostly
 * times a parameter, so that a gradient flows. */
struct hypar_shape maker_new_shape(struct maker *m, int rank);
int maker_fresh_of(struct maker *m, struct hypar_shape shape);
int maker_fresh(struct maker *m, int rank);

/* Something of a rank from lo to hi, of those not used yet if possible. */
int maker_pick(struct maker *m, int lo, int hi);

/* Values between 0.5 and 1.5 made from x: what may be divided by. */
int maker_positive(struct maker *m, int x);

int64_t maker_divisor(struct maker *m, int64_t n);

/* Add an operator of the kind to whatever is there; false: it did not fit. */
bool emit_unary(struct maker *m, enum op_kind kind);
bool emit_binary(struct maker *m, enum op_kind kind);
bool emit_where(struct maker *m, enum op_kind kind);
bool emit_linear(struct maker *m, enum op_kind kind);
bool emit_conv(struct maker *m, enum op_kind kind);
bool emit_conv_transpose(struct maker *m, enum op_kind kind);
bool emit_resize(struct maker *m, enum op_kind kind);
bool emit_pool(struct maker *m, enum op_kind kind);
bool emit_embedding(struct maker *m, enum op_kind kind);
bool emit_lstm(struct maker *m, enum op_kind kind);
bool emit_lstm_cell(struct maker *m, enum op_kind kind);
bool emit_gru(struct maker *m, enum op_kind kind);
bool emit_gru_cell(struct maker *m, enum op_kind kind);
bool emit_matmul(struct maker *m, enum op_kind kind);
bool emit_attention(struct maker *m, enum op_kind kind);
bool emit_lrn(struct maker *m, enum op_kind kind);
bool emit_norm(struct maker *m, enum op_kind kind);
bool emit_softmax(struct maker *m, enum op_kind kind);
bool emit_rope(struct maker *m, enum op_kind kind);
bool emit_cumsum(struct maker *m, enum op_kind kind);
bool emit_gather(struct maker *m, enum op_kind kind);
bool emit_concat(struct maker *m, enum op_kind kind);
bool emit_split(struct maker *m, enum op_kind kind);
bool emit_slice(struct maker *m, enum op_kind kind);
bool emit_pad(struct maker *m, enum op_kind kind);
bool emit_transpose(struct maker *m, enum op_kind kind);
bool emit_reshape(struct maker *m, enum op_kind kind);
bool emit_flatten(struct maker *m, enum op_kind kind);
bool emit_squeeze(struct maker *m, enum op_kind kind);
bool emit_expand(struct maker *m, enum op_kind kind);
bool emit_reduce(struct maker *m, enum op_kind kind);
bool emit_global_pool(struct maker *m, enum op_kind kind);

#endif /* TESTS_RANDOM_MAKER_H */
