/* One plan: how each operator is split, alike neighbours together. */
#include "plan/plan.h"

#include <hypar/report.h>

#include <string.h>

#include "base/json.h"
#include "report/columns.h"

/* "n=4 k=2", or "whole". */
static char *split_text(struct arena *arena, const struct hypar_plan *plan, int op)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    char *text = hp_arena_strdup(arena, "");
    for (int a = 0; a < nest->n_axes; a++)
        if (hypar_plan_degree(plan, op, a) > 1)
            text = hp_arena_printf(arena, "%s%s%s=%d", text, *text ? " " : "",
                                   nest->axis[a].name, hypar_plan_degree(plan, op, a));
    return *text ? text : hp_arena_strdup(arena, "whole");
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

static void plan_text(FILE *to, const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    bool staged = hypar_plan_stage_count(plan) > 0;
    struct columns table = { .align = staged ? "rllllw" : "llllw" };
    const struct hypar_graph *g = plan->graph;
    static const char *const heading[] = {
        "stage", "operators", "", "kind", "split", "devices"
    };
    for (int i = staged ? 0 : 1; i < 6; i++)
        hp_cell(&table, &arena, "%s", heading[i]);
    for (int op = 0; op < g->n_ops;) {
        char *split = split_text(&arena, plan, op), *devices = devices_text(&arena, plan, op);
        int stage = hypar_plan_op_stage(plan, op), last = op;
        bool same_kind = true;
        while (last + 1 < g->n_ops && hypar_plan_op_stage(plan, last + 1) == stage &&
               strcmp(split_text(&arena, plan, last + 1), split) == 0 &&
               strcmp(devices_text(&arena, plan, last + 1), devices) == 0)
            same_kind &= g->ops[++last].kind == g->ops[op].kind;
        if (staged)
            hp_cell(&table, &arena, "%.*d", stage < 0 ? 0 : 1, stage < 0 ? 0 : stage);
        hp_cell(&table, &arena, "%s%s%s", g->ops[op].name, last > op ? " .. " : "",
                last > op ? g->ops[last].name : "");
        hp_cell(&table, &arena, "%s",
                last > op ? hp_arena_printf(&arena, "(%d)", last - op + 1) : "");
        hp_cell(&table, &arena, "%s", same_kind ? hypar_graph_op_kind(g, op) : "");
        hp_cell(&table, &arena, "%s", split);
        hp_cell(&table, &arena, "%s", devices);
        op = last + 1;
    }
    hp_columns_print(&table, to);
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
