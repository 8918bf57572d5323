/* search/pipeline/work.h - what the planners of pipelines have in common. Internal. */
#ifndef SEARCH_PIPELINE_WORK_H
#define SEARCH_PIPELINE_WORK_H

#include "search/pipeline/solve.h"
#include "search/planner.h"

/* The operators as layers: measured times where the graph has them, else those of the slowest
 * device. `keep_shared`: operators that share a parameter stay together. */
struct pipeline_layers *hp_pipeline_layers(struct arena *arena, const struct problem *problem,
                                           bool keep_shared);

/* The machine as PipeDream sees it: a level begins where a group of components can send less
 * than one of them could inside. */
struct pipeline_machine hp_pipeline_machine(const struct problem *problem);

/* The states of `layers` that a search on this machine has room and time for. */
struct cut_states *hp_pipeline_states(struct arena *arena, const struct pipeline_layers *layers,
                                      const struct pipeline_machine *machine);

/* One stage, as it will be in the plan. */
struct planned_stage {
    int after, last; /* states */
    int n_devices;
    int *device;
    struct hypar_pipeline_stage about;
};

/* Everything of `about` that follows from the states: sizes. */
void hp_pipeline_sizes(const struct cut_states *states, struct planned_stage *stage);

/* A new plan of these stages, whose operators are not split. */
struct hypar_plan *hp_pipeline_plan(const struct problem *problem,
                                    const struct cut_states *states,
                                    const struct planned_stage *stage, int n_stages,
                                    enum hypar_share share);

/* Keep found->pipeline, whose times are set, for the report on found->plan, which has these
 * stages. Fills in the prediction, but for step_s and compute_s, which are given. */
void hp_pipeline_keep(const struct problem *problem, struct hypar_found *found,
                      const struct cut_states *states, const struct planned_stage *stage,
                      int n_stages);

#endif /* SEARCH_PIPELINE_WORK_H */
