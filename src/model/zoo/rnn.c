/* Builders of recurrent networks: FlexFlow's three, unrolled so that a plan can place each
 * step by itself, and GNMT over whole sequences. */
#include "model/zoo/zoo.h"

enum { MAX_STEPS = 512, MAX_LSTMS = 32, MAX_HIDDEN = 1 << 20 };

/* One layer of LSTM along the steps: its weights, and where it has come to. */
struct lstm {
    struct shared weights;
    int h, cell; /* tensors; HP_ABSENT: zero */
};

struct stack {
    int n, hidden;
    const char *name; /* layer l, step t: "<name>l.t" */
    struct lstm layer[MAX_LSTMS];
};

static void begin_stack(struct stack *stack, const char *name, int n, int hidden)
{
    *stack = (struct stack){ .n = n, .hidden = hidden, .name = name };
    for (int l = 0; l < n; l++)
        stack->layer[l].h = stack->layer[l].cell = HP_ABSENT;
}

/* One step through all layers; returns the uppermost h. */
static int step_stack(struct net *net, struct stack *stack, int step, int x)
{
    for (int l = 0; l < stack->n; l++) {
        struct lstm *layer = &stack->layer[l];
        int y[2];
        hp_net_shared(net, &layer->weights,
                      &(struct op_request){
                          OP_LSTM_CELL, hp_net_label(net, "%s%d.%d", stack->name, l + 1, step),
                          INPUTS(x, layer->h, layer->cell, HP_MAKE, HP_MAKE, HP_MAKE, HP_MAKE),
                          ATTRS({ ATTR_OUT, 1, V(stack->hidden) }) },
                      y, 2);
        x = layer->h = y[0];
        layer->cell = y[1];
    }
    return x;
}

/* The embedding of step `step`'s tokens, an input of their own. */
static int embed_step(struct net *net, struct shared *table, const char *name, int step,
                      int vocab, int hidden)
{
    int ids = hp_net_input(net, hp_net_label(net, "%s.%d", name, step), 0, NULL, true);
    return hp_net_embedding(net, table, hp_net_label(net, "%s.embed.%d", name, step), ids,
                            vocab, hidden);
}

static int shared_linear(struct net *net, struct shared *weights, const char *name, int x,
                         int out)
{
    int y;
    hp_net_shared(net, weights,
                  &(struct op_request){ OP_LINEAR, name, INPUTS(x, HP_MAKE, HP_MAKE),
                                        ATTRS({ ATTR_OUT, 1, V(out) }) },
                  &y, 1);
    return y;
}

enum { STEPS, LAYERS, HIDDEN, VOCAB, CLASSES };

/* Text classification: the last state decides. */
static const struct option rnntc_options[] = {
    [STEPS] = { "steps", 40, 1, MAX_STEPS },      [LAYERS] = { "layers", 4, 1, MAX_LSTMS },
    [HIDDEN] = { "hidden", 1024, 1, MAX_HIDDEN }, [VOCAB] = { "vocab", 10000, 1, MAX_VOCAB },
    [CLASSES] = { "classes", 2, 1, 1 << 20 },
};

static void rnntc(struct net *net, const int *option)
{
    struct shared table = { 0 };
    struct stack stack;
    int x = 0;
    begin_stack(&stack, "lstm", option[LAYERS], option[HIDDEN]);
    for (int t = 0; t < option[STEPS]; t++) {
        x = embed_step(net, &table, "x", t, option[VOCAB], option[HIDDEN]);
        x = step_stack(net, &stack, t, x);
    }
    hp_net_classify(net, linear_bias(net, "linear", x, option[CLASSES]));
}

/* Language model: each step predicts the next token. */
static const struct option rnnlm_options[] = {
    [STEPS] = { "steps", 40, 1, MAX_STEPS },
    [LAYERS] = { "layers", 2, 1, MAX_LSTMS },
    [HIDDEN] = { "hidden", 2048, 1, MAX_HIDDEN },
    [VOCAB] = { "vocab", 10000, 1, MAX_VOCAB },
};

static void rnnlm(struct net *net, const int *option)
{
    struct shared table = { 0 }, output = { 0 };
    struct stack stack;
    int logits[MAX_STEPS];
    begin_stack(&stack, "lstm", option[LAYERS], option[HIDDEN]);
    for (int t = 0; t < option[STEPS]; t++) {
        int x = embed_step(net, &table, "x", t, option[VOCAB], option[HIDDEN]);
        x = step_stack(net, &stack, t, x);
        x = unsqueeze(net, hp_net_label(net, "step.%d", t), x, 1);
        logits[t] =
            shared_linear(net, &output, hp_net_label(net, "linear.%d", t), x, option[VOCAB]);
    }
    hp_net_classify(net, hp_net_concat(net, "logits", logits, option[STEPS], 1));
}

/* Translation: encoder, decoder, and attention as in Luong et al., EMNLP 2015. */
static const struct option nmt_options[] = {
    [STEPS] = { "steps", 40, 1, MAX_STEPS },
    [LAYERS] = { "layers", 2, 1, MAX_LSTMS },
    [HIDDEN] = { "hidden", 1024, 1, MAX_HIDDEN },
    [VOCAB] = { "vocab", 32000, 1, MAX_VOCAB },
};

/* The encoder's upper states [n, steps, hidden]; `stack` ends at its last step. */
static int encode(struct net *net, struct stack *stack, const int *option)
{
    struct shared table = { 0 };
    int states[MAX_STEPS];
    begin_stack(stack, "encoder", option[LAYERS], option[HIDDEN]);
    for (int t = 0; t < option[STEPS]; t++) {
        int x = embed_step(net, &table, "source", t, option[VOCAB], option[HIDDEN]);
        x = step_stack(net, stack, t, x);
        states[t] = unsqueeze(net, hp_net_label(net, "encoder.step.%d", t), x, 1);
    }
    return hp_net_concat(net, "memory", states, option[STEPS], 1);
}

static void nmt(struct net *net, const int *option)
{
    struct shared table = { 0 }, combine = { 0 }, output = { 0 };
    struct stack encoder, decoder;
    int logits[MAX_STEPS], hidden = option[HIDDEN];
    int memory = encode(net, &encoder, option);
    begin_stack(&decoder, "decoder", option[LAYERS], hidden);
    for (int l = 0; l < option[LAYERS]; l++) {
        decoder.layer[l].h = encoder.layer[l].h;
        decoder.layer[l].cell = encoder.layer[l].cell;
    }
    for (int t = 0; t < option[STEPS]; t++) {
        int x = embed_step(net, &table, "target", t, option[VOCAB], hidden);
        x = step_stack(net, &decoder, t, x);
        x = unsqueeze(net, hp_net_label(net, "decoder.step.%d", t), x, 1);
        int context = hp_net_attention(net, hp_net_label(net, "attention.%d", t), x, memory,
                                       memory, (struct heads){ .heads = 1, .kv_heads = 1 });
        x = concat(net, hp_net_label(net, "attention.concat.%d", t), context, x, 2);
        x = shared_linear(net, &combine, hp_net_label(net, "attention.linear.%d", t), x,
                          hidden);
        x = apply(net, OP_TANH, hp_net_label(net, "attention.tanh.%d", t), x);
        logits[t] =
            shared_linear(net, &output, hp_net_label(net, "linear.%d", t), x, option[VOCAB]);
    }
    hp_net_classify(net, hp_net_concat(net, "logits", logits, option[STEPS], 1));
}

/* GNMT (Wu et al. 2016) as in MLPerf and PipeDream: half of the layers encode, half decode. */
enum { GNMT_LAYERS, GNMT_HIDDEN, GNMT_SEQ, GNMT_VOCAB };

static const struct option gnmt_options[] = {
    [GNMT_LAYERS] = { "layers", 8, 4, 2 * MAX_LSTMS },
    [GNMT_HIDDEN] = { "hidden", 1024, 1, MAX_HIDDEN },
    [GNMT_SEQ] = { "seq", 50, 1, 1 << 16 },
    [GNMT_VOCAB] = { "vocab", 32320, 1, MAX_VOCAB },
};

static int lstm(struct net *net, const char *name, int x, int hidden, bool reverse)
{
    return hp_net_op(net, OP_LSTM, name,
                     INPUTS(x, HP_ABSENT, HP_ABSENT, HP_MAKE, HP_MAKE, HP_MAKE, HP_MAKE),
                     ATTRS({ ATTR_OUT, 1, V(hidden) }, { ATTR_REVERSE, 1, V(reverse) }));
}

/* The first layer runs both ways; from the third on, a layer adds to its input. */
static int gnmt_encoder(struct net *net, const int *option)
{
    int hidden = option[GNMT_HIDDEN], layers = option[GNMT_LAYERS] / 2;
    int x = tokens(net, "source", option[GNMT_SEQ]);
    x = embedding(net, "encoder.embed", x, option[GNMT_VOCAB], hidden);
    int ahead = lstm(net, "encoder.lstm1.forward", x, hidden, false);
    int back = lstm(net, "encoder.lstm1.backward", x, hidden, true);
    x = concat(net, "encoder.lstm1", ahead, back, 2);
    for (int i = 2; i <= layers; i++) {
        int y = dropout(net, hp_net_label(net, "encoder.dropout%d", i), x, 0.2);
        y = lstm(net, hp_net_label(net, "encoder.lstm%d", i), y, hidden, false);
        x = i == 2 ? y : add(net, hp_net_label(net, "encoder.add%d", i), x, y);
    }
    return x;
}

/* Additive attention (Bahdanau et al., ICLR 2015): v' tanh(W q + U k + b) are the scores. */
static int additive_attention(struct net *net, int query, int memory, int hidden)
{
    int q = unsqueeze(net, "attention.q.each", linear(net, "attention.q", query, hidden), 2);
    int k = linear_bias(net, "attention.k", memory, hidden);
    k = unsqueeze(net, "attention.k.each", k, 1);
    int x = apply(net, OP_TANH, "attention.tanh", add(net, "attention.add", q, k));
    x = squeeze(net, "attention.scores", linear(net, "attention.v", x, 1), 3);
    x = apply(net, OP_SOFTMAX, "attention.softmax", x);
    return hp_net_op(net, OP_MATMUL, "attention", INPUTS(x, memory), NULL);
}

static void gnmt(struct net *net, const int *option)
{
    int hidden = option[GNMT_HIDDEN], layers = option[GNMT_LAYERS] / 2;
    if (option[GNMT_LAYERS] % 2)
        hp_net_fail(net, "layers is %d, expected an even number", option[GNMT_LAYERS]);
    int memory = gnmt_encoder(net, option);
    int x = tokens(net, "target", option[GNMT_SEQ]);
    x = embedding(net, "decoder.embed", x, option[GNMT_VOCAB], hidden);
    x = lstm(net, "decoder.lstm1", x, hidden, false);
    int context = additive_attention(net, x, memory, hidden);
    for (int i = 2; i <= layers; i++) {
        int y = dropout(net, hp_net_label(net, "decoder.dropout%d", i), x, 0.2);
        y = concat(net, hp_net_label(net, "decoder.concat%d", i), y, context, 2);
        y = lstm(net, hp_net_label(net, "decoder.lstm%d", i), y, hidden, false);
        x = i == 2 ? y : add(net, hp_net_label(net, "decoder.add%d", i), x, y);
    }
    hp_net_classify(net, linear_bias(net, "classifier", x, option[GNMT_VOCAB]));
}

const struct family hp_family_rnntc = FAMILY(rnntc, rnntc_options);
const struct family hp_family_rnnlm = FAMILY(rnnlm, rnnlm_options);
const struct family hp_family_nmt = FAMILY(nmt, nmt_options);
const struct family hp_family_gnmt = FAMILY(gnmt, gnmt_options);
