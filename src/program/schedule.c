/* In which order each stage runs the halves of the micro-batches. */
#include "program/program.h"

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

/* PipeDream: what one replica does in turn all do, each with its own minibatch of the period;
 * with the last backward half of a period they update. */
static void periods_in_turn(const struct iteration *r, int stage, struct slot *slot)
{
    int turns = r->pipe.replicas[stage], n = hp_period_count(r, stage);
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

static void fill_slots(enum hypar_schedule_kind kind, const struct iteration *r, int stage,
                       struct slot *slot)
{
    switch (kind) {
    case HYPAR_SCHEDULE_PIPEDREAM:
        periods_in_turn(r, stage, slot);
        return;
    case HYPAR_SCHEDULE_GPIPE:
        all_then_all(slot, r->n_micro);
        break;
    case HYPAR_SCHEDULE_1F1B:
        hp_alternate(slot, r->n_micro, r->pipe.n_stages - stage); /* as many as from here on */
        break;
    default:
        one_by_one(slot, r->n_micro);
    }
    slot[2 * r->n_micro] = (struct slot){ .update = true };
}

struct schedule hp_make_schedule(const struct hypar_plan *plan, const struct iteration *r,
                                 struct arena *arena)
{
    struct schedule s = { .n_stages = r->pipe.n_stages };
    s.stage_of_op = NEW(arena, int, plan->graph->n_ops);
    for (int op = 0; op < plan->graph->n_ops; op++)
        s.stage_of_op[op] = plan->ops[op].stage < 0 ? 0 : plan->ops[op].stage;
    s.slot_start = NEW(arena, int, s.n_stages + 1);
    for (int i = 0; i < s.n_stages; i++)
        s.slot_start[i + 1] =
            s.slot_start[i] + 2 * r->n_micro + hp_period_count(r, hp_slot_group(r, i));
    s.slot = NEW(arena, struct slot, s.slot_start[s.n_stages]);
    for (int i = 0; i < s.n_stages; i++)
        fill_slots(plan->schedule.kind, r, i, s.slot + s.slot_start[i]);
    return s;
}
