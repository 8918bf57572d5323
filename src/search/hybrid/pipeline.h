/* search/hybrid/pipeline.h - cuts a graph into the stages of a pipeline whose devices,
 * micro-batches and schedule are given. Internal to planner hybrid. */
#ifndef SEARCH_HYBRID_PIPELINE_H
#define SEARCH_HYBRID_PIPELINE_H

#include "search/hybrid/stage.h"

/* The properties of a pipeline that are decided before it is cut. */
struct pipeline_shape {
    int n_devices; /* of a stage; of the smallest stage, if stages are unequal */
    int groups;    /* groups of devices; stages are on the groups in turn */
    int chunks;    /* stages of each group */
    bool
        unequal; /* a group has a multiple of n_devices, and begins at a multiple of its size */
    bool reversed; /* the first stage is on the last devices */
    int size;      /* of submeshes; 0: any */
    enum hypar_schedule_kind schedule;
    double room; /* the part of each device's memory that closed forms may fill */
    struct step_shape step;
};

struct candidate_stage {
    struct stage stage;
    int first; /* its first device; stage.first is the first device of the first equal stage */
    struct stage_estimate estimate;
};

/* A pipeline that is cut, before its plan is built. */
struct candidate {
    struct pipeline_shape shape;
    double step_s; /* in closed form; without stages: a lower bound */
    int number;    /* in the order in which candidates were found */
    int n_stages;
    struct candidate_stage *stage;
};

/* A lower bound for the step of a shape, for all cuts and splits: all stages take the same
 * time, and their devices share the work evenly, as fast as one device with a whole
 * micro-batch. */
double hp_shape_bound(struct hybrid *h, const struct pipeline_shape *shape);

/* Find the cut with the shortest step in closed form; false: no cut fits. The stages are in the
 * arena of *h. */
bool hp_cut_pipeline(struct hybrid *h, const struct pipeline_shape *shape,
                     struct candidate *out);

/* Build the plan of a candidate, without checking it. */
struct hypar_plan *hp_build_candidate(struct hybrid *h, const struct candidate *candidate);

#endif /* SEARCH_HYBRID_PIPELINE_H */
