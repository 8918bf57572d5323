/* In which order each stage runs the halves of the micro-batches. */
#include "program/lower.h"

/* Forward and backward of each micro-batch in turn: no pipeline, gradients accumulate. */
static void one_by_one(struct slot *slot, int n_micro)
{
    for (int m = 0; m < n_micro; m++) {
        *slot++ = (struct slot){ .micro = m };
        *slot++ = (struct slot){ .micro = m, .backward = true };
    }
}

/* GPipe: all forward, all backward. */
static void all_then_all(struct slot *slot, int n_micro)
{
    for (int m = 0; m < n_micro; m++)
        *slot++ = (struct slot){ .micro = m };
    for (int m = 0; m < n_micro; m++)
        *slot++ = (struct slot){ .micro = m, .backward = true };
}

void hp_alternate(struct slot *slot, int n_micro, int in_flight)
{
    int forward = in_flight < n_micro ? in_flight : n_micro, backward = 0;
    for (int m = 0; m < forward; m++)
        *slot++ = (struct slot){ .micro = m };
    while (backward < n_micro) {
        *slot++ = (struct slot){ .micro = backward++, .backward = true };
        if (forward < n_micro)
            *slot++ = (struct slot){ .micro = forward++ };
    }
}

/* PipeDream: what one replica does in turn all do, each with its own minibatch of the round;
 * with the last backward half of a round they update. */
static void rounds_in_turn(struct hypar_program *p, int stage, struct slot *slot)
{
    const struct rhythm *r = p->rhythm;
    int turns = r->pipe.replicas[stage], n = hp_round_count(r, stage);
    struct arena scratch = { 0 };
    struct slot *one = NEW(&scratch, struct slot, 2 * n);
    hp_pipedream_order(&r->pipe, stage, n, one);
    for (int i = 0; i < 2 * n; i++) {
        for (int replica = 0; replica < turns; replica++)
            *slot++ = (struct slot){ .micro = one[i].micro * turns + replica,
                                     .backward = one[i].backward };
        if (one[i].backward)
            *slot++ = (struct slot){ .micro = one[i].micro, .update = true };
    }
    hp_arena_free(&scratch);
}

static void fill_slots(struct hypar_program *p, int stage, struct slot *slot)
{
    int n_micro = p->rhythm->n_micro;
    switch (p->plan->schedule.kind) {
    case HYPAR_SCHEDULE_PIPEDREAM:
        rounds_in_turn(p, stage, slot);
        return;
    case HYPAR_SCHEDULE_GPIPE:
        all_then_all(slot, n_micro);
        break;
    case HYPAR_SCHEDULE_1F1B:
        hp_alternate(slot, n_micro, p->n_stages - stage); /* as many as stages from here */
        break;
    default:
        one_by_one(slot, n_micro);
    }
    slot[2 * n_micro] = (struct slot){ .update = true };
}

void hp_make_schedule(struct hypar_program *p)
{
    const struct hypar_plan *plan = p->plan;
    p->n_stages = p->rhythm->pipe.n_stages;
    p->stage_of_op = NEW(&p->arena, int, plan->graph->n_ops);
    for (int op = 0; op < plan->graph->n_ops; op++)
        p->stage_of_op[op] = plan->ops[op].stage < 0 ? 0 : plan->ops[op].stage;
    p->slot_start = NEW(&p->arena, int, p->n_stages + 1);
    for (int s = 0; s < p->n_stages; s++)
        p->slot_start[s + 1] = p->slot_start[s] + 2 * p->rhythm->n_micro +
                               hp_round_count(p->rhythm, hp_slot_group(p, s));
    p->slot = NEW(&p->arena, struct slot, p->slot_start[p->n_stages]);
    for (int s = 0; s < p->n_stages; s++)
        fill_slots(p, s, p->slot + p->slot_start[s]);
}
