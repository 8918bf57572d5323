/* The lists of tasks of one rank, from the program. */
#include "run/rank.h"

#include "base/error.h"

int64_t hp_buffer_elements(const struct rank *rank, int buffer)
{
    return hp_box_elements(&rank->buffers.buffer[buffer].box);
}

struct held_view hp_rank_view(const struct rank *rank, int body, struct place place,
                              const struct box *box)
{
    struct held_view out = { .buffer = -1, .box = *box };
    if (hp_box_empty(box))
        return out;
    out.buffer = hp_find_buffer(&rank->buffers, rank->graph, body, place, box);
    if (out.buffer >= 0)
        out.at = hp_place_in_buffer(&rank->buffers, rank->graph, out.buffer, place, box);
    return out;
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
    const struct part_layout *l = rank->program->lowering->body[body].layout[p->op];
    int t = op->tensor[o];
    if (t < 0 || (grad && written && !rank->graph->tensors[t].needs_grad))
        return;
    struct box box = hp_region(op->nest, o, l->range + p->part * op->nest->n_axes);
    struct rank_operand *out = &p->operand[p->n_operands];
    *out = (struct rank_operand){ .operand = o, .tensor = t, .grad = grad, .written = written };
    if (grad && !written && t != rank->graph->loss && rank->exchange_of[2 * t + 1] < 0)
        return; /* nobody computes it: it counts as zero */
    out->view = hp_rank_view(rank, body, (struct place){ t, grad }, &box);
    if (written)
        out->apart = hp_rank_taken(rank, body, p->op, p->pass, o, grad, p->part, &box, out);
    p->n_operands++;
}

/* Do all parts keep the operator's statistics to themselves? */
static bool keeps_statistics(const struct rank *rank, int body, const struct op *op)
{
    for (int o = 0; o < op->nest->n_operands; o++) {
        if (op->nest->operand[o].role != OPERAND_STAT || op->tensor[o] < 0)
            continue;
        int d = rank->exchange_of[2 * op->tensor[o]];
        if (d >= 0 && rank->program->lowering->training.exchange[d].private &&
            rank->program->lowering->body[body].pattern[d]->n_cells == 0)
            return true;
    }
    return false;
}

static void add_pass(struct rank *rank, struct rank_part *to, int body, int op_pass, int part)
{
    const struct lowering *s = rank->program->lowering;
    const struct op_pass *at = &s->training.op_pass[op_pass];
    const struct op *op = &rank->graph->ops[at->op];
    const struct pass *pass = &op->nest->pass[at->pass];
    to->pass = GROW(&rank->arena, struct rank_pass, to->pass, to->n_passes, &to->pass_capacity);
    struct rank_pass *p = &to->pass[to->n_passes++];
    *p = (struct rank_pass){ .op = at->op, .pass = at->pass, .part = part };
    p->adds = hp_adds_after(s->body[body].layout[at->op], at->pass, part);
    p->own_statistics = keeps_statistics(rank, body, op);
    p->operand = NEW(&rank->arena, struct rank_operand, 4 * op->nest->n_operands);
    operand_set reads = p->adds ? pass->reads : pass->reads & ~pass->adds;
    for (int o = 0; o < op->nest->n_operands; o++) {
        if (reads >> o & 1)
            add_operand(rank, body, p, o, false, false);
        if (pass->reads_grad >> o & 1)
            add_operand(rank, body, p, o, true, false);
        if (pass->writes >> o & 1)
            add_operand(rank, body, p, o, false, true);
        if (pass->writes_grad >> o & 1)
            add_operand(rank, body, p, o, true, true);
    }
    p->moves_nothing = hp_is_view(op->nest) && p->n_operands == 2 &&
                       p->operand[0].view.buffer == p->operand[1].view.buffer &&
                       p->operand[0].view.at.offset == p->operand[1].view.at.offset;
    p->buffer = NEW(&rank->arena, int, p->n_operands);
    for (int i = 0; i < p->n_operands; i++)
        if (p->operand[i].view.buffer >= rank->buffers.first[0])
            add_to_list(p->buffer, &p->n_buffers, p->operand[i].view.buffer);
}

/* Who writes first ------------------------------------------------------------------- */

/* Boxes of a buffer that have been written: all by the same name, the others being views. */
struct written {
    int tensor;
    struct box *box;
    int n, capacity;
};

/* Is the write the first one at its place (fresh), or into what one before it wrote? Where it
 * is neither, the whole buffer starts at zero. */
static void place_write(struct rank *rank, struct arena *scratch, struct written *written,
                        struct rank_operand *o)
{
    struct written *w = &written[o->view.buffer];
    const struct box *box = &o->view.box;
    bool apart = true, inside = false, other_name = w->n > 0 && w->tensor != o->tensor;
    for (int i = 0; i < w->n && !other_name; i++) {
        struct box both = hp_box_intersect(&w->box[i], box);
        apart &= hp_box_empty(&both);
        inside |= hp_box_contains(&w->box[i], box);
    }
    o->fresh = apart;
    if (o->apart || other_name || (!apart && !inside))
        rank->clear[o->view.buffer] = true;
    w->box = GROW(scratch, struct box, w->box, w->n, &w->capacity);
    w->box[w->n++] = *box;
    w->tensor = o->tensor;
}

static enum hypar_status find_first_writes(struct rank *rank, int body, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct written *written = NEW(&scratch, struct written, rank->buffers.n);
    struct rank_part *part = &rank->body[body];
    enum hypar_status status = HYPAR_OK;
    for (int i = 0; i < part->n_passes; i++)
        for (int k = 0; k < part->pass[i].n_operands; k++) {
            struct rank_operand *o = &part->pass[i].operand[k];
            if (!o->written || o->view.buffer < 0 || part->pass[i].moves_nothing)
                continue;
            place_write(rank, &scratch, written, o);
            bool stat = rank->graph->tensors[o->tensor].kind == TENSOR_STAT;
            if (part->pass[i].own_statistics && stat && !o->fresh)
                status = hp_fail(err, HYPAR_UNSUPPORTED,
                                 "device %d has two parts of '%s', each with statistics of its "
                                 "own",
                                 rank->device, rank->graph->ops[part->pass[i].op].name);
        }
    hp_arena_free(&scratch);
    return status;
}

/* Gradients that nobody contributes to are zero. */
static void find_zeros(struct rank *rank, int body, int exchange)
{
    const struct lowering *s = rank->program->lowering;
    const struct pattern *p = hp_exchange_pattern(s, body, exchange);
    struct place place = s->training.exchange[exchange].place;
    struct place held = { rank->buffers.held.tensor[place.grad][place.tensor], place.grad };
    for (int c = 0; place.grad && c < p->n_cells; c++) {
        if (p->cell[c].n_contributions > 0)
            continue;
        struct box box = hp_cell_box(p, c);
        box = hp_held_box(rank->graph, &rank->buffers.held, place, box);
        int list = hp_place_lasts(rank->graph, place) ? 0 : 1 + body;
        int at = (list * rank->graph->n_tensors + held.tensor) * 2 + held.grad;
        for (int i = rank->buffers.start[at]; i < rank->buffers.start[at + 1]; i++) {
            struct box both = hp_box_intersect(&rank->buffers.buffer[i].box, &box);
            rank->clear[i] |= !hp_box_empty(&both);
        }
    }
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

static struct rank_task *append(struct rank *rank, struct task_list *list, int task)
{
    list->task = GROW(&rank->arena, struct rank_task, list->task, list->n, &list->capacity);
    struct rank_task *out = &list->task[list->n++];
    *out = (struct rank_task){ .kind = rank->program->task[task].kind, .task = task };
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

static void add_update(struct rank *rank, int task, const struct box *box)
{
    struct rank_part *to = &rank->tail;
    int tensor = hp_task_place(rank->program, task).tensor;
    to->update =
        GROW(&rank->arena, struct rank_update, to->update, to->n_updates, &to->update_capacity);
    to->update[to->n_updates++] = (struct rank_update){
        .tensor = tensor,
        .group = hp_update_group(rank->program, task),
        .param = hp_rank_view(rank, 0, (struct place){ tensor, false }, box),
        .gradient = hp_rank_view(rank, 0, (struct place){ tensor, true }, box),
    };
}

/* Does the rank read the cell, and so have its sum? */
static bool reads_cell(const struct rank *rank, const struct cell *cell)
{
    return hp_is_in(cell->receiver, cell->n_receivers, rank->device) ||
           hp_is_in(cell->kept, cell->n_kept, rank->device);
}

/* A parameter's buffers, each with its gradient; where the tasks read less than a buffer, cell
 * by cell. */
static void add_updates(struct rank *rank, int task, struct rank_task *out)
{
    int tensor = hp_task_place(rank->program, task).tensor;
    const struct pattern *p = hp_task_pattern(rank->program, task);
    const int *start = &rank->buffers.start[2 * tensor];
    out->index = rank->tail.n_updates;
    for (int b = start[0]; b < start[1]; b++) {
        const struct box *all = &rank->buffers.buffer[b].box;
        int64_t read = 0;
        for (int c = 0; c < p->n_cells; c++) {
            struct box cell = hp_cell_box(p, c), both = hp_box_intersect(&cell, all);
            if (reads_cell(rank, &p->cell[c]))
                read += hp_box_elements(&both);
        }
        if (read == hp_box_elements(all)) {
            add_update(rank, task, all);
            continue;
        }
        for (int c = 0; c < p->n_cells; c++) {
            struct box cell = hp_cell_box(p, c), both = hp_box_intersect(&cell, all);
            if (reads_cell(rank, &p->cell[c]) && !hp_box_empty(&both))
                add_update(rank, task, &both);
        }
    }
    out->n = rank->tail.n_updates - out->index;
}

/* The comms of the rank that a task waits for. */
static void add_waits(struct rank *rank, const int *comm_at, struct rank_task *out)
{
    const struct hypar_program *p = rank->program;
    int64_t lo = p->after_start[out->task], hi = p->after_start[out->task + 1];
    int *wait = NEW(&rank->arena, int, hi - lo);
    if (out->kind == TASK_COMM)
        return; /* posted in turn: what it sends is there */
    for (int64_t i = lo; i < hi; i++)
        if (comm_at[p->after[i]] >= 0)
            add_to_list(wait, &out->n_waits, comm_at[p->after[i]]);
    out->wait = wait;
}

static void add_task(struct rank *rank, struct rank_part *to, struct task_list *list, int body,
                     int task, int *comm_at)
{
    if (!takes_part(rank, task))
        return;
    struct rank_task *out = append(rank, list, task);
    switch (out->kind) {
    case TASK_COMPUTE:
        add_compute(rank, to, body, task, out);
        break;
    case TASK_UPDATE:
        add_updates(rank, task, out);
        break;
    case TASK_COMM:
        out->index = comm_at[task] = to->n_comms;
        hp_rank_comm(rank, to, body, task);
        break;
    }
    add_waits(rank, comm_at, out);
}

static void count_uses(struct rank *rank, int body)
{
    struct rank_part *part = &rank->body[body];
    int first = rank->buffers.first[body], n = rank->buffers.first[body + 1] - first;
    part->uses = NEW(&rank->arena, int, n + 1);
    for (int i = 0; i < part->n_passes; i++)
        for (int k = 0; k < part->pass[i].n_buffers; k++)
            part->uses[part->pass[i].buffer[k] - first]++;
    for (int i = 0; i < part->n_comms; i++)
        for (int k = 0; k < part->comm[i].n_buffers; k++)
            part->uses[part->comm[i].buffer[k] - first]++;
}

static enum hypar_status make_body(struct rank *rank, int body, int *comm_at,
                                   struct hypar_error *err)
{
    const struct hypar_program *p = rank->program;
    struct rank_part *part = &rank->body[body];
    part->n_lists = 2;
    part->list = NEW(&rank->arena, struct task_list, 2);
    for (int t = p->first[body]; t < p->first[body + 1]; t++)
        add_task(rank, part, &part->list[p->task[t].backward], body, t, comm_at);
    count_uses(rank, body);
    for (int d = 0; d < p->lowering->training.n_exchanges; d++)
        find_zeros(rank, body, d);
    return find_first_writes(rank, body, err);
}

static void make_tail(struct rank *rank, int *comm_at)
{
    const struct hypar_program *p = rank->program;
    const struct training_graph *k = &p->lowering->training;
    struct rank_part *part = &rank->tail;
    part->n_lists = p->iteration->n_groups;
    part->list = NEW(&rank->arena, struct task_list, part->n_lists);
    for (int t = p->first[p->n_bodies]; t < p->n_tasks; t++)
        add_task(rank, part, &part->list[hp_update_group(p, t)], 0, t, comm_at);
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_tail; d++)
        find_zeros(rank, 0, d);
}

/* The whole -------------------------------------------------------------------------- */

/* The exchanges first .. first + n - 1 by what they settle. */
static int *index_exchanges(struct rank *rank, int first, int n)
{
    const struct exchange *exchange = rank->program->lowering->training.exchange;
    int *exchange_of = NEW(&rank->arena, int, 2 * rank->graph->n_tensors);
    for (int i = 0; i < 2 * rank->graph->n_tensors; i++)
        exchange_of[i] = -1;
    for (int d = first; d < first + n; d++)
        exchange_of[2 * exchange[d].place.tensor + exchange[d].place.grad] = d;
    return exchange_of;
}

static enum hypar_status make(struct rank *rank, struct hypar_error *err)
{
    const struct hypar_program *p = rank->program;
    const struct training_graph *k = &p->lowering->training;
    rank->exchange_of = index_exchanges(rank, 0, k->n_exchanges);
    rank->exchange_of_tail = index_exchanges(rank, k->n_exchanges, k->n_tail);
    rank->buffers = hp_device_buffers(p, rank->device, &rank->arena);
    rank->clear = NEW(&rank->arena, bool, rank->buffers.n);
    rank->is_index = NEW(&rank->arena, bool, rank->buffers.n);
    for (int i = 0; i < rank->buffers.n; i++) {
        struct place place = rank->buffers.buffer[i].place;
        rank->is_index[i] = !place.grad && rank->graph->tensors[place.tensor].index;
        rank->clear[i] = place.tensor == rank->graph->loss; /* a part may be empty */
    }
    hp_rank_tags(rank);
    struct arena scratch = { 0 };
    int *comm_at = NEW(&scratch, int, p->n_tasks);
    for (int t = 0; t < p->n_tasks; t++)
        comm_at[t] = -1;
    rank->body = NEW(&rank->arena, struct rank_part, p->n_bodies);
    enum hypar_status status = HYPAR_OK;
    for (int b = 0; b < p->n_bodies && status == HYPAR_OK; b++)
        status = make_body(rank, b, comm_at, err);
    make_tail(rank, comm_at);
    hp_arena_free(&scratch);
    return status;
}

enum hypar_status hp_rank_make(struct rank **out, const struct hypar_program *program,
                               int device, struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct rank *rank = NEW(&arena, struct rank, 1);
    rank->arena = arena;
    rank->program = program;
    rank->graph = program->plan->graph;
    rank->device = device;
    enum hypar_status status = make(rank, err);
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
    struct arena arena = rank->arena; /* the rank lives in it */
    hp_arena_free(&arena);
}
