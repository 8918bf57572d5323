/* Writes a graph with measured times as a PipeDream profile. */
#include <string.h>

#include "model/pipedream/pipedream.h"

struct writing {
    const struct hypar_graph *graph;
    struct text_profile *profile;
    struct arena *arena; /* the profile's */
    int *node_of_tensor; /* -1: none */
    int node_capacity, edge_capacity;
};

static enum hypar_status add_node(struct writing *w, struct profile_node node,
                                  struct hypar_error *err)
{
    struct text_profile *p = w->profile;
    size_t n = strlen(node.name);
    const char *ended = hp_arena_printf(w->arena, "%s -- ", node.name);
    if (strstr(ended, " -- ") != ended + n || *ended == ' ' || ended[n - 1] == ' ')
        return hp_fail(err, HYPAR_UNSUPPORTED, "'%s' is no name in a PipeDream profile",
                       node.name);
    node.name = hp_arena_strdup(w->arena, node.name);
    node.stage = -1;
    p->node = GROW(w->arena, struct profile_node, p->node, p->n_nodes, &w->node_capacity);
    p->node[p->n_nodes++] = node;
    return HYPAR_OK;
}

/* Each input is one node, made where it is first read. */
static enum hypar_status add_input(struct writing *w, int t, struct hypar_error *err)
{
    const struct tensor *tensor = &w->graph->tensors[t];
    w->node_of_tensor[t] = w->profile->n_nodes;
    return add_node(w,
                    (struct profile_node){ .name = tensor->name,
                                           .description = "Input",
                                           .activation_bytes =
                                               4 * (double)hp_shape_elements(&tensor->shape) },
                    err);
}

static void add_edge(struct writing *w, int from, int to)
{
    struct text_profile *p = w->profile;
    for (int e = p->n_edges - 1; e >= 0 && p->edge[e].to == to; e--)
        if (p->edge[e].from == from)
            return;
    p->edge = GROW(w->arena, struct profile_edge, p->edge, p->n_edges, &w->edge_capacity);
    p->edge[p->n_edges++] = (struct profile_edge){ from, to };
}

static enum hypar_status add_op(struct writing *w, int i, const struct op_measure *measure,
                                struct hypar_error *err)
{
    const struct op *op = &w->graph->ops[i];
    struct op_measure own;
    if (measure)
        own = measure[i];
    else if (!hp_op_measured(w->graph, i, &own))
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "operator '%s' has no measured times, which a profile is made of",
                       op->name);
    for (int o = 0; o < op->nest->n_inputs; o++)
        if (op->tensor[o] >= 0 && w->graph->tensors[op->tensor[o]].kind == TENSOR_INPUT &&
            w->node_of_tensor[op->tensor[o]] < 0)
            TRY(add_input(w, op->tensor[o], err));
    int node = w->profile->n_nodes;
    TRY(add_node(w,
                 (struct profile_node){ .name = op->name,
                                        .description = hp_op[op->kind].name,
                                        .forward_ms = 1000 * own.forward_s,
                                        .backward_ms = 1000 * own.backward_s,
                                        .activation_bytes = own.output_bytes,
                                        .parameter_bytes = own.parameter_bytes },
                 err));
    for (int o = 0; o < op->nest->n_operands; o++) {
        int t = op->tensor[o];
        if (t >= 0 && o < op->nest->n_inputs && w->node_of_tensor[t] >= 0)
            add_edge(w, w->node_of_tensor[t], node);
        if (t >= 0 && o >= op->nest->n_inputs)
            w->node_of_tensor[t] = node;
    }
    return HYPAR_OK;
}

enum hypar_status hp_text_profile_of_graph(struct text_profile **out,
                                           const struct hypar_graph *graph,
                                           const struct op_measure *measure,
                                           struct hypar_error *err)
{
    struct arena arena = { 0 }, scratch = { 0 };
    struct text_profile *profile = NEW(&arena, struct text_profile, 1);
    profile->arena = arena;
    struct writing w = { .graph = graph, .profile = profile, .arena = &profile->arena };
    enum hypar_status status = HYPAR_OK;
    w.node_of_tensor = NEW(&scratch, int, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++)
        w.node_of_tensor[t] = -1;
    for (int op = 0; op < graph->n_ops && status == HYPAR_OK; op++)
        status = add_op(&w, op, measure, err);
    hp_arena_free(&scratch);
    if (status != HYPAR_OK) {
        hp_text_profile_free(profile);
        profile = NULL;
    }
    *out = profile;
    return status;
}

enum hypar_status hypar_graph_write_profile(const struct hypar_graph *graph, FILE *to,
                                            struct hypar_error *err)
{
    struct text_profile *profile;
    TRY(hp_text_profile_of_graph(&profile, graph, NULL, err));
    hp_text_profile_write(profile, to);
    hp_text_profile_free(profile);
    return HYPAR_OK;
}
