/* The messages of a rank's comms: posted in turn, completed in any order. */
#include "run/exec/state.h"

#include <string.h>

static size_t piece_bytes(const struct executor *x, const struct piece *p)
{
    return (size_t)(p->hi - p->lo) * hp_buffer_element_bytes(x, p->view.buffer);
}

/* Copy between a piece and a dense array. */
static void copy_piece(struct executor *x, const struct piece *p, char *data, char *apart,
                       bool gather)
{
    hp_piece_copy(x->backend, p, hp_buffer_element_bytes(x, p->view.buffer), data, apart,
                  gather);
}

/* Checking --------------------------------------------------------------------------- */

/* Data that is sent, or combined with received data, must be known. */
static void check_place(struct executor *x, const struct micro_state *m, int task,
                        struct place place, const struct piece *p, char *data)
{
    if (!x->settings.check || x->status != HYPAR_OK)
        return;
    struct box box = { .n_dims = 1, .dim = { { 0, p->hi - p->lo } } };
    struct view view = hp_dense_view(hp_new_array(x, piece_bytes(x, p)), &box);
    if (!view.data)
        return;
    copy_piece(x, p, data, view.data, true);
    x->status = hp_check_known(x, m, task, place, &view);
    x->backend->array_free(x->backend, view.data);
}

static void check_piece(struct executor *x, const struct comm_run *run, const struct piece *p,
                        char *data)
{
    check_place(x, run->micro, run->comm->task, run->comm->place, p, data);
}

void hp_add_piece(struct executor *x, struct micro_state *m, int task,
                  const struct rank_add *add)
{
    struct place place = { .tensor = add->tensor, .grad = true };
    char *from = hp_buffer_data(x, m, add->from.view.buffer);
    check_place(x, m, task, place, &add->from, from);
    char *apart = hp_new_array(x, piece_bytes(x, &add->from));
    if (!apart)
        return;
    copy_piece(x, &add->from, from, apart, true);
    hp_piece_combine(x->backend, &add->to, COMBINE_SUM, hp_buffer_real(x, add->to.view.buffer),
                     hp_buffer_data(x, m, add->to.view.buffer), apart);
    x->backend->array_free(x->backend, apart);
}

/* Messages --------------------------------------------------------------------------- */

/* Messages are sent in chunks, so that staging areas are small. */
static size_t chunk_bytes(const struct executor *x)
{
    enum { USUAL = 1 << 20 };
    return x->settings.chunk_bytes ? x->settings.chunk_bytes : USUAL;
}

static int64_t chunk_elements(const struct executor *x, const struct piece *p)
{
    return (int64_t)(chunk_bytes(x) / hp_buffer_element_bytes(x, p->view.buffer));
}

static int n_chunks(const struct executor *x, const struct piece *p)
{
    int64_t each = chunk_elements(x, p);
    return (int)((p->hi - p->lo + each - 1) / each);
}

static struct piece chunk_of(const struct executor *x, const struct piece *p, int i)
{
    struct piece chunk = *p;
    int64_t each = chunk_elements(x, p);
    chunk.lo = p->lo + i * each;
    chunk.hi = chunk.lo + each < p->hi ? chunk.lo + each : p->hi;
    return chunk;
}

static bool is_staged(const struct executor *x, const struct rank_message *message)
{
    return !x->backend->visible || !message->piece.dense || message->kind == MESSAGE_SUM;
}

static void post_chunk(struct executor *x, struct comm_run *run, int i, int c)
{
    const struct rank_message *message = &run->comm->message[i];
    struct piece p = chunk_of(x, &message->piece, c);
    struct message_run *state = &run->message[i];
    size_t size = hp_buffer_element_bytes(x, p.view.buffer), bytes = piece_bytes(x, &p);
    char *data = hp_buffer_data(x, run->micro, p.view.buffer);
    char *at = state->staging ? state->staging : data + hp_piece_offset(&p) * size;
    int tag = message->tag + run->micro->micro % x->tag_turns * x->rank->n_tags;
    int *request = &state->request[state->staging ? 0 : c];
    if (message->kind == MESSAGE_SEND) {
        check_piece(x, run, &p, data);
        if (state->staging)
            copy_piece(x, &p, data, state->staging, true);
        x->backend->finish(x->backend);
        x->counts.sent_bytes += (double)bytes;
        *request = x->transport.send(x->transport.who, at, bytes, message->peer, tag);
    } else {
        x->backend->finish(x->backend);
        *request = x->transport.receive(x->transport.who, at, bytes, message->peer, tag);
    }
    x->counts.moves++;
}

static size_t staging_bytes(const struct executor *x, const struct rank_message *message)
{
    size_t bytes = piece_bytes(x, &message->piece);
    return bytes < chunk_bytes(x) ? bytes : chunk_bytes(x);
}

static void count_staging(struct executor *x, double bytes)
{
    x->staged_bytes += bytes;
    if (x->staged_bytes > x->counts.staging_bytes)
        x->counts.staging_bytes = x->staged_bytes;
}

/* The least class whose areas have this many bytes. */
static int staging_class(size_t bytes)
{
    int k = 0;
    while ((size_t)LEAST_STAGING << k < bytes)
        k++;
    return k;
}

/* Areas are kept for the next message: the system clears fresh memory page by page. */
static void *take_staging(struct executor *x, size_t bytes)
{
    int k = staging_class(bytes);
    void *area = x->staging[k];
    count_staging(x, (double)bytes);
    if (!area)
        return hp_given(x, x->backend->staging_new(x->backend, (size_t)LEAST_STAGING << k),
                        bytes);
    memcpy(&x->staging[k], area, sizeof area);
    return area;
}

static void give_staging(struct executor *x, void *area, size_t bytes)
{
    int k = staging_class(bytes);
    count_staging(x, -(double)bytes);
    x->backend->finish(x->backend);
    memcpy(area, &x->staging[k], sizeof area);
    x->staging[k] = area;
}

static void post(struct executor *x, struct comm_run *run, int i)
{
    const struct rank_message *message = &run->comm->message[i];
    struct message_run *state = &run->message[i];
    int n = n_chunks(x, &message->piece);
    state->state = MESSAGE_POSTED;
    if (is_staged(x, message)) {
        state->staging = take_staging(x, staging_bytes(x, message));
        n = state->staging ? 1 : 0;
    }
    for (int c = 0; c < n; c++)
        post_chunk(x, run, i, c);
}

/* Copy a received chunk from the staging area to its place. */
static void take_chunk(struct executor *x, struct comm_run *run, int i, int c)
{
    const struct rank_message *message = &run->comm->message[i];
    struct piece p = chunk_of(x, &message->piece, c);
    char *apart = run->message[i].staging, *data = hp_buffer_data(x, run->micro, p.view.buffer);
    if (message->kind == MESSAGE_SUM) {
        check_piece(x, run, &p, data);
        hp_piece_combine(x->backend, &p, run->comm->combine, hp_buffer_real(x, p.view.buffer),
                         data, apart);
    } else if (message->kind == MESSAGE_RECEIVE) {
        copy_piece(x, &p, data, apart, false);
    }
}

/* Add the rank's own sums, once, to the pieces that it owns. */
static void add_own(struct executor *x, struct comm_run *run)
{
    for (int i = 0; !run->added && i < run->comm->n_adds; i++)
        hp_add_piece(x, run->micro, run->comm->task, &run->comm->add[i]);
    run->added = true;
}

static void finish(struct executor *x, struct comm_run *run, int i)
{
    struct message_run *state = &run->message[i];
    state->state = MESSAGE_DONE;
    run->left--;
    if (run->comm->message[i].kind != MESSAGE_SEND && --run->left_coming == 0) {
        add_own(x, run);
        run->micro->progress[run->comm->at] = TASK_DONE;
    }
    if (!state->staging)
        return;
    give_staging(x, state->staging, staging_bytes(x, &run->comm->message[i]));
    state->staging = NULL;
}

/* Finish the chunks that are done, and post the next ones. */
static void go_on_with(struct executor *x, struct comm_run *run, int i)
{
    struct message_run *state = &run->message[i];
    int n = n_chunks(x, &run->comm->message[i].piece);
    while (state->n_done < n && x->status == HYPAR_OK &&
           x->transport.done(x->transport.who,
                             state->request[state->staging ? 0 : state->n_done])) {
        x->counts.moves++;
        if (state->staging)
            take_chunk(x, run, i, state->n_done);
        state->n_done++;
        if (state->staging && state->n_done < n)
            post_chunk(x, run, i, state->n_done);
    }
    if (state->n_done == n)
        finish(x, run, i);
}

static void go_on(struct executor *x, struct comm_run *run)
{
    if (run->left_coming == 0)
        add_own(x, run);
    for (int i = 0; i < run->comm->n_messages; i++) {
        struct message_run *state = &run->message[i];
        int after = run->comm->message[i].after;
        if (state->state == MESSAGE_WAITS &&
            (after < 0 || run->message[after].state == MESSAGE_DONE))
            post(x, run, i);
        if (state->state == MESSAGE_POSTED)
            go_on_with(x, run, i);
    }
}

/* Comms ------------------------------------------------------------------------------ */

/* `change`: one comm more touches the buffers of the micro-batch, or one less. */
static void touch_buffers(struct micro_state *m, const struct rank_comm *comm, int change)
{
    for (int i = 0; i < comm->n_buffers; i++)
        m->busy[comm->buffer[i] - m->first] += change;
}

void hp_post_comm(struct executor *x, struct micro_state *m, const struct rank_comm *comm)
{
    size_t n_requests = 0, messages = (size_t)comm->n_messages * sizeof(struct message_run);
    for (int i = 0; i < comm->n_messages; i++)
        n_requests +=
            is_staged(x, &comm->message[i]) ? 1 : (size_t)n_chunks(x, &comm->message[i].piece);
    size_t bytes = sizeof(struct comm_run) + messages + n_requests * sizeof(int);
    struct comm_run *run = memset(hp_array_new(bytes), 0, bytes);
    *run = (struct comm_run){
        m, comm, comm->n_messages, 0, false, hp_record_start(x), (struct message_run *)(run + 1)
    };
    int *request = (int *)(void *)(run->message + comm->n_messages);
    for (int i = 0; i < comm->n_messages; i++) {
        run->message[i].request = request;
        run->left_coming += comm->message[i].kind != MESSAGE_SEND;
        request += is_staged(x, &comm->message[i]) ? 1 : n_chunks(x, &comm->message[i].piece);
    }
    x->active = GROW(&x->arena, struct comm_run *, x->active, x->n_active, &x->active_capacity);
    x->active[x->n_active++] = run;
    m->n_comms++;
    x->n_divided += comm->divided;
    m->progress[comm->at] = run->left_coming > 0 ? TASK_BEGUN : TASK_DONE;
    x->fed |= x->ahead && m != &x->tail && x->part->feeds[comm->at];
    touch_buffers(m, comm, 1);
    hp_progress(x);
}

static void end_comm(struct executor *x, struct comm_run *run)
{
    hp_record_comm(x, run);
    touch_buffers(run->micro, run->comm, -1);
    x->n_divided -= run->comm->divided;
    hp_end_comm(x, run->micro);
    hp_array_free(run);
}

static bool adds_to(const struct rank_comm *comm, int tensor)
{
    return comm->divided && comm->place.grad && comm->place.tensor == tensor;
}

/* Does an earlier micro-batch still add to the same gradient? */
static bool adds_later(const struct executor *x, const struct comm_run *run, int n)
{
    for (int i = 0; i < n && !hp_any_order(x); i++)
        if (x->active[i]->micro != run->micro &&
            adds_to(x->active[i]->comm, run->comm->place.tensor))
            return true;
    return false;
}

/* Is the same comm under way in an earlier micro-batch, with the same tags? Their chunks must
 * not mix. A divided gradient is summed in the order of micro-batches. `n`: comms before it. */
static bool is_behind(const struct executor *x, const struct comm_run *run, int n)
{
    if (adds_to(run->comm, run->comm->place.tensor) && adds_later(x, run, n))
        return true;
    if (x->tag_turns >= x->program->iteration->n_micro)
        return false;
    for (int i = 0; i < n; i++) {
        const struct comm_run *other = x->active[i];
        if (other->comm == run->comm &&
            (run->micro->micro - other->micro->micro) % x->tag_turns == 0)
            return true;
    }
    return false;
}

void hp_progress(struct executor *x)
{
    int kept = 0;
    for (int i = 0; i < x->n_active; i++) {
        struct comm_run *run = x->active[i];
        if (!is_behind(x, run, kept))
            go_on(x, run);
        if (run->left == 0)
            end_comm(x, run);
        else
            x->active[kept++] = run;
    }
    x->n_active = kept;
}

void hp_drop_comms(struct executor *x)
{
    for (int i = 0; i < x->n_active; i++) {
        for (int k = 0; k < x->active[i]->comm->n_messages; k++)
            x->backend->staging_free(x->backend, x->active[i]->message[k].staging);
        hp_array_free(x->active[i]);
    }
    x->n_active = 0;
    for (int k = 0; k < STAGING_CLASSES; k++)
        while (x->staging[k]) {
            void *area = x->staging[k];
            memcpy(&x->staging[k], area, sizeof area);
            x->backend->staging_free(x->backend, area);
        }
}
