/* Pipelines that flush, chosen by simulated steps: the closed form knows neither what kernels
 * lose on small micro-batches nor what overlaps. */
#include <math.h>

#include "search/evaluate/reduced.h"
#include "search/pipeline/flush.h"

enum {
    MOST_CUTS = 8,        /* where not all can be simulated, from the best in closed form on */
    MOST_TASKS = 1 << 20, /* together, about */
    MOST_DEVICES = 1 << 12,
    MOST_MICRO_BATCHES = 1 << 12, /* slot by slot */
};

struct simulating {
    const struct choosing *c;
    double tasks;
    struct candidate *best; /* NULL: none was simulated */
};

/* Tasks of a step, as far as they are simulated: of one replica of each stage, in as many
 * micro-batches as fill the pipeline. */
static double tasks_of(const struct choosing *c, const struct candidate *k)
{
    double micro = fmin((double)k->micro_batches, 6.0 * k->cut->n_stages + 6), passes = 0;
    for (int op = 0; op < c->problem->graph->n_ops; op++)
        passes += c->problem->graph->ops[op].nest->n_passes;
    return passes * (micro + k->cut->replicas);
}

/* Its simulated step; INFINITY: it does not fit, cannot be simulated, or would take too long.
 */
static double simulate(struct simulating *s, struct candidate *k)
{
    struct reduced_step step;
    const struct problem *problem = s->c->problem;
    if (k->simulated_s > 0)
        return k->simulated_s;
    k->simulated_s = INFINITY;
    double tasks = tasks_of(s->c, k);
    if (s->tasks + tasks > MOST_TASKS || k->micro_batches > MOST_MICRO_BATCHES ||
        !hp_flush_fits(s->c, k) || hp_stopped(problem->options->stop))
        return INFINITY;
    struct hypar_plan *plan = hp_flush_plan(s->c, k);
    if (hp_simulate_reduced(problem, plan, problem->options->stop, &step, NULL) == HYPAR_OK) {
        k->simulated_s = step.step_s;
        s->tasks += tasks;
        if (!s->best || step.step_s < s->best->simulated_s)
            s->best = k;
    }
    hypar_plan_free(plan);
    return k->simulated_s;
}

/* Fewer micro-batches while that is faster, then more. */
static void descend(struct simulating *s, struct depth *d)
{
    int at = 0;
    for (int i = 0; i < d->n; i++)
        if (d->candidate[i].verdict != TOO_LARGE &&
            (d->candidate[at].verdict == TOO_LARGE ||
             d->candidate[i].step_s < d->candidate[at].step_s))
            at = i;
    double here_s = simulate(s, &d->candidate[at]);
    for (int step = -1; step <= 1; step += 2)
        for (int i = at + step; i >= 0 && i < d->n; i += step) {
            double next_s = simulate(s, &d->candidate[i]);
            if (!(next_s < here_s))
                break;
            here_s = next_s;
        }
}

struct candidate *hp_flush_simulated(const struct choosing *c, struct depth **order, int n,
                                     struct candidate *best)
{
    struct simulating s = { .c = c };
    int n_all = 0;
    double tasks = 0;
    for (int d = 0; d < n; d++)
        for (int i = 0; i < order[d]->n; i++, n_all++)
            tasks += tasks_of(c, &order[d]->candidate[i]);
    if (n_all == 1 || !c->needs ||
        hypar_machine_device_count(c->problem->machine) > MOST_DEVICES)
        return best;
    for (int d = 0; d < n && tasks <= MOST_TASKS; d++)
        for (int i = 0; i < order[d]->n; i++)
            simulate(&s, &order[d]->candidate[i]);
    for (int d = 0; d < n && d < MOST_CUTS && tasks > MOST_TASKS; d++)
        descend(&s, order[d]);
    return s.best ? s.best : best;
}
