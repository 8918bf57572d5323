/* search/estimate/estimate.h - what a step of a plan with stages takes, before there is a
 * program. Internal.
 *
 * The lowering (program/lowering.h) has the parts of each operator and what the exchange rule
 * moves between them. From these, without tasks and without a simulation:
 *
 *   a stage     Of one micro-batch, forward, backward and, where the schedule takes them apart,
 *               gradients: what the kernel model says of all passes of its busiest device, and
 *               the exchanges that its devices wait for. Exchanges of parameters pass beside.
 *   a pipeline  The slots of the schedule, one after the other on each group of devices; each
 *               waits for what its stage receives.
 *   the end     Gradients are summed beside the last backward half, then parameters updated. */
#ifndef SEARCH_ESTIMATE_ESTIMATE_H
#define SEARCH_ESTIMATE_ESTIMATE_H

#include "program/lowering.h"
#include "sim/task_costs.h"

/* The time of a step; of pipedream: of a minibatch, once all stages are busy. `how` NULL: as
 * the plan says. Fails as hp_lower() does. */
enum hypar_status hp_estimate(const struct hypar_plan *plan,
                              const struct hypar_sim_options *how, double *step_s,
                              struct hypar_error *err);

/* The parts of it ----------------------------------------------------------------------- */

enum { N_PHASES = PHASE_UPDATE };

/* What a stage takes for a micro-batch. */
struct stage_cost {
    double phase_s[N_PHASES];
    bool gathers[N_PHASES]; /* parameters, before operators can begin */
    /* Sums of gradients that are divided: how long they hold links, and how long that lasts
     * after the phase. */
    double sums_s[N_PHASES], late_s[N_PHASES];
};

/* What one stage sends another for a micro-batch: until it has come, and how long the fullest
 * link is held. */
struct hop_cost {
    double s, held_s;
};

/* What a stage does once a step. */
struct tail_cost {
    /* Gradients over replicas, and parameters that were updated in parts: how long they hold
     * links, and what comes last. */
    double sums_s, last_sum_s, gathers_s, last_gather_s;
    double update_s; /* of the busiest device */
};

struct stage_costs {
    int n_stages, n_bodies;
    struct stage_cost *stage; /* [body][stage] */
    struct hop_cost *hop[2];  /* forward, backward: [body][from][to] */
    struct tail_cost *tail;   /* [stage] */
};

/* Work them out; taken from `arena`. */
struct stage_costs hp_stage_costs(struct lowering *lowering, struct task_costs *costs,
                                  struct arena *arena);

/* Comms of a pattern start together: the longest decides, or the link that they hold longest
 * (*held_s, may be NULL). `of`, by comm: which of them; NULL: all. */
double hp_comms_seconds(struct task_costs *costs, const struct pattern *pattern,
                        int element_bytes, const bool *of, double *held_s);

#endif /* SEARCH_ESTIMATE_ESTIMATE_H */
