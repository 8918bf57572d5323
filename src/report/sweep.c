/* A sweep over batches and machines as text, as JSON and as CSV. */
#include <hypar/report.h>

#include <string.h>

#include "base/json.h"
#include "graph/graph.h"
#include "report/columns.h"
#include "report/csv.h"
#include "report/put.h"
#include "report/sweep.h"

double hp_for_a_device(const struct hypar_sweep_point *p)
{
    return p->samples_per_s / p->devices;
}

bool hp_sweep_has_kinds(const struct hypar_sweep *s)
{
    for (int i = 0; i < hypar_sweep_count(s); i++)
        for (int k = 0; k < i; k++) {
            const struct hypar_sweep_point *a = hypar_sweep_point(s, i),
                                           *b = hypar_sweep_point(s, k);
            if (a->devices == b->devices && a->machine != b->machine)
                return true;
        }
    return false;
}

const char *hp_sweep_machines(struct arena *arena, const struct hypar_sweep *s)
{
    const char *first = hypar_sweep_point(s, 0)->word,
               *last = hypar_sweep_point(s, hypar_sweep_count(s) - 1)->word;
    return strcmp(first, last) == 0 ? first : hp_arena_printf(arena, "%s to %s", first, last);
}

const char *hp_sweep_planners(struct arena *arena, const struct hypar_sweep *s)
{
    const char *list = hypar_sweep_options(s).planners, *text = "", *between = "";
    while (list) {
        int length = (int)strcspn(list, ",");
        bool last = !list[length];
        text = hp_arena_printf(arena, "%s%s%.*s", text, *text && last ? " or " : between,
                               length, list);
        between = ", ";
        list = last ? NULL : list + length + 1;
    }
    return *text ? text : "auto";
}

/* Text -------------------------------------------------------------------------------- */

/* "3d 8 x 4 x 2"; "optcnn, by layer". */
static const char *plan_text(struct arena *arena, const struct hypar_sweep_point *p)
{
    char count[64];
    if (p->data)
        return hp_arena_printf(arena, "%s %d x %d x %d", p->planner, p->data, p->tensor,
                               p->pipeline);
    if (p->pipeline > 1)
        return hp_arena_printf(arena, "%s, %s, by layer", p->planner,
                               hp_count(count, p->pipeline, "stage", "stages"));
    return hp_arena_printf(arena, "%s, by layer", p->planner);
}

/* What stands in the place of a plan. */
static const char *lack_text(struct arena *arena, const struct hypar_sweep_point *p)
{
    if (p->verdict == HYPAR_SWEPT_NO_PLAN)
        return hp_arena_printf(arena, "no plan: %s", p->why.text);
    return hp_arena_printf(arena, "no plan fits (%s)", plan_text(arena, p));
}

static void figures(struct columns *table, struct arena *arena,
                    const struct hypar_sweep_point *p)
{
    char text[32];
    const char *about = p->simulated ? "" : "~";
    hp_cell(table, arena, "%s%s", about,
            hypar_format_quantity(text, p->step_s, HYPAR_UNIT_SECONDS));
    hp_cell(table, arena, "%s", hp_metric(text, p->samples_per_s));
    hp_cell(table, arena, "%s", hp_metric(text, hp_for_a_device(p)));
    if (p->best)
        hp_cell_mark(table, arena);
    hp_cell(table, arena, "%.1f %%", 100 * p->mfu);
}

static void row(struct columns *table, struct arena *arena, const struct hypar_sweep_point *p,
                bool kinds)
{
    char text[32];
    bool fits = p->verdict == HYPAR_SWEPT_FITS;
    if (kinds)
        hp_cell(table, arena, "%s", p->word);
    hp_cell(table, arena, "%s", hp_thousands(text, p->devices));
    hp_cell(table, arena, "%s", hp_thousands(text, p->batch));
    if (fits)
        figures(table, arena, p);
    for (int i = 0; i < 4 && !fits; i++)
        hp_cell(table, arena, "-");
    hp_cell(table, arena, "%s",
            p->memory_bytes > 0 ? hypar_format_quantity(text, p->memory_bytes, HYPAR_UNIT_BYTES)
                                : "-");
    hp_cell(table, arena, "%s", fits ? hp_thousands(text, p->micro_batches) : "-");
    hp_cell(table, arena, "%s", fits ? plan_text(arena, p) : lack_text(arena, p));
}

/* "batch 1,024 on 8 devices" */
static const char *place_text(struct arena *arena, const struct hypar_sweep_point *p,
                              bool kinds)
{
    char batch[32], devices[64];
    return hp_arena_printf(arena, "batch %s on %s", hp_thousands(batch, p->batch),
                           kinds ? p->word
                                 : hp_count(devices, p->devices, "device", "devices"));
}

/* What stands out, and what the marks mean. */
static void explain(FILE *to, struct arena *arena, const struct hypar_sweep *s, bool kinds)
{
    const struct hypar_sweep_point *best = NULL, *most = NULL;
    bool closed = false, large = false;
    double room = 0;
    char a[32], b[32];
    for (int i = 0; i < hypar_sweep_count(s); i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        bool fits = p->verdict == HYPAR_SWEPT_FITS;
        closed |= fits && !p->simulated;
        large |= p->verdict == HYPAR_SWEPT_TOO_LARGE;
        room = p->limit_bytes > room ? p->limit_bytes : room;
        best = p->best ? p : best;
        if (fits && (!most || p->samples_per_s > most->samples_per_s))
            most = p;
    }
    fputc('\n', to);
    if (best)
        hp_wrap(to,
                hp_arena_printf(
                    arena, "Most samples/s for a device (*): %s of %s; in all: %s of %s.",
                    hp_metric(a, hp_for_a_device(best)), place_text(arena, best, kinds),
                    hp_metric(b, most->samples_per_s), place_text(arena, most, kinds)),
                0);
    else
        fputs("None fits.\n", to);
    const char *memory =
        room > 0 ? hp_arena_printf(arena, "Memory: of the fullest device, which has %s. ",
                                   hypar_format_quantity(a, room, HYPAR_UNIT_BYTES))
                 : "";
    hp_wrap(
        to,
        hp_arena_printf(arena, "%sMicro: micro-batches. Plans: data x tensor x pipeline.%s%s",
                        memory, closed ? " ~: in closed form, as simulating takes long." : "",
                        large ? " In brackets the plan that needs least." : ""),
        0);
}

/* Those that there was no time for, which have no rows. */
static void tell_not_tried(FILE *to, struct arena *arena, const struct hypar_sweep *s,
                           bool kinds)
{
    const struct hypar_sweep_point *first = NULL;
    int n = 0;
    char count[64];
    for (int i = 0; i < hypar_sweep_count(s); i++)
        if (hypar_sweep_point(s, i)->verdict == HYPAR_SWEPT_NOT_TRIED) {
            first = first ? first : hypar_sweep_point(s, i);
            n++;
        }
    if (first)
        fprintf(to, "Not tried: %s, from %s on.\n", hp_count(count, n, "point", "points"),
                place_text(arena, first, kinds));
}

static void sweep_text(FILE *to, const struct hypar_sweep *s)
{
    struct arena arena = { 0 };
    struct hypar_sweep_options how = hypar_sweep_options(s);
    bool kinds = hp_sweep_has_kinds(s);
    struct columns table = { .align = kinds ? "lrrrrrrrrw" : "rrrrrrrrw" };
    static const char *const names[] = { "devices", "batch",  "step",  "samples/s", "a device",
                                         "MFU",     "memory", "micro", "plan" };
    enum hypar_precision gradients =
        how.search.fp32_gradients ? HYPAR_FP32 : how.search.precision;
    hp_wrap(to,
            hp_arena_printf(
                &arena, "%s%s, on %s: plans of %s", hypar_sweep_graph(s)->name,
                hp_settings_text(&arena, how.search.precision, gradients, how.search.optimizer),
                hp_sweep_machines(&arena, s), hp_sweep_planners(&arena, s)),
            0);
    fputc('\n', to);
    if (kinds)
        hp_cell(&table, &arena, "machine");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        hp_cell(&table, &arena, "%s", names[i]);
    for (int i = 0; i < hypar_sweep_count(s); i++)
        if (hypar_sweep_point(s, i)->verdict != HYPAR_SWEPT_NOT_TRIED)
            row(&table, &arena, hypar_sweep_point(s, i), kinds);
    hp_columns_print(&table, to);
    explain(to, &arena, s, kinds);
    tell_not_tried(to, &arena, s, kinds);
    hp_arena_free(&arena);
}

/* JSON -------------------------------------------------------------------------------- */

static const char *const verdicts[] = {
    [HYPAR_SWEPT_FITS] = "fits",
    [HYPAR_SWEPT_TOO_LARGE] = "too large",
    [HYPAR_SWEPT_NO_PLAN] = "no plan",
    [HYPAR_SWEPT_NOT_TRIED] = "not tried",
};

static void put_point(struct json_writer *w, const struct hypar_sweep_point *p)
{
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "machine", p->word);
    hp_json_put_int(w, "devices", p->devices);
    hp_json_put_int(w, "batch", p->batch);
    hp_json_put_string(w, "verdict", verdicts[p->verdict]);
    if (*p->why.text)
        hp_json_put_string(w, "why", p->why.text);
    if (p->planner) {
        hp_json_put_string(w, "planner", p->planner);
        hp_json_put_known(w, "data", p->data > 0, p->data);
        hp_json_put_known(w, "tensor", p->tensor > 0, p->tensor);
        hp_json_put_int(w, "pipeline", p->pipeline);
        hp_json_put_int(w, "micro_batches", p->micro_batches);
        hp_json_put_bool(w, "simulated", p->simulated);
        hp_json_put_number(w, "step_s", p->step_s);
        hp_json_put_number(w, "samples_per_s", p->samples_per_s);
        hp_json_put_number(w, "samples_per_s_per_device", hp_for_a_device(p));
        hp_json_put_number(w, "mfu", p->mfu);
        hp_json_put_known(w, "memory_bytes", p->memory_bytes > 0, p->memory_bytes);
        hp_json_put_known(w, "limit_bytes", p->limit_bytes > 0, p->limit_bytes);
        hp_json_put_bool(w, "best", p->best);
    }
    hp_json_end_object(w);
}

static void sweep_json(FILE *to, const struct hypar_sweep *s)
{
    struct json_writer w = { .file = to };
    struct hypar_sweep_options how = hypar_sweep_options(s);
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "model", hypar_sweep_graph(s)->name);
    hp_json_put_string(&w, "planners", how.planners ? how.planners : "auto");
    if (hypar_sweep_done(s) < hypar_sweep_count(s))
        hp_json_put_bool(&w, "interrupted", true);
    hp_json_begin_array(&w, "points", false);
    for (int i = 0; i < hypar_sweep_count(s); i++)
        put_point(&w, hypar_sweep_point(s, i));
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}

void hypar_report_sweep(FILE *to, const struct hypar_sweep *s, enum hypar_format format)
{
    if (format == HYPAR_JSON)
        sweep_json(to, s);
    else
        sweep_text(to, s);
}

/* CSV --------------------------------------------------------------------------------- */

void hypar_report_sweep_csv(FILE *to, const struct hypar_sweep *s)
{
    struct csv_writer csv = { .file = to };
    hp_csv_words(&csv, "machine devices batch verdict planner data tensor pipeline "
                       "micro_batches simulated step_s samples_per_s samples_per_s_per_device "
                       "mfu memory_bytes limit_bytes best why");
    hp_csv_end(&csv);
    for (int i = 0; i < hypar_sweep_count(s); i++) {
        const struct hypar_sweep_point *p = hypar_sweep_point(s, i);
        bool known = p->planner != NULL;
        hp_csv_text(&csv, p->word);
        hp_csv_number(&csv, p->devices);
        hp_csv_number(&csv, (double)p->batch);
        hp_csv_plain(&csv, verdicts[p->verdict]);
        hp_csv_plain(&csv, known ? p->planner : "");
        hp_csv_known(&csv, p->data > 0, p->data);
        hp_csv_known(&csv, p->tensor > 0, p->tensor);
        hp_csv_known(&csv, known, p->pipeline);
        hp_csv_known(&csv, known, (double)p->micro_batches);
        hp_csv_known(&csv, known, p->simulated);
        hp_csv_known(&csv, known, p->step_s);
        hp_csv_known(&csv, known, p->samples_per_s);
        hp_csv_known(&csv, known, hp_for_a_device(p));
        hp_csv_known(&csv, known, p->mfu);
        hp_csv_known(&csv, p->memory_bytes > 0, p->memory_bytes);
        hp_csv_known(&csv, p->limit_bytes > 0, p->limit_bytes);
        hp_csv_number(&csv, p->best);
        hp_csv_text(&csv, p->why.text);
        hp_csv_end(&csv);
    }
}
