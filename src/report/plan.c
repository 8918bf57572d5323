/* One plan: how each operator is split, alike neighbours together. */
#include "plan/plan.h"

#include <hypar/report.h>

#include <string.h>

#include "base/json.h"
#include "graph/repeated.h"
#include "report/columns.h"
#include "report/put.h"

const char *hp_sent_text(const struct hypar_plan *plan)
{
    bool gathered = false;
    for (int op = 0; plan && op < plan->graph->n_ops; op++) {
        if (plan->ops[op].recompute || plan->ops[op].resend)
            return "again where it is computed again";
        gathered |= plan->ops[op].shard == HYPAR_SHARD_PARAMETERS;
    }
    return gathered ? "parameters for each half" : "each byte once";
}

/* "recompute, shard optimizer": what else is said of an operator; "". */
static char *words_text(struct arena *arena, const struct hypar_plan *plan, int op)
{
    const struct op_plan *p = &plan->ops[op];
    char *text = hp_arena_printf(arena, "%s%s", p->recompute ? ", recompute" : "",
                                 p->resend ? ", resend" : "");
    if (p->shard != HYPAR_SHARD_NONE)
        text = hp_arena_printf(arena, "%s, shard %s", text, hypar_shard_text(p->shard));
    if (p->shard != HYPAR_SHARD_NONE && p->shard_over)
        text = hp_arena_printf(arena, "%s over %d", text, p->shard_over);
    return text;
}

/* "n=4 k=2", or "whole", and what else is said of it. */
static char *split_text(struct arena *arena, const struct hypar_plan *plan, int op)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    char *text = hp_arena_strdup(arena, "");
    for (int a = 0; a < nest->n_axes; a++)
        if (hypar_plan_degree(plan, op, a) > 1)
            text = hp_arena_printf(arena, "%s%s%s=%d", text, *text ? " " : "",
                                   nest->axis[a].name, hypar_plan_degree(plan, op, a));
    return hp_arena_printf(arena, "%s%s", *text ? text : "whole", words_text(arena, plan, op));
}

/* "0-3 8 9": runs of consecutive devices, the first few of them. */
static char *devices_text(struct arena *arena, const struct hypar_plan *plan, int op)
{
    char *text = hp_arena_strdup(arena, "");
    int n = hypar_plan_device_count(plan, op), runs = 0;
    for (int i = 0; i < n;) {
        int first = hypar_plan_device(plan, op, i), last = first;
        for (i++; i < n && hypar_plan_device(plan, op, i) == last + 1; i++)
            last++;
        if (++runs > 4)
            return hp_arena_printf(arena, "%s ...", text);
        const char *space = *text ? " " : "";
        text = first == last ? hp_arena_printf(arena, "%s%s%d", text, space, first)
                             : hp_arena_printf(arena, "%s%s%d-%d", text, space, first, last);
    }
    return text;
}

/* The table while it is filled. */
struct drawing {
    const struct hypar_plan *plan;
    struct arena *arena;
    struct columns table;
    bool staged;
};

static void stage_cell(struct drawing *d, int stage)
{
    if (d->staged)
        hp_cell(&d->table, d->arena, "%.*d", stage < 0 ? 0 : 1, stage < 0 ? 0 : stage);
}

/* Operators from .. to - 1, neighbours with the same split and devices in one row; returns the
 * number of rows, which are drawn if `draw`. */
static int put_rows(struct drawing *d, int from, int to, bool draw)
{
    const struct hypar_plan *plan = d->plan;
    const struct hypar_graph *g = plan->graph;
    struct arena *arena = d->arena;
    int rows = 0;
    for (int op = from; op < to; rows++) {
        char *split = split_text(arena, plan, op), *devices = devices_text(arena, plan, op);
        int stage = hypar_plan_op_stage(plan, op), last = op;
        bool same_kind = true;
        while (last + 1 < to && hypar_plan_op_stage(plan, last + 1) == stage &&
               strcmp(split_text(arena, plan, last + 1), split) == 0 &&
               strcmp(devices_text(arena, plan, last + 1), devices) == 0)
            same_kind &= g->ops[++last].kind == g->ops[op].kind;
        if (draw) {
            stage_cell(d, stage);
            hp_cell(&d->table, arena, "%s%s%s", g->ops[op].name, last > op ? " .. " : "",
                    last > op ? g->ops[last].name : "");
            hp_cell(&d->table, arena, "%s",
                    last > op ? hp_arena_printf(arena, "(%d)", last - op + 1) : "");
            hp_cell(&d->table, arena, "%s", same_kind ? hypar_graph_op_kind(g, op) : "");
            hp_cell(&d->table, arena, "%s", split);
            hp_cell(&d->table, arena, "%s", devices);
        }
        op = last + 1;
    }
    return rows;
}

/* Is operator b split as a is, and all else said of it, on devices that lie to base_b as those
 * of a to base_a? */
static bool is_alike(const struct hypar_plan *plan, int a, int b, int base_a, int base_b)
{
    const struct op_plan *x = &plan->ops[a], *y = &plan->ops[b];
    const struct nest *nest = plan->graph->ops[a].nest;
    for (int axis = 0; axis < nest->n_axes; axis++)
        if (!hp_same_parts(&x->split, &y->split, axis))
            return false;
    bool alike = x->n_devices == y->n_devices && x->recompute == y->recompute &&
                 x->resend == y->resend && x->shard == y->shard &&
                 x->shard_over == y->shard_over;
    for (int i = 0; i < x->n_devices && alike; i++)
        alike = x->device[i] - base_a == y->device[i] - base_b;
    return alike;
}

/* Layers from `layer` on that are all as that one is. */
static int count_alike(const struct hypar_plan *plan, const struct repeated_layers *layers,
                       int layer)
{
    int a = layers->first + layer * layers->n_ops, n = 1;
    for (; layer + n < layers->count; n++) {
        int b = a + n * layers->n_ops;
        for (int i = 0; i < layers->n_ops; i++)
            if (!is_alike(plan, a + i, b + i, plan->ops[a].device[0], plan->ops[b].device[0]))
                return n;
    }
    return n;
}

/* "layers 2-95" of all stages that they are in; then the first of them as its rows. */
static void put_folded(struct drawing *d, const struct repeated_layers *layers, int layer,
                       int n)
{
    const struct hypar_plan *plan = d->plan;
    int from = layers->first + layer * layers->n_ops, to = from + n * layers->n_ops;
    int first = hypar_plan_op_stage(plan, from), last = hypar_plan_op_stage(plan, to - 1);
    if (d->staged && first != last)
        hp_cell(&d->table, d->arena, "%d-%d", first, last);
    else
        stage_cell(d, first);
    hp_cell(&d->table, d->arena, "layers %d-%d, each as the first:", layer + 1, layer + n);
    hp_cell(&d->table, d->arena, "(%d x)", n);
    for (int i = 0; i < 3; i++)
        hp_cell(&d->table, d->arena, "%s", "");
    put_rows(d, from, from + layers->n_ops, true);
}

/* Repeated layers are drawn once where that is shorter. */
static void put_all(struct drawing *d)
{
    struct repeated_layers layers = hp_repeated_layers(d->plan->graph);
    int n_ops = d->plan->graph->n_ops, done = 0;
    for (int layer = 0; layer < layers.count;) {
        int from = layers.first + layer * layers.n_ops,
            n = count_alike(d->plan, &layers, layer);
        int end = from + n * layers.n_ops;
        if (n > 2 &&
            put_rows(d, from, end, false) > put_rows(d, from, from + layers.n_ops, false) + 1) {
            put_rows(d, done, from, true);
            put_folded(d, &layers, layer, n);
            done = end;
        }
        layer += n;
    }
    put_rows(d, done, n_ops, true);
}

static void plan_text(FILE *to, const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    bool staged = hypar_plan_stage_count(plan) > 0;
    struct drawing d = { plan, &arena, { .align = staged ? "rllllw" : "llllw" }, staged };
    static const char *const heading[] = {
        "stage", "operators", "", "kind", "split", "devices"
    };
    for (int i = staged ? 0 : 1; i < 6; i++)
        hp_cell(&d.table, &arena, "%s", heading[i]);
    put_all(&d);
    hp_columns_print(&d.table, to);
    hp_arena_free(&arena);
}

static void plan_json(FILE *to, const struct hypar_plan *plan)
{
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "model", hypar_plan_model(plan));
    hp_json_put_int(&w, "batch", plan->graph->batch);
    hp_json_put_int(&w, "devices", hypar_machine_device_count(plan->machine));
    hp_plan_put_ops(&w, plan);
    hp_plan_put_stages(&w, plan);
    hp_plan_put_schedule(&w, plan);
    hp_json_end_object(&w);
}

void hypar_report_plan(FILE *to, const struct hypar_plan *plan, enum hypar_format format)
{
    if (format == HYPAR_JSON)
        plan_json(to, plan);
    else
        plan_text(to, plan);
}
