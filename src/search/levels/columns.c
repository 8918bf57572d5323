/* Lists the columns of each variable (a column is one type per level) and computes the cost of
 * each column without its neighbours. */
#include "base/csr.h"
#include "search/levels/joint.h"

static enum layer_type type_at(const struct partition *partition, int level, int node)
{
    return partition->type[(size_t)level * (size_t)partition->n_nodes + (size_t)node];
}

/* The weight of a node's inputs at each level: the number of groups times the share of the
 * inputs that one group still holds. */
void hp_input_weights(const struct joint *j, const struct layer_node *node,
                      const unsigned char *type, double *weight)
{
    double share = 1;
    for (int h = 0; h < j->p->n_levels; h++) {
        weight[h] = j->groups[h] * share;
        if (hp_split_in(hp_own_type(node, type[h])) != WHOLE)
            share /= j->p->ways[h];
    }
}

static double pair_cost(const struct joint *j, const struct layer_edge *edge,
                        const unsigned char *from, const unsigned char *to)
{
    const struct layer_node *u = &j->l->node[edge->from], *v = &j->l->node[edge->to];
    double weight[MAX_LEVELS], sum = 0;
    hp_input_weights(j, v, to, weight);
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

/* List the nodes of each variable, and the edges between different variables. */
void hp_index_variables(struct joint *j)
{
    const struct layered *l = j->l;
    struct csr nodes = { .arena = j->arena, .n_keys = l->n_vars }, edges = nodes;
    while (hp_csr_pass(&nodes))
        for (int n = 0; n < l->n_nodes; n++)
            hp_csr_put(&nodes, l->node[n].var, n);
    while (hp_csr_pass(&edges))
        for (int e = 0; e < l->n_edges; e++) {
            int u = l->node[l->edge[e].from].var, v = l->node[l->edge[e].to].var;
            if (u != v) {
                hp_csr_put(&edges, u, e);
                hp_csr_put(&edges, v, e);
            }
        }
    j->node_start = nodes.start;
    j->node_of = nodes.item;
    j->edge_start = edges.start;
    j->edge_of = edges.item;
}

/* List the columns of variable v: types[level * n_vars + v] inside the window of chosen levels,
 * the current type outside. */
static void list_variable(struct joint *j, int v, const struct var_types *types,
                          const struct partition *now)
{
    struct var_columns *var = &j->var[v];
    int lead = j->node_of[j->node_start[v]];
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

enum hypar_status hp_list_columns(struct joint *j, const struct partition *now,
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
