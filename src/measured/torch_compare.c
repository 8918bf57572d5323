/* Compares PyTorch's step with the simulated one, operator by operator. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "graph/graph.h"
#include "measured/torch_trace.h"
#include "sim/op_times.h"

/* The difference, or 0 if it is only rounding: times are whole picoseconds, task by task. */
static double left_of(double whole, double used)
{
    return fabs(whole - used) > 1e-7 * whole + 1e-11 ? whole - used : 0;
}

/* Rows by their difference, the largest first; of equals, the longest first. */
static int by_difference(const void *a, const void *b)
{
    const struct torch_row *x = a, *y = b;
    double p = fabs(x->longer_s), q = fabs(y->longer_s);
    if (p == q) {
        p = x->forward.measured_s + x->backward.measured_s;
        q = y->forward.measured_s + y->backward.measured_s;
    }
    return p != q ? (p > q ? -1 : 1) : strcmp(x->name, y->name);
}

static void add_pair(struct torch_times *sum, const struct torch_times *p)
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
static void predict_rows(struct torch_compared *b)
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
        struct torch_row *row = &b->row[row_of_op[op]];
        row->ops++;
        row->forward.predicted_s += time[op].forward_s;
        row->backward.predicted_s += time[op].backward_s;
    }
}

static void add_other(struct torch_compared *b, const struct torch_other *other)
{
    b->other[b->n_others++] = *other;
    b->other_s += other->seconds;
}

/* Keep the rows with operators; rows without operators join the unmatched ones. */
static void keep_rows(struct torch_compared *b)
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
        b->row[i].longer_s =
            left_of(b->row[i].forward.measured_s + b->row[i].backward.measured_s,
                    b->row[i].forward.predicted_s + b->row[i].backward.predicted_s);
        b->row[n++] = b->row[i];
    }
    b->n = n;
    if (n)
        hp_sort(b->row, n, sizeof *b->row, by_difference);
    hp_torch_sort_others(b->other, b->n_others);
}

struct torch_compared hp_torch_compare(const struct hypar_measured_step *step,
                                       const struct hypar_sim *sim)
{
    struct torch_compared b = { .step = step, .sim = sim };
    const struct torch_trace *t = step->torch;
    struct hypar_sim_event e;
    b.n = t->n_rows;
    b.row = NEW(&b.arena, struct torch_row, b.n + 1);
    for (int i = 0; i < b.n; i++)
        b.row[i] = t->row[i];
    predict_rows(&b);
    keep_rows(&b);
    b.update.measured_s = t->update_s;
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++)
        if (e.kind == HYPAR_EVENT_UPDATE && e.device == t->rank)
            b.update.predicted_s += e.end_s - e.start_s;
    b.whole = (struct torch_times){ hypar_sim_summary(sim).step_s, step->step_s };
    b.neither = (struct torch_times){
        left_of(b.whole.predicted_s, b.forward.predicted_s + b.backward.predicted_s +
                                         b.update.predicted_s + b.lacking_s),
        left_of(b.whole.measured_s,
                b.forward.measured_s + b.backward.measured_s + b.update.measured_s + b.other_s),
    };
    return b;
}
