/* What a search found, and the planners there are. */
#include <hypar/report.h>

#include <string.h>

#include "base/json.h"
#include "plan/plan.h"
#include "report/columns.h"
#include "report/pipeline.h"

void hypar_report_planners(FILE *to, enum hypar_format format)
{
    struct arena arena = { 0 };
    struct columns table = { .align = "lwl" };
    struct json_writer w = { .file = to };
    const struct hypar_planner_info *info;
    hp_cell(&table, &arena, "planner");
    hp_cell(&table, &arena, "%s", "");
    hp_cell(&table, &arena, "after");
    if (format == HYPAR_JSON)
        hp_json_begin_array(&w, NULL, false);
    for (int i = 0; (info = hypar_planner(i)); i++) {
        if (format == HYPAR_JSON) {
            hp_json_begin_object(&w, NULL, true);
            hp_json_put_string(&w, "name", info->name);
            hp_json_put_string(&w, "summary", info->summary);
            hp_json_put_string(&w, "source", info->source);
            hp_json_end_object(&w);
            continue;
        }
        hp_cell(&table, &arena, "%s", info->name);
        hp_cell(&table, &arena, "%s", info->summary);
        hp_cell(&table, &arena, "%s", info->source);
    }
    if (format == HYPAR_JSON)
        hp_json_end_array(&w);
    else
        hp_columns_print(&table, to);
    hp_arena_free(&arena);
}

/* Bytes that the plan's program really sends, or -1 where there is none (no loss, an opaque
 * operator) or it would take long to write out. */
static double exact_bytes(const struct hypar_plan *plan)
{
    enum { MAX_PLACEMENTS = 1 << 19 };
    struct hypar_program *program;
    int64_t placements = 0;
    for (int op = 0; op < plan->graph->n_ops; op++)
        placements += plan->ops[op].n_devices;
    if (placements > MAX_PLACEMENTS || hypar_lower(&program, plan, NULL, NULL) != HYPAR_OK)
        return -1;
    double bytes = hypar_program_totals(program).comm_bytes;
    hypar_program_free(program);
    return bytes;
}

/* JSON -------------------------------------------------------------------------------- */

/* `counted`: the operations of the model are known; of a profile they are not. */
static void put_prediction(struct json_writer *w, const struct hypar_prediction *p,
                           double exact, bool counted)
{
    hp_json_begin_object(w, "predicted", false);
    hp_json_put_string(w, "model", "closed form: no overlap, levels one after another");
    hp_json_put_number(w, "step_s", p->step_s);
    hp_json_put_number(w, "compute_s", p->compute_s);
    hp_json_put_number(w, "comm_s", p->comm_s);
    hp_json_put_number(w, "samples_per_s", p->samples_per_s);
    if (counted)
        hp_json_put_number(w, "mfu", p->mfu);
    else
        hp_json_put_null(w, "mfu");
    hp_json_put_number(w, "comm_bytes", exact < 0 ? p->comm_bytes : exact);
    hp_json_put_number(w, "comm_bytes_paper", p->comm_bytes);
    hp_json_put_null(w, "link_bytes");
    if (counted)
        hp_json_put_number(w, "energy_j", p->energy_j);
    else
        hp_json_put_null(w, "energy_j");
    hp_json_put_null(w, "peak_memory_bytes");
    hp_json_put_number(w, "state_bytes", p->state_bytes);
    hp_json_end_object(w);
}

static void put_view(struct json_writer *w, const struct hypar_partition_view *view)
{
    hp_json_begin_object(w, "hypar", false);
    hp_json_begin_array(w, "levels", false);
    for (int h = 0; h < view->n_levels; h++)
        hp_json_put_string(w, NULL, view->level[h]);
    hp_json_end_array(w);
    hp_json_begin_array(w, "level_elements", true);
    for (int h = 0; h < view->n_levels; h++)
        hp_json_put_number(w, NULL, view->level_elements[h]);
    hp_json_end_array(w);
    hp_json_put_number(w, "total_elements", view->total_elements);
    hp_json_put_number(w, "total_bytes", view->total_bytes);
    hp_json_end_object(w);
}

static void found_json(FILE *to, const struct hypar_found *found)
{
    struct json_writer w = { .file = to };
    const struct hypar_plan *plan = hypar_found_plan(found);
    struct hypar_prediction prediction = hypar_found_prediction(found);
    struct hypar_search_info info = hypar_found_info(found);
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "model", hypar_plan_model(plan));
    hp_plan_put_machine(&w, plan);
    hp_json_put_int(&w, "batch", plan->graph->batch);
    hp_json_put_string(&w, "planner", info.planner);
    put_prediction(&w, &prediction, exact_bytes(plan),
                   hypar_graph_flops_per_sample(plan->graph) > 0);
    hp_json_begin_object(&w, "search", false);
    hp_json_put_number(&w, "seconds", info.seconds);
    hp_json_put_int(&w, "evaluated", info.evaluated);
    hp_json_put_null(&w, "lower_bound_s");
    if (info.lower_bound_elements > 0)
        hp_json_put_number(&w, "lower_bound_elements", info.lower_bound_elements);
    else
        hp_json_put_null(&w, "lower_bound_elements");
    hp_json_put_bool(&w, "exact", info.exact);
    hp_json_end_object(&w);
    if (hypar_found_partition(found))
        put_view(&w, hypar_found_partition(found));
    if (hypar_found_pipeline(found))
        hp_put_pipeline(&w, found);
    hp_plan_put_ops(&w, plan);
    hp_plan_put_stages(&w, plan);
    hp_plan_put_schedule(&w, plan);
    hp_json_end_object(&w);
}

/* Text -------------------------------------------------------------------------------- */

/* How a choice looks: told apart by letter, and on a terminal by colour too. */
static const struct {
    const char *word, *letter, *colour;
} looks[] = {
    { "dp", ".", "\033[44;97m" },
    { "mp", "#", "\033[43;30m" },
    { "III", "o", "\033[42;30m" },
};

static void put_choice(FILE *to, char digit, int width, bool fill, bool colour)
{
    int t = digit - '0';
    const char *text = width > 1 ? looks[t].word : looks[t].letter;
    if (colour)
        fputs(looks[t].colour, to);
    fprintf(to, "%-*s", fill || colour ? width : 0, text);
    if (colour)
        fputs("\033[0m", to);
}

enum { NAMED_LINES = 2 }; /* with more layers than that, a letter for each */

/* The layers first .. last - 1 of HyPar's Figure 5, names above where there is room. */
static void map_part(FILE *to, const struct hypar_partition_view *view,
                     const struct hypar_graph *g, int first, int last, int width, bool colour)
{
    if (width > 1) {
        fprintf(to, "     ");
        for (int i = first; i < last; i++)
            fprintf(to, "%s%-*s", i > first ? " " : "", i < last - 1 ? width : 0,
                    g->ops[view->layer_op[i]].name);
        fputc('\n', to);
    } else {
        fprintf(to, "     layers %d to %d: %s .. %s\n", first + 1, last,
                g->ops[view->layer_op[first]].name, g->ops[view->layer_op[last - 1]].name);
    }
    for (int h = 0; h < view->n_levels; h++) {
        fprintf(to, "%-5s",
                (char[]){ 'H', (char)(h + 1 < 10 ? '1' + h : '0' + (h + 1) / 10),
                          (char)(h + 1 < 10 ? 0 : '0' + (h + 1) % 10), 0 });
        for (int i = first; i < last; i++) {
            if (width > 1 && i > first)
                fputc(' ', to);
            put_choice(to, view->level[h][i], width, i < last - 1, colour);
        }
        fputc('\n', to);
    }
    fputc('\n', to);
}

static void draw_map(FILE *to, const struct hypar_partition_view *view,
                     const struct hypar_graph *g)
{
    bool colour = hp_has_colour(to);
    int width = 3, line = hp_line_width(to) - 5; /* the level's name stands in front */
    for (int i = 0; i < view->n_layers; i++) {
        int n = (int)strlen(g->ops[view->layer_op[i]].name);
        width = n > width ? n : width;
    }
    if (width + 1 > line || (width + 1) * view->n_layers > NAMED_LINES * line)
        width = 1;
    int per_line = width > 1 ? (line + 1) / (width + 1) : line;
    for (int first = 0; first < view->n_layers; first += per_line) {
        int last = first + per_line < view->n_layers ? first + per_line : view->n_layers;
        map_part(to, view, g, first, last, width, colour);
    }
    if (width == 1)
        fputs("     . dp (I)   # mp (II)   o III\n\n", to);
}

/* Bytes of each level, all groups together, for each planner. */
static void level_table(FILE *to, struct arena *arena, const struct hypar_found *const *all,
                        int n_all)
{
    const struct hypar_partition_view *first = hypar_found_partition(all[0]);
    char align[8] = "lr", b[32];
    for (int i = 0; i < n_all; i++)
        align[2 + i] = 'r';
    struct columns table = { .align = align };
    hp_cell(&table, arena, "level");
    hp_cell(&table, arena, "ways");
    for (int i = 0; i < n_all; i++)
        hp_cell(&table, arena, "%s", hypar_found_info(all[i]).planner);
    double groups = 1;
    for (int h = 0; h < first->n_levels; h++) {
        hp_cell(&table, arena, "H%d", h + 1);
        hp_cell(&table, arena, "%d", first->ways[h]);
        for (int i = 0; i < n_all; i++)
            hp_cell(&table, arena, "%s",
                    hypar_format_quantity(
                        b, 8 * groups * hypar_found_partition(all[i])->level_elements[h],
                        HYPAR_UNIT_BYTES));
        groups *= first->ways[h];
    }
    hp_cell(&table, arena, "all");
    hp_cell(&table, arena, "%s", "");
    for (int i = 0; i < n_all; i++)
        hp_cell(&table, arena, "%s",
                hypar_format_quantity(b, hypar_found_partition(all[i])->total_bytes,
                                      HYPAR_UNIT_BYTES));
    hp_cell(&table, arena, "exact");
    hp_cell(&table, arena, "%s", "");
    for (int i = 0; i < n_all; i++) {
        double exact = exact_bytes(hypar_found_plan(all[i]));
        hp_cell(&table, arena, "%s",
                exact < 0 ? "-" : hypar_format_quantity(b, exact, HYPAR_UNIT_BYTES));
    }
    hp_cell(&table, arena, "state");
    hp_cell(&table, arena, "%s", "");
    for (int i = 0; i < n_all; i++)
        hp_cell(&table, arena, "%s",
                hypar_format_quantity(b, hypar_found_prediction(all[i]).state_bytes,
                                      HYPAR_UNIT_BYTES));
    hp_cell(&table, arena, "step");
    hp_cell(&table, arena, "%s", "");
    for (int i = 0; i < n_all; i++)
        hp_cell(&table, arena, "%s",
                hypar_format_quantity(b, hypar_found_prediction(all[i]).step_s,
                                      HYPAR_UNIT_SECONDS));
    hp_columns_print(&table, to);
}

static const char *verdict(const struct hypar_found *found)
{
    struct hypar_search_info info = hypar_found_info(found);
    if (!info.chooses)
        return "";
    if (hypar_found_pipeline(found))
        return info.exact ? "; no other cut has a faster slowest stage" : "";
    return info.exact ? "; no other choice of types exchanges less"
                      : "; each level from the top (--joint weighs all levels at once)";
}

/* Of a profile neither operations nor, so, their energy are known. */
static char *predicted_text(struct arena *arena, const struct hypar_plan *plan,
                            const struct hypar_prediction *p)
{
    char step[32], compute[32], comm[32], energy[32], state[32], rate[32];
    char *work = hp_arena_printf(arena, "%.1f %% of peak, %s; ", 100 * p->mfu,
                                 hypar_format_quantity(energy, p->energy_j, HYPAR_UNIT_JOULES));
    bool known = hypar_graph_flops_per_sample(plan->graph) > 0;
    return hp_arena_printf(
        arena,
        "Predicted step %s (compute %s, exchange %s; no overlap), %s samples/s, %sweights, "
        "gradients and optimizer state %s on the fullest device.",
        hypar_format_quantity(step, p->step_s, HYPAR_UNIT_SECONDS),
        hypar_format_quantity(compute, p->compute_s, HYPAR_UNIT_SECONDS),
        hypar_format_quantity(comm, p->comm_s, HYPAR_UNIT_SECONDS),
        hp_metric(rate, p->samples_per_s), known ? work : "",
        hypar_format_quantity(state, p->state_bytes, HYPAR_UNIT_BYTES));
}

static void found_text(FILE *to, const struct hypar_found *found,
                       const struct hypar_found *const *others, int n_others)
{
    const struct hypar_plan *plan = hypar_found_plan(found);
    const struct hypar_partition_view *view = hypar_found_partition(found);
    struct hypar_prediction p = hypar_found_prediction(found);
    struct hypar_search_info info = hypar_found_info(found);
    struct arena arena = { 0 };
    char took[32];

    fprintf(to, "%s, batch %lld, on %d devices: planner %s\n\n", hypar_plan_model(plan),
            (long long)plan->graph->batch, hypar_machine_device_count(plan->machine),
            info.planner);
    if (view && view->n_levels) {
        const struct hypar_found *all[4] = { found };
        int n = 1;
        for (int i = 0; i < n_others && n < 4; i++)
            all[n++] = others[i];
        draw_map(to, view, plan->graph);
        level_table(to, &arena, all, n);
        fputc('\n', to);
        hp_wrap(
            to,
            "Levels as the paper counts them: fp32, both directions, every group. Exact: what "
            "the plan's program sends, each byte once (hypar lower).",
            0);
    }
    if (hypar_found_pipeline(found))
        hp_pipeline_text(to, &arena, found);
    hp_wrap(to, predicted_text(&arena, plan, &p), 0);
    fprintf(to, "Searched in %s%s.\n",
            hypar_format_quantity(took, info.seconds, HYPAR_UNIT_SECONDS), verdict(found));
    if (info.refused && *info.refused) {
        fputs("Not considered: ", to);
        hp_wrap(to, info.refused, 16);
    }
    hp_arena_free(&arena);
}

void hypar_report_found(FILE *to, const struct hypar_found *found,
                        const struct hypar_found *const *others, int n_others,
                        enum hypar_format format)
{
    if (format == HYPAR_JSON)
        found_json(to, found);
    else
        found_text(to, found, others, n_others);
}
