/* Finds the places where a graph may be cut into stages: the units between them. */
#include "graph/repeated.h"
#include "search/hybrid/stage.h"

enum {
    CUT_ANYWHERE = 12, /* a graph with at most this many operators may be cut anywhere */
    MOST_UNITS = 64,   /* limit of unequal units: the time of cutting grows with their square */
};

/* By operator: the number of activations that are written before it and read by it or later. */
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

/* Do the repeated layers take most of the time? Then the graph is cut only between them. */
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

/* By operator: no stage may begin with it, because a variable has operators on both sides or
 * because there is no border. */
static bool *find_inside(struct arena *arena, const struct submesh_model *m)
{
    const bool *borders = m->problem->borders;
    bool *inside = NEW(arena, bool, m->problem->graph->n_ops + 1);
    for (int op = 0; borders && op < m->problem->graph->n_ops; op++)
        inside[op] = !borders[op];
    for (int v = 0; v < m->n_vars; v++)
        for (int op = m->var[v].op[0] + 1; op <= m->var[v].op[m->var[v].n_ops - 1]; op++)
            inside[op] = true;
    return inside;
}

/* Does a repeated layer begin with `op`, or end before it? */
static bool is_border(const struct repeated_layers *layers, int op)
{
    int after = op - layers->first;
    return layers->count > 1 && after >= 0 && after % layers->n_ops == 0 &&
           after <= layers->count * layers->n_ops;
}

/* Add the cuts that a single activation crosses and where a product or a layer begins. If
 * stages may begin only at borders, any border that a single activation crosses is a cut. */
static void add_narrow(struct units *units, const struct submesh_model *m,
                       const struct repeated_layers *layers, const bool *inside)
{
    const struct hypar_graph *g = m->problem->graph;
    const int *crossing = count_crossing(m->arena, g);
    for (int op = 1; op < g->n_ops; op++) {
        bool begins =
            m->problem->borders || hp_multiplies(g->ops[op].nest) || is_border(layers, op);
        if (!inside[op] && (g->n_ops <= CUT_ANYWHERE || (crossing[op] == 1 && begins)))
            units->first[units->n++] = op;
    }
}

static double seconds_between(const double *op_s, int lo, int hi)
{
    double sum_s = 0;
    for (int op = lo; op < hi; op++)
        sum_s += op_s[op];
    return sum_s;
}

/* Is `op` the last operator of a minimum of crossing activations, with more before and
 * after? */
static bool is_narrowest(const int *crossing, int lo, int op, int hi)
{
    int before = op - 1;
    while (before > lo && crossing[before] == crossing[op])
        before--;
    return crossing[before] > crossing[op] && op + 1 < hi && crossing[op + 1] > crossing[op];
}

/* Cut units that take much of the time where fewer activations cross than around. (In a
 * decoder, a tensor that all layers read crosses every cut.) Operators of one variable may end
 * up in different stages; each stage then splits them in its own way. */
static void cut_wide(struct units *units, const struct submesh_model *m, const double *op_s,
                     const bool *inside)
{
    enum { WIDE = 8 }; /* a wide unit takes more than 1/WIDE of the time */
    const struct hypar_graph *g = m->problem->graph;
    const int *crossing = count_crossing(m->arena, g);
    struct units old = { .n = units->n, .first = NEW(m->arena, int, g->n_ops + 2) };
    double all_s = seconds_between(op_s, 0, g->n_ops);
    for (int i = 0; i < units->n; i++)
        old.first[i] = units->first[i];
    old.first[old.n] = g->n_ops;
    units->n = 0;
    for (int i = 0; i < old.n; i++) {
        int lo = old.first[i], hi = old.first[i + 1];
        bool wide = WIDE * seconds_between(op_s, lo, hi) > all_s && hi - lo > CUT_ANYWHERE;
        units->first[units->n++] = lo;
        for (int op = lo + 1; op < hi && wide; op++) {
            bool may = m->problem->borders ? m->problem->borders[op] : true;
            if (may && is_narrowest(crossing, lo, op, hi)) {
                units->apart |= inside[op];
                units->first[units->n++] = op;
            }
        }
    }
}

/* Reduce too many cuts to those after about equal times. */
static void thin_out(struct units *units, const double *op_s, int n_ops)
{
    double all_s = 0, so_far_s = 0;
    int n = 1, u = 1;
    for (int op = 0; op < n_ops; op++)
        all_s += op_s[op];
    if (units->n <= MOST_UNITS)
        return;
    for (int op = 0; op < n_ops && u < units->n; op++) {
        if (op == units->first[u]) {
            if (so_far_s * MOST_UNITS >= n * all_s)
                units->first[n++] = op;
            u++;
        }
        so_far_s += op_s[op];
    }
    units->n = n;
}

/* The repeated layers moved by `moved` operators, as far as the moved layers are equal. */
static struct repeated_layers move_layers(const struct hypar_graph *g,
                                          const struct repeated_layers *layers, int moved)
{
    struct repeated_layers out = *layers;
    int n = layers->n_ops, last = layers->first + (layers->count - 1) * n;
    int op = moved < 0 ? layers->first + moved : last + n; /* outside the old layers */
    int end = moved < 0 ? layers->first : last + n + moved;
    for (; op < end; op++) {
        int like = moved < 0 ? op + n : op - n;
        if (op < 0 || op >= g->n_ops || g->ops[op].nest != g->ops[like].nest)
            break;
    }
    out.first += moved;
    if (op < end) {
        out.first += moved < 0 ? n : 0;
        out.count--;
    }
    return out;
}

struct units hp_units(const struct submesh_model *m, const double *op_s)
{
    const struct hypar_graph *g = m->problem->graph;
    struct repeated_layers layers = hp_repeated_layers(g);
    struct units units = { .n = 1, .first = NEW(m->arena, int, g->n_ops + 2) };
    const bool *inside = find_inside(m->arena, m);
    int moved;
    bool at_borders = hp_layers_at_borders(&layers, m->problem->borders, &moved);
    units.layers = at_borders && are_most(&layers, op_s, g->n_ops) && g->n_ops > CUT_ANYWHERE &&
                   !inside[layers.first + moved + layers.n_ops];
    layers = move_layers(g, &layers, moved);
    for (int i = 0; i <= layers.count && units.layers; i++) {
        int op = layers.first + i * layers.n_ops;
        if (op > 0 && op < g->n_ops && !inside[op])
            units.first[units.n++] = op;
    }
    if (!units.layers) {
        add_narrow(&units, m, &layers, inside);
        if (g->n_ops > CUT_ANYWHERE)
            cut_wide(&units, m, op_s, inside);
        thin_out(&units, op_s, g->n_ops);
    }
    units.layers &= m->fixes.n == 0; /* fixes make layers unequal */
    units.first[units.n] = g->n_ops;
    units.of_op = NEW(m->arena, int, g->n_ops);
    for (int u = 0; u < units.n; u++)
        for (int op = units.first[u]; op < units.first[u + 1]; op++)
            units.of_op[op] = u;
    return units;
}
