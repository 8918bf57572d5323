/* PyTorch's step and the simulated one, operator by operator: as tables and as JSON. */
#include "report/train/torch_step.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "graph/graph.h"
#include "report/columns.h"
#include "report/put.h"

enum { MOST_ROWS = 10, MOST_OTHERS = 5 };

/* Seconds of a step. */
struct pair {
    double predicted_s, measured_s;
};

struct beside_row {
    const char *name;
    int ops; /* of the graph that it has */
    struct pair forward, backward;
};

struct beside {
    struct arena arena;
    const struct hypar_measured_step *step;
    const struct hypar_sim *sim;
    struct beside_row *row; /* the largest difference first */
    int n;
    int lacking; /* operators that take time, and are in no row */
    struct pair forward, backward, update, whole;
    double lacking_s;          /* what those are predicted to take */
    struct torch_other *other; /* measured, of no operator of the plan; the longest first */
    int n_others;
    double other_s; /* of all of them */
};

/* Side by side --------------------------------------------------------------------------- */

/* 0 where no more than rounding is left: to whole picoseconds, task by task. */
static double left_of(double whole, double used)
{
    return fabs(whole - used) > 1e-7 * whole + 1e-11 ? whole - used : 0;
}

static double longer_s(const struct beside_row *row)
{
    return left_of(row->forward.measured_s + row->backward.measured_s,
                   row->forward.predicted_s + row->backward.predicted_s);
}

/* Of rows that differ as much, the longest first. */
static int by_difference(const void *a, const void *b)
{
    const struct beside_row *x = a, *y = b;
    double p = fabs(longer_s(x)), q = fabs(longer_s(y));
    if (p == q) {
        p = x->forward.measured_s + x->backward.measured_s;
        q = y->forward.measured_s + y->backward.measured_s;
    }
    return p != q ? (p > q ? -1 : 1) : strcmp(x->name, y->name);
}

static void add_pair(struct pair *sum, const struct pair *p)
{
    sum->predicted_s += p->predicted_s;
    sum->measured_s += p->measured_s;
}

enum hypar_status hp_check_torch_rank(const struct torch_trace *trace,
                                      const struct hypar_sim *sim, struct hypar_error *err)
{
    int devices = hypar_sim_summary(sim).n_devices;
    if (trace->n_ranks == devices || (trace->n_ranks == 1 && trace->rank < devices))
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INVALID, "rank %d of %d was measured, the plan has %d devices",
                   trace->rank, trace->n_ranks, devices);
}

/* What the operators of each row are predicted to take on that rank's device. */
static void predict_rows(struct beside *b)
{
    const struct torch_trace *t = b->step->torch;
    const struct hypar_graph *graph = hypar_plan_graph(hypar_sim_plan(b->sim));
    struct op_times *time = NEW(&b->arena, struct op_times, graph->n_ops + 1);
    int *row_of_op = NEW(&b->arena, int, graph->n_ops + 1);
    hp_op_times(b->sim, t->rank, time);
    hp_torch_match(t, graph, row_of_op);
    for (int op = 0; op < graph->n_ops; op++) {
        double seconds = time[op].forward_s + time[op].backward_s;
        if (row_of_op[op] < 0) {
            b->lacking += seconds > 0;
            b->lacking_s += seconds;
            continue;
        }
        struct beside_row *row = &b->row[row_of_op[op]];
        row->ops++;
        row->forward.predicted_s += time[op].forward_s;
        row->backward.predicted_s += time[op].backward_s;
    }
}

static void add_other(struct beside *b, const struct torch_other *other)
{
    b->other[b->n_others++] = *other;
    b->other_s += other->seconds;
}

/* Rows that have operators; those that have none are among what is not matched. */
static void keep_rows(struct beside *b)
{
    const struct torch_trace *t = b->step->torch;
    int n = 0;
    b->other = NEW(&b->arena, struct torch_other, t->n_others + b->n + 1);
    for (int i = 0; i < t->n_others; i++)
        add_other(b, &t->other[i]);
    for (int i = 0; i < b->n; i++) {
        if (!b->row[i].ops) {
            double seconds = b->row[i].forward.measured_s + b->row[i].backward.measured_s;
            add_other(b, &(struct torch_other){
                             .name = hp_arena_printf(&b->arena, "hypar: %s", b->row[i].name),
                             .seconds = seconds,
                             .calls = 1 });
            continue;
        }
        add_pair(&b->forward, &b->row[i].forward);
        add_pair(&b->backward, &b->row[i].backward);
        b->row[n++] = b->row[i];
    }
    b->n = n;
    if (n)
        hp_sort(b->row, n, sizeof *b->row, by_difference);
    hp_torch_sort_others(b->other, b->n_others);
}

static void lay_side_by_side(struct beside *b)
{
    const struct torch_trace *t = b->step->torch;
    struct hypar_sim_event e;
    b->n = t->n_rows;
    b->row = NEW(&b->arena, struct beside_row, b->n + 1);
    for (int i = 0; i < b->n; i++)
        b->row[i] = (struct beside_row){
            .name = t->row[i].name,
            .forward = { .measured_s = t->row[i].forward_s },
            .backward = { .measured_s = t->row[i].backward_s },
        };
    predict_rows(b);
    keep_rows(b);
    b->update.measured_s = t->update_s;
    for (int64_t i = 0; hypar_sim_event(b->sim, i, &e); i++)
        if (e.kind == HYPAR_EVENT_UPDATE && e.device == t->rank)
            b->update.predicted_s += e.end_s - e.start_s;
    b->whole = (struct pair){ hypar_sim_summary(b->sim).step_s, b->step->step_s };
}

/* When the device computes nothing; below 0 where several kernels run at once, or passes of
 * several operators are predicted as one. */
static struct pair rest_of(const struct beside *b)
{
    return (struct pair){
        left_of(b->whole.predicted_s, b->forward.predicted_s + b->backward.predicted_s +
                                          b->update.predicted_s + b->lacking_s),
        left_of(b->whole.measured_s, b->forward.measured_s + b->backward.measured_s +
                                         b->update.measured_s + b->other_s),
    };
}

/* Tables --------------------------------------------------------------------------------- */

static void seconds_cell(struct columns *table, struct arena *arena, double seconds)
{
    hp_cell(table, arena, "%s%s", seconds < 0 ? "-" : "", hp_time_text(arena, fabs(seconds)));
}

static void pair_cells(struct columns *table, struct arena *arena, const struct pair *p)
{
    seconds_cell(table, arena, p->predicted_s);
    seconds_cell(table, arena, p->measured_s);
}

static void share_cell(struct columns *table, struct arena *arena, double seconds,
                       const struct beside *b)
{
    if (b->whole.measured_s > 0)
        hp_cell(table, arena, "%.1f %%", 100 * seconds / b->whole.measured_s);
    else
        hp_cell(table, arena, "-");
}

static void headings(struct columns *table, struct arena *arena, const char *const *heading)
{
    for (; *heading; heading++)
        hp_cell(table, arena, "%s", *heading);
}

static void print_rows(FILE *to, struct beside *b, bool detail)
{
    static const char *const heading[] = {
        "largest differences", "forward",     "measured", "backward", "measured",
        "longer by",           "of the step", NULL
    };
    struct columns table = { .align = "lrrrrrr" };
    int most = detail || b->n < MOST_ROWS ? b->n : MOST_ROWS;
    headings(&table, &b->arena, heading);
    for (int i = 0; i < most; i++) {
        const struct beside_row *row = &b->row[i];
        hp_cell(&table, &b->arena, "%s",
                *row->name ? hp_shown(&b->arena, row->name) : "(model)");
        pair_cells(&table, &b->arena, &row->forward);
        pair_cells(&table, &b->arena, &row->backward);
        seconds_cell(&table, &b->arena, longer_s(row));
        share_cell(&table, &b->arena, row->forward.measured_s + row->backward.measured_s, b);
    }
    hp_columns_print(&table, to);
    if (most < b->n)
        fprintf(to, "and %d more\n", b->n - most);
}

static void sum_row(struct columns *table, struct beside *b, const char *name,
                    const struct pair *p)
{
    hp_cell(table, &b->arena, "%s", name);
    pair_cells(table, &b->arena, p);
    share_cell(table, &b->arena, p->measured_s, b);
}

static void print_sums(FILE *to, struct beside *b)
{
    static const char *const heading[] = { "in all", "predicted", "measured", "of the step",
                                           NULL };
    struct columns table = { .align = "lrrr" };
    struct pair other = { b->lacking_s, b->other_s }, rest = rest_of(b);
    headings(&table, &b->arena, heading);
    sum_row(&table, b, "step", &b->whole);
    sum_row(&table, b, "  forward", &b->forward);
    sum_row(&table, b, "  backward", &b->backward);
    sum_row(&table, b, "  update", &b->update);
    sum_row(&table, b, "  not matched", &other);
    sum_row(&table, b, "  neither", &rest);
    hp_columns_print(&table, to);
}

static void print_others(FILE *to, struct beside *b, bool detail)
{
    static const char *const heading[] = { "not matched", "calls", "measured", "of the step",
                                           NULL };
    struct columns table = { .align = "lrrr" };
    int most = detail || b->n_others <= MOST_OTHERS ? b->n_others : MOST_OTHERS;
    if (b->lacking)
        fprintf(to, "\n%d %s of the plan %s in no bar of the trace.\n", b->lacking,
                b->lacking == 1 ? "operator" : "operators", b->lacking == 1 ? "is" : "are");
    if (!b->n_others)
        return;
    headings(&table, &b->arena, heading);
    for (int i = 0; i < most; i++) {
        hp_cell(&table, &b->arena, "%s", hp_shown(&b->arena, b->other[i].name));
        hp_cell(&table, &b->arena, "%.3g", b->other[i].calls);
        seconds_cell(&table, &b->arena, b->other[i].seconds);
        share_cell(&table, &b->arena, b->other[i].seconds, b);
    }
    fputc('\n', to);
    hp_columns_print(&table, to);
    if (most < b->n_others)
        fprintf(to, "and %d more\n", b->n_others - most);
}

static void headline(FILE *to, struct beside *b)
{
    const struct torch_trace *t = b->step->torch;
    const struct hypar_plan *plan = hypar_sim_plan(b->sim);
    char steps[64], measured[32], predicted[32];
    double error = b->whole.measured_s > 0 ? b->whole.predicted_s / b->whole.measured_s - 1 : 0;
    hp_put_line(
        to, "%s, batch %lld: a step of rank %d takes %s in PyTorch, predicted %s (%+.1f %%)",
        hp_model_words(&b->arena, plan), (long long)hypar_graph_batch(hypar_plan_graph(plan)),
        t->rank, hypar_format_quantity(measured, b->whole.measured_s, HYPAR_UNIT_SECONDS),
        hypar_format_quantity(predicted, b->whole.predicted_s, HYPAR_UNIT_SECONDS),
        100 * error);
    fprintf(to, "medians of %s, times of %s\n\n",
            hp_count(steps, b->step->n_steps, "step", "steps"),
            t->on_device ? "kernels on the device" : "operators on the host");
}

/* JSON ----------------------------------------------------------------------------------- */

static void put_pair(struct json_writer *w, const char *key, const struct pair *p)
{
    hp_json_begin_object(w, key, true);
    hp_json_put_number(w, "predicted_s", p->predicted_s);
    hp_json_put_number(w, "measured_s", p->measured_s);
    hp_json_end_object(w);
}

static void put_beside(struct json_writer *w, const char *key, const struct beside *b)
{
    const struct torch_trace *t = b->step->torch;
    struct pair other = { b->lacking_s, b->other_s };
    hp_json_begin_object(w, key, false);
    hp_json_put_int(w, "rank", t->rank);
    hp_json_put_int(w, "steps", b->step->n_steps);
    hp_json_put_bool(w, "on_device", t->on_device);
    hp_json_put_number(w, "predicted_s", b->whole.predicted_s);
    hp_json_put_number(w, "measured_s", b->whole.measured_s);
    put_pair(w, "forward", &b->forward);
    put_pair(w, "backward", &b->backward);
    put_pair(w, "update", &b->update);
    put_pair(w, "not_matched", &other);
    hp_json_put_int(w, "operators_not_matched", b->lacking);
    hp_json_begin_array(w, "operators", false);
    for (int i = 0; i < b->n; i++) {
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", b->row[i].name);
        hp_json_put_int(w, "operators", b->row[i].ops);
        put_pair(w, "forward", &b->row[i].forward);
        put_pair(w, "backward", &b->row[i].backward);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
    hp_json_begin_array(w, "others", false);
    for (int i = 0; i < b->n_others; i++) {
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", b->other[i].name);
        hp_json_put_number(w, "calls", b->other[i].calls);
        hp_json_put_number(w, "measured_s", b->other[i].seconds);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
    hp_json_end_object(w);
}

void hp_put_torch(struct json_writer *w, const char *key,
                  const struct hypar_measured_step *step, const struct hypar_sim *sim)
{
    struct beside b = { .step = step, .sim = sim };
    lay_side_by_side(&b);
    put_beside(w, key, &b);
    hp_arena_free(&b.arena);
}

enum hypar_status hp_report_torch(FILE *to, const struct hypar_measured_step *step,
                                  const struct hypar_sim *sim, bool detail,
                                  enum hypar_format format, struct hypar_error *err)
{
    struct beside b = { .step = step, .sim = sim };
    struct json_writer w = { .file = to };
    TRY(hp_check_torch_rank(step->torch, sim, err));
    lay_side_by_side(&b);
    if (format == HYPAR_JSON) {
        put_beside(&w, NULL, &b);
    } else {
        headline(to, &b);
        print_rows(to, &b, detail);
        fputc('\n', to);
        print_sums(to, &b);
        print_others(to, &b, detail);
    }
    hp_arena_free(&b.arena);
    return HYPAR_OK;
}
