/* Published steps, memory and collectives beside what is predicted for them:
 *
 *     build/bench_truth [--csv FOLDER] [--svg FOLDER] [--rows] [--every N] [--where WORD]
 *                       [--options OPTIONS] [TABLE...]
 *
 * 1. All-reduces within a node of A100s, of which every second was fitted.
 * 2. Steps and memory of training, table by table (bench/truth/read.c), by device, and by
 *    where the predicted time goes.
 * The files lie beside the tree; without them there is nothing to do. TABLE: those alone
 * (steps-a100). --every 3: each third row. --where h100: rows whose table, name or source has
 * it. --options: appended to the machine's word. --rows prints every row. */
#include <math.h>

#include "base/parallel.h"
#include "bench/bench.h"
#include "bench/figures.h"
#include "bench/truth/truth.h"
#include "tests/papers/measured.h"

enum { MOST_TABLES = 16, MOST_ROWS = 512 };

struct asked {
    const char *options, *where;
    bool rows;
    int every;
    int n_tables;
    const char *table[MOST_TABLES];
};

static const char usage[] = FIGURES_USAGE " [--rows] [--every N] [--where WORD] "
                                          "[--options OPTIONS] [TABLE...]";

static void take(struct asked *a, int argc, char **argv)
{
    *a = (struct asked){ .options = "", .where = "", .every = 1 };
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--rows") == 0)
            a->rows = true;
        else if (strcmp(argv[i], "--every") == 0 && more)
            a->every = atoi(argv[++i]);
        else if (strcmp(argv[i], "--where") == 0 && more)
            a->where = argv[++i];
        else if (strcmp(argv[i], "--options") == 0 && more)
            a->options = argv[++i];
        else if (argv[i][0] != '-' && a->n_tables < MOST_TABLES)
            a->table[a->n_tables++] = argv[i];
        else
            take_words(2, (char *[]){ argv[0], argv[i], NULL }, 0, usage);
    }
    if (a->every < 1)
        a->every = 1;
}

static bool wanted(const struct asked *a, const char *table)
{
    for (int i = 0; i < a->n_tables; i++)
        if (strcmp(a->table[i], table) == 0)
            return true;
    return a->n_tables == 0;
}

/* Collectives ---------------------------------------------------------------------------- */

static void collectives(struct figures *f, const char *options)
{
    struct nccl_row rows[NCCL_MAX];
    struct hypar_machine *machine;
    struct hypar_error err;
    char word[1024];
    int n = nccl_rows(rows);
    if (n == 0) {
        printf("No measured collectives beside the tree.\n\n");
        return;
    }
    snprintf(word, sizeof word, "cluster:1x8,device=a100%s", options);
    must(hypar_machine_read(&machine, word, &err), &err);
    printf("All-reduce within a node of A100s, mean error\n\ndevices  fitted sizes  others\n");
    for (int devices = 2; devices <= 8; devices *= 2)
        printf("%7d %11.1f %% %5.1f %%\n", devices,
               100 * nccl_error(machine, rows, n, 0, devices),
               100 * nccl_error(machine, rows, n, 1, devices));
    printf("    all %11.1f %% %5.1f %%\n\n", 100 * nccl_error(machine, rows, n, 0, 0),
           100 * nccl_error(machine, rows, n, 1, 0));
    figure(f, "NCCL", "all-reduce among A100s", "s");
    for (int i = 0; i < n; i++) {
        char row[FIGURE_TEXT], series[FIGURE_TEXT];
        snprintf(row, sizeof row, "%.0f bytes", rows[i].bytes);
        snprintf(series, sizeof series, "%d devices", rows[i].devices);
        figure_point(f, row, series, rows[i].seconds, nccl_predicted_s(machine, &rows[i]));
    }
    hypar_machine_free(machine);
}

/* Steps ---------------------------------------------------------------------------------- */

/* Rows that are printed in one line: those of a table with the same device. */
struct group {
    int n;
    const struct truth_row *row[MOST_ROWS];
};

static bool is_predicted(const struct truth_row *r)
{
    return !r->left_out && !*r->predicted.failure;
}

/* Groups of rows in the order of their first ones. */
static void take_group(struct group *g, const struct truth_row *rows, int n, bool *taken)
{
    g->n = 0;
    for (int i = 0; i < n; i++)
        if (!taken[i] && is_predicted(&rows[i]) &&
            (g->n == 0 || strcmp(rows[i].device, g->row[0]->device) == 0)) {
            taken[i] = true;
            g->row[g->n++] = &rows[i];
        }
}

/* What of a row is compared. */
enum figure_of { STEP, STATE, PEAK };
static const struct {
    const char *what, *unit;
    double divisor;
} figure_of[] = {
    { "step", "s", 1 },
    { "lasting memory", "GB", 1e9 },
    { "most memory", "GB", 1e9 },
};

static double measured_of(const struct truth_row *r, enum figure_of what)
{
    return what == STEP ? r->step_s : what == STATE ? r->state_bytes : r->peak_bytes;
}

static double predicted_of(const struct truth_row *r, enum figure_of what)
{
    const struct truth_prediction *p = &r->predicted;
    return what == STEP ? p->step_s : what == STATE ? p->state_bytes : p->peak_bytes;
}

static const char *const error_heading =
    "table               device     what            rows   mean    bias   rank   worst\n";

static void print_errors(const char *table, const struct group *g, enum figure_of what)
{
    double measured[MOST_ROWS], predicted[MOST_ROWS];
    const struct truth_row *row[MOST_ROWS];
    int n = 0;
    for (int i = 0; i < g->n; i++)
        if (measured_of(g->row[i], what) > 0) {
            measured[n] = measured_of(g->row[i], what);
            predicted[n] = predicted_of(g->row[i], what);
            row[n++] = g->row[i];
        }
    if (n == 0)
        return;
    struct truth_errors e = truth_errors(measured, predicted, n);
    printf("%-19s %-10s %-14s %5d %5.1f %% %+6.1f %% %5.3f %+6.1f %% %s\n", table,
           g->row[0]->device, figure_of[what].what, e.rows, 100 * e.mean, 100 * e.bias, e.rank,
           100 * e.worst, row[e.worst_row]->name);
}

enum { PARTS = 4 };

static double share_of(const struct truth_row *r, int part)
{
    const struct truth_prediction *p = &r->predicted;
    const double part_s[PARTS] = { p->compute_s, p->messages_s, p->waiting_s, p->launch_s };
    return part_s[part] / p->step_s;
}

/* The mean error of the quarter of rows that have most of this part. */
static double error_with_most(const struct group *g, int part)
{
    double sum = 0;
    int counted = 0;
    for (int i = 0; i < g->n; i++) {
        int more = 0;
        for (int k = 0; k < g->n; k++)
            more += share_of(g->row[k], part) > share_of(g->row[i], part);
        if (4 * more < g->n) {
            sum += g->row[i]->predicted.step_s / g->row[i]->step_s - 1;
            counted++;
        }
    }
    return sum / counted;
}

/* Where the predicted time goes, and whether those that have much of it are off otherwise. */
static void print_terms(const char *table, const struct group *g)
{
    printf("%-19s %-10s", table, g->row[0]->device);
    for (int part = 0; part < PARTS; part++) {
        double share = 0;
        for (int i = 0; i < g->n; i++)
            share += share_of(g->row[i], part) / g->n;
        printf(" %5.1f %% %+6.1f %%", 100 * share, 100 * error_with_most(g, part));
    }
    printf("\n");
}

static void print_row(const struct truth_row *r)
{
    const struct truth_prediction *p = &r->predicted;
    printf("%-60.60s %s%2d %9.4f %9.4f %+6.1f %%  %4.1f %5.1f %5.1f %5.1f", r->name,
           r->chosen ? "c" : " ", r->chunks, r->step_s, p->step_s,
           100 * (p->step_s / r->step_s - 1), 100 * p->compute_s / p->step_s,
           100 * p->messages_s / p->step_s, 100 * p->waiting_s / p->step_s,
           100 * p->launch_s / p->step_s);
    if (r->peak_bytes > 0)
        printf("  %6.2f %6.2f GB", r->peak_bytes / 1e9, p->peak_bytes / 1e9);
    if (r->state_bytes > 0)
        printf("  %6.2f %6.2f GB", r->state_bytes / 1e9, p->state_bytes / 1e9);
    printf("\n");
    fflush(stdout);
}

/* How many rows each reason leaves out. */
static void print_left_out(const char *table, const struct truth_row *rows, int n)
{
    for (int i = 0; i < n; i++) {
        int count = 0, before = 0;
        for (int k = 0; rows[i].left_out && k < n; k++)
            if (rows[k].left_out && strcmp(rows[k].left_out, rows[i].left_out) == 0) {
                count++;
                before += k < i;
            }
        if (count && !before)
            printf("%-19s %3d rows: %s\n", table, count, rows[i].left_out);
        if (*rows[i].predicted.failure)
            printf("%-19s %s: %s\n", table, rows[i].name, rows[i].predicted.failure);
    }
}

/* Leave out the rows that are not asked for. */
static void take_rows(const struct asked *a, struct truth_row *rows, int n)
{
    int seen = 0;
    for (int i = 0; i < n; i++) {
        struct truth_row *r = &rows[i];
        if (!r->left_out && (!(strstr(r->name, a->where) || strstr(r->source, a->where)) ||
                             seen++ % a->every != 0))
            r->left_out = "not asked for";
    }
}

/* A table with its rows. */
struct read_table {
    const struct truth_table *table;
    struct truth_row *rows;
    int n;
};

/* The rows of all tables, predicted side by side. */
struct predicting {
    struct truth_row **row;
    int n;
    const char *options;
};

static void predict_row(void *arg, int i)
{
    const struct predicting *p = arg;
    truth_predict(p->row[i], p->options);
}

static void predict_rows(struct arena *arena, const struct read_table *t, int n_tables,
                         const char *options)
{
    struct predicting p = { .options = options };
    int all = 0;
    for (int k = 0; k < n_tables; k++)
        all += t[k].n;
    p.row = NEW(arena, struct truth_row *, all + 1);
    for (int k = 0; k < n_tables; k++)
        for (int i = 0; i < t[k].n; i++)
            if (!t[k].rows[i].left_out)
                p.row[p.n++] = &t[k].rows[i];
    hp_parallel(p.n, 0, predict_row, &p);
}

static void print_rows(struct figures *f, const struct read_table *t, bool rows)
{
    figure(f, t->table->name, t->table->what, "s");
    for (int i = 0; i < t->n; i++) {
        const struct truth_row *r = &t->rows[i];
        if (!is_predicted(r))
            continue;
        if (rows)
            print_row(r);
        figure_point(f, r->name, r->device, r->step_s, r->predicted.step_s);
    }
}

static void print_groups(const struct read_table *t, bool terms)
{
    bool taken[MOST_ROWS] = { false };
    struct group g;
    for (take_group(&g, t->rows, t->n, taken); g.n; take_group(&g, t->rows, t->n, taken)) {
        for (int what = STEP; what <= PEAK && !terms; what++)
            print_errors(t->table->name, &g, (enum figure_of)what);
        if (terms)
            print_terms(t->table->name, &g);
    }
}

/* Memory --------------------------------------------------------------------------------- */

static double memory_error(const struct truth_row *r, enum figure_of what)
{
    return predicted_of(r, what) / measured_of(r, what) - 1;
}

static void print_extreme(const char *which, const struct truth_row *r, enum figure_of what)
{
    printf("%34s %+6.1f %%  %s\n", which, 100 * memory_error(r, what), r->name);
}

/* Rows of a framework whose figure is told: how far predictions are off, which are the
 * furthest, and how many of these jobs, which ran, would have been said not to fit. */
static void print_memory_of(const struct group *g, enum figure_of what)
{
    const struct truth_row *low = NULL, *high = NULL;
    double mean = 0, bias = 0;
    int n = 0, refused = 0;
    for (int i = 0; i < g->n; i++) {
        const struct truth_row *r = g->row[i];
        if (!(measured_of(r, what) > 0))
            continue;
        double error = memory_error(r, what);
        low = !low || error < memory_error(low, what) ? r : low;
        high = !high || error > memory_error(high, what) ? r : high;
        refused += r->predicted.probability < 0.5;
        mean += fabs(error);
        bias += error;
        n++;
    }
    if (n == 0)
        return;
    printf("%-19.19s %-14s %4d rows: mean %4.1f %%, bias %+5.1f %%", g->row[0]->framework,
           figure_of[what].what, n, 100 * mean / n, 100 * bias / n);
    printf(what == PEAK ? ", said not to fit: %d\n" : "\n", refused);
    print_extreme("most too low", low, what);
    print_extreme("most too high", high, what);
}

/* Calibration ---------------------------------------------------------------------------- */

enum { MOST_CELLS = 64 };

/* The rows of a device under a framework. */
struct cell {
    const char *device, *framework;
    struct group rows;
};

static struct cell *cell_of(struct cell *cells, int *n, const struct truth_row *r)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(cells[i].device, r->predicted.device) == 0 &&
            strcmp(cells[i].framework, r->framework) == 0)
            return &cells[i];
    cells[*n] = (struct cell){ r->predicted.device, r->framework, { .n = 0 } };
    return &cells[(*n)++];
}

static int make_cells(struct cell *cells, const struct read_table *t, int n_tables)
{
    int n = 0;
    for (int k = 0; k < n_tables; k++)
        for (int i = 0; i < t[k].n; i++)
            if (is_predicted(&t[k].rows[i]) && n < MOST_CELLS) {
                struct group *g = &cell_of(cells, &n, &t[k].rows[i])->rows;
                if (g->n < MOST_ROWS)
                    g->row[g->n++] = &t[k].rows[i];
            }
    return n;
}

/* How networks differ, of cells with several: the mean variance. */
static double usual_between(const struct cell *cells, int n)
{
    double sum = 0;
    int counted = 0, networks;
    for (int i = 0; i < n; i++) {
        double between = truth_between(cells[i].rows.row, cells[i].rows.n, &networks);
        if (networks > 1) {
            sum += between;
            counted++;
        }
    }
    return counted ? sum / counted : 0;
}

/* Rows inside the interval that all other networks of the cell give. */
static int count_inside(const struct group *g, double usual)
{
    int inside = 0;
    for (int i = 0; i < g->n; i++) {
        struct hypar_calibration c = truth_calibration(g->row, g->n, g->row[i], usual);
        inside += truth_is_inside(&c, g->row[i]);
    }
    return inside;
}

/* As rows of the table in src/cost/calibration.c, and what comes of them where a network is
 * kept out. */
static void calibrate(const struct read_table *t, int n_tables)
{
    static struct cell cells[MOST_CELLS];
    int n = make_cells(cells, t, n_tables), all = 0, inside = 0, networks;
    double usual = usual_between(cells, n);
    printf("\nCalibration: rows, bias and spread of log(measured / predicted), spread of the "
           "ratio of two steps of a network;\nof rows whose network was kept out, the share "
           "inside the 80 %% interval that the others give\n\n");
    for (int i = 0; i < n; i++) {
        const struct group *g = &cells[i].rows;
        struct hypar_calibration c = truth_calibration(g->row, g->n, NULL, usual);
        truth_between(g->row, g->n, &networks);
        printf("    { \"%s\", \"%s\", { %d, %.3f, %.3f, %.3f, \"%s as %s\" } }, /* %d "
               "networks",
               cells[i].device, cells[i].framework, c.rows, c.bias, c.spread, c.pair,
               cells[i].device, cells[i].framework, networks);
        if (networks > 1) {
            int in = count_inside(g, usual);
            printf(", kept out: %.0f %%", 100. * in / g->n);
            inside += in;
            all += g->n;
        }
        printf(" */\n");
    }
    if (all)
        printf("\nOf %d rows kept out %.0f %% lie inside.\n", all, 100. * inside / all);
}

static void memory(const struct read_table *t, int n_tables)
{
    static struct cell cells[MOST_CELLS];
    int n = make_cells(cells, t, n_tables);
    printf("\nMemory: predicted over measured, of every row whose bytes are told\n\n");
    for (int i = 0; i < n; i++)
        for (int what = STATE; what <= PEAK; what++)
            print_memory_of(&cells[i].rows, (enum figure_of)what);
}

static void steps(struct figures *f, const struct asked *a)
{
    struct arena arena = { 0 };
    struct read_table t[MOST_TABLES];
    int n = 0;
    if (a->rows)
        printf("row (c: chosen), chunks, measured, predicted, error; shares of the predicted "
               "step: computing, messages,\nwaiting, launches of the host; most and lasting "
               "memory, measured and predicted\n\n");
    for (int i = 0; truth_table(i); i++) {
        t[n].table = truth_table(i);
        if (!wanted(a, t[n].table->name))
            continue;
        t[n].n = truth_read(&arena, t[n].table, &t[n].rows);
        if (t[n].n == 0 || t[n].n > MOST_ROWS)
            printf("skipped: no %s.csv beside the tree\n", t[n].table->name);
        else
            take_rows(a, t[n].rows, t[n].n), n++;
    }
    predict_rows(&arena, t, n, a->options);
    for (int i = 0; i < n; i++)
        print_rows(f, &t[i], a->rows);
    printf("\n%s", error_heading);
    for (int i = 0; i < n; i++)
        print_groups(&t[i], false);
    printf(
        "\nShares of the predicted step, and the mean error of the quarter of rows that have "
        "most of it\n(launches of the host go on beside the others)\n\n"
        "table               device          computing         messages          waiting "
        "        launches\n");
    for (int i = 0; i < n; i++)
        print_groups(&t[i], true);
    calibrate(t, n);
    memory(t, n);
    printf("\nLeft out\n\n");
    for (int i = 0; i < n; i++)
        print_left_out(t[i].table->name, t[i].rows, t[i].n);
    hp_arena_free(&arena);
}

int main(int argc, char **argv)
{
    static struct figures f;
    struct asked a;
    figures_begin(&f, "Published", &argc, argv);
    take(&a, argc, argv);
    if (wanted(&a, "nccl-a100") && figure_wanted(&f, "NCCL"))
        collectives(&f, a.options);
    steps(&f, &a);
    figures_end(&f);
    return 0;
}
