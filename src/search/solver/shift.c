/* Moves costs between the edges and variables of a problem. The cost of every assignment stays
 * the same, but the sum of the minima of all tables grows, and with it the lower bound of
 * mini-buckets. The method is sequential message passing (TRW-S; Kolmogorov 2006), forward and
 * backward over the variables. */
#include <math.h>
#include <string.h>

#include "base/csr.h"
#include "search/limits.h"
#include "search/solver/internal.h"

struct shifter {
    struct elimination_problem problem;
    double **cost, **pair; /* copies, indexed by variable and by edge */
    int *first;            /* edges of v: edges[first[v]] .. edges[first[v + 1]] */
    int *edges;
};

/* Copy the problem so that its tables can change; self-loops become costs of their variable. */
static void copy_problem(struct arena *arena, const struct elimination_problem *from,
                         struct shifter *s)
{
    struct elimination_edge *edges = NEW(arena, struct elimination_edge, from->n_edges);
    s->cost = NEW(arena, double *, from->n_vars);
    s->pair = NEW(arena, double *, from->n_edges);
    for (int v = 0; v < from->n_vars; v++) {
        size_t n = (size_t)from->n_states[v];
        s->cost[v] = memcpy(NEW(arena, double, n), from->cost[v], n * sizeof(double));
    }
    int n_edges = 0;
    for (int e = 0; e < from->n_edges; e++) {
        struct elimination_edge edge = from->edges[e];
        size_t n_u = (size_t)from->n_states[edge.u], n_v = (size_t)from->n_states[edge.v];
        if (edge.u == edge.v) {
            for (size_t x = 0; x < n_v; x++)
                s->cost[edge.v][x] += edge.pair[x * n_v + x];
            continue;
        }
        s->pair[n_edges] =
            memcpy(NEW(arena, double, n_u *n_v), edge.pair, n_u * n_v * sizeof(double));
        edge.pair = s->pair[n_edges];
        edges[n_edges++] = edge;
    }
    s->problem = (struct elimination_problem){
        from->n_vars, from->n_states, (const double *const *)s->cost, n_edges, edges, from->stop
    };
}

static void list_edges(struct arena *arena, struct shifter *s)
{
    struct csr edges = { .arena = arena, .n_keys = s->problem.n_vars };
    while (hp_csr_pass(&edges))
        for (int e = 0; e < s->problem.n_edges; e++) {
            hp_csr_put(&edges, s->problem.edges[e].u, e);
            hp_csr_put(&edges, s->problem.edges[e].v, e);
        }
    s->first = edges.start;
    s->edges = edges.item;
}

/* For each state of v, move the least cost of edge e at this state from the edge to v. A
 * forbidden state stays forbidden. */
static void pull(struct shifter *s, int v, int e)
{
    const struct elimination_edge *edge = &s->problem.edges[e];
    int n_u = s->problem.n_states[edge->u], n_v = s->problem.n_states[edge->v];
    bool outer = edge->u == v;
    int n = outer ? n_u : n_v, n_other = outer ? n_v : n_u;
    size_t stride = outer ? (size_t)n_v : 1, other_stride = outer ? 1 : (size_t)n_v;
    for (int x = 0; x < n; x++) {
        double *at = s->pair[e] + (size_t)x * stride, least = INFINITY;
        for (int y = 0; y < n_other; y++)
            least = fmin(least, at[(size_t)y * other_stride]);
        s->cost[v][x] += least;
        for (int y = 0; least < INFINITY && y < n_other; y++)
            at[(size_t)y * other_stride] -= least;
    }
}

/* Add `share` of v's costs to edge e; the caller reduces v's costs. */
static void give(struct shifter *s, int v, int e, double share)
{
    const struct elimination_edge *edge = &s->problem.edges[e];
    int n_u = s->problem.n_states[edge->u], n_v = s->problem.n_states[edge->v];
    double *at = s->pair[e];
    for (int x = 0; x < n_u; x++)
        for (int y = 0; y < n_v; y++, at++)
            *at += share * s->cost[v][edge->u == v ? x : y];
}

/* Collect at v the least costs of its edges, then distribute v's costs to the edges of
 * variables that the sweep has not reached yet. */
static void pass(struct shifter *s, int v, bool forth)
{
    int n_on = 0, n_edges = s->first[v + 1] - s->first[v];
    const int *edges = &s->edges[s->first[v]];
    for (int i = 0; i < n_edges; i++) {
        const struct elimination_edge *edge = &s->problem.edges[edges[i]];
        pull(s, v, edges[i]);
        n_on += ((edge->u == v ? edge->v : edge->u) > v) == forth;
    }
    if (!n_on)
        return;
    int n_back = n_edges - n_on;
    double share = 1.0 / (n_on > n_back ? n_on : n_back);
    for (int i = 0; i < n_edges; i++) {
        const struct elimination_edge *edge = &s->problem.edges[edges[i]];
        if (((edge->u == v ? edge->v : edge->u) > v) == forth)
            give(s, v, edges[i], share);
    }
    double rest = n_on < n_back ? 1 - share * n_on : 0;
    for (int x = 0; x < s->problem.n_states[v]; x++)
        if (s->cost[v][x] < INFINITY)
            s->cost[v][x] *= rest;
}

static double largest_finite(const double *table, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        if (table[i] < INFINITY && fabs(table[i]) > largest)
            largest = fabs(table[i]);
    return largest;
}

bool hp_elimination_shift(struct arena *arena, const struct elimination_problem *problem,
                          double max_entries, double max_work, struct elimination_problem *out,
                          double *rounding)
{
    double entries = 0;
    for (int e = 0; e < problem->n_edges; e++)
        entries += (double)problem->n_states[problem->edges[e].u] *
                   problem->n_states[problem->edges[e].v];
    if (entries > max_entries)
        return false;

    struct shifter s;
    copy_problem(arena, problem, &s);
    list_edges(arena, &s);
    double scale = 0;
    for (int v = 0; v < problem->n_vars; v++)
        scale += largest_finite(s.cost[v], (size_t)problem->n_states[v]);
    for (int e = 0; e < s.problem.n_edges; e++)
        scale += largest_finite(s.pair[e], (size_t)problem->n_states[s.problem.edges[e].u] *
                                               (size_t)problem->n_states[s.problem.edges[e].v]);

    double sweeps = fmin(HP_SOME, max_work / (12 * entries));
    for (int sweep = 0; sweep < sweeps; sweep++) {
        for (int v = 0; v < problem->n_vars; v++)
            pass(&s, v, true);
        for (int v = problem->n_vars - 1; v >= 0; v--)
            pass(&s, v, false);
    }
    *rounding = scale * 1e-13;
    *out = s.problem;
    return true;
}
