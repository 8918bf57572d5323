/* Reports why a step takes its time, which changes would help, and how two plans differ. */
#include <hypar/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "report/explain/explain.h"
#include "report/put.h"
#include "sim/path_sum.h"

enum { MOST_ROWS = 11, MOST_ALTERNATIVES = 4, MOST_WHAT_IFS = 20 };

/* Changes of the step below this are not reported: 0.0 %. */
static const double NO_CHANGE = 0.0005;

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* Text -------------------------------------------------------------------------------- */

/* The shares of the step in one sentence, the largest first. */
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
    if (row->kind == PATH_BUBBLE)
        return hp_arena_printf(arena, "other stages compute, device %d waits", sum->busiest);
    return row->kind == PATH_AGAIN    ? "operators of all kinds"
           : row->kind == PATH_UPDATE ? "parameters"
           : row->kind == PATH_LAUNCH ? "the host, longer than its device"
                                      : row->name;
}

struct path_line {
    const char *kind, *text, *name;
    double seconds, share, queued_s;
};

static const struct column path_columns[] = {
    { "critical path", "kind", AS_TEXT, AT(struct path_line, kind) },
    { "", NULL, AS_TEXT, AT(struct path_line, text), WRAPS },
    { NULL, "name", AS_TEXT, AT(struct path_line, name) },
    { "time", "seconds", AS_SECONDS, AT(struct path_line, seconds) },
    { "share", "share", AS_PERCENT, AT(struct path_line, share) },
    { NULL, "queued_s", AS_SECONDS, AT(struct path_line, queued_s) },
    { "in queues", NULL, AS_SECONDS, AT(struct path_line, queued_s), IF_POSITIVE },
    { 0 },
};

/* Text has the longest rows; the others are one row. */
static void path_rows(struct table_writer *table, struct arena *arena,
                      const struct path_sum *sum)
{
    struct path_line rest = { .kind = "" };
    int shown = !table->json && sum->n > MOST_ROWS ? MOST_ROWS - 1 : sum->n;
    table->column = path_columns;
    hp_table_begin(table, "bound_by");
    for (int i = 0; i < sum->n; i++) {
        const struct path_row *row = &sum->row[i];
        rest.seconds += i < shown ? 0 : row->seconds;
        rest.queued_s += i < shown ? 0 : row->queued_s;
        if (i < shown)
            hp_table_row(
                table, &(struct path_line){ hp_path_kind_text(row->kind),
                                            row_name(arena, sum, row), row->name, row->seconds,
                                            share(row->seconds, sum->whole_s), row->queued_s });
    }
    rest.text = hp_arena_printf(arena, "%d others", sum->n - shown);
    rest.share = share(rest.seconds, sum->whole_s);
    if (shown < sum->n)
        hp_table_row(table, &rest);
    hp_table_end(table);
}

/* The alternatives of an operator: "k=4 -3.1 %, whole +85 %" */
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

struct op_line {
    const char *label, *name, *kind, *split, *alternatives;
    int alike;
    double seconds, share;
};

static const struct column op_columns[] = {
    { "costliest operators", NULL, AS_TEXT, AT(struct op_line, label) },
    { NULL, "name", AS_TEXT, AT(struct op_line, name) },
    { "kind", "kind", AS_TEXT, AT(struct op_line, kind) },
    { "split", "split", AS_TEXT, AT(struct op_line, split) },
    { NULL, "alike", AS_INT, AT(struct op_line, alike) },
    { "time", "seconds", AS_SECONDS, AT(struct op_line, seconds) },
    { "share", NULL, AS_PERCENT, AT(struct op_line, share) },
    { "the step, if it were split", NULL, AS_TEXT, AT(struct op_line, alternatives), WRAPS },
    { 0 },
};

static struct op_line op_line(struct arena *arena, const struct hypar_plan *plan,
                              const struct hypar_explained_op *op)
{
    const char *name = plan->graph->ops[op->op].name;
    return (struct op_line){
        .label =
            op->alike > 1 ? hp_arena_printf(arena, "%s (of %d alike)", name, op->alike) : name,
        .name = name,
        .kind = hp_op_kind(plan->graph, op->op),
        .split = hp_plan_split_text(arena, plan, op->op),
        .alike = op->alike,
        .seconds = op->path_s,
    };
}

static void op_table(FILE *to, struct arena *arena, const struct hypar_explanation *e,
                     const struct path_sum *sum, const struct hypar_plan *plan)
{
    struct table_writer table = { .column = op_columns, .to = to };
    const struct hypar_explained_op *op;
    bool any = false;
    const char *refused_by = NULL;
    struct hypar_explanation_info info = hypar_explanation_info(e);
    double now_s = hypar_sim_summary(info.sim).step_s, rest_s = sum->whole_s;
    if (!hypar_explained_op(e, 0))
        return;
    hp_table_begin(&table, NULL);
    for (int i = 0; (op = hypar_explained_op(e, i)); i++) {
        struct op_line row = op_line(arena, plan, op);
        row.share = share(op->path_s, sum->whole_s);
        row.alternatives = alternatives_text(arena, op, now_s);
        hp_table_row(&table, &row);
        any |= op->n_alternatives > 0;
        refused_by = op->refused_by ? op->refused_by : refused_by;
        rest_s -= op->path_s;
    }
    struct op_line rest = {
        "all others", "", "", "", "", 0, rest_s, share(rest_s, sum->whole_s)
    };
    if (rest.share >= NO_CHANGE)
        hp_table_row(&table, &rest);
    hp_table_end(&table);
    hp_put_line(to, "Each row with what follows the operator (norms, additions, activations), "
                    "what it sends and its updates: in all the critical path above.");
    if (any)
        hp_put_line(
            to, "Split otherwise: with the operators that only follow it, on the devices that "
                "it has (one: on all of its stage, or of the machine), in the order in "
                "which the plan lists them.");
    if (refused_by)
        hp_put_line(to,
                    "Splits that %s refuses, for which the plan was made (--for), are left "
                    "out%s.",
                    refused_by, any ? "" : ": there are no others");
    else if (!any && !*info.ops_left_out)
        fputs("None of them can be split otherwise over the devices that it has.\n", to);
    if (*info.ops_left_out)
        fprintf(to, "Alternatives are left out: %s.\n", info.ops_left_out);
    fputc('\n', to);
}

static bool changes_step(const struct hypar_what_if *w, double now_s)
{
    return fabs(share(w->step_s, now_s) - 1) >= NO_CHANGE;
}

/* List the remaining changes: "what: why; what: why", or without a reason "what, what". */
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

struct what_if_line {
    struct hypar_what_if of;
    const struct what_if_line *simulated; /* this row; NULL: its step is not known */
    const char *label, *change_text;
    double change;
    bool best;
};

#define WHAT(member) AT(struct what_if_line, member)

static const struct column simulated_columns[] = {
    { NULL, "change", AS_NUMBER, WHAT(change) },
    { NULL, "fits", AS_BOOL, WHAT(of.fits) },
    { 0 },
};

static const struct column what_if_columns[] = {
    { "what would help", NULL, AS_TEXT, WHAT(label), .when = WHAT_HELPS },
    { "difference", NULL, AS_TEXT, WHAT(label), .when = WHAT_DIFFERS },
    { NULL, "what", AS_TEXT, WHAT(of.what) },
    { "step", "step_s", AS_SECONDS, WHAT(of.step_s), IF_POSITIVE,
      .star = offsetof(struct what_if_line, best) },
    { "change", NULL, AS_TEXT, WHAT(change_text), TO_THE_RIGHT },
    { NULL, NULL, AS_RECORD, WHAT(simulated), .of = simulated_columns },
    { "memory", "peak_memory_bytes", AS_BYTES, WHAT(of.peak_memory_bytes),
      IF_POSITIVE | LEFT_OUT },
    { NULL, "why_not", AS_TEXT, WHAT(of.why_not), LEFT_OUT },
    { 0 },
};

void hp_put_what_if(struct json_writer *w, const struct hypar_what_if *what, double now_s)
{
    struct what_if_line row = { .of = *what, .change = share(what->step_s, now_s) - 1 };
    row.simulated = what->step_s > 0 ? &row : NULL;
    hp_put_record(w, NULL, what_if_columns, &row);
}

void hp_put_what_if_columns(struct json_writer *w, const char *key)
{
    hp_put_columns(w, key, what_if_columns, WHAT_HELPS);
}

void hp_what_if_table(FILE *to, struct arena *arena, const struct what_if_table *t)
{
    struct table_writer table = {
        .column = what_if_columns, .to = to, .shows = t->shows, .most = t->most
    };
    const struct hypar_what_if **same = NEW(arena, const struct hypar_what_if *, t->n + 1);
    const struct hypar_what_if **left_out = NEW(arena, const struct hypar_what_if *, t->n + 1);
    int n_same = 0, n_left_out = 0, more = 0;
    char b[32];
    hp_table_begin(&table, NULL);
    for (int i = 0; i < t->n; i++) {
        const struct hypar_what_if *w = t->row[i];
        struct what_if_line row = { .of = *w, .change_text = b };
        bool then_fits = t->lacks_memory && w->fits;
        if (w->why_not) {
            left_out[n_left_out++] = w;
        } else if (!changes_step(w, t->now_s) && !then_fits) {
            same[n_same++] = w;
        } else {
            row.label = hp_arena_printf(arena, "%s%s", w->what,
                                        then_fits ? " (fits)"
                                        : w->fits ? ""
                                                  : " (does not fit)");
            row.best = table.n_rows == 0 && w->step_s < t->now_s;
            hp_change_text(b, w->step_s, t->now_s);
            more += !hp_table_row(&table, &row);
        }
    }
    hp_table_end(&table);
    hp_mark_note(table.starred, to, "the fastest");
    if (more)
        fprintf(to, "and %d more\n", more);
    list_rest(to, arena, "No difference:", same, n_same);
    list_rest(to, arena, "Left out:", left_out, n_left_out);
}

/* The distance of the step from the bound, and the terms of the bound. */
static void bound_text(FILE *to, struct arena *arena, const struct hypar_bound *bound,
                       double step_s)
{
    char *on_way = hp_arena_strdup(arena, "");
    if (bound->way_s > 0)
        on_way = hp_arena_printf(arena, "; a sample's way to the loss and back %s",
                                 hp_time_text(arena, bound->way_s));
    hp_put_line(
        to,
        "%s What has to be done takes %s, shared evenly by all devices (its arithmetic alone "
        "%s, its memory traffic %s)%s.",
        hp_bound_text(arena, bound, step_s), hp_time_text(arena, bound->work_s),
        hp_time_text(arena, bound->arithmetic_s), hp_time_text(arena, bound->traffic_s),
        on_way);
}

static void headline(FILE *to, struct arena *arena, const struct hypar_explanation *e,
                     const struct hypar_plan *plan)
{
    struct hypar_explanation_info info = hypar_explanation_info(e);
    struct hypar_sim_summary s = hypar_sim_summary(info.sim);
    struct hypar_sim_pipeline p = hypar_sim_pipeline(info.sim);
    fprintf(to, "%s, batch %lld, %s, on %s: a %s takes %s\n", hp_model_words(arena, plan),
            (long long)plan->graph->batch,
            hp_precision_words(arena, plan->precision, hypar_plan_gradient_precision(plan)),
            hp_count(arena, s.n_devices, "device"), s.forward ? "forward pass" : "step",
            hp_time_text(arena, s.step_s));
    hp_put_line(to, "%s", hp_run_as_text(arena, plan->machine, &s.how.framework));
    hp_put_line(to, "%s", hp_interval_text(arena, &s.interval));
    if (p.minibatches)
        fprintf(to, "The path is that of the window of %s, %s.\n",
                hp_count(arena, p.minibatches, "minibatch"), hp_time_text(arena, p.window_s));
    if (!s.fits)
        fputs("The plan does not fit into the memory of its devices.\n", to);
    if (info.bound.step_s > 0)
        bound_text(to, arena, &info.bound, s.step_s);
}

static void explanation_text(FILE *to, const struct hypar_explanation *e)
{
    struct arena arena = { 0 };
    const struct hypar_sim *sim = hypar_explanation_info(e).sim;
    const struct hypar_plan *plan = hypar_sim_plan(sim);
    struct path_sum sum = hp_add_up_path(sim, &arena);
    struct what_if_table what_ifs = { .shows = WHAT_HELPS,
                                      .most = MOST_WHAT_IFS,
                                      .lacks_memory = !hypar_sim_summary(sim).fits };
    while (hypar_explained_what_if(e, what_ifs.n))
        what_ifs.n++;
    what_ifs.row = NEW(&arena, const struct hypar_what_if *, what_ifs.n + 1);
    for (int i = 0; i < what_ifs.n; i++)
        what_ifs.row[i] = hypar_explained_what_if(e, i);
    what_ifs.now_s = hypar_sim_summary(sim).step_s;
    headline(to, &arena, e, plan);
    summary(to, &arena, &sum);
    fputc('\n', to);
    struct hypar_interval interval = hypar_sim_summary(sim).interval;
    hp_chosen_text(to, &arena, plan, what_ifs.now_s, &interval.from);
    hp_terms_text(to, hypar_explanation_info(e).partition, plan->graph);
    path_rows(&(struct table_writer){ .to = to }, &arena, &sum);
    fputc('\n', to);
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

static void put_path(struct json_writer *w, const struct hypar_sim *sim)
{
    struct hypar_sim_segment s;
    struct hypar_sim_event e;
    hp_json_begin_array(w, "critical_path", false);
    for (int64_t i = 0; hypar_sim_segment(sim, i, &s); i++) {
        bool task = s.event >= 0 && hypar_sim_event(sim, s.event, &e);
        PUT_OBJECT(w, NULL, true, TEXT("name", task ? e.name : "launches"),
                   ONLY_IF(task, INT("task", s.event)),
                   ONLY_IF(s.device >= 0, INT("device", s.device)),
                   ONLY_IF(s.link >= 0, INT("link", s.link)), NUMBER("start_s", s.start_s),
                   NUMBER("end_s", s.end_s), NUMBER("queued_s", s.queued_s));
    }
    hp_json_end_array(w);
}

static void put_ops(struct json_writer *w, struct arena *arena,
                    const struct hypar_explanation *e, double now_s)
{
    struct hypar_explanation_info info = hypar_explanation_info(e);
    const struct hypar_plan *plan = hypar_sim_plan(info.sim);
    const struct hypar_explained_op *op;
    hp_json_begin_array(w, "operators", false);
    for (int i = 0; (op = hypar_explained_op(e, i)); i++) {
        hp_json_begin_object(w, NULL, false);
        struct op_line row = op_line(arena, plan, op);
        hp_put_fields(w, op_columns, &row);
        hp_json_begin_array(w, "alternatives", false);
        for (int k = 0; k < op->n_alternatives; k++)
            hp_put_what_if(w, &op->alternative[k], now_s);
        hp_json_end_array(w);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
    if (*info.ops_left_out)
        hp_json_put_string(w, "alternatives_left_out", info.ops_left_out);
}

void hp_put_explanation(struct json_writer *w, struct arena *arena,
                        const struct hypar_explanation *e)
{
    const struct hypar_sim *sim = hypar_explanation_info(e).sim;
    struct path_sum sum = hp_add_up_path(sim, arena);
    double step_s = hypar_sim_summary(sim).step_s;
    const struct hypar_what_if *what;
    path_rows(&(struct table_writer){ .json = w }, arena, &sum);
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
    struct hypar_explanation_info info = hypar_explanation_info(e);
    const struct hypar_sim *sim = info.sim;
    const struct hypar_plan *plan = hypar_sim_plan(sim);
    double step_s = hypar_sim_summary(sim).step_s;
    hp_json_begin_object(&w, NULL, false);
    struct hypar_interval interval = hypar_sim_summary(sim).interval;
    PUT(&w, TEXT("model", plan->model), NUMBER("step_s", step_s),
        FIELDS(hp_interval_columns, &interval),
        ONLY_IF(hypar_sim_pipeline(sim).minibatches,
                NUMBER("window_s", hypar_sim_pipeline(sim).window_s)),
        FLAG("fits", hypar_sim_summary(sim).fits));
    hp_put_bound(&w, &info.bound);
    hp_put_chosen(&w, plan);
    hp_put_terms(&w, info.partition, plan->graph);
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
