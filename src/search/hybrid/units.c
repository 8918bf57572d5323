/* The places where a graph may be cut into stages. */
#include "graph/structure/cut_points.h"
#include "search/hybrid/stage.h"

/* By operator: whether a variable has operators before it and from it on. */
static bool *find_inside(struct arena *arena, const struct submesh_model *m)
{
    bool *inside = NEW(arena, bool, m->problem->graph->n_ops + 1);
    for (int v = 0; v < m->n_vars; v++)
        for (int op = m->var[v].op[0] + 1; op <= m->var[v].op[m->var[v].n_ops - 1]; op++)
            inside[op] = true;
    return inside;
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
static bool is_narrowest(const int64_t *crossing, int lo, int op, int hi)
{
    int before = op - 1;
    while (before > lo && crossing[before] == crossing[op])
        before--;
    return crossing[before] > crossing[op] && op + 1 < hi && crossing[op + 1] > crossing[op];
}

/* Cut units that take more than 1/HP_FEW of the time where fewer activations cross than around.
 * (In a decoder, a tensor that all layers read crosses every cut.) Operators of one variable
 * may end up in different stages; each stage then splits them in its own way. */
static void cut_wide(struct cut_units *units, const struct submesh_model *m, const double *op_s,
                     const bool *inside)
{
    const struct hypar_graph *g = m->problem->graph;
    const int64_t *crossing = hp_crossing(m->arena, g, false);
    struct cut_units old = { .n = units->n, .first = NEW(m->arena, int, g->n_ops + 2) };
    double all_s = seconds_between(op_s, 0, g->n_ops);
    for (int i = 0; i < units->n; i++)
        old.first[i] = units->first[i];
    old.first[old.n] = g->n_ops;
    units->n = 0;
    for (int i = 0; i < old.n; i++) {
        int lo = old.first[i], hi = old.first[i + 1];
        bool wide = HP_FEW * seconds_between(op_s, lo, hi) > all_s && hi - lo > HP_FEW;
        units->first[units->n++] = lo;
        for (int op = lo + 1; op < hi && wide; op++) {
            bool may = m->problem->limits.borders ? m->problem->limits.borders[op] : true;
            if (may && is_narrowest(crossing, lo, op, hi)) {
                units->apart |= inside[op];
                units->first[units->n++] = op;
            }
        }
    }
}

/* Reduce too many cuts to those after about equal times: the time of cutting grows with the
 * square of the units. */
static void merge_units(struct cut_units *units, const double *op_s, int n_ops)
{
    double all_s = 0, so_far_s = 0;
    int n = 1, u = 1;
    for (int op = 0; op < n_ops; op++)
        all_s += op_s[op];
    if (units->n <= HP_SOME)
        return;
    for (int op = 0; op < n_ops && u < units->n; op++) {
        if (op == units->first[u]) {
            if (so_far_s * HP_SOME >= n * all_s)
                units->first[n++] = op;
            u++;
        }
        so_far_s += op_s[op];
    }
    units->n = n;
}

struct cut_units hp_units(const struct submesh_model *m, const double *op_s)
{
    const struct hypar_graph *g = m->problem->graph;
    const bool *inside = find_inside(m->arena, m);
    struct cut_rule rule = { .op_s = op_s,
                             .inside = inside,
                             .borders = m->problem->limits.borders,
                             .ends = true,
                             .anywhere = g->n_ops <= HP_FEW };
    struct cut_points points = hp_cut_points(m->arena, g, &rule);
    struct cut_units units = { .n = points.n, .first = points.first };
    if (!points.layers && g->n_ops > HP_FEW)
        cut_wide(&units, m, op_s, inside);
    if (!points.layers)
        merge_units(&units, op_s, g->n_ops);
    units.layers = points.layers && m->fixes.n == 0; /* else layers are not alike */
    units.first[units.n] = g->n_ops;
    units.of_op = NEW(m->arena, int, g->n_ops);
    for (int u = 0; u < units.n; u++)
        for (int op = units.first[u]; op < units.first[u + 1]; op++)
            units.of_op[op] = u;
    return units;
}
