/* Makes a profile from a trace of PyTorch's profiler. The measured time of a row in a step is
 * divided over all passes of its operators, of each micro-batch and part, in proportion to
 * their predicted times. */
#include "cost/work.h"
#include "graph/graph.h"
#include "measured/torch_trace.h"
#include "profile/profile.h"
#include "sim/op_times.h"

enum { HALVES = 2 };

struct adding {
    struct arena arena;
    const struct torch_trace *trace;
    const struct lowering *lowering;
    const struct hypar_device *device;
    int *row_of_op;            /* by operator: its row; -1: none */
    double *predicted[HALVES]; /* by row */
    struct hypar_measured_added *added;
};

/* A pass of one part on the device, executed `times` times in a step (pipedream: in a
 * minibatch). */
struct done {
    int pass, body, part;
    double times;
};
static const struct done before_first = { .part = -1 };

/* Find the next pass whose operator is in a row. Returns false if there is none. */
static bool next(const struct adding *a, struct done *d)
{
    const struct lowering *s = a->lowering;
    for (; d->pass < s->training.n_op_passes; d->pass++, d->body = 0) {
        const struct op_pass *p = &s->training.op_pass[d->pass];
        if (p->resend || a->row_of_op[p->op] < 0)
            continue;
        for (; d->body < s->n_bodies; d->body++, d->part = -1) {
            const struct op_parts *l = s->body[d->body].parts[p->op];
            d->times = (double)hp_body_times(&s->iteration, d->body) / s->iteration.n_batches;
            while (++d->part < l->n_parts)
                if (!l->empty[d->part] && l->device[d->part] == a->trace->rank)
                    return true;
        }
    }
    return false;
}

static const struct op_pass *pass_of(const struct adding *a, const struct done *d)
{
    return &a->lowering->training.op_pass[d->pass];
}

static const struct range *range_of(const struct adding *a, const struct done *d)
{
    const struct op_parts *l = a->lowering->body[d->body].parts[pass_of(a, d)->op];
    return l->range + d->part * l->nest->n_axes;
}

/* The predicted time of one execution, by the roofline, even if the profile already has the
 * pass. */
static double predicted_s(const struct adding *a, const struct done *d)
{
    const struct op_pass *p = pass_of(a, d);
    const struct op *op = &a->lowering->graph->ops[p->op];
    return hp_pass_seconds(op->nest, p->pass, range_of(a, d), hp_present(op), a->device,
                           a->lowering->plan->precision, NULL);
}

static void predict(struct adding *a)
{
    for (int h = 0; h < HALVES; h++)
        a->predicted[h] = NEW(&a->arena, double, a->trace->n_rows + 1);
    for (struct done d = before_first; next(a, &d);) {
        const struct op_pass *p = pass_of(a, &d);
        a->predicted[p->backward][a->row_of_op[p->op]] += d.times * predicted_s(a, &d);
    }
}

/* The pass as an entry of a profile; `extent` has space for MAX_AXES. */
static struct measured_pass measured_of(const struct adding *a, const struct done *d,
                                        int64_t *extent)
{
    const struct op_pass *p = pass_of(a, d);
    const struct nest *nest = a->lowering->graph->ops[p->op].nest;
    const struct range *range = range_of(a, d);
    for (int axis = 0; axis < nest->n_axes; axis++)
        extent[axis] = range[axis].hi - range[axis].lo;
    return (struct measured_pass){ .device = a->device->name,
                                   .precision = a->lowering->plan->precision,
                                   .nest = nest,
                                   .pass = p->pass,
                                   .extent = extent };
}

/* The share of one execution in the time of its row. */
static double share_s(const struct adding *a, const struct done *d)
{
    const struct op_pass *p = pass_of(a, d);
    int row = a->row_of_op[p->op];
    double all = a->predicted[p->backward][row], own = predicted_s(a, d);
    double seconds = p->backward ? a->trace->row[row].backward.measured_s
                                 : a->trace->row[row].forward.measured_s;
    return own > 0 ? seconds * own / all : 0;
}

static bool is_kept(const struct adding *a, const struct done *d)
{
    const struct nest *nest = a->lowering->graph->ops[pass_of(a, d)->op].nest;
    return !(hp_op[nest->kind].flags & ROW_OPAQUE) && share_s(a, d) > 0;
}

/* Add all passes to the profile. Passes that a profile does not distinguish get their mean, so
 * their total time in a step stays the same. `sum` and `n` are profiles of the sums of seconds
 * and of their counts. */
static enum hypar_status add_passes(struct adding *a, struct hypar_profile *profile,
                                    struct hypar_profile *sum, struct hypar_profile *n,
                                    struct hypar_error *err)
{
    int64_t extent[MAX_AXES];
    for (struct done d = before_first; next(a, &d);) {
        if (!is_kept(a, &d))
            continue;
        struct measured_pass at = measured_of(a, &d, extent);
        double seconds = d.times * share_s(a, &d);
        TRY(hp_profile_add(sum, &at, hp_profile_find(sum, &at) + seconds, err));
        TRY(hp_profile_add(n, &at, hp_profile_find(n, &at) + d.times, err));
        a->added->operators_s += seconds;
    }
    for (struct done d = before_first; next(a, &d);) {
        if (!is_kept(a, &d))
            continue;
        struct measured_pass at = measured_of(a, &d, extent);
        TRY(hp_profile_add(profile, &at, hp_profile_find(sum, &at) / hp_profile_find(n, &at),
                           err));
    }
    a->added->passes = sum->n_passes;
    return HYPAR_OK;
}

static double trained_elements(const struct hypar_graph *graph)
{
    double sum = 0;
    for (int t = 0; t < graph->n_tensors; t++) {
        const struct tensor *tensor = &graph->tensors[t];
        sum += tensor->kind == TENSOR_PARAM && tensor->needs_grad
                   ? (double)hp_shape_elements(&tensor->shape)
                   : 0;
    }
    return sum;
}

/* Add the update: its time per element of the optimizer's step. If parameters are sharded, the
 * number of elements is not known. */
static void add_update(struct adding *a, struct hypar_profile *profile)
{
    const struct hypar_plan *plan = a->lowering->plan;
    double elements = trained_elements(a->lowering->graph);
    char of[64];
    if (!(a->trace->update_s > 0) || !(elements > 1) ||
        hypar_machine_device_count(plan->machine) > 1)
        return;
    hp_update_word(of, sizeof of, hypar_optimizer_text(plan->optimizer),
                   hypar_precision_text(plan->precision));
    hp_profile_add_point(profile, a->device->name, of, 1, a->trace->update_s / elements);
    hp_profile_add_point(profile, a->device->name, of, elements, a->trace->update_s);
    a->added->update_s = a->trace->update_s;
}

/* Check that the operators' time is at most the step, except for kernels that run in
 * parallel. */
static enum hypar_status check_added(const struct hypar_measured_added *added,
                                     struct hypar_error *err)
{
    enum { SIDE_BY_SIDE = 2, DAY_S = 24 * 3600 };
    char in[32], step[32];
    if (!added->passes)
        return hp_fail(
            err, HYPAR_INVALID,
            "no operator of the model is in the trace, expected bars that hypar.torch "
            "named");
    if (!(added->step_s < DAY_S))
        return hp_fail(err, HYPAR_INVALID, "a step of %s, expected less than a day",
                       hypar_format_quantity(step, added->step_s, HYPAR_UNIT_SECONDS));
    if (!(added->operators_s <= SIDE_BY_SIDE * added->step_s))
        return hp_fail(err, HYPAR_INVALID, "operators take %s of a step of %s",
                       hypar_format_quantity(in, added->operators_s, HYPAR_UNIT_SECONDS),
                       hypar_format_quantity(step, added->step_s, HYPAR_UNIT_SECONDS));
    return HYPAR_OK;
}

enum hypar_status hypar_measured_step_add(const struct hypar_measured_step *step,
                                          const struct hypar_sim *sim,
                                          struct hypar_profile *profile,
                                          struct hypar_measured_added *out,
                                          struct hypar_error *err)
{
    struct adding a = { .trace = step->torch, .added = out };
    *out = (struct hypar_measured_added){ .steps = step->n_steps, .step_s = step->step_s };
    if (!step->torch)
        return hp_fail(err, HYPAR_INVALID, "expected a trace of PyTorch's profiler");
    TRY(hp_check_torch_rank(step->torch, sim, err));
    a.lowering = sim->timing->lowering;
    a.device = hypar_machine_device(a.lowering->plan->machine, a.trace->rank);
    a.row_of_op = NEW(&a.arena, int, a.lowering->graph->n_ops + 1);
    hp_torch_match(a.trace, a.lowering->graph, a.row_of_op);
    predict(&a);
    struct hypar_profile *sum = hypar_profile_new(), *n = hypar_profile_new();
    enum hypar_status status = add_passes(&a, profile, sum, n, err);
    hypar_profile_free(sum);
    hypar_profile_free(n);
    if (status == HYPAR_OK)
        add_update(&a, profile);
    out->on_device = a.trace->on_device;
    out->device = a.trace->device;
    for (int i = 0; i < a.trace->n_rows; i++)
        out->computed_s +=
            a.trace->row[i].forward.measured_s + a.trace->row[i].backward.measured_s;
    for (int i = 0; i < a.trace->n_others; i++)
        out->other_s += a.trace->other[i].seconds;
    hp_arena_free(&a.arena);
    return status == HYPAR_OK ? check_added(out, err) : status;
}
