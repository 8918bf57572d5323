/* search/estimate/estimate.h - the time of a step of a plan with stages, estimated without
 * tasks and without a simulation. Internal.
 *
 * The lowering (program/lowering.h) has the parts of each operator, and the messages that the
 * exchange rule sends between the parts. The estimate needs nothing else:
 *
 *   a stage     The time of a micro-batch in each phase (forward, backward, and gradients if
 *               the schedule separates them): the kernel times of the busiest device, and the
 *               exchanges that its devices wait for. Exchanges of parameters overlap.
 *   a pipeline  Each group of devices goes through the slots of the schedule in order. A slot
 *               waits until its stage has received its inputs.
 *   the end     Gradients are summed during the last backward half. Then parameters are
 *               updated. */
#ifndef SEARCH_ESTIMATE_ESTIMATE_H
#define SEARCH_ESTIMATE_ESTIMATE_H

#include "program/lowering.h"
#include "sim/task_costs.h"

/* Seconds of a step (of pipedream: of a minibatch, once all stages are busy). The program needs
 * no tasks: hp_lower() suffices. `how` NULL: as the plan says. */
double hp_estimate_step(const struct hypar_program *program,
                        const struct hypar_sim_options *how);

/* The parts of the estimate ------------------------------------------------------------- */

enum { N_PHASES = PHASE_UPDATE };

/* The time that a stage takes for a micro-batch. */
struct stage_cost {
    double phase_s[N_PHASES];
    bool gathers[N_PHASES]; /* operators wait for parameters that are gathered */
    /* Sums of divided gradients: how long they occupy links, and how much of this time is after
     * the phase. */
    double sums_s[N_PHASES], late_s[N_PHASES];
};

/* A message from one stage to another for a micro-batch: the time until it arrives, and the
 * time for which it occupies the busiest link. */
struct border_cost {
    double s, held_s;
};

/* The work of a stage at the end of a step. */
struct tail_cost {
    /* Gradients are summed over replicas, and parameters that were updated in parts are
     * gathered: how long this occupies links, and the time of the last sum and gather. */
    double sums_s, last_sum_s, gathers_s, last_gather_s;
    double lost_s;   /* that kernels lose beside the sums */
    double update_s; /* of the busiest device */
};

struct stage_costs {
    int n_stages, n_bodies;
    struct stage_cost *stage;      /* [body][stage] */
    struct border_cost *border[2]; /* forward, backward: [body][from][to] */
    struct tail_cost *tail;        /* [stage] */
};

/* Compute the costs of all stages; they are in `arena`. */
struct stage_costs hp_stage_costs(struct lowering *lowering, struct task_costs *costs,
                                  struct arena *arena);

/* The time of a step: goes through the slots of the schedule. */
double hp_step_seconds(const struct lowering *lowering, const struct stage_costs *costs,
                       struct arena *arena);

/* The time of a pattern's comms, which start together: that of the longest comm, or of the link
 * that they occupy longest (*held_s, may be NULL). `of`: by comm, whether it counts; NULL: all
 * do. */
double hp_comms_seconds(struct task_costs *costs, const struct pattern *pattern,
                        int element_bytes, const bool *of, double *held_s);

/* The same of all comms, without caching their cost, which is taken from `arena`. */
double hp_comms_seconds_once(struct task_costs *costs, const struct pattern *pattern,
                             int element_bytes, struct arena *arena);

#endif /* SEARCH_ESTIMATE_ESTIMATE_H */
