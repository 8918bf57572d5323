#include "run/interpret_state.h"

#include <stdio.h>
#include <string.h>

#include "run/reference.h"

const char *hp_instance_text(const struct interpreter *it, struct instance at, char *text,
                             size_t n)
{
    const struct task_list *list = hp_list_of(it, at.micro);
    const struct task *t = &list->task[at.task];
    char where[48] = "at the end";
    if (at.micro >= 0)
        snprintf(where, sizeof where, "in micro-batch %d", at.micro);
    else if (it->program->rhythm->delayed)
        snprintf(where, sizeof where, "in round %d", hp_round_at(at.micro));
    if (t->kind == TASK_COMPUTE)
        snprintf(text, n, "task %d %s: '%s' pass %d part %d", at.task, where,
                 it->graph->ops[t->op].name, t->pass, t->part);
    else
        snprintf(text, n, "task %d %s: %s of %s'%s'", at.task, where,
                 t->kind == TASK_UPDATE ? "update" : "comm",
                 t->kind == TASK_COMM && list->exchange[t->exchange].place.grad
                     ? "the gradient of "
                     : "",
                 it->graph->tensors[t->tensor].name);
    return text;
}

/* Making one ----------------------------------------------------------------------- */

static int *index_exchanges(struct interpreter *it, const struct task_list *list)
{
    int *exchange_of = NEW(&it->arena, int, 2 * it->graph->n_tensors);
    for (int i = 0; i < 2 * it->graph->n_tensors; i++)
        exchange_of[i] = -1;
    for (int e = 0; e < list->n_exchanges; e++)
        exchange_of[2 * list->exchange[e].place.tensor + list->exchange[e].place.grad] = e;
    return exchange_of;
}

static void index_body(struct interpreter *it, int b)
{
    const struct task_list *list = &it->program->body[b].list;
    struct body_index *index = &it->body[b];
    index->exchange_of = index_exchanges(it, list);
    index->pass_task = NEW(&it->arena, int, it->graph->n_ops *MAX_PASSES);
    index->first_written = NEW(&it->arena, int, list->n_tasks + 1);
    for (int i = 0; i < it->graph->n_ops * MAX_PASSES; i++)
        index->pass_task[i] = -1;
    for (int t = 0; t < list->n_tasks; t++) {
        const struct task *task = &list->task[t];
        index->first_written[t] = index->n_written;
        if (task->kind != TASK_COMPUTE && task->kind != TASK_NONE)
            continue;
        const struct pass *pass = &it->graph->ops[task->op].nest->pass[task->pass];
        if (task->part == 0)
            index->pass_task[task->op * MAX_PASSES + task->pass] = t;
        index->n_written += hp_operand_count(pass->writes);
        index->n_written += hp_operand_count(pass->writes_grad);
    }
}

/* Rows for what micro-batches, rounds and versions have of their own. */
static void make_rows(struct interpreter *it)
{
    const struct rhythm *r = it->program->rhythm;
    it->n_micro = r->n_micro;
    for (int g = 0; g < r->n_groups; g++)
        it->n_rounds =
            hp_round_count(r, g) > it->n_rounds ? hp_round_count(r, g) : it->n_rounds;
    it->n_rows = it->n_micro + 1; /* versions: one more than rounds */
    it->kept = NEW(&it->arena, int, it->program->n_stages);
    for (int s = 0; s < it->program->n_stages; s++)
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
    it->real = data->real;
    it->n_devices = hypar_machine_device_count(it->plan->machine);
    make_rows(it);
    it->body = NEW(&it->arena, struct body_index, program->n_bodies);
    it->state = NEW(&it->arena, struct optimizer_state, it->n_devices * it->graph->n_tensors);
    for (int b = 0; b < program->n_bodies; b++)
        index_body(it, b);
    it->exchange_of_tail = index_exchanges(it, &program->tail);
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
static struct view *private_view(struct interpreter *it, const struct task *task, int micro,
                                 int o)
{
    const struct body *body = hp_body_of(it->program, micro);
    const struct op *op = &it->graph->ops[task->op];
    if (op->nest->operand[o].role != OPERAND_STAT)
        return NULL;
    int e = it->body[body - it->program->body].exchange_of[2 * op->tensor[o]];
    if (e < 0 || body->list.exchange[e].pattern->n_cells > 0)
        return NULL;
    int writer = body->list.exchange[e].writer_task[0] + task->part;
    return hp_written(it, micro, writer, o, false);
}

/* Computing ------------------------------------------------------------------------ */

/* The operand's array on the task's own device; all that the part reads of it must be known. */
static enum hypar_status read_operand(struct interpreter *it, struct instance at, int o,
                                      bool grad, struct kernel_call *call)
{
    const struct task *task = &hp_list_of(it, at.micro)->task[at.task];
    struct place place = { it->graph->ops[task->op].tensor[o], grad };
    struct box box = hp_region(call->nest, o, call->range);
    char text[128];
    if (place.tensor < 0)
        return HYPAR_OK;
    struct view *own = grad ? NULL : private_view(it, task, at.micro, o);
    if (own && own->data) {
        call->value[o] = *own;
        return HYPAR_OK;
    }
    struct view *held = hp_held(it, task->device, place, hp_row(it, place, at));
    if (!grad && it->graph->tensors[place.tensor].kind == TENSOR_PARAM)
        TRY(hp_check_version(it, at, task->device, place.tensor));
    if ((grad || !hp_is_given(it, place.tensor)) &&
        !hp_settle_own(it, place, at.micro, task->device, &box))
        return hp_fail(it->err, HYPAR_RUNTIME, "%s runs before what it reads of '%s'",
                       hp_instance_text(it, at, text, sizeof text),
                       it->graph->tensors[place.tensor].name);
    if (!hp_all_known(it, held, place.tensor, &box))
        return hp_fail(it->err, HYPAR_RUNTIME, "%s: device %d lacks some of %s'%s'",
                       hp_instance_text(it, at, text, sizeof text), task->device,
                       grad ? "the gradient of " : "", it->graph->tensors[place.tensor].name);
    *(grad ? &call->grad[o] : &call->value[o]) = *held;
    return HYPAR_OK;
}

/* Room for what the part contributes to the operand. */
static void open_written(struct interpreter *it, struct instance at, int o, bool grad,
                         struct kernel_call *call)
{
    const struct task *task = &hp_list_of(it, at.micro)->task[at.task];
    int t = it->graph->ops[task->op].tensor[o];
    if (t < 0 || (grad && !it->graph->tensors[t].needs_grad))
        return;
    struct view *view = hp_written(it, at.micro, at.task, o, grad);
    view->box = hp_region(call->nest, o, call->range);
    view->data = NEW(&it->scratch, double, hp_box_elements(&view->box) + 1);
    hp_view_clear(view, grad ? COMBINE_SUM : call->nest->operand[o].combine, it->real);
    *(grad ? &call->grad[o] : &call->value[o]) = *view;
}

/* The samples that a mean is over: the part's own if it keeps its statistics to itself. */
static struct range samples_of(struct interpreter *it, const struct task *task, int micro,
                               const struct kernel_call *call)
{
    int n = hp_nest_axis(call->nest, 'n');
    for (int o = 0; o < call->nest->n_operands; o++)
        if (private_view(it, task, micro, o))
            return call->range[n];
    return call->samples;
}

static enum hypar_status compute(struct interpreter *it, struct instance at)
{
    const struct task *task = &hp_list_of(it, at.micro)->task[at.task];
    const struct rhythm *r = it->program->rhythm;
    int batch = r->delayed ? (it->step - 1) * r->n_micro + at.micro + 1 : it->step;
    struct kernel_call call = {
        .nest = it->graph->ops[task->op].nest,
        .pass = task->pass,
        .real = it->real,
        .samples = hp_micro_samples(it->program, at.micro),
        .key = hp_draw_key(it->settings.seed, batch, task->op),
    };
    const struct pass *pass = &call.nest->pass[task->pass];
    operand_set reads = task->add_after ? pass->reads : pass->reads & ~pass->adds;
    hp_micro_ranges(it->graph, task->op, &it->plan->ops[task->op].split, task->part,
                    call.samples, call.range);
    call.samples = samples_of(it, task, at.micro, &call);
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
    hp_kernel(&call);
    if (task->add_after)
        hp_kernel_add_after(&call);
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
    const struct task *task = &it->program->tail.task[at.task];
    int round = hp_round_at(at.micro);
    struct view *w = hp_new_version(it, task->device, task->tensor, round + 1);
    struct place place = { task->tensor, true };
    char text[128];
    if (!hp_settle_own(it, place, at.micro, task->device, &w->box))
        return hp_fail(it->err, HYPAR_RUNTIME, "%s runs before the gradient",
                       hp_instance_text(it, at, text, sizeof text));
    const struct view *gradient = hp_held(it, task->device, place, round);
    TRY(check_gradient(it, at, w, gradient));
    struct optimizer_state *state =
        &it->state[task->device * it->graph->n_tensors + task->tensor];
    int64_t n = hp_box_elements(&w->box);
    for (int i = 0; i < HP_MAX_STATE; i++)
        if (!state->array[i])
            state->array[i] = NEW(&it->arena, double, n);
    int before =
        (it->step - 1) * hp_round_count(it->program->rhythm, it->program->tail_group[at.task]);
    hp_update(&it->settings.optimizer, before + round + 1, n, it->real, w->data, gradient->data,
              state);
    return HYPAR_OK;
}

enum hypar_status hp_run_task(struct interpreter *it, struct instance at)
{
    switch (hp_list_of(it, at.micro)->task[at.task].kind) {
    case TASK_COMPUTE:
        return compute(it, at);
    case TASK_COMM:
        return hp_run_comm(it, at);
    case TASK_UPDATE:
        return update(it, at);
    case TASK_NONE:
        break;
    }
    return HYPAR_OK;
}

/* Devices that have the loss by themselves, without communication, know it too. */
static bool settle_loss(struct interpreter *it)
{
    struct place loss = { it->graph->loss, false };
    struct box scalar = { .n_dims = 0 };
    int group = hp_slot_group(
        it->program, it->program->stage_of_op[it->graph->tensors[loss.tensor].producer]);
    for (int u = 0; u < hp_round_count(it->program->rhythm, group); u++)
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
    it->done = NEW(&it->scratch, bool *, it->n_micro + it->n_rounds);
    it->posting = NEW(&it->scratch, struct posting *, it->n_micro + it->n_rounds);
    for (int m = 0; m < it->n_micro + it->n_rounds; m++) {
        const struct task_list *list = hp_list_of(it, m < it->n_micro ? m : -1);
        it->done[m] = NEW(&it->scratch, bool, list->n_tasks);
        it->posting[m] = NEW(&it->scratch, struct posting, list->n_tasks);
        if (m < it->n_micro)
            it->written[m] =
                NEW(&it->scratch, struct view,
                    it->body[hp_body_of(it->program, m) - it->program->body].n_written);
    }
    TRY(hp_run_in_order(it));
    hp_first_versions(it);
    return settle_loss(it) ? HYPAR_OK : hp_fail(err, HYPAR_RUNTIME, "the loss is not computed");
}
