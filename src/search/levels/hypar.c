/* The planners that divide level by level: data parallel, model parallel, one weird trick,
 * HyPar and AccPar. All are the same search with different sets of allowed types. */
#include <math.h>
#include <string.h>

#include "cost/work.h"
#include "search/evaluate/room.h"
#include "search/levels/levels.h"
#include "search/predict.h"
#include "search/runnable.h"

enum {
    DP = 1u << TYPE_I,
    MP = 1u << TYPE_II,
    III = 1u << TYPE_III,
    CHANNEL = 1u << TYPE_CHANNEL,
};

/* The types of `node` in `preferred`, or all its types if it has none of them. */
static unsigned choose(const struct layer_node *node, unsigned preferred)
{
    return node->types & preferred ? node->types & preferred : node->types;
}

static bool is_convolution(const struct problem *problem, const struct layer_node *node)
{
    enum op_kind kind = problem->graph->ops[node->op].kind;
    return kind == OP_CONV || kind == OP_GROUP_CONV || kind == OP_CONV_TRANSPOSE ||
           kind == OP_GROUP_CONV_TRANSPOSE;
}

static unsigned allow(const struct level_rules *rules, const struct problem *problem,
                      const struct layer_node *node)
{
    const unsigned *preferred =
        is_convolution(problem, node) ? rules->convolution : rules->other;
    return choose(node, node->types & preferred[0] ? preferred[0] : preferred[1]);
}

/* Add to `forbidden` the types that would split an axis that the target does not allow to
 * split. */
static void forbid_types(const struct problem *problem, unsigned *forbidden)
{
    const struct layered *l = problem->layered;
    for (int op = 0; op < problem->graph->n_ops; op++) {
        axis_set axes = hp_allowed_axes(problem, problem->graph->ops[op].nest);
        int node = l->node_of_op[op];
        for (int t = 0; node >= 0 && t < TYPE_COUNT; t++)
            if (l->axis[op][t] >= 0 && !(axes >> l->axis[op][t] & 1))
                forbidden[node] |= 1u << t;
    }
}

/* The layered graph without the types that the target forbids. */
static const struct layered *allowed_layers(const struct problem *problem, struct arena *arena)
{
    const struct layered *all = problem->layered;
    struct layered *l = NEW(arena, struct layered, 1);
    unsigned *forbidden = NEW(arena, unsigned, all->n_nodes);
    if (!problem->target)
        return all;
    *l = *all;
    l->node = NEW(arena, struct layer_node, all->n_nodes);
    forbid_types(problem, forbidden);
    for (int n = 0; n < all->n_nodes; n++) {
        l->node[n] = all->node[n];
        if (l->node[n].types & ~forbidden[n])
            l->node[n].types &= ~forbidden[n];
    }
    return l;
}

/* The speed of a device, for unequal shares (AccPar): each side of a level gets work in
 * proportion to its speed, so that all sides finish at the same time. */
static double speed_of(const struct problem *problem, int device)
{
    return hp_dense_op_per_s(hypar_machine_device(problem->machine, device),
                             problem->options->precision);
}

/* The total speed of all devices whose digit at level h is `side`, for every level and side. An
 * axis has only one list of sizes, so a side's share is the mean over all groups of the
 * level. */
const double *const *hp_shares(const struct problem *problem, struct arena *arena)
{
    if (hypar_machine_is_uniform(problem->machine) || hp_equal_shares(problem))
        return NULL;
    int n = hypar_machine_device_count(problem->machine), below = n;
    double **share = NEW(arena, double *, problem->n_levels);
    for (int h = 0; h < problem->n_levels; h++) {
        int ways = problem->level[h].ways;
        share[h] = NEW(arena, double, ways);
        below /= ways;
        for (int d = 0; d < n; d++)
            share[h][d / below % ways] += speed_of(problem, d);
    }
    return (const double *const *)share;
}

/* The share of the smaller of two unequal sides, which receives more data; 0: equal sides. */
static double least_share(const double *const *share, int level, int ways)
{
    if (!share || ways != 2)
        return 0;
    return fmin(share[level][0], share[level][1]) / (share[level][0] + share[level][1]);
}

/* Nodes that share a parameter divide the parameter in one way. If their allowed types have
 * nothing in common (tied embeddings under mp: one node reads the weight transposed), each of
 * them may take any model-parallel type that it has, or any type if it has none. */
static void widen_shared(const struct layered *l, int n_levels, unsigned *allowed)
{
    struct arena scratch = { 0 };
    unsigned *common = NEW(&scratch, unsigned, l->n_vars);
    for (int v = 0; v < l->n_vars; v++)
        common[v] = ~0u;
    for (int n = 0; n < l->n_nodes; n++)
        common[l->node[n].var] &= hp_var_type_set(&l->node[n], allowed[n]);
    for (int n = 0; n < l->n_nodes; n++) {
        unsigned any = choose(&l->node[n], MP | III | CHANNEL);
        for (int h = 0; h < n_levels && !common[l->node[n].var]; h++)
            allowed[(size_t)h * (size_t)l->n_nodes + (size_t)n] = any;
    }
    hp_arena_free(&scratch);
}

struct partition_problem hp_set_up_partition(const struct problem *problem, struct arena *arena,
                                             const struct level_rules *rules)
{
    const struct layered *l = allowed_layers(problem, arena);
    const double *const *share = hp_shares(problem, arena);
    struct partition_problem p = { .layered = l,
                                   .n_levels = problem->n_levels,
                                   .joint = problem->options->joint,
                                   .stop = problem->options->stop };
    unsigned *allowed = NEW(arena, unsigned, (size_t)problem->n_levels *(size_t)l->n_nodes);
    for (int h = 0; h < problem->n_levels; h++) {
        p.ways[h] = problem->level[h].ways;
        p.least_share[h] = least_share(share, h, p.ways[h]);
        for (int n = 0; n < l->n_nodes; n++)
            allowed[(size_t)h * (size_t)l->n_nodes + (size_t)n] =
                l->node[n].weighted ? allow(rules, problem, &l->node[n]) : l->node[n].types;
    }
    if (p.n_levels > 0) /* a machine of one device has no level */
        widen_shared(l, p.n_levels, allowed);
    p.allowed = allowed;
    return p;
}

/* Write the partition as in HyPar's paper: a digit for each weighted layer at each level. */
static void show(struct hypar_found *found, const struct problem *problem,
                 const struct partition_problem *p, const struct partition *partition)
{
    const struct layered *l = problem->layered;
    struct arena *arena = &found->arena;
    char **level = NEW(arena, char *, partition->n_levels);
    int *ways = NEW(arena, int, partition->n_levels), *layer_op = NEW(arena, int, l->n_layers);
    double *elements = NEW(arena, double, partition->n_levels);
    for (int i = 0; i < l->n_layers; i++)
        layer_op[i] = l->node[l->layer[i]].op;
    for (int h = 0; h < partition->n_levels; h++) {
        level[h] = NEW(arena, char, l->n_layers + 1);
        ways[h] = problem->level[h].ways;
        elements[h] = partition->level_elements[h];
        for (int i = 0; i < l->n_layers; i++) {
            level[h][i] = hp_type_digit(
                partition->type[(size_t)h * (size_t)l->n_nodes + (size_t)l->layer[i]]);
        }
    }
    found->has_view = true;
    found->view = (struct hypar_partition_view){
        .n_levels = partition->n_levels,
        .n_layers = l->n_layers,
        .ways = ways,
        .level = (const char *const *)level,
        .layer_op = layer_op,
        .level_elements = elements,
        .total_elements = partition->total_elements,
        .total_bytes = 8 * partition->total_elements,
        .terms = hp_partition_terms(arena, p, partition),
    };
}

/* HyPar minimises the exchange alone. If its weights do not fit in memory, search for the price
 * of a weight element at which they do. */
static enum hypar_status trade_for_memory(const struct problem *problem,
                                          struct partition_problem *p, struct arena *arena,
                                          struct partition *out, struct hypar_error *err)
{
    double room = hp_room_for_params(problem);
    if (hp_partition_weight(p, out) <= room)
        return HYPAR_OK;
    struct prices prices = hp_prices(-12, 36);
    while (hp_price(&prices, &p->weight_price)) {
        struct partition priced;
        TRY(hp_partition(arena, p, &priced, err));
        priced.exact = false; /* no longer the minimum of the exchange alone */
        priced.lower_bound = 0;
        if (hp_price_tried(&prices, hp_partition_weight(p, &priced) <= room))
            *out = priced;
    }
    return HYPAR_OK;
}

struct partition hp_laid_out(const struct level_rules *rules, const struct layered *l,
                             struct arena *arena, const struct partition *counted)
{
    struct partition out = *counted;
    size_t n = (size_t)out.n_levels * (size_t)out.n_nodes;
    if (!rules->features)
        return out;
    out.type = NEW(arena, enum layer_type, n);
    for (size_t i = 0; i < n; i++) {
        bool cut = counted->type[i] == TYPE_II && l->node[i % (size_t)out.n_nodes].types & III;
        out.type[i] = cut ? TYPE_III : counted->type[i];
    }
    return out;
}

enum hypar_status hp_check_batch(const struct planner *self, const struct problem *problem,
                                 struct hypar_error *err)
{
    int n = hypar_machine_device_count(problem->machine);
    enum by_sample by_sample = self->rules->by_sample;
    bool needed = by_sample == EVERY_LAYER;
    for (int i = 0; by_sample == CONVOLUTIONS && i < problem->layered->n_nodes; i++)
        needed |= is_convolution(problem, &problem->layered->node[i]);
    if (!needed || problem->graph->batch >= n)
        return HYPAR_OK;
    return hp_fail(
        err, HYPAR_INFEASIBLE,
        "%s splits the batch of %lld over %d devices, expected a batch of at least %d",
        self->info.name, (long long)problem->graph->batch, n, n);
}

/* Refuse graphs of operators with measured times: the exchange between parts of such an
 * operator is unknown. In a graph with a loss, a measured operator belongs to the layer before
 * it, like other operators without weights. */
static enum hypar_status check_layers(const struct planner *self, const struct problem *problem,
                                      struct hypar_error *err)
{
    struct op_measure measure;
    for (int op = 0; op < problem->graph->n_ops && problem->graph->loss < 0; op++)
        if (hp_op_measured(problem->graph, op, &measure))
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "%s divides layers, of which a profile knows nothing ('%s'); "
                           "expected pipedream or a planner of synchronous pipelines",
                           self->info.name, problem->graph->ops[op].name);
    return HYPAR_OK;
}

/* Solve the partition, and write the result as a plan and in the paper's notation. */
static enum hypar_status plan_by_levels(const struct planner *self,
                                        const struct problem *problem,
                                        struct hypar_found *found, struct hypar_error *err)
{
    const struct level_rules *rules = self->rules;
    struct partition partition;
    TRY(check_layers(self, problem, err));
    TRY(hp_check_batch(self, problem, err));
    struct partition_problem p = hp_set_up_partition(problem, &found->arena, rules);
    TRY(hp_partition(&found->arena, &p, &partition, err));
    if (rules->chooses)
        TRY(trade_for_memory(problem, &p, &found->arena, &partition, err));
    show(found, problem, &p, &partition);
    found->info.evaluated = partition.evaluated;
    found->info.chooses = rules->chooses;
    found->info.exact = partition.exact && (p.joint || p.n_levels <= 1);
    found->info.lower_bound_elements =
        found->info.exact ? partition.total_elements : partition.lower_bound;
    struct partition layout = hp_laid_out(rules, p.layered, &found->arena, &partition);
    found->plan = hp_build_plan(problem, &layout);
    hp_predict(problem, &p, &partition, found);
    return HYPAR_OK;
}

/* clang-format off */
static const struct level_rules
    /*               convolution,         other,               chooses, by_sample,    features */
    dp_rules     = { { DP },              { DP },              false,   EVERY_LAYER,  false },
    mp_rules     = { { MP | CHANNEL, DP }, { MP | CHANNEL, DP }, false, NO_LAYER,     false },
    owt_rules    = { { DP },              { MP | CHANNEL, DP }, false,  CONVOLUTIONS, true },
    hypar_rules  = { { DP | MP | CHANNEL }, { DP | MP | CHANNEL }, true, NO_LAYER,    false },
    accpar_rules = { { ~0u },             { ~0u },             true,    NO_LAYER,     false };

const struct planner hp_planner_dp = {
    .info = { "dp", "data parallel: every operator by samples", "the baseline of all four papers", .simple = true, .baseline = true },
    .plan = plan_by_levels, .rules = &dp_rules, .takes = TAKES_MICRO_BATCHES, .seeds = true,
};
const struct planner hp_planner_mp = {
    .info = { "mp", "model parallel: every weighted layer by its input features", "HyPar, HPCA 2019",
      .simple = true },
    .plan = plan_by_levels, .rules = &mp_rules, .takes = TAKES_MICRO_BATCHES,
};
const struct planner hp_planner_owt = {
    .info = { "owt", "one weird trick: convolutions by samples, other layers by features",
      "Krizhevsky, arXiv:1404.5997", .simple = true },
    .plan = plan_by_levels, .rules = &owt_rules, .takes = TAKES_MICRO_BATCHES, .seeds = true,
};
const struct planner hp_planner_hypar = {
    .info = { "hypar", "least exchange, each layer dp or mp at each level of the machine",
      .source = "Song et al., HPCA 2019, Algorithms 1 and 2",
      .exact = "no other choice of types exchanges less" },
    .plan = plan_by_levels, .rules = &hypar_rules, .takes = TAKES_MICRO_BATCHES | TAKES_JOINT, .seeds = true,
};
const struct planner hp_planner_accpar = {
    .info = { "accpar", "least exchange with three types of partition, unequal shares where devices differ",
      .source = "Song et al., HPCA 2020", .exact = "no other choice of types exchanges less" },
    .plan = plan_by_levels, .rules = &accpar_rules, .takes = TAKES_MICRO_BATCHES | TAKES_JOINT, .unequal_shares = true,
};
/* clang-format on */
