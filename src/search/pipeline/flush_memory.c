/* Whether a pipeline that flushes fits: its exact need, where the bounds do not tell. Most
 * candidates are far from the limit. */
#include <math.h>

#include "plan/schedules.h"
#include "search/pipeline/flush.h"

int64_t hp_flush_in_flight(const struct choosing *c, const struct candidate *k, int s)
{
    struct pipeline_size size = { k->cut->n_stages, 1, k->micro_batches };
    return (int64_t)hp_in_flight(c->schedule, &size, s);
}

double hp_flush_closed_bytes(const struct choosing *c, const struct candidate *k, int s)
{
    const struct pipeline_states *cost = &c->states->cost;
    const struct pipeline_stage *p = &k->cut->stage[s];
    double share = (double)hp_flush_in_flight(c, k, s) / (double)k->micro_batches;
    return hp_stage_sum(cost->weight_bytes, p) + hp_stage_sum(cost->fixed_bytes, p) +
           share / k->cut->replicas * hp_stage_sum(cost->activation_bytes, p);
}

/* The device of a stage that has least. */
static int smallest_device(const struct choosing *c, const struct flush_cut *cut, int s)
{
    int least = s * cut->replicas;
    if (c->problem->options->memory_bytes > 0 || hypar_machine_is_uniform(c->problem->machine))
        return least;
    for (int d = least; d < (s + 1) * cut->replicas; d++)
        least = hp_room(c->problem, d) < hp_room(c->problem, least) ? d : least;
    return least;
}

void hp_flush_sum_up(const struct choosing *c, struct flush_cut *cut)
{
    cut->device = NEW(c->arena, int, cut->n_stages);
    cut->needs = c->needs ? NEW(c->arena, struct op_needs, cut->n_stages) : NULL;
    for (int s = 0; s < cut->n_stages; s++) {
        cut->device[s] = smallest_device(c, cut, s);
        for (int op = 0; op < c->problem->graph->n_ops && cut->needs; op++)
            if (hp_state_has(c->states, cut->stage[s].last, op) &&
                !hp_state_has(c->states, cut->stage[s].after, op))
                hp_add_needs(&cut->needs[s], &c->needs[op]);
    }
}

static struct batch_share share_of(const struct choosing *c, const struct candidate *k, int s)
{
    return (struct batch_share){ c->problem->graph->batch, k->micro_batches,
                                 hp_flush_in_flight(c, k, s), k->cut->replicas };
}

void hp_flush_bound(const struct choosing *c, struct candidate *k)
{
    double most_part = 0;
    k->least_part = 0;
    if (!k->cut->needs) {
        k->least_part = hp_flush_need(c, k).part;
        k->verdict = k->least_part <= 1 ? FITS : TOO_LARGE;
        return;
    }
    for (int s = 0; s < k->cut->n_stages; s++) {
        const struct op_needs *needs = &k->cut->needs[s];
        struct batch_share share = share_of(c, k, s);
        double has = hp_room(c->problem, k->cut->device[s]);
        k->least_part = fmax(k->least_part, hp_least_need(needs, &share) / has);
        most_part = fmax(most_part, hp_most_need(needs, &share) / has);
    }
    k->verdict = k->least_part > 1 ? TOO_LARGE : most_part <= 1 ? FITS : UNKNOWN;
}

static struct fullest closed_need(const struct choosing *c, const struct candidate *k)
{
    struct fullest f = { .device = -1 };
    for (int s = 0; s < k->cut->n_stages; s++)
        hp_look_at_memory(&f, k->cut->device[s], hp_flush_closed_bytes(c, k, s),
                          hp_room(c->problem, k->cut->device[s]));
    return f;
}

struct fullest hp_flush_need(const struct choosing *c, const struct candidate *k)
{
    struct fullest f;
    if (!k->cut->needs)
        return closed_need(c, k);
    struct hypar_plan *plan = hp_flush_plan(c, k);
    if (hp_exact_need(c->problem, plan, NULL, &f, NULL) != HYPAR_OK)
        f = closed_need(c, k);
    hypar_plan_free(plan);
    return f;
}

bool hp_flush_fits(const struct choosing *c, struct candidate *k)
{
    if (k->verdict == UNKNOWN)
        k->verdict = hp_flush_need(c, k).part <= 1 ? FITS : TOO_LARGE;
    return k->verdict == FITS;
}
