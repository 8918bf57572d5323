/* OptCNN (Jia et al., ICML 2018): finds the configuration of each layer for which Eq. 1 is
 * least, with the exact solver. */
#include "search/layerwise/optcnn.h"

#include <math.h>
#include <string.h>

#include "machine/machine.h"
#include "search/evaluate/room.h"
#include "search/predict.h"

/* Limit of the planning time, roughly: beyond it, configurations are left out. */
#define MOST_SECONDS 4.0

struct search {
    const struct problem *problem;
    struct arena arena;
    struct topology_view topology;
    struct optcnn_model model;
    struct optcnn_space space;
    struct optcnn_tables tables;
    int *state; /* [var]: the chosen state */
    struct elimination_result result;
    double lower_bound_s; /* over all plans that fit in memory */
};

static enum hypar_status check_axes(const char *axes, struct hypar_error *err)
{
    size_t known = strspn(axes, "nkhwtc");
    if (axes[0] && !axes[known])
        return HYPAR_OK;
    return hp_fail(err, HYPAR_USAGE, "axes '%s', expected letters of nkhwtc", axes);
}

static enum hypar_status prepare(struct search *s, struct hypar_error *err)
{
    const struct problem *p = s->problem;
    const char *axes = p->options->axes ? p->options->axes : "nkhw";
    TRY(check_axes(axes, err));
    TRY(hp_in(err, hp_topology_view(&s->topology, &s->arena, p->machine, err), "optcnn"));
    s->topology.once = p->options->sync == HYPAR_SYNC_ALL_REDUCE;
    s->model = (struct optcnn_model){ .arena = &s->arena,
                                      .graph = p->graph,
                                      .topology = &s->topology,
                                      .precision = p->options->precision,
                                      .gradients = hp_gradient_precision(
                                          p->options->precision, p->options->fp32_gradients),
                                      .sync = p->options->sync,
                                      .framework = &p->settings.simulation.framework,
                                      .profile = p->options->profile };
    hp_optcnn_space(&s->space, &s->arena, p, &s->topology, axes, MOST_SECONDS);
    hp_optcnn_tables(&s->tables, &s->model, &s->space);
    TRY(hp_check_stop(p->options->stop, err));
    s->state = NEW(&s->arena, int, s->space.n_vars + 1);
    return HYPAR_OK;
}

/* Within memory -------------------------------------------------------------------------- */

static double held(const struct search *s, const int *state)
{
    double sum = 0;
    for (int v = 0; v < s->space.n_vars; v++)
        sum += s->tables.weight[v][state[v]];
    return sum;
}

/* Find the least value of Eq. 1 plus `price` for each parameter element on the first device,
 * which has a part of every operator. */
static enum hypar_status solve(struct search *s, double price, int *state,
                               struct elimination_result *result, struct hypar_error *err)
{
    struct arena_mark mark = hp_arena_mark(&s->arena);
    int n = s->space.n_vars;
    double **cost = NEW(&s->arena, double *, n);
    for (int v = 0; v < n; v++) {
        cost[v] = NEW(&s->arena, double, s->tables.n_states[v]);
        for (int i = 0; i < s->tables.n_states[v]; i++)
            cost[v][i] = s->tables.cost[v][i] + price * s->tables.weight[v][i];
    }
    struct elimination_problem problem = { .n_vars = n,
                                           .n_states = s->tables.n_states,
                                           .cost = (const double *const *)cost,
                                           .n_edges = s->tables.n_pairs,
                                           .edges = s->tables.pairs,
                                           .stop = s->problem->options->stop };
    *result = (struct elimination_result){ .assignment = state };
    enum hypar_status status = hp_eliminate(
        &s->arena, &problem,
        &(struct elimination_options){ .seed = (uint64_t)s->problem->options->seed }, result,
        err);
    hp_arena_release(&s->arena, mark);
    return status;
}

/* Find the fastest plan that fits in memory: the search raises the price of a parameter element
 * until the plan fits. Each price also gives a lower bound: no plan that fits is faster than
 * the least sum of time and price, minus the price of all available memory. */
static enum hypar_status solve_within_memory(struct search *s, struct hypar_error *err)
{
    struct prices prices = hp_prices(-60, 0);
    double price, room = hp_room_for_params(s->problem);
    TRY(solve(s, 0, s->state, &s->result, err));
    s->lower_bound_s = s->result.lower_bound;
    if (held(s, s->state) <= room)
        return HYPAR_OK;
    int *state = NEW(&s->arena, int, s->space.n_vars + 1);
    while (hp_price(&prices, &price)) {
        struct elimination_result priced;
        TRY(solve(s, price, state, &priced, err));
        s->lower_bound_s = fmax(s->lower_bound_s, priced.lower_bound - price * room);
        if (hp_price_tried(&prices, held(s, state) <= room)) {
            memcpy(s->state, state, (size_t)s->space.n_vars * sizeof *state);
            s->result = priced;
            s->result.assignment = s->state;
            s->result.exact = false; /* not the minimum of time alone */
        }
    }
    return HYPAR_OK;
}

/* Plan and report -------------------------------------------------------------------------- */

static const struct placement *placed(const struct search *s, int op)
{
    return &s->space.lists[s->space.list[op]].at[s->state[s->space.var_of[op]]];
}

static void build_plan(const struct search *s, struct hypar_found *found)
{
    const struct problem *p = s->problem;
    struct arena scratch = { 0 };
    int *device = NEW(&scratch, int, s->topology.n_devices);
    found->plan = hp_plan_new(p->graph, p->machine, &p->settings);
    for (int op = 0; op < p->graph->n_ops; op++) {
        const struct nest *nest = p->graph->ops[op].nest;
        struct split split = hp_placement_split(nest, placed(s, op));
        hp_placement_devices(nest, placed(s, op), device);
        hp_plan_set(found->plan, op, &split, device);
    }
    hp_arena_free(&scratch);
}

/* Words of memory that all parts of an operator read and write: the words of the first part
 * times the number of parts. */
static double dram_words(const struct search *s, int op)
{
    const struct op *o = &s->problem->graph->ops[op];
    const struct placement *at = placed(s, op);
    struct split split = hp_placement_split(o->nest, at);
    uint32_t backward = hp_backward_passes(s->problem->graph, o);
    struct range range[MAX_AXES];
    double bytes = 0;
    hp_part_ranges(o->nest, &split, 0, range);
    for (int p = 0; p < o->nest->n_passes; p++)
        if (!o->nest->pass[p].backward || backward >> p & 1)
            bytes += hp_pass_work(o->nest, p, range, hp_present(o), s->model.precision).bytes;
    return bytes * at->n_parts / HP_WORD_BYTES;
}

/* The prediction is Eq. 1: computation and communication do not overlap. */
static void predict(const struct search *s, const struct optcnn_cost *cost,
                    struct hypar_found *found)
{
    const struct problem *p = s->problem;
    struct hypar_prediction *out = &found->prediction;
    double words = 0;
    out->compute_s = cost->compute_s;
    out->step_s = cost->compute_s + (cost->transfer_s + cost->sync_s);
    out->comm_bytes = cost->transfer_bytes + cost->sync_bytes;
    for (int op = 0; op < p->graph->n_ops; op++)
        words += dram_words(s, op);
    hp_predict_closed(p, 0, words, found);
}

static const char *method_text(enum elimination_method method)
{
    switch (method) {
    case ELIMINATION_EXACT:
        return "elimination";
    case ELIMINATION_PRUNED:
        return "elimination without needless states";
    case ELIMINATION_CONDITIONED:
        return "elimination for each setting of a few layers";
    default:
        return "bound and local search";
    }
}

static void show(const struct search *s, const struct optcnn_cost *cost,
                 struct hypar_found *found)
{
    const struct elimination_result *r = &s->result;
    struct hypar_layerwise_view *view = NEW(&found->arena, struct hypar_layerwise_view, 1);
    *view = (struct hypar_layerwise_view){
        .compute_s = cost->compute_s,
        .transfer_s = cost->transfer_s,
        .sync_s = cost->sync_s,
        .transfer_bytes = cost->transfer_bytes,
        .sync_bytes = cost->sync_bytes,
        .n_vars = s->space.n_vars,
        .n_edges = s->tables.n_pairs,
        .n_tables = s->tables.n_tables,
        .node_eliminations = r->n_node_eliminations,
        .edge_eliminations = r->n_edge_eliminations,
        .general_eliminations = r->n_general_eliminations,
        .width = r->width,
        .method = method_text(r->method),
        .thinned = s->space.choice.thinning > 0,
        .axes = hp_arena_strdup(&found->arena, s->space.choice.dimensions),
        .sync = s->model.sync,
    };
    for (int v = 0; v < s->space.n_vars; v++)
        view->n_states += s->tables.n_states[v];
    found->layerwise = view;
    found->info.chooses = true;
    found->info.evaluated = (int64_t)s->tables.entries + view->n_states;
    found->info.exact = r->exact && !view->thinned;
    found->info.lower_bound_s = view->thinned ? 0 : s->lower_bound_s;
}

static enum hypar_status plan_optcnn(const struct planner *self, const struct problem *problem,
                                     struct hypar_found *found, struct hypar_error *err)
{
    (void)self;
    struct search s = { .problem = problem };
    enum hypar_status status = prepare(&s, err);
    if (status == HYPAR_OK)
        status = solve_within_memory(&s, err);
    if (status == HYPAR_OK) {
        struct optcnn_cost cost = hp_optcnn_cost(&s.model, &s.space, &s.tables, s.state);
        build_plan(&s, found);
        predict(&s, &cost, found);
        show(&s, &cost, found);
    }
    hp_arena_free(&s.arena);
    return status;
}

/* clang-format off */
const struct planner hp_planner_optcnn = {
    .info = { "optcnn", "least time, each layer by samples, channels, height and width at once",
      .source = "Jia et al., ICML 2018", .exact = "the optimum of its cost model" },
    .plan = plan_optcnn,
    .takes = TAKES_MICRO_BATCHES | TAKES_AXES | TAKES_SYNC,
    .seeds = true,
    .slow = true,
    .asks_links = true,
};
/* clang-format on */
