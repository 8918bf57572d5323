/* Removes columns that cannot be part of a minimum; a variable has many columns (2^levels,
 * 3^levels). Column s is removed if another column r of the same variable is never worse for
 * any columns of the neighbours:
 *
 *     cost(r) - cost(s) + sum over edges of max over neighbour (pair(r) - pair(s)) <= 0
 *
 * The maximum is taken level by level, over the types that the level still has. This can only
 * make the maximum larger, so the test is safe.
 *
 * This is dead-end elimination (Goldstein 1994) without tables: there are too many pairs of
 * columns to store their costs, and a cost that is a sum over levels does not need a table. */
#include <math.h>
#include <string.h>

#include "search/levels/joint.h"
#include "search/limits.h"

static void note_seen(struct joint *j, int v)
{
    struct var_columns *var = &j->var[v];
    memset(var->seen, 0, sizeof var->seen);
    for (int i = 0; i < var->n; i++)
        for (int h = 0; h < j->p->n_levels; h++)
            var->seen[h] |= 1u << hp_column(var, i)->type[h];
}

/* The least and the largest weight of a node's inputs at each level, over the types that the
 * levels still have. */
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
                bool whole = hp_split_in(hp_own_type(node, (enum layer_type)t)) == WHOLE;
                may_stay |= whole;
                may_shrink |= !whole;
            }
        least /= may_shrink ? j->p->ways[h] : 1;
        most /= may_stay ? 1 : j->p->ways[h];
    }
}

/* worst[h][r][s]: the largest extra cost of type r over type s at level h. It is the sum over
 * all edges of which the variable is the producer, or the consumer with unchanged weights. */
struct rivalry {
    double worst[MAX_LEVELS][TYPE_COUNT][TYPE_COUNT];
    bool own_weights; /* columns differ in the weight of their inputs: consumer edges are
                       * compared one by one */
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

/* The variable is the consumer: column r gives the tensor weight wr, column s weight ws. */
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

/* The largest extra cost of column r over column s, for any columns of the neighbours. */
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
        hp_input_weights(j, &j->l->node[edge->to], r->type, wr);
        hp_input_weights(j, &j->l->node[edge->to], s->type, ws);
        for (int h = 0; h < j->p->n_levels; h++)
            most += worst_as_consumer(j, edge, h, r->type[h], s->type[h], wr[h], ws[h]);
    }
    return most;
}

/* Does column r justify the removal of column s? r must not be removed itself, so a remaining
 * column justifies every removal. In a tie, the column listed first stays: its types are
 * lower. */
static bool beats(const struct joint *j, int v, const struct rivalry *rivalry,
                  const struct column *r, const struct column *s)
{
    if (r->gone)
        return false;
    double most = disadvantage(j, v, rivalry, r, s);
    return most < 0 || (most <= 0 && r < s);
}

/* The columns with the least cost of their own. */
static int pick_cheapest(const struct var_columns *var, int *rival)
{
    int n = 0;
    for (int i = 0; i < var->n; i++) {
        int c = var->alive[i], at = n < HP_SOME ? n++ : HP_SOME;
        for (; at > 0 && var->column[rival[at - 1]].cost > var->column[c].cost; at--)
            if (at < HP_SOME)
                rival[at] = rival[at - 1];
        if (at < HP_SOME)
            rival[at] = c;
    }
    return n;
}

/* Does a column that differs from column c at one or two levels justify its removal? */
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

static bool prune_variable(struct joint *j, int v)
{
    struct var_columns *var = &j->var[v];
    if (var->n == 1)
        return false;
    struct rivalry rivalry;
    int rival[HP_SOME], n_rivals = pick_cheapest(var, rival), kept = 0;
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

void hp_prune_columns(struct joint *j)
{
    for (int v = 0; v < j->l->n_vars; v++)
        note_seen(j, v);
    for (bool changed = true; changed;) {
        changed = false;
        for (int v = 0; v < j->l->n_vars && !hp_stopped(j->p->stop); v++)
            changed |= prune_variable(j, v);
    }
}
