/* Computing: one pass of an operator's part, with its operands in the rank's buffers. */
#include "run/exec/state.h"

#include <string.h>

#include "run/draw_key.h"
#include "run/running.h"

/* Lasting buffers hold the whole; a model input without samples may be read along the
 * samples. */
static int64_t offset_in(const struct rank_operand *o, const struct box *box)
{
    int64_t at = o->view.at.offset;
    for (int d = 0; d < box->n_dims; d++)
        at += (box->dim[d].lo - o->view.box.dim[d].lo) * o->view.at.stride[d];
    return at;
}

static bool lasts(const struct executor *x, struct place place)
{
    return hp_held_lasts(&x->rank->buffers.held, x->graph, x->program->iteration->forward,
                         place);
}

static struct view view_of(const struct pass_run *r, const struct rank_operand *o)
{
    struct executor *x = r->x;
    struct view view = { .box = o->view.box };
    int buffer = o->view.buffer;
    if (buffer < 0) /* an empty box, or the gradient of the loss */
        return hp_dense_view(x->one, &view.box);
    bool param = buffer < x->rank->buffers.first[0] && x->versions[buffer].n > 0;
    char *data = param
                     ? hp_param_data(x, buffer, o->place.tensor, r->m->micro, r->pass->backward)
                     : hp_buffer_data(x, r->m, buffer);
    int64_t offset = o->view.at.offset;
    if (!lasts(x, o->place)) {
        view.box = hp_micro_box(x->program, o->place.tensor, &view.box, r->m->micro);
    } else {
        view.box = hp_region(r->call.nest, o->operand, r->call.range);
        offset = offset_in(o, &view.box);
    }
    view.data = data + (size_t)offset * hp_buffer_element_bytes(x, buffer);
    memcpy(view.stride, o->view.at.stride, sizeof view.stride);
    return view;
}

/* Reading ---------------------------------------------------------------------------- */

static enum hypar_status check_read(const struct pass_run *r, int task,
                                    const struct rank_operand *o, const struct view *view)
{
    struct executor *x = r->x;
    struct place place = o->place;
    TRY(hp_check_known(x, r->m, task, place, view));
    if (!x->settings.observe)
        return HYPAR_OK;
    char text[128];
    struct view readable = hp_readable(x, place, view);
    struct reading reading = { x->rank->device, r->m->micro, place, &readable };
    enum hypar_status status = x->settings.observe(x->settings.who, &reading, &x->error);
    hp_release_readable(x, place, &readable);
    return hp_in(&x->error, status, "%s", hp_task_where(x, r->m, task, text, sizeof text));
}

/* Writing ---------------------------------------------------------------------------- */

static enum combine combine_of(const struct pass_run *r, const struct rank_operand *o)
{
    return o->place.grad ? COMBINE_SUM : r->call.nest->operand[o->operand].combine;
}

/* Does the pass overwrite its output: is it the first to write, in a period's first
 * micro-batch? */
static bool is_fresh(const struct pass_run *r, const struct rank_operand *o)
{
    const struct executor *x = r->x;
    int buffer = o->view.buffer;
    if (buffer < 0 || !o->fresh || x->rank->clear[buffer])
        return false;
    bool sum = buffer < x->rank->buffers.first[0] && o->place.grad;
    return !sum || x->program->iteration->delayed || r->m->micro == 0;
}

static void place_written(struct pass_run *r, const struct rank_operand *o, struct view *view)
{
    bool latest = r->x->settings.order == ORDER_LATEST;
    bool fresh = o->apart || (!latest && is_fresh(r, o));
    if (o->apart) {
        size_t bytes = (size_t)(hp_box_elements(&view->box) + 1) * sizeof(double);
        r->apart[r->n_apart] = hp_dense_view(hp_new_array(r->x, bytes), &view->box);
        r->operand[r->n_apart] = (int)(o - r->pass->operand);
        *view = r->apart[r->n_apart++];
    } else if (latest) {
        hp_make_neutral(r->x, o->place, view, combine_of(r, o));
    }
    if (fresh && o->place.grad)
        r->call.fresh_grad |= (operand_set)1 << o->operand;
    else if (fresh)
        r->call.fresh |= (operand_set)1 << o->operand;
}

/* Copy the boxes that the rank needs out of a result that was computed separately. */
static void take_over(struct pass_run *r)
{
    struct executor *x = r->x;
    for (int i = 0; i < r->n_apart; i++) {
        const struct rank_operand *o = &r->pass->operand[r->operand[i]];
        struct place place = o->place;
        struct view to = view_of(r, o);
        for (int k = 0; k < o->n_taken; k++) {
            struct box box = o->taken[k];
            if (!lasts(x, place))
                box = hp_micro_box(x->program, o->place.tensor, &box, r->m->micro);
            struct view piece =
                hp_view_piece(&to, &box, hp_real_bytes(hp_place_real(x, place)));
            if (x->settings.order == ORDER_LATEST)
                hp_make_neutral(x, place, &piece, combine_of(r, o));
            x->backend->combine(x->backend, &piece, &r->apart[i], combine_of(r, o),
                                hp_place_real(x, place));
        }
        x->backend->array_free(x->backend, r->apart[i].data);
    }
}

/* Passes ----------------------------------------------------------------------------- */

static void *workspace(struct executor *x, size_t bytes)
{
    if (bytes > x->workspace_bytes) {
        x->backend->array_free(x->backend, x->workspace);
        x->workspace = hp_new_array(x, bytes);
        x->workspace_bytes = bytes;
        x->counts.workspace_bytes = (double)bytes;
    }
    return x->workspace;
}

static void begin(struct pass_run *r, const struct rank_pass *pass)
{
    const struct executor *x = r->x;
    struct kernel_call *call = &r->call;
    call->nest = x->graph->ops[pass->op].nest;
    call->pass = pass->pass;
    call->real = x->settings.real;
    call->samples = hp_micro_samples(x->program, r->m->micro);
    call->inference = x->program->iteration->forward;
    call->key = hp_draw_key(x->settings.seed, (int)hp_batch_of(x, r->m->micro) + 1, pass->op);
    hp_micro_ranges(x->graph, pass->op, &x->program->plan->ops[pass->op].split, pass->part,
                    call->samples, call->range);
    if (pass->own_statistics)
        call->samples = call->range[hp_nest_axis(call->nest, 'n')];
}

static void place_mask(struct pass_run *r, const struct rank_pass *pass)
{
    const struct held_view *v = &pass->mask;
    if (v->buffer < 0)
        return;
    int tensor = r->x->rank->buffers.buffer[v->buffer].place.tensor;
    struct box box = hp_micro_box(r->x->program, tensor, &v->box, r->m->micro);
    r->call.mask = hp_dense_view(hp_buffer_data(r->x, r->m, v->buffer), &box);
}

static enum hypar_status add_pass(struct pass_run *r, int task, const struct rank_pass *pass)
{
    struct executor *x = r->x;
    r->pass = pass;
    r->call.passes |= (pass_set)1 << pass->pass;
    r->call.add_after |= pass->adds;
    place_mask(r, pass);
    for (int i = 0; i < pass->n_operands; i++) {
        const struct rank_operand *o = &pass->operand[i];
        struct view view = view_of(r, o);
        if (!o->written && x->settings.check && view.data)
            TRY(check_read(r, task, o, &view));
        *(o->place.grad ? &r->call.grad[o->operand] : &r->call.value[o->operand]) = view;
        if (hp_place_real(x, o->place) == REAL_BF16)
            *(o->place.grad ? &r->call.narrow_grad : &r->call.narrow) |= (operand_set)1
                                                                         << o->operand;
    }
    for (int i = 0; i < pass->n_operands; i++) {
        const struct rank_operand *o = &pass->operand[i];
        if (o->written)
            place_written(
                r, o, o->place.grad ? &r->call.grad[o->operand] : &r->call.value[o->operand]);
    }
    return HYPAR_OK;
}

bool hp_may_join(const struct executor *x, const struct rank_pass *first,
                 const struct rank_pass *pass)
{
    const struct nest *nest = x->graph->ops[first->op].nest;
    if (x->settings.check || pass->op != first->op || pass->part != first->part ||
        pass->again != first->again ||
        !(x->backend->joint(x->backend, nest, first->pass) >> pass->pass & 1))
        return false;
    for (int i = 0; i < pass->n_operands; i++)
        if (pass->operand[i].apart)
            return false;
    return true;
}

static bool writes_loss(const struct executor *x, const struct rank_pass *pass)
{
    for (int i = 0; i < pass->n_operands; i++)
        if (pass->operand[i].written && !pass->operand[i].place.grad &&
            pass->operand[i].place.tensor == x->graph->loss)
            return true;
    return false;
}

/* Leave out samples that do not count for the loss. False: none is left. */
static bool leave_out(struct pass_run *r)
{
    const struct iteration *it = r->x->program->iteration;
    const struct nest *nest = r->call.nest;
    int64_t batch = r->x->graph->batch;
    int64_t left = r->x->counted - (it->delayed ? r->m->micro * batch : 0);
    for (int a = 0; a < nest->n_axes && left < batch; a++) {
        int64_t end = (left < 0 ? 0 : left) * (nest->axis[a].extent / batch);
        if (nest->axis[a].role == HYPAR_SAMPLE && r->call.range[a].hi > end)
            r->call.range[a].hi = end;
        if (nest->axis[a].role == HYPAR_SAMPLE && hp_range_empty(r->call.range[a]))
            return false;
    }
    return true;
}

/* Move running statistics towards those of the current samples. */
static void move_running(const struct pass_run *r, const struct rank_pass *pass)
{
    const struct held_view *v = &pass->running;
    if (v->buffer < 0)
        return;
    struct view running = { .data = (char *)r->x->lasting[v->buffer] +
                                    (size_t)v->at.offset * hp_real_bytes(r->call.real),
                            .box = v->box };
    memcpy(running.stride, v->at.stride, sizeof running.stride);
    r->x->backend->move_running(r->x->backend, &r->call, pass->running_operand, &running);
}

/* Add pieces of divided gradients when the last pass has written its part. */
static void add_pieces(struct executor *x, struct micro_state *m, int task,
                       const struct rank_pass *pass)
{
    const struct rank_part *part =
        &x->rank->body[hp_body_number(x->program->iteration, m->micro)];
    for (int i = 0; i < part->n_adds; i++)
        if (hp_writes_gradient(pass, part->add[i].tensor, &part->add[i].box) &&
            --m->left_writes[i] == 0)
            hp_add_piece(x, m, task, &part->add[i]);
}

/* Copy the kept result so that it can be sent again. */
static enum hypar_status copy_kept(struct pass_run *r, int task, const struct rank_pass *pass)
{
    struct executor *x = r->x;
    r->pass = pass;
    for (int i = 0; i + 1 < pass->n_operands; i += 2) { /* pairs: read, then written */
        struct view from = view_of(r, &pass->operand[i]);
        struct view to = view_of(r, &pass->operand[i + 1]);
        if (x->settings.check && from.data)
            TRY(check_read(r, task, &pass->operand[i], &from));
        x->backend->copy(x->backend, &to, &from,
                         hp_real_bytes(hp_place_real(x, pass->operand[i].place)));
    }
    return x->status;
}

/* Show the operands of the loss to the executor's owner. */
static void show_scores(const struct pass_run *r)
{
    const struct executor *x = r->x;
    const struct op *op = &x->graph->ops[r->pass->op];
    struct kernel_call call = r->call;
    for (int o = 0; o < call.nest->n_operands; o++)
        if (call.value[o].data)
            call.value[o] =
                hp_readable(x, (struct place){ .tensor = op->tensor[o] }, &r->call.value[o]);
    call.narrow = 0;
    x->settings.scored(x->settings.who, r->m->micro, &call);
    for (int o = 0; o < call.nest->n_operands; o++)
        hp_release_readable(x, (struct place){ .tensor = op->tensor[o] }, &call.value[o]);
}

enum hypar_status hp_compute(struct executor *x, struct micro_state *m, int task,
                             const struct rank_pass *const *pass, int n)
{
    struct pass_run *r = &x->pass_run;
    *r = (struct pass_run){ .x = x, .m = m };
    bool loss = false;
    begin(r, pass[0]);
    if (pass[0]->resend)
        return copy_kept(r, task, pass[0]);
    for (int i = 0; i < n; i++)
        loss |= writes_loss(x, pass[i]);
    if (loss && !leave_out(r))
        return x->status;
    for (int i = 0; i < n; i++)
        TRY(add_pass(r, task, pass[i]));
    r->call.workspace = workspace(x, x->backend->workspace(x->backend, &r->call));
    if (x->status != HYPAR_OK) /* of filling the inputs that the passes asked for, too */
        return x->status;
    x->backend->compute(x->backend, &r->call);
    for (int i = 0; i < n; i++)
        move_running(r, pass[i]);
    if (loss && x->settings.scored)
        show_scores(r);
    take_over(r);
    for (int i = 0; i < n; i++)
        add_pieces(x, m, task, pass[i]);
    return x->status;
}
