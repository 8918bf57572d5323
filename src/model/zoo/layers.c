/* The layers that builders of the zoo call: each appends operators to the network. */
#include "model/zoo/layers.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

void hp_net_fail(struct net *net, const char *fmt, ...)
{
    if (net->status)
        return;
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    net->status = hp_fail(net->err, HYPAR_INVALID, "%s", text);
}

size_t hp_net_enter(struct net *net, const char *fmt, ...)
{
    size_t outer = strlen(net->name);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(net->name + outer, sizeof net->name - outer, fmt, ap);
    va_end(ap);
    size_t n = strlen(net->name);
    snprintf(net->name + n, sizeof net->name - n, ".");
    return outer;
}

void hp_net_leave(struct net *net, size_t outer)
{
    net->name[outer] = '\0';
}

const char *hp_net_label(struct net *net, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(net->label, sizeof net->label, fmt, ap);
    va_end(ap);
    return net->label;
}

int hp_net_dim(const struct net *net, int x, int d)
{
    return net->status || x < 0 ? 1
                                : (int)hp_build_graph(net->builder)->tensors[x].shape.dim[d];
}

int hp_net_input(struct net *net, const char *name, int n_dims, const int *dims, bool index)
{
    struct hypar_shape shape = { 1 + n_dims, { net->batch } };
    for (int i = 0; i < n_dims; i++)
        shape.dim[1 + i] = dims[i];
    return net->status ? 0 : hp_build_input(net->builder, name, &shape, index, 0);
}

static struct hypar_shape shape_of(int n_dims, const int *dims)
{
    struct hypar_shape shape = { .n_dims = n_dims };
    for (int i = 0; i < n_dims; i++)
        shape.dim[i] = dims[i];
    return shape;
}

static const char *scoped(const struct net *net, const char *name,
                          char text[2 * NET_NAME_BYTES])
{
    snprintf(text, 2 * NET_NAME_BYTES, "%s%s", net->name, name);
    return text;
}

int hp_net_constant(struct net *net, const char *name, int n_dims, const int *dims)
{
    struct hypar_shape shape = shape_of(n_dims, dims);
    char text[2 * NET_NAME_BYTES];
    return net->status
               ? 0
               : hp_build_input(net->builder, scoped(net, name, text), &shape, true, -1);
}

int hp_net_param(struct net *net, const char *name, int n_dims, const int *dims)
{
    struct hypar_shape shape = shape_of(n_dims, dims);
    char text[2 * NET_NAME_BYTES];
    return net->status ? 0 : hp_build_param(net->builder, scoped(net, name, text), &shape);
}

void hp_net_outputs(struct net *net, const struct op_request *request, int *outputs, int n)
{
    int written[MAX_OPERANDS] = { 0 };
    if (!net->status) {
        char name[2 * NET_NAME_BYTES];
        snprintf(name, sizeof name, "%s%s", net->name, request->name);
        struct op_request scoped = *request;
        scoped.name = name;
        net->status = hp_build_op(net->builder, &scoped, written, net->err);
    }
    for (int i = 0; i < n; i++)
        outputs[i] = net->status ? 0 : written[i];
}

int hp_net_op(struct net *net, enum op_kind kind, const char *name, int n_inputs,
              const int *inputs, const struct attrs *attrs)
{
    int y;
    hp_net_outputs(net, &(struct op_request){ kind, name, n_inputs, inputs, attrs }, &y, 1);
    return y;
}

void hp_net_shared(struct net *net, struct shared *shared, const struct op_request *request,
                   int *outputs, int n)
{
    int inputs[sizeof shared->tensor / sizeof shared->tensor[0]];
    for (int i = 0; i < request->n_inputs; i++) {
        bool again = shared->made && request->inputs[i] == HP_MAKE;
        inputs[i] = again ? shared->tensor[i] : request->inputs[i];
    }
    struct op_request given = *request;
    given.inputs = inputs;
    hp_net_outputs(net, &given, outputs, n);
    if (net->status || shared->made)
        return;
    const struct hypar_graph *graph = hp_build_graph(net->builder);
    for (int i = 0; i < request->n_inputs; i++)
        shared->tensor[i] = graph->ops[graph->n_ops - 1].tensor[i];
    shared->made = true;
}

int hp_net_concat(struct net *net, const char *name, const int *x, int n, int axis)
{
    enum { GROUP = 32 };
    if (n == 1)
        return *x;
    if (n <= GROUP)
        return hp_net_op(net, OP_CONCAT, name, n, x, ATTRS({ ATTR_AXIS, 1, V(axis) }));

    int groups[GROUP], n_groups = 0, size = (n + GROUP - 1) / GROUP;
    for (int i = 0; i < n; i += size) {
        char part[NET_NAME_BYTES];
        snprintf(part, sizeof part, "%.140s.%d", name, n_groups);
        groups[n_groups++] = hp_net_concat(net, part, x + i, n - i < size ? n - i : size, axis);
    }
    return hp_net_concat(net, name, groups, n_groups, axis);
}

int hp_net_conv(struct net *net, const char *name, int x, int out, struct window w, bool bias)
{
    return hp_net_op(net, OP_CONV, name, INPUTS(x, HP_MAKE, bias ? HP_MAKE : HP_ABSENT),
                     ATTRS({ ATTR_KERNEL, 2, V(w.kernel[0], w.kernel[1]) },
                           { ATTR_STRIDE, 2, V(w.stride, w.stride) },
                           { ATTR_PAD, 4, V(w.pad[0], w.pad[1], w.pad[0], w.pad[1]) },
                           { ATTR_OUT, 1, V(out) }));
}

int hp_net_depthwise(struct net *net, const char *name, int x, struct window w)
{
    int channels = hp_net_dim(net, x, 1);
    return hp_net_op(net, OP_GROUP_CONV, name, INPUTS(x, HP_MAKE),
                     ATTRS({ ATTR_KERNEL, 2, V(w.kernel[0], w.kernel[1]) },
                           { ATTR_STRIDE, 2, V(w.stride, w.stride) },
                           { ATTR_PAD, 4, V(w.pad[0], w.pad[1], w.pad[0], w.pad[1]) },
                           { ATTR_GROUPS, 1, V(channels) }, { ATTR_OUT, 1, V(channels) }));
}

int hp_net_pool(struct net *net, enum op_kind kind, const char *name, int x, struct window w,
                bool ceil)
{
    return hp_net_op(net, kind, name, 1, &x,
                     ATTRS({ ATTR_KERNEL, 2, V(w.kernel[0], w.kernel[1]) },
                           { ATTR_STRIDE, 2, V(w.stride, w.stride) },
                           { ATTR_PAD, 4, V(w.pad[0], w.pad[1], w.pad[0], w.pad[1]) },
                           { ATTR_CEIL, 1, V(ceil) }));
}

int hp_net_adaptive_pool(struct net *net, const char *name, int x, int size)
{
    int map = hp_net_dim(net, x, 2);
    if (map <= size)
        return x;
    int stride = map / size;
    return avg_pool(net, name, x, map - (size - 1) * stride, stride, 0);
}

int hp_net_linear(struct net *net, const char *name, int x, int out, bool bias)
{
    return hp_net_op(net, OP_LINEAR, name, INPUTS(x, HP_MAKE, bias ? HP_MAKE : HP_ABSENT),
                     ATTRS({ ATTR_OUT, 1, V(out) }));
}

int hp_net_connected(struct net *net, int x, int n, const int *sizes)
{
    for (int i = 0; i < n; i++) {
        x = linear(net, hp_net_label(net, "fc%d", i + 1), x, sizes[i]);
        if (i + 1 < n)
            x = relu(net, hp_net_label(net, "fc%d.relu", i + 1), x);
    }
    return x;
}

int hp_net_embedding(struct net *net, struct shared *shared, const char *name, int ids,
                     int vocab, int out)
{
    int x;
    hp_net_shared(
        net, shared,
        &(struct op_request){ OP_EMBEDDING, name, INPUTS(ids, HP_MAKE),
                              ATTRS({ ATTR_VOCAB, 1, V(vocab) }, { ATTR_OUT, 1, V(out) }) },
        &x, 1);
    return x;
}

/* Attention --------------------------------------------------------------------------- */

/* "attn.q_heads"; good until the next call. */
static const char *part_of(struct net *net, const char *name, const char *what)
{
    return hp_net_label(net, "%s.%s", name, what);
}

static int reshape(struct net *net, const char *name, int x, int n, const double *shape)
{
    return hp_net_op(net, OP_RESHAPE, name, 1, &x, ATTRS({ ATTR_SHAPE, n, shape }));
}

static int exchange_heads(struct net *net, const char *name, int x)
{
    return hp_net_op(net, OP_TRANSPOSE, name, 1, &x, ATTRS({ ATTR_PERM, 4, V(0, 2, 1, 3) }));
}

/* x[n, t, heads width] as [n, heads, t, width]. */
static int apart(struct net *net, const char *name, const char *what, int x, int heads)
{
    size_t outer = hp_net_enter(net, "%s", name);
    char text[32];
    snprintf(text, sizeof text, "%s_shape", what);
    x = reshape(net, text, x, 4, V(0, 0, heads, hp_net_dim(net, x, 2) / heads));
    snprintf(text, sizeof text, "%s_heads", what);
    x = exchange_heads(net, text, x);
    hp_net_leave(net, outer);
    return x;
}

/* Each of x's heads `times` times: [n, heads, t, width] to [n, heads times, t, width]. */
static int repeat_heads(struct net *net, const char *name, const char *what, int x, int times)
{
    if (times == 1)
        return x;
    int heads = hp_net_dim(net, x, 1), t = hp_net_dim(net, x, 2), width = hp_net_dim(net, x, 3);
    size_t outer = hp_net_enter(net, "%s.%s_repeat", name, what);
    x = unsqueeze(net, "unsqueeze", x, 2);
    x = hp_net_op(net, OP_EXPAND, "expand", 1, &x,
                  ATTRS({ ATTR_SHAPE, 5, V(0, heads, times, t, width) }));
    x = reshape(net, "shape", x, 4, V(0, heads * times, t, width));
    hp_net_leave(net, outer);
    return x;
}

/* Written out, as before FlashAttention (Vaswani et al. 2017, Eq. 1): what stays for the
 * backward half is what Korthikanti et al. 2022 count. */
static int write_out(struct net *net, const char *name, int q, int k, int v, struct heads h)
{
    int width = hp_net_dim(net, q, 2) / h.heads, out = hp_net_dim(net, v, 2) / h.kv_heads;
    q = apart(net, name, "q", q, h.heads);
    k = apart(net, name, "k", k, h.kv_heads);
    v = apart(net, name, "v", v, h.kv_heads);
    k = repeat_heads(net, name, "k", k, h.heads / h.kv_heads);
    v = repeat_heads(net, name, "v", v, h.heads / h.kv_heads);
    int y = hp_net_op(net, OP_MATMUL, part_of(net, name, "scores"), INPUTS(q, k),
                      ATTRS({ ATTR_TRANSPOSED, 1, V(1) }));
    if (h.scale != 1)
        y = hp_net_op(net, OP_AFFINE, part_of(net, name, "scale"), 1, &y,
                      ATTRS({ ATTR_ALPHA, 1, V(h.scale ? h.scale : 1 / sqrt(width)) }));
    if (h.bias)
        y = add(net, part_of(net, name, "biased"), y, h.bias);
    y = hp_net_op(net, OP_SOFTMAX, part_of(net, name, "softmax"), 1, &y,
                  ATTRS({ ATTR_CAUSAL, 1, V(h.causal) }));
    if (h.weights_dropout > 0)
        y = dropout(net, part_of(net, name, "softmax_dropout"), y, h.weights_dropout);
    y = hp_net_op(net, OP_MATMUL, part_of(net, name, "mix"), INPUTS(y, v), NULL);
    y = exchange_heads(net, part_of(net, name, "join_heads"), y);
    return reshape(net, part_of(net, name, "join_shape"), y, 3, V(0, 0, h.heads * out));
}

int hp_net_attention(struct net *net, const char *name, int q, int k, int v, struct heads h)
{
    if (h.unfused)
        return write_out(net, name, q, k, v, h);
    if (h.weights_dropout > 0)
        hp_net_fail(net, "dropout of attention weights, expected attention=unfused beside it");
    const struct attrs *attrs =
        ATTRS({ ATTR_HEADS, 1, V(h.heads) }, { ATTR_KV_HEADS, 1, V(h.kv_heads) },
              { ATTR_CAUSAL, 1, V(h.causal) }, { ATTR_SCALE, 1, V(h.scale) });
    int n = h.scale ? attrs->n : attrs->n - 1; /* the usual scale is left out */
    return hp_net_op(net, OP_ATTENTION, name, h.bias ? 4 : 3, (const int[]){ q, k, v, h.bias },
                     &(struct attrs){ n, attrs->attr });
}

void hp_net_check_heads(struct net *net, int hidden, int heads, int kv_heads)
{
    if (hidden % heads)
        hp_net_fail(net, "hidden is %d, expected a multiple of heads, which is %d", hidden,
                    heads);
    if (heads % kv_heads)
        hp_net_fail(net, "heads is %d, expected a multiple of kv_heads, which is %d", heads,
                    kv_heads);
}

void hp_net_head(struct net *net, const struct shared *table, int x, int vocab, bool tied)
{
    hp_net_classify(net, tied
                             ? hp_net_op(net, OP_LINEAR, "lm_head", INPUTS(x, table->tensor[1]),
                                         ATTRS({ ATTR_TRANSPOSED, 1, V(1) }))
                             : linear(net, "lm_head", x, vocab));
}

/* The network's end -------------------------------------------------------------------- */

/* An input as x, without its last `less` dimensions; then the loss. */
static void end_with(struct net *net, enum op_kind loss, int x, const char *name, int less)
{
    if (net->status)
        return;
    struct hypar_shape shape = hp_build_graph(net->builder)->tensors[x].shape;
    for (int i = 0; i < less; i++)
        shape.dim[--shape.n_dims] = 0;
    hp_build_mark_output(net->builder, x);
    int label = hp_build_input(net->builder, name, &shape, loss == OP_CROSS_ENTROPY, 0);
    hp_net_op(net, loss, "loss", INPUTS(x, label), NULL);
}

void hp_net_classify(struct net *net, int x)
{
    end_with(net, OP_CROSS_ENTROPY, x, "labels", 1);
}

void hp_net_regress(struct net *net, int x)
{
    end_with(net, OP_MSE_LOSS, x, "target", 0);
}
