/* Runs random searches (flexflow) for auto, as many as take little time; a budget or a number
 * of proposals replaces this limit. */
#include <math.h>

#include "base/stop.h"
#include "machine/machine.h"
#include "search/limits.h"
#include "search/nearby.h"

enum {
    MOST_WORK =
        HP_MOMENT_TASKS / 4, /* limit of tasks times devices, without a budget: seconds */
    MOST_RUNS = 4,           /* limit without a budget */
    MOST_SMALL_RUNS = 10,    /* ... if each search takes little time */
};

/* The work of simulating many plans like this one (NULL: like a plan that divides every
 * operator): tasks times devices, because both the tasks and the exchanges of a changed
 * operator grow with the devices. A search `alone` has one micro-batch, whatever the plan's
 * schedule. */
static double work_of(const struct problem *problem, const struct hypar_plan *plan, bool alone)
{
    const struct hypar_graph *g = problem->graph;
    double tasks = 0, devices = hypar_machine_device_count(problem->machine);
    double micro = plan && !alone ? (double)plan->schedule.micro_batches : 1;
    for (int op = 0; op < g->n_ops; op++)
        tasks += g->ops[op].nest->n_passes * (plan ? plan->ops[op].n_parts : devices);
    return tasks * fmax(micro, 1) * devices;
}

/* Are all parts of the plan on the first `n` devices? */
static bool is_within(const struct hypar_plan *plan, int n)
{
    for (int op = 0; op < plan->graph->n_ops; op++)
        for (int i = 0; i < plan->ops[op].n_devices; i++)
            if (plan->ops[op].device[i] >= n)
                return false;
    return true;
}

struct runs {
    const struct planner *random;
    const struct problem *problem;
    const struct random_start *start;
    struct hypar_found *best;
    struct verdict verdict;
    int n;
    int rows; /* rows of the first search */
    double work;
    enum hypar_status status; /* of the last search */
};

/* Is the new result better? If neither fits in memory, the one that needs less is better. */
static bool is_better(const struct runs *r, const struct verdict *v)
{
    bool fits = hp_fits(&v->memory), has = r->best && hp_fits(&r->verdict.memory);
    if (!r->best || fits != has)
        return !r->best || fits;
    return fits ? v->step_s < r->verdict.step_s : v->memory.part < r->verdict.memory.part;
}

/* The best plan so far, on this machine; NULL: it uses other devices. Its parameters are not
 * sharded, because a random change may leave a device without copies to shard with. */
static struct hypar_plan *best_plan(const struct runs *r, const struct problem *there)
{
    const struct hypar_plan *known = r->start->known;
    if (r->best && hp_fits(&r->verdict.memory) &&
        (!known || r->verdict.step_s < r->start->step_s))
        known = r->best->plan;
    if (!known || !is_within(known, hypar_machine_device_count(there->machine)))
        return NULL;
    struct hypar_plan *plan = hp_plan_carry(known, there->machine, NULL, &there->settings);
    for (int op = 0; op < plan->graph->n_ops; op++) {
        plan->ops[op].shard = HYPAR_SHARD_NONE;
        plan->ops[op].shard_over = 0;
    }
    return plan;
}

/* Run another search, on the machine or (`nearby`) on a part of it. `alone`: without the best
 * plan as a start. */
static void run_on(struct runs *r, const struct nearby *nearby, bool alone,
                   struct hypar_error *err)
{
    const struct problem *there = nearby ? &nearby->problem : r->problem;
    struct hypar_search_options with = *there->options;
    struct problem from = *there;
    struct hypar_plan *known = alone ? NULL : best_plan(r, there);
    struct hypar_found *found;
    with.seed += r->n;
    from.options = &with;
    from.known = known;
    r->status = hp_try_divided(r->random, &from, &found, err);
    hypar_plan_free(known);
    r->n++;
    if (r->status != HYPAR_OK)
        return;
    struct verdict v =
        nearby ? hp_carry_found(r->problem, nearby, found) : hp_verdict(r->problem, found);
    if (!is_better(r, &v)) {
        hypar_found_free(found);
        return;
    }
    hypar_found_free(r->best);
    r->best = found;
    r->verdict = v;
}

/* Run a search on this number of rows, if it takes no longer than the limits allow. */
static void run_unasked(struct runs *r, int rows, bool alone, struct hypar_error *err)
{
    struct nearby n = { 0 };
    bool all = rows >= hp_machine_rows(r->problem->machine);
    if (r->n >= MOST_SMALL_RUNS || hp_stopped(r->problem->options->stop) ||
        (!all && !hp_nearby_begin(&n, r->problem, rows, 1)))
        return;
    const struct problem *there = all ? r->problem : &n.problem;
    double work = work_of(there, r->start->like, alone);
    bool small = r->n < MOST_RUNS || work <= MOST_WORK / 16;
    if (small && work <= MOST_WORK && r->work + work <= 2 * MOST_WORK) {
        r->work += work;
        r->rows = r->n ? r->rows : rows;
        run_on(r, all ? NULL : &n, alone, err);
    }
    hp_nearby_end(&n);
}

/* First run alone, on as many rows as the limits allow. Then, if a plan fits, start from the
 * best plan: on its rows, on all rows, on fewer and fewer rows, and again on all rows while the
 * limits allow. */
static void run_on_parts(struct runs *r, struct hypar_error *err)
{
    const struct hypar_machine *machine = r->problem->machine;
    int all = hp_machine_rows(machine), best = r->start->rows, before = -1;
    for (int rows = all; rows > 0 && r->n == 0; rows = hp_machine_fewer_rows(machine, rows))
        run_unasked(r, rows, true, err);
    if (r->start->known && best > 0 && best < all)
        run_unasked(r, best, false, err);
    for (int rows = r->start->known ? all : 0; rows > 0;
         rows = hp_machine_fewer_rows(machine, rows))
        if (rows == all || rows != best)
            run_unasked(r, rows, false, err);
    while (r->start->known && before != r->n) {
        before = r->n;
        run_unasked(r, all, false, err);
    }
    if (r->n == 0)
        r->status = hp_fail(err, HYPAR_UNSUPPORTED,
                            "not tried, it takes long here; --budget 60s lets it");
}

enum hypar_status hp_search_at_random(const struct planner *random,
                                      const struct problem *problem,
                                      const struct random_start *start,
                                      struct hypar_found **out, struct verdict *verdict,
                                      struct hypar_error *err)
{
    const struct hypar_search_options *o = problem->options;
    struct runs r = { .random = random, .problem = problem, .start = start };
    if (o->budget_s > 0 || o->proposals > 0)
        run_on(&r, NULL, true, err);
    else
        run_on_parts(&r, err);
    if (r.best)
        *err = (struct hypar_error){ 0 };
    if (r.rows > 0 && r.rows < hp_machine_rows(problem->machine))
        hp_fail(err, HYPAR_UNSUPPORTED,
                "by itself tried on a part of the machine, it takes long here; --budget 60s "
                "lets it have all");
    *out = r.best;
    *verdict = r.verdict;
    return r.best ? HYPAR_OK : r.status;
}
