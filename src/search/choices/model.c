/* Collects the operators' choices by degree, and the edges between operators. */
#include "search/choices/model.h"

#include <math.h>

#include "base/csr.h"
#include "base/sort.h"

/* Find all degrees that operators were measured with and that the bounds allow, each once. */
static void find_degrees(struct arena *arena, struct choice_model *m,
                         const struct choice_bounds *bounds)
{
    const struct hypar_graph *g = m->graph;
    int capacity = 0, n = 0, *all = NULL;
    for (int op = 0; op < g->n_ops; op++)
        for (int c = 0; g->ops[op].choices && c < g->ops[op].choices->n; c++) {
            int degree = g->ops[op].choices->choice[c].degree;
            bool known = bounds->max_degree && degree > bounds->max_degree;
            for (int i = 0; i < n && !known; i++)
                known = all[i] == degree;
            if (known)
                continue;
            all = GROW(arena, int, all, n, &capacity);
            all[n++] = degree;
        }
    if (n)
        hp_sort_ints(all, n);
    m->degree = all;
    m->n_degrees = n;
}

static const struct op_choice **ways_of(const struct choice_model *m, int op, int t)
{
    return m->ways + ((size_t)op * (size_t)m->n_degrees + (size_t)t) * N_WAYS;
}

/* The ways of one operator, and its least work. */
static void find_ways_of(struct choice_model *m, int op, const struct choice_bounds *bounds)
{
    const struct op_choices *choices = m->graph->ops[op].choices;
    double least_s = INFINITY;
    for (int c = 0, t = 0; choices && c < choices->n; c++) { /* both ascend by degree */
        const struct op_choice *choice = &choices->choice[c];
        while (t < m->n_degrees && m->degree[t] < choice->degree)
            t++;
        if (t < m->n_degrees && !(choice->recompute && bounds->none))
            ways_of(m, op, t)[choice->recompute ? AGAIN : KEEP] = choice;
    }
    for (int t = 0; t < m->n_degrees; t++) {
        const struct op_choice **way = ways_of(m, op, t);
        if (bounds->full && way[AGAIN])
            way[KEEP] = NULL;
        for (int w = 0; w < N_WAYS; w++)
            if (way[w])
                least_s = fmin(least_s, way[w]->degree * way[w]->seconds);
    }
    m->work_s[op] = isfinite(least_s) ? least_s : 0;
}

static void find_ways(struct arena *arena, struct choice_model *m,
                      const struct choice_bounds *bounds)
{
    int n_ops = m->graph->n_ops;
    m->ways = NEW(arena, const struct op_choice *, (size_t)n_ops *(size_t)m->n_degrees *N_WAYS);
    m->work_s = NEW(arena, double, n_ops);
    for (int op = 0; op < n_ops; op++)
        find_ways_of(m, op, bounds);
}

/* The edge for use number `use` of a tensor: the reader's operand and the bytes. */
static struct choice_edge edge_of(const struct hypar_graph *g, struct use reader, int use)
{
    const struct op_choices *choices = g->ops[reader.op].choices;
    struct choice_edge edge = { .to = reader.op, .input = reader.operand, .use = use };
    struct op_measure writer;
    edge.from = g->tensors[g->ops[reader.op].tensor[reader.operand]].producer;
    edge.once = !choices || !choices->input_bytes;
    if (!edge.once)
        edge.bytes = choices->input_bytes[reader.operand];
    else if (hp_op_measured(g, edge.from, &writer))
        edge.bytes = writer.output_bytes / (double)g->batch;
    return edge;
}

static void find_edges(struct arena *arena, struct choice_model *m)
{
    const struct hypar_graph *g = m->graph;
    int n = 0, capacity = 0;
    struct choice_edge *edge = NULL;
    struct csr lists = { .arena = arena, .n_keys = g->n_ops };
    for (int t = 0; t < g->n_tensors; t++)
        for (int u = g->use_start[t]; g->tensors[t].producer >= 0 && u < g->use_start[t + 1];
             u++) {
            edge = GROW(arena, struct choice_edge, edge, n, &capacity);
            edge[n++] = edge_of(g, g->use[u], u - g->use_start[t]);
        }
    while (hp_csr_pass(&lists))
        for (int e = 0; e < n; e++) {
            hp_csr_put(&lists, edge[e].from, e);
            hp_csr_put(&lists, edge[e].to, e);
        }
    m->edge = edge;
    m->edge_start = lists.start;
    m->edge_list = lists.item;
}

struct choice_model *hp_choice_model(struct arena *arena, const struct hypar_graph *graph,
                                     const struct choice_bounds *bounds)
{
    struct choice_model *m = NEW(arena, struct choice_model, 1);
    m->graph = graph;
    m->samples = (double)graph->batch;
    find_degrees(arena, m, bounds);
    find_ways(arena, m, bounds);
    find_edges(arena, m);
    return m;
}
