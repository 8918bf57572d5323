/* What a program amounts to: tasks and bytes. */
#include "program/program.h"

static double comm_bytes(const struct hypar_program *p, const struct task_list *list,
                         const struct task *t)
{
    const struct exchange *e = &list->exchange[t->exchange];
    return e->pattern->comm[t->comm].sent_elements * hp_message_bytes(p->plan, e->place.tensor);
}

static void add_list(const struct hypar_program *p, int l, struct hypar_program_totals *out)
{
    const struct task_list *list = hp_program_list(p, l);
    bool tail = l == p->n_bodies;
    for (int i = 0; i < list->n_tasks; i++) {
        const struct task *t = &list->task[i];
        int times =
            tail ? hp_round_count(p->rhythm, p->tail_group[i]) : hp_body_times(p->rhythm, l);
        out->tasks += t->kind == TASK_NONE ? 0 : times;
        out->compute += t->kind == TASK_COMPUTE ? times : 0;
        out->update += t->kind == TASK_UPDATE ? times : 0;
        if (t->kind != TASK_COMM)
            continue;
        double bytes = hp_task_times(p, l, i) * comm_bytes(p, list, t);
        out->comm += times;
        out->comm_bytes += bytes;
        if (tail && !list->exchange[t->exchange].place.grad)
            out->loss_bytes += bytes;
        else if (tail)
            out->gradient_bytes += bytes;
        else if (t->backward)
            out->backward_bytes += bytes;
        else
            out->forward_bytes += bytes;
    }
}

struct hypar_program_totals hypar_program_totals(const struct hypar_program *p)
{
    struct hypar_program_totals out = { .micro_batches = 1 };
    *(p->rhythm->delayed ? &out.minibatches : &out.micro_batches) = p->rhythm->n_micro;
    for (int l = 0; l <= p->n_bodies; l++)
        add_list(p, l, &out);
    return out;
}

/* The operator that a tensor's traffic is counted with: its producer; a parameter's first user.
 */
static int op_of(const struct hypar_graph *g, int tensor)
{
    return g->tensors[tensor].producer >= 0 ? g->tensors[tensor].producer
                                            : g->use[g->use_start[tensor]].op;
}

void hypar_program_op_bytes(const struct hypar_program *p, double *bytes)
{
    for (int op = 0; op < p->plan->graph->n_ops; op++)
        bytes[op] = 0;
    const struct task_list *list;
    for (int l = 0; (list = hp_program_list(p, l)); l++)
        for (int i = 0; i < list->n_tasks; i++)
            if (list->task[i].kind == TASK_COMM)
                bytes[op_of(p->plan->graph, list->task[i].tensor)] +=
                    hp_task_times(p, l, i) * comm_bytes(p, list, &list->task[i]);
}

/* Bytes of the cell at hand, added to those of each pair of devices. */
struct pairs {
    double *pair, bytes;
    size_t n_devices;
};

static void add_send(void *who, int round, int from, int to, int pieces)
{
    struct pairs *p = who;
    (void)round;
    p->pair[(size_t)from * p->n_devices + (size_t)to] += p->bytes / pieces;
}

void hypar_program_pair_bytes(const struct hypar_program *p, double *bytes)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(p->plan->machine);
    bool *seen = NEW(&scratch, bool, n);
    struct pairs pairs = { .pair = bytes, .n_devices = (size_t)n };
    for (size_t i = 0; i < (size_t)n * (size_t)n; i++)
        bytes[i] = 0;
    const struct task_list *list;
    for (int l = 0; (list = hp_program_list(p, l)); l++) {
        for (int i = 0; i < list->n_tasks; i++) {
            const struct task *t = &list->task[i];
            if (t->kind != TASK_COMM)
                continue;
            const struct pattern *pattern = list->exchange[t->exchange].pattern;
            const struct comm *comm = &pattern->comm[t->comm];
            for (int c = 0; c < comm->n_cells; c++) {
                const struct cell *cell = &pattern->cell[comm->cell[c]];
                pairs.bytes = hp_task_times(p, l, i) * (double)cell->elements *
                              hp_message_bytes(p->plan, t->tensor);
                hp_cell_sends(cell, seen, add_send, &pairs);
            }
        }
    }
    hp_arena_free(&scratch);
}
