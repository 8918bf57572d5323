/* Why a step takes as long as it does, what would help, and how two plans differ. */
#include <hypar/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "plan/plan.h"
#include "report/explain/chosen.h"
#include "report/explain/explain.h"
#include "report/explain/path.h"
#include "report/put.h"

enum { MOST_ROWS = 11, MOST_ALTERNATIVES = 4, MOST_WHAT_IFS = 20 };

/* A change of the step that is not told: 0.0 %. */
static const double NO_CHANGE = 0.0005;

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* Text -------------------------------------------------------------------------------- */

/* What takes how much, in one sentence, the largest first. */
static void summary(FILE *to, struct arena *arena, const struct path_sum *sum)
{
    bool told[PATH_KINDS] = { false };
    char *text = hp_arena_strdup(arena, "");
    for (int k = 0; k < PATH_KINDS; k++) {
        int most = -1;
        for (int i = 0; i < PATH_KINDS; i++)
            if (!told[i] && sum->kind_s[i] >= NO_CHANGE * sum->whole_s &&
                (most < 0 || sum->kind_s[i] > sum->kind_s[most]))
                most = i;
        if (most < 0)
            break;
        told[most] = true;
        text = hp_arena_printf(arena, "%s%s%s %.1f %%", text, *text ? ", " : "",
                               hp_path_kind_words(most),
                               100 * share(sum->kind_s[most], sum->whole_s));
    }
    hp_put_line(to, "It is bound by: %s.", text);
}

static const char *row_name(struct arena *arena, const struct path_sum *sum,
                            const struct path_row *row)
{
    switch (row->kind) {
    case PATH_BUBBLE:
        return hp_arena_printf(arena, "other stages compute, device %d waits", sum->busiest);
    case PATH_AGAIN:
        return "operators of all kinds";
    case PATH_UPDATE:
        return "parameters";
    case PATH_LAUNCH:
        return "the host, longer than its device";
    default:
        return row->name;
    }
}

static void path_cells(struct columns *table, struct arena *arena, const struct path_sum *sum,
                       double seconds, double queued_s)
{
    hp_quantity_cell(table, arena, seconds, HYPAR_UNIT_SECONDS);
    hp_cell(table, arena, "%.1f %%", 100 * share(seconds, sum->whole_s));
    if (queued_s > 0)
        hp_quantity_cell(table, arena, queued_s, HYPAR_UNIT_SECONDS);
    else
        hp_cell(table, arena, "-");
}

static void path_table(FILE *to, struct arena *arena, const struct path_sum *sum)
{
    static const char *const heading[] = { "critical path", "", "time", "share", "in queues" };
    struct columns table = { .align = "lwrrr" };
    double rest_s = 0, rest_queued_s = 0;
    int shown = sum->n > MOST_ROWS ? MOST_ROWS - 1 : sum->n;
    for (int i = 0; i < 5; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int i = 0; i < sum->n; i++) {
        const struct path_row *row = &sum->row[i];
        if (i >= shown) {
            rest_s += row->seconds;
            rest_queued_s += row->queued_s;
            continue;
        }
        hp_cell(&table, arena, "%s", hp_path_kind_text(row->kind));
        hp_cell(&table, arena, "%s", row_name(arena, sum, row));
        path_cells(&table, arena, sum, row->seconds, row->queued_s);
    }
    if (shown < sum->n) {
        hp_cell(&table, arena, "%s", "");
        hp_cell(&table, arena, "%d others", sum->n - shown);
        path_cells(&table, arena, sum, rest_s, rest_queued_s);
    }
    hp_columns_print(&table, to);
    fputc('\n', to);
}

/* "k=4 -3.1 %, whole +85 %" */
static char *alternatives_text(struct arena *arena, const struct hypar_explained_op *op,
                               double now_s)
{
    char *text = hp_arena_strdup(arena, ""), b[32];
    int n = op->n_alternatives < MOST_ALTERNATIVES ? op->n_alternatives : MOST_ALTERNATIVES;
    for (int i = 0; i < n; i++) {
        const struct hypar_what_if *a = &op->alternative[i];
        text = hp_arena_printf(arena, "%s%s%s %s%s", text, i ? ", " : "", a->what,
                               hp_change_text(b, a->step_s, now_s),
                               a->fits ? "" : " (does not fit)");
    }
    return *text ? text : hp_arena_strdup(arena, "-");
}

static void op_table(FILE *to, struct arena *arena, const struct hypar_explanation *e,
                     const struct path_sum *sum, const struct hypar_plan *plan)
{
    static const char *const heading[] = {
        "costliest operators", "kind", "split", "time", "share", "the step, if it were split"
    };
    struct columns table = { .align = "lllrrw" };
    const struct hypar_explained_op *op;
    bool any = false;
    double now_s = hypar_sim_summary(hypar_explained_sim(e)).step_s, rest_s = sum->whole_s;
    if (!hypar_explained_op(e, 0))
        return;
    for (int i = 0; i < 6; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int i = 0; (op = hypar_explained_op(e, i)); i++) {
        const char *name = hypar_graph_op_name(plan->graph, op->op);
        hp_cell(&table, arena, "%s%s", name,
                op->alike > 1 ? hp_arena_printf(arena, " (of %d alike)", op->alike) : "");
        hp_cell(&table, arena, "%s", hypar_graph_op_kind(plan->graph, op->op));
        hp_cell(&table, arena, "%s", hp_plan_split_text(arena, plan, op->op));
        hp_quantity_cell(&table, arena, op->path_s, HYPAR_UNIT_SECONDS);
        hp_cell(&table, arena, "%.1f %%", 100 * share(op->path_s, sum->whole_s));
        hp_cell(&table, arena, "%s", alternatives_text(arena, op, now_s));
        any |= op->n_alternatives > 0;
        rest_s -= op->path_s;
    }
    if (share(rest_s, sum->whole_s) >= NO_CHANGE) {
        for (int i = 0; i < 3; i++)
            hp_cell(&table, arena, "%s", i ? "" : "all others");
        hp_quantity_cell(&table, arena, rest_s, HYPAR_UNIT_SECONDS);
        hp_cell(&table, arena, "%.1f %%", 100 * share(rest_s, sum->whole_s));
        hp_cell(&table, arena, "%s", "");
    }
    hp_columns_print(&table, to);
    hp_wrap(to,
            "Each row with what follows the operator (norms, additions, activations), what it "
            "sends and its updates: in all the critical path above.",
            0);
    if (any)
        hp_wrap(to,
                "Split otherwise: on the devices that it has, in the order in which the plan "
                "lists them.",
                0);
    if (!any && !*hypar_explained_ops_left_out(e))
        fputs("None of them can be split otherwise over the devices that it has.\n", to);
    if (*hypar_explained_ops_left_out(e))
        fprintf(to, "Alternatives are left out: %s.\n", hypar_explained_ops_left_out(e));
    fputc('\n', to);
}

static bool changes_step(const struct hypar_what_if *w, double now_s)
{
    return fabs(share(w->step_s, now_s) - 1) >= NO_CHANGE;
}

/* "what: why; what: why", or of those that make no difference "what, what". */
static void list_rest(FILE *to, struct arena *arena, const char *label,
                      const struct hypar_what_if *const *list, int n)
{
    char *text = hp_arena_strdup(arena, label);
    for (int i = 0; i < n; i++) {
        const char *why = list[i]->why_not;
        text = hp_arena_printf(arena, "%s%s%s%s%s", text, i ? why ? "; " : ", " : " ",
                               list[i]->what, why ? ": " : "", why ? why : "");
        if (why && list[i]->step_s > 0)
            text = hp_arena_printf(arena, "%s (it would take %s)", text,
                                   hp_time_text(arena, list[i]->step_s));
    }
    if (n)
        hp_put_line(to, "%s.", text);
}

void hp_what_if_table(FILE *to, struct arena *arena, const struct what_if_table *t)
{
    struct columns table = { .align = "lrrr" };
    const struct hypar_what_if **same = NEW(arena, const struct hypar_what_if *, t->n + 1);
    const struct hypar_what_if **left_out = NEW(arena, const struct hypar_what_if *, t->n + 1);
    const char *heading[] = { t->heading, "step", "change", "memory" };
    int n_same = 0, n_left_out = 0, shown = 0;
    char b[32];
    for (int i = 0; i < 4; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int i = 0; i < t->n; i++) {
        const struct hypar_what_if *w = t->row[i];
        if (w->why_not) {
            left_out[n_left_out++] = w;
            continue;
        }
        if (!changes_step(w, t->now_s)) {
            same[n_same++] = w;
            continue;
        }
        if (shown++ >= t->most)
            continue;
        hp_cell(&table, arena, "%s%s", w->what, w->fits ? "" : " (does not fit)");
        hp_quantity_cell(&table, arena, w->step_s, HYPAR_UNIT_SECONDS);
        if (shown == 1 && w->step_s < t->now_s)
            hp_cell_mark(&table, arena);
        hp_cell(&table, arena, "%s", hp_change_text(b, w->step_s, t->now_s));
        hp_quantity_cell(&table, arena, w->peak_memory_bytes, HYPAR_UNIT_BYTES);
    }
    if (shown)
        hp_columns_print(&table, to);
    hp_mark_note(&table, to, "the fastest");
    if (shown > t->most)
        fprintf(to, "and %d more\n", shown - t->most);
    list_rest(to, arena, "No difference:", same, n_same);
    list_rest(to, arena, "Left out:", left_out, n_left_out);
}

/* How far the step is from the bound, and what that is made of. */
static void bound_text(FILE *to, struct arena *arena, const struct hypar_bound *bound,
                       double step_s)
{
    char *on_way = hp_arena_strdup(arena, "");
    if (bound->way_s > 0)
        on_way = hp_arena_printf(arena, "; a sample's way to the loss and back %s",
                                 hp_time_text(arena, bound->way_s));
    hp_put_line(
        to,
        "No plan of it takes less than %s (%s): the gap is %.0f %%. What has to be done "
        "takes %s, shared evenly by all devices (its arithmetic alone %s, its memory "
        "traffic %s)%s.",
        hp_time_text(arena, bound->step_s), bound->by, 100 * (step_s / bound->step_s - 1),
        hp_time_text(arena, bound->work_s), hp_time_text(arena, bound->arithmetic_s),
        hp_time_text(arena, bound->traffic_s), on_way);
}

static void headline(FILE *to, struct arena *arena, const struct hypar_explanation *e,
                     const struct hypar_plan *plan)
{
    struct hypar_sim_summary s = hypar_sim_summary(hypar_explained_sim(e));
    struct hypar_sim_pipeline p = hypar_sim_pipeline(hypar_explained_sim(e));
    struct hypar_bound bound = hypar_explained_bound(e);
    char devices[64], minibatches[64];
    fprintf(to, "%s, batch %lld, %s, on %s: a %s takes %s\n", hp_model_words(arena, plan),
            (long long)hypar_graph_batch(plan->graph),
            hp_precision_words(arena, plan->precision, hypar_plan_gradient_precision(plan)),
            hp_count(devices, s.n_devices, "device", "devices"),
            s.forward ? "forward pass" : "step", hp_time_text(arena, s.step_s));
    if (p.minibatches)
        fprintf(to, "The path is that of the window of %s, %s.\n",
                hp_count(minibatches, p.minibatches, "minibatch", "minibatches"),
                hp_time_text(arena, p.window_s));
    if (!s.fits)
        fputs("The plan does not fit into the memory of its devices.\n", to);
    if (bound.step_s > 0)
        bound_text(to, arena, &bound, s.step_s);
}

static void explanation_text(FILE *to, const struct hypar_explanation *e)
{
    struct arena arena = { 0 };
    const struct hypar_sim *sim = hypar_explained_sim(e);
    const struct hypar_plan *plan = hypar_sim_plan(sim);
    struct path_sum sum = hp_add_up_path(sim, &arena);
    struct what_if_table what_ifs = { .heading = "what would help", .most = MOST_WHAT_IFS };
    while (hypar_explained_what_if(e, what_ifs.n))
        what_ifs.n++;
    what_ifs.row = NEW(&arena, const struct hypar_what_if *, what_ifs.n + 1);
    for (int i = 0; i < what_ifs.n; i++)
        what_ifs.row[i] = hypar_explained_what_if(e, i);
    what_ifs.now_s = hypar_sim_summary(sim).step_s;
    headline(to, &arena, e, plan);
    summary(to, &arena, &sum);
    fputc('\n', to);
    hp_chosen_text(to, &arena, plan, what_ifs.now_s);
    path_table(to, &arena, &sum);
    op_table(to, &arena, e, &sum, plan);
    hp_what_if_table(to, &arena, &what_ifs);
    struct hypar_memory fullest =
        hypar_sim_device(sim, hypar_sim_summary(sim).fullest_device).memory;
    char *tight = hp_tight_text(&arena, &fullest);
    if (tight)
        hp_wrap(to, tight, 0);
    hp_arena_free(&arena);
}

/* JSON -------------------------------------------------------------------------------- */

void hp_put_what_if(struct json_writer *w, const struct hypar_what_if *what, double now_s)
{
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "what", what->what);
    hp_json_put_known(w, "step_s", what->step_s > 0, what->step_s);
    if (what->step_s > 0) {
        hp_json_put_number(w, "change", share(what->step_s, now_s) - 1);
        hp_json_put_bool(w, "fits", what->fits);
    }
    if (what->peak_memory_bytes > 0)
        hp_json_put_number(w, "peak_memory_bytes", what->peak_memory_bytes);
    if (what->why_not)
        hp_json_put_string(w, "why_not", what->why_not);
    hp_json_end_object(w);
}

static void put_sum(struct json_writer *w, const struct path_sum *sum)
{
    hp_json_begin_array(w, "bound_by", false);
    for (int i = 0; i < sum->n; i++) {
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "kind", hp_path_kind_text(sum->row[i].kind));
        hp_json_put_string(w, "name", sum->row[i].name);
        hp_json_put_number(w, "seconds", sum->row[i].seconds);
        hp_json_put_number(w, "share", share(sum->row[i].seconds, sum->whole_s));
        hp_json_put_number(w, "queued_s", sum->row[i].queued_s);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_path(struct json_writer *w, const struct hypar_sim *sim)
{
    struct hypar_sim_segment s;
    struct hypar_sim_event e;
    hp_json_begin_array(w, "critical_path", false);
    for (int64_t i = 0; hypar_sim_segment(sim, i, &s); i++) {
        bool task = s.event >= 0 && hypar_sim_event(sim, s.event, &e);
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", task ? e.name : "launches");
        if (task)
            hp_json_put_int(w, "task", s.event);
        if (s.device >= 0)
            hp_json_put_int(w, "device", s.device);
        if (s.link >= 0)
            hp_json_put_int(w, "link", s.link);
        hp_json_put_number(w, "start_s", s.start_s);
        hp_json_put_number(w, "end_s", s.end_s);
        hp_json_put_number(w, "queued_s", s.queued_s);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

static void put_ops(struct json_writer *w, struct arena *arena,
                    const struct hypar_explanation *e, double now_s)
{
    const struct hypar_plan *plan = hypar_sim_plan(hypar_explained_sim(e));
    const struct hypar_explained_op *op;
    hp_json_begin_array(w, "operators", false);
    for (int i = 0; (op = hypar_explained_op(e, i)); i++) {
        hp_json_begin_object(w, NULL, false);
        hp_json_put_string(w, "name", hypar_graph_op_name(plan->graph, op->op));
        hp_json_put_string(w, "kind", hypar_graph_op_kind(plan->graph, op->op));
        hp_json_put_string(w, "split", hp_plan_split_text(arena, plan, op->op));
        hp_json_put_int(w, "alike", op->alike);
        hp_json_put_number(w, "seconds", op->path_s);
        hp_json_begin_array(w, "alternatives", false);
        for (int k = 0; k < op->n_alternatives; k++)
            hp_put_what_if(w, &op->alternative[k], now_s);
        hp_json_end_array(w);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
    if (*hypar_explained_ops_left_out(e))
        hp_json_put_string(w, "alternatives_left_out", hypar_explained_ops_left_out(e));
}

void hp_put_explanation(struct json_writer *w, struct arena *arena,
                        const struct hypar_explanation *e)
{
    const struct hypar_sim *sim = hypar_explained_sim(e);
    struct path_sum sum = hp_add_up_path(sim, arena);
    double step_s = hypar_sim_summary(sim).step_s;
    const struct hypar_what_if *what;
    put_sum(w, &sum);
    put_ops(w, arena, e, step_s);
    hp_json_begin_array(w, "what_if", false);
    for (int i = 0; (what = hypar_explained_what_if(e, i)); i++)
        hp_put_what_if(w, what, step_s);
    hp_json_end_array(w);
}

static void explanation_json(FILE *to, const struct hypar_explanation *e)
{
    struct json_writer w = { .file = to };
    struct arena arena = { 0 };
    const struct hypar_sim *sim = hypar_explained_sim(e);
    const struct hypar_plan *plan = hypar_sim_plan(sim);
    struct hypar_bound bound = hypar_explained_bound(e);
    double step_s = hypar_sim_summary(sim).step_s;
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_string(&w, "model", plan->model);
    hp_json_put_number(&w, "step_s", step_s);
    if (hypar_sim_pipeline(sim).minibatches)
        hp_json_put_number(&w, "window_s", hypar_sim_pipeline(sim).window_s);
    hp_json_put_bool(&w, "fits", hypar_sim_summary(sim).fits);
    hp_put_bound(&w, &bound);
    hp_put_chosen(&w, plan);
    hp_put_explanation(&w, &arena, e);
    put_path(&w, sim);
    hp_json_end_object(&w);
    hp_arena_free(&arena);
}

void hypar_report_explanation(FILE *to, const struct hypar_explanation *explanation,
                              enum hypar_format format)
{
    (format == HYPAR_JSON ? explanation_json : explanation_text)(to, explanation);
}
