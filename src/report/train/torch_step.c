/* Compares PyTorch's step with the simulated one, operator by operator: as tables and as
 * JSON. */
#include "report/train/torch_step.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "graph/graph.h"
#include "report/put.h"

enum { MOST_ROWS = 10, MOST_OTHERS = 5 };

/* Seconds of a step. */
struct pair {
    double predicted_s, measured_s;
};

struct beside_row {
    const char *name;
    int ops; /* number of operators of the graph */
    struct pair forward, backward;
};

struct beside {
    struct arena arena;
    const struct hypar_measured_step *step;
    const struct hypar_sim *sim;
    struct beside_row *row; /* the largest difference first */
    int n;
    int lacking; /* operators with a time that are in no row */
    struct pair forward, backward, update, whole;
    double lacking_s;          /* their predicted time */
    struct torch_other *other; /* measured, but of no operator of the plan; the longest first */
    int n_others;
    double other_s; /* of all `other` */
};

/* Comparison ------------------------------------------------------------------------------ */

/* The difference, or 0 if it is only rounding: times are whole picoseconds, task by task. */
static double left_of(double whole, double used)
{
    return fabs(whole - used) > 1e-7 * whole + 1e-11 ? whole - used : 0;
}

static double longer_s(const struct beside_row *row)
{
    return left_of(row->forward.measured_s + row->backward.measured_s,
                   row->forward.predicted_s + row->backward.predicted_s);
}

/* Rows by their difference, the largest first; of equals, the longest first. */
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

/* Add the predicted times of each row's operators on the measured rank's device. */
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

/* Keep the rows with operators; rows without operators join the unmatched ones. */
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

/* The time in which the device does not compute. It is negative if several kernels run at once,
 * or if passes of several operators are predicted as one. */
static struct pair rest_of(const struct beside *b)
{
    return (struct pair){
        left_of(b->whole.predicted_s, b->forward.predicted_s + b->backward.predicted_s +
                                          b->update.predicted_s + b->lacking_s),
        left_of(b->whole.measured_s, b->forward.measured_s + b->backward.measured_s +
                                         b->update.measured_s + b->other_s),
    };
}

/* Columns -------------------------------------------------------------------------------- */

static const struct column pair_columns[] = {
    { NULL, "predicted_s", AS_SECONDS, AT(struct pair, predicted_s) },
    { NULL, "measured_s", AS_SECONDS, AT(struct pair, measured_s) },
    { 0 },
};

/* A line of one of the tables. */
struct line {
    const char *label, *name;
    int ops;
    struct pair forward, backward; /* forward: also for a sum */
    double longer_s, share, calls;
};

/* The tables of text. */
enum { OPERATORS = 1, SUMS = 2 };

#define LINE(member) AT(struct line, member)

static const struct column line_columns[] = {
    { "largest differences", NULL, AS_TEXT, LINE(label), .when = OPERATORS },
    { "in all", NULL, AS_TEXT, LINE(label), .when = SUMS },
    { NULL, "name", AS_TEXT, LINE(name) },
    { NULL, "operators", AS_INT, LINE(ops) },
    { NULL, "forward", AS_RECORD, LINE(forward), INSIDE, .of = pair_columns },
    { NULL, "backward", AS_RECORD, LINE(backward), INSIDE, .of = pair_columns },
    { "forward", NULL, AS_SECONDS, LINE(forward.predicted_s), .when = OPERATORS },
    { "predicted", NULL, AS_SECONDS, LINE(forward.predicted_s), .when = SUMS },
    { "measured", NULL, AS_SECONDS, LINE(forward.measured_s), .when = OPERATORS | SUMS },
    { "backward", NULL, AS_SECONDS, LINE(backward.predicted_s), .when = OPERATORS },
    { "measured", NULL, AS_SECONDS, LINE(backward.measured_s), .when = OPERATORS },
    { "longer by", NULL, AS_SECONDS, LINE(longer_s), .when = OPERATORS },
    { "of the step", NULL, AS_PERCENT, LINE(share), .when = OPERATORS | SUMS },
    { 0 },
};

static const struct column other_columns[] = {
    { "not matched", NULL, AS_TEXT, LINE(label) },
    { NULL, "name", AS_TEXT, LINE(name) },
    { "calls", "calls", AS_NUMBER, LINE(calls) },
    { "measured", "measured_s", AS_SECONDS, LINE(forward.measured_s) },
    { "of the step", NULL, AS_PERCENT, LINE(share) },
    { 0 },
};

/* Rows ----------------------------------------------------------------------------------- */

static double share_of(double seconds, const struct beside *b)
{
    return b->whole.measured_s > 0 ? seconds / b->whole.measured_s : NAN;
}

static void and_more(const struct table_writer *table, int more)
{
    if (!table->json && more)
        fprintf(table->to, "and %d more\n", more);
}

/* Operators; text has the first `most`. */
static void operator_rows(struct table_writer *table, struct beside *b)
{
    int shown = 0;
    hp_table_begin(table, "operators");
    for (int i = 0; i < b->n; i++) {
        const struct beside_row *row = &b->row[i];
        shown += hp_table_row(
            table,
            &(struct line){
                .label = *row->name ? hp_shown(&b->arena, row->name) : "(model)",
                .name = row->name,
                .ops = row->ops,
                .forward = row->forward,
                .backward = row->backward,
                .longer_s = longer_s(row),
                .share = share_of(row->forward.measured_s + row->backward.measured_s, b) });
    }
    hp_table_end(table);
    and_more(table, b->n - shown);
}

static void other_rows(struct table_writer *table, struct beside *b)
{
    int shown = 0;
    hp_table_begin(table, "others");
    for (int i = 0; i < b->n_others; i++)
        shown +=
            hp_table_row(table, &(struct line){ .label = hp_shown(&b->arena, b->other[i].name),
                                                .name = b->other[i].name,
                                                .calls = b->other[i].calls,
                                                .forward.measured_s = b->other[i].seconds,
                                                .share = share_of(b->other[i].seconds, b) });
    hp_table_end(table);
    and_more(table, b->n_others - shown);
}

static void print_sums(FILE *to, struct beside *b)
{
    const struct {
        const char *label;
        struct pair pair;
    } sums[] = {
        { "step", b->whole },
        { "  forward", b->forward },
        { "  backward", b->backward },
        { "  update", b->update },
        { "  not matched", { b->lacking_s, b->other_s } },
        { "  neither", rest_of(b) },
    };
    struct table_writer table = { .column = line_columns, .to = to, .shows = SUMS };
    hp_table_begin(&table, NULL);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        hp_table_row(&table, &(struct line){ .label = sums[i].label,
                                             .forward = sums[i].pair,
                                             .share = share_of(sums[i].pair.measured_s, b) });
    hp_table_end(&table);
}

static void print_others(FILE *to, struct beside *b, bool detail)
{
    struct table_writer table = { .column = other_columns,
                                  .to = to,
                                  .most = detail ? 0 : MOST_OTHERS };
    if (b->lacking)
        fprintf(to, "\n%d %s of the plan %s in no bar of the trace.\n", b->lacking,
                b->lacking == 1 ? "operator" : "operators", b->lacking == 1 ? "is" : "are");
    if (!b->n_others)
        return;
    fputc('\n', to);
    other_rows(&table, b);
}

static void headline(FILE *to, struct beside *b)
{
    const struct torch_trace *t = b->step->torch;
    const struct hypar_plan *plan = hypar_sim_plan(b->sim);
    char steps[64], measured[32], predicted[32];
    double error = b->whole.measured_s > 0 ? b->whole.predicted_s / b->whole.measured_s - 1 : 0;
    hp_put_line(
        to, "%s, batch %lld: a step of rank %d takes %s in PyTorch, predicted %s (%+.1f %%)",
        hp_model_words(&b->arena, plan), (long long)plan->graph->batch, t->rank,
        hypar_format_quantity(measured, b->whole.measured_s, HYPAR_UNIT_SECONDS),
        hypar_format_quantity(predicted, b->whole.predicted_s, HYPAR_UNIT_SECONDS),
        100 * error);
    fprintf(to, "medians of %s, times of %s\n\n",
            hp_count(steps, b->step->n_steps, "step", "steps"),
            t->on_device ? "kernels on the device" : "operators on the host");
}

/* JSON ----------------------------------------------------------------------------------- */

static void put_beside(struct json_writer *w, const char *key, struct beside *b)
{
    const struct torch_trace *t = b->step->torch;
    struct pair other = { b->lacking_s, b->other_s };
    hp_json_begin_object(w, key, false);
    PUT(w, INT("rank", t->rank), INT("steps", b->step->n_steps),
        FLAG("on_device", t->on_device), NUMBER("predicted_s", b->whole.predicted_s),
        NUMBER("measured_s", b->whole.measured_s), RECORD("forward", pair_columns, &b->forward),
        RECORD("backward", pair_columns, &b->backward),
        RECORD("update", pair_columns, &b->update), RECORD("not_matched", pair_columns, &other),
        INT("operators_not_matched", b->lacking));
    operator_rows(&(struct table_writer){ .column = line_columns, .json = w }, b);
    other_rows(&(struct table_writer){ .column = other_columns, .json = w }, b);
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
        operator_rows(&(struct table_writer){ .column = line_columns,
                                              .to = to,
                                              .shows = OPERATORS,
                                              .most = detail ? 0 : MOST_ROWS },
                      &b);
        fputc('\n', to);
        print_sums(to, &b);
        print_others(to, &b, detail);
    }
    hp_arena_free(&b.arena);
    return HYPAR_OK;
}
