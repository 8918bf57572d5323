/* The action of a micro-batch in which a device takes part in a comm; the executor and the
 * memory model ask for it. */
#include "program/lowering.h"

/* The last of the device's passes that contribute to the comm; -1: none does. */
static int last_contribution(const struct lowering *s, int body, const struct exchange *x,
                             const struct pattern *p, int comm, int device)
{
    int last = -1;
    for (int i = p->comm_feed[comm]; i < p->comm_feed[comm + 1]; i++) {
        const struct source *from = &x->writer[p->feed[i].writer];
        if (s->body[body].parts[from->op]->device[p->feed[i].part] != device)
            continue;
        int action = hp_pass_action(s, hp_source_pass(&s->training, from));
        last = action > last ? action : last;
    }
    return last;
}

/* Does the device sum contributions of others? Readers in the writer's stage may wait for the
 * sum. */
static bool sums(const struct pattern *p, int comm, int device)
{
    bool found = false;
    for (int i = 0; i < p->comm[comm].n_cells && !found; i++) {
        const struct cell *cell = &p->cell[p->comm[comm].cell[i]];
        for (int k = 0; k < cell->n_owners; k++)
            found |= cell->owner[k] == device;
    }
    return found;
}

/* The first stage in which the device reads the comm's result; -1: none. */
static int first_reading(const struct lowering *s, int body, const struct exchange *x,
                         const struct pattern *p, int comm, int device, enum phase phase)
{
    int first = -1;
    for (int i = 0; i < p->n_waits; i++) {
        int op = x->reader[p->wait[i].reader].op;
        if (p->wait[i].comm != comm ||
            s->body[body].parts[op]->device[p->wait[i].part] != device)
            continue;
        int action = hp_action(&s->schedule, s->schedule.stage_of_op[op], phase);
        first = first < 0 || action < first ? action : first;
    }
    return first;
}

/* For a divided gradient: the last action in which any device computes it. */
static int last_writer(const struct lowering *s, const struct exchange *x)
{
    int last = 0;
    for (int w = 0; w < x->n_writers; w++) {
        int action = hp_pass_action(s, hp_source_pass(&s->training, &x->writer[w]));
        last = action > last ? action : last;
    }
    return last;
}

static bool is_in(const struct slot_list *list, int stage)
{
    bool found = false;
    for (int i = 0; i < list->n_stages; i++)
        found |= list->stage[i] == stage;
    return found;
}

int hp_comm_action(const struct lowering *s, int body, int exchange, int comm, int device)
{
    const struct exchange *x = &s->training.exchange[exchange];
    const struct slot_list *list = hp_slots_of(&s->schedule, device);
    enum phase phase = x->backward ? PHASE_BACKWARD : PHASE_FORWARD;
    if (list->n_stages == 1 && !s->schedule.apart)
        return hp_action(&s->schedule, list->stage[0], phase);
    if (x->division == DIVIDE_GATHER) /* all holders are in one stage */
        return hp_action(&s->schedule, s->schedule.stage_of_op[x->first.op], phase);
    if (x->division == DIVIDE_SUM)
        return last_writer(s, x);
    const struct pattern *p = hp_exchange_pattern(s, body, exchange);
    int action = last_contribution(s, body, x, p, comm, device);
    int writer = x->n_writers ? s->schedule.stage_of_op[x->writer[0].op] : -1;
    if (action < 0 && phase == PHASE_FORWARD && writer >= 0 && is_in(list, writer) &&
        sums(p, comm, device))
        action = hp_action(&s->schedule, writer, phase);
    if (action < 0)
        action = first_reading(s, body, x, p, comm, device, phase);
    return action < 0 ? hp_action(&s->schedule, list->stage[0], phase) : action;
}
