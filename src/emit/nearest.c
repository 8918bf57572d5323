/* Finds the nearest plan that a framework can run. First it changes the plan itself: it does
 * not split refused axes, makes parts of refused sizes even, moves stages to allowed borders,
 * and takes a supported schedule. If this fails, it takes the nearest layout. */
#include <stdlib.h>
#include <string.h>

#include "emit/layouts.h"
#include "plan/schedules.h"

/* Axes ------------------------------------------------------------------------------------ */

/* Move the degree of a refused axis to the sample axis, as its inner part; to copies if there
 * are no samples or if they do not divide evenly. The devices stay the same. */
static void move_axis(struct hypar_plan *plan, int op, int axis)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    const struct op_plan *mine = &plan->ops[op];
    struct arena scratch = { 0 };
    int sample = hp_sample_axis(nest), to = nest->n_axes - 1, at[MAX_AXES];
    int degree = hp_degree(&mine->split, axis), n = mine->n_parts;
    int *device = NEW(&scratch, int, n);
    struct split split = mine->split, old = mine->split;
    int64_t each = plan->schedule.micro_batches * degree;
    if (sample >= 0 && sample != axis && !old.sizes[sample] &&
        plan->graph->batch % (each * hp_degree(&old, sample)) == 0)
        to = sample;
    split.degree[axis] = 1;
    split.sizes[axis] = split.begins[axis] = NULL;
    split.degree[to] = hp_degree(&old, to) * degree;
    for (int part = 0; part < n; part++) {
        int place = 0;
        hp_part_coordinates(nest, &old, part, at);
        at[to] = at[to] * degree + at[axis];
        at[axis] = 0;
        for (int a = 0; a < nest->n_axes; a++)
            place = place * hp_degree(&split, a) + at[a];
        device[place] = mine->device[part];
    }
    hp_plan_set(plan, op, &split, device);
    hp_arena_free(&scratch);
}

/* Stop splitting these axes of an operator. */
static void move_these(struct hypar_plan *plan, int op, axis_set axes)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    bool whole = plan->ops[op].n_devices == plan->ops[op].n_parts;
    for (int a = 0; a < nest->n_axes && whole; a++)
        if (axes >> a & 1)
            move_axis(plan, op, a);
}

/* Stop splitting refused axes. */
static void move_axes(const struct target *target, struct hypar_plan *plan)
{
    for (int op = 0; op < plan->graph->n_ops && target->axes; op++) {
        const struct nest *nest = plan->graph->ops[op].nest;
        move_these(plan, op,
                   hp_divided_axes(nest, &plan->ops[op].split) &
                       ~target->axes(plan->graph, op));
    }
}

/* Divide these axes of an operator evenly. */
static void make_even(struct hypar_plan *plan, int op, axis_set axes)
{
    struct arena scratch = { 0 };
    struct split split = plan->ops[op].split;
    int n = plan->ops[op].n_devices, *device = NEW(&scratch, int, n);
    memcpy(device, plan->ops[op].device, (size_t)n * sizeof *device);
    for (int a = 0; a < plan->graph->ops[op].nest->n_axes; a++)
        if (axes >> a & 1)
            split.sizes[a] = split.begins[a] = NULL;
    hp_plan_set(plan, op, &split, device);
    hp_arena_free(&scratch);
}

/* Divide axes whose parts have refused sizes evenly; if that is refused, too, do not split
 * them. */
static void move_parts(const struct target *target, struct hypar_plan *plan)
{
    void (*const change[])(struct hypar_plan *, int, axis_set) = { make_even, move_these };
    struct arena scratch = { 0 };
    for (int i = 0; i < 2 && target->misfits; i++) {
        const axis_set *axes = target->misfits(plan, &scratch);
        for (int op = 0; op < plan->graph->n_ops; op++)
            if (axes[op])
                change[i](plan, op, axes[op]);
    }
    hp_arena_free(&scratch);
}

/* Stages ---------------------------------------------------------------------------------- */

/* The border nearest to `at`, from `from` on, that leaves a border for each of the `left`
 * stages after it; -1: none. */
static int nearest_border(const bool *borders, int n_ops, int from, int at, int left)
{
    int nearest = -1, behind = 0;
    for (int op = n_ops - 1; op >= from; op--) {
        if (!borders[op])
            continue;
        if (behind >= left && (nearest < 0 || abs(op - at) <= abs(nearest - at)))
            nearest = op;
        behind++;
    }
    return nearest;
}

/* Fill begin[stage]. Returns false if the stages are not runs of operators, or if there are too
 * few borders. */
static bool find_begins(const struct hypar_plan *plan, const bool *borders, int *begin)
{
    int n_ops = plan->graph->n_ops, n = plan->n_stages;
    for (int op = 1; op < n_ops; op++) {
        int stage = plan->ops[op].stage;
        if (stage < plan->ops[op - 1].stage || stage > plan->ops[op - 1].stage + 1)
            return false;
        if (stage > plan->ops[op - 1].stage)
            begin[stage] = op;
    }
    for (int s = 1; s < n; s++) {
        begin[s] = nearest_border(borders, n_ops, begin[s - 1] + 1, begin[s], n - 1 - s);
        if (begin[s] < 0)
            return false;
    }
    begin[n] = n_ops;
    return true;
}

/* Move an operator to the same places of another stage with as many devices. */
static void move_op(struct hypar_plan *plan, int op, int to)
{
    const struct op_plan *mine = &plan->ops[op];
    const struct hypar_stage *old = &plan->stages[mine->stage], *new = &plan->stages[to];
    struct arena scratch = { 0 };
    struct split split = mine->split;
    int *device = NEW(&scratch, int, mine->n_devices);
    for (int i = 0; i < mine->n_devices; i++) {
        int place = 0;
        while (old->device[place] != mine->device[i])
            place++;
        device[i] = new->device[place];
    }
    plan->ops[op].stage = to;
    hp_plan_set(plan, op, &split, device);
    hp_arena_free(&scratch);
}

static bool have_equal_stages(const struct hypar_plan *plan)
{
    for (int s = 1; s < plan->n_stages; s++)
        if (plan->stages[s].n_devices != plan->stages[0].n_devices ||
            plan->stages[s].share != plan->stages[0].share)
            return false;
    return plan->n_stages > 1 && plan->stages[0].share == HYPAR_SHARE_BATCH;
}

/* Let every stage begin at the nearest border. */
static void move_stages(const struct target *target, struct hypar_plan *plan)
{
    struct arena scratch = { 0 };
    int *begin = NEW(&scratch, int, plan->n_stages + 1);
    const bool *borders = target->borders ? target->borders(plan->graph, &scratch) : NULL;
    bool moves = borders && have_equal_stages(plan) && find_begins(plan, borders, begin);
    for (int s = 0; moves && s < plan->n_stages; s++) {
        int *ops = NEW(&plan->arena, int, begin[s + 1] - begin[s]);
        for (int op = begin[s]; op < begin[s + 1]; op++) {
            ops[op - begin[s]] = op;
            if (plan->ops[op].stage != s)
                move_op(plan, op, s);
        }
        plan->stages[s].op = ops;
        plan->stages[s].n_ops = begin[s + 1] - begin[s];
    }
    hp_arena_free(&scratch);
}

/* Micro-batches in flight, of all stages together. */
static double all_in_flight(enum hypar_schedule_kind kind, const struct pipeline_size *size)
{
    double sum = 0;
    for (int s = 0; s < size->groups; s++)
        sum += hp_in_flight(kind, size, s);
    return sum;
}

/* Of the target's schedules with one stage on each group of devices, the one that has the
 * fewest micro-batches in flight; `other` where there is none. */
static enum hypar_schedule_kind leanest_schedule(const struct target *target,
                                                 const struct hypar_plan *plan,
                                                 enum hypar_schedule_kind other)
{
    struct pipeline_size size = { plan->n_stages, 1, plan->schedule.micro_batches };
    enum hypar_schedule_kind best = other;
    for (int i = 0; i < hp_n_schedules; i++) {
        enum hypar_schedule_kind kind = (enum hypar_schedule_kind)i;
        if (!hp_is_straight(kind) || !hp_target_has(target, kind) ||
            size.n_micro < hp_target_least_micro_batches(target, kind, plan->n_stages))
            continue;
        if (best == other || all_in_flight(kind, &size) < all_in_flight(best, &size))
            best = kind;
    }
    return best;
}

/* Replace an unsupported schedule by a supported one. */
static bool move_schedule(const struct target *target, struct hypar_plan *plan)
{
    struct hypar_schedule schedule = plan->schedule;
    bool in_turn = plan->n_stages > 1 && schedule.micro_batches > 1;
    if (hp_check_target_schedule(target, schedule.kind, in_turn, NULL) == HYPAR_OK ||
        plan->n_stages < 2 || !hp_schedule_of(plan)->fill)
        return false;
    schedule.kind = leanest_schedule(target, plan, schedule.kind);
    hp_plan_set_schedule(plan, &schedule);
    return true;
}

/* The number of operators that have other parts, devices or stages. */
static int count_differing(const struct hypar_plan *a, const struct hypar_plan *b)
{
    int n = 0;
    for (int op = 0; op < a->graph->n_ops; op++)
        n += a->ops[op].stage != b->ops[op].stage ||
             !hp_same_op_plan(a->graph->ops[op].nest, &a->ops[op], &b->ops[op]);
    return n;
}

struct hypar_plan *hp_moved_plan(const struct target *target, const struct hypar_plan *plan,
                                 int *differing)
{
    *differing = 0;
    if (!target->axes)
        return NULL;
    struct hypar_plan *moved = hp_plan_copy(plan);
    move_axes(target, moved);
    move_parts(target, moved);
    move_stages(target, moved);
    bool any = move_schedule(target, moved);
    *differing = count_differing(plan, moved);
    any |= *differing > 0;
    moved->has_layout = false; /* the changed plan has no layout any more */
    if (any && hypar_plan_check(moved, NULL) == HYPAR_OK &&
        target->check(target, moved, NULL) == HYPAR_OK)
        return moved;
    hypar_plan_free(moved);
    return NULL;
}

enum hypar_status hypar_emit_nearest(struct hypar_plan **out, int *differing,
                                     const struct hypar_plan *plan, const char *target,
                                     struct hypar_error *err)
{
    const struct target *row;
    *out = NULL;
    *differing = 0;
    TRY(hp_find_target(&row, target, err));
    TRY(hp_target_takes(row, plan->graph, err));
    *out = hp_moved_plan(row, plan, differing);
    if (!*out)
        *out = hp_nearest_layout(row, plan, differing);
    if (!*out)
        return hp_fail(err, HYPAR_INFEASIBLE, "there is no plan like it that %s can run",
                       row->title);
    return HYPAR_OK;
}
