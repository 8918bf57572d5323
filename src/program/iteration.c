/* The micro-batches, bodies and update periods of a plan. */
#include "program/iteration.h"

#include "base/error.h"
#include "plan/schedules.h"
#include "plan/slots.h"

static int common_divisor(int a, int b)
{
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Enough minibatches for the input stage to fill up twice, and for some steady periods. */
static int64_t default_minibatches(const struct iteration *r)
{
    enum { STEADY_MINIBATCHES = 32, STEADY_PERIODS = 8 };
    int64_t fill = (int64_t)hp_pipedream_stage_in_flight(&r->pipe, 0) * r->pipe.replicas[0];
    int64_t steady = (int64_t)STEADY_PERIODS * r->n_bodies;
    return 2 * fill + (steady > STEADY_MINIBATCHES ? steady : STEADY_MINIBATCHES);
}

/* Each stage has a forward and a backward half of every micro-batch, and an update or a
 * gradient phase. */
static enum hypar_status check_slots(const struct iteration *r, struct hypar_error *err)
{
    if ((int64_t)r->pipe.n_stages * r->n_micro <= HP_MAX_SLOTS / 3)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_UNSUPPORTED, "%d %s on %d stages, expected at most %d",
                   r->n_micro, r->delayed ? "minibatches" : "micro-batches", r->pipe.n_stages,
                   HP_MAX_SLOTS / 3 / r->pipe.n_stages);
}

/* Round up to whole periods of every stage. */
static enum hypar_status count_minibatches(struct iteration *r,
                                           const struct hypar_lower_options *options,
                                           struct hypar_error *err)
{
    int64_t n = options && options->minibatches ? options->minibatches : default_minibatches(r);
    n = (n + r->n_bodies - 1) / r->n_bodies * r->n_bodies;
    if (n < 1 || n > HP_MAX_MICRO_BATCHES)
        return hp_fail(err, HYPAR_UNSUPPORTED, "%lld minibatches, expected 1 to %d",
                       (long long)n, HP_MAX_MICRO_BATCHES);
    r->n_micro = r->n_batches = (int)n;
    return check_slots(r, err);
}

static enum hypar_status make_delayed(struct iteration *r, const struct hypar_plan *plan,
                                      const struct hypar_lower_options *options,
                                      struct hypar_error *err)
{
    if (plan->schedule.micro_batches > 1)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "schedule pipedream with %lld micro-batches cannot be lowered, expected "
                       "1: a minibatch is a whole batch",
                       (long long)plan->schedule.micro_batches);
    r->delayed = true;
    r->stash = plan->schedule.stash && !r->forward;
    r->sync = plan->schedule.vertical_sync && !r->forward;
    r->n_bodies = 1;
    for (int s = 0; s < r->pipe.n_stages; s++) {
        int64_t turns = r->pipe.replicas[s];
        int64_t all = r->n_bodies / common_divisor(r->n_bodies, (int)turns) * turns;
        if (all > HP_MAX_BODIES)
            return hp_fail(err, HYPAR_UNSUPPORTED,
                           "stage %d: with its %lld replicas minibatches take %lld different "
                           "sequences of replicas, expected at most %d",
                           s, (long long)turns, (long long)all, HP_MAX_BODIES);
        r->n_bodies = (int)all;
        r->period[s] = (int)turns;
    }
    return count_minibatches(r, options, err);
}

/* Does the plan separate the gradients of parameters from the backward half? */
static bool takes_apart(const struct hypar_plan *plan)
{
    for (int g = 0; g < plan->n_orders; g++)
        for (int i = 0; i < plan->order[g].n; i++)
            if (plan->order[g].slot[i].phase == PHASE_GRADIENT)
                return true;
    return hp_schedule_of(plan)->apart;
}

enum hypar_status hp_iteration_make(struct iteration *r, struct arena *arena,
                                    const struct hypar_plan *plan,
                                    const struct hypar_lower_options *options,
                                    struct hypar_error *err)
{
    int n_stages = plan->n_stages ? plan->n_stages : 1;
    int *replicas = NEW(arena, int, n_stages);
    for (int s = 0; s < n_stages; s++)
        replicas[s] = plan->n_stages && plan->stages[s].share == HYPAR_SHARE_MINIBATCH
                          ? plan->stages[s].replicas
                          : 1;
    *r = (struct iteration){ .forward = options && options->forward,
                             .pipe = { n_stages, replicas } };
    r->apart = !r->forward && takes_apart(plan);
    bool delayed = hp_is_delayed(plan);
    r->n_groups = delayed ? n_stages : 1;
    r->period = NEW(arena, int, r->n_groups);
    if (delayed)
        return make_delayed(r, plan, options, err);
    r->n_micro = r->period[0] = (int)plan->schedule.micro_batches;
    r->n_batches = 1;
    int larger = (int)(plan->graph->batch % r->n_micro); /* the larger ones come first */
    r->n_bodies = larger ? 2 : 1;
    r->n_larger = larger ? larger : r->n_micro;
    return check_slots(r, err);
}

int hp_last_in_period(const struct iteration *r, int group, int period, int body)
{
    if (!r->delayed)
        return hp_first_micro(r, body) + hp_body_times(r, body) - 1;
    int first = period * r->period[group];
    int ahead = (body - first % r->n_bodies + r->n_bodies) % r->n_bodies;
    return ahead < r->period[group] ? first + ahead : -1;
}

int hp_version_used(const struct iteration *r, int stage, int micro, bool backward)
{
    if (!r->delayed || r->forward)
        return 0;
    if (backward && !r->stash)
        return (int)hp_pipedream_newest(&r->pipe, stage, micro);
    return (int)hp_pipedream_version(&r->pipe, stage, micro, r->sync);
}

int hp_versions_kept(const struct iteration *r, int stage)
{
    int most = 1;
    for (int m = 0; r->stash && m < r->n_micro; m++) {
        int newest = (int)hp_pipedream_newest(&r->pipe, stage, m);
        int kept = newest - hp_version_used(r, stage, m, true) + 1;
        most = kept > most ? kept : most;
    }
    return most;
}
