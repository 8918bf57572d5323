/* HyPar's Algorithms 1 and 2: chooses the types level by level. The exact solver solves each
 * level. */
#include "search/levels/partition.h"

#include <math.h>
#include <string.h>

#include "search/solver/eliminate.h"

/* The part of a node that one group holds after the division by the levels above. */
struct left_over {
    struct layer_sizes sizes;
    double in_share; /* share of the tensors that the node reads */
};

static unsigned allowed_types(const struct partition_problem *p, int level, int node)
{
    const struct layered *l = p->layered;
    unsigned types = l->node[node].types;
    return p->allowed ? types & p->allowed[(size_t)level * (size_t)l->n_nodes + (size_t)node]
                      : types;
}

enum hypar_status hp_var_types(const struct partition_problem *p, int level,
                               struct var_types *of_var, struct hypar_error *err)
{
    const struct layered *l = p->layered;
    for (int v = 0; v < l->n_vars; v++)
        of_var[v].n = -1;
    for (int n = 0; n < l->n_nodes; n++) {
        struct var_types *var = &of_var[l->node[n].var];
        unsigned own = allowed_types(p, level, n);
        int kept = 0;
        for (int i = 0; i < (var->n < 0 ? TYPE_COUNT : var->n); i++) {
            enum layer_type type = var->n < 0 ? (enum layer_type)i : var->type[i];
            if (own >> hp_own_type(&l->node[n], type) & 1)
                var->type[kept++] = type;
        }
        var->n = kept;
        if (!kept)
            return hp_fail(err, HYPAR_INVALID, "'%s' cannot be divided as asked at level H%d",
                           l->graph->ops[l->node[n].op].name, level + 1);
    }
    return HYPAR_OK;
}

double hp_level_inter(const struct partition_problem *p, int level, enum layer_type producer,
                      enum layer_type consumer)
{
    return p->least_share[level] > 0
               ? hp_inter_share_unequal(producer, consumer, p->least_share[level])
               : hp_inter_share(producer, consumer, p->ways[level]);
}

/* Table 1, plus the remaining weights if they have a price. */
static double node_cost(const struct partition_problem *p, enum layer_type type,
                        const struct layer_sizes *sizes, int ways)
{
    double left = type == TYPE_I ? sizes->weight : sizes->weight / ways;
    return hp_intra_elements(type, sizes, ways) + p->weight_price * left;
}

/* Algorithm 1 on any graph: the least exchange of one level, by elimination. */
static enum hypar_status solve_level(struct arena *arena, const struct partition_problem *p,
                                     int level, const struct left_over *left,
                                     struct partition *out, struct hypar_error *err)
{
    const struct layered *l = p->layered;
    int ways = p->ways[level];
    struct var_types *types = NEW(arena, struct var_types, l->n_vars);
    TRY(hp_var_types(p, level, types, err));

    int *n_states = NEW(arena, int, l->n_vars), *chosen = NEW(arena, int, l->n_vars);
    double **cost = NEW(arena, double *, l->n_vars);
    for (int v = 0; v < l->n_vars; v++) {
        n_states[v] = types[v].n;
        cost[v] = NEW(arena, double, types[v].n);
    }
    for (int n = 0; n < l->n_nodes; n++) {
        const struct layer_node *node = &l->node[n];
        for (int s = 0; node->weighted && s < n_states[node->var]; s++)
            cost[node->var][s] +=
                node_cost(p, hp_own_type(node, types[node->var].type[s]), &left[n].sizes, ways);
    }
    struct elimination_edge *edges = NEW(arena, struct elimination_edge, l->n_edges);
    for (int e = 0; e < l->n_edges; e++) {
        const struct layer_node *from = &l->node[l->edge[e].from],
                                *to = &l->node[l->edge[e].to];
        double size = l->edge[e].elements * left[l->edge[e].to].in_share;
        int nu = n_states[from->var], nv = n_states[to->var];
        double *pair = NEW(arena, double, nu *nv);
        for (int u = 0; u < nu; u++)
            for (int v = 0; v < nv; v++)
                pair[u * nv + v] =
                    size * hp_level_inter(p, level, hp_own_type(from, types[from->var].type[u]),
                                          hp_own_type(to, types[to->var].type[v]));
        edges[e] = (struct elimination_edge){ from->var, to->var, pair };
        out->evaluated += nu * nv;
    }

    struct elimination_problem problem = { l->n_vars,  n_states, (const double *const *)cost,
                                           l->n_edges, edges,    NULL };
    struct elimination_result result = { .assignment = chosen };
    TRY(hp_eliminate(arena, &problem, NULL, &result, err));
    out->exact &= result.exact;
    for (int n = 0; n < l->n_nodes; n++)
        out->type[(size_t)level * (size_t)l->n_nodes + (size_t)n] =
            hp_own_type(&l->node[n], types[l->node[n].var].type[chosen[l->node[n].var]]);
    return HYPAR_OK;
}

static struct left_over *undivided(struct arena *arena, const struct layered *l)
{
    struct left_over *left = NEW(arena, struct left_over, l->n_nodes);
    for (int n = 0; n < l->n_nodes; n++)
        left[n] = (struct left_over){ l->node[n].sizes, 1 };
    return left;
}

static void divide(struct left_over *left, const enum layer_type *type, int n_nodes, int ways)
{
    for (int n = 0; n < n_nodes; n++) {
        hp_shrink(&left[n].sizes, type[n], 1.0 / ways);
        if (hp_split_in(type[n]) != WHOLE)
            left[n].in_share /= ways;
    }
}

/* The sum of HyPar's Tables 1 and 2 over one level. */
static double level_elements(const struct partition_problem *p, int level,
                             const struct left_over *left, const enum layer_type *type,
                             int *exchanges)
{
    const struct layered *l = p->layered;
    double sum = 0;
    *exchanges = 0;
    for (int n = 0; n < l->n_nodes; n++) {
        double intra = l->node[n].weighted
                           ? hp_intra_elements(type[n], &left[n].sizes, p->ways[level])
                           : 0;
        sum += intra;
        *exchanges += intra > 0;
    }
    for (int e = 0; e < l->n_edges; e++) {
        double share = hp_level_inter(p, level, type[l->edge[e].from], type[l->edge[e].to]);
        sum += l->edge[e].elements * left[l->edge[e].to].in_share * share;
        *exchanges += share > 0;
    }
    return sum;
}

/* Algorithm 2's sum: com = com_h + p com_n, level by level. */
void hp_partition_evaluate(const struct partition_problem *p, struct partition *partition)
{
    struct arena scratch = { 0 };
    struct left_over *left = undivided(&scratch, p->layered);
    double groups = 1;
    partition->total_elements = 0;
    for (int h = 0; h < p->n_levels; h++) {
        const enum layer_type *type = partition->type + (size_t)h * (size_t)partition->n_nodes;
        partition->level_elements[h] =
            level_elements(p, h, left, type, &partition->level_exchanges[h]);
        partition->total_elements += groups * partition->level_elements[h];
        divide(left, type, partition->n_nodes, p->ways[h]);
        groups *= p->ways[h];
    }
    hp_arena_free(&scratch);
}

/* The types whose terms are reported: dp, and the type to compare it with. */
enum { TERMS_DP, TERMS_MP, N_TERMS };

/* The type of a node for the terms `which`: dp, or the chosen type, or if dp is chosen the
 * first other type allowed. TYPE_COUNT: the node has no such type. */
static enum layer_type type_of_terms(const struct partition_problem *p, int level, int node,
                                     enum layer_type chosen, int which)
{
    unsigned allowed = allowed_types(p, level, node);
    if (which == TERMS_DP)
        return allowed >> TYPE_I & 1 ? TYPE_I : TYPE_COUNT;
    if (chosen != TYPE_I)
        return chosen;
    enum layer_type type = TYPE_II;
    while (type < TYPE_COUNT && !(allowed >> type & 1))
        type++;
    return type;
}

/* The terms of one level for all nodes, [node * N_TERMS + which]. `scale` is the bytes of an
 * element times the number of groups. */
static void level_terms(const struct partition_problem *p, int level,
                        const struct left_over *left, const enum layer_type *chosen,
                        double scale, struct hypar_type_terms *terms)
{
    const struct layered *l = p->layered;
    for (int i = 0; i < l->n_nodes * N_TERMS; i++) {
        int n = i / N_TERMS;
        enum layer_type type = type_of_terms(p, level, n, chosen[n], i % N_TERMS);
        double none = type == TYPE_COUNT ? NAN : 0;
        terms[i] = (struct hypar_type_terms){ none, none, none };
        if (type != TYPE_COUNT)
            terms[i].own_bytes =
                scale * hp_intra_elements(type, &left[n].sizes, p->ways[level]);
    }
    for (int i = 0; i < l->n_edges * N_TERMS; i++) {
        const struct layer_edge *edge = &l->edge[i / N_TERMS];
        int which = i % N_TERMS, from = edge->from, to = edge->to;
        enum layer_type writer = type_of_terms(p, level, from, chosen[from], which),
                        reader = type_of_terms(p, level, to, chosen[to], which);
        double bytes = scale * edge->elements * left[to].in_share;
        if (writer != TYPE_COUNT)
            terms[from * N_TERMS + which].next_bytes +=
                bytes * hp_level_inter(p, level, writer, chosen[to]);
        if (reader != TYPE_COUNT)
            terms[to * N_TERMS + which].previous_bytes +=
                bytes * hp_level_inter(p, level, chosen[from], reader);
    }
}

struct hypar_layer_terms *hp_partition_terms(struct arena *arena,
                                             const struct partition_problem *p,
                                             const struct partition *partition)
{
    const struct layered *l = p->layered;
    struct hypar_layer_terms *out =
        NEW(arena, struct hypar_layer_terms, (size_t)p->n_levels * (size_t)l->n_layers);
    struct arena scratch = { 0 };
    struct hypar_type_terms *terms =
        NEW(&scratch, struct hypar_type_terms, (size_t)l->n_nodes * N_TERMS);
    struct left_over *left = undivided(&scratch, l);
    double scale = 8; /* bytes of an element, sent and received */
    for (int h = 0; h < p->n_levels; h++) {
        const enum layer_type *type = partition->type + (size_t)h * (size_t)l->n_nodes;
        level_terms(p, h, left, type, scale, terms);
        for (int i = 0; i < l->n_layers; i++)
            out[(size_t)h * (size_t)l->n_layers + (size_t)i] =
                (struct hypar_layer_terms){ terms[l->layer[i] * N_TERMS + TERMS_DP],
                                            terms[l->layer[i] * N_TERMS + TERMS_MP] };
        divide(left, type, l->n_nodes, p->ways[h]);
        scale *= p->ways[h];
    }
    hp_arena_free(&scratch);
    return out;
}

/* The elements that one device holds of every layer, added up. */
static struct layer_sizes left_on_device(const struct partition_problem *p,
                                         const struct partition *partition)
{
    struct arena scratch = { 0 };
    struct left_over *left = undivided(&scratch, p->layered);
    struct layer_sizes sum = { 0 };
    for (int h = 0; h < p->n_levels; h++)
        divide(left, partition->type + (size_t)h * (size_t)partition->n_nodes,
               partition->n_nodes, p->ways[h]);
    for (int n = 0; n < partition->n_nodes; n++) {
        sum.in += left[n].sizes.in;
        sum.weight += left[n].sizes.weight;
        sum.out += left[n].sizes.out;
    }
    hp_arena_free(&scratch);
    return sum;
}

double hp_partition_footprint(const struct partition_problem *p,
                              const struct partition *partition)
{
    struct layer_sizes left = left_on_device(p, partition);
    return left.in + left.weight + left.out;
}

double hp_partition_weight(const struct partition_problem *p, const struct partition *partition)
{
    return left_on_device(p, partition).weight;
}

enum hypar_status hp_partition(struct arena *arena, const struct partition_problem *p,
                               struct partition *out, struct hypar_error *err)
{
    int n_nodes = p->layered->n_nodes;
    *out = (struct partition){ .n_levels = p->n_levels, .n_nodes = n_nodes, .exact = true };
    out->type = NEW(arena, enum layer_type, (size_t)p->n_levels * (size_t)n_nodes);
    struct arena_mark mark = hp_arena_mark(arena);
    struct left_over *left = undivided(arena, p->layered);
    for (int h = 0; h < p->n_levels; h++) {
        struct arena_mark level = hp_arena_mark(arena);
        enum hypar_status status = solve_level(arena, p, h, left, out, err);
        hp_arena_release(arena, level);
        if (status != HYPAR_OK)
            return status;
        divide(left, out->type + (size_t)h * (size_t)n_nodes, n_nodes, p->ways[h]);
    }
    hp_arena_release(arena, mark);
    hp_partition_evaluate(p, out);
    return p->joint && p->n_levels > 1 ? hp_partition_joint(arena, p, out, err) : HYPAR_OK;
}
