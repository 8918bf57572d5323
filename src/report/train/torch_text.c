/* Compares PyTorch's step with the simulated one, operator by operator: as tables and as JSON.
 */
#include "base/error.h"
#include "measured/torch_trace.h"
#include "plan/plan.h"
#include "report/put.h"
#include "report/train/truth.h"

enum { MOST_ROWS = 10, MOST_OTHERS = 5 };

/* Columns -------------------------------------------------------------------------------- */

static const struct column pair_columns[] = {
    { NULL, "predicted_s", AS_SECONDS, AT(struct torch_times, predicted_s) },
    { NULL, "measured_s", AS_SECONDS, AT(struct torch_times, measured_s) },
    { 0 },
};

/* A line of one of the tables. */
struct line {
    const char *label, *name;
    int ops;
    struct torch_times forward, backward; /* forward: also for a sum */
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

static double share_of(double seconds, const struct torch_compared *b)
{
    return b->whole.measured_s > 0 ? seconds / b->whole.measured_s : NAN;
}

static void and_more(const struct table_writer *table, int more)
{
    if (!table->json && more)
        fprintf(table->to, "and %d more\n", more);
}

/* Operators; text has the first `most`. */
static void operator_rows(struct table_writer *table, struct torch_compared *b)
{
    int shown = 0;
    hp_table_begin(table, "operators");
    for (int i = 0; i < b->n; i++) {
        const struct torch_row *row = &b->row[i];
        shown += hp_table_row(
            table,
            &(struct line){
                .label = *row->name ? hp_shown(&b->arena, row->name) : "(model)",
                .name = row->name,
                .ops = row->ops,
                .forward = row->forward,
                .backward = row->backward,
                .longer_s = row->longer_s,
                .share = share_of(row->forward.measured_s + row->backward.measured_s, b) });
    }
    hp_table_end(table);
    and_more(table, b->n - shown);
}

static void other_rows(struct table_writer *table, struct torch_compared *b)
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

static void print_sums(FILE *to, struct torch_compared *b)
{
    const struct {
        const char *label;
        struct torch_times pair;
    } sums[] = {
        { "step", b->whole },
        { "  forward", b->forward },
        { "  backward", b->backward },
        { "  update", b->update },
        { "  not matched", { b->lacking_s, b->other_s } },
        { "  neither", b->neither },
    };
    struct table_writer table = { .column = line_columns, .to = to, .shows = SUMS };
    hp_table_begin(&table, NULL);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        hp_table_row(&table, &(struct line){ .label = sums[i].label,
                                             .forward = sums[i].pair,
                                             .share = share_of(sums[i].pair.measured_s, b) });
    hp_table_end(&table);
}

static void print_others(FILE *to, struct torch_compared *b, bool detail)
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

static void headline(FILE *to, struct torch_compared *b)
{
    const struct torch_trace *t = b->step->torch;
    const struct hypar_plan *plan = hypar_sim_plan(b->sim);
    double error = b->whole.measured_s > 0 ? b->whole.predicted_s / b->whole.measured_s - 1 : 0;
    hp_put_line(
        to, "%s, batch %lld: a step of rank %d takes %s in PyTorch, predicted %s (%+.1f %%)",
        hp_model_words(&b->arena, plan), (long long)plan->graph->batch, t->rank,
        hp_time_text(&b->arena, b->whole.measured_s),
        hp_time_text(&b->arena, b->whole.predicted_s), 100 * error);
    fprintf(to, "medians of %s, times of %s\n\n", hp_count(&b->arena, b->step->n_steps, "step"),
            t->on_device ? "kernels on the device" : "operators on the host");
}

/* JSON ----------------------------------------------------------------------------------- */

static void put_beside(struct json_writer *w, const char *key, struct torch_compared *b)
{
    const struct torch_trace *t = b->step->torch;
    struct torch_times other = { b->lacking_s, b->other_s };
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
    struct torch_compared b = hp_torch_compare(step, sim);
    put_beside(w, key, &b);
    hp_arena_free(&b.arena);
}

enum hypar_status hp_report_torch(FILE *to, const struct hypar_measured_step *step,
                                  const struct hypar_sim *sim, bool detail,
                                  enum hypar_format format, struct hypar_error *err)
{
    struct json_writer w = { .file = to };
    TRY(hp_check_torch_rank(step->torch, sim, err));
    struct torch_compared b = hp_torch_compare(step, sim);
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
