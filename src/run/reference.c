#include "run/reference.h"

#include <string.h>

#include "base/random.h"

struct reference_run {
    struct arena arena;
    const struct hypar_graph *graph;
    struct reference_settings settings;
    enum real real;
    int step;
    /* [micro * n_tensors + tensor]; parameters and inputs are those of micro-batch 0 */
    struct view *value, *grad;
    struct optimizer_state *state; /* by tensor */
};

uint64_t hp_draw_key(uint64_t seed, int step, int op)
{
    struct random random = { seed };
    random.state ^= hp_random_u64(&random) + (uint64_t)step;
    random.state ^= hp_random_u64(&random) + (uint64_t)op;
    return hp_random_u64(&random);
}

static bool given(const struct tensor *t)
{
    return t->kind == TENSOR_PARAM || t->kind == TENSOR_INPUT;
}

static int slot(const struct reference_run *run, int t, int micro)
{
    return (given(&run->graph->tensors[t]) ? 0 : micro) * run->graph->n_tensors + t;
}

const struct view *hp_reference_view(const struct reference_run *run, struct place place,
                                     int micro)
{
    return &(place.grad ? run->grad : run->value)[slot(run, place.tensor, micro)];
}

double hp_reference_loss(const struct reference_run *run)
{
    double loss = 0;
    for (int m = 0; m < run->settings.micro_batches; m++)
        loss += hp_get(run->value[slot(run, run->graph->loss, m)].data, 0, run->real);
    return loss;
}

static struct view new_view(struct reference_run *run, int t)
{
    const struct hypar_shape *shape = &run->graph->tensors[t].shape;
    return (struct view){ NEW(&run->arena, double, hp_shape_elements(shape)),
                          hp_shape_box(shape) };
}

struct reference_run *hp_reference_new(const struct hypar_graph *graph,
                                       const struct run_data *data,
                                       const struct reference_settings *settings)
{
    struct arena arena = { 0 };
    struct reference_run *run = NEW(&arena, struct reference_run, 1);
    run->arena = arena;
    run->graph = graph;
    run->settings = *settings;
    run->real = data->real;
    run->value = NEW(&run->arena, struct view, settings->micro_batches * graph->n_tensors);
    run->grad = NEW(&run->arena, struct view, settings->micro_batches * graph->n_tensors);
    run->state = NEW(&run->arena, struct optimizer_state, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++) {
        const struct tensor *info = &graph->tensors[t];
        for (int m = 0; m < (given(info) ? 1 : settings->micro_batches); m++) {
            run->value[slot(run, t, m)] = new_view(run, t);
            run->grad[slot(run, t, m)] = new_view(run, t);
        }
        if (given(info))
            hp_view_copy(&run->value[t], &data->tensor[t], &data->tensor[t].box,
                         hp_tensor_element_bytes(graph, t, run->real));
        for (int i = 0; info->kind == TENSOR_PARAM && i < HP_MAX_STATE; i++)
            run->state[t].array[i] = new_view(run, t).data;
    }
    return run;
}

void hp_reference_free(struct reference_run *run)
{
    if (!run)
        return;
    struct arena arena = run->arena; /* the run lives in it */
    hp_arena_free(&arena);
}

/* Kernels add: what is written starts at the neutral element of its combination. */
static void clear(struct reference_run *run)
{
    const struct hypar_graph *g = run->graph;
    for (int op = 0; op < g->n_ops; op++)
        for (int o = g->ops[op].nest->n_inputs; o < g->ops[op].nest->n_operands; o++)
            for (int m = 0; m < run->settings.micro_batches; m++)
                hp_view_clear(&run->value[slot(run, g->ops[op].tensor[o], m)],
                              g->ops[op].nest->operand[o].combine, run->real);
    for (int i = 0; i < run->settings.micro_batches * g->n_tensors; i++)
        if (run->grad[i].data)
            hp_view_clear(&run->grad[i], COMBINE_SUM, run->real);
}

/* Give the pass its views; false: it writes nothing that is needed. */
static bool bind_views(const struct reference_run *run, int op, int micro,
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
            call->value[i] = run->value[slot(run, t, micro)];
        bool wanted = pass->writes_grad >> i & 1 && run->graph->tensors[t].needs_grad;
        if (wanted || pass->reads_grad >> i & 1)
            call->grad[i] = run->grad[slot(run, t, micro)];
        needed |= wanted;
    }
    return needed;
}

static void run_passes(const struct reference_run *run, int op, int micro, bool backward)
{
    const struct hypar_graph *g = run->graph;
    struct split whole = { .degree = { 0 } };
    struct kernel_call call = {
        .nest = g->ops[op].nest,
        .real = run->real,
        .samples = hp_even_part(g->batch, run->settings.micro_batches, micro),
        .key = hp_draw_key(run->settings.seed, run->step, op),
    };
    if (!hp_micro_ranges(g, op, &whole, 0, call.samples, call.range))
        return;
    for (call.pass = 0; call.pass < call.nest->n_passes; call.pass++) {
        if (call.nest->pass[call.pass].backward != backward)
            continue;
        memset(call.value, 0, sizeof call.value);
        memset(call.grad, 0, sizeof call.grad);
        if (bind_views(run, op, micro, &call)) {
            hp_kernel(&call);
            hp_kernel_add_after(&call);
        }
    }
}

/* Rounding errors, exaggerated: what an operator wrote is a little off. */
static void add_noise(const struct reference_run *run, int op, int micro)
{
    const struct op *o = &run->graph->ops[op];
    struct random random = { hp_draw_key(run->settings.seed, run->step, op) };
    for (int i = o->nest->n_inputs; i < o->nest->n_operands; i++) {
        const struct view *view = &run->value[slot(run, o->tensor[i], micro)];
        int64_t n =
            o->nest->operand[i].role == OPERAND_OUTPUT ? hp_box_elements(&view->box) : 0;
        for (int64_t k = 0; k < n; k++) {
            double factor = 1 + run->settings.noise * (2 * hp_random_unit(&random) - 1);
            hp_put(view->data, k, factor * hp_get(view->data, k, run->real), run->real);
        }
    }
}

static void run_micro(const struct reference_run *run, int micro)
{
    const struct hypar_graph *g = run->graph;
    for (int op = 0; op < g->n_ops; op++) {
        run_passes(run, op, micro, false);
        if (run->settings.noise > 0)
            add_noise(run, op, micro);
    }
    hp_put(run->grad[slot(run, g->loss, micro)].data, 0, 1, run->real); /* dL/dL */
    for (int op = g->n_ops - 1; op >= 0; op--)
        run_passes(run, op, micro, true);
}

void hp_reference_step(struct reference_run *run)
{
    run->step++;
    clear(run);
    for (int m = 0; m < run->settings.micro_batches; m++)
        run_micro(run, m);
    for (int t = 0; t < run->graph->n_tensors; t++)
        if (run->graph->tensors[t].kind == TENSOR_PARAM)
            hp_update(&run->settings.optimizer, run->step,
                      hp_shape_elements(&run->graph->tensors[t].shape), run->real,
                      run->value[t].data, run->grad[t].data, &run->state[t]);
}
