/* Training steps of the unsplit graph, operator by operator. */
#include "tests/unsplit_run.h"

#include <string.h>

#include "base/random.h"
#include "run/draw_key.h"
#include "run/running.h"

struct unsplit_run {
    struct arena arena;
    const struct hypar_graph *graph;
    struct unsplit_settings settings;
    const struct kernels *kernels;
    enum real real;
    int step;
    /* [row * n_tensors + tensor]. Rows are micro-batches; parameters and inputs have row 0
     * only. Delayed: inputs have a row for each minibatch, parameters one for each version, and
     * their gradients one for each period. */
    struct view *value, *grad;
    int n_rows;
    struct optimizer_state *state; /* by tensor */
    struct view *running;          /* by tensor: statistics that training keeps */
};

static bool given(const struct unsplit_run *run, int t)
{
    enum tensor_kind kind = run->graph->tensors[t].kind;
    return kind == TENSOR_PARAM || kind == TENSOR_INPUT ||
           (run->settings.forward && hp_is_running(run->graph, t));
}

static const struct delayed_updates *delayed(const struct unsplit_run *run)
{
    return run->settings.delayed;
}

/* The only row of a tensor; -1: it has several. */
static int only_row(const struct unsplit_run *run, int t)
{
    bool stays = run->settings.forward && run->graph->tensors[t].kind != TENSOR_INPUT;
    return given(run, t) && (!delayed(run) || stays) ? 0 : -1;
}

static int slot(const struct unsplit_run *run, int t, int row)
{
    int only = only_row(run, t);
    return (only >= 0 ? only : row) * run->graph->n_tensors + t;
}

/* The version of the parameters of op's stage that a half of a minibatch uses. */
static int version_row(const struct unsplit_run *run, int op, int micro, bool backward)
{
    const struct delayed_updates *d = delayed(run);
    int stage = d->stage_of_op[op];
    return backward && !d->stash
               ? (int)hp_pipedream_newest(&d->pipe, stage, micro)
               : (int)hp_pipedream_version(&d->pipe, stage, micro, d->vertical_sync);
}

/* The slot of an operand of op, in a half of a micro-batch. */
static int operand_slot(const struct unsplit_run *run, int op, int t, bool grad, int micro,
                        bool backward)
{
    const struct delayed_updates *d = delayed(run);
    bool param = run->graph->tensors[t].kind == TENSOR_PARAM;
    if (!d || !param)
        return slot(run, t, micro);
    return slot(run, t,
                grad ? micro / d->pipe.replicas[d->stage_of_op[op]]
                     : version_row(run, op, micro, backward));
}

const struct view *unsplit_run_view(const struct unsplit_run *run, struct place place,
                                    int micro)
{
    bool newest = run->graph->tensors[place.tensor].kind == TENSOR_PARAM && !place.grad;
    return &(place.grad ? run->grad : run->value)[slot(run, place.tensor, newest ? 0 : micro)];
}

const struct view *unsplit_run_running(const struct unsplit_run *run, int tensor)
{
    return &run->running[tensor];
}

double unsplit_run_loss(const struct unsplit_run *run, int period)
{
    const struct delayed_updates *d = delayed(run);
    int n = run->settings.micro_batches;
    if (d)
        n = d->pipe.replicas[d->stage_of_op[run->graph->tensors[run->graph->loss].producer]];
    double loss = 0;
    for (int m = period * n; m < (period + 1) * n; m++)
        loss += hp_get(run->value[slot(run, run->graph->loss, m)].data, 0, run->real);
    return loss;
}

/* Copy the given parameters and inputs. */
static void fill_given(struct unsplit_run *run, const struct run_data *data)
{
    const struct delayed_updates *d = delayed(run);
    for (int t = 0; t < run->graph->n_tensors; t++) {
        bool input = run->graph->tensors[t].kind == TENSOR_INPUT;
        for (int row = 0; row < (d && input ? run->n_rows : 1); row++) {
            const struct run_data *from =
                d && input && d->batch ? &d->batch[row % d->n_batches] : data;
            if (given(run, t))
                hp_view_copy(&run->value[slot(run, t, row)], &from->tensor[t],
                             &from->tensor[t].box,
                             hp_tensor_element_bytes(run->graph, t, run->real));
        }
    }
}

static struct view new_view(struct unsplit_run *run, int t)
{
    const struct hypar_shape *shape = &run->graph->tensors[t].shape;
    struct box box = hp_shape_box(shape);
    return hp_dense_view(NEW(&run->arena, double, hp_shape_elements(shape)), &box);
}

struct unsplit_run *unsplit_run_new(const struct hypar_graph *graph,
                                    const struct run_data *data,
                                    const struct unsplit_settings *settings)
{
    struct arena arena = { 0 };
    struct unsplit_run *run = NEW(&arena, struct unsplit_run, 1);
    run->arena = arena;
    run->graph = graph;
    run->settings = *settings;
    run->kernels = hp_kernels_find("reference");
    run->real = data->real;
    run->n_rows = settings->micro_batches + (settings->delayed != NULL);
    run->value = NEW(&run->arena, struct view, run->n_rows * graph->n_tensors);
    run->grad = NEW(&run->arena, struct view, run->n_rows * graph->n_tensors);
    run->state = NEW(&run->arena, struct optimizer_state, graph->n_tensors);
    run->running = NEW(&run->arena, struct view, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++) {
        const struct tensor *info = &graph->tensors[t];
        for (int row = 0; row < (only_row(run, t) >= 0 ? 1 : run->n_rows); row++) {
            run->value[slot(run, t, row)] = new_view(run, t);
            run->grad[slot(run, t, row)] = new_view(run, t);
        }
        if (hp_is_running(graph, t)) {
            run->running[t] = new_view(run, t);
            hp_first_running(&run->running[t], run->real);
            if (data->tensor[t].data)
                hp_view_copy(&run->running[t], &data->tensor[t], &data->tensor[t].box,
                             hp_real_bytes(run->real));
        }
        for (int i = 0; info->kind == TENSOR_PARAM && i < HP_MAX_STATE; i++)
            run->state[t].array[i] = new_view(run, t).data;
    }
    fill_given(run, data);
    return run;
}

void unsplit_run_free(struct unsplit_run *run)
{
    if (!run)
        return;
    struct arena arena = run->arena; /* the run lives in it */
    hp_arena_free(&arena);
}

/* Kernels add to their outputs: these start at the neutral element. */
static void clear(struct unsplit_run *run)
{
    const struct hypar_graph *g = run->graph;
    for (int op = 0; op < g->n_ops; op++)
        for (int o = g->ops[op].nest->n_inputs; o < g->ops[op].nest->n_operands; o++)
            for (int m = 0;
                 m < run->settings.micro_batches && !given(run, g->ops[op].tensor[o]); m++)
                hp_view_clear(&run->value[slot(run, g->ops[op].tensor[o], m)],
                              g->ops[op].nest->operand[o].combine, run->real);
    for (int i = 0; i < run->n_rows * g->n_tensors; i++)
        if (run->grad[i].data)
            hp_view_clear(&run->grad[i], COMBINE_SUM, run->real);
}

/* Set the views of a pass; false: it writes nothing that is needed. */
static bool bind_views(const struct unsplit_run *run, int op, int micro,
                       struct kernel_call *call)
{
    const struct op *o = &run->graph->ops[op];
    const struct pass *pass = &o->nest->pass[call->pass];
    bool needed = pass->writes != 0;
    for (int i = 0; i < o->nest->n_operands; i++) {
        int t = o->tensor[i];
        if (t < 0)
            continue;
        if ((pass->reads | pass->writes) >> i & 1)
            call->value[i] = run->value[operand_slot(run, op, t, false, micro, pass->backward)];
        bool wanted = pass->writes_grad >> i & 1 && run->graph->tensors[t].needs_grad;
        if (wanted || pass->reads_grad >> i & 1)
            call->grad[i] = run->grad[operand_slot(run, op, t, true, micro, pass->backward)];
        needed |= wanted;
    }
    return needed;
}

static void run_passes(const struct unsplit_run *run, int op, int micro, bool backward)
{
    const struct hypar_graph *g = run->graph;
    struct split whole = { .degree = { 0 } };
    int n_micro = run->settings.micro_batches;
    int batch = delayed(run) ? (run->step - 1) * n_micro + micro + 1 : run->step;
    struct kernel_call call = {
        .nest = g->ops[op].nest,
        .real = run->real,
        .samples = delayed(run) ? (struct range){ 0, g->batch }
                                : hp_even_part(g->batch, n_micro, micro),
        .inference = run->settings.forward,
        .key = hp_draw_key(run->settings.seed, batch, op),
    };
    uint32_t inference = hp_inference_passes(g, &g->ops[op]);
    if (!hp_micro_ranges(g, op, &whole, 0, call.samples, call.range))
        return;
    for (call.pass = 0; call.pass < call.nest->n_passes; call.pass++) {
        if (call.nest->pass[call.pass].backward != backward ||
            (run->settings.forward && !(inference >> call.pass & 1)))
            continue;
        memset(call.value, 0, sizeof call.value);
        memset(call.grad, 0, sizeof call.grad);
        if (bind_views(run, op, micro, &call)) {
            hp_kernel(run->kernels, &call);
            hp_kernel_add_after(run->kernels, &call);
            int o = hp_running_operand(g, &g->ops[op], call.pass);
            if (o >= 0 && !run->settings.forward)
                hp_move_running(&call, o, &run->running[g->ops[op].tensor[o]]);
        }
    }
}

/* Rounding errors, or exaggerated ones: the output of an operator is changed a little. */
static void add_noise(const struct unsplit_run *run, int op, int micro)
{
    const struct op *o = &run->graph->ops[op];
    struct random random = { hp_draw_key(run->settings.seed, run->step, op) };
    for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++) {
        const struct view *view = &run->value[slot(run, o->tensor[i], micro)];
        int64_t n =
            o->nest->operand[i].role == OPERAND_OUTPUT ? hp_box_elements(&view->box) : 0;
        for (int64_t k = 0; k < n; k++) {
            double factor = 1 + run->settings.noise * (2 * hp_random_unit(&random) - 1);
            double value = factor * hp_get(view->data, k, run->real);
            if (run->settings.rounds)
                value = hp_bf16_number(hp_bf16_bits((float)value));
            hp_put(view->data, k, value, run->real);
        }
    }
}

static void run_micro(const struct unsplit_run *run, int micro)
{
    const struct hypar_graph *g = run->graph;
    for (int op = 0; op < g->n_ops; op++) {
        run_passes(run, op, micro, false);
        if (run->settings.noise > 0 || run->settings.rounds)
            add_noise(run, op, micro);
    }
    if (run->settings.forward)
        return;
    hp_put(run->grad[slot(run, g->loss, micro)].data, 0, 1, run->real); /* dL/dL */
    for (int op = g->n_ops - 1; op >= 0; op--)
        run_passes(run, op, micro, true);
}

/* Compute the next value of a parameter from its gradient; `number` counts updates from 1. An
 * untrained parameter does not change: weight decay does not apply to it. */
static void update(struct unsplit_run *run, int t, int number, double scale,
                   const struct view *old, const struct view *new, const struct view *gradient)
{
    const struct optimizer *optimizer = &run->settings.optimizer;
    if (new != old)
        hp_view_copy(new, old, &new->box, hp_real_bytes(run->real));
    if (!run->graph->tensors[t].needs_grad)
        return;
    hp_update_at(optimizer, &(struct update_step){ number, optimizer->learning_rate, scale },
                 hp_box_elements(&new->box), run->real, new->data, gradient->data,
                 &run->state[t]);
}

double unsplit_run_scale(const struct unsplit_run *run)
{
    const struct hypar_graph *g = run->graph;
    double sum = 0;
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensors[t].kind == TENSOR_PARAM && g->tensors[t].needs_grad)
            sum += hp_sum_of_squares(hp_box_elements(&run->grad[t].box), run->real,
                                     run->grad[t].data);
    return hp_clip_scale(sum, run->settings.clip);
}

/* Update the parameters of the stages for which minibatch `micro` ends a period. */
static void end_periods(struct unsplit_run *run, int micro)
{
    const struct delayed_updates *d = delayed(run);
    const struct hypar_graph *g = run->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        if (g->tensors[t].kind != TENSOR_PARAM || g->use_start[t] == g->use_start[t + 1])
            continue;
        int turns = d->pipe.replicas[d->stage_of_op[g->use[g->use_start[t]].op]];
        int period = micro / turns, periods = run->settings.micro_batches / turns;
        if ((micro + 1) % turns)
            continue;
        update(run, t, (run->step - 1) * periods + period + 1, 1,
               &run->value[slot(run, t, period)], &run->value[slot(run, t, period + 1)],
               &run->grad[slot(run, t, period)]);
        if (period == periods - 1) { /* the next window begins with it */
            struct view first = run->value[slot(run, t, 0)];
            run->value[slot(run, t, 0)] = run->value[slot(run, t, periods)];
            run->value[slot(run, t, periods)] = first;
        }
    }
}

void unsplit_run_step(struct unsplit_run *run)
{
    run->step++;
    clear(run);
    for (int m = 0; m < run->settings.micro_batches; m++) {
        run_micro(run, m);
        if (delayed(run) && !run->settings.forward)
            end_periods(run, m);
    }
    if (run->settings.forward)
        return;
    double scale = delayed(run) ? 1 : unsplit_run_scale(run);
    for (int t = 0; !delayed(run) && t < run->graph->n_tensors; t++)
        if (run->graph->tensors[t].kind == TENSOR_PARAM)
            update(run, t, run->step, scale, &run->value[t], &run->value[t], &run->grad[t]);
}
