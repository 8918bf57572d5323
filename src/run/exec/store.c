/* What a rank holds: buffers that come and go, those that last, and versions of parameters. */
#include "run/exec/state.h"

#include <math.h>
#include <string.h>

/* Buffers ---------------------------------------------------------------------------- */

size_t hp_buffer_element_bytes(const struct executor *x, int buffer)
{
    return x->rank->is_index[buffer] ? sizeof(int32_t) : hp_real_bytes(x->settings.real);
}

size_t hp_buffer_bytes(const struct executor *x, int buffer)
{
    return (size_t)hp_buffer_elements(x->rank, buffer) * hp_buffer_element_bytes(x, buffer);
}

void hp_count_bytes(struct executor *x, double bytes)
{
    x->counts.live_bytes += bytes;
    if (x->counts.live_bytes > x->counts.peak_bytes)
        x->counts.peak_bytes = x->counts.live_bytes;
}

/* How contributions to what a buffer holds are put together. */
static enum combine combine_of(const struct executor *x, int buffer)
{
    struct place place = x->rank->buffers.buffer[buffer].place;
    int d = x->rank->exchange_of[2 * place.tensor + place.grad];
    return d < 0 ? COMBINE_SUM : x->program->lowering->training.exchange[d].combine;
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

/* As it is before anything is written there. */
static void start(const struct executor *x, int buffer, void *data)
{
    if (x->settings.check)
        make_unknown(x, buffer, data);
    if (x->rank->clear[buffer]) {
        struct view view = hp_dense_view(data, &x->rank->buffers.buffer[buffer].box);
        hp_view_clear(&view, combine_of(x, buffer), x->settings.real);
    }
}

static void *take(struct executor *x, int buffer)
{
    size_t bytes = hp_buffer_bytes(x, buffer);
    void *data = hp_array_new(bytes);
    hp_count_bytes(x, (double)bytes);
    start(x, buffer, data);
    return data;
}

static void give_back(struct executor *x, int buffer, void **data)
{
    hp_count_bytes(x, -(double)hp_buffer_bytes(x, buffer));
    hp_array_free(*data);
    *data = NULL;
}

int64_t hp_batch_of(const struct executor *x, int micro)
{
    const struct iteration *it = x->program->iteration;
    return x->settings.first_batch +
           (it->delayed ? (int64_t)(x->step - 1) * it->n_micro + micro : x->step - 1);
}

static void fill_array(struct executor *x, int tensor, int state, int64_t batch,
                       const struct view *to)
{
    struct fill_request request = { tensor, state, batch };
    if (x->status == HYPAR_OK)
        x->status = x->settings.fill(x->settings.who, &request, to, &x->error);
}

static void fill_input(struct executor *x, const struct micro_state *m, int buffer, void *data)
{
    const struct buffer *b = &x->rank->buffers.buffer[buffer];
    if (x->graph->tensors[b->place.tensor].kind != TENSOR_INPUT || b->place.grad)
        return;
    struct box box = hp_micro_box(x->program, b->place.tensor, &b->box, m->micro);
    struct view view = hp_dense_view(data, &box);
    fill_array(x, b->place.tensor, -1, hp_batch_of(x, m->micro), &view);
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
        if (--m->left[buffer[i] - m->first] == 0 && m->data[buffer[i] - m->first])
            give_back(x, buffer[i], &m->data[buffer[i] - m->first]);
}

/* Micro-batches ---------------------------------------------------------------------- */

static void *new_zeroed(size_t bytes)
{
    return memset(hp_array_new(bytes), 0, bytes);
}

struct micro_state *hp_begin_micro(struct executor *x, int micro)
{
    int b = hp_body_number(x->program->iteration, micro);
    const struct rank_part *part = &x->rank->body[b];
    int first = x->rank->buffers.first[b], n = x->rank->buffers.first[b + 1] - first;
    struct micro_state *m = new_zeroed(sizeof *m);
    *m = (struct micro_state){ .micro = micro, .first = first, .n_buffers = n };
    m->data = new_zeroed((size_t)n * sizeof *m->data);
    m->left = hp_array_new((size_t)n * sizeof *m->left);
    m->progress = new_zeroed((size_t)part->n_tasks);
    memcpy(m->left, part->uses, (size_t)n * sizeof *m->left);
    x->micro[micro] = m;
    return m;
}

void hp_free_micro(struct executor *x, struct micro_state *m)
{
    for (int i = 0; i < m->n_buffers; i++)
        if (m->data[i])
            give_back(x, m->first + i, &m->data[i]);
    hp_array_free(m->data);
    hp_array_free(m->left);
    hp_array_free(m->progress);
    hp_array_free(m);
}

/* Versions of parameters --------------------------------------------------------------- */

static int stage_of_tensor(const struct executor *x, int tensor)
{
    const struct use *use = &x->graph->use[x->graph->use_start[tensor]];
    return x->program->schedule->stage_of_op[use->op];
}

static bool is_trained(const struct executor *x, int tensor)
{
    return x->rank->exchange_of_tail[2 * tensor + 1] >= 0;
}

void *hp_param_data(const struct executor *x, int buffer, int tensor, int micro, bool backward)
{
    const struct versions *v = &x->versions[buffer];
    int version = 0; /* one that is not trained has no other */
    if (is_trained(x, tensor))
        version =
            hp_version_used(x->program->iteration, stage_of_tensor(x, tensor), micro, backward);
    return v->data[version % v->n];
}

int hp_newest_version(const struct executor *x, int buffer)
{
    const struct iteration *it = x->program->iteration;
    int tensor = x->rank->buffers.buffer[buffer].place.tensor;
    if (x->step == 0 || !is_trained(x, tensor))
        return 0;
    int group = hp_slot_group(it, stage_of_tensor(x, tensor));
    return hp_period_count(it, group) % x->versions[buffer].n;
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

/* What lasts --------------------------------------------------------------------------- */

void hp_restart_sums(struct executor *x, bool gradients)
{
    for (int i = 0; i < x->rank->buffers.first[0]; i++) {
        struct place place = x->rank->buffers.buffer[i].place;
        if (gradients ? place.grad : !place.grad && place.tensor == x->graph->loss)
            start(x, i, x->lasting[i]);
    }
}

void *hp_loss_data(const struct executor *x)
{
    struct box scalar = { .n_dims = 0 };
    int b = hp_find_buffer(&x->rank->buffers, x->graph, 0,
                           (struct place){ x->graph->loss, false }, &scalar);
    return b < 0 ? NULL : x->lasting[b];
}

static void make_param(struct executor *x, int buffer)
{
    const struct buffer *b = &x->rank->buffers.buffer[buffer];
    struct versions *v = &x->versions[buffer];
    bool trained = is_trained(x, b->place.tensor);
    v->n = trained
               ? hp_versions_kept(x->program->iteration, stage_of_tensor(x, b->place.tensor))
               : 1;
    v->data = NEW(&x->arena, void *, v->n);
    for (int i = 0; i < v->n; i++)
        v->data[i] = take(x, buffer);
    struct view view = hp_dense_view(v->data[0], &b->box);
    fill_array(x, b->place.tensor, -1, 0, &view);
    for (int i = 0; trained && i < hp_optimizer_states(x->settings.optimizer.kind); i++) {
        x->state[buffer].array[i] = new_zeroed(hp_buffer_bytes(x, buffer));
        hp_count_bytes(x, (double)hp_buffer_bytes(x, buffer));
        view.data = x->state[buffer].array[i];
        fill_array(x, b->place.tensor, i, 0, &view);
    }
}

static bool is_shared(const struct executor *x, int buffer)
{
    return x->settings.shares && hp_is_shared(x->graph, &x->rank->buffers.buffer[buffer]);
}

void hp_take_shared(struct executor *x)
{
    const struct executor *from = x->settings.shares;
    for (int i = 0; i < x->rank->buffers.first[0]; i++) {
        int tensor = x->rank->buffers.buffer[i].place.tensor;
        if (!is_shared(x, i))
            continue;
        int other =
            i - x->rank->buffers.start[2 * tensor] + from->rank->buffers.start[2 * tensor];
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
        if (kind == TENSOR_PARAM && !b->place.grad) {
            make_param(x, i);
            continue;
        }
        x->lasting[i] = take(x, i);
        struct view view = hp_dense_view(x->lasting[i], &b->box);
        if (kind == TENSOR_INPUT || kind == TENSOR_STAT)
            fill_array(x, b->place.tensor, -1, 0, &view);
    }
}

void hp_free_lasting(struct executor *x)
{
    for (int i = 0; i < x->rank->buffers.first[0]; i++) {
        if (is_shared(x, i))
            continue;
        hp_array_free(x->lasting[i]);
        for (int v = 0; v < x->versions[i].n; v++)
            hp_array_free(x->versions[i].data[v]);
        for (int k = 0; k < HP_MAX_STATE; k++)
            hp_array_free(x->state[i].array[k]);
    }
}
