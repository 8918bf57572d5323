/* The slots of each device: the order in which it runs the halves of the micro-batches and the
 * updates, taken from the plan's schedule. */
#include "program/program.h"

#include <assert.h>
#include <string.h>

/* Forward phases alone: the minibatches of a replica, each with the end of its period; or all
 * micro-batches of a batch. */
static void forward_only(const struct iteration *r, int stage, int replica, struct slot *slot)
{
    int turns = r->pipe.replicas[stage];
    for (int m = replica; m < r->n_micro; m += turns) {
        *slot++ = (struct slot){ stage, m, PHASE_FORWARD };
        if (r->delayed || m == r->n_micro - 1)
            *slot++ = (struct slot){ stage, r->delayed ? m / turns : 0, PHASE_UPDATE };
    }
}

/* PipeDream: a replica runs one minibatch of each update period, and updates after its backward
 * half. */
static void one_of_each_period(const struct iteration *r, int stage, int replica,
                               struct slot *slot)
{
    int turns = r->pipe.replicas[stage], n = hp_period_count(r, stage);
    struct slot *halves = slot + n; /* each slot is read before its place is overwritten */
    hp_alternate(halves, stage, n, hp_pipedream_stage_in_flight(&r->pipe, stage));
    for (int i = 0; i < 2 * n; i++) {
        struct slot half = halves[i];
        *slot++ = (struct slot){ stage, half.micro * turns + replica, half.phase };
        if (half.phase == PHASE_BACKWARD)
            *slot++ = (struct slot){ stage, half.micro, PHASE_UPDATE };
    }
}

/* An iteration may have the first micro-batches alone. */
static struct pipeline_size size_of(const struct hypar_plan *plan, const struct iteration *r)
{
    struct pipeline_size size = hp_pipeline_size(plan);
    size.n_micro = r->n_micro;
    return size;
}

/* The slots of a group of devices without the update; returns their number. */
static int fill_order(const struct hypar_plan *plan, const struct iteration *r, int group,
                      const struct slot_list *list, struct slot *slot)
{
    struct pipeline_size size = size_of(plan, r);
    if (!hp_schedule_of(plan)->listed)
        return hp_schedule_of(plan)->fill(&size, list->stage, slot);
    const struct slot_order *order = &plan->order[group];
    memcpy(slot, order->slot, (size_t)order->n * sizeof *slot);
    return order->n;
}

static void fill_slots(const struct hypar_plan *plan, const struct iteration *r, int stage,
                       int replica, struct slot *slot)
{
    struct pipeline_size size = size_of(plan, r);
    if (r->forward) {
        forward_only(r, stage, replica, slot);
    } else if (r->delayed) {
        one_of_each_period(r, stage, replica, slot);
    } else {
        slot += hp_schedule_of(plan)->fill(&size, &stage, slot);
        *slot = (struct slot){ stage, 0, PHASE_UPDATE };
    }
}

/* All devices of a stage share one list; where replicas take turns with minibatches, the
 * devices of each replica do. */
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
        fill_slots(plan, r, stage, replica, list->slot);
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

/* The time at which the stages that receive the messages of a slot have run the receiving
 * slots. The receiving stages are those that the slot reads from; in a program without a
 * backward half, those that read from the slot. */
static int received_at(const struct slot_orders *orders, const int *time,
                       const struct slot *slot)
{
    const struct stage_edges *e = orders->edges;
    bool back = slot->phase == PHASE_BACKWARD;
    const int *start = back ? e->reads_start : e->read_by_start;
    const int *list = back ? e->reads : e->read_by;
    int latest = 0;
    for (int i = start[slot->stage]; i < start[slot->stage + 1]; i++) {
        struct slot to = { list[i], slot->micro, slot->phase };
        int at = time[hp_slot_place(orders, &to)];
        latest = at > latest ? at : latest;
    }
    return latest;
}

/* Messages of a slot of the last half, and messages of earlier slots of the same micro-batch,
 * are held until a slot that ends no sooner than the slots that receive them, if all slots take
 * the same time. A device that waits for the receivers at the end of this slot waits for slots
 * of no later time; their tasks wait only for slots of earlier times. So no cycle of waiting
 * arises. */
static void find_until(struct slot_list *list, const struct slot_orders *orders,
                       const struct slot_order *order, const int *time, enum phase last,
                       struct arena *arena)
{
    int *latest = NEW(arena, int, orders->n_micro);
    list->until = NEW(arena, int, list->n_slots);
    for (int i = 0; i < order->n; i++) {
        const struct slot *slot = &order->slot[i];
        list->until[i] = i + 1 < list->n_slots ? i + 1 : i;
        if (slot->phase != last && slot->phase != PHASE_GRADIENT)
            continue;
        int at = slot->phase == last ? received_at(orders, time, slot) : 0;
        int *so_far = &latest[slot->micro];
        *so_far = at > *so_far ? at : *so_far;
        int until = i + 1;
        while (until < order->n && order->slot[until].phase != PHASE_UPDATE &&
               time[hp_slot_place(orders, &order->slot[until])] < *so_far)
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
    struct slot_orders orders = { plan->n_stages,  r->n_micro, groups.n,
                                  groups.of_stage, order,      &edges };
    struct slot_times times;
    for (int g = 0; g < groups.n; g++) {
        add_group(s, plan, r, &groups, g, arena);
        order[g] = (struct slot_order){ s->list[g].n_slots, s->list[g].slot };
    }
    bool ends = hp_slot_times(&orders, &times, &scratch);
    assert(ends);
    (void)ends;
    for (int g = 0; g < groups.n; g++)
        find_until(&s->list[g], &orders, &order[g], times.time, hp_last_half(r), arena);
    hp_arena_free(&scratch);
}

int hp_longest_hold(const struct slot_list *list)
{
    int longest = 1;
    for (int i = 0; list->until && i < list->n_slots; i++)
        longest = list->until[i] - i > longest ? list->until[i] - i : longest;
    return longest;
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
    s.grouped = hp_orders_groups(hp_schedule_of(plan));
    for (int i = 0; i < s.n_stages && !s.grouped; i++)
        add_stage(&s, plan, r, i, arena);
    if (s.grouped)
        add_groups(&s, plan, r, arena);
    return s;
}
