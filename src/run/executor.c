/* Running the tasks of one rank. */
#include "run/executor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "run/executor_state.h"
#include "run/reference.h"

/* Buffers ---------------------------------------------------------------------------- */

static size_t element_bytes(const struct executor *x, int buffer)
{
    return x->rank->is_index[buffer] ? sizeof(int32_t) : hp_real_bytes(x->settings.real);
}

size_t hp_buffer_bytes(const struct executor *x, int buffer)
{
    return (size_t)hp_buffer_elements(x->rank, buffer) * element_bytes(x, buffer);
}

void hp_count_bytes(struct executor *x, double bytes)
{
    x->counts.live_bytes += bytes;
    if (x->counts.live_bytes > x->counts.peak_bytes)
        x->counts.peak_bytes = x->counts.live_bytes;
}

static void make_unknown(const struct executor *x, int buffer, void *data)
{
    int64_t n = hp_buffer_elements(x->rank, buffer);
    for (int64_t i = 0; i < n; i++)
        if (x->rank->is_index[buffer])
            ((int32_t *)data)[i] = INT32_MIN;
        else
            hp_put(data, i, NAN, x->settings.real);
}

/* Kernels want their arrays aligned. */
static void *take(struct executor *x, int buffer)
{
    size_t bytes = hp_buffer_bytes(x, buffer);
    void *data = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!data)
        hypar_out_of_memory(bytes);
    hp_count_bytes(x, (double)bytes);
    if (x->settings.check)
        make_unknown(x, buffer, data);
    if (x->rank->clear[buffer]) {
        struct view view = hp_dense_view(data, &x->rank->buffers.buffer[buffer].box);
        hp_view_clear(&view, hp_buffer_combine(x, buffer), x->settings.real);
    }
    return data;
}

static void give_back(struct executor *x, int buffer, void **data)
{
    hp_count_bytes(x, -(double)hp_buffer_bytes(x, buffer));
    free(*data);
    *data = NULL;
}

/* How contributions to what a buffer holds are put together. */
enum combine hp_buffer_combine(const struct executor *x, int buffer)
{
    struct place place = x->rank->buffers.buffer[buffer].place;
    int d = x->rank->exchange_of[2 * place.tensor + place.grad];
    return d < 0 ? COMBINE_SUM : x->program->lowering->training.exchange[d].combine;
}

/* The number of the batch that a micro-batch is of, from 0 on over all runs. */
static int64_t batch_of(const struct executor *x, int micro)
{
    const struct iteration *it = x->program->iteration;
    return x->settings.first_batch +
           (it->delayed ? (int64_t)(x->step - 1) * it->n_micro + micro : x->step - 1);
}

static void fill_array(struct executor *x, int tensor, int state, int64_t batch,
                       const struct view *to)
{
    struct fill_request request = { tensor, state, batch };
    if (x->filled == HYPAR_OK)
        x->filled = x->settings.fill(x->settings.who, &request, to, &x->fill_error);
}

/* A model input is filled when it is first needed; what is wrong with it shows when the task
 * has run. */
static void fill_input(struct executor *x, struct micro_state *m, int buffer, void *data)
{
    const struct buffer *b = &x->rank->buffers.buffer[buffer];
    if (x->graph->tensors[b->place.tensor].kind != TENSOR_INPUT || b->place.grad)
        return;
    struct box box = hp_micro_box(x->program, b->place.tensor, &b->box, m->micro);
    struct view view = hp_dense_view(data, &box);
    fill_array(x, b->place.tensor, -1, batch_of(x, m->micro), &view);
}

void *hp_buffer_data(struct executor *x, struct micro_state *m, int buffer)
{
    if (buffer < x->rank->buffers.first[0])
        return x->lasting[buffer];
    void **data = &m->data[buffer - m->first];
    if (!*data) {
        *data = take(x, buffer);
        fill_input(x, m, buffer, *data);
    }
    return *data;
}

void hp_release_buffers(struct executor *x, struct micro_state *m, const int *buffer, int n)
{
    for (int i = 0; i < n; i++)
        if (--m->left[buffer[i] - m->first] == 0)
            give_back(x, buffer[i], &m->data[buffer[i] - m->first]);
}

/* Versions of parameters --------------------------------------------------------------- */

static int stage_of_tensor(const struct executor *x, int tensor)
{
    const struct use *use = &x->graph->use[x->graph->use_start[tensor]];
    return x->program->schedule->stage_of_op[use->op];
}

/* The version of a parameter that a pass uses; one that is not trained has no other. */
static int version_used(const struct executor *x, int tensor, int micro, bool backward)
{
    if (x->rank->exchange_of_tail[2 * tensor + 1] < 0)
        return 0;
    return hp_version_used(x->program->iteration, stage_of_tensor(x, tensor), micro, backward);
}

static void *param_data(const struct executor *x, int buffer, int version)
{
    const struct versions *v = &x->versions[buffer];
    return v->data[version % v->n];
}

/* Computing ---------------------------------------------------------------------------- */

static struct view view_of(struct pass_run *r, const struct rank_operand *o)
{
    struct executor *x = r->x;
    struct view view = { .box = o->view.box };
    int buffer = o->view.buffer;
    bool backward = r->call.nest->pass[r->call.pass].backward;
    if (buffer < 0) /* an empty box, or the gradient of the loss */
        return hp_dense_view(x->one, &view.box);
    bool param = buffer < x->rank->buffers.first[0] && x->versions[buffer].n > 0;
    char *data = param
                     ? param_data(x, buffer, version_used(x, o->tensor, r->m->micro, backward))
                     : hp_buffer_data(x, r->m, buffer);
    view.data = data + (size_t)o->view.at.offset * element_bytes(x, buffer);
    memcpy(view.stride, o->view.at.stride, sizeof view.stride);
    if (!hp_place_lasts(x->graph, (struct place){ o->tensor, o->grad }))
        view.box = hp_micro_box(x->program, o->tensor, &view.box, r->m->micro);
    return view;
}

/* Is all that is read there? */
static enum hypar_status check_known(struct pass_run *r, const struct rank_operand *o,
                                     const struct view *view, struct hypar_error *err)
{
    struct executor *x = r->x;
    bool index = x->graph->tensors[o->tensor].index && !o->grad;
    int64_t n = hp_box_elements(&view->box), unknown = 0;
    struct arena scratch = { 0 };
    void *all = NEW(&scratch, double, n + 1);
    struct view dense = hp_dense_view(all, &view->box);
    hp_view_copy(&dense, view, &view->box,
                 index ? sizeof(int32_t) : hp_real_bytes(x->settings.real));
    for (int64_t i = 0; i < n; i++)
        unknown += index ? ((int32_t *)all)[i] == INT32_MIN
                         : isnan(hp_get(all, i, x->settings.real)) != 0;
    hp_arena_free(&scratch);
    if (!unknown)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_RUNTIME,
                   "device %d, micro-batch %d: '%s' pass %d part %d lacks %lld of %lld of "
                   "%s'%s'",
                   x->rank->device, r->m->micro, x->graph->ops[r->pass->op].name, r->pass->pass,
                   r->pass->part, (long long)unknown, (long long)n,
                   o->grad ? "the gradient of " : "", x->graph->tensors[o->tensor].name);
}

/* Is a gradient to be overwritten: the first micro-batch of a period? */
static bool begins_period(const struct executor *x, int micro)
{
    return x->program->iteration->delayed || micro == 0;
}

static void place_written(struct pass_run *r, const struct rank_operand *o, struct view *view)
{
    struct executor *x = r->x;
    bool lasts = o->view.buffer >= 0 && o->view.buffer < x->rank->buffers.first[0];
    bool fresh = o->view.buffer >= 0 && o->fresh && !x->rank->clear[o->view.buffer] &&
                 (!lasts || !o->grad || begins_period(x, r->m->micro));
    if (o->apart) {
        int64_t n = hp_box_elements(&view->box);
        size_t bytes = (size_t)(n + 1) * sizeof(double);
        r->apart[r->n_apart] = hp_dense_view(malloc(bytes), &view->box);
        if (!r->apart[r->n_apart].data)
            hypar_out_of_memory(bytes);
        r->operand[r->n_apart] = (int)(o - r->pass->operand);
        *view = r->apart[r->n_apart++];
        fresh = true;
    }
    if (fresh && o->grad)
        r->call.fresh_grad |= (operand_set)1 << o->operand;
    else if (fresh)
        r->call.fresh |= (operand_set)1 << o->operand;
}

/* Of what was computed apart, take over what the rank needs. */
static void take_over(struct pass_run *r)
{
    struct executor *x = r->x;
    for (int i = 0; i < r->n_apart; i++) {
        const struct rank_operand *o = &r->pass->operand[r->operand[i]];
        struct view to = view_of(r, o);
        for (int k = 0; k < o->n_taken; k++) {
            struct box box = o->taken[k];
            if (!hp_place_lasts(x->graph, (struct place){ o->tensor, o->grad }))
                box = hp_micro_box(x->program, o->tensor, &box, r->m->micro);
            struct view piece = hp_view_piece(&to, &box, hp_real_bytes(x->settings.real));
            hp_view_combine(&piece, &r->apart[i],
                            o->grad ? COMBINE_SUM : r->call.nest->operand[o->operand].combine,
                            x->settings.real);
        }
        free(r->apart[i].data);
    }
}

static void *workspace(struct executor *x, size_t bytes)
{
    if (bytes > x->workspace_bytes) {
        free(x->workspace);
        x->workspace_bytes = (bytes + 63) / 64 * 64;
        x->workspace = aligned_alloc(64, x->workspace_bytes);
        if (!x->workspace)
            hypar_out_of_memory(bytes);
    }
    return x->workspace;
}

static enum hypar_status compute(struct executor *x, struct micro_state *m,
                                 const struct rank_pass *pass, struct hypar_error *err)
{
    struct pass_run *r = &x->pass_run;
    *r = (struct pass_run){ .x = x, .m = m, .pass = pass };
    r->call.nest = x->graph->ops[pass->op].nest;
    r->call.pass = pass->pass;
    r->call.real = x->settings.real;
    r->call.samples = hp_micro_samples(x->program, m->micro);
    r->call.key = hp_draw_key(x->settings.seed, (int)batch_of(x, m->micro) + 1, pass->op);
    r->call.add_after = pass->adds;
    hp_micro_ranges(x->graph, pass->op, &x->program->plan->ops[pass->op].split, pass->part,
                    r->call.samples, r->call.range);
    if (pass->own_statistics)
        r->call.samples = r->call.range[hp_nest_axis(r->call.nest, 'n')];
    for (int i = 0; i < pass->n_operands; i++) {
        const struct rank_operand *o = &pass->operand[i];
        struct view view = view_of(r, o);
        if (o->written)
            place_written(r, o, &view);
        else if (x->settings.check && view.data)
            TRY(check_known(r, o, &view, err));
        *(o->grad ? &r->call.grad[o->operand] : &r->call.value[o->operand]) = view;
    }
    r->call.workspace = workspace(x, hp_kernel_workspace(x->settings.kernels, &r->call));
    hp_kernel(x->settings.kernels, &r->call);
    take_over(r);
    return HYPAR_OK;
}

/* Updating ------------------------------------------------------------------------------- */

/* How many elements of both lie one after another. */
static int64_t dense_run(const struct held_view *a, const struct held_view *b)
{
    int64_t run = 1;
    for (int d = a->box.n_dims - 1; d >= 0; d--) {
        int64_t extent = a->box.dim[d].hi - a->box.dim[d].lo;
        if (extent > 1 && (a->at.stride[d] != run || b->at.stride[d] != run))
            break;
        run *= extent;
    }
    return run;
}

/* Where element `i` of a view lies in its buffer. */
static int64_t element_at(const struct held_view *v, int64_t i)
{
    int64_t at = v->at.offset;
    for (int d = v->box.n_dims - 1; d >= 0; d--) {
        int64_t extent = v->box.dim[d].hi - v->box.dim[d].lo;
        at += i % extent * v->at.stride[d];
        i /= extent;
    }
    return at;
}

static void *element_of(void *data, int64_t i, enum real real)
{
    return data ? (char *)data + (size_t)i * hp_real_bytes(real) : NULL;
}

/* Which update it is of a group of parameters, over all runs. */
static struct update_step update_step(const struct executor *x, int group, int period)
{
    const struct iteration *it = x->program->iteration;
    int64_t before = x->settings.first_batch / (it->delayed ? it->period[group] : 1);
    int64_t step = before + (int64_t)(x->step - 1) * hp_period_count(it, group) + period + 1;
    return (struct update_step){
        step, hp_learning_rate(&x->settings.rate, x->settings.optimizer.learning_rate, step), 1
    };
}

/* The period's version of a parameter, from the one before it. */
static void update(struct executor *x, const struct rank_update *u, int period)
{
    struct versions *v = &x->versions[u->param.buffer];
    void *old = v->data[period % v->n], *new = v->data[(period + 1) % v->n];
    int64_t n = hp_box_elements(&u->param.box), run = dense_run(&u->param, &u->gradient);
    enum real real = x->settings.real;
    const struct update_step at_step = update_step(x, u->group, period);
    for (int64_t i = 0; i < n; i += run) {
        int64_t at = element_at(&u->param, i);
        struct optimizer_state state = x->state[u->param.buffer];
        for (int k = 0; k < HP_MAX_STATE; k++)
            state.array[k] = element_of(state.array[k], at, real);
        if (new != old)
            memcpy(element_of(new, at, real), element_of(old, at, real),
                   (size_t)run * hp_real_bytes(real));
        hp_update_at(
            &x->settings.optimizer, &at_step, run, real, element_of(new, at, real),
            element_of(x->lasting[u->gradient.buffer], element_at(&u->gradient, i), real),
            &state);
    }
}

/* Tasks ---------------------------------------------------------------------------------- */

static bool comms_done(const struct micro_state *m, const struct rank_task *t)
{
    for (int i = 0; i < t->n_waits; i++)
        if (!m->comm_done[t->wait[i]])
            return false;
    return true;
}

static enum advance run_task(struct executor *x, struct micro_state *m,
                             const struct rank_part *part, const struct rank_task *t,
                             struct hypar_error *err)
{
    if (t->kind == TASK_COMM) {
        hp_post_comm(x, m, &part->comm[t->index], t->index);
        return ADVANCE_DONE;
    }
    if (!comms_done(m, t))
        return ADVANCE_WAITS;
    for (int i = t->index; i < t->index + t->n; i++) {
        if (t->kind == TASK_UPDATE) {
            update(x, &part->update[i], m->micro);
            continue;
        }
        const struct rank_pass *pass = &part->pass[i];
        if (!pass->moves_nothing && compute(x, m, pass, err) != HYPAR_OK)
            return ADVANCE_FAILED;
        if (x->filled != HYPAR_OK) {
            *err = x->fill_error;
            x->status = x->filled;
            return ADVANCE_FAILED;
        }
        hp_release_buffers(x, m, pass->buffer, pass->n_buffers);
    }
    return ADVANCE_DONE;
}

/* Slots ---------------------------------------------------------------------------------- */

static struct micro_state *begin_micro(struct executor *x, int micro)
{
    int b = hp_body_number(x->program->iteration, micro);
    const struct rank_part *part = &x->rank->body[b];
    struct micro_state *m = calloc(1, sizeof *m);
    int first = x->rank->buffers.first[b], n = x->rank->buffers.first[b + 1] - first;
    size_t bytes = sizeof *m;
    if (!m)
        hypar_out_of_memory(bytes);
    *m = (struct micro_state){ .micro = micro, .first = first, .n_buffers = n };
    m->data = calloc((size_t)n + 1, sizeof *m->data);
    m->left = malloc(((size_t)n + 1) * sizeof *m->left);
    m->comm_done = calloc((size_t)part->n_comms + 1, sizeof *m->comm_done);
    if (!m->data || !m->left || !m->comm_done)
        hypar_out_of_memory(bytes);
    memcpy(m->left, part->uses, (size_t)n * sizeof *m->left);
    x->micro[micro] = m;
    return m;
}

void hp_free_micro(struct executor *x, struct micro_state *m)
{
    for (int i = 0; i < m->n_buffers; i++)
        if (m->data[i])
            give_back(x, m->first + i, &m->data[i]);
    free(m->data);
    free(m->left);
    free(m->comm_done);
    free(m);
}

/* Gradients, or else the loss, that are added up from zero on. */
static void clear_sums(struct executor *x, bool gradients)
{
    for (int i = 0; i < x->rank->buffers.first[0]; i++)
        if (x->rank->clear[i] && x->rank->buffers.buffer[i].place.grad == gradients) {
            struct view view = hp_dense_view(x->lasting[i], &x->rank->buffers.buffer[i].box);
            hp_view_clear(&view, COMBINE_SUM, x->settings.real);
        }
}

/* Does the rank run this slot: a minibatch may be another replica's? */
static bool is_mine(const struct executor *x, const struct slot *slot)
{
    int b = hp_body_number(x->program->iteration, slot->micro);
    const struct rank_part *part = &x->rank->body[b];
    return slot->phase == PHASE_UPDATE || part->list[0].n + part->list[1].n > 0;
}

/* Where the rank's share of the loss is; NULL: it has none. */
static void *loss_data(const struct executor *x)
{
    struct box scalar = { .n_dims = 0 };
    int b = hp_find_buffer(&x->rank->buffers, x->graph, 0,
                           (struct place){ x->graph->loss, false }, &scalar);
    return b < 0 ? NULL : x->lasting[b];
}

/* The losses of the micro-batches of a period, which the next ones may have overwritten. */
static void add_losses(struct executor *x, int stage, int period)
{
    int n = x->program->iteration->period[hp_slot_group(x->program->iteration, stage)];
    double sum = 0;
    for (int m = period * n; m < (period + 1) * n; m++)
        sum += x->micro_loss[m];
    if (loss_data(x))
        hp_put(loss_data(x), 0, sum, x->settings.real);
}

static void enter_slot(struct executor *x, const struct slot *slot)
{
    bool backward = slot->phase == PHASE_BACKWARD;
    if (slot->phase == PHASE_UPDATE) {
        const struct rank_part *part = &x->rank->tail;
        struct micro_state *m = &x->tail;
        m->micro = slot->micro;
        add_losses(x, slot->stage, slot->micro);
        memset(m->comm_done, 0, (size_t)part->n_comms * sizeof *m->comm_done);
        x->part = part;
        x->list = &part->list[hp_slot_group(x->program->iteration, slot->stage)];
        x->now = m;
        return;
    }
    struct micro_state *m = backward ? x->micro[slot->micro] : begin_micro(x, slot->micro);
    x->part = &x->rank->body[hp_body_number(x->program->iteration, slot->micro)];
    x->list = &x->part->list[backward];
    x->now = m;
    if (!backward || begins_period(x, slot->micro))
        clear_sums(x, backward);
}

/* Kept until its messages are done. */
static bool leave_slot(struct executor *x, const struct slot *slot)
{
    void *loss = loss_data(x);
    double value = loss ? hp_get(loss, 0, x->settings.real) : 0;
    if (slot->phase == PHASE_UPDATE) {
        if (hp_comms_of(x, &x->tail))
            return false;
        x->loss[slot->micro] = value;
    } else if (slot->phase == PHASE_FORWARD) {
        x->micro_loss[slot->micro] = value;
    } else {
        x->now->over = true;
        if (!hp_comms_of(x, x->now))
            hp_free_micro(x, x->now);
        x->micro[slot->micro] = NULL;
    }
    return true;
}

enum advance hp_executor_advance(struct executor *x, struct hypar_error *err)
{
    const struct slot_list *slots = hp_slots_of(x->program->schedule, x->rank->device);
    const struct slot *slot = slots->slot;
    hp_progress(x);
    for (; x->slot < slots->n_slots; x->slot++) {
        if (!is_mine(x, &slot[x->slot]))
            continue;
        if (!x->list)
            enter_slot(x, &slot[x->slot]);
        for (; x->at < x->list->n; x->at++) {
            hp_progress(x);
            enum advance a = run_task(x, x->now, x->part, &x->list->task[x->at], err);
            if (a != ADVANCE_DONE)
                return a;
        }
        hp_progress(x);
        if (!leave_slot(x, &slot[x->slot]))
            return ADVANCE_WAITS;
        x->list = NULL;
        x->at = 0;
    }
    return x->n_active ? ADVANCE_WAITS : ADVANCE_DONE;
}

/* Steps ---------------------------------------------------------------------------------- */

/* The window is over: the newest version is the first of the next. */
static void first_versions(struct executor *x)
{
    const struct iteration *it = x->program->iteration;
    for (int i = 0; i < x->rank->buffers.first[0]; i++) {
        struct versions *v = &x->versions[i];
        int tensor = x->rank->buffers.buffer[i].place.tensor;
        if (v->n < 2 || x->rank->exchange_of_tail[2 * tensor + 1] < 0)
            continue;
        int group = hp_slot_group(it, stage_of_tensor(x, tensor));
        int newest = hp_period_count(it, group) % v->n;
        void *swap = v->data[0];
        v->data[0] = v->data[newest];
        v->data[newest] = swap;
    }
}

void hp_executor_begin(struct executor *x)
{
    if (x->step > 0)
        first_versions(x);
    x->step++;
    x->slot = x->at = 0;
    x->list = NULL;
}

enum hypar_status hp_executor_step(struct executor *x, struct hypar_error *err)
{
    hp_executor_begin(x);
    for (;;) {
        enum advance a = hp_executor_advance(x, err);
        if (a == ADVANCE_DONE)
            return HYPAR_OK;
        if (a == ADVANCE_FAILED)
            return x->status;
        x->transport.yield(x->transport.who);
    }
}

enum hypar_status hp_executor_status(const struct executor *x)
{
    return x->status;
}

bool hp_executor_loss(const struct executor *x, int period, double *loss)
{
    *loss = x->loss[period];
    return loss_data(x) != NULL;
}

void hp_executor_read(const struct executor *x, int tensor, int state, const struct box *box,
                      void *dense)
{
    struct held_view v = hp_rank_view(x->rank, 0, (struct place){ tensor, false }, box);
    const struct versions *versions = &x->versions[v.buffer];
    int group = hp_slot_group(x->program->iteration, stage_of_tensor(x, tensor));
    int newest = x->step ? hp_period_count(x->program->iteration, group) % versions->n : 0;
    char *data = state < 0 ? versions->data[newest] : x->state[v.buffer].array[state];
    size_t size = hp_real_bytes(x->settings.real);
    struct view from = { .data = data + (size_t)v.at.offset * size, .box = *box };
    struct view to = hp_dense_view(dense, box);
    memcpy(from.stride, v.at.stride, sizeof from.stride);
    hp_view_copy(&to, &from, box, size);
}

const struct rank *hp_executor_rank(const struct executor *x)
{
    return x->rank;
}

void *hp_executor_lasting(const struct executor *x, int buffer)
{
    return x->versions[buffer].n ? x->versions[buffer].data[0] : x->lasting[buffer];
}

struct executor_counts hp_executor_counts(const struct executor *x)
{
    return x->counts;
}

/* Making one ----------------------------------------------------------------------------- */

static void make_param(struct executor *x, int buffer)
{
    const struct buffer *b = &x->rank->buffers.buffer[buffer];
    struct versions *v = &x->versions[buffer];
    int64_t n = hp_buffer_elements(x->rank, buffer);
    bool trained = x->rank->exchange_of_tail[2 * b->place.tensor + 1] >= 0;
    v->n = trained
               ? hp_versions_kept(x->program->iteration, stage_of_tensor(x, b->place.tensor))
               : 1;
    v->data = NEW(&x->arena, void *, v->n);
    for (int i = 0; i < v->n; i++)
        v->data[i] = take(x, buffer);
    struct view view = hp_dense_view(v->data[0], &b->box);
    fill_array(x, b->place.tensor, -1, 0, &view);
    for (int i = 0; trained && i < hp_optimizer_states(x->settings.optimizer.kind); i++) {
        x->state[buffer].array[i] = NEW(&x->arena, double, n);
        hp_count_bytes(x, (double)hp_buffer_bytes(x, buffer));
        view.data = x->state[buffer].array[i];
        fill_array(x, b->place.tensor, i, 0, &view);
    }
}

static void make_lasting(struct executor *x)
{
    int n = x->rank->buffers.first[0];
    x->lasting = NEW(&x->arena, void *, n + 1);
    x->versions = NEW(&x->arena, struct versions, n + 1);
    x->state = NEW(&x->arena, struct optimizer_state, n + 1);
    for (int i = 0; i < n; i++) {
        const struct buffer *b = &x->rank->buffers.buffer[i];
        bool param = x->graph->tensors[b->place.tensor].kind == TENSOR_PARAM;
        if (param && !b->place.grad) {
            make_param(x, i);
            continue;
        }
        x->lasting[i] = take(x, i);
        struct view view = hp_dense_view(x->lasting[i], &b->box);
        if (x->graph->tensors[b->place.tensor].kind == TENSOR_INPUT)
            fill_array(x, b->place.tensor, -1, 0, &view);
    }
}

enum hypar_status hp_executor_new(struct executor **out, const struct hypar_program *program,
                                  int device, const struct executor_settings *settings,
                                  const struct transport *transport, struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct executor *x = NEW(&arena, struct executor, 1);
    *out = NULL;
    x->arena = arena;
    x->program = program;
    x->graph = program->plan->graph;
    x->settings = *settings;
    x->transport = *transport;
    hp_put(x->one, 0, 1, settings->real);
    enum hypar_status status = hp_rank_make(&x->rank, program, device, err);
    if (status != HYPAR_OK) {
        arena = x->arena;
        hp_arena_free(&arena);
        return status;
    }
    make_lasting(x);
    x->tag_turns = transport->most_tags / (x->rank->n_tags + 1);
    if (x->tag_turns < 1)
        x->tag_turns = 1;
    x->micro = NEW(&x->arena, struct micro_state *, program->iteration->n_micro);
    x->loss = NEW(&x->arena, double, program->iteration->n_micro + 1);
    x->micro_loss = NEW(&x->arena, double, program->iteration->n_micro + 1);
    x->tail.comm_done = NEW(&x->arena, bool, x->rank->tail.n_comms + 1);
    x->status = HYPAR_RUNTIME;
    if (x->filled != HYPAR_OK) {
        status = x->filled;
        *err = x->fill_error;
        hp_executor_free(x);
        return status;
    }
    *out = x;
    return HYPAR_OK;
}

void hp_executor_free(struct executor *x)
{
    if (!x)
        return;
    hp_drop_comms(x);
    for (int i = 0; i < x->program->iteration->n_micro; i++)
        if (x->micro[i])
            hp_free_micro(x, x->micro[i]);
    for (int i = 0; i < x->rank->buffers.first[0]; i++) {
        free(x->lasting[i]);
        for (int v = 0; v < x->versions[i].n; v++)
            free(x->versions[i].data[v]);
    }
    free(x->workspace);
    hp_rank_free(x->rank);
    struct arena arena = x->arena; /* it lives there */
    hp_arena_free(&arena);
}
