/* In which order each stage runs the halves of the micro-batches. */
#include "program/lower.h"

/* Forward and backward of each micro-batch in turn: no pipeline, gradients accumulate. */
static void one_by_one(struct slot *slot, int n_micro)
{
    for (int m = 0; m < n_micro; m++) {
        *slot++ = (struct slot){ m, false };
        *slot++ = (struct slot){ m, true };
    }
}

/* GPipe: all forward, all backward. */
static void all_then_all(struct slot *slot, int n_micro)
{
    for (int m = 0; m < n_micro; m++)
        *slot++ = (struct slot){ m, false };
    for (int m = 0; m < n_micro; m++)
        *slot++ = (struct slot){ m, true };
}

void hp_alternate(struct slot *slot, int n_micro, int in_flight)
{
    int forward = in_flight < n_micro ? in_flight : n_micro, backward = 0;
    for (int m = 0; m < forward; m++)
        *slot++ = (struct slot){ m, false };
    while (backward < n_micro) {
        *slot++ = (struct slot){ backward++, true };
        if (forward < n_micro)
            *slot++ = (struct slot){ forward++, false };
    }
}

void hp_make_schedule(struct hypar_program *p)
{
    const struct hypar_plan *plan = p->plan;
    int n_micro = (int)plan->schedule.micro_batches;
    p->n_stages = plan->n_stages ? plan->n_stages : 1;
    p->slots_per_stage = 2 * n_micro;
    p->slot = NEW(&p->arena, struct slot, (size_t)p->n_stages * (size_t)p->slots_per_stage);
    p->stage_of_op = NEW(&p->arena, int, plan->graph->n_ops);
    for (int op = 0; op < plan->graph->n_ops; op++)
        p->stage_of_op[op] = plan->ops[op].stage < 0 ? 0 : plan->ops[op].stage;
    for (int s = 0; s < p->n_stages; s++) {
        struct slot *slot = p->slot + (size_t)s * (size_t)p->slots_per_stage;
        if (plan->schedule.kind == HYPAR_SCHEDULE_GPIPE)
            all_then_all(slot, n_micro);
        else if (plan->schedule.kind == HYPAR_SCHEDULE_1F1B)
            hp_alternate(slot, n_micro, p->n_stages - s); /* as many as stages from here */
        else
            one_by_one(slot, n_micro);
    }
}
