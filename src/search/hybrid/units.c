/* Where a graph may be cut into stages. */
#include "graph/repeated.h"
#include "search/hybrid/stage.h"

/* A graph of so few operators may be cut anywhere. */
enum { CUT_ANYWHERE = 12 };

/* By operator: how many activations are written before it and read from it on. */
static int *count_crossing(struct arena *arena, const struct hypar_graph *g)
{
    int *crossing = NEW(arena, int, g->n_ops + 2);
    for (int t = 0; t < g->n_tensors; t++) {
        int end = g->use_start[t + 1];
        if (g->tensors[t].kind != TENSOR_ACTIVATION || g->use_start[t] == end)
            continue;
        crossing[g->tensors[t].producer + 1]++;
        crossing[g->use[end - 1].op + 1]--;
    }
    for (int op = 1; op <= g->n_ops; op++)
        crossing[op] += crossing[op - 1];
    return crossing;
}

/* Do layers take most of the time, so that a network is cut between them alone? */
static bool are_most(const struct repeated_layers *layers, const double *op_s, int n_ops)
{
    double all_s = 0, layers_s = 0;
    int end = layers->first + layers->count * layers->n_ops;
    for (int op = 0; op < n_ops; op++) {
        all_s += op_s[op];
        layers_s += op >= layers->first && op < end ? op_s[op] : 0;
    }
    return layers->count > 1 && layers_s > all_s / 2;
}

/* By operator: whether a variable has operators before it and from it on. */
static bool *find_inside(struct arena *arena, const struct submesh_model *m)
{
    bool *inside = NEW(arena, bool, m->problem->graph->n_ops + 1);
    for (int v = 0; v < m->n_vars; v++)
        for (int op = m->var[v].op[0] + 1; op <= m->var[v].op[m->var[v].n_ops - 1]; op++)
            inside[op] = true;
    return inside;
}

/* Where one activation alone passes, and a product begins. */
static void add_narrow(struct units *units, struct arena *arena, const struct hypar_graph *g,
                       const bool *inside)
{
    const int *crossing = count_crossing(arena, g);
    for (int op = 1; op < g->n_ops; op++)
        if (!inside[op] &&
            (g->n_ops <= CUT_ANYWHERE || (crossing[op] == 1 && hp_multiplies(g->ops[op].nest))))
            units->first[units->n++] = op;
}

struct units hp_units(const struct submesh_model *m, const double *op_s)
{
    const struct hypar_graph *g = m->problem->graph;
    struct repeated_layers layers = hp_repeated_layers(g);
    struct units units = { .n = 1, .first = NEW(m->arena, int, g->n_ops + 2) };
    const bool *inside = find_inside(m->arena, m);
    units.layers = are_most(&layers, op_s, g->n_ops) && g->n_ops > CUT_ANYWHERE &&
                   !inside[layers.first + layers.n_ops];
    for (int i = 0; i <= layers.count && units.layers; i++) {
        int op = layers.first + i * layers.n_ops;
        if (op > 0 && op < g->n_ops && !inside[op])
            units.first[units.n++] = op;
    }
    if (!units.layers)
        add_narrow(&units, m->arena, g, inside);
    units.first[units.n] = g->n_ops;
    units.of_op = NEW(m->arena, int, g->n_ops);
    for (int u = 0; u < units.n; u++)
        for (int op = units.first[u]; op < units.first[u + 1]; op++)
            units.of_op[op] = u;
    return units;
}
