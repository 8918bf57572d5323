/* Eliminates the variables one after another. A variable is named by its position in the order
 * of elimination. Each factor belongs to the bucket of its first variable.
 *
 * Eliminating p (OptCNN Eq. 2, for any number of neighbours q1 < ... < qk):
 *
 *     table(q1..qk) = min over x of { unary[p][x] + p's factors at x, q1..qk }
 *
 * No argmin is stored. When the states are chosen in reverse order, all q are known and the few
 * sums of p are computed again. */
#include <math.h>
#include <string.h>

#include "search/solver/combine.h"
#include "search/solver/internal.h"

struct tables {
    struct arena *arena;
    int n;
    const int *sequence; /* NULL: 0, 1, ... */
    const int *size;     /* number of states, by position */
    double **unary;      /* the variable's costs, plus the tables of eliminated variables that
                          * had only this neighbour */
    int *bucket;         /* first factor of each bucket, -1: none */
    struct elimination_factor *factors;
    int n_factors, capacity;
    int *members, members_capacity; /* the factors of the current bucket */
    int *scope;                     /* the other variables of these factors */
    double *row;                    /* scratch: as long as the largest number of states */
    double constant;
    double max_entries;
    bool split;
    const volatile sig_atomic_t *stop;
};

static void add_factor(struct tables *t, struct elimination_factor factor)
{
    t->factors =
        GROW(t->arena, struct elimination_factor, t->factors, t->n_factors, &t->capacity);
    factor.next = t->bucket[factor.scope[0]];
    t->bucket[factor.scope[0]] = t->n_factors;
    t->factors[t->n_factors++] = factor;
}

/* Eliminate p from a group of its factors; the result is a table over the variables t->scope. A
 * table over one variable is added to the variable's costs. */
static void eliminate_group(struct tables *t, int p, const int *members, int n_members,
                            int n_scope, const double *unary)
{
    struct elimination_group group = { t->arena, t->size,   p,        unary,   t->factors,
                                       members,  n_members, t->scope, n_scope, t->stop };
    if (n_scope == 1) {
        double *onto = t->unary[t->scope[0]];
        hp_elimination_combine(&group, t->row);
        for (int x = 0; x < t->size[t->scope[0]]; x++)
            onto[x] += t->row[x];
        return;
    }
    int *scope = NEW(t->arena, int, n_scope);
    memcpy(scope, t->scope, (size_t)n_scope * sizeof *scope);
    size_t entries;
    const size_t *stride = hp_elimination_strides(t->arena, t->size, scope, n_scope, &entries);
    double *table = NEW(t->arena, double, entries);
    hp_elimination_combine(&group, table);
    add_factor(t, (struct elimination_factor){ table, scope, stride, n_scope, -1 });
}

/* The number of entries of the table over t->scope and the factor's variables. */
static double joint_entries(const struct tables *t, int n_scope, double entries,
                            const struct elimination_factor *factor)
{
    for (int i = 1, d = 0; i < factor->n; i++) {
        while (d < n_scope && t->scope[d] < factor->scope[i])
            d++;
        if (d == n_scope || t->scope[d] != factor->scope[i])
            entries *= t->size[factor->scope[i]];
    }
    return entries;
}

/* Add a factor's variables, except the bucket's own, to t->scope; returns the new length. */
static int join_scope(struct tables *t, int n_scope, const struct elimination_factor *factor)
{
    for (int i = 1; i < factor->n; i++) {
        int d = n_scope;
        while (d > 0 && t->scope[d - 1] > factor->scope[i])
            d--;
        if (d > 0 && t->scope[d - 1] == factor->scope[i])
            continue;
        memmove(&t->scope[d + 1], &t->scope[d], (size_t)(n_scope - d) * sizeof *t->scope);
        t->scope[d] = factor->scope[i];
        n_scope++;
    }
    return n_scope;
}

/* Write the factors of p's bucket to t->members, in descending order of their number of
 * variables. */
static int gather(struct tables *t, int p)
{
    int n = 0;
    for (int f = t->bucket[p]; f >= 0; f = t->factors[f].next) {
        t->members = GROW(t->arena, int, t->members, n, &t->members_capacity);
        int i = n++;
        for (; i > 0 && t->factors[t->members[i - 1]].n < t->factors[f].n; i--)
            t->members[i] = t->members[i - 1];
        t->members[i] = f;
    }
    return n;
}

/* Eliminate p from all its factors at once. If this table would be too large, eliminate p from
 * groups of factors (mini-buckets; Dechter and Rish 2003): a sum of minima is never above the
 * minimum of the sum. */
static void eliminate_bucket(struct tables *t, int p)
{
    const double *unary = t->unary[p];
    int n = gather(t, p);
    if (n == 0) {
        double least = INFINITY;
        for (int x = 0; x < t->size[p]; x++)
            least = unary[x] < least ? unary[x] : least;
        t->constant += least;
    }
    for (int start = 0, end; start < n; start = end, unary = NULL) {
        double entries = 1;
        int n_scope = 0;
        end = start;
        for (int i = start; i < n; i++) {
            int f = t->members[i];
            double joint = joint_entries(t, n_scope, entries, &t->factors[f]);
            if (i > start && joint > t->max_entries)
                continue;
            n_scope = join_scope(t, n_scope, &t->factors[f]);
            entries = joint;
            memmove(&t->members[end + 1], &t->members[end], (size_t)(i - end) * sizeof f);
            t->members[end++] = f;
        }
        t->split |= end < n;
        eliminate_group(t, p, &t->members[start], end - start, n_scope, unary);
    }
}

/* Choose the states, last variable first; of equals, the lowest state. */
static void choose_states(const struct tables *t, int *state)
{
    for (int p = t->n - 1; p >= 0; p--) {
        double *sum = t->unary[p]; /* overwritten: not needed again */
        for (int f = t->bucket[p]; f >= 0; f = t->factors[f].next) {
            const struct elimination_factor *factor = &t->factors[f];
            const double *at = factor->table;
            for (int d = 1; d < factor->n; d++)
                at += factor->stride[d] * (size_t)state[factor->scope[d]];
            for (int x = 0; x < t->size[p]; x++)
                sum[x] += at[(size_t)x * factor->stride[0]];
        }
        state[p] = 0;
        for (int x = 1; x < t->size[p]; x++)
            if (sum[x] < sum[state[p]])
                state[p] = x;
    }
}

static void read_costs(struct tables *t, const struct elimination_problem *problem)
{
    int *size = NEW(t->arena, int, t->n), most = 0;
    size_t total = 0;
    for (int p = 0; p < t->n; p++) {
        size[p] = problem->n_states[t->sequence ? t->sequence[p] : p];
        most = size[p] > most ? size[p] : most;
        total += (size_t)size[p];
    }
    t->size = size;
    t->row = NEW(t->arena, double, most);
    t->unary = NEW(t->arena, double *, t->n);
    double *all = NEW(t->arena, double, total);
    for (int p = 0; p < t->n; p++) {
        const double *cost = problem->cost[t->sequence ? t->sequence[p] : p];
        t->unary[p] = memcpy(all, cost, (size_t)size[p] * sizeof *all);
        all += size[p];
    }
}

static void read_edges(struct tables *t, const struct elimination_problem *problem)
{
    int *position = NEW(t->arena, int, t->n);
    for (int p = 0; p < t->n; p++)
        position[t->sequence ? t->sequence[p] : p] = p;
    t->capacity = problem->n_edges + t->n + 1;
    t->factors = NEW(t->arena, struct elimination_factor, t->capacity);
    int *scopes = NEW(t->arena, int, 2 * (size_t)problem->n_edges);
    size_t *strides = NEW(t->arena, size_t, 2 * (size_t)problem->n_edges);
    for (int e = problem->n_edges - 1; e >= 0; e--) {
        const struct elimination_edge *edge = &problem->edges[e];
        int u = position[edge->u], v = position[edge->v], turned = u > v;
        size_t n_v = (size_t)t->size[v];
        if (u == v) {
            for (size_t x = 0; x < n_v; x++)
                t->unary[v][x] += edge->pair[x * n_v + x];
            continue;
        }
        int *scope = &scopes[2 * e];
        size_t *stride = &strides[2 * e];
        scope[turned] = u;
        stride[turned] = n_v;
        scope[!turned] = v;
        stride[!turned] = 1;
        add_factor(t, (struct elimination_factor){ edge->pair, scope, stride, 2, -1 });
    }
}

double hp_elimination_tables(struct arena *arena, const struct elimination_problem *problem,
                             const int *sequence, double max_entries, int *assignment,
                             bool *split)
{
    struct arena_mark mark = hp_arena_mark(arena);
    struct tables t = { .arena = arena,
                        .n = problem->n_vars,
                        .sequence = sequence,
                        .max_entries = max_entries,
                        .stop = problem->stop };
    t.bucket = NEW(arena, int, t.n);
    for (int p = 0; p < t.n; p++)
        t.bucket[p] = -1;
    read_costs(&t, problem);
    read_edges(&t, problem);
    t.scope = NEW(arena, int, t.n);
    for (int p = 0; p < t.n && !hp_stopped(t.stop); p++)
        eliminate_bucket(&t, p);

    int *state = NEW(arena, int, t.n);
    choose_states(&t, state);
    for (int p = 0; p < t.n; p++)
        assignment[sequence ? sequence[p] : p] = state[p];
    *split = t.split;
    hp_arena_release(arena, mark);
    return t.constant;
}
