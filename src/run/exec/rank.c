/* Making the lists of one rank's tasks from the program. */
#include "run/exec/rank.h"

#include <assert.h>

#include "base/csr.h"
#include "run/running.h"

int64_t hp_buffer_elements(const struct rank *rank, int buffer)
{
    return hp_box_elements(&rank->buffers.buffer[buffer].box);
}

struct held_view hp_rank_view(const struct rank *rank, int body, bool backward,
                              struct place place, const struct box *box)
{
    struct held_view out = { .buffer = -1, .box = *box };
    if (hp_box_empty(box))
        return out;
    out.buffer = hp_find_buffer(&rank->buffers, rank->graph, body, backward, place, box);
    if (out.buffer >= 0)
        out.at = hp_place_in_buffer(&rank->buffers, rank->graph, out.buffer, place, box);
    return out;
}

struct held_view hp_rank_running(const struct rank *rank, int tensor, const struct box *box)
{
    struct held_view out = { .box = *box };
    out.buffer = hp_find_running(&rank->buffers, tensor, box);
    if (out.buffer >= 0)
        out.at = hp_place_in_buffer(&rank->buffers, rank->graph, out.buffer,
                                    (struct place){ .tensor = tensor }, box);
    return out;
}

/* Pieces ----------------------------------------------------------------------------- */

const struct owned_piece *hp_rank_owned(const struct rank *rank, struct place place,
                                        const struct box *box, int64_t lo)
{
    for (int i = 0; i < rank->n_owned; i++) {
        const struct owned_piece *p = &rank->owned[i];
        if (p->place.tensor == place.tensor && p->place.grad == place.grad &&
            p->elements.lo == lo && hp_box_equal(&p->box, box))
            return p;
    }
    return NULL;
}

/* List the pieces of a lasting buffer, one after another. */
static void list_owned(struct rank *rank, int buffer)
{
    struct place place = rank->buffers.buffer[buffer].place;
    const struct pattern *p = hp_pieces(rank->program->lowering, place);
    int64_t at = 0;
    for (int c = 0; c < p->n_cells; c++) {
        const struct cell *cell = &p->cell[c];
        if (!cell->elements || !hp_owns(cell, place, rank->device))
            continue;
        rank->owned = GROW(&rank->arena, struct owned_piece, rank->owned, rank->n_owned,
                           &rank->owned_capacity);
        rank->owned[rank->n_owned++] =
            (struct owned_piece){ .place = place,
                                  .box = hp_cell_box(p, c),
                                  .elements = { cell->lo, cell->lo + cell->elements },
                                  .view = { .buffer = buffer,
                                            .box = { 1, { { 0, cell->elements } } },
                                            .at = { at, { 1 } } } };
        at += cell->elements;
    }
}

/* Operands --------------------------------------------------------------------------- */

static bool add_to_list(int *list, int *n, int value)
{
    for (int i = 0; i < *n; i++)
        if (list[i] == value)
            return false;
    list[(*n)++] = value;
    return true;
}

static void add_operand(struct rank *rank, int body, struct rank_pass *p, int o, bool grad,
                        bool written)
{
    const struct op *op = &rank->graph->ops[p->op];
    const struct op_parts *l = rank->program->lowering->body[body].parts[p->op];
    const struct lowering *s = rank->program->lowering;
    int op_pass = hp_op_pass(&s->training, p->op, p->pass, p->again);
    struct place place = hp_operand_place(s, &s->training.op_pass[op_pass], o, grad, written);
    int t = place.tensor;
    if (t < 0 || (grad && written && !rank->graph->tensors[t].needs_grad))
        return;
    struct box box = hp_region(op->nest, o, l->range + p->part * op->nest->n_axes);
    struct rank_operand *out = &p->operand[p->n_operands];
    *out = (struct rank_operand){ .operand = o, .place = place, .written = written };
    if (grad && !written && t != rank->graph->loss &&
        rank->exchange_of[hp_place_index(place)] < 0)
        return; /* nobody computes it: it counts as zero */
    out->view = (struct held_view){ .buffer = -1, .box = box };
    if (!grad || t != rank->graph->loss) /* the loss's gradient is 1 and has no buffer */
        out->view = hp_rank_view(rank, body, p->backward, place, &box);
    assert(out->view.buffer >= 0 || hp_box_empty(&box) || (grad && t == rank->graph->loss));
    if (written)
        out->apart = hp_rank_taken(rank, body, p, &box, out);
    p->n_operands++;
}

/* Do all parts keep the operator's statistics to themselves? */
static bool keeps_statistics(const struct rank *rank, int body, const struct op *op)
{
    for (int o = 0; o < op->nest->n_operands; o++) {
        if (op->nest->operand[o].role != OPERAND_STAT || op->tensor[o] < 0)
            continue;
        int d = rank->exchange_of[hp_place_index((struct place){ .tensor = op->tensor[o] })];
        if (d >= 0 && rank->program->lowering->training.exchange[d].private &&
            rank->program->lowering->body[body].pattern[d]->n_cells == 0)
            return true;
    }
    return false;
}

/* Find the running statistics of a pass. Two parts of an operator have the same channels, or
 * disjoint ones. */
static void add_running(const struct rank *rank, const struct rank_part *part, int body,
                        struct rank_pass *p)
{
    const struct op *op = &rank->graph->ops[p->op];
    const struct op_parts *l = rank->program->lowering->body[body].parts[p->op];
    int o = hp_running_operand(rank->graph, op, p->pass);
    p->running_operand = o;
    p->running.buffer = -1;
    if (o < 0 || p->again || rank->program->iteration->forward)
        return;
    struct box box = hp_region(op->nest, o, l->range + p->part * op->nest->n_axes);
    for (const struct rank_pass *before = part->pass; before < p; before++)
        if (before->op == p->op && before->running.buffer >= 0 &&
            hp_box_contains(&before->running.box, &box))
            return;
    p->running = hp_rank_running(rank, op->tensor[o], &box);
}

/* The buffer holds the part's mask, and nothing else. */
static void add_mask(const struct rank *rank, int body, struct rank_pass *p)
{
    const struct op *op = &rank->graph->ops[p->op];
    int tensor = op->tensor[op->nest->n_inputs];
    p->mask.buffer = op->kind == OP_DROPOUT
                         ? hp_find_mask(&rank->buffers, rank->graph, body, tensor, p->part)
                         : -1;
    if (p->mask.buffer >= 0)
        p->mask.box = rank->buffers.buffer[p->mask.buffer].box;
}

static void add_pass(struct rank *rank, struct rank_part *to, int body, int op_pass, int part)
{
    const struct lowering *s = rank->program->lowering;
    const struct op_pass *at = &s->training.op_pass[op_pass];
    const struct op *op = &rank->graph->ops[at->op];
    const struct pass *pass = &op->nest->pass[at->pass];
    to->pass = GROW(&rank->arena, struct rank_pass, to->pass, to->n_passes, &to->pass_capacity);
    struct rank_pass *p = &to->pass[to->n_passes++];
    *p = (struct rank_pass){ .op = at->op,
                             .pass = at->pass,
                             .part = part,
                             .backward = at->backward,
                             .again = at->again,
                             .resend = at->resend };
    p->adds = hp_adds_after(s->body[body].parts[at->op], at->pass, part);
    p->own_statistics = keeps_statistics(rank, body, op);
    p->operand = NEW(&rank->arena, struct rank_operand, 4 * op->nest->n_operands);
    struct pass_operands all = hp_pass_operands(s, at);
    operand_set reads = p->adds || at->resend ? all.reads : all.reads & ~pass->adds;
    for (int o = 0; o < op->nest->n_operands; o++) {
        if (reads >> o & 1)
            add_operand(rank, body, p, o, false, false);
        if (all.reads_grad >> o & 1)
            add_operand(rank, body, p, o, true, false);
        if (all.writes >> o & 1)
            add_operand(rank, body, p, o, false, true);
        if (all.writes_grad >> o & 1)
            add_operand(rank, body, p, o, true, true);
    }
    p->moves_nothing = hp_is_view(op->nest) && p->n_operands == 2 &&
                       p->operand[0].view.buffer == p->operand[1].view.buffer &&
                       p->operand[0].view.at.offset == p->operand[1].view.at.offset;
    add_running(rank, to, body, p);
    add_mask(rank, body, p);
}

/* Tasks ------------------------------------------------------------------------------ */

static bool takes_part(const struct rank *rank, int task)
{
    const struct task *t = &rank->program->task[task];
    if (t->kind != TASK_COMM)
        return t->device == rank->device;
    const struct comm *comm = hp_task_comm(rank->program, task);
    return hp_is_in(comm->device, comm->n_devices, rank->device);
}

static struct rank_task *append(struct rank *rank, struct rank_part *part,
                                struct task_list *list, int task, int at)
{
    list->task = GROW(&rank->arena, struct rank_task, list->task, list->n, &list->capacity);
    struct rank_task *out = &list->task[list->n++];
    *out = (struct rank_task){ .kind = rank->program->task[task].kind, .task = task, .at = at };
    part->n_tasks++;
    return out;
}

static void add_compute(struct rank *rank, struct rank_part *to, int body, int task,
                        struct rank_task *out)
{
    const struct task *t = &rank->program->task[task];
    const int *next = rank->program->blocks->next[body];
    out->index = to->n_passes;
    for (int op_pass = t->index; op_pass >= 0; op_pass = next[op_pass])
        add_pass(rank, to, body, op_pass, t->part);
    out->n = to->n_passes - out->index;
}

static struct rank_update *add_update(struct rank *rank, int task, const struct box *box,
                                      struct range elements)
{
    struct rank_part *to = &rank->tail;
    int tensor = hp_task_place(rank->program, task).tensor;
    to->update =
        GROW(&rank->arena, struct rank_update, to->update, to->n_updates, &to->update_capacity);
    struct rank_update *out = &to->update[to->n_updates++];
    *out = (struct rank_update){
        .tensor = tensor,
        .group = hp_update_group(rank->program, task),
        .box = *box,
        .elements = elements,
        .state = -1,
    };
    for (int grad = 0; grad < 2; grad++) {
        struct place place = { .tensor = tensor, .grad = grad };
        struct held_view *view = grad ? &out->gradient : &out->param;
        if (hp_is_divided(&rank->buffers.held, place)) {
            const struct owned_piece *own = hp_rank_owned(rank, place, box, elements.lo);
            *(grad ? &out->flat_gradient : &out->flat_param) = true;
            *view = own ? own->view : (struct held_view){ .buffer = -1 };
        } else {
            *view = hp_rank_view(rank, 0, true, place, box);
        }
    }
    return out;
}

/* Does the rank read the cell, and so have its sum? */
static bool reads_cell(const struct rank *rank, const struct cell *cell)
{
    return hp_is_in(cell->receiver, cell->n_receivers, rank->device) ||
           hp_is_in(cell->kept, cell->n_kept, rank->device);
}

/* Add the pieces of a divided parameter that the rank owns. */
static void add_owned(struct rank *rank, int task, const struct pattern *p)
{
    for (int c = 0; c < p->n_cells; c++) {
        const struct cell *cell = &p->cell[c];
        struct box box = hp_cell_box(p, c);
        if (!reads_cell(rank, cell))
            continue;
        struct rank_update *u =
            add_update(rank, task, &box, (struct range){ cell->lo, cell->lo + cell->elements });
        if (u->param.buffer < 0)
            continue; /* an empty piece */
        u->state = u->flat_param ? u->param.at.offset : rank->states[u->param.buffer];
        rank->states[u->param.buffer] += cell->elements;
    }
}

/* Add a parameter's buffers, each with its gradient; cell by cell where the tasks read less
 * than a buffer. */
static void add_updates(struct rank *rank, int task, struct rank_task *out)
{
    int tensor = hp_task_place(rank->program, task).tensor;
    const struct pattern *p = hp_task_pattern(rank->program, task);
    const int *start = &rank->buffers.start[hp_place_index((struct place){ .tensor = tensor })];
    int d = rank->program->task[task].index;
    out->index = rank->tail.n_updates;
    if (rank->program->lowering->training.exchange[d].division != DIVIDE_NOT) {
        add_owned(rank, task, p);
        out->n = rank->tail.n_updates - out->index;
        return;
    }
    for (int b = start[0]; b < start[1]; b++) {
        const struct box *all = &rank->buffers.buffer[b].box;
        int64_t read = 0;
        for (int c = 0; c < p->n_cells; c++) {
            struct box cell = hp_cell_box(p, c), both = hp_box_intersect(&cell, all);
            if (reads_cell(rank, &p->cell[c]))
                read += hp_box_elements(&both);
        }
        if (read == hp_box_elements(all)) {
            add_update(rank, task, all, (struct range){ 0, hp_box_elements(all) });
            continue;
        }
        for (int c = 0; c < p->n_cells; c++) {
            struct box cell = hp_cell_box(p, c), both = hp_box_intersect(&cell, all);
            if (reads_cell(rank, &p->cell[c]) && !hp_box_empty(&both))
                add_update(rank, task, &both, (struct range){ 0, hp_box_elements(&both) });
        }
    }
    out->n = rank->tail.n_updates - out->index;
}

/* Add the rank's share of every gradient, cell by cell. */
static void add_squares(struct rank *rank, struct rank_task *out)
{
    const struct lowering *s = rank->program->lowering;
    struct rank_part *to = &rank->tail;
    for (int d = s->training.n_exchanges; d < s->training.norm; d++) {
        struct place place = s->training.exchange[d].place;
        const struct pattern *p = hp_exchange_pattern(s, 0, d);
        for (int c = 0; place.grad && c < p->n_cells; c++) {
            struct range share = hp_norm_share(&p->cell[c], rank->device);
            struct box box = hp_cell_box(p, c);
            if (hp_range_empty(share))
                continue;
            share.lo += p->cell[c].lo;
            share.hi += p->cell[c].lo;
            to->square = GROW(&rank->arena, struct rank_square, to->square, to->n_squares,
                              &to->square_capacity);
            struct rank_square *square = &to->square[to->n_squares++];
            *square = (struct rank_square){ .tensor = place.tensor, .elements = share };
            square->flat = hp_is_divided(&rank->buffers.held, place);
            square->gradient = square->flat
                                   ? hp_rank_owned(rank, place, &box, p->cell[c].lo)->view
                                   : hp_rank_view(rank, 0, true, place, &box);
            if (square->flat) { /* of the piece */
                square->elements.lo -= p->cell[c].lo;
                square->elements.hi -= p->cell[c].lo;
            }
        }
    }
    out->n = to->n_squares;
}

/* The tasks of one part under construction. */
struct part_maker {
    struct rank *rank;
    struct rank_part *part;
    int body;          /* 0 for the tail */
    int lo, hi;        /* its tasks */
    const int *number; /* by task: its number in its part on the rank; -1: another rank's */
};

static void add_waits(const struct part_maker *m, struct rank_task *out)
{
    const struct hypar_program *p = m->rank->program;
    const int *after = p->after + p->after_start[out->task];
    int n = (int)(p->after_start[out->task + 1] - p->after_start[out->task]);
    int *wait = NEW(&m->rank->arena, int, n);
    struct body_task *before = NEW(&m->rank->arena, struct body_task, m->lo > 0 ? n : 0);
    for (int i = 0; i < n; i++) {
        int number = m->number[after[i]];
        if (number >= 0 && after[i] >= m->lo && after[i] < m->hi)
            add_to_list(wait, &out->n_waits, number);
        else if (number >= 0 && hp_is_tail(p, out->task))
            before[out->n_before++] = (struct body_task){ hp_task_body(p, after[i]), number };
    }
    out->wait = wait;
    out->before = before;
}

static void add_task(const struct part_maker *m, struct task_list *list, int task)
{
    if (m->number[task] < 0)
        return;
    struct rank_task *out = append(m->rank, m->part, list, task, m->number[task]);
    switch (out->kind) {
    case TASK_COMPUTE:
        add_compute(m->rank, m->part, m->body, task, out);
        break;
    case TASK_NORM:
        add_squares(m->rank, out);
        break;
    case TASK_UPDATE:
        add_updates(m->rank, task, out);
        break;
    case TASK_COMM:
        out->index = m->part->n_comms;
        hp_rank_comm(m->rank, m->part, m->body, out);
        break;
    }
    add_waits(m, out);
}

/* The buffers of a body by the pass with which they begin (or end). */
static void sort_buffers(struct rank *rank, int body, bool begin, int **start, int **sorted)
{
    const struct device_buffers *all = &rank->buffers;
    struct csr lists = { .arena = &rank->arena, .n_keys = rank->body[body].n_passes };
    while (hp_csr_pass(&lists))
        for (int i = all->first[body]; i < all->first[body + 1]; i++) {
            int pass = begin ? all->buffer[i].begin : all->buffer[i].end;
            if (pass >= 0)
                hp_csr_put(&lists, pass, i);
        }
    *start = lists.start;
    *sorted = lists.item;
}

/* The buffers of a kind by the action in which, or before which, they end. */
static void sort_by_last(struct rank *rank, int body, bool over, int **start, int **sorted)
{
    const struct device_buffers *all = &rank->buffers;
    const struct schedule *s = rank->program->schedule;
    struct csr lists = { .arena = &rank->arena, .n_keys = rank->n_actions + 1 };
    while (hp_csr_pass(&lists))
        for (int i = all->first[body]; i < all->first[body + 1]; i++) {
            const struct buffer *b = &all->buffer[i];
            if (over ? b->held_past_slot : b->held_until_action)
                hp_csr_put(&lists,
                           b->held_until_done ? rank->n_actions
                                              : hp_own_action(s, rank->slots, b->last),
                           i);
        }
    *start = lists.start;
    *sorted = lists.item;
}

static void list_buffers(struct rank *rank, int body)
{
    const struct device_buffers *all = &rank->buffers;
    struct rank_part *part = &rank->body[body];
    sort_buffers(rank, body, true, &part->begin_start, &part->begins);
    sort_buffers(rank, body, false, &part->end_start, &part->ends);
    sort_by_last(rank, body, false, &part->waits_start, &part->waits);
    sort_by_last(rank, body, true, &part->over_start, &part->over);
    part->rests = NEW(&rank->arena, int, all->first[body + 1] - all->first[body]);
    for (int i = all->first[body]; i < all->first[body + 1]; i++)
        if (all->buffer[i].held_until_done && !all->buffer[i].held_past_slot)
            part->rests[part->n_rests++] = i;
}

/* Number the tasks in which the rank takes part, in each part. */
static int *number_tasks(const struct rank *rank, struct arena *scratch)
{
    const struct hypar_program *p = rank->program;
    int *number = NEW(scratch, int, p->n_tasks);
    for (int b = 0; b <= p->n_bodies; b++)
        for (int t = p->first[b], n = 0; t < p->first[b + 1]; t++)
            number[t] = takes_part(rank, t) ? n++ : -1;
    return number;
}

/* The rank's action in which a task of a body runs. */
static int action_of(const struct rank *rank, int body, int task)
{
    const struct lowering *s = rank->program->lowering;
    const struct task *t = &rank->program->task[task];
    int action = t->kind == TASK_COMM ? hp_comm_action(s, body, t->index, t->comm, rank->device)
                                      : hp_pass_action(s, t->index);
    return hp_own_action(&s->schedule, rank->slots, action);
}

/* The rank's tasks of a body by action, then in the order of numbers. */
static struct csr sort_tasks(const struct part_maker *m, struct arena *scratch)
{
    struct csr sorted = { .arena = scratch, .n_keys = m->rank->n_actions };
    while (hp_csr_pass(&sorted))
        for (int t = m->lo; t < m->hi; t++)
            if (m->number[t] >= 0)
                hp_csr_put(&sorted, action_of(m->rank, m->body, t), t);
    return sorted;
}

static enum hypar_status make_body(struct rank *rank, int body, const int *number,
                                   struct hypar_error *err)
{
    const struct hypar_program *p = rank->program;
    struct rank_part *part = &rank->body[body];
    struct part_maker m = { rank, part, body, p->first[body], p->first[body + 1], number };
    struct arena scratch = { 0 };
    struct csr sorted = sort_tasks(&m, &scratch);
    part->n_lists = rank->n_actions;
    part->list = NEW(&rank->arena, struct task_list, part->n_lists);
    part->first_pass = NEW(&rank->arena, int, part->n_lists + 1);
    for (int k = 0; k < part->n_lists; k++) {
        for (int i = sorted.start[k]; i < sorted.start[k + 1]; i++)
            add_task(&m, &part->list[k], sorted.item[i]);
        part->first_pass[k + 1] = part->n_passes;
    }
    hp_arena_free(&scratch);
    list_buffers(rank, body);
    for (int d = 0; d < p->lowering->training.n_exchanges; d++) {
        hp_rank_zeros(rank, body, d);
        if (p->lowering->training.exchange[d].division == DIVIDE_SUM)
            hp_rank_adds(rank, body, d);
    }
    return hp_rank_first_writes(rank, body, err);
}

/* Mark the tasks of bodies for which sums of the tail wait. */
static void mark_feeds(struct rank *rank)
{
    for (int b = 0; b < rank->program->n_bodies; b++)
        rank->body[b].feeds = NEW(&rank->arena, bool, rank->body[b].n_tasks + 1);
    for (int g = 0; g < rank->tail.n_lists; g++)
        for (int i = 0; i < rank->tail.list[g].n; i++) {
            const struct rank_task *t = &rank->tail.list[g].task[i];
            for (int k = 0; k < t->n_before; k++)
                rank->body[t->before[k].body].feeds[t->before[k].at] = true;
        }
}

static void make_tail(struct rank *rank, const int *number)
{
    const struct hypar_program *p = rank->program;
    const struct training_graph *k = &p->lowering->training;
    struct rank_part *part = &rank->tail;
    struct part_maker m = { rank, part, 0, p->first[p->n_bodies], p->n_tasks, number };
    part->n_lists = p->iteration->n_groups;
    part->list = NEW(&rank->arena, struct task_list, part->n_lists);
    for (int t = m.lo; t < m.hi; t++)
        add_task(&m, &part->list[hp_update_group(p, t)], t);
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_tail; d++) {
        hp_rank_zeros(rank, 0, d);
        if (!k->exchange[d].place.grad && k->exchange[d].place.tensor == rank->graph->loss)
            rank->knows_loss = reads_cell(rank, hp_exchange_pattern(p->lowering, 0, d)->cell);
    }
    mark_feeds(rank);
}

/* All steps -------------------------------------------------------------------------- */

/* The exchanges first .. first + n - 1 by their place. */
static int *index_exchanges(struct rank *rank, int first, int n)
{
    const struct exchange *exchange = rank->program->lowering->training.exchange;
    int *exchange_of = NEW(&rank->arena, int, HP_PLACES * rank->graph->n_tensors);
    for (int i = 0; i < HP_PLACES * rank->graph->n_tensors; i++)
        exchange_of[i] = -1;
    for (int d = first; d < first + n; d++)
        exchange_of[hp_place_index(exchange[d].place)] = d;
    return exchange_of;
}

static enum hypar_status make(struct rank *rank, const struct rank_options *how,
                              struct hypar_error *err)
{
    const struct hypar_program *p = rank->program;
    const struct training_graph *k = &p->lowering->training;
    rank->exchange_of = index_exchanges(rank, 0, k->n_exchanges);
    rank->exchange_of_tail = index_exchanges(rank, k->n_exchanges, k->n_tail);
    rank->buffers = hp_device_buffers(p, rank->device, how->in_order, how->like, &rank->arena);
    if (how->channels_last)
        hp_rank_images(rank);
    rank->states = NEW(&rank->arena, int64_t, rank->buffers.first[0] + 1);
    rank->clear = NEW(&rank->arena, bool, rank->buffers.n);
    rank->is_index = NEW(&rank->arena, bool, rank->buffers.n);
    for (int i = 0; i < rank->buffers.n; i++) {
        struct place place = rank->buffers.buffer[i].place;
        rank->is_index[i] = !place.grad && rank->graph->tensors[place.tensor].index;
        /* the loss: a part of it may be empty; sums that any micro-batch may begin */
        rank->clear[i] = place.grad ? p->schedule->grouped && i < rank->buffers.first[0]
                                    : place.tensor == rank->graph->loss;
    }
    for (int i = 0; i < rank->buffers.first[0]; i++) {
        if (rank->buffers.buffer[i].flat) {
            list_owned(rank, i);
            rank->clear[i] |= rank->buffers.buffer[i].place.grad;
        }
        int sum = rank->exchange_of_tail[hp_place_index(
            (struct place){ .tensor = rank->buffers.buffer[i].place.tensor, .grad = true })];
        if (sum >= 0 && k->exchange[sum].division == DIVIDE_NOT)
            rank->states[i] = hp_buffer_elements(rank, i);
    }
    struct box scalar = { .n_dims = 0 };
    rank->loss = hp_find_buffer(&rank->buffers, rank->graph, 0, true,
                                (struct place){ .tensor = rank->graph->loss }, &scalar);
    rank->norm =
        hp_find_buffer(&rank->buffers, rank->graph, 0, true,
                       (struct place){ .tensor = rank->graph->loss, .grad = true }, &scalar);
    hp_rank_tags(rank);
    struct arena scratch = { 0 };
    const int *number = number_tasks(rank, &scratch);
    rank->body = NEW(&rank->arena, struct rank_part, p->n_bodies);
    enum hypar_status status = HYPAR_OK;
    for (int b = 0; b < p->n_bodies && status == HYPAR_OK; b++)
        status = make_body(rank, b, number, err);
    for (int b = 1; b < p->n_bodies && !p->iteration->delayed && status == HYPAR_OK; b++)
        hp_rank_later_writes(rank, b);
    if (status == HYPAR_OK)
        make_tail(rank, number);
    hp_arena_free(&scratch);
    return status;
}

enum hypar_status hp_rank_make(struct rank **out, const struct hypar_program *program,
                               int device, const struct rank_options *how,
                               struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct rank *rank = NEW(&arena, struct rank, 1);
    rank->arena = arena;
    rank->program = program;
    rank->graph = program->plan->graph;
    rank->device = device;
    rank->slots = hp_slots_of(program->schedule, device);
    rank->n_actions = hp_list_actions(program->schedule, rank->slots);
    enum hypar_status status = make(rank, how, err);
    *out = rank;
    if (status != HYPAR_OK) {
        hp_rank_free(rank);
        *out = NULL;
    }
    return status;
}

void hp_rank_free(struct rank *rank)
{
    if (!rank)
        return;
    hp_arena_free(&rank->arena);
}
