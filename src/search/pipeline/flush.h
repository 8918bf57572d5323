/* search/pipeline/flush.h - pipelines that flush (gpipe, 1f1b) while one is being chosen, and
 * whether they fit. Internal to gpipe.c and flush_*.c. */
#ifndef SEARCH_PIPELINE_FLUSH_H
#define SEARCH_PIPELINE_FLUSH_H

#include "graph/cut_points.h"
#include "search/evaluate/fit.h"
#include "search/micro_batch.h"
#include "search/pipeline/work.h"

/* A number of stages, the cut into them, and all pipelines of the cut. */
struct flush_cut {
    int n_stages, replicas;
    const struct pipeline_stage *stage;
    int *device;            /* by stage: the one of its devices that has least memory */
    struct op_needs *needs; /* by stage; NULL: not known */
    struct flush_candidate *candidate; /* the fewest micro-batches first */
    int n;
};

/* A pipeline under consideration. */
struct flush_candidate {
    const struct flush_cut *cut;
    int64_t micro_batches;
    double step_s, busiest_s; /* the step; all micro-batches on the slowest stage */
    struct fullest memory;    /* an estimate */
    double least_part;        /* a lower bound of the part of its memory that a device needs */
    bool added;               /* it was handed to the evaluation */
};

struct choosing {
    const struct problem *problem;
    struct arena *arena;
    const struct cut_states *states;
    struct cut_points points; /* between repeated layers */
    struct pipeline_machine machine;
    double latency_s;
    enum hypar_schedule_kind schedule;
    struct batch_limit limit;
    const struct op_needs *needs; /* by operator; NULL: not known */
    int n_cuts, cut_capacity;
    struct flush_cut **cut;
    int64_t evaluated;
};

/* What a stage has of what is summed up over the states. */
static inline double hp_stage_sum(const double *cumulated, const struct pipeline_stage *p)
{
    return hp_range_sum(cumulated, p->after, p->last);
}

/* Cut at the layers that the model repeats, into stages of about equal times; false: there are
 * fewer layers than stages (flush_cut.c). */
bool hp_flush_cut_layers(const struct choosing *c, struct flush_cut *cut);

/* Micro-batches that stage `s` has begun and not ended, at most. */
int64_t hp_flush_in_flight(const struct choosing *c, const struct flush_candidate *k, int s);

/* Bytes on a device of stage `s` in closed form. */
double hp_flush_closed_bytes(const struct choosing *c, const struct flush_candidate *k, int s);

/* Set cut->device and, if the operators' are known, cut->needs. */
void hp_flush_sum_up(const struct choosing *c, struct flush_cut *cut);

/* Set the memory of a candidate: an estimate from all micro-batches in flight, and a lower
 * bound from the micro-batches of which a stage keeps all. Without the operators' needs both
 * are the closed form. */
void hp_flush_memory(const struct choosing *c, struct flush_candidate *k);

#endif /* SEARCH_PIPELINE_FLUSH_H */
