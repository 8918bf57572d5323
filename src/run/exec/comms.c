/* What one rank sends and receives in a comm: the exchange rule, cell by cell.
 *
 * The contributors of a cell send each owner its piece, an owner puts them together, its own
 * first and then by device, and sends the result to the other readers. */
#include "run/exec/state.h"

#include <assert.h>

struct comm_maker {
    struct rank *rank;
    struct rank_comm *comm;
    int body, capacity, buffer_capacity;
    bool backward;
    int tag; /* of the piece at hand, towards its owner; the next is that of its result */
};

/* Is `device` among the first `before` contributions? Of each device the first one counts. */
static bool contributes(const struct cell *cell, int device, int before)
{
    for (int i = 0; i < before; i++)
        if (cell->contribution[i].device == device)
            return true;
    return false;
}

/* Piece `o` of `pieces` of a cell; the pairs of softmax statistics stay together. */
static struct piece piece_of(struct comm_maker *m, const struct box *box, int o, int pieces)
{
    int64_t together = m->comm->combine == COMBINE_SOFTMAX ? 2 : 1;
    struct range r = hp_even_part(hp_box_elements(box) / together, pieces, o);
    struct piece out = { .view =
                             hp_rank_view(m->rank, m->body, m->backward, m->comm->place, box),
                         .lo = r.lo * together,
                         .hi = r.hi * together };
    out.dense = hp_piece_is_dense(&out);
    return out;
}

static bool has_buffer(const struct rank_comm *c, int buffer)
{
    for (int i = 0; i < c->n_buffers; i++)
        if (c->buffer[i] == buffer)
            return true;
    return false;
}

static int add_message(struct comm_maker *m, enum message_kind kind, int peer, bool result,
                       int after, const struct piece *piece)
{
    struct rank_comm *c = m->comm;
    if (piece->hi <= piece->lo)
        return after;
    c->message =
        GROW(&m->rank->arena, struct rank_message, c->message, c->n_messages, &m->capacity);
    c->message[c->n_messages] =
        (struct rank_message){ kind, peer, m->tag + result, after, *piece };
    int b = piece->view.buffer;
    if (b >= m->rank->buffers.first[0] && !has_buffer(c, b)) {
        c->buffer = GROW(&m->rank->arena, int, c->buffer, c->n_buffers, &m->buffer_capacity);
        c->buffer[c->n_buffers++] = b;
    }
    return c->n_messages++;
}

/* The owner gets its piece from all others that contribute, and sends it on. */
static void own_piece(struct comm_maker *m, const struct cell *cell, const struct piece *piece)
{
    int me = m->rank->device, last = -1;
    bool there = contributes(cell, me, cell->n_contributions);
    for (int i = 0; i < cell->n_contributions; i++) {
        int from = cell->contribution[i].device;
        if (from == me || contributes(cell, from, i))
            continue;
        last = add_message(m, there ? MESSAGE_SUM : MESSAGE_RECEIVE, from, false, last, piece);
        there = true;
    }
    for (int i = 0; i < cell->n_receivers; i++)
        if (cell->receiver[i] != me)
            add_message(m, MESSAGE_SEND, cell->receiver[i], true, last, piece);
}

/* A cell whose contributions lie on several devices. None of them has all of it by itself, and
 * so more in its buffer than it contributes: its cell would have no owners. */
static void sum_cell(struct comm_maker *m, const struct cell *cell, const struct box *box)
{
    int me = m->rank->device;
    assert(cell->n_kept == 0);
    bool gives = contributes(cell, me, cell->n_contributions);
    bool takes = hp_is_in(cell->receiver, cell->n_receivers, me);
    bool owns = hp_is_in(cell->owner, cell->n_owners, me);
    for (int o = 0; (gives || takes || owns) && o < cell->n_owners; o++, m->tag += 2) {
        struct piece piece = piece_of(m, box, o, cell->n_owners);
        int sent = -1;
        if (cell->owner[o] == me) {
            own_piece(m, cell, &piece);
            continue;
        }
        if (gives)
            sent = add_message(m, MESSAGE_SEND, cell->owner[o], false, -1, &piece);
        if (takes)
            add_message(m, MESSAGE_RECEIVE, cell->owner[o], true, sent, &piece);
    }
}

static void copy_cell(struct comm_maker *m, const struct cell *cell, const struct box *box)
{
    int me = m->rank->device, owner = cell->contribution[0].device;
    if (owner != me && !hp_is_in(cell->receiver, cell->n_receivers, me))
        return;
    struct piece all = piece_of(m, box, 0, 1);
    if (owner != me) {
        add_message(m, MESSAGE_RECEIVE, owner, true, -1, &all);
        return;
    }
    for (int i = 0; i < cell->n_receivers; i++)
        if (cell->receiver[i] != me)
            add_message(m, MESSAGE_SEND, cell->receiver[i], true, -1, &all);
}

/* Two for each piece: to its owner, and from there. */
static int tags_of(const struct cell *cell)
{
    return 2 * (cell->n_owners ? cell->n_owners : 1);
}

void hp_rank_comm(struct rank *rank, struct rank_part *part, int body,
                  const struct rank_task *of)
{
    int task = of->task;
    const struct hypar_program *p = rank->program;
    const struct pattern *pattern = hp_task_pattern(p, task);
    const struct comm *comm = hp_task_comm(p, task);
    part->comm =
        GROW(&rank->arena, struct rank_comm, part->comm, part->n_comms, &part->comm_capacity);
    struct rank_comm *out = &part->comm[part->n_comms++];
    *out =
        (struct rank_comm){ .task = task,
                            .at = of->at,
                            .place = hp_task_place(p, task),
                            .combine =
                                p->lowering->training.exchange[p->task[task].index].combine };
    struct comm_maker m = { .rank = rank,
                            .comm = out,
                            .body = body,
                            .backward = p->task[task].phase != PHASE_FORWARD };
    int tag = rank->first_tag[task];
    for (int i = 0; i < comm->n_cells; i++) {
        m.tag = tag;
        const struct cell *cell = &pattern->cell[comm->cell[i]];
        struct box box = hp_cell_box(pattern, comm->cell[i]);
        if (cell->n_owners)
            sum_cell(&m, cell, &box);
        else
            copy_cell(&m, cell, &box);
        tag += tags_of(cell);
    }
}

int hp_task_tags(const struct hypar_program *p, int task)
{
    int n = 0;
    if (p->task[task].kind != TASK_COMM)
        return n;
    const struct comm *comm = hp_task_comm(p, task);
    for (int i = 0; i < comm->n_cells; i++)
        n += tags_of(&hp_task_pattern(p, task)->cell[comm->cell[i]]);
    return n;
}

void hp_rank_tags(struct rank *rank)
{
    const struct hypar_program *p = rank->program;
    rank->first_tag = NEW(&rank->arena, int, p->n_tasks);
    for (int t = 0; t < p->n_tasks; t++) {
        rank->first_tag[t] = rank->n_tags;
        rank->n_tags += hp_task_tags(p, t);
    }
}
