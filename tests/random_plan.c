#include "tests/random_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "plan/schedules.h"

enum { MAX_PARTS = 12, MAX_STAGES = 4, MAX_DEGREE = 5, MAX_DEVICES = 64, MAX_CHUNKED = 8 };

struct drafter {
    struct random *random;
    struct hypar_plan *plan;
    const struct hypar_graph *graph;
    int *stage;                 /* of each op */
    int n_stages;               /* 0: none */
    int n_groups;               /* of devices; a stage is on one of them */
    int group[MAX_CHUNKED];     /* by stage */
    int order[MAX_DEVICES];     /* the machine's devices, shuffled */
    int first[MAX_CHUNKED + 1]; /* where each group's devices begin in it */
    int replicas[MAX_CHUNKED];  /* of a stage, that take turns in it */
};

static void shuffle(struct random *random, int *list, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int with = (int)hp_random_below(random, i + 1), swap = list[i];
        list[i] = list[with];
        list[with] = swap;
    }
}

/* Stages --------------------------------------------------------------------------- */

/* An op lies in the stage of its latest producer, or in a later one. False: a stage has none.
 */
static bool assign_stages(struct drafter *d)
{
    int count[MAX_CHUNKED] = { 0 };
    for (int op = 0; op < d->graph->n_ops; op++) {
        const struct op *o = &d->graph->ops[op];
        int stage = 0;
        for (int i = 0; i < o->nest->n_inputs; i++) {
            int from = o->tensor[i] < 0 ? -1 : d->graph->tensors[o->tensor[i]].producer;
            if (from >= 0 && d->stage[from] > stage)
                stage = d->stage[from];
        }
        while (stage < d->n_stages - 1 && one_in(d->random, 3))
            stage++;
        d->stage[op] = stage;
        count[stage]++;
    }
    for (int s = 0; s < d->n_stages; s++)
        if (count[s] == 0)
            return false;
    return true;
}

/* Is every parameter used in one stage only? */
static bool own_params(const struct drafter *d)
{
    const struct hypar_graph *g = d->graph;
    for (int t = 0; t < g->n_tensors; t++)
        for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++)
            if (g->tensors[t].kind == TENSOR_PARAM &&
                d->stage[g->use[u].op] != d->stage[g->use[g->use_start[t]].op])
                return false;
    return true;
}

/* As many replicas as divide the stage's devices. */
static void draw_replicas(struct drafter *d)
{
    for (int s = 0; s < d->n_stages; s++) {
        int n = d->first[d->group[s] + 1] - d->first[d->group[s]];
        do
            d->replicas[s] = (int)draw(d->random, 1, n);
        while (n % d->replicas[s]);
    }
}

static void add_stages(struct drafter *d, int n_devices, bool turns)
{
    int op[256];
    for (int g = 0; g <= d->n_groups; g++)
        d->first[g] = (int)hp_even_part(n_devices, d->n_groups, g).lo;
    d->first[d->n_groups] = n_devices;
    for (int s = 0; s < d->n_stages; s++)
        d->replicas[s] = 1;
    if (turns)
        draw_replicas(d);
    for (int s = 0; s < d->n_stages; s++) {
        struct hypar_stage stage = {
            .op = op,
            .device = d->order + d->first[d->group[s]],
            .n_devices = d->first[d->group[s] + 1] - d->first[d->group[s]],
            .replicas = d->replicas[s],
            .share = d->replicas[s] > 1 ? HYPAR_SHARE_MINIBATCH : HYPAR_SHARE_BATCH
        };
        for (int i = 0; i < d->graph->n_ops; i++)
            if (d->stage[i] == s)
                op[stage.n_ops++] = i;
        hp_plan_add_stage(d->plan, &stage);
    }
}

/* Slots by hand -------------------------------------------------------------------- */

/* A random order in which all slots can be done: one after another, whichever is ready. */
struct deal {
    struct drafter *d;
    struct stage_edges edges;
    struct slot_order *order;
    bool *done; /* [(stage * n_micro + micro) * 3 + phase] */
    int n_micro;
    bool apart;
};

static bool is_done(const struct deal *e, int stage, int micro, int phase)
{
    return e->done[(stage * e->n_micro + micro) * 3 + phase];
}

/* Of the same devices: forward stage by stage, then backward. */
static bool in_turn(const struct deal *e, const struct slot *slot)
{
    for (int s = 0; s < e->d->n_stages; s++) {
        if (e->d->group[s] != e->d->group[slot->stage] || slot->phase == PHASE_GRADIENT)
            continue;
        if (slot->phase == PHASE_FORWARD && s < slot->stage &&
            !is_done(e, s, slot->micro, PHASE_FORWARD))
            return false;
        if (slot->phase == PHASE_BACKWARD &&
            (!is_done(e, s, slot->micro, PHASE_FORWARD) ||
             (s > slot->stage && !is_done(e, s, slot->micro, PHASE_BACKWARD))))
            return false;
    }
    return true;
}

static bool is_ready(const struct deal *e, const struct slot *slot)
{
    const struct stage_edges *edges = &e->edges;
    int s = slot->stage, m = slot->micro;
    bool ready = in_turn(e, slot);
    if (slot->phase == PHASE_GRADIENT)
        return is_done(e, s, m, PHASE_BACKWARD);
    for (int i = edges->reads_start[s];
         slot->phase == PHASE_FORWARD && i < edges->reads_start[s + 1]; i++)
        ready &= is_done(e, edges->reads[i], m, PHASE_FORWARD);
    for (int i = edges->read_by_start[s];
         slot->phase == PHASE_BACKWARD && i < edges->read_by_start[s + 1]; i++)
        ready &= is_done(e, edges->read_by[i], m, PHASE_BACKWARD);
    for (int u = 0; slot->phase == PHASE_BACKWARD && u < e->d->n_stages; u++)
        for (int i = edges->read_by_start[u];
             e->d->group[u] == e->d->group[s] && i < edges->read_by_start[u + 1]; i++)
            ready &= is_done(e, edges->read_by[i], m, PHASE_FORWARD);
    return ready;
}

static void deal_slots(struct drafter *d, int n_micro)
{
    struct arena arena = { 0 };
    struct deal e = { .d = d, .n_micro = n_micro, .apart = one_in(d->random, 2) };
    struct device_groups groups = hp_device_groups(d->plan, &arena);
    int n = d->n_stages * n_micro * 3, phases = e.apart ? 3 : 2;
    struct slot *ready = NEW(&arena, struct slot, n);
    e.edges = hp_stage_edges(d->plan, &arena);
    e.order = NEW(&arena, struct slot_order, groups.n);
    e.done = NEW(&arena, bool, n);
    for (int g = 0; g < groups.n; g++)
        e.order[g].slot = NEW(&arena, struct slot, n);
    for (int left = d->n_stages * n_micro * phases; left > 0; left--) {
        int n_ready = 0;
        for (int i = 0; i < n; i++) {
            struct slot slot = { i / 3 / n_micro, i / 3 % n_micro, (enum phase)(i % 3) };
            if (i % 3 < phases && !e.done[i] && is_ready(&e, &slot))
                ready[n_ready++] = slot;
        }
        struct slot next = ready[hp_random_below(d->random, n_ready)];
        struct slot_order *to = &e.order[groups.of_stage[next.stage]];
        to->slot[to->n++] = next;
        e.done[(next.stage * n_micro + next.micro) * 3 + (int)next.phase] = true;
    }
    hp_plan_set_orders(d->plan, e.order, groups.n);
    hp_arena_free(&arena);
}

/* Schedules ------------------------------------------------------------------------ */

static bool mixes_samples(const struct hypar_graph *g)
{
    bool mixes = false;
    for (int op = 0; op < g->n_ops; op++)
        mixes |= hp_op_mixes_samples(g, &g->ops[op]);
    return mixes;
}

/* Several stages on a device, and some of them empty: interleaved, or by hand. */
static void draft_shared(struct drafter *d, int n_devices, struct hypar_schedule *schedule)
{
    int64_t most = mixes_samples(d->graph) ? 1 : d->graph->batch;
    int groups = n_devices < MAX_STAGES ? n_devices : MAX_STAGES;
    bool interleaved = one_in(d->random, 2);
    groups = interleaved && groups > most ? (int)most : groups;
    d->n_groups = (int)draw(d->random, 1, groups);
    if (interleaved) {
        schedule->kind = HYPAR_SCHEDULE_INTERLEAVED;
        schedule->chunks = (int)draw(d->random, 1, MAX_CHUNKED / d->n_groups);
        schedule->micro_batches = d->n_groups * draw(d->random, 1, most / d->n_groups);
        d->n_stages = d->n_groups * schedule->chunks;
    } else {
        schedule->kind = HYPAR_SCHEDULE_SLOTS;
        schedule->micro_batches = draw(d->random, 1, most < 4 ? most : 4);
        d->n_stages = (int)draw(d->random, d->n_groups, MAX_CHUNKED);
    }
    for (int s = 0; s < d->n_stages; s++)
        d->group[s] = interleaved || s < d->n_groups
                          ? s % d->n_groups
                          : (int)hp_random_below(d->random, d->n_groups);
    assign_stages(d);
    add_stages(d, n_devices, false);
    if (!interleaved)
        deal_slots(d, (int)schedule->micro_batches);
}

/* A schedule of stages on devices of their own, with gradients apart or not; or none. */
static enum hypar_schedule_kind draft_straight(struct drafter *d, bool apart)
{
    enum hypar_schedule_kind kinds[HP_MOST_SCHEDULES + 1];
    int n = 0;
    for (int kind = 0; kind < hp_n_schedules; kind++)
        if (hp_is_straight((enum hypar_schedule_kind)kind) && hp_schedule[kind].apart == apart)
            kinds[n++] = (enum hypar_schedule_kind)kind;
    kinds[n] = HYPAR_SCHEDULE_NONE;
    return kinds[hp_random_below(d->random, one_in(d->random, 4) ? n + 1 : n)];
}

/* Stages on devices of their own. */
static void draft_pipeline(struct drafter *d, int n_devices, bool delayed,
                           struct hypar_schedule *schedule)
{
    struct random zero_bubble = { d->random->state ^ 0x2545f4914f6cdd1d };
    schedule->kind = draft_straight(d, one_in(&zero_bubble, 2));
    if ((delayed || one_in(d->random, 3)) && own_params(d)) {
        schedule->kind = HYPAR_SCHEDULE_PIPEDREAM;
        schedule->stash = !one_in(d->random, 3);
        schedule->vertical_sync = schedule->stash && one_in(d->random, 2);
    }
    d->n_groups = d->n_stages;
    for (int s = 0; s < d->n_stages; s++)
        d->group[s] = s;
    add_stages(d, n_devices,
               schedule->kind == HYPAR_SCHEDULE_PIPEDREAM && one_in(d->random, 2));
}

static void draft_schedule(struct drafter *d, int n_devices, bool delayed)
{
    struct hypar_schedule schedule = { .micro_batches = 1 };
    int most = n_devices < MAX_STAGES ? n_devices : MAX_STAGES;
    /* the others are drawn as if there were no such plans */
    struct random draws = { d->random->state ^ 0x5851f42d4c957f2d };
    bool shared = !delayed && one_in(&draws, 4);
    if (shared)
        draft_shared(d, n_devices, &schedule);
    if (!shared && most > 1 && (delayed || one_in(d->random, 3))) {
        d->n_stages = (int)draw(d->random, 2, most);
        for (int tries = 0; tries < 10 && !assign_stages(d); tries++)
            if (tries == 9)
                d->n_stages = 0;
    }
    if (d->n_stages && !shared)
        draft_pipeline(d, n_devices, delayed, &schedule);
    bool whole = schedule.kind == HYPAR_SCHEDULE_PIPEDREAM;
    if (!shared && !whole && (d->n_stages || one_in(d->random, 3)))
        schedule.micro_batches = draw(d->random, 1, d->graph->batch);
    hp_plan_set_schedule(d->plan, &schedule);
}

/* Splits --------------------------------------------------------------------------- */

/* Explicit sizes, some of them zero. */
static const int64_t *draw_sizes(struct drafter *d, int64_t extent, int degree, int64_t *sizes)
{
    int64_t left = extent;
    for (int i = 0; i < degree; i++)
        sizes[i] = 0;
    for (; left > 0; left--)
        sizes[hp_random_below(d->random, degree)]++;
    return sizes;
}

static void split_axis(struct drafter *d, const struct nest *nest, int a, struct split *split,
                       int *parts, int64_t sizes[][MAX_DEGREE])
{
    int degree = one_in(d->random, 4) ? (int)draw(d->random, 3, MAX_DEGREE) : 2;
    if (!nest->axis[a].splittable || split->degree[a] > 1 || *parts * degree > MAX_PARTS)
        return;
    split->degree[a] = degree;
    *parts *= degree;
    if (nest->axis[a].role != HYPAR_COPY && one_in(d->random, 3))
        split->sizes[a] = draw_sizes(d, nest->axis[a].extent, degree, sizes[a]);
}

/* In order from the first device, each on its own, or anywhere; of one replica. */
static void place(struct drafter *d, int stage, int replica, int n_parts, int *device)
{
    int group = d->group[stage];
    const int *room = d->order + (d->n_stages ? d->first[group] : 0);
    int n = d->n_stages ? d->first[group + 1] - d->first[group] : d->plan->n_all_devices;
    int own[MAX_DEVICES];
    n /= d->n_stages ? d->replicas[stage] : 1;
    room += replica * n;
    for (int i = 0; i < n; i++)
        own[i] = room[i];
    if (one_in(d->random, 2))
        shuffle(d->random, own, n);
    bool anywhere = one_in(d->random, 4);
    for (int i = 0; i < n_parts; i++)
        device[i] = own[anywhere ? hp_random_below(d->random, n) : i % n];
}

static void draft_op(struct drafter *d, int op, const struct plan_focus *focus)
{
    const struct nest *nest = d->graph->ops[op].nest;
    struct split split = { .degree = { 0 } };
    int64_t sizes[MAX_AXES][MAX_DEGREE];
    int device[MAX_PARTS * MAX_DEVICES], parts = 1;
    if (op == focus->op && focus->a >= 0)
        split_axis(d, nest, focus->a, &split, &parts, sizes);
    if (op == focus->op && focus->b >= 0)
        split_axis(d, nest, focus->b, &split, &parts, sizes);
    for (int64_t more = hp_random_below(d->random, 4); more > 0; more--)
        split_axis(d, nest, (int)hp_random_below(d->random, nest->n_axes), &split, &parts,
                   sizes);
    int stage = d->n_stages ? d->stage[op] : 0;
    for (int r = 0; r < (d->n_stages ? d->replicas[stage] : 1); r++)
        place(d, stage, r, parts, device + r * parts);
    hp_plan_set(d->plan, op, &split, device);
}

struct hypar_plan *random_plan(struct random *random, const struct hypar_graph *graph,
                               const struct hypar_machine *machine,
                               const struct plan_focus *focus)
{
    struct hypar_plan_settings settings = { .machine_word = hypar_machine_word(machine),
                                            .precision = HYPAR_FP64,
                                            .optimizer = (enum hypar_optimizer)hp_random_below(
                                                random, HYPAR_OPTIMIZER_COUNT) };
    int n_devices = hypar_machine_device_count(machine), stage[256];
    struct drafter d = { .random = random,
                         .plan = hp_plan_new(graph, machine, &settings),
                         .graph = graph,
                         .stage = stage };
    for (int i = 0; i < n_devices; i++)
        d.order[i] = i;
    if (one_in(random, 2))
        shuffle(random, d.order, n_devices);
    draft_schedule(&d, n_devices, focus->delayed);
    for (int op = 0; op < graph->n_ops; op++)
        draft_op(&d, op, focus);
    struct hypar_error err;
    if (hypar_plan_check(d.plan, &err) != HYPAR_OK) {
        fprintf(stderr, "random plan: %s\n", err.text);
        abort();
    }
    return d.plan;
}

uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}
