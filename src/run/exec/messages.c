/* The messages of a rank's comms: posted in turn, done whenever they are. */
#include "run/exec/state.h"

#include <string.h>

/* Pieces ----------------------------------------------------------------------------- */

bool hp_piece_is_dense(const struct piece *piece)
{
    int64_t dense = 1;
    for (int d = piece->view.box.n_dims - 1; d >= 0; d--) {
        int64_t extent = piece->view.box.dim[d].hi - piece->view.box.dim[d].lo;
        if (extent == 1)
            continue;
        if (piece->view.at.stride[d] != dense) /* all in one run of what is dense? */
            return piece->lo / dense == (piece->hi - 1) / dense;
        dense *= extent;
    }
    return true;
}

static size_t piece_bytes(const struct executor *x, const struct piece *p)
{
    return (size_t)(p->hi - p->lo) * hp_buffer_element_bytes(x, p->view.buffer);
}

/* A run of elements along the last dimension. */
struct run {
    int64_t at;     /* the first, from the start of the buffer */
    int64_t stride; /* from one to the next */
    int64_t n;
};

/* The run of a piece that begins with its element `i`. */
static struct run run_at(const struct piece *p, int64_t i)
{
    const struct box *box = &p->view.box;
    int last = box->n_dims - 1;
    struct run run = { .at = p->view.at.offset, .stride = 1, .n = p->hi - i };
    int64_t rest = i;
    for (int d = last; d >= 0; d--) {
        int64_t extent = box->dim[d].hi - box->dim[d].lo, index = rest % extent;
        rest /= extent;
        run.at += index * p->view.at.stride[d];
        if (d == last && extent - index < run.n && !p->dense)
            run.n = extent - index;
        if (d == last)
            run.stride = p->dense ? 1 : p->view.at.stride[d];
    }
    return run;
}

/* Copy between a piece and a dense array. */
static void copy_piece(struct executor *x, const struct piece *p, char *data, char *apart,
                       bool gather)
{
    size_t size = hp_buffer_element_bytes(x, p->view.buffer);
    for (int64_t i = p->lo; i < p->hi;) {
        struct run run = run_at(p, i);
        for (int64_t k = 0; k < run.n; k += run.stride == 1 ? run.n : 1) {
            char *here = data + (size_t)(run.at + k * run.stride) * size;
            char *there = apart + (size_t)(i - p->lo + k) * size;
            size_t bytes = (run.stride == 1 ? (size_t)run.n : 1) * size;
            memcpy(gather ? there : here, gather ? here : there, bytes);
        }
        i += run.n;
    }
}

/* Put what came together with what is there. */
static void sum_piece(struct executor *x, const struct piece *p, enum combine combine,
                      char *data, char *apart)
{
    size_t size = hp_real_bytes(x->settings.real);
    for (int64_t i = p->lo; i < p->hi;) {
        struct run run = run_at(p, i);
        struct box box = { .n_dims = 1, .dim = { { 0, run.n } } };
        struct view to = { .data = data + (size_t)run.at * size,
                           .box = box,
                           .stride = { run.stride } };
        struct view from = hp_dense_view(apart + (size_t)(i - p->lo) * size, &box);
        hp_view_combine(&to, &from, combine, x->settings.real);
        i += run.n;
    }
}

/* Checking --------------------------------------------------------------------------- */

/* What is sent, or put together with what comes, has to be there. */
static void check_piece(struct executor *x, const struct comm_run *run, const struct piece *p,
                        char *data)
{
    if (!x->settings.check || x->status != HYPAR_OK)
        return;
    struct box box = { .n_dims = 1, .dim = { { 0, p->hi - p->lo } } };
    struct view view = hp_dense_view(hp_array_new(piece_bytes(x, p)), &box);
    copy_piece(x, p, data, view.data, true);
    x->status = hp_check_known(x, run->micro, run->comm->task, run->comm->place, &view);
    hp_array_free(view.data);
}

/* Messages --------------------------------------------------------------------------- */

static void post(struct executor *x, struct comm_run *run, int i)
{
    const struct rank_message *message = &run->comm->message[i];
    const struct piece *p = &message->piece;
    struct message_run *state = &run->message[i];
    size_t size = hp_buffer_element_bytes(x, p->view.buffer), bytes = piece_bytes(x, p);
    char *data = hp_buffer_data(x, run->micro, p->view.buffer);
    int tag = message->tag + run->micro->micro % x->tag_turns * x->rank->n_tags;
    if (!p->dense || message->kind == MESSAGE_SUM) {
        state->apart = hp_array_new(bytes);
        hp_count_bytes(x, (double)bytes);
    }
    char *at = state->apart ? state->apart : data + (size_t)run_at(p, p->lo).at * size;
    if (message->kind == MESSAGE_SEND) {
        check_piece(x, run, p, data);
        if (state->apart)
            copy_piece(x, p, data, state->apart, true);
        x->counts.sent_bytes += (double)bytes;
        state->request = x->transport.send(x->transport.who, at, bytes, message->peer, tag);
    } else {
        state->request = x->transport.receive(x->transport.who, at, bytes, message->peer, tag);
    }
    state->state = MESSAGE_POSTED;
    x->counts.moves++;
}

static void finish(struct executor *x, struct comm_run *run, int i)
{
    const struct rank_message *message = &run->comm->message[i];
    const struct piece *p = &message->piece;
    struct message_run *state = &run->message[i];
    state->state = MESSAGE_DONE;
    run->left--;
    x->counts.moves++;
    if (!state->apart)
        return;
    char *data = hp_buffer_data(x, run->micro, p->view.buffer);
    if (message->kind == MESSAGE_SUM) {
        check_piece(x, run, p, data);
        sum_piece(x, p, run->comm->combine, data, state->apart);
    } else if (message->kind == MESSAGE_RECEIVE) {
        copy_piece(x, p, data, state->apart, false);
    }
    hp_array_free(state->apart);
    hp_count_bytes(x, -(double)piece_bytes(x, p));
    state->apart = NULL;
}

static void go_on(struct executor *x, struct comm_run *run)
{
    for (int i = 0; i < run->comm->n_messages; i++) {
        struct message_run *state = &run->message[i];
        int after = run->comm->message[i].after;
        if (state->state == MESSAGE_WAITS &&
            (after < 0 || run->message[after].state == MESSAGE_DONE))
            post(x, run, i);
        if (state->state == MESSAGE_POSTED &&
            x->transport.done(x->transport.who, state->request))
            finish(x, run, i);
    }
}

/* Comms ------------------------------------------------------------------------------ */

void hp_post_comm(struct executor *x, struct micro_state *m, const struct rank_comm *comm)
{
    size_t bytes =
        sizeof(struct comm_run) + (size_t)comm->n_messages * sizeof(struct message_run);
    struct comm_run *run = memset(hp_array_new(bytes), 0, bytes);
    *run = (struct comm_run){ m, comm, comm->n_messages, hp_record_start(x),
                              (struct message_run *)(run + 1) };
    x->active = GROW(&x->arena, struct comm_run *, x->active, x->n_active, &x->active_capacity);
    x->active[x->n_active++] = run;
    m->n_comms++;
    hp_progress(x);
}

static void end_comm(struct executor *x, struct comm_run *run)
{
    struct micro_state *m = run->micro;
    m->progress[run->comm->at] = TASK_DONE;
    m->n_comms--;
    hp_record_comm(x, run);
    hp_release_buffers(x, m, run->comm->buffer, run->comm->n_buffers);
    if (m->over && m->n_comms == 0)
        hp_free_micro(x, m);
    hp_array_free(run);
}

void hp_progress(struct executor *x)
{
    int kept = 0;
    for (int i = 0; i < x->n_active; i++) {
        struct comm_run *run = x->active[i];
        go_on(x, run);
        if (run->left == 0)
            end_comm(x, run);
        else
            x->active[kept++] = run;
    }
    x->n_active = kept;
}

/* A micro-batch that is over goes with its last comm. */
void hp_drop_comms(struct executor *x)
{
    for (int i = 0; i < x->n_active; i++) {
        struct comm_run *run = x->active[i];
        for (int k = 0; k < run->comm->n_messages; k++)
            hp_array_free(run->message[k].apart);
        if (--run->micro->n_comms == 0 && run->micro->over)
            hp_free_micro(x, run->micro);
        hp_array_free(run);
    }
    x->n_active = 0;
}
