/* Making and changing a plan: splits, devices, stages, schedule. */
#include "plan/plan.h"
#include "plan/slots.h"

#include <assert.h>
#include <string.h>

#include "base/sort.h"

struct hypar_plan *hp_plan_new(const struct hypar_graph *graph,
                               const struct hypar_machine *machine,
                               const struct hypar_plan_settings *settings)
{
    struct arena arena = { 0 };
    struct hypar_plan *plan = NEW(&arena, struct hypar_plan, 1);
    int n_devices = hypar_machine_device_count(machine);
    int *devices = NEW(&arena, int, n_devices);
    for (int d = 0; d < n_devices; d++)
        devices[d] = d;

    plan->graph = graph;
    plan->machine = machine;
    plan->gather_ahead = HP_GATHER_AHEAD;
    plan->schedule.micro_batches = 1;
    plan->all_devices = devices;
    plan->n_all_devices = n_devices;
    plan->ops = NEW(&arena, struct op_plan, graph->n_ops);
    for (int op = 0; op < graph->n_ops; op++)
        plan->ops[op] =
            (struct op_plan){ .stage = -1, .n_parts = 1, .n_devices = 1, .device = devices };
    plan->arena = arena;
    hp_plan_take_settings(plan, settings);
    return plan;
}

void hp_plan_take_settings(struct hypar_plan *plan, const struct hypar_plan_settings *s)
{
    struct arena *arena = &plan->arena;
    plan->model = hp_arena_strdup(arena, s->model ? s->model : plan->graph->name);
    plan->machine_word = s->machine_word ? hp_arena_strdup(arena, s->machine_word) : NULL;
    plan->precision = s->precision;
    plan->optimizer = s->optimizer;
    plan->fp32_gradients = s->fp32_gradients;
    plan->masks = s->masks;
    plan->framework_bytes = s->framework_bytes;
    plan->memory_certainty = s->memory_certainty;
    plan->memory_limit_bytes = s->memory_limit_bytes;
    plan->seed = s->seed;
    plan->simulation = s->simulation;
    plan->simulation.framework = hp_keep_framework(arena, &s->simulation.framework);
    plan->clip = s->clip;
    if (s->recompute != HYPAR_RECOMPUTE_NONE)
        hp_plan_set_recompute(plan, s->recompute);
}

void hypar_plan_free(struct hypar_plan *plan)
{
    if (!plan)
        return;
    hypar_graph_free(plan->own_graph);
    hypar_machine_free(plan->own_machine);
    hp_arena_free(&plan->arena);
}

static int *copy_ints(struct arena *arena, const int *from, int n)
{
    int *to = NEW(arena, int, n);
    if (n > 0)
        memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

void hp_plan_add_stage(struct hypar_plan *plan, const struct hypar_stage *stage)
{
    struct arena *arena = &plan->arena;
    plan->stages =
        GROW(arena, struct hypar_stage, plan->stages, plan->n_stages, &plan->stage_capacity);
    struct hypar_stage copy = *stage;
    int *ops = copy_ints(arena, stage->op, stage->n_ops);
    if (stage->n_ops > 0)
        hp_sort_ints(ops, stage->n_ops);
    copy.op = ops;
    copy.device = copy_ints(arena, stage->device, stage->n_devices);
    plan->stages[plan->n_stages] = copy;
    for (int i = 0; i < stage->n_ops; i++) {
        plan->ops[ops[i]].stage = plan->n_stages;
        hp_plan_set(plan, ops[i], &(struct split){ .degree = { 0 } }, NULL);
    }
    plan->n_stages++;
}

void hp_plan_add_range(struct hypar_plan *plan, int from, int to, int first, int n_devices,
                       int replicas)
{
    struct arena scratch = { 0 };
    int *op = NEW(&scratch, int, to - from);
    for (int i = from; i < to; i++)
        op[i - from] = i;
    hp_plan_add_stage(plan, &(struct hypar_stage){ .n_ops = to - from,
                                                   .op = op,
                                                   .n_devices = n_devices,
                                                   .device = plan->all_devices + first,
                                                   .replicas = replicas,
                                                   .share = HYPAR_SHARE_BATCH });
    hp_arena_free(&scratch);
}

void hp_plan_set_schedule(struct hypar_plan *plan, const struct hypar_schedule *schedule)
{
    plan->schedule = *schedule;
}

void hp_plan_set_orders(struct hypar_plan *plan, const struct slot_order *order, int n)
{
    plan->n_orders = n;
    plan->order = NEW(&plan->arena, struct slot_order, n);
    for (int i = 0; i < n; i++) {
        plan->order[i] =
            (struct slot_order){ order[i].n, NEW(&plan->arena, struct slot, order[i].n) };
        if (order[i].n > 0)
            memcpy(plan->order[i].slot, order[i].slot,
                   (size_t)order[i].n * sizeof *order[i].slot);
    }
}

struct device_pool hp_device_pool(const struct hypar_plan *plan, int op)
{
    int s = plan->ops[op].stage;
    if (s < 0)
        return (struct device_pool){ plan->all_devices, 1, plan->n_all_devices };
    const struct hypar_stage *stage = &plan->stages[s];
    int groups = stage->share == HYPAR_SHARE_MINIBATCH ? stage->replicas : 1;
    return (struct device_pool){ stage->device, groups, stage->n_devices / groups };
}

bool hp_same_devices(const struct op_plan *a, const struct op_plan *b)
{
    return a->n_devices == b->n_devices &&
           memcmp(a->device, b->device, (size_t)a->n_devices * sizeof *a->device) == 0;
}

int64_t hp_plan_devices_needed(const struct hypar_plan *plan, int op, int64_t n_parts)
{
    return n_parts * hp_device_pool(plan, op).groups;
}

bool hp_plan_has_default(const struct hypar_plan *plan, int op, int64_t n_parts, int *available)
{
    *available = hp_device_pool(plan, op).each;
    return n_parts <= *available;
}

/* Memory for `n` numbers, apart from the current sizes, because the new sizes may be copied
 * from these. */
static int64_t *other_room(struct hypar_plan *plan, struct op_plan *op, int n)
{
    op->in_second = !op->in_second;
    struct sizes_room *room = &op->room[op->in_second];
    if (n > room->capacity) {
        room->capacity = n > 2 * room->capacity ? n : 2 * room->capacity;
        room->own = NEW(&plan->arena, int64_t, room->capacity);
    }
    return room->own;
}

/* Are the sizes different from even ones? Even sizes are dropped, so that equal plans are
 * written equally. */
static bool are_needed(const struct hypar_axis *axis, int degree, const int64_t *sizes)
{
    return sizes && axis->role != HYPAR_COPY && !hp_sizes_even(axis->extent, degree, sizes);
}

/* Store the sizes of an axis, and behind them the first index of each part; returns the end of
 * both. */
static int64_t *put_sizes(struct split *mine, int a, int degree, const int64_t *sizes,
                          int64_t *at)
{
    int64_t *begins = at + degree;
    memcpy(at, sizes, (size_t)degree * sizeof *at);
    begins[0] = 0;
    for (int i = 1; i < degree; i++)
        begins[i] = begins[i - 1] + at[i - 1];
    mine->sizes[a] = at;
    mine->begins[a] = begins;
    return begins + degree;
}

static void set_split(struct hypar_plan *plan, int op, const struct split *split)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    struct split mine = { .degree = { 0 } };
    int64_t *at = NULL;
    int n = 0;
    for (int a = 0; a < nest->n_axes; a++) {
        mine.degree[a] = hp_degree(split, a);
        if (are_needed(&nest->axis[a], mine.degree[a], split->sizes[a]))
            n += 2 * mine.degree[a];
    }
    if (n > 0)
        at = other_room(plan, &plan->ops[op], n);
    for (int a = 0; a < nest->n_axes && n > 0; a++)
        if (are_needed(&nest->axis[a], mine.degree[a], split->sizes[a]))
            at = put_sizes(&mine, a, mine.degree[a], split->sizes[a], at);
    plan->ops[op].split = mine;
    plan->ops[op].n_parts = hp_part_count(nest, &mine);
}

/* Room for `n` device numbers of the op's own. */
static int *own_devices(struct hypar_plan *plan, struct op_plan *op, int n)
{
    if (n > op->capacity) {
        op->own = NEW(&plan->arena, int, n);
        op->capacity = n;
    }
    return op->own;
}

/* The first devices of every group; where that is a prefix of the list, the list itself. */
static const int *default_devices(struct hypar_plan *plan, int op, int n_parts)
{
    struct device_pool pool = hp_device_pool(plan, op);
    assert(n_parts <= pool.each);
    if (pool.groups == 1 || n_parts == pool.each)
        return pool.device;
    int *own = own_devices(plan, &plan->ops[op], n_parts * pool.groups);
    for (int g = 0; g < pool.groups; g++)
        memcpy(own + g * n_parts, pool.device + g * pool.each, (size_t)n_parts * sizeof *own);
    return own;
}

void hp_plan_set(struct hypar_plan *plan, int op, const struct split *split, const int *device)
{
    struct op_plan *mine = &plan->ops[op];
    set_split(plan, op, split);
    mine->n_devices = (int)hp_plan_devices_needed(plan, op, mine->n_parts);
    if (device)
        mine->device = memmove(own_devices(plan, mine, mine->n_devices), device,
                               (size_t)mine->n_devices * sizeof *device);
    else
        mine->device = default_devices(plan, op, mine->n_parts);
}

struct hypar_plan *hp_plan_copy(const struct hypar_plan *plan)
{
    struct hypar_plan_settings settings = hypar_plan_settings(plan);
    return hp_plan_copy_with(plan, &settings);
}

struct hypar_plan *hp_plan_copy_with(const struct hypar_plan *plan,
                                     const struct hypar_plan_settings *settings)
{
    return hp_plan_carry(plan, plan->machine, NULL, settings);
}

/* The numbers of `n` devices on another machine, in `moved`. */
static const int *move_devices(const int *device, int n, const int *to, int *moved)
{
    for (int i = 0; i < n && to; i++)
        moved[i] = to[device[i]];
    return to ? moved : device;
}

static void carry_stages(const struct hypar_plan *plan, const int *device, int *moved,
                         struct hypar_plan *copy)
{
    for (int s = 0; s < plan->n_stages; s++) {
        struct hypar_stage stage = plan->stages[s];
        stage.device = move_devices(stage.device, stage.n_devices, device, moved);
        hp_plan_add_stage(copy, &stage);
    }
}

struct hypar_plan *hp_plan_carry(const struct hypar_plan *plan,
                                 const struct hypar_machine *machine, const int *device,
                                 const struct hypar_plan_settings *settings)
{
    struct arena scratch = { 0 };
    struct hypar_plan *copy = hp_plan_new(plan->graph, machine, settings);
    int most = plan->n_all_devices;
    for (int op = 0; op < plan->graph->n_ops; op++)
        most = plan->ops[op].n_devices > most ? plan->ops[op].n_devices : most;
    int *moved = NEW(&scratch, int, most);
    carry_stages(plan, device, moved, copy);
    hp_plan_set_schedule(copy, &plan->schedule);
    copy->has_layout =
        plan->has_layout && !device && copy->n_all_devices == plan->n_all_devices;
    copy->layout = plan->layout;
    hp_plan_set_orders(copy, plan->order, plan->n_orders);
    copy->gather_ahead = plan->gather_ahead;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct op_plan *from = &plan->ops[op];
        hp_plan_set(copy, op, &from->split,
                    move_devices(from->device, from->n_devices, device, moved));
        copy->ops[op].recompute |= from->recompute;
        copy->ops[op].resend = from->resend;
        copy->ops[op].shard = from->shard;
        copy->ops[op].shard_over = from->shard_over;
    }
    hp_arena_free(&scratch);
    return copy;
}

char *hp_plan_split_text(struct arena *arena, const struct hypar_plan *plan, int op)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    char *text = hp_arena_strdup(arena, "");
    for (int a = 0; a < nest->n_axes; a++)
        if (hypar_plan_degree(plan, op, a) > 1)
            text = hp_arena_printf(arena, "%s%s%s=%d", text, *text ? " " : "",
                                   nest->axis[a].name, hypar_plan_degree(plan, op, a));
    return *text ? text : hp_arena_strdup(arena, "whole");
}
