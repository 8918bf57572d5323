/* The planners that divide level by level: data parallel, model parallel, one weird trick,
 * HyPar and AccPar. They are one search with different choices allowed. */
#include <math.h>
#include <string.h>

#include "search/planner.h"
#include "search/predict.h"

enum {
    DP = 1u << TYPE_I,
    MP = 1u << TYPE_II,
    III = 1u << TYPE_III,
    CHANNEL = 1u << TYPE_CHANNEL,
};

/* The types of `node` that are in `wish`, or whatever it has if there are none. */
static unsigned choose(const struct layer_node *node, unsigned wish)
{
    return node->types & wish ? node->types & wish : node->types;
}

static bool is_convolution(const struct problem *problem, const struct layer_node *node)
{
    enum op_kind kind = problem->graph->ops[node->op].kind;
    return kind == OP_CONV || kind == OP_GROUP_CONV;
}

/* What a planner allows a weighted node; joins are free to follow. */
typedef unsigned (*allow_fn)(const struct problem *problem, const struct layer_node *node);

static unsigned allow_dp(const struct problem *problem, const struct layer_node *node)
{
    (void)problem;
    return choose(node, DP);
}

static unsigned allow_mp(const struct problem *problem, const struct layer_node *node)
{
    (void)problem;
    return choose(node, node->types & (MP | CHANNEL) ? MP | CHANNEL : DP);
}

/* Krizhevsky 2014: convolutions by batch, fully-connected layers by features (counted as mp).
 */
static unsigned allow_owt(const struct problem *problem, const struct layer_node *node)
{
    return is_convolution(problem, node) ? choose(node, DP) : allow_mp(problem, node);
}

static unsigned allow_hypar(const struct problem *problem, const struct layer_node *node)
{
    (void)problem;
    return choose(node, DP | MP | CHANNEL);
}

static unsigned allow_accpar(const struct problem *problem, const struct layer_node *node)
{
    (void)problem;
    return node->types;
}

/* The part of the smaller of two unequal sides, which receives the more; 0: they are equal. */
static double least_share(const double *const *share, int level, int ways)
{
    if (!share || ways != 2)
        return 0;
    return fmin(share[level][0], share[level][1]) / (share[level][0] + share[level][1]);
}

/* Nodes that share a parameter divide it in one way. Where what they are asked for has nothing
 * in common (tied embeddings under mp: one reads the weight transposed), any model-parallel
 * type that they all have is let in, else whatever they have. */
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

static struct partition_problem pose(const struct problem *problem, struct arena *arena,
                                     allow_fn allow, const double *const *share)
{
    const struct layered *l = problem->layered;
    struct partition_problem p = { .layered = l,
                                   .n_levels = problem->n_levels,
                                   .joint = problem->options->joint };
    unsigned *allowed = NEW(arena, unsigned, (size_t)problem->n_levels *(size_t)l->n_nodes + 1);
    for (int h = 0; h < problem->n_levels; h++) {
        p.ways[h] = problem->level[h].ways;
        p.least_share[h] = least_share(share, h, p.ways[h]);
        for (int n = 0; n < l->n_nodes; n++)
            allowed[(size_t)h * (size_t)l->n_nodes + (size_t)n] =
                l->node[n].weighted ? allow(problem, &l->node[n]) : l->node[n].types;
    }
    widen_shared(l, p.n_levels, allowed);
    p.allowed = allowed;
    return p;
}

/* By name, for who wants to look at a planner's choices without making a plan. */
static const struct {
    const char *name;
    allow_fn allow;
} by_levels[] = {
    { "hypar", allow_hypar }, { "accpar", allow_accpar }, { "dp", allow_dp },
    { "mp", allow_mp },       { "owt", allow_owt },
};

bool hp_pose(const struct problem *problem, struct arena *arena, const char *planner,
             struct partition_problem *out)
{
    for (size_t i = 0; i < sizeof by_levels / sizeof by_levels[0]; i++)
        if (strcmp(by_levels[i].name, planner) == 0) {
            *out = pose(problem, arena, by_levels[i].allow, hp_shares(problem, arena));
            return true;
        }
    return false;
}

/* The paper's picture of a partition: a digit for each weighted layer at each level. */
static void show(struct hypar_found *found, const struct problem *problem,
                 const struct partition *partition)
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
            enum layer_type t =
                partition->type[(size_t)h * (size_t)l->n_nodes + (size_t)l->layer[i]];
            level[h][i] = t == TYPE_CHANNEL ? '1' : (char)('0' + (int)t);
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
    };
}

/* The least memory of any device, in parameters that it can hold. */
static double room_for_params(const struct problem *problem)
{
    double least = problem->options->memory_bytes;
    for (int d = 0; !(least > 0) && d < hypar_machine_device_count(problem->machine); d++) {
        double has = (double)hypar_machine_device(problem->machine, d)->memory_bytes;
        least = d == 0 || has < -least ? -has : least;
    }
    return fabs(least) /
           hp_bytes_per_param(problem->options->precision, problem->options->optimizer);
}

/* HyPar looks at the exchange alone. Where its weights do not fit, weights get a price, the
 * lowest (to a factor of two) at which they do; where none helps the first answer stands and is
 * refused later. Without choices there is nothing to trade. */
static enum hypar_status partition_within_memory(const struct problem *problem,
                                                 struct partition_problem *p,
                                                 struct arena *arena, struct partition *out,
                                                 struct hypar_error *err)
{
    enum { TRIES = 48 };
    TRY(hp_partition(arena, p, out, err));
    double room = room_for_params(problem);
    for (int i = 0; i < TRIES && hp_partition_weight(p, out) > room; i++) {
        struct partition cheaper;
        p->weight_price = ldexp(1, i - 12);
        TRY(hp_partition(arena, p, &cheaper, err));
        if (hp_partition_weight(p, &cheaper) <= room || i == TRIES - 1) {
            *out = cheaper;
            out->exact = false;
            out->lower_bound = 0;
            return HYPAR_OK;
        }
    }
    return HYPAR_OK;
}

/* Solve, and write the result down as a plan and as the paper shows it. */
static enum hypar_status plan_by_levels(const struct problem *problem, allow_fn allow,
                                        bool features, struct hypar_found *found,
                                        struct hypar_error *err)
{
    struct partition partition;
    const double *const *share = hp_shares(problem, &found->arena);
    struct partition_problem p = pose(problem, &found->arena, allow, share);
    TRY(partition_within_memory(problem, &p, &found->arena, &partition, err));
    show(found, problem, &partition);
    found->info.evaluated = partition.evaluated;
    found->info.chooses = allow == allow_hypar || allow == allow_accpar;
    found->info.exact = partition.exact && (p.joint || p.n_levels <= 1);
    found->info.lower_bound_elements =
        found->info.exact ? partition.total_elements : partition.lower_bound;
    struct partition counted = partition; /* owt is counted as mp, and laid out by features */
    size_t n_types = (size_t)p.n_levels * (size_t)partition.n_nodes;
    partition.type = NEW(&found->arena, enum layer_type, n_types);
    memcpy(partition.type, counted.type, n_types * sizeof *partition.type);
    for (size_t i = 0; features && i < n_types; i++) {
        const struct layer_node *node = &problem->layered->node[i % (size_t)partition.n_nodes];
        if (partition.type[i] == TYPE_II && node->types & III)
            partition.type[i] = TYPE_III;
    }
    found->plan = hp_realise(problem, &partition, share);
    hp_predict(problem, &p, &counted, found);
    return HYPAR_OK;
}

/* Data parallelism needs a sample for everyone. */
static enum hypar_status check_batch(const struct problem *problem, const char *who,
                                     struct hypar_error *err)
{
    int n = hypar_machine_device_count(problem->machine);
    if (problem->graph->batch >= n)
        return HYPAR_OK;
    return hp_fail(
        err, HYPAR_INFEASIBLE,
        "%s splits the batch of %lld over %d devices, expected a batch of at least %d", who,
        (long long)problem->graph->batch, n, n);
}

static enum hypar_status plan_dp(const struct problem *problem, struct hypar_found *found,
                                 struct hypar_error *err)
{
    TRY(check_batch(problem, "dp", err));
    return plan_by_levels(problem, allow_dp, false, found, err);
}

static enum hypar_status plan_mp(const struct problem *problem, struct hypar_found *found,
                                 struct hypar_error *err)
{
    return plan_by_levels(problem, allow_mp, false, found, err);
}

static enum hypar_status plan_owt(const struct problem *problem, struct hypar_found *found,
                                  struct hypar_error *err)
{
    bool any = false;
    for (int n = 0; n < problem->layered->n_nodes; n++)
        any |= is_convolution(problem, &problem->layered->node[n]);
    if (any)
        TRY(check_batch(problem, "owt", err));
    return plan_by_levels(problem, allow_owt, true, found, err);
}

static enum hypar_status plan_hypar(const struct problem *problem, struct hypar_found *found,
                                    struct hypar_error *err)
{
    return plan_by_levels(problem, allow_hypar, false, found, err);
}

static enum hypar_status plan_accpar(const struct problem *problem, struct hypar_found *found,
                                     struct hypar_error *err)
{
    return plan_by_levels(problem, allow_accpar, false, found, err);
}

const struct planner hp_planner_dp = {
    { "dp", "data parallel: every operator by samples", "the baseline of all four papers" },
    true,
    plan_dp,
};
const struct planner hp_planner_mp = {
    { "mp", "model parallel: every weighted layer by its input features", "HyPar, HPCA 2019" },
    true,
    plan_mp,
};
const struct planner hp_planner_owt = {
    { "owt", "one weird trick: convolutions by samples, other layers by features",
      "Krizhevsky, arXiv:1404.5997" },
    true,
    plan_owt,
};
const struct planner hp_planner_hypar = {
    { "hypar", "least exchange, each layer dp or mp at each level of the machine",
      "Song et al., HPCA 2019, Algorithms 1 and 2" },
    true,
    plan_hypar,
};
const struct planner hp_planner_accpar = {
    { "accpar",
      "least exchange with three types of partition, unequal shares where devices differ",
      "Song et al., HPCA 2020" },
    true,
    plan_accpar,
};
