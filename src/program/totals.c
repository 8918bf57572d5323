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

/* Contributors send to the owners, each of whom sums an even piece; owners send to the rest.
 * `sent` is scratch by device, false before and after. */
static void add_cell(const struct cell *cell, double bytes, int n, double *pair, bool *sent)
{
    if (!cell->n_owners) {
        for (int r = 0; r < cell->n_receivers; r++)
            pair[(size_t)cell->contribution[0].device * (size_t)n +
                 (size_t)cell->receiver[r]] += bytes;
        return;
    }
    double piece = bytes / cell->n_owners;
    for (int c = 0; c < cell->n_contributions; c++) {
        int from = cell->contribution[c].device;
        for (int o = 0; !sent[from] && o < cell->n_owners; o++)
            if (cell->owner[o] != from)
                pair[(size_t)from * (size_t)n + (size_t)cell->owner[o]] += piece;
        sent[from] = true; /* contributions of one device are added locally first */
    }
    for (int c = 0; c < cell->n_contributions; c++)
        sent[cell->contribution[c].device] = false;
    for (int o = 0; o < cell->n_owners; o++)
        for (int r = 0; r < cell->n_receivers; r++)
            if (cell->receiver[r] != cell->owner[o])
                pair[(size_t)cell->owner[o] * (size_t)n + (size_t)cell->receiver[r]] += piece;
}

void hypar_program_pair_bytes(const struct hypar_program *p, double *bytes)
{
    struct arena scratch = { 0 };
    int n = hypar_machine_device_count(p->plan->machine);
    bool *sent = NEW(&scratch, bool, n);
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
                add_cell(cell,
                         hp_task_times(p, l, i) * (double)cell->elements *
                             hp_message_bytes(p->plan, t->tensor),
                         n, bytes, sent);
            }
        }
    }
    hp_arena_free(&scratch);
}
