/* PipeDream's cost of a pipeline, from its stages and the levels of the machine. */
#include "cost/papers/pipeline.h"

#include <math.h>

double hp_pipeline_sync_s(const struct pipeline_rules *rules, double weight_bytes, int replicas,
                          double bytes_per_s)
{
    if (rules->paper)
        return 2.0 * (replicas - 1) / bytes_per_s * weight_bytes;
    return 4.0 * (replicas - 1) / (bytes_per_s * replicas) * weight_bytes;
}

double hp_pipeline_stage_s(const struct pipeline_rules *rules, double inner_s, double sync_s,
                           int replicas)
{
    return (rules->paper ? fmax(inner_s, sync_s) : inner_s + sync_s) / replicas;
}

double hp_pipeline_transfer_s(const struct pipeline_rules *rules, double bytes, int replicas,
                              double bytes_per_s)
{
    if (rules->free_transfers)
        return 0;
    return 2.0 * bytes / (rules->paper ? bytes_per_s : bytes_per_s * replicas);
}

double hp_pipeline_below(const struct pipeline_rules *rules,
                         const struct pipeline_machine *machine, int level)
{
    return rules->paper || level == 0 ? 1 : machine->workers[level - 1];
}

/* The time of pieces p[0..n) at `level`. */
static double stages_s(const struct pipeline_rules *rules,
                       const struct pipeline_machine *machine,
                       const struct pipeline_states *states, const struct pipeline_stage *p,
                       int n, int level)
{
    double most = 0, bytes_per_s = machine->bytes_per_s[level];
    for (int i = 0; i < n; i++) {
        double inner_s =
            level == 0 ? hp_range_sum(states->time_s, p[i].after, p[i].last)
                       : stages_s(rules, machine, states, p[i].inner, p[i].n_inner, level - 1);
        double sync_s =
            hp_pipeline_sync_s(rules, hp_range_sum(states->weight_bytes, p[i].after, p[i].last),
                               p[i].workers, bytes_per_s);
        if (i == 0)
            sync_s /= hp_pipeline_below(rules, machine, level);
        most = fmax(most, hp_pipeline_stage_s(rules, inner_s, sync_s, p[i].workers));
        if (i > 0)
            most = fmax(most, hp_pipeline_transfer_s(rules, states->cut_bytes[p[i].after],
                                                     p[i].workers, bytes_per_s));
        if (i > 0 && p[i].last < states->n - 1 && !rules->paper)
            most = fmax(most, hp_pipeline_transfer_s(rules, states->cut_bytes[p[i].last],
                                                     p[i].workers, bytes_per_s));
    }
    return most;
}

double hp_pipeline_s(const struct pipeline_rules *rules, const struct pipeline_machine *machine,
                     const struct pipeline_states *states, const struct pipeline_stage *stage,
                     int n_stages)
{
    return stages_s(rules, machine, states, stage, n_stages, machine->n_levels - 1);
}

double hp_pipeline_data_parallel_s(const struct pipeline_rules *rules,
                                   const struct pipeline_machine *machine, double time_s,
                                   double weight_bytes)
{
    for (int l = 0; l < machine->n_levels; l++) {
        int m = machine->workers[l];
        double sync_s = hp_pipeline_sync_s(rules, weight_bytes, m, machine->bytes_per_s[l]);
        time_s = hp_pipeline_stage_s(rules, time_s,
                                     sync_s / hp_pipeline_below(rules, machine, l), m);
    }
    return time_s;
}

double hp_pipeline_memory(double weight_bytes, double activation_bytes, double fixed_bytes,
                          int in_flight)
{
    return in_flight * (weight_bytes + activation_bytes) + fixed_bytes;
}
