/* The messages of one rank in a comm: the exchange rule, cell by cell.
 *
 * The contributors of a cell send each owner its piece. The owner combines the pieces, its own
 * first, then by device, and sends the result to the other readers. */
#include "run/exec/state.h"

#include <assert.h>

struct comm_maker {
    struct rank *rank;
    struct rank_comm *comm;
    int body, capacity, buffer_capacity, add_capacity;
    bool backward;
    bool divided; /* a gradient that is added to its owners' pieces */
    int tag;      /* of the current piece, towards its owner; the next tag is its result's */
};

/* Is `device` among the first `before` contributions? Only the first one of each device
 * counts. */
static bool contributes(const struct cell *cell, int device, int before)
{
    for (int i = 0; i < before; i++)
        if (cell->contribution[i].device == device)
            return true;
    return false;
}

/* Piece `o` of `pieces` of a cell; the pairs of softmax statistics are not separated. `owned`:
 * the piece is a lasting one of the rank. */
static struct piece piece_of(struct comm_maker *m, const struct cell *cell,
                             const struct box *box, int o, int pieces, bool owned)
{
    int64_t together = m->comm->combine == COMBINE_SOFTMAX ? 2 : 1;
    struct range r = hp_even_part(cell->elements / together, pieces, o);
    struct place place = m->comm->place;
    place.again &= !owned;
    const struct owned_piece *own = owned ? hp_rank_owned(m->rank, place, box, cell->lo) : NULL;
    if (owned && !own)
        return (struct piece){ .dense = true }; /* an empty piece */
    int64_t lo = own ? 0 : cell->lo;
    struct piece out = { .view = own ? own->view
                                     : hp_rank_view(m->rank, m->body, m->backward, place, box),
                         .lo = lo + r.lo * together,
                         .hi = lo + r.hi * together };
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

/* A comm touches a buffer of its micro-batch. */
static void touch(struct comm_maker *m, int buffer)
{
    struct rank_comm *c = m->comm;
    if (buffer < m->rank->buffers.first[0] || has_buffer(c, buffer))
        return;
    c->buffer = GROW(&m->rank->arena, int, c->buffer, c->n_buffers, &m->buffer_capacity);
    c->buffer[c->n_buffers++] = buffer;
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
    touch(m, piece->view.buffer);
    return c->n_messages++;
}

/* Add the rank's own sum of a divided gradient's piece. */
static void add_own(struct comm_maker *m, const struct piece *from, const struct piece *to)
{
    struct rank_comm *c = m->comm;
    if (to->hi <= to->lo)
        return;
    c->add = GROW(&m->rank->arena, struct rank_add, c->add, c->n_adds, &m->add_capacity);
    c->add[c->n_adds++] =
        (struct rank_add){ .tensor = c->place.tensor, .from = *from, .to = *to };
    touch(m, from->view.buffer);
}

/* The owner receives its piece from all other contributors, and sends the result on. */
static void own_piece(struct comm_maker *m, const struct cell *cell, const struct piece *piece)
{
    int me = m->rank->device, last = -1;
    bool there = m->divided || contributes(cell, me, cell->n_contributions);
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

/* A cell whose contributions lie on several devices. No device has the whole cell, and so none
 * has more in its buffer than it contributes: the cell would have no owners. */
static void sum_cell(struct comm_maker *m, const struct cell *cell, const struct box *box)
{
    int me = m->rank->device;
    assert(cell->n_kept == 0);
    bool gives = contributes(cell, me, cell->n_contributions);
    bool takes = hp_is_in(cell->receiver, cell->n_receivers, me);
    bool owns = hp_is_in(cell->owner, cell->n_owners, me);
    for (int o = 0; (gives || takes || owns) && o < cell->n_owners; o++, m->tag += 2) {
        struct piece mine = { 0 }, kept = { 0 };
        if (gives || !m->divided)
            mine = piece_of(m, cell, box, o, cell->n_owners, false);
        if (m->divided && takes)
            kept = piece_of(m, cell, box, o, cell->n_owners, true);
        int sent = -1;
        if (cell->owner[o] == me) {
            own_piece(m, cell, gives || !m->divided ? &mine : &kept);
            if (m->divided && gives && takes)
                add_own(m, &mine, &kept);
            continue;
        }
        if (gives)
            sent = add_message(m, MESSAGE_SEND, cell->owner[o], false, -1, &mine);
        if (takes)
            add_message(m, m->divided ? MESSAGE_SUM : MESSAGE_RECEIVE, cell->owner[o], true,
                        sent, m->divided ? &kept : &mine);
    }
}

/* One device has the whole cell; for a gathered parameter, it lasts from step to step. */
static void copy_cell(struct comm_maker *m, const struct cell *cell, const struct box *box,
                      enum division division)
{
    int me = m->rank->device, owner = cell->contribution[0].device;
    if (owner != me && !hp_is_in(cell->receiver, cell->n_receivers, me))
        return;
    if (owner != me) {
        struct piece all = piece_of(m, cell, box, 0, 1, m->divided);
        add_message(m, m->divided ? MESSAGE_SUM : MESSAGE_RECEIVE, owner, true, -1, &all);
        return;
    }
    bool lasting = division == DIVIDE_GATHER && m->comm->divided;
    struct piece all = piece_of(m, cell, box, 0, 1, lasting);
    for (int i = 0; i < cell->n_receivers; i++)
        if (cell->receiver[i] != me)
            add_message(m, MESSAGE_SEND, cell->receiver[i], true, -1, &all);
}

/* Two tags for each piece: to its owner, and from there. */
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
    enum division division = p->lowering->training.exchange[p->task[task].index].division;
    bool divided = division != DIVIDE_NOT && !hp_is_tail(p, task);
    out->divided = divided;
    struct comm_maker m = { .rank = rank,
                            .comm = out,
                            .body = body,
                            .backward = p->task[task].phase != PHASE_FORWARD,
                            .divided = divided && division == DIVIDE_SUM };
    int tag = rank->first_tag[task];
    for (int i = 0; i < comm->n_cells; i++) {
        m.tag = tag;
        const struct cell *cell = &pattern->cell[comm->cell[i]];
        struct box box = hp_cell_box(pattern, comm->cell[i]);
        if (cell->n_owners)
            sum_cell(&m, cell, &box);
        else
            copy_cell(&m, cell, &box, division);
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

/* The number of the rank's passes that write a part of a box of a gradient. */
static int count_writers(const struct rank_part *part, int tensor, const struct box *box)
{
    int n = 0;
    for (int i = 0; i < part->n_passes; i++)
        n += hp_writes_gradient(&part->pass[i], tensor, box);
    return n;
}

bool hp_writes_gradient(const struct rank_pass *pass, int tensor, const struct box *box)
{
    for (int k = 0; k < pass->n_operands; k++) {
        const struct rank_operand *o = &pass->operand[k];
        if (!o->written || !o->place.grad || o->place.tensor != tensor)
            continue;
        struct box both = hp_box_intersect(&o->view.box, box);
        if (!hp_box_empty(&both))
            return true;
    }
    return false;
}

/* The pieces that this rank computes without contributions of others. */
void hp_rank_adds(struct rank *rank, int body, int exchange)
{
    const struct lowering *s = rank->program->lowering;
    const struct pattern *p = hp_exchange_pattern(s, body, exchange);
    struct rank_part *part = &rank->body[body];
    struct rank_comm comm = { .place = s->training.exchange[exchange].place };
    struct comm_maker m = { .rank = rank, .comm = &comm, .body = body, .backward = true };
    for (int c = 0; c < p->n_cells; c++) {
        const struct cell *cell = &p->cell[c];
        struct box box = hp_cell_box(p, c);
        if (!cell->elements || !hp_is_in(cell->kept, cell->n_kept, rank->device))
            continue;
        part->add =
            GROW(&rank->arena, struct rank_add, part->add, part->n_adds, &part->add_capacity);
        part->add[part->n_adds++] =
            (struct rank_add){ .tensor = comm.place.tensor,
                               .box = box,
                               .from = piece_of(&m, cell, &box, 0, 1, false),
                               .to = piece_of(&m, cell, &box, 0, 1, true),
                               .n_writers = count_writers(part, comm.place.tensor, &box) };
    }
}
