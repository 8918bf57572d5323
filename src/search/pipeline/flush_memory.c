/* What a pipeline that flushes needs, before there is a program: at least, and about. */
#include <math.h>

#include "plan/schedules.h"
#include "search/pipeline/flush.h"

int64_t hp_flush_in_flight(const struct choosing *c, const struct flush_candidate *k, int s)
{
    struct pipeline_size size = { k->cut->n_stages, 1, k->micro_batches };
    return (int64_t)hp_in_flight(c->schedule, &size, s);
}

double hp_flush_closed_bytes(const struct choosing *c, const struct flush_candidate *k, int s)
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

static double stage_bytes(const struct choosing *c, const struct flush_candidate *k, int s,
                          double in_flight)
{
    struct batch_share share = { c->problem->graph->batch, k->micro_batches, (int64_t)in_flight,
                                 k->cut->replicas };
    return k->cut->needs ? hp_least_need(&k->cut->needs[s], &share)
                         : hp_flush_closed_bytes(c, k, s);
}

void hp_flush_memory(const struct choosing *c, struct flush_candidate *k)
{
    struct pipeline_size size = { k->cut->n_stages, 1, k->micro_batches };
    struct fullest least = { .device = -1 };
    k->memory = least;
    for (int s = 0; s < k->cut->n_stages; s++) {
        int device = k->cut->device[s];
        double room = hp_room(c->problem, device);
        hp_look_at_memory(&k->memory, device,
                          stage_bytes(c, k, s, hp_in_flight(c->schedule, &size, s)), room);
        hp_look_at_memory(&least, device,
                          stage_bytes(c, k, s, hp_least_in_flight(c->schedule, &size, s)),
                          room);
    }
    k->least_part = least.part;
}
