/* Makes weighted layers and joins from a graph: finds the operators of each node, and the nodes
 * that share a parameter. */
#include "search/levels/layered.h"

#include <string.h>

/* Does axis `a` index every input that receives a gradient? (The groups of a convolution do.
 * The features of an LSTM index its cell state, but not its other inputs.) */
static bool indexes_inputs(const struct nest *nest, int a)
{
    bool any = false;
    for (int o = 0; o < nest->n_inputs; o++) {
        const struct operand *x = &nest->operand[o];
        if (x->role != OPERAND_INPUT || x->index || x->n_dims == 0)
            continue;
        if (!(x->axes >> a & 1))
            return false;
        any = true;
    }
    return any;
}

static unsigned weighted_types(const struct nest *nest)
{
    unsigned types = 1u << TYPE_I; /* an operator without samples is copied */
    int k = hp_axis_of_role(nest, HYPAR_PARAMETER);
    if (hp_axis_of_role(nest, HYPAR_REDUCTION) >= 0)
        types |= 1u << TYPE_II;
    if (k >= 0)
        types |= 1u << (indexes_inputs(nest, k) ? TYPE_CHANNEL : TYPE_III);
    return types;
}

static const struct tensor *input_tensor(const struct hypar_graph *g, const struct op *op,
                                         int o)
{
    return op->tensor[o] >= 0 ? &g->tensors[op->tensor[o]] : NULL;
}

static double elements(const struct hypar_graph *g, int tensor)
{
    return (double)hp_shape_elements(&g->tensors[tensor].shape);
}

static int written(const struct op *op)
{
    return op->tensor[hp_first_output(op)];
}

/* Concats by their list of inputs, to find a concat whose inputs begin another concat's
 * list. */
struct concats {
    struct table lists;
    struct arena *arena;
};

static int same_axis(const struct hypar_graph *g, int found, int op)
{
    return found >= 0 && hp_attr(g->ops[found].nest->attrs, ATTR_AXIS, 0, 0) ==
                             hp_attr(g->ops[op].nest->attrs, ATTR_AXIS, 0, 0)
               ? found
               : -1;
}

/* The concat whose inputs are the first inputs of concat `op`, and their number; -1: none. */
static int find_prefix(struct concats *c, const struct hypar_graph *g, int op, int *length)
{
    const struct op *concat = &g->ops[op];
    int n = concat->nest->n_inputs;
    int found = -1;
    for (*length = n - 1; *length >= 2 && found < 0; --*length)
        found = same_axis(
            g, hp_table_get(&c->lists, concat->tensor, (size_t)*length * sizeof(int)), op);
    ++*length;
    hp_table_put(&c->lists, c->arena, concat->tensor, (size_t)n * sizeof(int), op);
    return found;
}

struct builder {
    struct layered *l;
    struct arena *arena;
    int node_capacity, edge_capacity;
    struct concats concats;
};

static int add_node(struct builder *b, int op, bool weighted, unsigned types)
{
    struct layered *l = b->l;
    l->node = GROW(b->arena, struct layer_node, l->node, l->n_nodes, &b->node_capacity);
    l->node[l->n_nodes] = (struct layer_node){ .op = op, .weighted = weighted, .types = types };
    return l->n_nodes++;
}

static void add_edge(struct builder *b, int from, int to, double size)
{
    struct layered *l = b->l;
    if (from < 0)
        return;
    l->edge = GROW(b->arena, struct layer_edge, l->edge, l->n_edges, &b->edge_capacity);
    l->edge[l->n_edges++] = (struct layer_edge){ from, to, size };
}

/* The node that writes tensor `t`, or -1. */
static int maker(const struct layered *l, int t)
{
    int producer = t >= 0 ? l->graph->tensors[t].producer : -1;
    return producer >= 0 ? l->node_of_op[producer] : -1;
}

static void add_edges(struct builder *b, int node)
{
    const struct hypar_graph *g = b->l->graph;
    const struct op *op = &g->ops[b->l->node[node].op];
    int first = 0;
    if (op->kind == OP_CONCAT) {
        int length, prefix = find_prefix(&b->concats, g, b->l->node[node].op, &length);
        if (prefix >= 0) {
            add_edge(b, b->l->node_of_op[prefix], node, elements(g, written(&g->ops[prefix])));
            b->l->prefix[b->l->node[node].op] = prefix;
            b->l->prefix_length[b->l->node[node].op] = length;
            first = length;
        }
    }
    for (int o = first; o < op->nest->n_inputs; o++)
        if (op->tensor[o] >= 0)
            add_edge(b, maker(b->l, op->tensor[o]), node, elements(g, op->tensor[o]));
}

/* The node that writes all inputs of `op`; -1: no node does; -2: several nodes do. */
static int only_maker(const struct layered *l, const struct op *op)
{
    int only = -1;
    for (int o = 0; o < op->nest->n_inputs; o++) {
        int node = maker(l, op->tensor[o]);
        if (node >= 0 && only >= 0 && node != only)
            return -2;
        only = node >= 0 ? node : only;
    }
    return only;
}

static void add_ops(struct builder *b)
{
    const struct hypar_graph *g = b->l->graph;
    for (int op = 0; op < g->n_ops; op++) {
        int node = only_maker(b->l, &g->ops[op]);
        if (hp_op_weighted(g, op)) {
            node = add_node(b, op, true, weighted_types(g->ops[op].nest));
            add_edges(b, node);
        } else if (node == -2) {
            node = add_node(b, op, false, 1u << TYPE_I | 1u << TYPE_CHANNEL);
            add_edges(b, node);
        }
        b->l->node_of_op[op] = node;
    }
}

/* Sizes ------------------------------------------------------------------------------- */

/* The size of a layer's output: after the operators, such as pooling, that only this layer
 * feeds. */
static double output_elements(const struct layered *l, int node)
{
    const struct hypar_graph *g = l->graph;
    int t = written(&g->ops[l->node[node].op]);
    while (g->use_start[t + 1] - g->use_start[t] == 1) {
        int op = g->use[g->use_start[t]].op;
        bool inside = l->node_of_op[op] == node && !hp_op_weighted(g, op);
        unsigned flags = hp_op[g->ops[op].kind].flags;
        int next = written(&g->ops[op]);
        bool cuts =
            flags & ROW_LOOKUP && elements(g, next) != elements(g, t); /* split or slice */
        if (!inside || flags & ROW_LOSS || cuts)
            break;
        t = next;
    }
    return elements(g, t);
}

static void measure(struct builder *b)
{
    struct layered *l = b->l;
    const struct hypar_graph *g = l->graph;
    bool *counted = NEW(b->arena, bool, g->n_tensors);
    for (int op = 0; op < g->n_ops; op++) {
        int n = l->node_of_op[op];
        if (n < 0 || !l->node[n].weighted)
            continue;
        for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
            const struct tensor *t = input_tensor(g, &g->ops[op], o);
            if (t && t->kind == TENSOR_PARAM && !counted[g->ops[op].tensor[o]]) {
                counted[g->ops[op].tensor[o]] = true;
                double weights = elements(g, g->ops[op].tensor[o]);
                l->node[n].sizes.weight += weights;
                l->node[n].sizes.frozen += t->needs_grad ? 0 : weights;
            } else if (t && t->kind != TENSOR_PARAM && !t->index && l->node[n].op == op) {
                l->node[n].sizes.in += elements(g, g->ops[op].tensor[o]);
            }
        }
        if (l->node[n].op == op)
            l->node[n].sizes.out = output_elements(l, n);
    }
}

/* Variables --------------------------------------------------------------------------- */

static unsigned swap_types(unsigned types)
{
    unsigned two = 1u << TYPE_II, three = 1u << TYPE_III;
    return (types & ~(two | three)) | (types & two ? three : 0) | (types & three ? two : 0);
}

/* Number the variables. Nodes that share a parameter have one variable; each of them keeps only
 * the types that all of them have. */
static void number_variables(struct builder *b)
{
    struct layered *l = b->l;
    const struct hypar_graph *g = l->graph;
    bool *weighted = NEW(b->arena, bool, g->n_ops);
    unsigned *types = NEW(b->arena, unsigned, l->n_nodes);
    for (int n = 0; n < l->n_nodes; n++)
        weighted[l->node[n].op] = l->node[n].weighted;
    const struct sharing *sharing = hp_sharing(b->arena, g, weighted);
    for (int n = 0; n < l->n_nodes; n++) {
        struct layer_node *node = &l->node[n];
        struct sharing shared = sharing[node->op];
        bool first = shared.first == node->op;
        if (first)
            types[l->n_vars] = ~0u;
        node->var = first ? l->n_vars++ : l->node[l->node_of_op[shared.first]].var;
        node->swapped = shared.transposed;
        types[node->var] &= hp_var_type_set(node, node->types);
    }
    for (int n = 0; n < l->n_nodes; n++) {
        unsigned all = types[l->node[n].var];
        l->node[n].types = hp_var_type_set(&l->node[n], all ? all : 1u << TYPE_I);
    }
}

unsigned hp_var_type_set(const struct layer_node *node, unsigned types)
{
    return node->swapped ? swap_types(types) : types;
}

enum layer_type hp_own_type(const struct layer_node *node, enum layer_type type)
{
    if (!node->swapped || (type != TYPE_II && type != TYPE_III))
        return type;
    return type == TYPE_II ? TYPE_III : TYPE_II;
}

/* Axes -------------------------------------------------------------------------------- */

/* Record the dimension of each output that holds the channels of axis `a`. */
static void note_channels(const struct op *op, int a, int *channel_dim)
{
    for (int o = op->nest->n_inputs; o < op->nest->n_operands; o++) {
        const struct operand *operand = &op->nest->operand[o];
        if (operand->role != OPERAND_OUTPUT)
            continue;
        channel_dim[op->tensor[o]] = -1;
        for (int d = 0; a >= 0 && d < operand->n_dims; d++)
            if (hp_leading_axis(op->nest, o, d) == a)
                channel_dim[op->tensor[o]] = d;
    }
}

/* The axis of an operator without weights that indexes its inputs' channels, or -1. */
static int inherited_axis(const struct hypar_graph *g, const struct op *op,
                          const int *channel_dim)
{
    for (int o = 0; o < op->nest->n_inputs; o++)
        if (op->tensor[o] >= 0 && g->tensors[op->tensor[o]].kind == TENSOR_ACTIVATION) {
            int d = channel_dim[op->tensor[o]];
            int a = d < 0 ? -1 : hp_leading_axis(op->nest, o, d);
            if (a >= 0 && op->nest->axis[a].role != HYPAR_SAMPLE &&
                op->nest->axis[a].splittable)
                return a;
        }
    return -1;
}

/* The axis of the output's channels: a weighted layer's features, else the channels of the
 * inputs. */
static int channel_axis(const struct hypar_graph *g, const struct op *op,
                        const int *channel_dim, bool weighted)
{
    int k = hp_axis_of_role(op->nest, HYPAR_PARAMETER);
    if (weighted)
        return k >= 0 ? k
                      : hp_nest_axis(op->nest, 'k'); /* an LSTM's features are not splittable */
    return inherited_axis(g, op, channel_dim);
}

static void find_axes(struct arena *arena, struct layered *l)
{
    int(*axis)[TYPE_COUNT] = NEW(arena, axes_by_type, l->graph->n_ops);
    const struct hypar_graph *g = l->graph;
    int *channel_dim = NEW(arena, int, g->n_tensors); /* of activations, as written */
    for (int i = 0; i < g->n_ops; i++) {
        const struct op *op = &g->ops[i];
        bool weighted = hp_op_weighted(g, i);
        int copies = op->nest->n_axes - 1;
        int sample = hp_axis_of_role(op->nest, HYPAR_SAMPLE);
        int sum = hp_axis_of_role(op->nest, HYPAR_REDUCTION);
        int channel = channel_axis(g, op, channel_dim, weighted);
        note_channels(op, channel, channel_dim);
        if (channel >= 0 && !op->nest->axis[channel].splittable)
            channel = -1;
        axis[i][TYPE_I] = sample >= 0 ? sample : copies;
        axis[i][TYPE_II] = weighted && sum >= 0 ? sum : copies; /* readers have all of it */
        axis[i][TYPE_III] = channel >= 0 ? channel : copies;
        axis[i][TYPE_CHANNEL] = axis[i][TYPE_III];
        int node = l->node_of_op[i];
        bool own = node >= 0 && l->node[node].op == i;
        if (own && !l->node[node].weighted && axis[i][TYPE_CHANNEL] == copies)
            l->node[node].types &= ~(1u << TYPE_CHANNEL); /* there are no channels to divide */
    }
    l->axis = (const axes_by_type *)axis;
}

struct layered *hp_layered(struct arena *arena, const struct hypar_graph *graph)
{
    struct layered *l = NEW(arena, struct layered, 1);
    struct builder b = { .l = l, .arena = arena, .concats = { .arena = arena } };
    l->graph = graph;
    l->node_of_op = NEW(arena, int, graph->n_ops);
    l->prefix = NEW(arena, int, graph->n_ops);
    l->prefix_length = NEW(arena, int, graph->n_ops);
    memset(l->prefix, -1, (size_t)graph->n_ops * sizeof *l->prefix);
    add_ops(&b);
    find_axes(arena, l);
    measure(&b);
    number_variables(&b);
    l->layer = NEW(arena, int, l->n_nodes);
    for (int n = 0; n < l->n_nodes; n++)
        if (l->node[n].weighted)
            l->layer[l->n_layers++] = n;
    return l;
}
