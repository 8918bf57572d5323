/* The totals of a program: tasks, and bytes by operator and by pair of devices. */
#include "program/lowering.h"

static void add_task(const struct hypar_program *p, int i, struct hypar_program_totals *out)
{
    const struct task *t = &p->task[i];
    bool tail = hp_is_tail(p, i);
    int64_t times = (int64_t)(hp_task_times(p, i) * p->iteration->n_batches + .5);
    out->tasks += times;
    out->compute += t->kind == TASK_COMPUTE ? times : 0;
    out->update += t->kind == TASK_UPDATE || t->kind == TASK_NORM ? times : 0;
    if (t->kind != TASK_COMM)
        return;
    double bytes = hp_task_times(p, i) * hp_task_bytes(p, i);
    out->comm += times;
    out->comm_bytes += bytes;
    out->padding_bytes += hp_task_times(p, i) * hp_task_comm(p, i)->padding *
                          hp_message_bytes(p->plan, hp_task_place(p, i));
    if (p->lowering->training.exchange[t->index].division == DIVIDE_GATHER)
        out->parameter_bytes += bytes;
    else if (tail && !hp_task_place(p, i).grad)
        out->loss_bytes += bytes;
    else if (tail)
        out->gradient_bytes += bytes;
    else if (p->lowering->training.exchange[t->index].division != DIVIDE_NOT)
        out->gradient_bytes += bytes;
    else if (t->phase == PHASE_BACKWARD)
        out->backward_bytes += bytes;
    else
        out->forward_bytes += bytes;
}

struct hypar_program_totals hypar_program_totals(const struct hypar_program *p)
{
    struct hypar_program_totals out = { .micro_batches = 1 };
    *(p->iteration->delayed ? &out.minibatches : &out.micro_batches) = p->iteration->n_micro;
    for (int i = 0; i < p->n_tasks; i++)
        add_task(p, i, &out);
    return out;
}

/* The operator to which a tensor's bytes are attributed: its producer, or its first user. */
static int op_of(const struct hypar_graph *g, int tensor)
{
    return g->tensors[tensor].producer >= 0 ? g->tensors[tensor].producer
                                            : g->use[g->use_start[tensor]].op;
}

void hypar_program_op_bytes(const struct hypar_program *p, double *bytes)
{
    for (int op = 0; op < p->plan->graph->n_ops; op++)
        bytes[op] = 0;
    for (int i = 0; i < p->n_tasks; i++)
        if (p->task[i].kind == TASK_COMM)
            bytes[op_of(p->plan->graph, hp_task_place(p, i).tensor)] +=
                hp_task_times(p, i) * hp_task_bytes(p, i);
}

/* The bytes of the current cell, added to each pair of devices that exchange it. */
struct pairs {
    double *pair, bytes;
    int in_row, n_rows;
};

static void add_send(void *who, int round, int from, int to, int pieces)
{
    struct pairs *p = who;
    (void)round;
    p->pair[(size_t)(from / p->in_row) * (size_t)p->n_rows + (size_t)(to / p->in_row)] +=
        p->bytes / pieces;
}

void hypar_program_pair_bytes(const struct hypar_program *p, int in_row, double *bytes)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(p->plan->machine);
    bool *seen = NEW(&scratch, bool, n);
    struct pairs pairs = { .pair = bytes,
                           .in_row = in_row,
                           .n_rows = (n + in_row - 1) / in_row };
    for (size_t i = 0; i < (size_t)pairs.n_rows * (size_t)pairs.n_rows; i++)
        bytes[i] = 0;
    for (int i = 0; i < p->n_tasks; i++) {
        if (p->task[i].kind != TASK_COMM)
            continue;
        const struct comm *comm = hp_task_comm(p, i);
        for (int c = 0; c < comm->n_cells; c++) {
            const struct cell *cell = &hp_task_pattern(p, i)->cell[comm->cell[c]];
            pairs.bytes = hp_task_times(p, i) * (double)cell->padded *
                          hp_message_bytes(p->plan, hp_task_place(p, i));
            hp_cell_sends(cell, seen, add_send, &pairs);
        }
    }
    hp_arena_free(&scratch);
}
