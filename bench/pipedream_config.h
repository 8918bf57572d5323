/* pipedream_config.h - the plan that a row of PipeDream's Table 1 names, "15-1" or "straight":
 * its time in closed form, and the plan itself, which can be simulated.
 *
 * A configuration has the replicas of the stages, in order: "15-1" is a first stage with 15
 * replicas and a second one on one worker, "16" is data parallelism, "straight" has one stage
 * for each worker. The paper does not print where it cuts. So the cut here is the best one for
 * these replicas, by the published optimizer's formulas. */
#ifndef BENCH_PIPEDREAM_CONFIG_H
#define BENCH_PIPEDREAM_CONFIG_H

#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "plan/plan.h"
#include "search/pipeline/work.h"

struct configured {
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    double closed_s; /* of one minibatch */
};

/* The replicas of one or two stages: "16", "15-1". */
static inline int configured_replicas(const char *config, int replicas[2])
{
    return sscanf(config, "%d-%d", &replicas[0], &replicas[1]);
}

/* Fills the stages of the best cut in stage[0..n), and returns its time. The levels of the
 * published optimizer cannot express 15 replicas on servers of 4 or 8: here all workers are on
 * one level, joined by the links between the servers. */
static inline double best_cut_s(const struct pipeline_machine *machine,
                                const struct pipeline_states *states, const int *replicas,
                                int n, struct pipeline_stage *stage)
{
    struct pipeline_rules code = { 0 };
    int top = machine->n_levels - 1, last = states->n - 1;
    struct pipeline_machine flat = { .n_levels = 1,
                                     .bytes_per_s = { machine->bytes_per_s[top] } };
    double best_s = INFINITY;
    for (int i = 0; i < n; i++)
        flat.workers[0] += replicas[i];
    for (int cut = 0; cut < (n == 1 ? 1 : last); cut++) {
        struct pipeline_stage tried[2] = { { -1, n == 1 ? last : cut, .workers = replicas[0] },
                                           { cut, last, .workers = replicas[1] } };
        double seconds = hp_pipeline_s(&code, &flat, states, tried, n);
        if (seconds >= best_s)
            continue;
        best_s = seconds;
        memcpy(stage, tried, (size_t)n * sizeof *stage);
    }
    return best_s;
}

/* The plan with these stages, which follow each other on the devices. */
static inline struct hypar_plan *configured_plan(const struct problem *problem,
                                                 const struct cut_states *states,
                                                 const struct pipeline_stage *stage, int n)
{
    struct arena arena = { 0 };
    struct planned_stage *planned = NEW(&arena, struct planned_stage, n);
    for (int s = 0, first = 0; s < n; first += stage[s++].workers) {
        planned[s] = (struct planned_stage){ .after = stage[s].after,
                                             .last = stage[s].last,
                                             .n_devices = stage[s].workers,
                                             .device = NEW(&arena, int, stage[s].workers),
                                             .about.replicas = stage[s].workers };
        for (int i = 0; i < stage[s].workers; i++)
            planned[s].device[i] = first + i;
    }
    struct hypar_plan *plan =
        hp_pipeline_plan(problem, states, planned, n, HYPAR_SHARE_MINIBATCH);
    hp_plan_set_schedule(plan, &(struct hypar_schedule){ .kind = HYPAR_SCHEDULE_PIPEDREAM,
                                                         .micro_batches = 1,
                                                         .stash = true });
    hp_arena_free(&arena);
    return plan;
}

/* The plan of a configuration on a machine; `graph` must outlive it. */
static inline struct configured configure(const struct hypar_graph *graph, const char *word,
                                          const char *config)
{
    struct hypar_search_options options = { .planner = "pipedream" };
    struct configured c;
    struct hypar_error err;
    struct arena arena = { 0 };
    struct pipeline_stage stage[2];
    int replicas[2], n = configured_replicas(config, replicas);
    must(hypar_machine_read(&c.machine, word, &err), &err);
    if (n > 0) {
        struct problem problem = hp_problem(&arena, graph, c.machine, &options);
        struct pipeline_machine machine = hp_pipeline_machine(&problem);
        struct cut_states *states =
            hp_pipeline_states(&arena, hp_pipeline_layers(&arena, &problem, true), &machine);
        c.closed_s = best_cut_s(&machine, &states->cost, replicas, n, stage);
        c.plan = configured_plan(&problem, states, stage, n);
    } else {
        struct hypar_found *found;
        options.straight = true;
        enum hypar_status status = hypar_search(&found, graph, c.machine, &options, &err);
        if (status == HYPAR_INFEASIBLE) { /* fewer places to cut than workers */
            options.use_fewer = true;
            status = hypar_search(&found, graph, c.machine, &options, &err);
        }
        must(status, &err);
        c.closed_s = hypar_found_pipeline(found)->bottleneck_s;
        c.plan = hypar_plan_copy(hypar_found_plan(found));
        hypar_found_free(found);
    }
    hp_arena_free(&arena);
    return c;
}

static inline void free_configured(struct configured *c)
{
    hypar_plan_free(c->plan);
    hypar_machine_free(c->machine);
}

#endif /* BENCH_PIPEDREAM_CONFIG_H */
