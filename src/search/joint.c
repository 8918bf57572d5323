/* All levels at once. A layer's state is a whole column: its type at each level. A layer's
 * own exchange depends on its own column alone, that between two layers on their two columns,
 * so the same solver finds the minimum that the level-by-level (greedy) partition can miss.
 *
 * Columns are many (2^levels, 3^levels), so those that cannot be part of a minimum are removed
 * first: column s may go if some other column r of the same variable is better whatever the
 * neighbours do,  cost(r) - cost(s) + sum over edges of max over neighbour (pair(r) - pair(s))
 * < 0; the maximum is taken level by level, which can only make it larger, so the test is safe.
 * Where there are still too many levels, windows of them are chosen with the others fixed. */
#include <math.h>
#include <string.h>

#include "search/eliminate.h"
#include "search/partition.h"

enum {
    MAX_COLUMNS = 1024,        /* of one variable: 2^10, and 3^6 */
    MAX_ALL_COLUMNS = 1 << 22, /* of all: about 200 MB */
    RIVALS = 48,               /* columns that others are compared with */
    PRUNING_ROUNDS = 6,
    WINDOW_ROUNDS = 8,
};

/* One column of one variable: the types in the variable's terms, as one digit per level. */
struct column {
    unsigned char type[MAX_LEVELS];
    double cost; /* intra-layer, and edges of the variable with itself */
    bool gone;   /* another one, which is left, is never worse */
};

struct var_columns {
    bool join;                 /* no columns: what `seen` says, level by level */
    struct column *column;     /* all of them, the topmost level counting most */
    int radix[MAX_LEVELS];     /* types to choose from at each level */
    int place[MAX_LEVELS];     /* what one step there adds to the number of a column */
    int n, *alive;             /* those that are left */
    unsigned seen[MAX_LEVELS]; /* types that occur at each level among them */
};

static const struct column *column_of(const struct var_columns *var, int i)
{
    return &var->column[var->alive[i]];
}

struct joint {
    const struct partition_problem *p;
    const struct layered *l;
    struct arena *arena;
    int first, count; /* the levels that are chosen; others keep what they have */
    double groups[MAX_LEVELS];
    double share[MAX_LEVELS][TYPE_COUNT][TYPE_COUNT]; /* hp_level_inter() */
    struct var_columns *var;
    int *edge_start, *edge_of; /* edges at each variable: CSR; self edges left out */
    int *node_start, *node_of; /* nodes of each variable */
};

static enum layer_type type_at(const struct partition *partition, int level, int node)
{
    return partition->type[(size_t)level * (size_t)partition->n_nodes + (size_t)node];
}

/* What a node's inputs weigh at level `h` of its column: groups times what is left of them. */
static void input_weights(const struct joint *j, const struct layer_node *node,
                          const unsigned char *type, double *weight)
{
    double share = 1;
    for (int h = 0; h < j->p->n_levels; h++) {
        weight[h] = j->groups[h] * share;
        if (hp_layout_in(hp_own_type(node, type[h])) != WHOLE)
            share /= j->p->ways[h];
    }
}

static double pair_cost(const struct joint *j, const struct layer_edge *edge,
                        const unsigned char *from, const unsigned char *to)
{
    const struct layer_node *u = &j->l->node[edge->from], *v = &j->l->node[edge->to];
    double weight[MAX_LEVELS], sum = 0;
    input_weights(j, v, to, weight);
    for (int h = 0; h < j->p->n_levels; h++)
        sum += weight[h] * j->share[h][hp_own_type(u, from[h])][hp_own_type(v, to[h])];
    return sum * edge->elements;
}

static double intra_cost(const struct joint *j, const struct layer_node *node,
                         const unsigned char *type)
{
    struct layer_sizes sizes = node->sizes;
    double sum = 0;
    for (int h = 0; node->weighted && h < j->p->n_levels; h++) {
        enum layer_type own = hp_own_type(node, type[h]);
        sum += j->groups[h] * hp_intra_elements(own, &sizes, j->p->ways[h]);
        hp_shrink(&sizes, own, 1.0 / j->p->ways[h]);
    }
    if (node->weighted)
        sum += j->p->weight_price * j->groups[j->p->n_levels - 1] * sizes.weight;
    return sum;
}

/* Incidence of variables: their nodes, and the edges between different ones. */
static void index_variables(struct joint *j)
{
    const struct layered *l = j->l;
    j->node_start = NEW(j->arena, int, l->n_vars + 2);
    j->edge_start = NEW(j->arena, int, l->n_vars + 2);
    j->node_of = NEW(j->arena, int, l->n_nodes);
    j->edge_of = NEW(j->arena, int, 2 * l->n_edges);
    for (int n = 0; n < l->n_nodes; n++)
        j->node_start[l->node[n].var + 2]++;
    for (int e = 0; e < l->n_edges; e++) {
        int u = l->node[l->edge[e].from].var, v = l->node[l->edge[e].to].var;
        j->edge_start[u + 2] += u != v;
        j->edge_start[v + 2] += u != v;
    }
    for (int v = 0; v < l->n_vars; v++) {
        j->node_start[v + 2] += j->node_start[v + 1];
        j->edge_start[v + 2] += j->edge_start[v + 1];
    }
    for (int n = 0; n < l->n_nodes; n++)
        j->node_of[j->node_start[l->node[n].var + 1]++] = n;
    for (int e = 0; e < l->n_edges; e++) {
        int u = l->node[l->edge[e].from].var, v = l->node[l->edge[e].to].var;
        if (u != v) {
            j->edge_of[j->edge_start[u + 1]++] = e;
            j->edge_of[j->edge_start[v + 1]++] = e;
        }
    }
}

/* A join may be anything that a level allows. */
static void list_join(struct joint *j, int v, const struct var_types *types,
                      const struct partition *now)
{
    struct var_columns *var = &j->var[v];
    int lead = j->node_of[j->node_start[v]];
    for (int h = 0; h < j->p->n_levels; h++) {
        const struct var_types *t = &types[(size_t)h * (size_t)j->l->n_vars + (size_t)v];
        bool chosen = h >= j->first && h < j->first + j->count;
        for (int i = 0; chosen && i < t->n; i++)
            var->seen[h] |= 1u << t->type[i];
        if (!chosen)
            var->seen[h] = 1u << type_at(now, h, lead);
    }
}

/* The columns of variable v: types[level * n_vars + v] inside the window, what is there
 * outside. */
static void list_variable(struct joint *j, int v, const struct var_types *types,
                          const struct partition *now)
{
    struct var_columns *var = &j->var[v];
    int lead = j->node_of[j->node_start[v]];
    var->join = !j->l->node[lead].weighted && j->node_start[v + 1] - j->node_start[v] == 1;
    if (var->join) {
        list_join(j, v, types, now);
        return;
    }
    var->n = 1;
    for (int h = j->p->n_levels - 1; h >= 0; h--) {
        bool chosen = h >= j->first && h < j->first + j->count;
        var->radix[h] = chosen ? types[(size_t)h * (size_t)j->l->n_vars + (size_t)v].n : 1;
        var->place[h] = var->n;
        var->n *= var->radix[h];
    }
    var->column = NEW(j->arena, struct column, var->n);
    var->alive = NEW(j->arena, int, var->n);
    for (int c = 0; c < var->n; c++) {
        struct column *column = &var->column[c];
        var->alive[c] = c;
        for (int h = 0; h < j->p->n_levels; h++) {
            bool chosen = h >= j->first && h < j->first + j->count;
            const struct var_types *t = &types[(size_t)h * (size_t)j->l->n_vars + (size_t)v];
            column->type[h] =
                (unsigned char)(chosen ? t->type[c / var->place[h] % var->radix[h]]
                                       : hp_own_type(&j->l->node[lead], type_at(now, h, lead)));
        }
        for (int i = j->node_start[v]; i < j->node_start[v + 1]; i++)
            column->cost += intra_cost(j, &j->l->node[j->node_of[i]], column->type);
    }
}

/* Every column that the window allows, each with its own cost. */
static enum hypar_status list_columns(struct joint *j, const struct partition *now,
                                      struct hypar_error *err)
{
    const struct layered *l = j->l;
    struct var_types *types = NEW(j->arena, struct var_types, (size_t)l->n_vars * MAX_LEVELS);
    for (int h = 0; h < j->p->n_levels; h++)
        TRY(hp_var_types(j->p, h, types + (size_t)h * (size_t)l->n_vars, err));
    for (int v = 0; v < l->n_vars; v++)
        list_variable(j, v, types, now);
    for (int e = 0; e < l->n_edges; e++) {
        int v = l->node[l->edge[e].to].var;
        for (int c = 0; l->node[l->edge[e].from].var == v && c < j->var[v].n; c++) {
            struct column *column = &j->var[v].column[c];
            column->cost += pair_cost(j, &l->edge[e], column->type, column->type);
        }
    }
    return HYPAR_OK;
}

static void note_seen(struct joint *j, int v)
{
    struct var_columns *var = &j->var[v];
    if (var->join)
        return;
    memset(var->seen, 0, sizeof var->seen);
    for (int i = 0; i < var->n; i++)
        for (int h = 0; h < j->p->n_levels; h++)
            var->seen[h] |= 1u << column_of(var, i)->type[h];
}

/* Least and most that the inputs of `node` can weigh at each level, over the types still seen.
 */
static void weight_range(const struct joint *j, const struct layer_node *node, double *low,
                         double *high)
{
    double least = 1, most = 1;
    for (int h = 0; h < j->p->n_levels; h++) {
        low[h] = j->groups[h] * least;
        high[h] = j->groups[h] * most;
        bool may_stay = false, may_shrink = false;
        for (int t = 0; t < TYPE_COUNT; t++)
            if (j->var[node->var].seen[h] >> t & 1) {
                bool whole = hp_layout_in(hp_own_type(node, (enum layer_type)t)) == WHOLE;
                may_stay |= whole;
                may_shrink |= !whole;
            }
        least /= may_shrink ? j->p->ways[h] : 1;
        most /= may_stay ? 1 : j->p->ways[h];
    }
}

/* worst[h][r][s]: the most that type r can cost more than type s at level h, summed over all
 * edges in which the variable is the producer, or the consumer with its own weights unchanged.
 */
struct rivalry {
    double worst[MAX_LEVELS][TYPE_COUNT][TYPE_COUNT];
    bool own_weights; /* columns weigh their inputs differently: consumer edges go one by one */
};

static double worst_as_producer(const struct joint *j, const struct layer_edge *edge, int h,
                                int r, int s, double low, double high)
{
    const struct layer_node *u = &j->l->node[edge->from], *v = &j->l->node[edge->to];
    double most = -INFINITY;
    for (int t = 0; t < TYPE_COUNT; t++) {
        if (!(j->var[v->var].seen[h] >> t & 1))
            continue;
        enum layer_type to = hp_own_type(v, (enum layer_type)t);
        double d = j->share[h][hp_own_type(u, (enum layer_type)r)][to] -
                   j->share[h][hp_own_type(u, (enum layer_type)s)][to];
        most = fmax(most, d > 0 ? d * high : d * low);
    }
    return most * edge->elements;
}

/* As consumer: column r weighs the tensor wr, column s ws. */
static double worst_as_consumer(const struct joint *j, const struct layer_edge *edge, int h,
                                int r, int s, double wr, double ws)
{
    const struct layer_node *u = &j->l->node[edge->from], *v = &j->l->node[edge->to];
    double most = -INFINITY;
    for (int t = 0; t < TYPE_COUNT; t++) {
        if (!(j->var[u->var].seen[h] >> t & 1))
            continue;
        enum layer_type from = hp_own_type(u, (enum layer_type)t);
        most = fmax(most, wr * j->share[h][from][hp_own_type(v, (enum layer_type)r)] -
                              ws * j->share[h][from][hp_own_type(v, (enum layer_type)s)]);
    }
    return most * edge->elements;
}

static void fill_rivalry(const struct joint *j, int v, struct rivalry *rivalry)
{
    memset(rivalry, 0, sizeof *rivalry);
    for (int i = j->node_start[v]; i < j->node_start[v + 1]; i++) {
        double low[MAX_LEVELS], high[MAX_LEVELS];
        weight_range(j, &j->l->node[j->node_of[i]], low, high);
        for (int h = 0; h < j->p->n_levels; h++)
            rivalry->own_weights |= low[h] != high[h];
    }
    for (int i = j->edge_start[v]; i < j->edge_start[v + 1]; i++) {
        const struct layer_edge *edge = &j->l->edge[j->edge_of[i]];
        bool producer = j->l->node[edge->from].var == v;
        double low[MAX_LEVELS], high[MAX_LEVELS];
        weight_range(j, &j->l->node[edge->to], low, high);
        if (!producer && rivalry->own_weights)
            continue;
        for (int h = 0; h < j->p->n_levels; h++)
            for (int r = 0; r < TYPE_COUNT; r++)
                for (int s = 0; s < TYPE_COUNT; s++)
                    rivalry->worst[h][r][s] +=
                        producer ? worst_as_producer(j, edge, h, r, s, low[h], high[h])
                                 : worst_as_consumer(j, edge, h, r, s, low[h], low[h]);
    }
}

/* The most that column r can cost more than column s, whatever the neighbours choose. */
static double disadvantage(const struct joint *j, int v, const struct rivalry *rivalry,
                           const struct column *r, const struct column *s)
{
    double most = r->cost - s->cost;
    for (int h = 0; h < j->p->n_levels; h++)
        most += rivalry->worst[h][r->type[h]][s->type[h]];
    for (int i = j->edge_start[v]; rivalry->own_weights && i < j->edge_start[v + 1]; i++) {
        const struct layer_edge *edge = &j->l->edge[j->edge_of[i]];
        if (j->l->node[edge->from].var == v)
            continue;
        double wr[MAX_LEVELS], ws[MAX_LEVELS];
        input_weights(j, &j->l->node[edge->to], r->type, wr);
        input_weights(j, &j->l->node[edge->to], s->type, ws);
        for (int h = 0; h < j->p->n_levels; h++)
            most += worst_as_consumer(j, edge, h, r->type[h], s->type[h], wr[h], ws[h]);
    }
    return most;
}

/* May column s go because of column r? Only what is left may beat another, so that every
 * removal is justified by a survivor; a tie goes to the one listed first: lower types. */
static bool beats(const struct joint *j, int v, const struct rivalry *rivalry,
                  const struct column *r, const struct column *s)
{
    if (r->gone)
        return false;
    double most = disadvantage(j, v, rivalry, r, s);
    return most < 0 || (most <= 0 && r < s);
}

/* The columns that cost least on their own. */
static int pick_cheapest(const struct var_columns *var, int *rival)
{
    int n = 0;
    for (int i = 0; i < var->n; i++) {
        int c = var->alive[i], at = n < RIVALS ? n++ : RIVALS;
        for (; at > 0 && var->column[rival[at - 1]].cost > var->column[c].cost; at--)
            if (at < RIVALS)
                rival[at] = rival[at - 1];
        if (at < RIVALS)
            rival[at] = c;
    }
    return n;
}

/* Is column c beaten by one that differs from it at one level, or at two? */
static bool beaten_nearby(const struct joint *j, int v, const struct rivalry *rivalry, int c)
{
    const struct var_columns *var = &j->var[v];
    const struct column *s = &var->column[c];
    for (int h = 0; h < j->p->n_levels; h++)
        for (int d = 0; d < var->radix[h]; d++) {
            int one = c + (d - c / var->place[h] % var->radix[h]) * var->place[h];
            if (one != c && beats(j, v, rivalry, &var->column[one], s))
                return true;
            for (int k = h + 1; one != c && k < j->p->n_levels; k++)
                for (int e = 0; e < var->radix[k]; e++) {
                    int two = one + (e - one / var->place[k] % var->radix[k]) * var->place[k];
                    if (two != one && beats(j, v, rivalry, &var->column[two], s))
                        return true;
                }
        }
    return false;
}

/* Of a join's two types at a level, one may never be worse. */
static bool prune_join(struct joint *j, int v)
{
    struct var_columns *var = &j->var[v];
    struct rivalry rivalry;
    bool changed = false;
    fill_rivalry(j, v, &rivalry);
    for (int h = 0; h < j->p->n_levels; h++)
        for (int r = 0; r < TYPE_COUNT; r++)
            for (int s = 0; s < TYPE_COUNT; s++) {
                unsigned both = 1u << r | 1u << s;
                double most = rivalry.worst[h][r][s];
                if (r == s || (var->seen[h] & both) != both ||
                    !(most < 0 || (most <= 0 && r < s)))
                    continue;
                var->seen[h] &= ~(1u << s);
                changed = true;
            }
    return changed;
}

static bool prune_variable(struct joint *j, int v)
{
    struct var_columns *var = &j->var[v];
    if (var->join)
        return prune_join(j, v);
    if (var->n == 1)
        return false;
    struct rivalry rivalry;
    int rival[RIVALS], n_rivals = pick_cheapest(var, rival), kept = 0;
    fill_rivalry(j, v, &rivalry);
    for (int i = 0; i < var->n; i++) {
        int c = var->alive[i];
        bool beaten = false;
        for (int r = 0; r < n_rivals && !beaten; r++)
            beaten =
                rival[r] != c && beats(j, v, &rivalry, &var->column[rival[r]], &var->column[c]);
        var->column[c].gone = beaten || beaten_nearby(j, v, &rivalry, c);
        if (!var->column[c].gone)
            var->alive[kept++] = c;
    }
    bool changed = kept < var->n;
    var->n = kept;
    note_seen(j, v);
    return changed;
}

static void prune(struct joint *j)
{
    for (int v = 0; v < j->l->n_vars; v++)
        note_seen(j, v);
    bool changed = true;
    for (int round = 0; round < PRUNING_ROUNDS && changed; round++) {
        changed = false;
        for (int v = 0; v < j->l->n_vars; v++)
            changed |= prune_variable(j, v);
    }
}

/* The solver's variables: one for each layer variable, one for each level of a join. */
struct posed {
    struct elimination_problem problem;
    int *first; /* of each of our variables */
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

/* The own type at level h of a node whose variable is in state s: a column, or for a join one
 * of its types there. */
static enum layer_type state_type(const struct joint *j, const struct layer_node *node, int h,
                                  int s)
{
    const struct var_columns *var = &j->var[node->var];
    return var->join ? join_type(var, h, s)
                     : hp_own_type(node, (enum layer_type)column_of(var, s)->type[h]);
}

/* What the consumer's inputs weigh: for a join the same whatever it chooses. */
static void weights_of(const struct joint *j, const struct layer_node *v, int c, double *weight)
{
    const struct var_columns *to = &j->var[v->var];
    static const unsigned char any[MAX_LEVELS] = { TYPE_I };
    input_weights(j, v, to->join ? any : column_of(to, c)->type, weight);
}

/* term[(h * TYPE_COUNT + t) * n_to + c]: what the edge exchanges at level h where its producer
 * has type t and its consumer is in state c. */
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

/* The pair table of an edge for levels first .. last - 1, row by row. */
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

static void pose_variables(const struct joint *j, struct posed *q)
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
                q->cost[n][c] = column_of(var, c)->cost;
        }
    }
    q->problem.n_vars = n;
}

/* An edge between two layers is one table; with a join, one for each level. */
static void pose_edge(const struct joint *j, const struct layer_edge *edge, struct posed *q)
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

static enum hypar_status pose_and_solve(struct joint *j, struct posed *q,
                                        const struct elimination_options *options,
                                        struct elimination_result *result, int64_t *evaluated,
                                        struct hypar_error *err)
{
    const struct layered *l = j->l;
    *q = (struct posed){ 0 };
    pose_variables(j, q);
    q->edges =
        NEW(j->arena, struct elimination_edge, (size_t)l->n_edges * (size_t)j->p->n_levels + 1);
    for (int e = 0; e < l->n_edges; e++)
        if (l->node[l->edge[e].from].var != l->node[l->edge[e].to].var)
            pose_edge(j, &l->edge[e], q); /* within one variable: counted with its columns */
    for (int e = 0; e < q->n_edges; e++)
        *evaluated += (int64_t)q->n_states[q->edges[e].u] * q->n_states[q->edges[e].v];
    q->problem =
        (struct elimination_problem){ q->problem.n_vars, q->n_states,
                                      (const double *const *)q->cost, q->n_edges, q->edges };
    result->assignment = NEW(j->arena, int, q->problem.n_vars);
    return hp_eliminate(j->arena, &q->problem, options, result, err);
}

/* Make a join a variable with columns: whatever its levels still allow. */
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

/* Joins by level make small tables where layers have few columns left (unrolled networks),
 * joins as columns where they have many (residual ones): the former is tried with little
 * patience. */
static enum hypar_status eliminate(struct joint *j, struct posed *q,
                                   struct elimination_result *result, int64_t *evaluated,
                                   struct hypar_error *err)
{
    struct elimination_options impatient = { .max_table_entries = 1 << 22, .max_work = 1 };
    bool any = false;
    for (int v = 0; v < j->l->n_vars; v++)
        any |= j->var[v].join;
    if (any) {
        TRY(pose_and_solve(j, q, &impatient, result, evaluated, err));
        if (result->exact)
            return HYPAR_OK;
        for (int v = 0; v < j->l->n_vars; v++)
            if (j->var[v].join)
                expand_join(j, &j->var[v]);
    }
    return pose_and_solve(j, q, NULL, result, evaluated, err);
}

/* What is to be made least: the exchange, and the weights where they have a price. */
static double priced(const struct partition_problem *p, const struct partition *partition)
{
    double groups = 1;
    for (int h = 0; h + 1 < p->n_levels; h++)
        groups *= p->ways[h];
    return partition->total_elements +
           (p->weight_price > 0 ? p->weight_price * groups * hp_partition_weight(p, partition)
                                : 0);
}

/* Choose the levels first .. first + count - 1 anew; the others stay. */
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
    index_variables(&j);
    TRY(list_columns(&j, partition, err));
    prune(&j);

    struct posed q = { 0 };
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
                                        (enum layer_type)column_of(var, chosen[0])->type[h]);
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

/* How many levels from `first` on keep every variable's columns within the limit. */
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
    for (int round = 0; round < WINDOW_ROUNDS && priced(p, partition) < before; round++) {
        before = priced(p, partition);
        for (int first = 0; first < p->n_levels;) {
            int count = window_from(p, types, first);
            struct arena_mark mark = hp_arena_mark(arena);
            enum hypar_status status = solve_window(arena, p, first, count, partition, err);
            hp_arena_release(arena, mark);
            if (status != HYPAR_OK)
                return status;
            if (count == p->n_levels)
                return HYPAR_OK;
            first += first + count >= p->n_levels ? count : (count + 1) / 2;
        }
    }
    return HYPAR_OK;
}
