/* Operators of a training run: their times as predicted and as measured. */
#include "report/train_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/columns.h"

struct op_time {
    int op;
    double predicted_s, measured_s; /* in a step, over all ranks */
};

static int by_difference(const void *a, const void *b)
{
    const struct op_time *x = a, *y = b;
    double dx = fabs(x->measured_s - x->predicted_s), dy = fabs(y->measured_s - y->predicted_s);
    if (dx != dy)
        return dx > dy ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Those that were computed, what differs most first; none if the simulation is of other tasks
 * (pipedream: another window). */
static int find_times(const struct hypar_trace *trace, const struct hypar_sim *sim, int n_ops,
                      struct op_time *time)
{
    struct hypar_trace_event e;
    struct hypar_sim_event predicted;
    double steps = (double)hypar_trace_step_count(trace);
    int n = 0;
    for (int op = 0; op < n_ops; op++)
        time[op] = (struct op_time){ .op = op };
    for (int64_t i = 0; hypar_trace_event(trace, i, &e); i++) {
        if (e.op < 0)
            continue;
        if (!hypar_sim_event(sim, e.id, &predicted) || strcmp(predicted.name, e.name) != 0)
            return 0;
        time[e.op].measured_s += (e.end_s - e.start_s) / steps;
        time[e.op].predicted_s += (predicted.end_s - predicted.start_s) / steps;
    }
    for (int op = 0; op < n_ops; op++)
        if (time[op].measured_s > 0)
            time[n++] = time[op];
    qsort(time, (size_t)n, sizeof *time, by_difference);
    return n;
}

void hp_print_train_ops(FILE *to, const struct hypar_trace *trace, const struct hypar_sim *sim,
                        const struct hypar_graph *graph)
{
    enum { MOST = 8 };
    struct arena arena = { 0 };
    struct columns table = { .align = "lrrr" };
    struct op_time *time = NEW(&arena, struct op_time, hypar_graph_op_count(graph) + 1);
    int n = find_times(trace, sim, hypar_graph_op_count(graph), time);
    hp_cell(&table, &arena, "operator, over all ranks");
    hp_cell(&table, &arena, "predicted");
    hp_cell(&table, &arena, "measured");
    hp_cell(&table, &arena, "ratio");
    for (int i = 0; i < n && i < MOST; i++) {
        hp_cell(&table, &arena, "%s", hp_shown(&arena, hypar_graph_op_name(graph, time[i].op)));
        hp_quantity_cell(&table, &arena, time[i].predicted_s, HYPAR_UNIT_SECONDS);
        hp_quantity_cell(&table, &arena, time[i].measured_s, HYPAR_UNIT_SECONDS);
        if (time[i].predicted_s > 0)
            hp_cell(&table, &arena, "%.3g", time[i].measured_s / time[i].predicted_s);
        else
            hp_cell(&table, &arena, "-");
    }
    if (n > 0) {
        fputc('\n', to);
        hp_columns_print(&table, to);
    }
    if (n > MOST)
        fprintf(to, "... and %d that differ less\n", n - MOST);
    hp_arena_free(&arena);
}

void hp_write_train_ops(FILE *to, const struct hypar_trace *trace, const struct hypar_sim *sim,
                        const struct hypar_graph *graph)
{
    struct arena arena = { 0 };
    struct json_writer w = { .file = to, .depth = 1, .flat = { false, true } };
    struct op_time *time = NEW(&arena, struct op_time, hypar_graph_op_count(graph) + 1);
    int n = find_times(trace, sim, hypar_graph_op_count(graph), time);
    hp_json_begin_array(&w, "operators", true);
    for (int i = 0; i < n; i++) {
        hp_json_begin_object(&w, NULL, true);
        hp_json_put_string(&w, "name", hypar_graph_op_name(graph, time[i].op));
        hp_json_put_number(&w, "predicted_s", time[i].predicted_s);
        hp_json_put_number(&w, "measured_s", time[i].measured_s);
        hp_json_end_object(&w);
    }
    hp_json_end_array(&w);
    hp_arena_free(&arena);
}
