/* In which order each device runs the halves of the micro-batches, and the updates. */
#include "program/program.h"

static struct slot forward(int stage, int micro)
{
    return (struct slot){ stage, micro, PHASE_FORWARD };
}

static struct slot backward(int stage, int micro)
{
    return (struct slot){ stage, micro, PHASE_BACKWARD };
}

/* Forward and backward of each micro-batch in turn: no pipeline, gradients accumulate. */
static void one_by_one(struct slot *slot, int stage, int n_micro)
{
    for (int m = 0; m < n_micro; m++) {
        *slot++ = forward(stage, m);
        *slot++ = backward(stage, m);
    }
}

/* GPipe: all forward, all backward. */
static void all_then_all(struct slot *slot, int stage, int n_micro)
{
    for (int m = 0; m < n_micro; m++)
        *slot++ = forward(stage, m);
    for (int m = 0; m < n_micro; m++)
        *slot++ = backward(stage, m);
}

void hp_alternate(struct slot *slot, int stage, int n_micro, int in_flight)
{
    int ahead = in_flight < n_micro ? in_flight : n_micro, back = 0;
    for (int m = 0; m < ahead; m++)
        *slot++ = forward(stage, m);
    while (back < n_micro) {
        *slot++ = backward(stage, back++);
        if (ahead < n_micro)
            *slot++ = forward(stage, ahead++);
    }
}

/* Forward phases alone: each minibatch of a replica with the end of its period, or all
 * micro-batches of a batch. */
static void forward_only(const struct iteration *r, int stage, int replica, struct slot *slot)
{
    int turns = r->pipe.replicas[stage];
    for (int m = replica; m < r->n_micro; m += turns) {
        *slot++ = forward(stage, m);
        if (r->delayed || m == r->n_micro - 1)
            *slot++ = (struct slot){ stage, r->delayed ? m / turns : 0, PHASE_UPDATE };
    }
}

/* PipeDream: a replica has one minibatch of each update period, with whose backward half it
 * updates. */
static void one_of_each_period(const struct iteration *r, int stage, int replica,
                               struct slot *slot)
{
    int turns = r->pipe.replicas[stage], n = hp_period_count(r, stage);
    struct slot *halves = slot + n; /* each is read before its place is written */
    hp_alternate(halves, stage, n, hp_pipedream_stage_in_flight(&r->pipe, stage));
    for (int i = 0; i < 2 * n; i++) {
        struct slot half = halves[i];
        *slot++ = (struct slot){ stage, half.micro * turns + replica, half.phase };
        if (half.phase == PHASE_BACKWARD)
            *slot++ = (struct slot){ stage, half.micro, PHASE_UPDATE };
    }
}

static void fill_slots(enum hypar_schedule_kind kind, const struct iteration *r, int stage,
                       int replica, struct slot *slot)
{
    if (r->forward) {
        forward_only(r, stage, replica, slot);
        return;
    }
    switch (kind) {
    case HYPAR_SCHEDULE_PIPEDREAM:
        one_of_each_period(r, stage, replica, slot);
        return;
    case HYPAR_SCHEDULE_GPIPE:
        all_then_all(slot, stage, r->n_micro);
        break;
    case HYPAR_SCHEDULE_1F1B: /* as many in flight as there are stages from here on */
        hp_alternate(slot, stage, r->n_micro, r->pipe.n_stages - stage);
        break;
    default:
        one_by_one(slot, stage, r->n_micro);
    }
    slot[2 * r->n_micro] = (struct slot){ stage, 0, PHASE_UPDATE };
}

/* The devices of a replica that has minibatches of its own do the same, else all of a stage. */
static void add_stage(struct schedule *s, const struct hypar_plan *plan,
                      const struct iteration *r, int stage, struct arena *arena)
{
    const int *device = plan->n_stages ? plan->stages[stage].device : plan->all_devices;
    int n_devices = plan->n_stages ? plan->stages[stage].n_devices : plan->n_all_devices;
    int replicas = r->pipe.replicas[stage], n = n_devices / replicas;
    int n_halves = (r->forward ? 1 : 2) * (r->n_micro / replicas);
    int n_slots = n_halves + hp_period_count(r, hp_slot_group(r, stage));
    for (int replica = 0; replica < replicas; replica++) {
        struct slot_list *list = &s->list[s->n_lists];
        *list = (struct slot_list){ n_slots, n, NEW(arena, struct slot, n_slots),
                                    device + replica * n };
        fill_slots(plan->schedule.kind, r, stage, replica, list->slot);
        for (int i = 0; i < n; i++)
            s->list_of[list->device[i]] = s->n_lists;
        s->n_lists++;
    }
}

struct schedule hp_make_schedule(const struct hypar_plan *plan, const struct iteration *r,
                                 struct arena *arena)
{
    struct schedule s = { .n_stages = r->pipe.n_stages };
    int n_lists = 0;
    s.stage_of_op = NEW(arena, int, plan->graph->n_ops);
    for (int op = 0; op < plan->graph->n_ops; op++)
        s.stage_of_op[op] = plan->ops[op].stage < 0 ? 0 : plan->ops[op].stage;
    for (int i = 0; i < s.n_stages; i++)
        n_lists += r->pipe.replicas[i];
    s.list = NEW(arena, struct slot_list, n_lists + 1);
    s.list_of = NEW(arena, int, plan->n_all_devices);
    for (int d = 0; d < plan->n_all_devices; d++)
        s.list_of[d] = n_lists;
    for (int i = 0; i < s.n_stages; i++)
        add_stage(&s, plan, r, i, arena);
    return s;
}
