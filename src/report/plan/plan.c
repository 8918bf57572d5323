/* Reports one plan: the split of each operator; neighbours with the same split share a row. */
#include "plan/plan.h"

#include <hypar/report.h>

#include <limits.h>
#include <string.h>

#include "plan/structure/names.h"
#include "report/plan/words.h"
#include "report/put.h"
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

/* The devices of an operator's parts, in order: "0-3 8 9-11"; at most so many runs. */
static char *op_devices(struct arena *arena, const struct hypar_plan *plan, int op, int most)
{
    return hp_devices_text(arena, plan->ops[op].device, plan->ops[op].n_devices, most);
}

/* A row: an operator in CSV; in text also neighbours with the same split. */
struct op_row {
    const char *name, *label, *n_ops, *kind, *text_kind, *split, *text_split;
    const char *devices, *text_devices, *sharded;
    int stage, parts;
    bool recomputed;
};

enum { STAGED = 1 };

#define ROW(member) AT(struct op_row, member)

static const struct column op_columns[] = {
    { "stage", NULL, AS_INT, ROW(stage), IF_KNOWN | BLANK, .when = STAGED },
    { "operators", NULL, AS_TEXT, ROW(label) },
    { NULL, "operator", AS_TEXT, ROW(name) },
    { "", NULL, AS_TEXT, ROW(n_ops) },
    { "kind", NULL, AS_TEXT, ROW(text_kind) },
    { NULL, "kind", AS_WORD, ROW(kind) },
    { NULL, "stage", AS_INT, ROW(stage), IF_KNOWN },
    { "split", NULL, AS_TEXT, ROW(text_split) },
    { NULL, "split", AS_WORD, ROW(split) },
    { NULL, "parts", AS_INT, ROW(parts) },
    { "devices", NULL, AS_TEXT, ROW(text_devices), WRAPS },
    { NULL, "devices", AS_WORD, ROW(devices) },
    { NULL, "recomputed", AS_BOOL, ROW(recomputed) },
    { NULL, "sharded", AS_WORD, ROW(sharded) },
    { 0 },
};

/* Write a row for each operator; neighbours with the same split and devices share a row. Table
 * NULL: only count. Returns the number of rows; stops after `most`. */
static int put_rows(struct table_writer *table, struct arena *arena,
                    const struct hypar_plan *plan, int most)
{
    const struct hypar_graph *g = plan->graph;
    int rows = 0;
    for (int op = 0; op < g->n_ops && rows <= most; rows++) {
        const char *split = split_text(arena, plan, op),
                   *devices = op_devices(arena, plan, op, HP_FEW_RUNS);
        int stage = plan->ops[op].stage, last = op;
        bool same_kind = true;
        while (last + 1 < g->n_ops && plan->ops[last + 1].stage == stage &&
               strcmp(split_text(arena, plan, last + 1), split) == 0 &&
               strcmp(op_devices(arena, plan, last + 1, HP_FEW_RUNS), devices) == 0)
            same_kind &= g->ops[++last].kind == g->ops[op].kind;
        int n = last - op + 1;
        struct op_row row = {
            .label = hp_ops_name(arena, g, (struct short_names){ 0 }, op, last + 1),
            .n_ops = n > 1 ? hp_arena_printf(arena, "(%d)", n) : "",
            .text_kind = same_kind ? hp_op_kind(g, op) : "",
            .text_split = split,
            .text_devices = devices,
            .stage = stage,
        };
        if (table)
            hp_table_row(table, &row);
        op = last + 1;
    }
    return rows;
}

enum { MOST_OPERATORS = 24, MOST_ROWS = 24, MOST_TOLD = 40 };

/* The layers with the splits of their operators; equal layers share a row. */
static void put_structure(FILE *to, struct arena *arena, const struct plan_structure *s)
{
    struct table_writer table = { .to = to, .texts = "~operators|>|~split" };
    int told = 0;
    hp_group_rows(&(struct table_writer){ .to = to }, arena, s);
    if (s->n_groups)
        fputc('\n', to);
    hp_table_begin(&table, NULL);
    for (int i = 0; i < s->n_rows; i++) {
        const struct plan_row *row = &s->row[i];
        bool last = i < s->n_rows - 1 && (i >= MOST_ROWS - 1 || told >= MOST_TOLD);
        const char *text = row->count > 1   ? hp_arena_printf(arena, "%d x", row->count)
                           : row->n_ops > 1 ? hp_arena_printf(arena, "(%d)", row->n_ops)
                                            : "";
        if (last) {
            text = hp_arena_printf(arena, "%s of %s; the plan's file has all of them",
                                   hp_count(arena, s->n_rows - i, "more row"),
                                   hp_ops_name(arena, s->plan->graph, (struct short_names){ 0 },
                                               row->first, s->plan->graph->n_ops));
            hp_table_row(&table, (const char *[]){ "...", "", text });
            break;
        }
        hp_table_row(&table, (const char *[]){ hp_plan_row_name(arena, s, row), text,
                                               hp_plan_row_text(arena, s, row) });
        told += row->n_pieces;
    }
    hp_table_end(&table);
}

static void plan_text(FILE *to, const struct hypar_plan *plan)
{
    struct arena arena = { 0 };
    struct plan_structure s = hp_plan_structure(&arena, plan);
    struct table_writer table = { .column = op_columns,
                                  .to = to,
                                  .shows = hypar_plan_stage_count(plan) > 0 ? STAGED : 0 };
    const char *idle = hp_idle_text(&arena, &s);
    if (put_rows(NULL, &arena, plan, MOST_OPERATORS) > MOST_OPERATORS) {
        put_structure(to, &arena, &s);
    } else {
        hp_table_begin(&table, NULL);
        put_rows(&table, &arena, plan, INT_MAX);
        hp_table_end(&table);
    }
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

static void plan_csv(FILE *to, const struct hypar_plan *plan)
{
    struct table_writer table = { .column = op_columns, .to = to, .csv = ALL_KEYS };
    hp_table_begin(&table, NULL);
    for (int op = 0; op < plan->graph->n_ops; op++) {
        struct arena arena = { 0 };
        struct op_row row = { .name = plan->graph->ops[op].name,
                              .kind = hp_op_kind(plan->graph, op),
                              .stage = plan->ops[op].stage,
                              .split = hp_plan_split_text(&arena, plan, op),
                              .parts = plan->ops[op].n_parts,
                              .devices = op_devices(&arena, plan, op, INT_MAX),
                              .recomputed = plan->ops[op].recompute,
                              .sharded = hypar_shard_text(plan->ops[op].shard) };
        hp_table_row(&table, &row);
        hp_arena_free(&arena);
    }
    hp_table_end(&table);
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
