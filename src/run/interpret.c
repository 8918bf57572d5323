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
    else if (p->rhythm->delayed)
        snprintf(where, sizeof where, "in round %d", hp_round_at(at.micro));
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

/* The deals first .. first + n - 1 by what they settle. */
static int *index_deals(struct interpreter *it, int first, int n)
{
    const struct deal *deal = it->program->sketch->skeleton.deal;
    int *deal_of = NEW(&it->arena, int, 2 * it->graph->n_tensors);
    for (int i = 0; i < 2 * it->graph->n_tensors; i++)
        deal_of[i] = -1;
    for (int d = first; d < first + n; d++)
        deal_of[2 * deal[d].place.tensor + deal[d].place.grad] = d;
    return deal_of;
}

static void index_body(struct interpreter *it, int b)
{
    struct body_index *index = &it->body[b];
    index->order = hp_pass_order(it->program->blocks, b, &it->arena);
    index->first_written = NEW(&it->arena, int, index->order.n + 1);
    for (int i = 0; i < index->order.n; i++) {
        const struct step *step = &it->program->sketch->skeleton.step[index->order.at[i].step];
        const struct pass *pass = &it->graph->ops[step->op].nest->pass[step->pass];
        index->first_written[i] = index->n_written;
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
    it->real = data->real;
    it->n_devices = hypar_machine_device_count(it->plan->machine);
    make_rows(it);
    it->body = NEW(&it->arena, struct body_index, program->n_bodies);
    it->state = NEW(&it->arena, struct optimizer_state, it->n_devices * it->graph->n_tensors);
    for (int b = 0; b < program->n_bodies; b++)
        index_body(it, b);
    const struct skeleton *k = &program->sketch->skeleton;
    it->deal_of = index_deals(it, 0, k->n_deals);
    it->deal_of_tail = index_deals(it, k->n_deals, k->n_tail);
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
    const struct sketch *s = it->program->sketch;
    const struct op *op = &it->graph->ops[pass->op];
    if (op->nest->operand[o].role != OPERAND_STAT)
        return NULL;
    int b = hp_body_number(it->program->rhythm, pass->at.micro);
    int d = it->deal_of[2 * op->tensor[o]];
    if (d < 0 || s->body[b].pattern[d]->n_cells > 0)
        return NULL;
    const struct source *from = &s->skeleton.deal[d].writer[0];
    int step = s->skeleton.step_of[from->op][from->pass];
    return hp_written(it, pass->at.micro, step, pass->part, o, false);
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
    int step = it->program->sketch->skeleton.step_of[pass->op][pass->pass];
    if (t < 0 || (grad && !it->graph->tensors[t].needs_grad))
        return;
    struct view *view = hp_written(it, pass->at.micro, step, pass->part, o, grad);
    view->box = hp_region(call->nest, o, call->range);
    view->data = NEW(&it->scratch, double, hp_box_elements(&view->box) + 1);
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

struct pass_at hp_pass_at(const struct interpreter *it, struct instance at, int step)
{
    const struct step *s = &it->program->sketch->skeleton.step[step];
    const struct task *task = &it->program->task[at.task];
    return (struct pass_at){ at, s->op, s->pass, task->part, task->device };
}

static enum hypar_status compute_pass(struct interpreter *it, const struct pass_at *at)
{
    const struct rhythm *r = it->program->rhythm;
    int micro = at->at.micro;
    int batch = r->delayed ? (it->step - 1) * r->n_micro + micro + 1 : it->step;
    const struct part_layout *layout =
        it->program->sketch->body[hp_body_number(r, micro)].layout[at->op];
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
    hp_kernel(&call);
    if (adds_after)
        hp_kernel_add_after(&call);
    return HYPAR_OK;
}

static enum hypar_status compute(struct interpreter *it, struct instance at)
{
    int b = hp_body_number(it->program->rhythm, at.micro);
    const int *next = it->program->blocks->next[b];
    for (int step = it->program->task[at.task].index; step >= 0; step = next[step]) {
        struct pass_at pass = hp_pass_at(it, at, step);
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
    int round = hp_round_at(at.micro);
    struct place place = hp_task_place(it->program, at.task);
    struct view *w = hp_new_version(it, task->device, place.tensor, round + 1);
    char text[128];
    if (!hp_settle_own(it, place, at.micro, task->device, &w->box))
        return hp_fail(it->err, HYPAR_RUNTIME, "%s runs before the gradient",
                       hp_instance_text(it, at, text, sizeof text));
    const struct view *gradient = hp_held(it, task->device, place, round);
    TRY(check_gradient(it, at, w, gradient));
    struct optimizer_state *state =
        &it->state[task->device * it->graph->n_tensors + place.tensor];
    int64_t n = hp_box_elements(&w->box);
    for (int i = 0; i < HP_MAX_STATE; i++)
        if (!state->array[i])
            state->array[i] = NEW(&it->arena, double, n);
    int group = hp_update_group(it->program, at.task);
    int before = (it->step - 1) * hp_round_count(it->program->rhythm, group);
    hp_update(&it->settings.optimizer, before + round + 1, n, it->real, w->data, gradient->data,
              state);
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
        hp_slot_group(it->program->rhythm, it->program->schedule->stage_of_op[producer]);
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
        struct range tasks = hp_tasks_of(it, m < it->n_micro ? m : -1);
        it->done[m] = NEW(&it->scratch, bool, tasks.hi - tasks.lo);
        it->posting[m] = NEW(&it->scratch, struct posting, tasks.hi - tasks.lo);
        if (m < it->n_micro)
            it->written[m] = NEW(&it->scratch, struct view,
                                 it->body[hp_body_number(it->program->rhythm, m)].n_written);
    }
    TRY(hp_run_in_order(it));
    hp_first_versions(it);
    return settle_loss(it) ? HYPAR_OK : hp_fail(err, HYPAR_RUNTIME, "the loss is not computed");
}
