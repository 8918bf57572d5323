/* model/zoo/layers.h - a network written down layer by layer: what the zoo is built with.
 * Internal.
 *
 *     int x = images(net, 3, 224);
 *     x = relu(net, "relu1", conv_bias(net, "conv1", x, 64, 3, 1, 1));
 *     x = max_pool(net, "pool1", x, 2, 2, 0);
 *     classify(net, linear_bias(net, "fc1", flatten(net, "flatten", x), 1000));
 *
 * A layer takes tensors and returns the one it writes. The net keeps the first failure: layers
 * after it do nothing and return tensor 0, so that a network reads without checks. Sizes are
 * int, as options are. */
#ifndef MODEL_ZOO_LAYERS_H
#define MODEL_ZOO_LAYERS_H

#include "graph/graph.h"

enum { NET_NAME_BYTES = 160 };

struct net {
    struct graph_builder *builder;
    int64_t batch;
    enum hypar_status status; /* of the first failure */
    struct hypar_error *err;
    char name[NET_NAME_BYTES]; /* the scope: stands before the name of each layer */
    char label[NET_NAME_BYTES];
};

/* Refuse the network: sticks like the failure of a layer. */
void hp_net_fail(struct net *net, const char *fmt, ...) HYPAR_PRINTF(2, 3);

/* Put "layer1.0." before the names of the layers until `leave`, which takes what `enter` gave.
 */
size_t hp_net_enter(struct net *net, const char *fmt, ...) HYPAR_PRINTF(2, 3);
void hp_net_leave(struct net *net, size_t outer);

/* A name with numbers in it, "conv5_2"; good until the next call. */
const char *hp_net_label(struct net *net, const char *fmt, ...) HYPAR_PRINTF(2, 3);

/* A model input [batch, dims...] of images (or other numbers), or of integers. */
int hp_net_input(struct net *net, const char *name, int n_dims, const int *dims, bool index);

/* Integers that are the same for all samples, [dims...]. */
int hp_net_constant(struct net *net, const char *name, int n_dims, const int *dims);

/* A parameter of its own, for what no row makes: positions, class tokens. */
int hp_net_param(struct net *net, const char *name, int n_dims, const int *dims);

/* An operator; returns its first output, the others are in outputs[] of hp_net_outputs(). */
int hp_net_op(struct net *net, enum op_kind kind, const char *name, int n_inputs,
              const int *inputs, const struct attrs *attrs);
void hp_net_outputs(struct net *net, const struct op_request *request, int *outputs, int n);

/* Parameters that several operators use: made by the first, taken again by the others. */
struct shared {
    bool made;
    int tensor[8];
};

/* As hp_net_outputs(); each HP_MAKE among the inputs is a parameter of `shared`. */
void hp_net_shared(struct net *net, struct shared *shared, const struct op_request *request,
                   int *outputs, int n);

/* Dimension d of tensor x; 1 once the net has failed, so it may be divided by. */
int hp_net_dim(const struct net *net, int x, int d);

/* Join many tensors along a dimension; more than one operator takes are joined in groups. */
int hp_net_concat(struct net *net, const char *name, const int *x, int n, int axis);

/* Average pooling to `size` positions per side with equal windows; a smaller map stays. */
int hp_net_adaptive_pool(struct net *net, const char *name, int x, int size);

/* End the network with its output x[..., classes]: cross-entropy against an input "labels",
 * or mean squares against an input "target". */
void hp_net_classify(struct net *net, int x);
void hp_net_regress(struct net *net, int x);

/* A window of a convolution or pooling. */
struct window {
    int kernel[2], stride, pad[2]; /* height, width */
};

int hp_net_conv(struct net *net, const char *name, int x, int out, struct window window,
                bool bias);
int hp_net_depthwise(struct net *net, const char *name, int x, struct window window);
int hp_net_pool(struct net *net, enum op_kind kind, const char *name, int x,
                struct window window, bool ceil);
int hp_net_linear(struct net *net, const char *name, int x, int out, bool bias);

/* Fully-connected layers fc1, fc2, ... of these sizes, without biases, with ReLU between them.
 */
int hp_net_connected(struct net *net, int x, int n, const int *sizes);

/* The embedding of tokens; its table is a parameter of `shared`. */
int hp_net_embedding(struct net *net, struct shared *shared, const char *name, int ids,
                     int vocab, int out);

/* Attention of q over k and v; kv_heads < heads shares each key head among several. */
struct heads {
    int heads, kv_heads;
    bool causal;
    bool unfused;           /* written out: scores lie in memory */
    double weights_dropout; /* of the softmax's; unfused only */
    double scale;           /* of the scores; 0: 1 / sqrt(width of a head) */
    int bias; /* added to them, [1, heads, queries, keys]; 0: none (tensor 0 is an input) */
};
int hp_net_attention(struct net *net, const char *name, int q, int k, int v, struct heads h);

/* The output layer of a language model and its loss: the transposed table of an embedding, or
 * (untied) a matrix of its own. */
void hp_net_head(struct net *net, const struct shared *table, int x, int vocab, bool tied);

/* Refuse sizes that heads do not divide. */
void hp_net_check_heads(struct net *net, int hidden, int heads, int kv_heads);

/* The names that networks are written with ----------------------------------------------- */

/* Tensors at a call: how many, and which. */
#define INPUTS(...)                                                          \
    (int)(sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int)), (const int[]) \
    {                                                                        \
        __VA_ARGS__                                                          \
    }

static inline struct window square(int kernel, int stride, int pad)
{
    return (struct window){ { kernel, kernel }, stride, { pad, pad } };
}

static inline int images(struct net *net, int channels, int size)
{
    return hp_net_input(net, "x", 3, (const int[]){ channels, size, size }, false);
}

static inline int tokens(struct net *net, const char *name, int length)
{
    return hp_net_input(net, name, 1, &length, true);
}

static inline int conv(struct net *net, const char *name, int x, int out, int kernel,
                       int stride, int pad)
{
    return hp_net_conv(net, name, x, out, square(kernel, stride, pad), false);
}

static inline int conv_bias(struct net *net, const char *name, int x, int out, int kernel,
                            int stride, int pad)
{
    return hp_net_conv(net, name, x, out, square(kernel, stride, pad), true);
}

static inline int max_pool(struct net *net, const char *name, int x, int kernel, int stride,
                           int pad)
{
    return hp_net_pool(net, OP_MAX_POOL, name, x, square(kernel, stride, pad), false);
}

static inline int avg_pool(struct net *net, const char *name, int x, int kernel, int stride,
                           int pad)
{
    return hp_net_pool(net, OP_AVG_POOL, name, x, square(kernel, stride, pad), false);
}

static inline int linear(struct net *net, const char *name, int x, int out)
{
    return hp_net_linear(net, name, x, out, false);
}

static inline int linear_bias(struct net *net, const char *name, int x, int out)
{
    return hp_net_linear(net, name, x, out, true);
}

/* An operator of one input and no attributes: OP_TANH, OP_FLATTEN, OP_GLOBAL_AVG_POOL, ... */
static inline int apply(struct net *net, enum op_kind kind, const char *name, int x)
{
    return hp_net_op(net, kind, name, 1, &x, NULL);
}

static inline int relu(struct net *net, const char *name, int x)
{
    return apply(net, OP_RELU, name, x);
}

static inline int flatten(struct net *net, const char *name, int x)
{
    return apply(net, OP_FLATTEN, name, x);
}

static inline int add(struct net *net, const char *name, int x, int y)
{
    return hp_net_op(net, OP_ADD, name, INPUTS(x, y), NULL);
}

static inline int concat(struct net *net, const char *name, int x, int y, int axis)
{
    return hp_net_op(net, OP_CONCAT, name, INPUTS(x, y), ATTRS({ ATTR_AXIS, 1, V(axis) }));
}

static inline int dropout(struct net *net, const char *name, int x, double rate)
{
    return hp_net_op(net, OP_DROPOUT, name, 1, &x, ATTRS({ ATTR_RATE, 1, V(rate) }));
}

static inline int drop(struct net *net, const char *name, int x, int percent)
{
    return percent ? dropout(net, name, x, percent / 100.) : x;
}

static inline int batch_norm(struct net *net, const char *name, int x, double eps)
{
    return hp_net_op(net, OP_BATCH_NORM, name, INPUTS(x, HP_MAKE, HP_MAKE),
                     ATTRS({ ATTR_EPS, 1, V(eps) }));
}

static inline int layer_norm(struct net *net, const char *name, int x, double eps)
{
    return hp_net_op(net, OP_LAYER_NORM, name, INPUTS(x, HP_MAKE, HP_MAKE),
                     ATTRS({ ATTR_EPS, 1, V(eps) }));
}

static inline int embedding(struct net *net, const char *name, int ids, int vocab, int out)
{
    return hp_net_op(net, OP_EMBEDDING, name, INPUTS(ids, HP_MAKE),
                     ATTRS({ ATTR_VOCAB, 1, V(vocab) }, { ATTR_OUT, 1, V(out) }));
}

static inline int slice(struct net *net, const char *name, int x, int axis, int start, int stop)
{
    return hp_net_op(net, OP_SLICE, name, 1, &x,
                     ATTRS({ ATTR_AXIS, 1, V(axis) }, { ATTR_START, 1, V(start) },
                           { ATTR_STOP, 1, V(stop) }));
}

static inline int unsqueeze(struct net *net, const char *name, int x, int axis)
{
    return hp_net_op(net, OP_UNSQUEEZE, name, 1, &x, ATTRS({ ATTR_AXES, 1, V(axis) }));
}

static inline int squeeze(struct net *net, const char *name, int x, int axis)
{
    return hp_net_op(net, OP_SQUEEZE, name, 1, &x, ATTRS({ ATTR_AXES, 1, V(axis) }));
}

#endif /* MODEL_ZOO_LAYERS_H */
