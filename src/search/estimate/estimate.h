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
 *   the end     Gradients are summed beside the last backward half, then parameters updated.
 *   memory      What lasts, what each micro-batch in flight keeps at each slot, and the most
 *               that the slot at hand has at once. */
#ifndef SEARCH_ESTIMATE_ESTIMATE_H
#define SEARCH_ESTIMATE_ESTIMATE_H

#include "program/lowering.h"
#include "sim/task_costs.h"

/* The fullest device, without the framework's bytes. */
struct memory_estimate {
    struct fullest least; /* what lasts, and what micro-batches in flight keep */
    struct fullest about;
    struct fullest most; /* as if micro-batches in flight kept all that they touch */
};

struct step_estimate {
    double step_s; /* of pipedream: of a minibatch, once all stages are busy */
    struct memory_estimate memory;
};

/* `how` NULL: as the plan says; `limit_bytes`: of each device's memory, 0: its own. Fails as
 * hp_lower() does. */
enum hypar_status hp_estimate(const struct hypar_plan *plan,
                              const struct hypar_sim_options *how, double limit_bytes,
                              struct step_estimate *out, struct hypar_error *err);

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

/* The time of a step, from the slots. */
double hp_step_seconds(const struct lowering *lowering, const struct stage_costs *costs,
                       struct arena *arena);

/* What the fullest device needs. */
struct memory_estimate hp_estimate_memory(struct lowering *lowering, double limit_bytes,
                                          struct arena *arena);

/* By device: the number of stages of the devices before it; stage s of the device is number
 * schedule.place[s] of its own. */
int *hp_first_stages(const struct lowering *lowering, struct arena *arena);

/* Comms of a pattern start together: the longest decides, or the link that they hold longest
 * (*held_s, may be NULL). `of`, by comm: which of them; NULL: all. */
double hp_comms_seconds(struct task_costs *costs, const struct pattern *pattern,
                        int element_bytes, const bool *of, double *held_s);

/* Do all devices of a comm have the same slots? */
bool hp_is_inside(const struct lowering *lowering, const struct comm *comm);

#endif /* SEARCH_ESTIMATE_ESTIMATE_H */
