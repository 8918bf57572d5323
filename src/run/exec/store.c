/* The memory of a rank: buffers that come and go, lasting ones, and versions of parameters. */
#include "run/exec/state.h"

#include <math.h>
#include <string.h>

/* Buffers ---------------------------------------------------------------------------- */

void *hp_given(struct executor *x, void *data, size_t bytes)
{
    if (!data && x->status == HYPAR_OK)
        x->status = x->backend->status(x->backend, &x->error);
    if (!data && x->status == HYPAR_OK)
        x->status =
            hp_fail(&x->error, HYPAR_RUNTIME, "device %d: the %s has no room for %.0f bytes",
                    x->rank->device, x->backend->name, (double)bytes);
    return data;
}

void *hp_new_array(struct executor *x, size_t bytes)
{
    return hp_given(x, x->backend->array_new(x->backend, bytes), bytes);
}

enum real hp_place_real(const struct executor *x, struct place place)
{
    const struct tensor *t = &x->graph->tensors[place.tensor];
    bool index = t->index && !place.grad;
    return x->settings.narrow && !index && t->kind != TENSOR_STAT &&
                   hp_held_bytes(x->program->plan, place) == (int)sizeof(uint16_t)
               ? REAL_BF16
               : x->settings.real;
}

enum real hp_buffer_real(const struct executor *x, int buffer)
{
    return hp_place_real(x, x->rank->buffers.buffer[buffer].place);
}

size_t hp_buffer_element_bytes(const struct executor *x, int buffer)
{
    if (x->rank->buffers.buffer[buffer].mask)
        return 1;
    return x->rank->is_index[buffer] ? sizeof(int32_t)
                                     : hp_real_bytes(hp_buffer_real(x, buffer));
}

bool hp_in_order(const struct executor *x)
{
    return x->settings.order == ORDER_NUMBERS;
}

static void count_bytes(struct executor *x, double bytes)
{
    x->counts.live_bytes += bytes;
    if (x->counts.live_bytes > x->counts.peak_bytes)
        x->counts.peak_bytes = x->counts.live_bytes;
}

/* How contributions to a buffer are combined. */
static enum combine combine_of(const struct executor *x, int buffer)
{
    struct place place = x->rank->buffers.buffer[buffer].place;
    int d = x->rank->exchange_of[hp_place_index(place)];
    return d < 0 ? COMBINE_SUM : x->program->lowering->training.exchange[d].combine;
}

static void make_unknown(const struct executor *x, int buffer, void *data)
{
    int64_t n = hp_buffer_elements(x->rank, buffer);
    struct box all = { .n_dims = 1, .dim = { { 0, n } } };
    struct view unknown = hp_dense_view(hp_array_new(x->bytes[buffer]), &all);
    struct view to = hp_dense_view(data, &all);
    for (int64_t i = 0; i < n; i++)
        if (x->rank->buffers.buffer[buffer].mask)
            ((unsigned char *)unknown.data)[i] = UINT8_MAX; /* neither kept nor dropped */
        else if (x->rank->is_index[buffer])
            ((int32_t *)unknown.data)[i] = INT32_MIN;
        else
            hp_put(unknown.data, i, NAN, hp_buffer_real(x, buffer));
    hp_backend_put(x->backend, &to, &unknown, hp_buffer_element_bytes(x, buffer));
    hp_array_free(unknown.data);
}

static struct view all_of(const struct executor *x, int buffer, void *data)
{
    const struct buffer *b = &x->rank->buffers.buffer[buffer];
    return hp_inner_view(data, &b->box, b->inner);
}

/* The state of a buffer before anything is written. */
static void start(const struct executor *x, int buffer, void *data)
{
    if (x->settings.check)
        make_unknown(x, buffer, data);
    if (x->rank->clear[buffer]) {
        struct view view = all_of(x, buffer, data);
        x->backend->clear(x->backend, &view, combine_of(x, buffer), hp_buffer_real(x, buffer));
    }
}

/* The address of a micro-batch's buffer. */
static void *spot_of(const struct executor *x, const struct micro_state *m, int buffer)
{
    const struct spot *spot = &x->layout.spot[buffer];
    size_t at = spot->offset;
    switch (spot->region) {
    case REGION_LANE:
        at += x->lanes_at + x->layout.lanes_at[spot->stage] +
              (size_t)m->lane[spot->stage] * x->layout.lane_bytes[spot->stage];
        break;
    case REGION_COMMON:
        at += x->common_at;
        break;
    case REGION_OVER:
        at += x->over_at + (size_t)(x->slot % x->layout.n_over) * x->layout.over_bytes;
        break;
    }
    return x->memory + at;
}

static void *take(struct executor *x, int buffer, void *data)
{
    count_bytes(x, (double)x->bytes[buffer]);
    start(x, buffer, data);
    return data;
}

static void give_back(struct executor *x, struct micro_state *m, int buffer)
{
    count_bytes(x, -(double)x->bytes[buffer]);
    m->data[buffer - m->first] = NULL;
}

int64_t hp_batch_of(const struct executor *x, int micro)
{
    const struct iteration *it = x->program->iteration;
    return x->settings.first_batch +
           (it->delayed ? (int64_t)(x->step - 1) * it->n_micro + micro : x->step - 1);
}

/* The owner gives numbers of the run's precision. A master copy is filled as the parameter. */
static void fill_array(struct executor *x, int tensor, int state, int64_t batch,
                       const struct view *to)
{
    struct fill_request request = { tensor, state == HP_MASTER ? -1 : state, batch };
    size_t size = hp_tensor_element_bytes(x->graph, tensor, x->settings.real);
    size_t bytes = (size_t)hp_box_elements(&to->box) * size;
    enum real real =
        state >= 0 ? x->settings.real : hp_place_real(x, (struct place){ .tensor = tensor });
    bool in_place = x->backend->visible && real == x->settings.real;
    struct view own = *to;
    if (x->status != HYPAR_OK)
        return;
    if (!in_place)
        own = hp_dense_view(memset(hp_array_new(bytes), 0, bytes), &to->box);
    x->status = x->settings.fill(x->settings.who, &request, &own, &x->error);
    if (in_place)
        return;
    if (x->status == HYPAR_OK && x->graph->tensors[tensor].index)
        hp_backend_put(x->backend, to, &own, size);
    else if (x->status == HYPAR_OK)
        hp_backend_put_as(x->backend, to, real, &own, x->settings.real);
    hp_array_free(own.data);
}

/* Copy an input from its staging area (ahead.h), and request the next batch's input. */
static void take_input(struct executor *x, struct fill_request request, const struct view *to)
{
    size_t size = hp_tensor_element_bytes(x->graph, request.tensor, x->settings.real);
    enum real real = hp_place_real(x, (struct place){ .tensor = request.tensor });
    struct view from;
    if (x->status == HYPAR_OK)
        x->status = hp_ahead_take(x->inputs, &request, &to->box, size, &from, &x->error);
    if (x->status != HYPAR_OK)
        return;
    if (real == x->settings.real)
        x->backend->copy(x->backend, to, &from, size);
    else
        x->backend->convert(x->backend, to, real, &from, x->settings.real);
    request.batch++;
    if (!x->program->iteration->forward)
        hp_ahead_ask(x->inputs, &request, &to->box, size);
}

static void fill_input(struct executor *x, const struct micro_state *m, int buffer, void *data)
{
    const struct buffer *b = &x->rank->buffers.buffer[buffer];
    if (x->graph->tensors[b->place.tensor].kind != TENSOR_INPUT || b->place.grad)
        return;
    struct box box = hp_micro_box(x->program, b->place.tensor, &b->box, m->micro);
    struct view view = hp_inner_view(data, &box, b->inner);
    struct fill_request request = { b->place.tensor, -1, hp_batch_of(x, m->micro) };
    if (hp_box_empty(&box))
        return;
    if (x->inputs)
        take_input(x, request, &view);
    else
        fill_array(x, request.tensor, request.state, request.batch, &view);
}

/* A gathered parameter begins with the pieces that the rank owns. */
static void fill_owned(struct executor *x, int buffer, void *data)
{
    const struct buffer *b = &x->rank->buffers.buffer[buffer];
    size_t size = hp_real_bytes(hp_buffer_real(x, buffer));
    if (b->place.grad || x->graph->tensors[b->place.tensor].kind != TENSOR_PARAM)
        return;
    struct view all = hp_dense_view(data, &b->box);
    for (int i = 0; i < x->rank->n_owned; i++) {
        const struct owned_piece *own = &x->rank->owned[i];
        struct box box[MAX_FLAT_BOXES];
        if (own->place.tensor != b->place.tensor || own->place.grad ||
            !hp_box_contains(&b->box, &own->box))
            continue;
        char *from =
            (char *)x->versions[own->view.buffer].data[0] + (size_t)own->view.at.offset * size;
        int n = hp_flat_boxes(&own->box, own->elements.lo, own->elements.hi, box);
        for (int k = 0; k < n; k++) {
            struct view piece = hp_dense_view(from, &box[k]);
            struct view to = hp_view_piece(&all, &box[k], size);
            x->backend->copy(x->backend, &to, &piece, size);
            from += (size_t)hp_box_elements(&box[k]) * size;
        }
    }
}

void *hp_buffer_data(struct executor *x, struct micro_state *m, int buffer)
{
    if (buffer < x->rank->buffers.first[0]) {
        const struct versions *v = &x->versions[buffer]; /* the tail makes the next one */
        return v->n ? v->data[(m->micro + 1) % v->n] : x->lasting[buffer];
    }
    void **data = &m->data[buffer - m->first];
    if (!*data) {
        *data = take(x, buffer, spot_of(x, m, buffer));
        fill_input(x, m, buffer, *data);
        fill_owned(x, buffer, *data);
    }
    return *data;
}

void hp_begin_buffers(struct executor *x, struct micro_state *m, int pass)
{
    const struct rank_part *part = x->part;
    for (int i = part->begin_start[pass]; i < part->begin_start[pass + 1]; i++)
        hp_buffer_data(x, m, part->begins[i]);
}

/* Copy the part of a buffer that the backward half reads, if that part is kept separately. */
static void copy_kept(struct executor *x, struct micro_state *m, int buffer)
{
    const struct device_buffers *all = &x->rank->buffers;
    size_t size = hp_buffer_element_bytes(x, buffer);
    int tensor = all->buffer[buffer].place.tensor; /* whose copies follow */
    for (int i = buffer + 1; i < all->n && all->buffer[i].place.tensor == tensor; i++) {
        if (all->buffer[i].copied != buffer)
            continue;
        struct view from = all_of(x, buffer, hp_buffer_data(x, m, buffer));
        struct view to = all_of(x, i, hp_buffer_data(x, m, i));
        x->backend->copy(x->backend, &to, &from, size);
    }
}

static void add_buffer(struct executor *x, struct micro_buffers *list, struct micro_state *m,
                       int buffer)
{
    list->at = GROW(&x->arena, struct micro_buffer, list->at, list->n, &list->capacity);
    list->at[list->n++] = (struct micro_buffer){ m, buffer };
}

void hp_end_buffers(struct executor *x, struct micro_state *m, int pass)
{
    const struct rank_part *part = x->part;
    for (int i = part->end_start[pass]; i < part->end_start[pass + 1]; i++)
        add_buffer(x, &x->ending, m, part->ends[i]);
    hp_settle_ends(x);
}

bool hp_settle_ends(struct executor *x)
{
    int kept = 0;
    for (int i = 0; i < x->ending.n; i++) {
        struct micro_buffer at = x->ending.at[i];
        if (at.micro->busy[at.buffer - at.micro->first] > 0) {
            x->ending.at[kept++] = at;
            continue;
        }
        copy_kept(x, at.micro, at.buffer);
        give_back(x, at.micro, at.buffer);
    }
    x->ending.n = kept;
    return kept == 0;
}

/* Micro-batches ---------------------------------------------------------------------- */

static struct micro_state *new_micro(struct executor *x)
{
    const struct rank *rank = x->rank;
    struct micro_state *m = x->unused;
    int n = 0, n_tasks = 0, n_adds = 0;
    if (m) {
        x->unused = m->next;
        return m;
    }
    for (int b = 0; b < x->program->n_bodies; b++) {
        int n_here = rank->buffers.first[b + 1] - rank->buffers.first[b];
        n = n_here > n ? n_here : n;
        n_tasks = rank->body[b].n_tasks > n_tasks ? rank->body[b].n_tasks : n_tasks;
        n_adds = rank->body[b].n_adds > n_adds ? rank->body[b].n_adds : n_adds;
    }
    m = NEW(&x->arena, struct micro_state, 1);
    m->lane = NEW(&x->arena, int, x->layout.n_stages);
    m->data = NEW(&x->arena, void *, n + 1);
    m->busy = NEW(&x->arena, int, n + 1);
    m->progress = NEW(&x->arena, unsigned char, n_tasks + 1);
    m->left_writes = NEW(&x->arena, int, n_adds + 1);
    return m;
}

void hp_take_lane(struct executor *x, struct micro_state *m, int stage)
{
    int lane = 0;
    while (x->lane_taken[stage][lane])
        lane++;
    x->lane_taken[stage][lane] = true;
    m->lane[stage] = lane;
}

void hp_leave_lane(struct executor *x, struct micro_state *m, int stage)
{
    if (m->lane[stage] >= 0)
        x->lane_taken[stage][m->lane[stage]] = false;
    m->lane[stage] = -1;
}

static void leave_lanes(struct executor *x, struct micro_state *m)
{
    for (int k = 0; k < x->layout.n_stages; k++)
        hp_leave_lane(x, m, k);
}

struct micro_state *hp_begin_micro(struct executor *x, int micro)
{
    const struct iteration *it = x->program->iteration;
    int b = hp_body_number(it, micro);
    struct micro_state *m = new_micro(x);
    for (int k = 0; k < x->layout.n_stages; k++)
        m->lane[k] = -1;
    m->micro = micro;
    m->left = it->forward ? x->rank->slots->n_stages : x->rank->n_actions;
    m->first = x->rank->buffers.first[b];
    m->n_comms = m->n_over = 0;
    m->over = false;
    memset(m->progress, TASK_WAITS, (size_t)x->rank->body[b].n_tasks);
    for (int i = 0; i < x->rank->body[b].n_adds; i++)
        m->left_writes[i] = x->rank->body[b].add[i].n_writers;
    x->micro[micro] = m;
    x->micro_loss[micro] = 0;
    return m;
}

/* If the order is free, buffers end with the last comm. */
static void end_buffers(struct executor *x, struct micro_state *m)
{
    int b = hp_body_number(x->program->iteration, m->micro);
    for (int i = m->first; i < x->rank->buffers.first[b + 1]; i++)
        if (m->data[i - m->first])
            give_back(x, m, i);
    leave_lanes(x, m);
}

/* The state can be reused when no comm and no buffer of it is left. */
static void release_micro(struct executor *x, struct micro_state *m)
{
    if (!m->over || m->n_comms > 0 || m->n_over > 0)
        return;
    if (!hp_in_order(x))
        end_buffers(x, m);
    m->next = x->unused;
    x->unused = m;
}

void hp_end_micro(struct executor *x, struct micro_state *m)
{
    if (hp_in_order(x)) /* what comms still touch is not in the lanes */
        leave_lanes(x, m);
    x->micro[m->micro] = NULL;
    m->over = true;
    release_micro(x, m);
}

void hp_end_comm(struct executor *x, struct micro_state *m)
{
    m->n_comms--;
    release_micro(x, m);
}

void hp_end_waits(struct executor *x, struct micro_state *m, const struct rank_part *part,
                  int own)
{
    for (int i = part->waits_start[own]; i < part->waits_start[own + 1]; i++)
        if (m->data[part->waits[i] - m->first])
            add_buffer(x, &x->ending, m, part->waits[i]);
}

void hp_keep_over(struct executor *x, struct micro_state *m, const struct rank_part *part,
                  int own)
{
    struct micro_buffers *sent = &x->sent[x->slot % x->layout.n_over];
    sent->until = hp_held_until(x->rank->slots, x->slot);
    for (int i = part->over_start[own]; i < part->over_start[own + 1]; i++)
        if (m->data[part->over[i] - m->first]) {
            add_buffer(x, sent, m, part->over[i]);
            m->n_over++;
        }
}

bool hp_end_rests(struct executor *x, struct micro_state *m, const struct rank_part *part)
{
    for (int i = 0; i < part->n_rests; i++)
        if (m->busy[part->rests[i] - m->first] > 0)
            return false;
    for (int i = 0; i < part->n_rests; i++)
        if (m->data[part->rests[i] - m->first])
            give_back(x, m, part->rests[i]);
    return true;
}

static bool settle(struct executor *x, struct micro_buffers *list)
{
    for (; list->n > 0; list->n--) {
        struct micro_buffer at = list->at[list->n - 1];
        if (at.micro->busy[at.buffer - at.micro->first] > 0)
            return false;
        give_back(x, at.micro, at.buffer);
        at.micro->n_over--;
        release_micro(x, at.micro);
    }
    return true;
}

bool hp_settle_over(struct executor *x)
{
    for (int i = 0; i < x->layout.n_over; i++)
        if (x->sent[i].until == x->slot && !settle(x, &x->sent[i]))
            return false;
    return true;
}

void hp_settle_all(struct executor *x)
{
    for (int i = 0; i < x->layout.n_over; i++)
        settle(x, &x->sent[i]);
}

/* Versions of parameters --------------------------------------------------------------- */

static bool is_trained(const struct executor *x, int tensor)
{
    return x->rank->exchange_of_tail[hp_place_index(
               (struct place){ .tensor = tensor, .grad = true })] >= 0;
}

void *hp_param_data(const struct executor *x, int buffer, int tensor, int micro, bool backward)
{
    const struct versions *v = &x->versions[buffer];
    int version = 0; /* an untrained parameter has one version */
    if (is_trained(x, tensor))
        version = hp_version_used(x->program->iteration, hp_param_stage(x->program, tensor),
                                  micro, backward);
    return v->data[version % v->n];
}

int hp_newest_version(const struct executor *x, int buffer)
{
    const struct iteration *it = x->program->iteration;
    int tensor = x->rank->buffers.buffer[buffer].place.tensor;
    if (x->step == 0 || !is_trained(x, tensor))
        return 0;
    int group = hp_slot_group(it, hp_param_stage(x->program, tensor));
    return x->n_micro / it->period[group] % x->versions[buffer].n;
}

void hp_first_versions(struct executor *x)
{
    for (int i = 0; i < x->rank->buffers.first[0]; i++) {
        struct versions *v = &x->versions[i];
        if (v->n < 2)
            continue;
        int newest = hp_newest_version(x, i);
        void *swap = v->data[0];
        v->data[0] = v->data[newest];
        v->data[newest] = swap;
    }
}

/* Lasting buffers ---------------------------------------------------------------------- */

void hp_restart_sums(struct executor *x, bool gradients)
{
    for (int i = 0; i < x->rank->buffers.first[0]; i++) {
        struct place place = x->rank->buffers.buffer[i].place;
        if (gradients ? place.grad : !place.grad && place.tensor == x->graph->loss)
            start(x, i, x->lasting[i]);
    }
}

/* The buffer of one element that holds the loss, or, in its gradient's place, the norm. */
static void *scalar_data(const struct executor *x, bool grad)
{
    int b = grad ? x->rank->norm : x->rank->loss;
    return b < 0 ? NULL : x->lasting[b];
}

double hp_loss_value(const struct executor *x)
{
    void *loss = scalar_data(x, false);
    return loss ? hp_backend_number(x->backend, loss, x->settings.real) : 0;
}

void hp_set_loss(const struct executor *x, double value)
{
    void *loss = scalar_data(x, false);
    if (loss)
        hp_backend_set_number(x->backend, loss, value, x->settings.real);
}

void *hp_norm_data(const struct executor *x)
{
    return scalar_data(x, true);
}

/* Room for one more lasting array; lanes begin after the last. */
static void *next_room(struct executor *x, size_t bytes)
{
    char *data = x->memory + x->lanes_at;
    x->lanes_at += hp_aligned(bytes);
    return data;
}

static int versions_of(const struct executor *x, int tensor)
{
    return is_trained(x, tensor)
               ? hp_versions_kept(x->program->iteration, hp_param_stage(x->program, tensor))
               : 1;
}

bool hp_has_state(const struct executor *x, int tensor, int state)
{
    return is_trained(x, tensor) &&
           (state == HP_MASTER
                ? hp_place_real(x, (struct place){ .tensor = tensor }) != x->settings.real
                : state < hp_optimizer_moments(x->settings.optimizer.kind));
}

/* The bytes of one array of the optimizer's state of a parameter's buffer. */
static size_t state_bytes(const struct executor *x, int buffer)
{
    return (size_t)x->rank->states[buffer] * hp_real_bytes(x->settings.real);
}

static bool is_param(const struct executor *x, int buffer)
{
    struct place place = x->rank->buffers.buffer[buffer].place;
    return x->graph->tensors[place.tensor].kind == TENSOR_PARAM && !place.grad;
}

/* A new array of the optimizer's state: zeros. */
static void *new_state(struct executor *x, int buffer)
{
    size_t bytes = state_bytes(x, buffer);
    struct box all = { .n_dims = 1, .dim = { { 0, x->rank->states[buffer] } } };
    struct view view = hp_dense_view(next_room(x, bytes), &all);
    x->backend->clear(x->backend, &view, COMBINE_SUM, x->settings.real);
    count_bytes(x, (double)bytes);
    return view.data;
}

/* Fill the state of a divided parameter, piece by piece: the boxes of a piece are
 * contiguous. */
static void fill_state(struct executor *x, int buffer, int state)
{
    const struct rank_part *tail = &x->rank->tail;
    const struct buffer *b = &x->rank->buffers.buffer[buffer];
    char *data = x->state[buffer].array[state];
    bool divided = false;
    for (int i = 0; i < tail->n_updates; i++) {
        const struct rank_update *u = &tail->update[i];
        struct box box[MAX_FLAT_BOXES];
        if (u->param.buffer != buffer || u->state < 0)
            continue;
        divided = true;
        int n = hp_flat_boxes(&u->box, u->elements.lo, u->elements.hi, box);
        char *at = data + (size_t)u->state * hp_real_bytes(x->settings.real);
        for (int k = 0; k < n; k++) {
            struct view view = hp_dense_view(at, &box[k]);
            fill_array(x, b->place.tensor, state, 0, &view);
            at += (size_t)hp_box_elements(&box[k]) * hp_real_bytes(x->settings.real);
        }
    }
    struct view view = hp_dense_view(data, &b->box);
    if (!divided && !b->flat && x->rank->states[buffer])
        fill_array(x, b->place.tensor, state, 0, &view);
}

/* Fill the pieces of a divided parameter that the rank owns. */
static void fill_pieces(struct executor *x, int buffer)
{
    size_t size = hp_real_bytes(hp_buffer_real(x, buffer));
    for (int i = 0; i < x->rank->n_owned; i++) {
        const struct owned_piece *own = &x->rank->owned[i];
        struct box box[MAX_FLAT_BOXES];
        if (own->view.buffer != buffer)
            continue;
        char *at = (char *)x->versions[buffer].data[0] + (size_t)own->view.at.offset * size;
        int n = hp_flat_boxes(&own->box, own->elements.lo, own->elements.hi, box);
        for (int k = 0; k < n; k++) {
            struct view view = hp_dense_view(at, &box[k]);
            fill_array(x, own->place.tensor, -1, 0, &view);
            at += (size_t)hp_box_elements(&box[k]) * size;
        }
    }
}

static void make_param(struct executor *x, int buffer)
{
    const struct buffer *b = &x->rank->buffers.buffer[buffer];
    struct versions *v = &x->versions[buffer];
    v->n = versions_of(x, b->place.tensor);
    v->data = NEW(&x->arena, void *, v->n);
    for (int i = 0; i < v->n; i++)
        v->data[i] = take(x, buffer, next_room(x, x->bytes[buffer]));
    struct view view = hp_dense_view(v->data[0], &b->box);
    if (b->flat)
        fill_pieces(x, buffer);
    else
        fill_array(x, b->place.tensor, -1, 0, &view);
    for (int i = 0; i < HP_STATE_ARRAYS; i++)
        if (hp_has_state(x, b->place.tensor, i)) {
            x->state[buffer].array[i] = new_state(x, buffer);
            fill_state(x, buffer, i);
        }
}

static bool is_shared(const struct executor *x, int buffer)
{
    return x->settings.shares && hp_is_shared(x->graph, &x->rank->buffers.buffer[buffer]);
}

/* One array for all buffers. */
static void make_memory(struct executor *x)
{
    const struct device_buffers *all = &x->rank->buffers;
    size_t lasting = 0;
    x->bytes = NEW(&x->arena, size_t, all->n + 1);
    for (int i = 0; i < all->n; i++)
        x->bytes[i] = (size_t)hp_buffer_elements(x->rank, i) * hp_buffer_element_bytes(x, i);
    x->layout = hp_memory_layout(x->rank, x->bytes, hp_in_order(x), &x->arena);
    x->lane_taken = NEW(&x->arena, bool *, x->layout.n_stages);
    for (int k = 0; k < x->layout.n_stages; k++)
        x->lane_taken[k] = NEW(&x->arena, bool, x->layout.n_lanes[k] + 1);
    x->sent = NEW(&x->arena, struct micro_buffers, x->layout.n_over);
    for (int i = 0; i < all->first[0]; i++) {
        int tensor = all->buffer[i].place.tensor;
        if (is_shared(x, i))
            continue;
        int versions = is_param(x, i) ? versions_of(x, tensor) : 1, states = 0;
        for (int k = 0; k < HP_STATE_ARRAYS; k++)
            states += is_param(x, i) && hp_has_state(x, tensor, k);
        lasting += (size_t)versions * hp_aligned(x->bytes[i]) +
                   (size_t)states * hp_aligned(state_bytes(x, i));
    }
    x->common_at = lasting + x->layout.lanes_bytes;
    x->over_at = x->common_at + x->layout.common_bytes;
    size_t all_bytes = x->over_at + (size_t)x->layout.n_over * x->layout.over_bytes;
    x->counts.memory_bytes = (double)all_bytes;
    x->memory = hp_new_array(x, all_bytes);
}

void hp_take_shared(struct executor *x)
{
    const struct executor *from = x->settings.shares;
    for (int i = 0; i < x->rank->buffers.first[0]; i++) {
        int tensor = x->rank->buffers.buffer[i].place.tensor;
        if (!is_shared(x, i))
            continue;
        int at = hp_place_index((struct place){ .tensor = tensor });
        int other = i - x->rank->buffers.start[at] + from->rank->buffers.start[at];
        void *data = hp_executor_lasting(from, other);
        if (x->versions[i].n)
            x->versions[i].data[0] = data;
        else
            x->lasting[i] = data;
    }
}

void hp_make_lasting(struct executor *x)
{
    int n = x->rank->buffers.first[0];
    make_memory(x);
    if (x->status != HYPAR_OK)
        return;
    x->lasting = NEW(&x->arena, void *, n + 1);
    x->versions = NEW(&x->arena, struct versions, n + 1);
    x->state = NEW(&x->arena, struct optimizer_state, n + 1);
    for (int i = 0; i < n; i++) {
        const struct buffer *b = &x->rank->buffers.buffer[i];
        enum tensor_kind kind = x->graph->tensors[b->place.tensor].kind;
        if (is_shared(x, i)) {
            x->versions[i] =
                (struct versions){ kind == TENSOR_PARAM, NEW(&x->arena, void *, 1) };
            continue;
        }
        if (is_param(x, i)) {
            make_param(x, i);
            continue;
        }
        x->lasting[i] = take(x, i, next_room(x, x->bytes[i]));
        struct view view = all_of(x, i, x->lasting[i]);
        if (kind == TENSOR_INPUT || kind == TENSOR_STAT)
            fill_array(x, b->place.tensor, -1, 0, &view);
    }
}
