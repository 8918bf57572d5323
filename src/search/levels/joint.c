/* Chooses the types of all levels at once: lists columns of types, prunes them, and calls the
 * solver. If there are too many levels for one search, it chooses a window of levels at a time
 * while the other levels keep their types. */
#include "search/levels/joint.h"

#include <math.h>
#include <string.h>

#include "search/solver/eliminate.h"

enum {
    MAX_COLUMNS = 1024,        /* limit of one variable: 2^10, or 3^6 */
    MAX_ALL_COLUMNS = 1 << 22, /* limit of all variables: about 200 MB */
    WINDOW_SWEEPS = 8,
};

/* The solver's variables: one for each variable with columns, and one for each level of a
 * join. */
struct solver_input {
    struct elimination_problem problem;
    int *first; /* the first solver variable of each variable */
    int *n_states;
    double **cost;
    struct elimination_edge *edges;
    int n_edges;
};

/* The i-th type that join `var` may have at level h. */
static enum layer_type join_type(const struct var_columns *var, int h, int i)
{
    int t = 0;
    while (!(var->seen[h] >> t & 1) || i-- > 0)
        t++;
    return (enum layer_type)t;
}

static int join_choices(const struct var_columns *var, int h)
{
    int n = 0;
    for (int t = 0; t < TYPE_COUNT; t++)
        n += (int)(var->seen[h] >> t & 1);
    return n;
}

/* The node's type at level h when its variable is in state s: the type of column s, or for a
 * join its s-th type at this level. */
static enum layer_type state_type(const struct joint *j, const struct layer_node *node, int h,
                                  int s)
{
    const struct var_columns *var = &j->var[node->var];
    return var->join ? join_type(var, h, s)
                     : hp_own_type(node, (enum layer_type)hp_column(var, s)->type[h]);
}

/* The weight of the consumer's inputs at each level. A join's weights are the same for all its
 * types. */
static void weights_of(const struct joint *j, const struct layer_node *v, int c, double *weight)
{
    const struct var_columns *to = &j->var[v->var];
    static const unsigned char any[MAX_LEVELS] = { TYPE_I };
    hp_input_weights(j, v, to->join ? any : hp_column(to, c)->type, weight);
}

/* term[(h * TYPE_COUNT + t) * n_to + c]: the elements that the edge exchanges at level h if its
 * producer has type t and its consumer is in state c. */
static double *edge_terms(const struct joint *j, const struct layer_edge *edge, int n_to,
                          int first, int last)
{
    const struct layer_node *v = &j->l->node[edge->to];
    double *term = NEW(j->arena, double, (size_t)last *TYPE_COUNT *(size_t)n_to);
    double weight[MAX_LEVELS];
    for (int c = 0; c < n_to; c++) {
        weights_of(j, v, c, weight);
        for (int h = first; h < last; h++)
            for (int t = 0; t < TYPE_COUNT; t++)
                term[((size_t)h * TYPE_COUNT + (size_t)t) * (size_t)n_to + (size_t)c] =
                    edge->elements * weight[h] * j->share[h][t][state_type(j, v, h, c)];
    }
    return term;
}

/* The pair table of an edge for levels first .. last - 1. */
static const double *fill_pair(const struct joint *j, const struct layer_edge *edge, int n_from,
                               int n_to, int first, int last)
{
    const struct layer_node *u = &j->l->node[edge->from];
    double *pair = NEW(j->arena, double, (size_t)n_from *(size_t)n_to);
    struct arena_mark mark = hp_arena_mark(j->arena);
    const double *term = edge_terms(j, edge, n_to, first, last);
    for (int s = 0; s < n_from; s++) {
        double *row = pair + (size_t)s * (size_t)n_to;
        for (int h = first; h < last; h++) {
            size_t t = (size_t)h * TYPE_COUNT + (size_t)state_type(j, u, h, s);
            for (int c = 0; c < n_to; c++)
                row[c] += term[t * (size_t)n_to + (size_t)c];
        }
    }
    hp_arena_release(j->arena, mark);
    return pair;
}

static void add_variables(const struct joint *j, struct solver_input *q)
{
    const struct layered *l = j->l;
    int most = l->n_vars * j->p->n_levels + 1, n = 0;
    q->first = NEW(j->arena, int, l->n_vars);
    q->n_states = NEW(j->arena, int, most);
    q->cost = NEW(j->arena, double *, most);
    for (int v = 0; v < l->n_vars; v++) {
        const struct var_columns *var = &j->var[v];
        q->first[v] = n;
        for (int h = 0; h < (var->join ? j->p->n_levels : 1); h++, n++) {
            q->n_states[n] = var->join ? join_choices(var, h) : var->n;
            q->cost[n] = NEW(j->arena, double, q->n_states[n]);
            for (int c = 0; !var->join && c < var->n; c++)
                q->cost[n][c] = hp_column(var, c)->cost;
        }
    }
    q->problem.n_vars = n;
}

/* An edge between two layers has one table; an edge of a join has one table for each level. */
static void add_edge(const struct joint *j, const struct layer_edge *edge,
                     struct solver_input *q)
{
    int u = j->l->node[edge->from].var, v = j->l->node[edge->to].var;
    bool by_level = j->var[u].join || j->var[v].join;
    for (int h = 0; h < (by_level ? j->p->n_levels : 1); h++) {
        int from = q->first[u] + (j->var[u].join ? h : 0);
        int to = q->first[v] + (j->var[v].join ? h : 0);
        const double *pair = fill_pair(j, edge, q->n_states[from], q->n_states[to],
                                       by_level ? h : 0, by_level ? h + 1 : j->p->n_levels);
        q->edges[q->n_edges++] = (struct elimination_edge){ from, to, pair };
    }
}

static enum hypar_status build_and_solve(struct joint *j, struct solver_input *q,
                                         const struct elimination_options *options,
                                         struct elimination_result *result, int64_t *evaluated,
                                         struct hypar_error *err)
{
    const struct layered *l = j->l;
    *q = (struct solver_input){ 0 };
    add_variables(j, q);
    q->edges =
        NEW(j->arena, struct elimination_edge, (size_t)l->n_edges * (size_t)j->p->n_levels + 1);
    for (int e = 0; e < l->n_edges && !hp_stopped(j->p->stop); e++)
        if (l->node[l->edge[e].from].var != l->node[l->edge[e].to].var)
            add_edge(j, &l->edge[e], q); /* an edge within one variable is part of the column's
                                          * cost */
    for (int e = 0; e < q->n_edges; e++)
        *evaluated += (int64_t)q->n_states[q->edges[e].u] * q->n_states[q->edges[e].v];
    q->problem = (struct elimination_problem){
        q->problem.n_vars, q->n_states, (const double *const *)q->cost,
        q->n_edges,        q->edges,    j->p->stop
    };
    result->assignment = NEW(j->arena, int, q->problem.n_vars);
    return hp_eliminate(j->arena, &q->problem, options, result, err);
}

/* Replace a join's types per level by columns: all combinations of the types that its levels
 * still allow. */
static void expand_join(struct joint *j, struct var_columns *var)
{
    var->join = false;
    var->n = 1;
    for (int h = j->p->n_levels - 1; h >= 0; h--) {
        var->radix[h] = join_choices(var, h);
        var->place[h] = var->n;
        var->n *= var->radix[h];
    }
    var->column = NEW(j->arena, struct column, var->n);
    var->alive = NEW(j->arena, int, var->n);
    for (int c = 0; c < var->n; c++) {
        var->alive[c] = c;
        for (int h = 0; h < j->p->n_levels; h++)
            var->column[c].type[h] =
                (unsigned char)join_type(var, h, c / var->place[h] % var->radix[h]);
    }
}

/* Joins by level make small tables if layers have few columns left (unrolled networks); joins
 * as columns make small tables if layers have many (residual networks). Joins by level come
 * first, with a small limit of work. */
static enum hypar_status eliminate(struct joint *j, struct solver_input *q,
                                   struct elimination_result *result, int64_t *evaluated,
                                   struct hypar_error *err)
{
    struct elimination_options impatient = { .max_table_entries = 1 << 22, .max_work = 1 };
    bool any = false;
    for (int v = 0; v < j->l->n_vars; v++)
        any |= j->var[v].join;
    if (any) {
        TRY(build_and_solve(j, q, &impatient, result, evaluated, err));
        if (result->exact)
            return HYPAR_OK;
        for (int v = 0; v < j->l->n_vars; v++)
            if (j->var[v].join)
                expand_join(j, &j->var[v]);
    }
    return build_and_solve(j, q, NULL, result, evaluated, err);
}

/* The objective: the exchange, plus the weights if they have a price. */
static double priced(const struct partition_problem *p, const struct partition *partition)
{
    double groups = 1;
    for (int h = 0; h + 1 < p->n_levels; h++)
        groups *= p->ways[h];
    return partition->total_elements +
           (p->weight_price > 0 ? p->weight_price * groups * hp_partition_weight(p, partition)
                                : 0);
}

/* Choose the types of levels first .. first + count - 1; the other levels keep their types. */
static enum hypar_status solve_window(struct arena *arena, const struct partition_problem *p,
                                      int first, int count, struct partition *partition,
                                      struct hypar_error *err)
{
    const struct layered *l = p->layered;
    struct joint j = { .p = p, .l = l, .arena = arena, .first = first, .count = count };
    double groups = 1;
    for (int h = 0; h < p->n_levels; h++) {
        j.groups[h] = groups;
        groups *= p->ways[h];
        for (int u = 0; u < TYPE_COUNT; u++)
            for (int v = 0; v < TYPE_COUNT; v++)
                j.share[h][u][v] = hp_level_inter(p, h, (enum layer_type)u, (enum layer_type)v);
    }
    j.var = NEW(arena, struct var_columns, l->n_vars);
    hp_index_variables(&j);
    TRY(hp_list_columns(&j, partition, err));
    hp_prune_columns(&j);

    struct solver_input q = { 0 };
    struct elimination_result result = { 0 };
    TRY(eliminate(&j, &q, &result, &partition->evaluated, err));

    struct partition better = *partition;
    better.type = NEW(arena, enum layer_type, (size_t)p->n_levels * (size_t)l->n_nodes);
    for (int n = 0; n < l->n_nodes; n++) {
        const struct var_columns *var = &j.var[l->node[n].var];
        const int *chosen = result.assignment + q.first[l->node[n].var];
        for (int h = 0; h < p->n_levels; h++)
            better.type[(size_t)h * (size_t)l->n_nodes + (size_t)n] =
                var->join ? join_type(var, h, chosen[h])
                          : hp_own_type(&l->node[n],
                                        (enum layer_type)hp_column(var, chosen[0])->type[h]);
    }
    hp_partition_evaluate(p, &better);
    if (priced(p, &better) < priced(p, partition)) {
        memcpy(partition->type, better.type,
               (size_t)p->n_levels * (size_t)l->n_nodes * sizeof *better.type);
        hp_partition_evaluate(p, partition);
    }
    partition->exact = result.exact && count == p->n_levels;
    partition->lower_bound = count == p->n_levels ? result.lower_bound : 0;
    return HYPAR_OK;
}

/* The number of levels from `first` on for which every variable's columns stay within the
 * limit. */
static int window_from(const struct partition_problem *p, const struct var_types *types,
                       int first)
{
    int count = 0;
    double columns = 1, limit = MAX_COLUMNS;
    if (limit * p->layered->n_vars > MAX_ALL_COLUMNS)
        limit = (double)MAX_ALL_COLUMNS / p->layered->n_vars;
    for (int h = first; h < p->n_levels; h++, count++) {
        int most = 1;
        for (int v = 0; v < p->layered->n_vars; v++) {
            int n = types[(size_t)h * (size_t)p->layered->n_vars + (size_t)v].n;
            most = n > most ? n : most;
        }
        if ((columns *= most) > limit)
            break;
    }
    return count ? count : 1;
}

enum hypar_status hp_partition_joint(struct arena *arena, const struct partition_problem *p,
                                     struct partition *partition, struct hypar_error *err)
{
    struct var_types *types =
        NEW(arena, struct var_types, (size_t)p->layered->n_vars * (size_t)p->n_levels);
    for (int h = 0; h < p->n_levels; h++)
        TRY(hp_var_types(p, h, types + (size_t)h * (size_t)p->layered->n_vars, err));
    double before = INFINITY;
    for (int sweep = 0;
         !hp_stopped(p->stop) && sweep < WINDOW_SWEEPS && priced(p, partition) < before;
         sweep++) {
        before = priced(p, partition);
        for (int first = 0; first < p->n_levels;) {
            int count = window_from(p, types, first);
            struct arena_mark mark = hp_arena_mark(arena);
            enum hypar_status status = solve_window(arena, p, first, count, partition, err);
            hp_arena_release(arena, mark);
            if (status != HYPAR_OK && hp_stopped(p->stop))
                break;
            if (status != HYPAR_OK)
                return status;
            if (count == p->n_levels)
                return HYPAR_OK;
            first += first + count >= p->n_levels ? count : (count + 1) / 2;
        }
    }
    partition->exact &= !hp_stopped(p->stop);
    return HYPAR_OK;
}
