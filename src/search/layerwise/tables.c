/* Fills the tables over OptCNN's states. Equal operators and equal edges share a table. */
#include "search/layerwise/optcnn.h"

#include <string.h>

struct filler {
    struct optcnn_model *model;
    const struct optcnn_space *space;
    struct optcnn_tables *out;
    struct arena *arena;
    int edge_capacity;
    bool *synced;         /* [tensor]: t_S of this parameter is already counted */
    struct memo op_costs; /* of double, by state: seconds, then parameter elements per device */
    struct memo transfers, pair_tables; /* of struct transfer, of double */
};

/* Edges of the graph --------------------------------------------------------------------- */

static void add_edge(struct filler *f, const struct optcnn_edge *edge)
{
    struct optcnn_tables *t = f->out;
    t->edge = GROW(f->arena, struct optcnn_edge, t->edge, t->n_edges, &f->edge_capacity);
    t->edge[t->n_edges++] = *edge;
}

/* Add an edge from the concat whose inputs begin the inputs of `op`. `op` reads it as one
 * tensor, which has the axes of the output of `op`. */
static void add_prefix_edge(struct filler *f, int op, int prefix)
{
    const struct hypar_graph *g = f->space->graph;
    int from = hp_first_output(&g->ops[prefix]);
    add_edge(f, &(struct optcnn_edge){ .from = prefix,
                                       .to = op,
                                       .from_operand = from,
                                       .to_operand = hp_first_output(&g->ops[op]),
                                       .tensor = g->ops[prefix].tensor[from] });
}

static void find_edges(struct filler *f)
{
    const struct hypar_graph *g = f->space->graph;
    const struct layered *l = f->space->layered;
    for (int op = 0; op < g->n_ops; op++) {
        int first = 0;
        if (l->prefix[op] >= 0) {
            add_prefix_edge(f, op, l->prefix[op]);
            first = l->prefix_length[op];
        }
        for (int o = first; o < g->ops[op].nest->n_inputs; o++) {
            int t = g->ops[op].tensor[o], from = t >= 0 ? g->tensors[t].producer : -1;
            if (from < 0)
                continue;
            add_edge(f,
                     &(struct optcnn_edge){ .from = from,
                                            .to = op,
                                            .from_operand = hp_output_operand(&g->ops[from], t),
                                            .to_operand = o,
                                            .tensor = t });
        }
    }
}

/* Operators ------------------------------------------------------------------------------ */

/* Parameters of `op` that no operator before it has. */
static operand_set new_parameters(struct filler *f, int op)
{
    const struct hypar_graph *g = f->space->graph;
    operand_set set = 0;
    for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
        int t = g->ops[op].tensor[o];
        if (t < 0 || g->tensors[t].kind != TENSOR_PARAM || f->synced[t])
            continue;
        f->synced[t] = true;
        set |= (operand_set)1 << o;
    }
    return set;
}

static double *fill_op(struct filler *f, int op, operand_set parameters)
{
    const struct nest *nest = f->space->graph->ops[op].nest;
    const struct placement_list *list = &f->space->lists[f->space->list[op]];
    double *cost = NEW(f->arena, double, 2 * (size_t)list->n);
    for (int s = 0; s < list->n; s++) {
        cost[s] = hp_optcnn_compute_s(f->model, op, &list->at[s]) +
                  hp_optcnn_partial_s(f->model, op, &list->at[s]);
        for (int o = 0; o < nest->n_inputs; o++)
            if (parameters >> o & 1) {
                cost[s] += hp_optcnn_sync_s(f->model, op, o, &list->at[s]);
                cost[list->n + s] += hp_optcnn_held_elements(f->model, op, o, &list->at[s]);
            }
    }
    return cost;
}

static const double *op_costs(struct filler *f, int op)
{
    struct op_key {
        operand_set parameters, trained, present;
        uint32_t passes;
        int nest, list, unused;
    } key;
    const struct hypar_graph *g = f->space->graph;
    key = (struct op_key){ .parameters = new_parameters(f, op),
                           .present = hp_present(&g->ops[op]),
                           .passes = hp_backward_passes(g, &g->ops[op]),
                           .nest = g->ops[op].nest->id,
                           .list = f->space->list[op] };
    for (int o = 0; o < g->ops[op].nest->n_inputs; o++)
        if (key.parameters >> o & 1 && g->tensors[g->ops[op].tensor[o]].needs_grad)
            key.trained |= (operand_set)1 << o;
    void **known = hp_memo(&f->op_costs, f->arena, &key, sizeof key);
    if (!*known)
        *known = fill_op(f, op, key.parameters);
    return *known;
}

static void add_op(struct filler *f, int op)
{
    int v = f->space->var_of[op], n = f->out->n_states[v];
    const double *cost = op_costs(f, op);
    for (int s = 0; s < n; s++) {
        f->out->cost[v][s] += cost[s];
        f->out->weight[v][s] += cost[n + s];
    }
}

/* Edges ---------------------------------------------------------------------------------- */

static struct transfer *transfer_of(struct filler *f, const struct optcnn_edge *e)
{
    const struct op *op = f->space->graph->ops;
    int key[] = { op[e->from].nest->like, e->from_operand, op[e->to].nest->like,
                  e->to_operand };
    void **known = hp_memo(&f->transfers, f->arena, key, sizeof key);
    if (!*known)
        *known = hp_transfer(f->arena, f->space->topology,
                             (struct transfer_end){ op[e->from].nest, e->from_operand },
                             (struct transfer_end){ op[e->to].nest, e->to_operand });
    return *known;
}

/* Add the time to sum partial results, for every state or every pair of states. */
static void add_sums(struct filler *f, const struct optcnn_edge *e, bool diagonal,
                     double *table)
{
    const struct optcnn_space *s = f->space;
    const struct placement_list *from = &s->lists[s->list[e->from]],
                                *to = &s->lists[s->list[e->to]];
    bool back = hp_optcnn_directions(s->graph, e->tensor) == 2;
    struct partial_input *in = NULL; /* the reader's states, if there are partial sums */
    for (int i = 0; i < from->n; i++) {
        struct partial_output out =
            hp_optcnn_output(f->model, e->from, e->from_operand, &from->at[i]);
        if (out.copies == 0)
            continue;
        if (!in) {
            in = NEW(f->arena, struct partial_input, to->n);
            for (int j = 0; j < to->n; j++)
                in[j] = hp_optcnn_input(f->model, e->to, e->to_operand, &to->at[j]);
        }
        for (int j = diagonal ? i : 0; j < (diagonal ? i + 1 : to->n); j++)
            table[diagonal ? i : i * to->n + j] += hp_optcnn_sum_s(&out, &in[j], back);
    }
}

/* t_X of every state, or of every pair of states: forward, and backward if the tensor has a
 * gradient. */
static double *fill_pairs(struct filler *f, const struct optcnn_edge *e, bool diagonal)
{
    const struct optcnn_space *s = f->space;
    const struct tensor *tensor = &s->graph->tensors[e->tensor];
    const struct placement_list *from = &s->lists[s->list[e->from]],
                                *to = &s->lists[s->list[e->to]];
    double bytes = hp_element_bytes(f->model->precision, tensor->index);
    int directions = hp_optcnn_directions(s->graph, e->tensor);
    struct transfer *transfer = transfer_of(f, e);
    size_t n = (size_t)from->n * (diagonal ? 1 : (size_t)to->n);
    double *table = NEW(f->arena, double, n);
    if (!diagonal)
        hp_transfer_table(transfer, from->at, from->n, to->at, to->n, bytes, table);
    for (int i = 0; diagonal && i < from->n; i++)
        table[i] = hp_transfer_s(transfer, &from->at[i], &to->at[i], bytes);
    for (size_t i = 0; i < n; i++)
        table[i] *= directions;
    add_sums(f, e, diagonal, table);
    f->out->n_tables++;
    f->out->entries += (double)n;
    return table;
}

static const double *pair_table(struct filler *f, const struct optcnn_edge *e, bool diagonal)
{
    const struct hypar_graph *g = f->space->graph;
    int key[] = { g->ops[e->from].nest->like,
                  e->from_operand,
                  g->ops[e->to].nest->like,
                  e->to_operand,
                  f->space->list[e->from],
                  f->space->list[e->to],
                  hp_optcnn_directions(g, e->tensor),
                  g->tensors[e->tensor].index,
                  g->use_start[e->tensor + 1] - g->use_start[e->tensor],
                  diagonal };
    void **known = hp_memo(&f->pair_tables, f->arena, key, sizeof key);
    if (!*known)
        *known = fill_pairs(f, e, diagonal);
    return *known;
}

static void add_transfer(struct filler *f, const struct optcnn_edge *e)
{
    struct optcnn_tables *t = f->out;
    int u = f->space->var_of[e->from], v = f->space->var_of[e->to];
    const double *table = pair_table(f, e, u == v);
    for (int s = 0; u == v && s < t->n_states[v]; s++)
        t->cost[v][s] += table[s];
    if (u == v)
        return;
    t->pairs = GROW(f->arena, struct elimination_edge, t->pairs, t->n_pairs, &t->pair_capacity);
    t->pairs[t->n_pairs++] = (struct elimination_edge){ u, v, table };
}

void hp_optcnn_tables(struct optcnn_tables *out, struct optcnn_model *model,
                      const struct optcnn_space *space)
{
    struct arena *arena = space->arena;
    struct filler f = { .model = model, .space = space, .out = out, .arena = arena };
    *out = (struct optcnn_tables){ 0 };
    f.synced = NEW(arena, bool, space->graph->n_tensors);
    out->n_states = NEW(arena, int, space->n_vars);
    out->cost = NEW(arena, double *, space->n_vars);
    out->weight = NEW(arena, double *, space->n_vars);
    for (int v = 0; v < space->n_vars; v++) {
        out->n_states[v] = space->lists[space->list[space->lead[v]]].n;
        out->cost[v] = NEW(arena, double, out->n_states[v]);
        out->weight[v] = NEW(arena, double, out->n_states[v]);
    }
    find_edges(&f);
    for (int op = 0; op < space->graph->n_ops && !hp_stopped(space->stop); op++)
        add_op(&f, op);
    for (int e = 0; e < out->n_edges && !hp_stopped(space->stop); e++)
        add_transfer(&f, &out->edge[e]);
}

/* One assignment ------------------------------------------------------------------------- */

static const struct placement *placed(const struct optcnn_space *s, const int *state, int op)
{
    return &s->lists[s->list[op]].at[state[s->var_of[op]]];
}

static void add_op_cost(struct optcnn_model *m, const struct optcnn_space *s, const int *state,
                        int op, bool *synced, struct optcnn_cost *sum)
{
    const struct op *o = &s->graph->ops[op];
    const struct placement *at = placed(s, state, op);
    sum->compute_s += hp_optcnn_compute_s(m, op, at);
    sum->transfer_s += hp_optcnn_partial_s(m, op, at);
    for (int i = 0; i < o->nest->n_inputs; i++) {
        int t = o->tensor[i];
        if (t < 0 || s->graph->tensors[t].kind != TENSOR_PARAM || synced[t])
            continue;
        synced[t] = true;
        sum->sync_s += hp_optcnn_sync_s(m, op, i, at);
        sum->sync_bytes += hp_optcnn_sync_bytes(m, op, i, at);
    }
}

struct optcnn_cost hp_optcnn_cost(struct optcnn_model *m, const struct optcnn_space *s,
                                  const struct optcnn_tables *tables, const int *state)
{
    struct optcnn_cost sum = { 0 };
    struct arena scratch = { 0 };
    bool *synced = NEW(&scratch, bool, s->graph->n_tensors);
    for (int op = 0; op < s->graph->n_ops; op++)
        add_op_cost(m, s, state, op, synced, &sum);
    for (int i = 0; i < tables->n_edges; i++) {
        const struct optcnn_edge *e = &tables->edge[i];
        const struct op *from = &s->graph->ops[e->from], *to = &s->graph->ops[e->to];
        struct arena_mark mark = hp_arena_mark(&scratch);
        struct transfer *t = hp_transfer(&scratch, s->topology,
                                         (struct transfer_end){ from->nest, e->from_operand },
                                         (struct transfer_end){ to->nest, e->to_operand });
        const struct placement *a = placed(s, state, e->from), *b = placed(s, state, e->to);
        double bytes = hp_element_bytes(m->precision, s->graph->tensors[e->tensor].index);
        int directions = hp_optcnn_directions(s->graph, e->tensor);
        struct partial_output out = hp_optcnn_output(m, e->from, e->from_operand, a);
        struct partial_input in = hp_optcnn_input(m, e->to, e->to_operand, b);
        sum.transfer_s += directions * hp_transfer_s(t, a, b, bytes) +
                          hp_optcnn_sum_s(&out, &in, directions == 2);
        sum.transfer_bytes += directions * bytes * hp_transfer_elements(t, a, b);
        hp_arena_release(&scratch, mark);
    }
    hp_arena_free(&scratch);
    return sum;
}
