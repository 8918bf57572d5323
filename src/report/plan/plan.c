/* Reports one plan: the split of each operator; neighbours with the same split share a row. */
#include "plan/plan.h"

#include <hypar/report.h>

#include <limits.h>
#include <string.h>

#include "report/put.h"
#include "report/structure/names.h"
#include "report/structure/words.h"
#include "report/svg/svg.h"

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

/* The other settings of an operator: "recompute, shard optimizer"; "". */
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

/* "n=4 k=2" or "whole", and the other settings of the operator. */
static char *split_text(struct arena *arena, const struct hypar_plan *plan, int op)
{
    return hp_arena_printf(arena, "%s%s", hp_plan_split_text(arena, plan, op),
                           words_text(arena, plan, op));
}

static char *op_devices(struct arena *arena, const struct hypar_plan *plan, int op)
{
    return hp_devices_text(arena, plan->ops[op].device, plan->ops[op].n_devices);
}

/* The table under construction. */
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

/* Count the rows of operators from .. to - 1, where neighbours with the same split and devices
 * share a row; draw them if `draw`. Returns the number of rows; stops after `most`. */
static int put_rows(struct drawing *d, int from, int to, int most, bool draw)
{
    const struct hypar_plan *plan = d->plan;
    const struct hypar_graph *g = plan->graph;
    struct arena *arena = d->arena;
    int rows = 0;
    for (int op = from; op < to && rows <= most; rows++) {
        char *split = split_text(arena, plan, op), *devices = op_devices(arena, plan, op);
        int stage = plan->ops[op].stage, last = op;
        bool same_kind = true;
        while (last + 1 < to && plan->ops[last + 1].stage == stage &&
               strcmp(split_text(arena, plan, last + 1), split) == 0 &&
               strcmp(op_devices(arena, plan, last + 1), devices) == 0)
            same_kind &= g->ops[++last].kind == g->ops[op].kind;
        if (draw) {
            stage_cell(d, stage);
            hp_cell(&d->table, arena, "%s%s%s", g->ops[op].name, last > op ? " .. " : "",
                    last > op ? g->ops[last].name : "");
            hp_cell(&d->table, arena, "%s",
                    last > op ? hp_arena_printf(arena, "(%d)", last - op + 1) : "");
            hp_cell(&d->table, arena, "%s", same_kind ? hp_op_kind(g, op) : "");
            hp_cell(&d->table, arena, "%s", split);
            hp_cell(&d->table, arena, "%s", devices);
        }
        op = last + 1;
    }
    return rows;
}

/* A short plan: all its operators. */
static void put_operators(FILE *to, struct drawing *d)
{
    static const char *const heading[] = {
        "stage", "operators", "", "kind", "split", "devices"
    };
    d->table.align = d->staged ? "rllllw" : "llllw";
    for (int i = d->staged ? 0 : 1; i < 6; i++)
        hp_cell(&d->table, d->arena, "%s", heading[i]);
    put_rows(d, 0, d->plan->graph->n_ops, INT_MAX, true);
    hp_columns_print(&d->table, to);
}

/* The stages with their layers and devices; equal stages share a row. */
static void put_stages(FILE *to, struct arena *arena, const struct plan_structure *s)
{
    static const char *const heading[] = { "stage",   "layers",   "each",
                                           "devices", "replicas", "tensor" };
    struct columns table = { .align = "wwlwrr" };
    for (int i = 0; i < 6; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int g = 0; g < s->n_groups; g++) {
        struct group_words w = hp_group_words(arena, s, g);
        hp_cell(&table, arena, "%s", w.stages);
        hp_cell(&table, arena, "%s", w.layers);
        hp_cell(&table, arena, "%s", w.each);
        hp_cell(&table, arena, "%s", w.devices);
        hp_cell(&table, arena, "%s", w.replicas);
        hp_cell(&table, arena, "%s", w.tensor);
    }
    hp_columns_print(&table, to);
    fputc('\n', to);
}

enum { MOST_OPERATORS = 24, MOST_ROWS = 24, MOST_TOLD = 40 };

/* The layers with the splits of their operators; equal layers share a row. */
static void put_structure(FILE *to, struct arena *arena, const struct plan_structure *s)
{
    struct columns table = { .align = "wrw" };
    char more[64];
    int told = 0;
    if (s->n_groups)
        put_stages(to, arena, s);
    hp_cell(&table, arena, "operators");
    hp_cell(&table, arena, "%s", "");
    hp_cell(&table, arena, "split");
    for (int i = 0; i < s->n_rows; i++) {
        const struct plan_row *row = &s->row[i];
        if (i < s->n_rows - 1 && (i >= MOST_ROWS - 1 || told >= MOST_TOLD)) {
            hp_cell(&table, arena, "...");
            hp_cell(&table, arena, "%s", "");
            hp_cell(&table, arena, "%s of %s; the plan's file has all of them",
                    hp_count(more, s->n_rows - i, "more row", "more rows"),
                    hp_ops_name(arena, s->plan->graph, (struct short_names){ 0 }, row->first,
                                s->plan->graph->n_ops));
            break;
        }
        hp_cell(&table, arena, "%s", hp_plan_row_name(arena, s, row));
        hp_cell(&table, arena, "%s",
                row->count > 1   ? hp_arena_printf(arena, "%d x", row->count)
                : row->n_ops > 1 ? hp_arena_printf(arena, "(%d)", row->n_ops)
                                 : "");
        hp_cell(&table, arena, "%s", hp_plan_row_text(arena, s, row));
        told += row->n_pieces;
    }
    hp_columns_print(&table, to);
}

static void plan_text(FILE *to, const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    struct plan_structure s = hp_plan_structure(&arena, plan);
    struct drawing d = { .plan = plan,
                         .arena = &arena,
                         .staged = hypar_plan_stage_count(plan) > 0 };
    const char *idle = hp_idle_text(&arena, &s);
    if (put_rows(&d, 0, plan->graph->n_ops, MOST_OPERATORS, false) > MOST_OPERATORS)
        put_structure(to, &arena, &s);
    else
        put_operators(to, &d);
    if (*idle)
        hp_wrap(to, idle, 0);
    hp_arena_free(&arena);
}

static void plan_json(FILE *to, const struct hypar_plan *plan)
{
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, false);
    PUT(&w, TEXT("model", hypar_plan_model(plan)), INT("batch", plan->graph->batch),
        INT("devices", hypar_machine_device_count(plan->machine)));
    hp_plan_put_ops(&w, plan);
    hp_plan_put_stages(&w, plan);
    hp_plan_put_schedule(&w, plan);
    hp_json_end_object(&w);
}

/* The devices of an operator's parts, in order: "0-3 8 9-11". */
static char *devices_in_order(struct arena *arena, const struct hypar_plan *plan, int op)
{
    char *text = hp_arena_strdup(arena, "");
    int n = plan->ops[op].n_devices;
    for (int i = 0; i < n;) {
        int begin = i, first = plan->ops[op].device[i];
        while (i < n && plan->ops[op].device[i] == first + i - begin)
            i++;
        text = hp_arena_printf(arena, i - begin > 1 ? "%s%s%d-%d" : "%s%s%d", text,
                               *text ? " " : "", first, first + i - begin - 1);
    }
    return text;
}

static void plan_csv(FILE *to, const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    struct csv_writer csv = { .file = to };
    hp_csv_words(&csv, "operator kind stage split parts devices recomputed sharded");
    hp_csv_end(&csv);
    for (int op = 0; op < plan->graph->n_ops; op++) {
        int stage = plan->ops[op].stage;
        hp_csv_text(&csv, plan->graph->ops[op].name);
        hp_csv_plain(&csv, hp_op_kind(plan->graph, op));
        hp_csv_known(&csv, stage >= 0, stage);
        hp_csv_plain(&csv, hp_plan_split_text(&arena, plan, op));
        hp_csv_number(&csv, plan->ops[op].n_parts);
        hp_csv_plain(&csv, devices_in_order(&arena, plan, op));
        hp_csv_number(&csv, plan->ops[op].recompute);
        hp_csv_plain(&csv, hypar_shard_text(plan->ops[op].shard));
        hp_csv_end(&csv);
        hp_arena_free(&arena);
    }
}

void hypar_report_plan(FILE *to, const struct hypar_plan *plan,
                       const struct hypar_sim_summary *step, enum hypar_format format)
{
    if (format == HYPAR_JSON)
        plan_json(to, plan);
    else if (format == HYPAR_CSV)
        plan_csv(to, plan);
    else if (format == HYPAR_SVG)
        hp_plan_svg(to, plan, step);
    else
        plan_text(to, plan);
}
