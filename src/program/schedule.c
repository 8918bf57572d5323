/* In which order each device runs the halves of the micro-batches, and the updates. */
#include "program/program.h"

#include <assert.h>
#include <string.h>

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

/* Interleaved (Megatron-LM; Narayanan et al., SC 2021, section 2.2): micro-batches go p at a
 * time through all chunks of a device, `k`-th of all that it does forward. */
static struct slot interleaved_slot(const struct slot_list *list, int p, int k, bool back)
{
    int v = list->n_stages, chunk = k % (p * v) / p, micro = k / (p * v) * p + k % p;
    return back ? backward(list->stage[v - 1 - chunk], micro)
                : forward(list->stage[chunk], micro);
}

static void interleave(struct slot *slot, const struct slot_list *list, int p, int n_micro)
{
    int n = n_micro * list->n_stages;
    int ahead = 2 * (p - 1 - list->stage[0]) + (list->n_stages - 1) * p;
    ahead = ahead < n ? ahead : n;
    for (int k = 0; k < ahead; k++)
        *slot++ = interleaved_slot(list, p, k, false);
    for (int k = 0; k < n; k++) {
        if (ahead + k < n)
            *slot++ = interleaved_slot(list, p, ahead + k, false);
        *slot++ = interleaved_slot(list, p, k, true);
    }
}

/* Zero bubble (Qi et al., ICLR 2024, section 2): 1F1B with `in_flight` micro-batches forward at
 * first; gradients come `late` micro-batches after the errors, so that with those that still
 * wait for theirs every device has as many as the first one, and gradients are left for the
 * time in which 1F1B waits for the last errors. */
static void delay_gradients(struct slot *slot, int stage, int n_micro, int in_flight, int late)
{
    int ahead = in_flight < n_micro ? in_flight : n_micro, done = 0;
    for (int m = 0; m < ahead; m++)
        *slot++ = forward(stage, m);
    for (int back = 1; back <= n_micro; back++) {
        *slot++ = backward(stage, back - 1);
        if (back - done > late)
            *slot++ = (struct slot){ stage, done++, PHASE_GRADIENT };
        if (ahead < n_micro)
            *slot++ = forward(stage, ahead++);
    }
    while (done < n_micro)
        *slot++ = (struct slot){ stage, done++, PHASE_GRADIENT };
}

/* The slots of a group of devices, all but the update; returns how many. */
static int fill_order(const struct hypar_plan *plan, const struct iteration *r, int group,
                      const struct slot_list *list, struct slot *slot)
{
    int stage = list->stage[0], from_here = r->pipe.n_stages - stage;
    switch (plan->schedule.kind) {
    case HYPAR_SCHEDULE_INTERLEAVED:
        interleave(slot, list, r->pipe.n_stages / plan->schedule.chunks, r->n_micro);
        return 2 * list->n_stages * r->n_micro;
    case HYPAR_SCHEDULE_ZB_H1:
        delay_gradients(slot, stage, r->n_micro, from_here, stage);
        return 3 * r->n_micro;
    case HYPAR_SCHEDULE_ZB_H2:
        delay_gradients(slot, stage, r->n_micro, 2 * from_here - 1, 2 * stage);
        return 3 * r->n_micro;
    default:
        assert(plan->schedule.kind == HYPAR_SCHEDULE_SLOTS);
        memcpy(slot, plan->order[group].slot, (size_t)plan->order[group].n * sizeof *slot);
        return plan->order[group].n;
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
        *list = (struct slot_list){ .n_slots = n_slots,
                                    .n_devices = n,
                                    .slot = NEW(arena, struct slot, n_slots),
                                    .device = device + replica * n,
                                    .n_stages = 1,
                                    .stage = NEW(arena, int, 1) };
        list->stage[0] = stage;
        fill_slots(plan->schedule.kind, r, stage, replica, list->slot);
        for (int i = 0; i < n; i++)
            s->list_of[list->device[i]] = s->n_lists;
        s->n_lists++;
    }
}

/* Groups of devices -------------------------------------------------------------------- */

static void add_group(struct schedule *s, const struct hypar_plan *plan,
                      const struct iteration *r, const struct device_groups *groups, int g,
                      struct arena *arena)
{
    struct slot_list *list = &s->list[s->n_lists];
    const struct hypar_stage *first = &plan->stages[groups->first[g]];
    *list = (struct slot_list){ .n_devices = first->n_devices, .device = first->device };
    list->stage = NEW(arena, int, plan->n_stages);
    for (int i = 0; i < plan->n_stages; i++)
        if (groups->of_stage[i] == g) {
            s->place[i] = list->n_stages;
            list->stage[list->n_stages++] = i;
        }
    s->several |= list->n_stages > 1;
    list->slot = NEW(arena, struct slot, PHASE_UPDATE * list->n_stages * r->n_micro + 1);
    int n = fill_order(plan, r, g, list, list->slot);
    for (int i = 0; i < n; i++)
        if (!r->forward || list->slot[i].phase == PHASE_FORWARD)
            list->slot[list->n_slots++] = list->slot[i];
    list->slot[list->n_slots++] = (struct slot){ list->stage[0], 0, PHASE_UPDATE };
    for (int i = 0; i < list->n_devices; i++)
        s->list_of[list->device[i]] = s->n_lists;
    s->n_lists++;
}

/* When stages that receive what a slot sends have got that far: those that it reads from, or,
 * where there is no way back, those that read from it. */
static int received_at(const struct slot_race *race, const int *time, const struct slot *slot)
{
    const struct stage_edges *e = race->edges;
    bool back = slot->phase == PHASE_BACKWARD;
    const int *start = back ? e->reads_start : e->read_by_start;
    const int *list = back ? e->reads : e->read_by;
    int latest = 0;
    for (int i = start[slot->stage]; i < start[slot->stage + 1]; i++) {
        struct slot to = { list[i], slot->micro, slot->phase };
        int at = time[hp_slot_place(race, &to)];
        latest = at > latest ? at : latest;
    }
    return latest;
}

/* What a slot of the last half sends, and what those of the same micro-batch sent before, is
 * held until a slot that is over no sooner than those in which it is received, if all take the
 * same time. Then a device that waits for it at the end of that slot waits for slots of no
 * later time, whose tasks wait for slots of earlier times alone: nobody waits for himself. */
static void find_until(struct slot_list *list, const struct slot_race *race,
                       const struct slot_order *order, const int *time, enum phase last,
                       struct arena *arena)
{
    int *latest = NEW(arena, int, race->n_micro);
    list->until = NEW(arena, int, list->n_slots);
    for (int i = 0; i < order->n; i++) {
        const struct slot *slot = &order->slot[i];
        list->until[i] = i + 1 < list->n_slots ? i + 1 : i;
        if (slot->phase != last && slot->phase != PHASE_GRADIENT)
            continue;
        int at = slot->phase == last ? received_at(race, time, slot) : 0;
        int *so_far = &latest[slot->micro];
        *so_far = at > *so_far ? at : *so_far;
        int until = i + 1;
        while (until < order->n && order->slot[until].phase != PHASE_UPDATE &&
               time[hp_slot_place(race, &order->slot[until])] < *so_far)
            until++;
        list->until[i] = until < list->n_slots ? until : list->n_slots - 1;
    }
}

static void add_groups(struct schedule *s, const struct hypar_plan *plan,
                       const struct iteration *r, struct arena *arena)
{
    struct arena scratch = { 0 };
    struct device_groups groups = hp_device_groups(plan, &scratch);
    struct stage_edges edges = hp_stage_edges(plan, &scratch);
    struct slot_order *order = NEW(&scratch, struct slot_order, groups.n);
    struct slot_race race = { plan->n_stages,  r->n_micro, groups.n,
                              groups.of_stage, order,      &edges };
    struct slot_times times;
    for (int g = 0; g < groups.n; g++) {
        add_group(s, plan, r, &groups, g, arena);
        order[g] = (struct slot_order){ s->list[g].n_slots, s->list[g].slot };
    }
    bool ends = hp_slot_times(&race, &times, &scratch);
    assert(ends);
    (void)ends;
    for (int g = 0; g < groups.n; g++)
        find_until(&s->list[g], &race, &order[g], times.time, hp_last_half(r), arena);
    hp_arena_free(&scratch);
}

int hp_longest_hold(const struct slot_list *list)
{
    int longest = 1;
    for (int i = 0; list->until && i < list->n_slots; i++)
        longest = list->until[i] - i > longest ? list->until[i] - i : longest;
    return longest;
}

/* Schedules whose devices may be in several stages, or whose orders know of gradients. */
static bool is_grouped(enum hypar_schedule_kind kind)
{
    return kind == HYPAR_SCHEDULE_INTERLEAVED || kind == HYPAR_SCHEDULE_ZB_H1 ||
           kind == HYPAR_SCHEDULE_ZB_H2 || kind == HYPAR_SCHEDULE_SLOTS;
}

struct schedule hp_make_schedule(const struct hypar_plan *plan, const struct iteration *r,
                                 struct arena *arena)
{
    struct schedule s = { .n_stages = r->pipe.n_stages, .apart = r->apart };
    int n_lists = 0;
    s.stage_of_op = NEW(arena, int, plan->graph->n_ops);
    for (int op = 0; op < plan->graph->n_ops; op++)
        s.stage_of_op[op] = plan->ops[op].stage < 0 ? 0 : plan->ops[op].stage;
    for (int i = 0; i < s.n_stages; i++)
        n_lists += r->pipe.replicas[i];
    s.place = NEW(arena, int, s.n_stages);
    s.list = NEW(arena, struct slot_list, n_lists + 1);
    s.list_of = NEW(arena, int, plan->n_all_devices);
    for (int d = 0; d < plan->n_all_devices; d++)
        s.list_of[d] = n_lists;
    s.grouped = is_grouped(plan->schedule.kind);
    for (int i = 0; i < s.n_stages && !s.grouped; i++)
        add_stage(&s, plan, r, i, arena);
    if (s.grouped)
        add_groups(&s, plan, r, arena);
    return s;
}
