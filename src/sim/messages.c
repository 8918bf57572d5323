/* The number of tasks if each message is simulated separately; used to refuse programs that
 * would be too large. */
#include <string.h>

#include "sim/timing.h"

struct estimate {
    const struct lowering *lowering;
    struct arena arena;
    double messages;
    /* By kind: the last group of devices, and its cost model. */
    const struct comm *last[COMM_KIND_COUNT];
    const struct comm_model *model[COMM_KIND_COUNT];
};

static bool same_devices(const struct comm *a, const struct comm *b)
{
    return a && a->n_devices == b->n_devices &&
           memcmp(a->device, b->device, (size_t)a->n_devices * sizeof *a->device) == 0;
}

/* Pieces go to the devices that sum, sums to the devices that read. Messages of several cells
 * may be merged, but each has to be visited. */
static double exchanged(const struct pattern *p, const struct comm *comm)
{
    double n = 0;
    for (int i = 0; i < comm->n_cells; i++) {
        const struct cell *cell = &p->cell[comm->cell[i]];
        n += cell->n_owners
                 ? (double)cell->n_owners * ((double)cell->n_contributions + cell->n_receivers)
                 : cell->n_receivers;
    }
    return n;
}

/* The messages of a comm of `bytes`; the choice of the root does not matter. */
static double collected(struct estimate *e, const struct comm *comm, double bytes)
{
    struct comm_group group = { comm->kind, comm->n_devices, comm->device, 0 };
    if (!same_devices(e->last[comm->kind], comm)) {
        e->last[comm->kind] = comm;
        e->model[comm->kind] = hp_comm_model(&e->arena, e->lowering->plan->machine, &group);
    }
    return (double)hp_comm_best_way(e->model[comm->kind], bytes)->n_messages;
}

static void add_comms(struct estimate *e, int b, int d, const struct buckets *buckets)
{
    const struct exchange *exchange = &e->lowering->training.exchange[d];
    const struct pattern *p = hp_exchange_pattern(e->lowering, b, d);
    int tail = d - e->lowering->training.n_exchanges;
    double size = hp_message_bytes(e->lowering->plan, exchange->place);
    for (int c = 0; c < p->n_comms; c++) {
        const struct comm *comm = &p->comm[c];
        int me = buckets && tail >= 0 ? buckets->base[tail] + c : -1;
        int lead = me >= 0 ? buckets->lead[me] : -1;
        if (comm->kind == COMM_EXCHANGE || comm->kind == COMM_ALL_TO_ALL)
            e->messages += exchanged(p, comm);
        else if (comm->kind == COMM_SEND || (lead >= 0 && lead != me))
            e->messages++;
        else
            e->messages += collected(
                e, comm, lead >= 0 ? buckets->bytes[me] : size * hp_comm_elements(p, comm));
    }
}

double hp_estimate_messages(const struct lowering *s)
{
    struct estimate e = { .lowering = s };
    const struct training_graph *k = &s->training;
    struct buckets buckets;
    bool bucketed = s->options.bucket_bytes > 0;
    if (bucketed)
        buckets = hp_find_buckets(s, &e.arena);
    for (int b = 0; b < s->n_bodies; b++)
        for (int d = 0; d < k->n_exchanges; d++)
            add_comms(&e, b, d, NULL);
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_tail; d++)
        add_comms(&e, 0, d, bucketed ? &buckets : NULL);
    hp_arena_free(&e.arena);
    return e.messages;
}

/* An upper bound of the links that messages of exchanges without a pattern cross. Each pattern
 * counts once. */
static double links_crossed(const struct lowering *s)
{
    const struct training_graph *k = &s->training;
    struct arena scratch = { 0 };
    bool *seen = NEW(&scratch, bool, s->cache->n_patterns);
    double messages = 0;
    for (int b = 0; b < s->n_bodies; b++)
        for (int d = 0; d < k->n_exchanges + k->n_tail; d++) {
            const struct pattern *p = hp_exchange_pattern(s, b, d);
            for (int c = 0; c < p->n_comms && !seen[p->id]; c++)
                if (p->comm[c].kind == COMM_EXCHANGE)
                    messages += exchanged(p, &p->comm[c]);
            seen[p->id] = true;
        }
    hp_arena_free(&scratch);
    return messages * hypar_machine_longest_route(s->plan->machine);
}

enum hypar_status hp_check_messages(const struct lowering *lowering,
                                    const struct hypar_sim_options *options, double *crossed,
                                    struct hypar_error *err)
{
    double links = links_crossed(lowering);
    if (crossed)
        *crossed = links;
    if (links > HP_MAX_CROSSED)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "exchanges whose messages cross up to %.3g links, expected at most %d",
                       links, HP_MAX_CROSSED);
    if (!options->expand_collectives)
        return HYPAR_OK;
    double n = hp_estimate_messages(lowering);
    if (n > HP_MAX_MESSAGES)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "collectives would be about %.3g messages, expected at most %d to "
                       "expand them",
                       n, HP_MAX_MESSAGES);
    return HYPAR_OK;
}
