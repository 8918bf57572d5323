#include "tests/random_plan.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_PARTS = 12, MAX_STAGES = 4, MAX_DEGREE = 5, MAX_DEVICES = 64 };

struct drafter {
    struct random *random;
    struct hypar_plan *plan;
    const struct hypar_graph *graph;
    int *stage;                /* of each op */
    int n_stages;              /* 0: none */
    int order[MAX_DEVICES];    /* the machine's devices, shuffled */
    int first[MAX_STAGES + 1]; /* where each stage's devices begin in it */
    int replicas[MAX_STAGES];  /* that take turns in it */
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

/* An op lies in the stage of its latest producer, or in a later one. */
static bool assign_stages(struct drafter *d)
{
    int count[MAX_STAGES] = { 0 };
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
        int n = d->first[s + 1] - d->first[s];
        do
            d->replicas[s] = (int)draw(d->random, 1, n);
        while (n % d->replicas[s]);
    }
}

static void add_stages(struct drafter *d, int n_devices, bool turns)
{
    int op[256];
    for (int s = 0; s <= d->n_stages; s++)
        d->first[s] = (int)hp_even_part(n_devices, d->n_stages, s).lo;
    d->first[d->n_stages] = n_devices;
    for (int s = 0; s < d->n_stages; s++)
        d->replicas[s] = 1;
    if (turns)
        draw_replicas(d);
    for (int s = 0; s < d->n_stages; s++) {
        struct hypar_stage stage = { .op = op,
                                     .device = d->order + d->first[s],
                                     .n_devices = d->first[s + 1] - d->first[s],
                                     .replicas = d->replicas[s],
                                     .share = d->replicas[s] > 1 ? HYPAR_SHARE_MINIBATCH
                                                                 : HYPAR_SHARE_BATCH };
        for (int i = 0; i < d->graph->n_ops; i++)
            if (d->stage[i] == s)
                op[stage.n_ops++] = i;
        hp_plan_add_stage(d->plan, &stage);
    }
}

static void draft_schedule(struct drafter *d, int n_devices, bool delayed)
{
    struct hypar_schedule schedule = { .micro_batches = 1 };
    int most = n_devices < MAX_STAGES ? n_devices : MAX_STAGES;
    if (most > 1 && (delayed || one_in(d->random, 3))) {
        d->n_stages = (int)draw(d->random, 2, most);
        for (int tries = 0; tries < 10 && !assign_stages(d); tries++)
            if (tries == 9)
                d->n_stages = 0;
    }
    if (d->n_stages) {
        static const enum hypar_schedule_kind kinds[] = { HYPAR_SCHEDULE_GPIPE,
                                                          HYPAR_SCHEDULE_1F1B,
                                                          HYPAR_SCHEDULE_NONE };
        schedule.kind = kinds[hp_random_below(d->random, one_in(d->random, 4) ? 3 : 2)];
        if ((delayed || one_in(d->random, 3)) && own_params(d)) {
            schedule.kind = HYPAR_SCHEDULE_PIPEDREAM;
            schedule.stash = !one_in(d->random, 3);
            schedule.vertical_sync = schedule.stash && one_in(d->random, 2);
        }
        add_stages(d, n_devices,
                   schedule.kind == HYPAR_SCHEDULE_PIPEDREAM && one_in(d->random, 2));
    }
    bool whole = schedule.kind == HYPAR_SCHEDULE_PIPEDREAM;
    if (!whole && (d->n_stages || one_in(d->random, 3)))
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
    const int *room = d->order + (d->n_stages ? d->first[stage] : 0);
    int n = d->n_stages ? d->first[stage + 1] - d->first[stage] : d->plan->n_all_devices;
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
    struct plan_settings settings = { .machine_word = hypar_machine_word(machine),
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
