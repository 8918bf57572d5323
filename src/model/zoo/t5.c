/* Builder of T5: Raffel et al., JMLR 2020. An encoder and a decoder over tokens. */
#include "model/zoo/zoo.h"

#include <math.h>

enum {
    T5_LAYERS,
    T5_HIDDEN,
    T5_HEADS,
    T5_HEAD_WIDTH,
    T5_FFN,
    T5_SEQ,
    T5_TARGET_SEQ,
    T5_VOCAB,
    T5_BUCKETS,
    T5_ATTENTION,
    T5_WEIGHTS_DROPOUT,
    T5_DROPOUT,
    T5_TIED,
    T5_GATED,
};

static const struct option t5_options[] = {
    [T5_LAYERS] = { "layers", 6, 1, MAX_LAYERS }, /* of the encoder, and of the decoder */
    [T5_HIDDEN] = { "hidden", 512, 1, MAX_WIDTH },
    [T5_HEADS] = { "heads", 8, 1, MAX_WIDTH },
    [T5_HEAD_WIDTH] = { "head_width", 64, 1, MAX_WIDTH },
    [T5_FFN] = { "ffn", 2048, 1, MAX_WIDTH },
    [T5_SEQ] = { "seq", 512, 1, MAX_LENGTH },
    [T5_TARGET_SEQ] = { "target_seq", 114, 1, MAX_LENGTH }, /* of 512 tokens, as pre-trained */
    [T5_VOCAB] = { "vocab", 32128, 1, MAX_VOCAB },
    [T5_BUCKETS] = { "buckets", 32, 1, MAX_WIDTH }, /* of relative positions */
    [T5_ATTENTION] = ATTENTION_OPTION,
    [T5_WEIGHTS_DROPOUT] = { "attention_dropout_percent", 0, 0, 99 }, /* fused has none */
    [T5_DROPOUT] = { "dropout_percent", 10, 0, 99 },
    [T5_TIED] = { "tied", 1, 0, 1 },
    [T5_GATED] = { "gated", 0, 0, 1 }, /* gelu of one product times another, for relu: T5 1.1 */
};

/* One half of the network, while it is written down. */
struct stack {
    const int *option;
    bool causal;
    int bias;   /* of relative positions, [1, heads, queries, keys] */
    int memory; /* what the encoder wrote; the encoder has none: -1 */
};

static int norm(struct net *net, const char *name, int x)
{
    return hp_net_op(net, OP_RMS_NORM, name, INPUTS(x, HP_MAKE),
                     ATTRS({ ATTR_EPS, 1, V(1e-6) }));
}

/* What is added to the scores of heads: a learned number for each bucket of distances between
 * query and key, the same in all layers. Which pair is in which bucket is a constant. */
static int relative_bias(struct net *net, int length, const int *option)
{
    int heads = option[T5_HEADS], pairs[] = { length, length };
    size_t outer = hp_net_enter(net, "relative_attention_bias");
    int bucket = hp_net_constant(net, "bucket", 2, pairs);
    int x = embedding(net, "table", bucket, option[T5_BUCKETS], heads);
    x = hp_net_op(net, OP_TRANSPOSE, "heads", 1, &x, ATTRS({ ATTR_PERM, 3, V(2, 0, 1) }));
    x = unsqueeze(net, "all", x, 0);
    hp_net_leave(net, outer);
    return x;
}

static int residual(struct net *net, int x, int y, const int *option)
{
    return add(net, "add", x, drop(net, "dropout", y, option[T5_DROPOUT]));
}

/* Attention to x itself, or to `memory`. Scores are not divided by the root of the width. */
static int attend(struct net *net, const char *name, int x, int memory, const struct stack *s)
{
    const int *option = s->option;
    int heads = option[T5_HEADS], inner = heads * option[T5_HEAD_WIDTH];
    size_t outer = hp_net_enter(net, "%s", name);
    int y = norm(net, "layer_norm", x), from = memory < 0 ? y : memory;
    int q = linear(net, "q", y, inner), k = linear(net, "k", from, inner);
    int v = linear(net, "v", from, inner);
    struct heads how = { .heads = heads,
                         .kv_heads = heads,
                         .causal = memory < 0 && s->causal,
                         .unfused = option[T5_ATTENTION],
                         .weights_dropout = option[T5_WEIGHTS_DROPOUT] / 100.,
                         .scale = 1,
                         .bias = memory < 0 ? s->bias : 0 };
    y = linear(net, "o", hp_net_attention(net, "attention", q, k, v, how), option[T5_HIDDEN]);
    x = residual(net, x, y, option);
    hp_net_leave(net, outer);
    return x;
}

static int feed_forward(struct net *net, int x, const int *option)
{
    size_t outer = hp_net_enter(net, "DenseReluDense");
    int y = norm(net, "layer_norm", x), wide;
    if (option[T5_GATED]) {
        int gate = apply(net, OP_GELU_TANH, "act", linear(net, "wi_0", y, option[T5_FFN]));
        wide = hp_net_op(net, OP_MUL, "gated",
                         INPUTS(gate, linear(net, "wi_1", y, option[T5_FFN])), NULL);
    } else {
        wide = relu(net, "act", linear(net, "wi", y, option[T5_FFN]));
    }
    y = drop(net, "act_dropout", wide, option[T5_DROPOUT]);
    x = residual(net, x, linear(net, "wo", y, option[T5_HIDDEN]), option);
    hp_net_leave(net, outer);
    return x;
}

/* Encoder or decoder: from tokens to normalised vectors. */
static int stack(struct net *net, const char *name, struct shared *table, int ids,
                 struct stack *s)
{
    const int *option = s->option;
    size_t all = hp_net_enter(net, "%s", name);
    int x =
        hp_net_embedding(net, table, "embed_tokens", ids, option[T5_VOCAB], option[T5_HIDDEN]);
    x = drop(net, "dropout", x, option[T5_DROPOUT]);
    s->bias = relative_bias(net, hp_net_dim(net, ids, 1), option);
    for (int i = 0; i < option[T5_LAYERS]; i++) {
        size_t outer = hp_net_enter(net, "block.%d", i);
        x = attend(net, "SelfAttention", x, -1, s);
        if (s->memory >= 0)
            x = attend(net, "EncDecAttention", x, s->memory, s);
        x = feed_forward(net, x, option);
        hp_net_leave(net, outer);
    }
    x = drop(net, "final_dropout", norm(net, "final_layer_norm", x), option[T5_DROPOUT]);
    hp_net_leave(net, all);
    return x;
}

/* With a table that is tied to the embedding, logits are scaled by the root of the width. */
static void t5(struct net *net, const int *option)
{
    struct shared table = { 0 };
    struct stack encoder = { option, false, 0, -1 }, decoder = { option, true, 0, -1 };
    int ids = tokens(net, "tokens", option[T5_SEQ]);
    decoder.memory = stack(net, "encoder", &table, ids, &encoder);
    ids = tokens(net, "targets", option[T5_TARGET_SEQ]);
    int x = stack(net, "decoder", &table, ids, &decoder);
    if (option[T5_TIED])
        x = hp_net_op(net, OP_AFFINE, "scale", 1, &x,
                      ATTRS({ ATTR_ALPHA, 1, V(1 / sqrt(option[T5_HIDDEN])) }));
    hp_net_head(net, &table, x, option[T5_VOCAB], option[T5_TIED]);
}

const struct family hp_family_t5 = FAMILY(t5, t5_options);
