/* Builders of transformers over tokens: BERT, GPT-2 and GPT-3, LLaMA 2. */
#include "model/zoo/zoo.h"

const char *const hp_attention_words[] = { "fused", "unfused" };

/* Add a learned vector to each position of x[n,t,hidden]; `count` positions are learned, 0: as
 * many as there are. */
static int add_positions(struct net *net, const char *name, int x, int count)
{
    int length = hp_net_dim(net, x, 1), hidden = hp_net_dim(net, x, 2);
    if (!count)
        count = length;
    if (length > count)
        hp_net_fail(net, "seq is %d, expected at most %d, the learned positions", length,
                    count);
    size_t outer = hp_net_enter(net, "%s", name);
    int w = hp_net_param(net, "w", 2, (const int[]){ count, hidden });
    if (length < count)
        w = slice(net, "slice", w, 0, 0, length);
    x = add(net, "add", x, w);
    hp_net_leave(net, outer);
    return x;
}

/* BERT: Devlin et al., NAACL 2019 ------------------------------------------------------- */

enum {
    BERT_LAYERS,
    BERT_HIDDEN,
    BERT_HEADS,
    BERT_FFN,
    BERT_SEQ,
    BERT_VOCAB,
    BERT_POSITIONS,
    BERT_ATTENTION,
    BERT_WEIGHTS_DROPOUT,
    BERT_DROPOUT,
};

static const struct option bert_options[] = {
    [BERT_LAYERS] = { "layers", 12, 1, MAX_LAYERS },
    [BERT_HIDDEN] = { "hidden", 768, 1, MAX_WIDTH },
    [BERT_HEADS] = { "heads", 12, 1, MAX_WIDTH },
    [BERT_FFN] = { "ffn", 0, 0, MAX_WIDTH }, /* 0: 4 x hidden */
    [BERT_SEQ] = { "seq", 512, 1, MAX_LENGTH },
    [BERT_VOCAB] = { "vocab", 30522, 1, MAX_VOCAB },
    [BERT_POSITIONS] = { "positions", 0, 0, MAX_LENGTH }, /* 0: as many as seq */
    [BERT_ATTENTION] = ATTENTION_OPTION,
    [BERT_WEIGHTS_DROPOUT] = { "attention_dropout_percent", 0, 0, 99 }, /* fused has none */
    [BERT_DROPOUT] = { "dropout_percent", 10, 0, 99 },
};

static int bert_layer(struct net *net, int x, const int *option)
{
    int hidden = option[BERT_HIDDEN], heads = option[BERT_HEADS];
    int ffn = option[BERT_FFN] ? option[BERT_FFN] : 4 * hidden;
    int q = linear_bias(net, "attention.q", x, hidden);
    int k = linear_bias(net, "attention.k", x, hidden);
    int v = linear_bias(net, "attention.v", x, hidden);
    struct heads how = { .heads = heads,
                         .kv_heads = heads,
                         .unfused = option[BERT_ATTENTION],
                         .weights_dropout = option[BERT_WEIGHTS_DROPOUT] / 100. };
    int y = hp_net_attention(net, "attention", q, k, v, how);
    y = linear_bias(net, "attention.out", y, hidden);
    y = add(net, "attention.add", x, drop(net, "attention.dropout", y, option[BERT_DROPOUT]));
    x = layer_norm(net, "attention.norm", y, 1e-12);

    y = linear_bias(net, "ffn.in", x, ffn);
    y = linear_bias(net, "ffn.out", apply(net, OP_GELU, "ffn.gelu", y), hidden);
    y = add(net, "ffn.add", x, drop(net, "ffn.dropout", y, option[BERT_DROPOUT]));
    return layer_norm(net, "ffn.norm", y, 1e-12);
}

/* Ends in the pooled vector, as the encoder is handed on to a task. */
static void bert(struct net *net, const int *option)
{
    int hidden = option[BERT_HIDDEN], seq = option[BERT_SEQ];
    hp_net_check_heads(net, hidden, option[BERT_HEADS], option[BERT_HEADS]);
    int x = embedding(net, "embeddings.word", tokens(net, "tokens", seq), option[BERT_VOCAB],
                      hidden);
    x = add_positions(net, "embeddings.position", x, option[BERT_POSITIONS]);
    int type = embedding(net, "embeddings.type", tokens(net, "types", seq), 2, hidden);
    x = layer_norm(net, "embeddings.norm", add(net, "embeddings.add", x, type), 1e-12);
    x = drop(net, "embeddings.dropout", x, option[BERT_DROPOUT]);
    for (int i = 0; i < option[BERT_LAYERS]; i++) {
        size_t outer = hp_net_enter(net, "layer.%d", i);
        x = bert_layer(net, x, option);
        hp_net_leave(net, outer);
    }
    x = squeeze(net, "pooler.squeeze", slice(net, "pooler.first", x, 1, 0, 1), 1);
    x = linear_bias(net, "pooler", x, hidden);
    hp_net_regress(net, apply(net, OP_TANH, "pooler.tanh", x));
}

/* GPT-2: Radford et al. 2019; GPT-3: Brown et al., NeurIPS 2020 ------------------------- */

enum {
    GPT_LAYERS,
    GPT_HIDDEN,
    GPT_HEADS,
    GPT_SEQ,
    GPT_VOCAB,
    GPT_POSITIONS,
    GPT_ATTENTION,
    GPT_WEIGHTS_DROPOUT,
    GPT_DROPOUT,
    GPT_FFN,
    GPT_KV_HEADS,
    GPT_TIED,
    GPT_BIASES,
    GPT_GATED,
};

static const struct option gpt_options[] = {
    [GPT_LAYERS] = { "layers", 12, 1, MAX_LAYERS },
    [GPT_HIDDEN] = { "hidden", 768, 1, MAX_WIDTH },
    [GPT_HEADS] = { "heads", 12, 1, MAX_WIDTH },
    [GPT_SEQ] = { "seq", 1024, 1, MAX_LENGTH },
    [GPT_VOCAB] = { "vocab", 50257, 1, MAX_VOCAB },
    [GPT_POSITIONS] = { "positions", 0, 0, MAX_LENGTH }, /* 0: as many as seq */
    [GPT_ATTENTION] = ATTENTION_OPTION,
    [GPT_WEIGHTS_DROPOUT] = { "attention_dropout_percent", 0, 0, 99 }, /* fused has none */
    [GPT_DROPOUT] = { "dropout_percent", 10, 0, 99 },
    [GPT_FFN] = { "ffn", 0, 0, MAX_WIDTH },           /* 0: 4 x hidden */
    [GPT_KV_HEADS] = { "kv_heads", 0, 0, MAX_WIDTH }, /* 0: as heads */
    [GPT_TIED] = { "tied", 1, 0, 1 },
    [GPT_BIASES] = { "biases", 1, 0, 1 }, /* of linear layers */
    [GPT_GATED] = { "gated", 0, 0, 1 },   /* silu of one product times another, for gelu */
};

/* Columns [start, stop) of the matrix and of the bias of `whole`, as a layer of their own: a
 * split of its k then follows heads, which one of the whole matrix would not. */
static int linear_part(struct net *net, const char *name, int x, const char *whole, int start,
                       int stop, bool biases)
{
    int sizes[] = { hp_net_dim(net, x, 2), stop - start };
    int w = hp_net_param(net, hp_net_label(net, "%s.w[%d:%d]", whole, start, stop), 2, sizes);
    if (!biases)
        return hp_net_op(net, OP_LINEAR, name, INPUTS(x, w), NULL);
    int b =
        hp_net_param(net, hp_net_label(net, "%s.b[%d:%d]", whole, start, stop), 1, sizes + 1);
    return hp_net_op(net, OP_LINEAR, name, INPUTS(x, w, b), NULL);
}

static int gpt_kv_heads(const int *option)
{
    return option[GPT_KV_HEADS] ? option[GPT_KV_HEADS] : option[GPT_HEADS];
}

static int gpt_layer(struct net *net, int x, const int *option)
{
    int hidden = option[GPT_HIDDEN], heads = option[GPT_HEADS], kv_heads = gpt_kv_heads(option);
    int ffn = option[GPT_FFN] ? option[GPT_FFN] : 4 * hidden, kv = hidden / heads * kv_heads;
    bool biases = option[GPT_BIASES];
    int y = layer_norm(net, "ln_1", x, 1e-5);
    int q = linear_part(net, "attn.q", y, "attn.c_attn", 0, hidden, biases);
    int k = linear_part(net, "attn.k", y, "attn.c_attn", hidden, hidden + kv, biases);
    int v = linear_part(net, "attn.v", y, "attn.c_attn", hidden + kv, hidden + 2 * kv, biases);
    struct heads how = { .heads = heads,
                         .kv_heads = kv_heads,
                         .causal = true,
                         .unfused = option[GPT_ATTENTION],
                         .weights_dropout = option[GPT_WEIGHTS_DROPOUT] / 100. };
    y = hp_net_attention(net, "attn", q, k, v, how);
    y = hp_net_linear(net, "attn.c_proj", y, hidden, biases);
    x = add(net, "attn.add", x, drop(net, "attn.dropout", y, option[GPT_DROPOUT]));

    y = layer_norm(net, "ln_2", x, 1e-5);
    int up = hp_net_linear(net, "mlp.c_fc", y, ffn, biases);
    if (option[GPT_GATED]) {
        int gate = hp_net_linear(net, "mlp.c_gate", y, ffn, biases);
        y = hp_net_op(net, OP_MUL, "mlp.gated",
                      INPUTS(apply(net, OP_SILU, "mlp.silu", gate), up), NULL);
    } else {
        y = apply(net, OP_GELU, "mlp.gelu", up);
    }
    y = hp_net_linear(net, "mlp.c_proj", y, hidden, biases);
    return add(net, "mlp.add", x, drop(net, "mlp.dropout", y, option[GPT_DROPOUT]));
}

static void gpt(struct net *net, const int *option)
{
    int ids = tokens(net, "tokens", option[GPT_SEQ]);
    struct shared wte = { 0 };
    hp_net_check_heads(net, option[GPT_HIDDEN], option[GPT_HEADS], gpt_kv_heads(option));
    int x = hp_net_embedding(net, &wte, "wte", ids, option[GPT_VOCAB], option[GPT_HIDDEN]);
    x = add_positions(net, "wpe", x, option[GPT_POSITIONS]);
    x = drop(net, "drop", x, option[GPT_DROPOUT]);
    for (int i = 0; i < option[GPT_LAYERS]; i++) {
        size_t outer = hp_net_enter(net, "h.%d", i);
        x = gpt_layer(net, x, option);
        hp_net_leave(net, outer);
    }
    x = layer_norm(net, "ln_f", x, 1e-5);
    hp_net_head(net, &wte, x, option[GPT_VOCAB], option[GPT_TIED]);
}

/* LLaMA 2 and 3: Touvron et al. 2023, Grattafiori et al. 2024 ------------------------------ */

enum {
    LL_LAYERS,
    LL_HIDDEN,
    LL_HEADS,
    LL_KV_HEADS,
    LL_FFN,
    LL_SEQ,
    LL_VOCAB,
    LL_ATTENTION,
    LL_TIED,
    LL_ROPE_THETA,
};

static const struct option llama_options[] = {
    [LL_LAYERS] = { "layers", 32, 1, MAX_LAYERS },
    [LL_HIDDEN] = { "hidden", 4096, 1, MAX_WIDTH },
    [LL_HEADS] = { "heads", 32, 1, MAX_WIDTH },
    [LL_KV_HEADS] = { "kv_heads", 0, 0, MAX_WIDTH }, /* 0: as heads */
    [LL_FFN] = { "ffn", 11008, 1, MAX_WIDTH },
    [LL_SEQ] = { "seq", 4096, 1, MAX_LENGTH },
    [LL_VOCAB] = { "vocab", 32000, 1, MAX_VOCAB },
    [LL_ATTENTION] = ATTENTION_OPTION,
    [LL_TIED] = { "tied", 0, 0, 1 },
    [LL_ROPE_THETA] = { "rope_theta", 10000, 1, 1000000000 }, /* as in Hugging Face's files */
};

static int rms_norm(struct net *net, const char *name, int x)
{
    return hp_net_op(net, OP_RMS_NORM, name, INPUTS(x, HP_MAKE),
                     ATTRS({ ATTR_EPS, 1, V(1e-5) }));
}

static int rope(struct net *net, const char *name, int x, int heads, int theta)
{
    return hp_net_op(net, OP_ROPE, name, 1, &x,
                     ATTRS({ ATTR_HEADS, 1, V(heads) }, { ATTR_THETA, 1, V(theta) }));
}

static int llama_layer(struct net *net, int x, const int *option)
{
    int hidden = option[LL_HIDDEN], heads = option[LL_HEADS];
    int kv_heads = option[LL_KV_HEADS] ? option[LL_KV_HEADS] : heads;
    int y = rms_norm(net, "input_norm", x);
    int theta = option[LL_ROPE_THETA];
    int q = rope(net, "rope_q", linear(net, "q_proj", y, hidden), heads, theta);
    int k = linear(net, "k_proj", y, hidden / heads * kv_heads);
    k = rope(net, "rope_k", k, kv_heads, theta);
    int v = linear(net, "v_proj", y, hidden / heads * kv_heads);
    struct heads how = {
        .heads = heads, .kv_heads = kv_heads, .causal = true, .unfused = option[LL_ATTENTION]
    };
    y = hp_net_attention(net, "attn", q, k, v, how);
    x = add(net, "attn.add", x, linear(net, "o_proj", y, hidden));

    y = rms_norm(net, "post_norm", x);
    int gate = apply(net, OP_SILU, "silu", linear(net, "gate_proj", y, option[LL_FFN]));
    int up = linear(net, "up_proj", y, option[LL_FFN]);
    y = hp_net_op(net, OP_MUL, "gate", INPUTS(gate, up), NULL);
    return add(net, "mlp.add", x, linear(net, "down_proj", y, hidden));
}

static void llama(struct net *net, const int *option)
{
    int hidden = option[LL_HIDDEN], heads = option[LL_HEADS];
    hp_net_check_heads(net, hidden, heads, option[LL_KV_HEADS] ? option[LL_KV_HEADS] : heads);
    struct shared table = { 0 };
    int ids = tokens(net, "tokens", option[LL_SEQ]);
    int x = hp_net_embedding(net, &table, "embed_tokens", ids, option[LL_VOCAB], hidden);
    for (int i = 0; i < option[LL_LAYERS]; i++) {
        size_t outer = hp_net_enter(net, "layers.%d", i);
        x = llama_layer(net, x, option);
        hp_net_leave(net, outer);
    }
    x = rms_norm(net, "norm", x);
    hp_net_head(net, &table, x, option[LL_VOCAB], option[LL_TIED]);
}

const struct family hp_family_bert = FAMILY(bert, bert_options);
const struct family hp_family_gpt = FAMILY(gpt, gpt_options);
const struct family hp_family_llama = FAMILY(llama, llama_options);
