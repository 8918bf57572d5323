#include "run/interpret_state.h"

#include <stdio.h>
#include <string.h>

#include "run/reference.h"

const char *hp_instance_text(const struct interpreter *it, struct instance at, char *text,
                             size_t n)
{
    const struct hypar_program *p = it->program;
    char where[48] = "at the end", what[80];
    if (at.micro >= 0)
        snprintf(where, sizeof where, "in micro-batch %d", at.micro);
    else if (p->iteration->delayed)
        snprintf(where, sizeof where, "in update period %d", hp_period_at(at.micro));
    if (p->task[at.task].kind == TASK_COMPUTE)
        hp_task_text(p, at.task, what, sizeof what);
    else
        snprintf(what, sizeof what, "%s of %s'%.40s'",
                 p->task[at.task].kind == TASK_UPDATE ? "update" : "comm",
                 p->task[at.task].kind == TASK_COMM && hp_task_place(p, at.task).grad
                     ? "the gradient of "
                     : "",
                 it->graph->tensors[hp_task_place(p, at.task).tensor].name);
    snprintf(text, n, "task %d %s: %s", at.task, where, what);
    return text;
}

/* Making one ----------------------------------------------------------------------- */

/* The exchanges first .. first + n - 1 by what they settle. */
static int *index_exchanges(struct interpreter *it, int first, int n)
{
    const struct exchange *exchange = it->program->lowering->training.exchange;
    int *exchange_of = NEW(&it->arena, int, 2 * it->graph->n_tensors);
    for (int i = 0; i < 2 * it->graph->n_tensors; i++)
        exchange_of[i] = -1;
    for (int d = first; d < first + n; d++)
        exchange_of[2 * exchange[d].place.tensor + exchange[d].place.grad] = d;
    return exchange_of;
}

static void index_body(struct interpreter *it, int b)
{
    struct body_index *index = &it->body[b];
    index->order = hp_pass_order(it->program->blocks, b, &it->arena);
    index->first_written = NEW(&it->arena, int, index->order.n + 1);
    for (int i = 0; i < index->order.n; i++) {
        const struct op_pass *op_pass =
            &it->program->lowering->training.op_pass[index->order.at[i].op_pass];
        const struct pass *pass = &it->graph->ops[op_pass->op].nest->pass[op_pass->pass];
        index->first_written[i] = index->n_written;
        index->n_written += hp_operand_count(pass->writes);
        index->n_written += hp_operand_count(pass->writes_grad);
    }
}

/* Rows for what micro-batches, periods and versions have of their own. */
static void make_rows(struct interpreter *it)
{
    const struct iteration *r = it->program->iteration;
    it->n_micro = r->n_micro;
    for (int g = 0; g < r->n_groups; g++)
        it->n_periods =
            hp_period_count(r, g) > it->n_periods ? hp_period_count(r, g) : it->n_periods;
    it->n_rows = it->n_micro + 1; /* versions: one more than periods */
    it->kept = NEW(&it->arena, int, it->program->schedule->n_stages);
    for (int s = 0; s < it->program->schedule->n_stages; s++)
        it->kept[s] = hp_versions_kept(r, s);
    size_t places = (size_t)it->n_devices * (size_t)it->n_rows * (size_t)it->graph->n_tensors;
    it->held = NEW(&it->arena, struct view, 2 * places);
    it->version = NEW(&it->arena, int, places);
}

struct interpreter *hp_interpreter_new(const struct hypar_program *program,
                                       const struct run_data *data,
                                       const struct interpret_settings *settings)
{
    struct arena arena = { 0 };
    struct interpreter *it = NEW(&arena, struct interpreter, 1);
    it->arena = arena;
    it->program = program;
    it->plan = program->plan;
    it->graph = program->plan->graph;
    it->settings = *settings;
    it->kernels = hp_kernels_find("reference");
    it->real = data->real;
    it->n_devices = hypar_machine_device_count(it->plan->machine);
    make_rows(it);
    it->body = NEW(&it->arena, struct body_index, program->n_bodies);
    it->state = NEW(&it->arena, struct optimizer_state, it->n_devices * it->graph->n_tensors);
    for (int b = 0; b < program->n_bodies; b++)
        index_body(it, b);
    const struct training_graph *k = &program->lowering->training;
    it->exchange_of = index_exchanges(it, 0, k->n_exchanges);
    it->exchange_of_tail = index_exchanges(it, k->n_exchanges, k->n_tail);
    hp_place_data(it, data);
    return it;
}

void hp_interpreter_free(struct interpreter *it)
{
    if (!it)
        return;
    struct arena arena = it->arena, scratch = it->scratch; /* it lives in the first */
    hp_arena_free(&scratch);
    hp_arena_free(&arena);
}

/* Statistics that each part keeps to itself (batch norm's, where the program was lowered so):
 * nothing is exchanged, the part reads what it wrote. NULL: they are exchanged. */
static struct view *private_view(struct interpreter *it, const struct pass_at *pass, int o)
{
    const struct lowering *s = it->program->lowering;
    const struct op *op = &it->graph->ops[pass->op];
    if (op->nest->operand[o].role != OPERAND_STAT)
        return NULL;
    int b = hp_body_number(it->program->iteration, pass->at.micro);
    int d = it->exchange_of[2 * op->tensor[o]];
    if (d < 0 || s->body[b].pattern[d]->n_cells > 0)
        return NULL;
    const struct source *from = &s->training.exchange[d].writer[0];
    int op_pass = s->training.op_pass_of[from->op][from->pass];
    return hp_written(it, pass->at.micro, op_pass, pass->part, o, false);
}

/* Computing ------------------------------------------------------------------------ */

/* The operand's array on the pass's own device; all that the part reads of it must be known. */
static enum hypar_status read_operand(struct interpreter *it, const struct pass_at *pass, int o,
                                      bool grad, struct kernel_call *call)
{
    struct place place = { it->graph->ops[pass->op].tensor[o], grad };
    struct box box = hp_region(call->nest, o, call->range);
    char text[128];
    if (place.tensor < 0)
        return HYPAR_OK;
    struct view *own = grad ? NULL : private_view(it, pass, o);
    if (own && own->data) {
        call->value[o] = *own;
        return HYPAR_OK;
    }
    struct view *held = hp_held(it, pass->device, place, hp_row(it, place, pass));
    if (!grad && it->graph->tensors[place.tensor].kind == TENSOR_PARAM)
        TRY(hp_check_version(it, pass, place.tensor));
    if ((grad || !hp_is_given(it, place.tensor)) &&
        !hp_settle_own(it, place, pass->at.micro, pass->device, &box))
        return hp_fail(it->err, HYPAR_RUNTIME, "%s runs before what it reads of '%s'",
                       hp_instance_text(it, pass->at, text, sizeof text),
                       it->graph->tensors[place.tensor].name);
    if (!hp_all_known(it, held, place.tensor, &box))
        return hp_fail(it->err, HYPAR_RUNTIME, "%s: device %d lacks some of %s'%s'",
                       hp_instance_text(it, pass->at, text, sizeof text), pass->device,
                       grad ? "the gradient of " : "", it->graph->tensors[place.tensor].name);
    *(grad ? &call->grad[o] : &call->value[o]) = *held;
    return HYPAR_OK;
}

/* Room for what the part contributes to the operand. */
static void open_written(struct interpreter *it, const struct pass_at *pass, int o, bool grad,
                         struct kernel_call *call)
{
    int t = it->graph->ops[pass->op].tensor[o];
    int op_pass = it->program->lowering->training.op_pass_of[pass->op][pass->pass];
    if (t < 0 || (grad && !it->graph->tensors[t].needs_grad))
        return;
    struct view *view = hp_written(it, pass->at.micro, op_pass, pass->part, o, grad);
    struct box box = hp_region(call->nest, o, call->range);
    *view = hp_dense_view(NEW(&it->scratch, double, hp_box_elements(&box) + 1), &box);
    hp_view_clear(view, grad ? COMBINE_SUM : call->nest->operand[o].combine, it->real);
    *(grad ? &call->grad[o] : &call->value[o]) = *view;
}

/* The samples that a mean is over: the part's own if it keeps its statistics to itself. */
static struct range samples_of(struct interpreter *it, const struct pass_at *pass,
                               const struct kernel_call *call)
{
    int n = hp_nest_axis(call->nest, 'n');
    for (int o = 0; o < call->nest->n_operands; o++)
        if (private_view(it, pass, o))
            return call->range[n];
    return call->samples;
}

static struct pass_at pass_of(const struct interpreter *it, struct instance at, int op_pass)
{
    const struct op_pass *s = &it->program->lowering->training.op_pass[op_pass];
    const struct task *task = &it->program->task[at.task];
    return (struct pass_at){ at, s->op, s->pass, task->part, task->device };
}

static enum hypar_status compute_pass(struct interpreter *it, const struct pass_at *at)
{
    const struct iteration *r = it->program->iteration;
    int micro = at->at.micro;
    int batch = r->delayed ? (it->step - 1) * r->n_micro + micro + 1 : it->step;
    const struct part_layout *layout =
        it->program->lowering->body[hp_body_number(r, micro)].layout[at->op];
    struct kernel_call call = {
        .nest = it->graph->ops[at->op].nest,
        .pass = at->pass,
        .real = it->real,
        .samples = hp_micro_samples(it->program, micro),
        .key = hp_draw_key(it->settings.seed, batch, at->op),
    };
    const struct pass *pass = &call.nest->pass[at->pass];
    bool adds_after = hp_adds_after(layout, at->pass, at->part);
    operand_set reads = adds_after ? pass->reads : pass->reads & ~pass->adds;
    hp_micro_ranges(it->graph, at->op, &it->plan->ops[at->op].split, at->part, call.samples,
                    call.range);
    call.samples = samples_of(it, at, &call);
    for (int o = 0; o < call.nest->n_operands; o++) {
        if (reads >> o & 1)
            TRY(read_operand(it, at, o, false, &call));
        if (pass->reads_grad >> o & 1)
            TRY(read_operand(it, at, o, true, &call));
        if (pass->writes >> o & 1)
            open_written(it, at, o, false, &call);
        if (pass->writes_grad >> o & 1)
            open_written(it, at, o, true, &call);
    }
    hp_kernel(it->kernels, &call);
    if (adds_after)
        hp_kernel_add_after(it->kernels, &call);
    return HYPAR_OK;
}

static enum hypar_status compute(struct interpreter *it, struct instance at)
{
    int b = hp_body_number(it->program->iteration, at.micro);
    const int *next = it->program->blocks->next[b];
    for (int op_pass = it->program->task[at.task].index; op_pass >= 0;
         op_pass = next[op_pass]) {
        struct pass_at pass = pass_of(it, at, op_pass);
        TRY(compute_pass(it, &pass));
    }
    return HYPAR_OK;
}

/* Every element that the device holds of the parameter has its gradient by now. */
static enum hypar_status check_gradient(struct interpreter *it, struct instance at,
                                        const struct view *w, const struct view *gradient)
{
    int64_t n = hp_box_elements(&w->box);
    char text[128];
    for (int64_t i = 0; i < n; i++) {
        double value = hp_get(w->data, i, it->real), g = hp_get(gradient->data, i, it->real);
        if (value == value && g != g) /* known, and not known */
            return hp_fail(it->err, HYPAR_RUNTIME, "%s: the gradient is not there",
                           hp_instance_text(it, at, text, sizeof text));
    }
    return HYPAR_OK;
}

static enum hypar_status update(struct interpreter *it, struct instance at)
{
    const struct task *task = &it->program->task[at.task];
    int period = hp_period_at(at.micro);
    struct place place = hp_task_place(it->program, at.task);
    struct view *w = hp_new_version(it, task->device, place.tensor, period + 1);
    char text[128];
    if (!hp_settle_own(it, place, at.micro, task->device, &w->box))
        return hp_fail(it->err, HYPAR_RUNTIME, "%s runs before the gradient",
                       hp_instance_text(it, at, text, sizeof text));
    const struct view *gradient = hp_held(it, task->device, place, period);
    TRY(check_gradient(it, at, w, gradient));
    struct optimizer_state *state =
        &it->state[task->device * it->graph->n_tensors + place.tensor];
    int64_t n = hp_box_elements(&w->box);
    for (int i = 0; i < HP_MAX_STATE; i++)
        if (!state->array[i])
            state->array[i] = NEW(&it->arena, double, n);
    int group = hp_update_group(it->program, at.task);
    int before = (it->step - 1) * hp_period_count(it->program->iteration, group);
    hp_update(&it->settings.optimizer, before + period + 1, n, it->real, w->data,
              gradient->data, state);
    return HYPAR_OK;
}

enum hypar_status hp_run_task(struct interpreter *it, struct instance at)
{
    switch (it->program->task[at.task].kind) {
    case TASK_COMPUTE:
        return compute(it, at);
    case TASK_COMM:
        return hp_run_comm(it, at);
    case TASK_UPDATE:
        return update(it, at);
    }
    return HYPAR_OK;
}

/* Devices that have the loss by themselves, without communication, know it too. */
static bool settle_loss(struct interpreter *it)
{
    struct place loss = { it->graph->loss, false };
    struct box scalar = { .n_dims = 0 };
    int producer = it->graph->tensors[loss.tensor].producer;
    int group =
        hp_slot_group(it->program->iteration, it->program->schedule->stage_of_op[producer]);
    for (int u = 0; u < hp_period_count(it->program->iteration, group); u++)
        for (int d = 0; d < it->n_devices; d++)
            if (!hp_settle_own(it, loss, hp_tail_micro(u), d, &scalar))
                return false;
    return true;
}

enum hypar_status hp_interpret_step(struct interpreter *it, struct hypar_error *err)
{
    hp_forget_step(it);
    it->err = err;
    it->step++;
    it->written = NEW(&it->scratch, struct view *, it->n_micro);
    it->done = NEW(&it->scratch, bool *, it->n_micro + it->n_periods);
    it->posting = NEW(&it->scratch, struct posting *, it->n_micro + it->n_periods);
    for (int m = 0; m < it->n_micro + it->n_periods; m++) {
        struct range tasks = hp_tasks_of(it, m < it->n_micro ? m : -1);
        it->done[m] = NEW(&it->scratch, bool, tasks.hi - tasks.lo);
        it->posting[m] = NEW(&it->scratch, struct posting, tasks.hi - tasks.lo);
        if (m < it->n_micro)
            it->written[m] = NEW(&it->scratch, struct view,
                                 it->body[hp_body_number(it->program->iteration, m)].n_written);
    }
    TRY(hp_run_in_order(it));
    hp_first_versions(it);
    return settle_loss(it) ? HYPAR_OK : hp_fail(err, HYPAR_RUNTIME, "the loss is not computed");
}
