/* The executor of one rank: making it, running steps, reading results. */
#include "run/exec/executor.h"

#include <string.h>

#include "run/exec/state.h"

/* Steps ------------------------------------------------------------------------------ */

void hp_executor_restart(struct executor *x, int64_t batch, int64_t counted)
{
    x->settings.first_batch = batch;
    x->step = 0;
    x->counted = counted;
}

void hp_executor_shorten(struct executor *x, int n)
{
    x->n_next = n;
}

void hp_executor_begin(struct executor *x)
{
    if (x->settings.shares)
        hp_take_shared(x);
    if (x->step > 0)
        hp_first_versions(x);
    x->step++;
    x->n_micro = x->n_next;
    x->slot = x->left = 0;
    x->list = NULL;
    x->over = x->begun = false;
    hp_record_step(x);
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

/* An error that names the first waiting rank. */
static enum hypar_status deadlock(struct executor **x, int n, struct hypar_error *err)
{
    char text[128] = "";
    int d = 0;
    while (d < n - 1 && hp_executor_advance(x[d], err) == ADVANCE_DONE)
        d++;
    return hp_fail(err, HYPAR_RUNTIME, "deadlock: device %d waits at %s", x[d]->rank->device,
                   hp_executor_where(x[d], text, sizeof text));
}

/* Messages within a process arrive at once: if no rank makes progress, none ever will. */
enum hypar_status hp_executors_step(struct executor **x, int n, struct hypar_error *err)
{
    int done = 0;
    int64_t before = -1, moves = 0;
    for (int i = 0; i < n; i++)
        hp_executor_begin(x[i]);
    while (done < n) {
        if (moves == before)
            return deadlock(x, n, err);
        before = moves;
        moves = done = 0;
        for (int i = 0; i < n; i++) {
            enum advance a = hp_executor_advance(x[i], err);
            if (a == ADVANCE_FAILED)
                return x[i]->status;
            done += a == ADVANCE_DONE;
            moves += x[i]->counts.moves;
        }
    }
    return HYPAR_OK;
}

/* Results ---------------------------------------------------------------------------- */

/* Where the box is in the array of a divided parameter's piece, or of its state; NULL if the
 * parameter is not divided. `box` is one of the boxes of the piece. */
static char *state_of_piece(const struct executor *x, int tensor, int state,
                            const struct box *box)
{
    const struct rank_part *tail = &x->rank->tail;
    for (int i = 0; i < tail->n_updates; i++) {
        const struct rank_update *u = &tail->update[i];
        if (u->tensor != tensor || u->state < 0 || !hp_box_contains(&u->box, box))
            continue;
        int64_t at = 0;
        for (int d = 0; d < box->n_dims; d++) {
            const struct range *all = &u->box.dim[d];
            at = at * (all->hi - all->lo) + box->dim[d].lo - all->lo;
        }
        if (at >= u->elements.lo && at < u->elements.hi)
            return (char *)(state < 0 ? x->versions[u->param.buffer].data[0]
                                      : x->state[u->param.buffer].array[state]) +
                   (size_t)(u->state + at - u->elements.lo) * hp_real_bytes(x->settings.real);
    }
    return NULL;
}

void hp_executor_read(const struct executor *x, int tensor, int state, const struct box *box,
                      void *dense)
{
    bool running = x->graph->tensors[tensor].kind == TENSOR_STAT;
    if (!running && state < 0 && hp_has_state(x, tensor, HP_MASTER))
        state = HP_MASTER;
    bool flat =
        state >= 0 || hp_is_divided(&x->rank->buffers.held, (struct place){ .tensor = tensor });
    char *piece = running || !flat ? NULL : state_of_piece(x, tensor, state, box);
    enum real real =
        state >= 0 ? x->settings.real : hp_place_real(x, (struct place){ .tensor = tensor });
    struct view to = hp_dense_view(dense, box);
    if (piece) {
        struct view from = hp_dense_view(piece, box);
        hp_backend_get_as(x->backend, &to, x->settings.real, &from, real);
        return;
    }
    struct held_view v =
        running ? hp_rank_running(x->rank, tensor, box)
                : hp_rank_view(x->rank, 0, true, (struct place){ .tensor = tensor }, box);
    char *data = running     ? x->lasting[v.buffer]
                 : state < 0 ? x->versions[v.buffer].data[hp_newest_version(x, v.buffer)]
                             : x->state[v.buffer].array[state];
    struct view from = { .data = data + (size_t)v.at.offset * hp_real_bytes(real),
                         .box = *box };
    memcpy(from.stride, v.at.stride, sizeof from.stride);
    hp_backend_get_as(x->backend, &to, x->settings.real, &from, real);
}

const struct rank *hp_executor_rank(const struct executor *x)
{
    return x->rank;
}

void *hp_executor_lasting(const struct executor *x, int buffer)
{
    return x->versions[buffer].n ? x->versions[buffer].data[hp_newest_version(x, buffer)]
                                 : x->lasting[buffer];
}

struct executor_counts hp_executor_counts(const struct executor *x)
{
    return x->counts;
}

/* Making ----------------------------------------------------------------------------- */

static void make(struct executor *x)
{
    const struct iteration *it = x->program->iteration;
    x->tag_turns = x->transport.most_tags / (x->rank->n_tags ? x->rank->n_tags : 1);
    x->n_micro = x->n_next = it->n_micro;
    x->micro = NEW(&x->arena, struct micro_state *, it->n_micro);
    x->loss = NEW(&x->arena, double, it->n_micro + 1);
    x->micro_loss = NEW(&x->arena, double, it->n_micro + 1);
    x->tail.progress = NEW(&x->arena, unsigned char, x->rank->tail.n_tasks + 1);
    hp_make_records(x);
    if (!x->backend->visible)
        x->inputs = hp_ahead_new(&x->settings);
    hp_make_lasting(x);
    x->one = hp_new_array(x, sizeof(double));
    if (x->status == HYPAR_OK)
        hp_backend_set_number(x->backend, x->one, 1, x->settings.real);
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
    x->backend = settings->backend;
    x->transport = *transport;
    x->counted = INT64_MAX;
    struct rank_options how = { .in_order = hp_in_order(x) };
    if (x->backend->channels_last)
        how.channels_last = x->backend->channels_last(x->backend, settings->narrow);
    if (settings->shares)
        how.like = &settings->shares->rank->buffers;
    enum hypar_status status = hp_rank_make(&x->rank, program, device, &how, err);
    if (status != HYPAR_OK) {
        arena = x->arena;
        hp_arena_free(&arena);
        return status;
    }
    if (x->rank->n_tags > x->transport.most_tags)
        x->status = hp_fail(&x->error, HYPAR_UNSUPPORTED,
                            "messages of the plan need %d tags, there are %d", x->rank->n_tags,
                            x->transport.most_tags);
    else
        make(x);
    if (x->status != HYPAR_OK) {
        status = x->status;
        *err = x->error;
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
    hp_ahead_free(x->inputs);
    x->backend->array_free(x->backend, x->memory);
    x->backend->array_free(x->backend, x->workspace);
    x->backend->array_free(x->backend, x->one);
    hp_rank_free(x->rank);
    hp_arena_free(&x->arena);
}
