/* search/pipeline/solve.h - finds the best cut of a graph into replicated stages. Internal. */
#ifndef SEARCH_PIPELINE_SOLVE_H
#define SEARCH_PIPELINE_SOLVE_H

#include "base/error.h"
#include "base/stop.h"
#include "base/table.h"
#include "search/pipeline/states.h"

struct pipeline_problem {
    const struct cut_states *states;
    struct pipeline_machine machine;
    struct pipeline_rules rules;
    bool straight;                     /* every stage on one worker */
    bool use_fewer;                    /* may leave workers unused */
    double memory_bytes;               /* of one worker; 0: no limit */
    const volatile sig_atomic_t *stop; /* ends the search when set; NULL: never */
};

struct pipeline {
    double bottleneck_s;
    int n_stages; /* at the top level */
    struct pipeline_stage *stage;
    int64_t evaluated; /* cuts evaluated */
};

/* Size of the tables of hp_pipeline_solve(), in numbers of 8 bytes. */
double hp_pipeline_room(const struct pipeline_machine *machine, int n_states);

/* Upper limit of the cuts that hp_pipeline_solve() evaluates: some nanoseconds each. */
double hp_pipeline_work(const struct pipeline_machine *machine, int n_states);

/* PipeDream's dynamic programming over ranges of states and numbers of workers, level by level
 * from the lowest. HYPAR_INFEASIBLE if there is no such pipeline; also fails by
 * hp_check_stop(). The result lives in `arena`. */
enum hypar_status hp_pipeline_solve(struct arena *arena, const struct pipeline_problem *problem,
                                    struct pipeline *out, struct hypar_error *err);

/* Cuts of straight pipelines that are kept, because the planners of pipelines, and one planner
 * for several machines, ask for the same ones. Zero-initialised but for the arena is empty. */
struct straight_cuts {
    struct arena *arena;
    struct memo memo; /* of struct pipeline */
};

/* Cut the states into n_stages, each on one worker, with links of bytes_per_s between them, so
 * that the slowest is fastest. NULL: there is no such cut, or the search was stopped. */
const struct pipeline *hp_straight_cut(struct straight_cuts *cuts,
                                       const struct cut_states *states, int n_stages,
                                       double bytes_per_s, const volatile sig_atomic_t *stop);

#endif /* SEARCH_PIPELINE_SOLVE_H */
