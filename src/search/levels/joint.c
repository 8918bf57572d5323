/* Chooses the types of all levels at once: lists columns of types, prunes them, and calls the
 * solver. If there are too many levels for one search, it chooses a window of levels at a time
 * while the other levels keep their types. */
#include "search/levels/joint.h"

#include <math.h>
#include <string.h>

#include "search/limits.h"
#include "search/solver/eliminate.h"

/* Limit of one variable: 2^10, or 3^6. HP_MANY variables take 200 MB then; of more, each has
 * fewer. */
enum { MOST_COLUMNS = 1024 };

/* The type of a node at level h when its variable has column c. */
static enum layer_type type_in(const struct joint *j, const struct layer_node *node, int h,
                               int c)
{
    return hp_own_type(node, (enum layer_type)hp_column(&j->var[node->var], c)->type[h]);
}

/* term[(h * TYPE_COUNT + t) * n_to + c]: the elements that the edge exchanges at level h if its
 * producer has type t and its consumer has column c. */
static double *edge_terms(const struct joint *j, const struct layer_edge *edge, int n_to)
{
    const struct layer_node *v = &j->l->node[edge->to];
    int n_levels = j->p->n_levels;
    double *term = NEW(j->arena, double, (size_t)n_levels *TYPE_COUNT *(size_t)n_to);
    double weight[MAX_LEVELS];
    for (int c = 0; c < n_to; c++) {
        hp_input_weights(j, v, hp_column(&j->var[v->var], c)->type, weight);
        for (int h = 0; h < n_levels; h++)
            for (int t = 0; t < TYPE_COUNT; t++)
                term[((size_t)h * TYPE_COUNT + (size_t)t) * (size_t)n_to + (size_t)c] =
                    edge->elements * weight[h] * j->share[h][t][type_in(j, v, h, c)];
    }
    return term;
}

/* The pair table of an edge. */
static const double *fill_pair(const struct joint *j, const struct layer_edge *edge, int n_from,
                               int n_to)
{
    const struct layer_node *u = &j->l->node[edge->from];
    double *pair = NEW(j->arena, double, (size_t)n_from *(size_t)n_to);
    struct arena_mark mark = hp_arena_mark(j->arena);
    const double *term = edge_terms(j, edge, n_to);
    for (int s = 0; s < n_from; s++) {
        double *row = pair + (size_t)s * (size_t)n_to;
        for (int h = 0; h < j->p->n_levels; h++) {
            size_t t = (size_t)h * TYPE_COUNT + (size_t)type_in(j, u, h, s);
            for (int c = 0; c < n_to; c++)
                row[c] += term[t * (size_t)n_to + (size_t)c];
        }
    }
    hp_arena_release(j->arena, mark);
    return pair;
}

/* Choose a column for each variable. */
static enum hypar_status choose_columns(struct joint *j, struct elimination_result *result,
                                        int64_t *evaluated, struct hypar_error *err)
{
    const struct layered *l = j->l;
    int *n_states = NEW(j->arena, int, l->n_vars), n_edges = 0;
    double **cost = NEW(j->arena, double *, l->n_vars);
    struct elimination_edge *edges = NEW(j->arena, struct elimination_edge, l->n_edges);
    for (int v = 0; v < l->n_vars; v++) {
        n_states[v] = j->var[v].n;
        cost[v] = NEW(j->arena, double, n_states[v]);
        for (int c = 0; c < n_states[v]; c++)
            cost[v][c] = hp_column(&j->var[v], c)->cost;
    }
    for (int e = 0; e < l->n_edges && !hp_stopped(j->p->stop); e++) {
        int u = l->node[l->edge[e].from].var, v = l->node[l->edge[e].to].var;
        if (u == v)
            continue; /* counted in the column's cost */
        edges[n_edges++] =
            (struct elimination_edge){ u, v,
                                       fill_pair(j, &l->edge[e], n_states[u], n_states[v]) };
        *evaluated += (int64_t)n_states[u] * n_states[v];
    }
    struct elimination_problem problem = { l->n_vars, n_states, (const double *const *)cost,
                                           n_edges,   edges,    j->p->stop };
    *result = (struct elimination_result){ .assignment = NEW(j->arena, int, l->n_vars) };
    return hp_eliminate(j->arena, &problem, NULL, result, err);
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

    struct elimination_result result;
    TRY(choose_columns(&j, &result, &partition->evaluated, err));

    struct partition better = *partition;
    better.type = NEW(arena, enum layer_type, (size_t)p->n_levels * (size_t)l->n_nodes);
    for (int n = 0; n < l->n_nodes; n++)
        for (int h = 0; h < p->n_levels; h++)
            better.type[(size_t)h * (size_t)l->n_nodes + (size_t)n] =
                type_in(&j, &l->node[n], h, result.assignment[l->node[n].var]);
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
    double columns = 1, limit = MOST_COLUMNS;
    if (p->layered->n_vars > HP_MANY)
        limit *= (double)HP_MANY / p->layered->n_vars;
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
    while (!hp_stopped(p->stop) && priced(p, partition) < before) {
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
