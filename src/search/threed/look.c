/* Layouts built and simulated, the best of them kept. */
#include "search/threed/look.h"

#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "search/evaluate/fit.h"
#include "search/runs.h"

enum {
    MOST_TASKS = 1 << 22, /* about so many parts of all micro-batches are simulated, together */
    MOST_DEVICES = 1 << 12, /* beyond that none */
};

/* State is counted from splits, biases of partial sums more often than there are: what needs so
 * much more than there is does not fit. */
static const double MOST_STATE = 1.1;

enum hypar_status hp_threed_plan(const struct problem *problem,
                                 const struct hypar_layout *layout, struct hypar_plan **out,
                                 struct hypar_error *err)
{
    *out = hp_plan_new(problem->graph, problem->machine, &problem->settings);
    enum hypar_status status = hp_plan_set_layout_at(*out, layout, problem->borders, err);
    if (status == HYPAR_OK)
        status = hypar_plan_check(*out, err);
    if (status == HYPAR_OK)
        status = hp_check_runs(problem, *out, err);
    if (status != HYPAR_OK) {
        hypar_plan_free(*out);
        *out = NULL;
    }
    return status;
}

static bool is_known(const struct looking *l, const struct hypar_layout *layout)
{
    for (int i = 0; i < l->n; i++) {
        const struct hypar_layout *s = &l->looked[i].weighed.layout;
        if (s->data == layout->data && s->tensor == layout->tensor &&
            s->pipeline == layout->pipeline && s->chunks == layout->chunks &&
            s->micro_batches == layout->micro_batches && s->schedule == layout->schedule &&
            s->sequence_parallel == layout->sequence_parallel &&
            s->recompute == layout->recompute && s->shard == layout->shard)
            return true;
    }
    return false;
}

/* About how many parts hp_simulate_reduced() has of all micro-batches that it simulates. */
static double reduced_tasks(const struct hypar_plan *plan)
{
    double micro = (double)plan->schedule.micro_batches;
    return (double)hp_plan_parts(plan) * fmin(micro, 2 * plan->n_stages + 2);
}

/* Simulated, or in closed form what cannot be: its memory by its program, if it has one. What
 * does not fit by its state alone is not worth either. */
static void simulate(struct looking *l, const struct hypar_plan *plan, struct looked *out)
{
    struct reduced_step step;
    bool small = hypar_machine_device_count(plan->machine) <= MOST_DEVICES;
    out->memory = hp_plan_fullest(plan, l->problem->options->memory_bytes);
    out->state_fits = out->memory.part <= MOST_STATE;
    out->step_s = out->weighed.step_s;
    if (!out->state_fits)
        return;
    l->tasks += reduced_tasks(plan);
    if (small && hp_simulate_reduced(l->problem, plan, l->problem->options->stop, &step,
                                     NULL) == HYPAR_OK) {
        out->step_s = step.step_s;
        out->memory = step.memory;
        out->part = step;
        return;
    }
    l->unseen = true;
    if (hp_exact_need(l->problem, plan, NULL, &out->memory, NULL) == HYPAR_OK)
        return;
    out->memory = (struct fullest){ .device = -1 };
    hp_look_at_memory(&out->memory, 0, out->weighed.memory_bytes, hp_least_room(l->problem));
}

bool hp_looks_better(const struct looked *a, const struct looked *b)
{
    bool fits = a->memory.part <= 1;
    if (fits != (b->memory.part <= 1))
        return fits;
    if (a->state_fits != b->state_fits)
        return a->state_fits;
    return fits ? a->step_s < b->step_s : a->memory.part < b->memory.part;
}

bool hp_look(struct looking *l, const struct weighed *weighed, struct looked *out)
{
    struct hypar_plan *plan;
    struct hypar_error unused;
    if (is_known(l, &weighed->layout))
        return false;
    l->looked = GROW(l->arena, struct looked, l->looked, l->n, &l->capacity);
    struct looked *mine = &l->looked[l->n++];
    *mine = (struct looked){ .weighed = *weighed, .step_s = INFINITY };
    if (hp_threed_plan(l->problem, &weighed->layout, &plan, l->n == 1 ? &l->first : &unused) !=
        HYPAR_OK)
        return false;
    simulate(l, plan, mine);
    *out = *mine;
    bool better = !l->plan || hp_looks_better(mine, &l->best);
    hypar_plan_free(better ? l->plan : plan);
    if (better) {
        l->plan = plan;
        l->best = *mine;
    }
    return true;
}

bool hp_looked_enough(const struct looking *l)
{
    bool fits = l->plan && l->best.memory.part <= 1;
    return hp_stopped(l->problem->options->stop) ||
           (fits && (l->unseen || l->tasks >= MOST_TASKS)) || l->tasks >= 4.0 * MOST_TASKS;
}
