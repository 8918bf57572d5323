/* search/pipeline/work.h - functions that the planners of pipelines share. Internal. */
#ifndef SEARCH_PIPELINE_WORK_H
#define SEARCH_PIPELINE_WORK_H

#include "search/pipeline/solve.h"
#include "search/planner.h"

/* The operators as layers, with measured times if the graph has them, else times of the slowest
 * device. `keep_shared`: operators that share a parameter stay together. */
struct pipeline_layers *hp_pipeline_layers(struct arena *arena, const struct problem *problem,
                                           bool keep_shared);

/* The machine in PipeDream's terms: a new level begins where a group of components has less
 * bandwidth than one component has inside. */
struct pipeline_machine hp_pipeline_machine(const struct problem *problem);

/* The states of `layers` for which a search on this machine has enough memory and time. */
struct cut_states *hp_pipeline_states(struct arena *arena, const struct pipeline_layers *layers,
                                      const struct pipeline_machine *machine);

/* One stage of the plan. */
struct planned_stage {
    int after, last; /* states */
    int n_devices;
    int *device;
    struct hypar_pipeline_stage about;
};

/* Fill the sizes in `about` from the states. */
void hp_pipeline_sizes(const struct cut_states *states, struct planned_stage *stage);

/* Make a plan with these stages; their operators are not split. */
struct hypar_plan *hp_pipeline_plan(const struct problem *problem,
                                    const struct cut_states *states,
                                    const struct planned_stage *stage, int n_stages,
                                    enum hypar_share share);

/* Keep found->pipeline for the report on found->plan, which has these stages. The caller has
 * set the times of found->pipeline, and step_s and compute_s of the prediction; this function
 * fills in the rest of the prediction. */
void hp_pipeline_keep(const struct problem *problem, struct hypar_found *found,
                      const struct cut_states *states, const struct planned_stage *stage,
                      int n_stages);

#endif /* SEARCH_PIPELINE_WORK_H */
