/* Computes the limit for dividing a batch into micro-batches. */
#include "search/micro_batch.h"

#include <math.h>

#include "search/limits.h"

struct batch_limit hp_batch_limit(const struct problem *problem)
{
    const struct hypar_graph *graph = problem->graph;
    const struct hypar_sim_options *how = problem->options->simulation;
    bool given = how && how->lower.forward; /* running statistics are given */
    struct batch_limit limit = { .batch = graph->batch,
                                 .mixing = -1,
                                 .least = hp_has_batch_norm(graph) && !given
                                              ? HYPAR_LEAST_NORM_SAMPLES
                                              : 1,
                                 .local = how && how->lower.local_bn };
    for (int op = 0; op < graph->n_ops && limit.mixing < 0; op++)
        if (hp_op_mixes_samples(graph, &graph->ops[op]))
            limit.mixing = op;
    return limit;
}

int64_t hp_most_micro_batches(const struct batch_limit *limit, int64_t replicas)
{
    if (limit->mixing >= 0)
        return 1;
    int64_t least = limit->least > 1 && limit->local ? limit->least * replicas : limit->least;
    int64_t most = least < limit->batch ? limit->batch / least : 1;
    return most < HP_MAX_MICRO_BATCHES ? most : HP_MAX_MICRO_BATCHES;
}

int hp_fewest_micro_batches(const double *step_s, int n)
{
    double best_s = INFINITY;
    int i = 0;
    for (int k = 0; k < n; k++)
        best_s = fmin(best_s, step_s[k]);
    while (i < n && !(step_s[i] <= HP_ABOUT_EQUAL * best_s))
        i++;
    return i < n && best_s < INFINITY ? i : -1;
}
