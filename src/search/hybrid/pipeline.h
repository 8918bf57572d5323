/* search/hybrid/pipeline.h - stages, micro-batches and schedule together. Internal to planner
 * hybrid. */
#ifndef SEARCH_HYBRID_PIPELINE_H
#define SEARCH_HYBRID_PIPELINE_H

#include "search/hybrid/stage.h"

/* What is decided before the cuts. */
struct pipeline_shape {
    int n_devices; /* of a stage; at least, if they are unequal */
    int groups;    /* groups of devices that stages lie on, in turn */
    int chunks;    /* stages of each */
    bool unequal;  /* groups have devices in multiples, each at a multiple of its own number */
    bool reversed; /* the first stage lies on the last devices */
    int size;      /* of submeshes; 0: any */
    enum hypar_schedule_kind schedule;
    double room; /* of each device's, the part that closed forms may fill */
    struct step_shape step;
};

struct pipeline_stage {
    struct stage stage;
    int first; /* its first device; that of `stage` stands for all that are alike */
    struct stage_estimate estimate;
};

/* A plan before it is written down. */
struct candidate {
    struct pipeline_shape shape;
    double step_s; /* in closed form; without stages: at least */
    int number;    /* in the order in which they were found */
    int n_stages;
    struct pipeline_stage *stage;
};

/* What a step of the shape takes at least, whatever the cuts and splits: stages take the same
 * time, and their devices share it evenly, at the speed of one that has a whole micro-batch. */
double hp_shape_bound(struct hybrid *h, const struct pipeline_shape *shape);

/* Cut the units so that the step, in closed form, is least; false: no cut fits. Stages are
 * taken from the arena of *h. */
bool hp_cut_pipeline(struct hybrid *h, const struct pipeline_shape *shape,
                     struct candidate *out);

/* A plan of it. */
enum hypar_status hp_build_candidate(struct hybrid *h, const struct candidate *candidate,
                                     struct hypar_plan **out, struct hypar_error *err);

#endif /* SEARCH_HYBRID_PIPELINE_H */
