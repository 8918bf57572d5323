/* Removes states that the minimum does not need: fewer states make smaller tables.
 *
 * Dead-end elimination (Goldstein 1994): state t of variable v dominates state s if v in t
 * costs no more than v in s for any states of the neighbours:
 *
 *     cost[t] - cost[s] + sum over edges (u, v) of
 *         max over u's states of (pair(t, u) - pair(s, u)) <= 0
 *
 * Removing s then does not change the minimum. States are removed one after another, each for a
 * dominating state that is still present, so equal states never remove each other.
 *
 * Bounds: add the minima of all costs and tables, with v's terms taken at s. The sum is a lower
 * bound for every assignment that has s. If it exceeds the cost of a known assignment, s is
 * removed. */
#include <math.h>
#include <string.h>

#include "base/csr.h"
#include "search/solver/internal.h"

/* An edge as one of its ends sees it. */
struct incidence {
    int other;
    const double *pair;
    size_t stride, other_stride; /* between states of this end, and of the other end */
};

struct pruner {
    struct arena *arena;
    const struct elimination_problem *problem;
    double **cost; /* including self-loops */
    bool **gone;
    int *n_left;
    int *first; /* incidences of v: first[v] .. first[v + 1] */
    struct incidence *incidences;
    double work_left;
    struct elimination_pruning *out;
    int capacity;
};

static void read_costs(struct pruner *p)
{
    const struct elimination_problem *problem = p->problem;
    p->cost = NEW(p->arena, double *, problem->n_vars);
    p->gone = NEW(p->arena, bool *, problem->n_vars);
    p->n_left = NEW(p->arena, int, problem->n_vars);
    for (int v = 0; v < problem->n_vars; v++) {
        int n = problem->n_states[v];
        p->n_left[v] = n;
        p->gone[v] = NEW(p->arena, bool, n);
        p->cost[v] = NEW(p->arena, double, n);
        memcpy(p->cost[v], problem->cost[v], (size_t)n * sizeof(double));
    }
}

static void read_problem(struct pruner *p)
{
    const struct elimination_problem *problem = p->problem;
    read_costs(p);
    p->first = hp_csr(p->arena, problem->n_vars);
    p->incidences = NEW(p->arena, struct incidence, 2 * (size_t)problem->n_edges);
    for (int e = 0; e < problem->n_edges; e++) {
        const struct elimination_edge *edge = &problem->edges[e];
        if (edge->u != edge->v) {
            hp_csr_count(p->first, edge->u);
            hp_csr_count(p->first, edge->v);
        }
    }
    hp_csr_sum(p->first, problem->n_vars);
    for (int e = 0; e < problem->n_edges; e++) {
        const struct elimination_edge *edge = &problem->edges[e];
        int u = edge->u, v = edge->v;
        size_t n = (size_t)problem->n_states[v];
        if (u == v) {
            for (size_t x = 0; x < n; x++)
                p->cost[v][x] += edge->pair[x * n + x];
            continue;
        }
        p->incidences[hp_csr_place(p->first, u)] = (struct incidence){ v, edge->pair, n, 1 };
        p->incidences[hp_csr_place(p->first, v)] = (struct incidence){ u, edge->pair, 1, n };
    }
}

/* max over the other end's states of pair(t, .) - pair(s, .). States that forbid s do not
 * count: t loses nothing there. */
static double worst_gap(const struct pruner *p, const struct incidence *in, int s, int t)
{
    const double *at_s = in->pair + (size_t)s * in->stride;
    const double *at_t = in->pair + (size_t)t * in->stride;
    double worst = -INFINITY;
    for (int x = 0; x < p->problem->n_states[in->other]; x++) {
        size_t i = (size_t)x * in->other_stride;
        if (p->gone[in->other][x] || at_s[i] >= INFINITY)
            continue;
        double gap = at_t[i] - at_s[i];
        worst = gap > worst ? gap : worst;
    }
    return worst;
}

static bool dominates(struct pruner *p, int v, int t, int s)
{
    if (p->cost[v][s] >= INFINITY)
        return true;
    double gap = p->cost[v][t] - p->cost[v][s];
    for (int i = p->first[v]; i < p->first[v + 1]; i++) {
        const struct incidence *in = &p->incidences[i];
        p->work_left -= p->problem->n_states[in->other];
        double worst = worst_gap(p, in, s, t);
        if (worst == -INFINITY)
            return true; /* all states of this neighbour forbid s */
        gap += worst;
        if (gap >= INFINITY)
            return false;
    }
    return gap < 0 || (gap <= 0 && t < s);
}

/* Test every state of v once. Returns true if a state was removed. */
static bool prune_variable(struct pruner *p, int v)
{
    bool any = false;
    int n = p->problem->n_states[v];
    for (int s = n - 1; s >= 0 && p->n_left[v] > 1 && p->work_left > 0; s--) {
        if (p->gone[v][s])
            continue;
        int t = 0;
        while (t < n && (t == s || p->gone[v][t] || !dominates(p, v, t, s)))
            t++;
        if (t == n)
            continue;
        struct elimination_pruning *out = p->out;
        out->replaced = GROW(p->arena, struct elimination_replacement, out->replaced,
                             out->n_pruned, &p->capacity);
        out->replaced[out->n_pruned++] = (struct elimination_replacement){ v, s, t };
        p->gone[v][s] = true;
        p->n_left[v]--;
        any = true;
    }
    return any;
}

/* The number of entries in the copies of the reduced tables. */
static double copied_entries(const struct pruner *p)
{
    double entries = 0;
    for (int e = 0; e < p->problem->n_edges; e++) {
        const struct elimination_edge *edge = &p->problem->edges[e];
        if (edge->u != edge->v)
            entries += (double)p->n_left[edge->u] * p->n_left[edge->v];
    }
    return entries;
}

static const double *reduce_pair(const struct pruner *p, const struct elimination_edge *edge)
{
    int u = edge->u, v = edge->v, n_u = p->n_left[u], n_v = p->n_left[v];
    if (n_u == p->problem->n_states[u] && n_v == p->problem->n_states[v])
        return edge->pair;
    double *pair = NEW(p->arena, double, (size_t)n_u *(size_t)n_v), *to = pair;
    for (int i = 0; i < n_u; i++) {
        const double *row =
            edge->pair + (size_t)p->out->state[u][i] * (size_t)p->problem->n_states[v];
        for (int j = 0; j < n_v; j++)
            *to++ = row[p->out->state[v][j]];
    }
    return pair;
}

static void reduce(const struct pruner *p)
{
    struct elimination_pruning *out = p->out;
    int n_vars = p->problem->n_vars;
    double **cost = NEW(p->arena, double *, n_vars);
    struct elimination_edge *edges =
        NEW(p->arena, struct elimination_edge, p->problem->n_edges);
    out->state = NEW(p->arena, int *, n_vars);
    for (int v = 0; v < n_vars; v++) {
        out->state[v] = NEW(p->arena, int, p->n_left[v]);
        cost[v] = NEW(p->arena, double, p->n_left[v]);
        for (int s = 0, n = 0; s < p->problem->n_states[v]; s++)
            if (!p->gone[v][s]) {
                out->state[v][n] = s;
                cost[v][n++] = p->cost[v][s];
            }
    }
    int n_edges = 0;
    for (int e = 0; e < p->problem->n_edges; e++) {
        const struct elimination_edge *edge = &p->problem->edges[e];
        if (edge->u != edge->v)
            edges[n_edges++] =
                (struct elimination_edge){ edge->u, edge->v, reduce_pair(p, edge) };
    }
    out->problem =
        (struct elimination_problem){ n_vars,  p->n_left, (const double *const *)cost,
                                      n_edges, edges,     p->problem->stop };
}

/* Make the reduced problem. Returns false if no state was removed or if the copies do not
 * fit. */
static bool finish(const struct pruner *p, double max_entries)
{
    if (!p->out->n_pruned || copied_entries(p) > max_entries)
        return false;
    reduce(p);
    return true;
}

bool hp_elimination_prune(struct arena *arena, const struct elimination_problem *problem,
                          double max_entries, double max_work, struct elimination_pruning *out)
{
    *out = (struct elimination_pruning){ 0 };
    struct pruner p = { .arena = arena, .problem = problem, .work_left = max_work, .out = out };
    read_problem(&p);
    bool any = true;
    while (any) {
        any = false;
        for (int v = 0; v < problem->n_vars; v++)
            any |= prune_variable(&p, v);
    }
    return finish(&p, max_entries);
}

static double least_of(const double *table, size_t n, size_t stride)
{
    double least = INFINITY;
    for (size_t i = 0; i < n; i++)
        least = fmin(least, table[i * stride]);
    return least;
}

/* The sum of the minima of v's costs and of its edges' tables; if s >= 0, with v in state s. */
static double local_bound(const struct pruner *p, int v, int s)
{
    size_t n = (size_t)p->problem->n_states[v];
    double sum = s < 0 ? least_of(p->cost[v], n, 1) : p->cost[v][s];
    for (int i = p->first[v]; i < p->first[v + 1]; i++) {
        const struct incidence *in = &p->incidences[i];
        size_t n_other = (size_t)p->problem->n_states[in->other];
        sum += s < 0 ? least_of(in->pair, n * n_other, 1)
                     : least_of(in->pair + (size_t)s * in->stride, n_other, in->other_stride);
    }
    return sum;
}

static double global_bound(const struct pruner *p)
{
    const struct elimination_problem *problem = p->problem;
    double sum = 0;
    for (int v = 0; v < problem->n_vars; v++)
        sum += least_of(p->cost[v], (size_t)problem->n_states[v], 1);
    for (int e = 0; e < problem->n_edges; e++) {
        const struct elimination_edge *edge = &problem->edges[e];
        size_t n = (size_t)problem->n_states[edge->u] * (size_t)problem->n_states[edge->v];
        sum += edge->u != edge->v ? least_of(edge->pair, n, 1) : 0;
    }
    return sum;
}

bool hp_elimination_prune_above(struct arena *arena, const struct elimination_problem *problem,
                                const struct elimination_problem *shifted, double ceiling,
                                double max_entries, struct elimination_pruning *out)
{
    *out = (struct elimination_pruning){ 0 };
    struct pruner bounds = { .arena = arena, .problem = shifted };
    struct pruner p = { .arena = arena, .problem = problem, .out = out };
    read_problem(&bounds);
    read_problem(&p);
    double bound = global_bound(&bounds);
    for (int v = 0; v < problem->n_vars; v++) {
        double others = bound - local_bound(&bounds, v, -1);
        for (int s = 0; s < problem->n_states[v]; s++)
            if (p.n_left[v] > 1 && others + local_bound(&bounds, v, s) > ceiling) {
                p.gone[v][s] = true;
                p.n_left[v]--;
                out->n_pruned++;
            }
    }
    return finish(&p, max_entries);
}
