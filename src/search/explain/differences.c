/* Compares two plans of one model: lists their differences, and simulates the first plan with
 * each difference alone. */
#include <stddef.h>
#include <string.h>

#include "plan/config.h"
#include "plan/slots.h"
#include "search/explain/changes.h"
#include "search/mcmc/groups.h"

struct hypar_differences {
    struct arena arena; /* owns all memory, including this struct */
    const struct hypar_plan *a, *b;
    const struct hypar_sim_options *given;
    struct changes changes;
    double step_s; /* of the first plan */
    double tasks;  /* tasks that the first plan simulates */
};

/* "what: from -> to" */
static char *words(struct hypar_differences *d, const char *what, const char *from,
                   const char *to)
{
    return hp_arena_printf(&d->arena, "%s: %.60s -> %.60s", what, from, to);
}

/* Settings ------------------------------------------------------------------------------- */

static void add_precision(struct hypar_differences *d)
{
    const struct hypar_plan *a = d->a, *b = d->b;
    if (a->precision == b->precision && a->fp32_gradients == b->fp32_gradients)
        return;
    struct hypar_plan *plan = hp_changed_plan(a, NULL);
    plan->precision = b->precision;
    plan->fp32_gradients = b->fp32_gradients;
    bool same = a->precision == b->precision;
    hp_add_change(&d->changes,
                  words(d, same ? "gradients" : "precision",
                        hypar_precision_text(same ? hp_plan_gradients(a) : a->precision),
                        hypar_precision_text(same ? hp_plan_gradients(b) : b->precision)),
                  plan);
}

/* A member of the plan that stands alone. */
static void add_member(struct hypar_differences *d, size_t offset, size_t size,
                       const char *what, const char *from, const char *to)
{
    const char *theirs = (const char *)d->b + offset;
    if (memcmp((const char *)d->a + offset, theirs, size) == 0)
        return;
    struct hypar_plan *plan = hp_changed_plan(d->a, NULL);
    memcpy((char *)plan + offset, theirs, size);
    hp_add_change(&d->changes, words(d, what, from, to), plan);
}
#define ADD(d, member, ...) \
    add_member(d, offsetof(struct hypar_plan, member), sizeof(d)->a->member, __VA_ARGS__)

static void add_members(struct hypar_differences *d)
{
    const struct hypar_plan *a = d->a, *b = d->b;
    char from[32], to[32];
    ADD(d, optimizer, "optimizer", hypar_optimizer_text(a->optimizer),
        hypar_optimizer_text(b->optimizer));
    ADD(d, clip, "clip", hp_arena_printf(&d->arena, "%g", a->clip),
        hp_arena_printf(&d->arena, "%g", b->clip));
    ADD(d, masks, "dropout masks", hypar_masks_text(a->masks), hypar_masks_text(b->masks));
    ADD(d, framework_bytes, "framework's memory",
        hypar_format_quantity(from, a->framework_bytes, HYPAR_UNIT_BYTES),
        hypar_format_quantity(to, b->framework_bytes, HYPAR_UNIT_BYTES));
}

static void add_simulation(struct hypar_differences *d)
{
    const struct hypar_simulation *a = &d->a->simulation, *b = &d->b->simulation;
    struct hypar_sim_options how = d->changes.how;
    if (hp_simulation_same(a, b))
        return;
    const char *from = hp_simulation_text(&d->arena, a), *to = hp_simulation_text(&d->arena, b);
    d->changes.how = hypar_as_planned(d->b, d->given);
    hp_add_change(&d->changes,
                  words(d, "simulated", *from ? from : "by default", *to ? to : "by default"),
                  hp_changed_plan(d->a, NULL));
    d->changes.how = how;
}

/* Schedule ------------------------------------------------------------------------------- */

static bool same_orders(const struct hypar_plan *a, const struct hypar_plan *b)
{
    if (a->n_orders != b->n_orders)
        return false;
    for (int i = 0; i < a->n_orders; i++) {
        if (a->order[i].n != b->order[i].n)
            return false;
        for (int k = 0; k < a->order[i].n; k++) {
            const struct slot *x = &a->order[i].slot[k], *y = &b->order[i].slot[k];
            if (x->stage != y->stage || x->micro != y->micro || x->phase != y->phase)
                return false;
        }
    }
    return true;
}

static void add_schedule(struct hypar_differences *d)
{
    const struct hypar_schedule *a = &d->a->schedule, *b = &d->b->schedule;
    struct hypar_schedule other = *b;
    other.micro_batches = a->micro_batches;
    if (hp_same_schedule(a, &other) && same_orders(d->a, d->b))
        return;
    struct hypar_plan *plan = hp_changed_plan(d->a, NULL);
    plan->schedule = other;
    hp_plan_set_orders(plan, d->b->order, d->b->n_orders);
    hp_add_change(
        &d->changes,
        words(d, "schedule", hypar_schedule_text(a->kind), hypar_schedule_text(b->kind)), plan);
}

static void add_micro_batches(struct hypar_differences *d)
{
    long long a = d->a->schedule.micro_batches, b = d->b->schedule.micro_batches;
    ADD(d, schedule.micro_batches, "micro-batches", hp_arena_printf(&d->arena, "%lld", a),
        hp_arena_printf(&d->arena, "%lld", b));
}

/* Recomputation and sharding -------------------------------------------------------------- */

static void add_recompute(struct hypar_differences *d)
{
    struct hypar_plan *plan = hp_changed_plan(d->a, NULL);
    int n[2] = { 0, 0 }, differ = 0;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct op_plan *a = &d->a->ops[op], *b = &d->b->ops[op];
        n[0] += a->recompute;
        n[1] += b->recompute;
        differ += a->recompute != b->recompute || a->resend != b->resend;
        plan->ops[op].recompute = b->recompute;
        plan->ops[op].resend = b->resend;
    }
    if (differ)
        hp_add_change(&d->changes,
                      hp_arena_printf(&d->arena, "recomputed operators: %d -> %d", n[0], n[1]),
                      plan);
    else
        hypar_plan_free(plan);
}

static void add_shard(struct hypar_differences *d)
{
    struct hypar_plan *plan = hp_changed_plan(d->a, NULL);
    int first = -1, differ = 0;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct op_plan *a = &d->a->ops[op], *b = &d->b->ops[op];
        bool other = a->shard != b->shard || a->shard_over != b->shard_over;
        first = other && first < 0 ? op : first;
        differ += other;
        plan->ops[op].shard = b->shard;
        plan->ops[op].shard_over = b->shard_over;
    }
    plan->gather_ahead = d->b->gather_ahead;
    if (differ)
        hp_add_change(
            &d->changes,
            hp_arena_printf(&d->arena, "%s (%d operators)",
                            words(d, "shard", hypar_shard_text(d->a->ops[first].shard),
                                  hypar_shard_text(d->b->ops[first].shard)),
                            differ),
            plan);
    else if (d->a->gather_ahead != d->b->gather_ahead)
        hp_add_change(&d->changes,
                      hp_arena_printf(&d->arena, "gather_ahead: %d -> %d", d->a->gather_ahead,
                                      d->b->gather_ahead),
                      plan);
    else
        hypar_plan_free(plan);
}

/* Stages, splits and devices --------------------------------------------------------------- */

/* Copy recomputation and sharding from the first plan. */
static void keep_words(struct hypar_plan *plan, const struct hypar_plan *from)
{
    plan->gather_ahead = from->gather_ahead;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        struct op_plan *to = &plan->ops[op];
        to->recompute = from->ops[op].recompute;
        to->resend = from->ops[op].resend;
        to->shard = from->ops[op].shard;
        to->shard_over = from->ops[op].shard_over;
    }
}

/* Use the stages, splits and devices of the second plan with all other settings of the first.
 * If the first plan's schedule does not suit these stages, use the second plan's schedule. */
static void add_stages(struct hypar_differences *d)
{
    struct hypar_plan_settings settings = hypar_plan_settings(d->a);
    struct hypar_plan *plan = hp_plan_carry(d->b, d->a->machine, NULL, &settings);
    plan->has_layout = false;
    plan->schedule = d->a->schedule;
    hp_plan_set_orders(plan, d->a->order, d->a->n_orders);
    keep_words(plan, d->a);
    bool alone = hypar_plan_check(plan, NULL) == HYPAR_OK;
    if (!alone) {
        plan->schedule = d->b->schedule;
        hp_plan_set_orders(plan, d->b->order, d->b->n_orders);
    }
    hp_add_change(&d->changes,
                  hp_arena_printf(&d->arena, "stages: %d -> %d%s, with splits%s devices%s",
                                  d->a->n_stages, d->b->n_stages,
                                  d->a->n_stages == d->b->n_stages ? " others" : "",
                                  alone ? " and" : ",", alone ? "" : " and schedule"),
                  plan);
}

static bool same_split(const struct hypar_plan *x, int a, const struct hypar_plan *y, int b)
{
    for (int i = 0; i < x->graph->ops[a].nest->n_axes; i++)
        if (!hp_same_parts(&x->ops[a].split, &y->ops[b].split, i))
            return false;
    return true;
}

static bool differs(const struct hypar_differences *d, int op)
{
    return !same_split(d->a, op, d->b, op) || !hp_same_devices(&d->a->ops[op], &d->b->ops[op]);
}

/* Does a leader or one of its followers differ? */
static bool group_differs(const struct hypar_differences *d, const struct groups *g, int leader)
{
    for (int i = g->member_start[leader]; i < g->member_start[leader + 1]; i++)
        if (differs(d, g->member[i]))
            return true;
    return false;
}

/* Do two leaders of the same shape change in the same way? */
static bool change_alike(const struct hypar_differences *d, int x, int y)
{
    return d->a->graph->ops[x].nest->like == d->a->graph->ops[y].nest->like &&
           same_split(d->a, x, d->a, y) && same_split(d->b, x, d->b, y) &&
           hp_same_devices(&d->a->ops[x], &d->a->ops[y]) &&
           hp_same_devices(&d->b->ops[x], &d->b->ops[y]);
}

static void take(struct hypar_plan *plan, const struct hypar_plan *from, int op)
{
    hp_plan_set(plan, op, &from->ops[op].split, from->ops[op].device);
}

static bool has_device(const struct op_plan *op, int device)
{
    for (int i = 0; i < op->n_devices; i++)
        if (op->device[i] == device)
            return true;
    return false;
}

/* The devices' order matters too: it says which device has which part. */
static const char *device_words(const struct op_plan *a, const struct op_plan *b)
{
    if (hp_same_devices(a, b))
        return "";
    for (int i = 0; i < a->n_devices; i++)
        if (!has_device(b, a->device[i]))
            return ", on other devices";
    return a->n_devices == b->n_devices ? ", devices in another order" : ", on other devices";
}

/* Does an operator change while all that follow it stay as they are? */
static bool changes_alone(const struct hypar_differences *d, const struct groups *g, int op)
{
    int leader = g->leader[op], n = g->member_start[leader + 1] - g->member_start[leader];
    for (int k = 0; k < n; k++) {
        int member = g->member[g->member_start[leader] + k];
        if (member != op && differs(d, member))
            return false;
    }
    return n > 1;
}

/* "fc1 and 2 alike: n=4 -> k=4, on other devices" */
static char *split_words(struct hypar_differences *d, const struct groups *g, int op, int n)
{
    struct arena *arena = &d->arena;
    const char *name = d->a->graph->ops[op].name;
    const char *alike = n > 1 ? hp_arena_printf(arena, " and %d alike", n - 1) : "";
    if (changes_alone(d, g, op))
        alike = hp_arena_printf(arena, "%s alone", alike);
    char *split[2] = { hp_plan_split_text(arena, d->a, op),
                       hp_plan_split_text(arena, d->b, op) };
    const char *devices = device_words(&d->a->ops[op], &d->b->ops[op]);
    if (strcmp(split[0], split[1]) == 0)
        return hp_arena_printf(arena, "%.60s%s: %s%s", name, alike, split[0], devices);
    return hp_arena_printf(arena, "%.60s%s: %s -> %s%s", name, alike, split[0], split[1],
                           devices);
}

/* Add one row for all operators that change as `leader` does, and mark them as done. The change
 * is simulated if `simulated`. */
static void add_split(struct hypar_differences *d, const struct groups *g, int leader,
                      bool *done, bool simulated)
{
    struct hypar_plan *plan = hp_changed_plan(d->a, NULL);
    int n = 0, shown = leader;
    for (int i = 0; i < g->n_leaders; i++) {
        int other = g->leaders[i];
        if (done[other] || !group_differs(d, g, other) || !change_alike(d, leader, other))
            continue;
        done[other] = true;
        n++;
        for (int k = g->member_start[other]; k < g->member_start[other + 1]; k++)
            if (differs(d, g->member[k]))
                take(plan, d->b, g->member[k]);
    }
    for (int k = g->member_start[leader]; !differs(d, shown); k++)
        shown = g->member[k];
    if (simulated) {
        hp_add_change(&d->changes, split_words(d, g, shown, n), plan);
        return;
    }
    hp_refuse_change(&d->changes, split_words(d, g, shown, n), "too many tasks");
    hypar_plan_free(plan);
}

static void add_splits(struct hypar_differences *d)
{
    const struct hypar_graph *graph = d->a->graph;
    const struct groups *g = hp_groups(&d->arena, graph, NULL);
    bool *done = NEW(&d->arena, bool, graph->n_ops);
    struct hypar_plan *all = hp_changed_plan(d->a, NULL);
    int rows = 0, n = 0;
    for (int op = 0; op < graph->n_ops; op++) {
        n += differs(d, op);
        take(all, d->b, op);
    }
    for (int i = 0; i < g->n_leaders; i++) {
        int leader = g->leaders[i];
        if (done[leader] || !group_differs(d, g, leader))
            continue;
        rows++;
        add_split(d, g, leader, done, rows * d->tasks <= HP_MOST_INSTANCES);
    }
    if (rows > 1)
        hp_add_change(&d->changes,
                      hp_arena_printf(&d->arena, "splits and devices of all %d operators", n),
                      all);
    else
        hypar_plan_free(all);
}

static enum hypar_status check_pair(const struct hypar_plan *a, const struct hypar_plan *b,
                                    struct hypar_error *err)
{
    if (a->graph->hash != b->graph->hash)
        return hp_fail(err, HYPAR_INVALID, "plans for other models or batches");
    if (a->n_all_devices != b->n_all_devices)
        return hp_fail(err, HYPAR_INVALID, "plans for other machines");
    return HYPAR_OK;
}

enum hypar_status hypar_plan_differences(struct hypar_differences **out,
                                         const struct hypar_plan *a, const struct hypar_plan *b,
                                         const struct hypar_sim_options *simulation,
                                         struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct hypar_sim *sim;
    *out = NULL;
    TRY(check_pair(a, b, err));
    struct hypar_sim_options how = hypar_as_planned(a, simulation);
    TRY(hypar_simulate(&sim, a, &how, err));
    struct hypar_differences *d = NEW(&arena, struct hypar_differences, 1);
    *d = (struct hypar_differences){ .arena = arena, .a = a, .b = b, .given = simulation };
    d->changes = (struct changes){ .arena = &d->arena, .plan = a, .how = how, .keep = true };
    d->step_s = hypar_sim_summary(sim).step_s;
    d->tasks = (double)hypar_sim_summary(sim).tasks;
    hypar_sim_free(sim);
    add_precision(d);
    add_members(d);
    add_simulation(d);
    (hp_same_stages(a, b) ? add_splits : add_stages)(d);
    add_schedule(d);
    add_micro_batches(d);
    add_recompute(d);
    add_shard(d);
    hp_sort_changes(d->changes.row, d->changes.n);
    *out = d;
    return HYPAR_OK;
}

void hypar_differences_free(struct hypar_differences *d)
{
    if (!d)
        return;
    hp_free_changes(&d->changes);
    hp_arena_free(&d->arena);
}

const struct hypar_what_if *hypar_difference(const struct hypar_differences *d, int i)
{
    return i >= 0 && i < d->changes.n ? &d->changes.row[i] : NULL;
}

double hypar_differences_step_s(const struct hypar_differences *d)
{
    return d->step_s;
}
