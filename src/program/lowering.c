/* Lowering a plan to parts and patterns, and updating them when the plan changes. */
#include "program/lowering.h"

#include <string.h>

/* Micro-batches are contiguous; their sizes differ by at most one, the larger ones come first.
 * Minibatches are whole batches. */
static void divide_batch(struct lowering *s)
{
    const struct iteration *r = &s->iteration;
    int64_t batch = s->graph->batch;
    s->n_bodies = r->n_bodies;
    s->body = NEW(&s->arena, struct lowered_body, s->n_bodies);
    for (int b = 0; b < s->n_bodies; b++)
        s->body[b].samples = r->delayed ? (struct range){ 0, batch }
                                        : hp_even_part(batch, r->n_micro, hp_first_micro(r, b));
}

/* A part takes some 1,000 bytes, and as much again where nothing is shared: 2 GB in all. */
enum { MAX_LOWERED = 1 << 21, MAX_UNLIKE = 1 << 20 };

/* Checked before memory is taken. Operators that are alike share most of their parts. */
static enum hypar_status check_size(const struct lowering *s)
{
    struct arena scratch = { 0 };
    int *most = NEW(&scratch, int, s->graph->n_nests);
    double all = 0, unlike = 0;
    for (int i = 0; i < s->graph->n_ops; i++) {
        int *like = &most[s->graph->ops[i].nest->id], parts = s->plan->ops[i].n_parts;
        all += (double)parts * s->n_bodies;
        unlike += parts > *like ? (double)(parts - *like) * s->n_bodies : 0;
        *like = parts > *like ? parts : *like;
    }
    hp_arena_free(&scratch);
    if (all > MAX_LOWERED)
        return hp_fail(s->err, HYPAR_UNSUPPORTED,
                       "%d operators in %.9g parts, expected at most %d to write them out",
                       s->graph->n_ops, all, MAX_LOWERED);
    if (unlike > MAX_UNLIKE)
        return hp_fail(s->err, HYPAR_UNSUPPORTED,
                       "%d different operators in %.9g parts, expected at most %d to write "
                       "them out",
                       s->graph->n_nests, unlike, MAX_UNLIKE);
    return HYPAR_OK;
}

static void lay_out(struct lowering *s, int op)
{
    const struct iteration *r = &s->iteration;
    int stage = s->schedule.stage_of_op[op];
    for (int b = 0; b < s->n_bodies; b++)
        s->body[b].parts[op] =
            hp_parts_of(s, op, s->body[b].samples, hp_replica_of(r, stage, b), 1);
    if (r->delayed)
        s->tail_parts[op] = hp_parts_of(s, op, s->body[0].samples, 0, r->pipe.replicas[stage]);
    else
        s->tail_parts[op] =
            s->n_bodies == 1 ? s->body[0].parts[op]
                             : hp_either_parts(s, s->body[0].parts[op], s->body[1].parts[op]);
}

/* Stages that update their parameters separately have no parameters in common
 * (hypar_plan_check()). */
int hp_exchange_group(const struct lowering *s, int d)
{
    const struct exchange *x = &s->training.exchange[d];
    if (!s->iteration.delayed)
        return 0;
    return s->plan->ops[x->n_holders ? x->holder[0].op : x->writer[0].op].stage;
}

/* The elements of the parameter that each device holds: the cells that it reads. */
static void count_elements(const struct pattern *p, double *elements)
{
    for (int c = 0; c < p->n_cells; c++) {
        const struct cell *cell = &p->cell[c];
        double n = (double)cell->elements;
        for (int i = 0; i < cell->n_kept; i++)
            elements[cell->kept[i]] += n;
        for (int i = 0; i < cell->n_receivers; i++)
            elements[cell->receiver[i]] += n;
    }
}

static void add_device(struct update_devices *u, int *list, int device)
{
    if (u->of_device[device] < 0) {
        u->of_device[device] = u->n;
        list[u->n++] = device;
    }
}

static struct update_devices *find_devices(struct lowering *s, const struct exchange *exchange,
                                           const struct pattern *p)
{
    struct arena *arena = &s->cache->arena;
    int n_devices = hypar_machine_device_count(s->plan->machine);
    struct update_devices *u = NEW(arena, struct update_devices, 1);
    int most = exchange->division == DIVIDE_NOT ? p->n_waits : n_devices;
    int *device = NEW(arena, int, most);
    u->of_device = NEW(arena, int, n_devices);
    memset(u->of_device, -1, (size_t)n_devices * sizeof(int));
    for (int i = 0; exchange->division == DIVIDE_NOT && i < p->n_waits; i++)
        add_device(
            u, device,
            s->tail_parts[exchange->reader[p->wait[i].reader].op]->device[p->wait[i].part]);
    for (int c = 0; exchange->division != DIVIDE_NOT && c < p->n_cells; c++) {
        for (int i = 0; i < p->cell[c].n_kept; i++)
            add_device(u, device, p->cell[c].kept[i]);
        for (int i = 0; i < p->cell[c].n_receivers; i++)
            add_device(u, device, p->cell[c].receiver[i]);
    }
    struct arena_mark mark = hp_arena_mark(&s->scratch);
    double *held = NEW(&s->scratch, double, n_devices);
    count_elements(p, held);
    double *elements = NEW(arena, double, u->n);
    for (int i = 0; i < u->n; i++)
        elements[i] = held[device[i]];
    hp_arena_release(&s->scratch, mark);
    u->device = device;
    u->elements = elements;
    return u;
}

const struct update_devices *hp_update_devices(struct lowering *s, int exchange)
{
    struct lowering_cache *cache = s->cache;
    const struct pattern *p = s->tail[exchange - s->training.n_exchanges];
    cache->updates = REACH(&cache->arena, struct update_devices *, cache->updates, p->id,
                           &cache->update_capacity);
    if (!cache->updates[p->id])
        cache->updates[p->id] = find_devices(s, &s->training.exchange[exchange], p);
    return cache->updates[p->id];
}

static enum hypar_status settle(struct lowering *s, int d)
{
    const struct training_graph *k = &s->training;
    if (d >= k->n_exchanges)
        return hp_pattern_of(s, &k->exchange[d], s->tail_parts, &s->tail[d - k->n_exchanges]);
    for (int b = 0; b < s->n_bodies; b++)
        TRY(hp_pattern_of(s, &k->exchange[d], s->body[b].parts, &s->body[b].pattern[d]));
    return HYPAR_OK;
}

static enum hypar_status make(struct lowering *s)
{
    const struct training_graph *k = &s->training;
    int n_ops = s->graph->n_ops;
    TRY(hp_iteration_make(&s->iteration, &s->arena, s->plan, &s->options, s->err));
    s->schedule = hp_make_schedule(s->plan, &s->iteration, &s->arena);
    divide_batch(s);
    TRY(check_size(s));
    TRY(hp_find_flow(s));
    hp_make_training_graph(s);
    s->pattern_key = NEW(&s->arena, int32_t, k->most_sides + 1);
    for (int d = 0; d < k->n_exchanges + k->n_tail; d++)
        s->training.exchange[d].pattern_class = hp_pattern_class(s, &k->exchange[d]);
    for (int b = 0; b < s->n_bodies; b++) {
        s->body[b].parts = NEW(&s->arena, const struct op_parts *, n_ops);
        s->body[b].pattern = NEW(&s->arena, const struct pattern *, k->n_exchanges);
    }
    s->tail_parts = NEW(&s->arena, const struct op_parts *, n_ops);
    s->tail = NEW(&s->arena, const struct pattern *, k->n_tail);
    s->settled = NEW(&s->arena, int, k->n_exchanges + k->n_tail);
    for (int op = 0; op < n_ops; op++)
        lay_out(s, op);
    for (int d = 0; d < k->n_exchanges + k->n_tail; d++)
        if (d != k->norm)
            TRY(settle(s, d));
    return hp_find_norm(s);
}

enum hypar_status hp_lowering_make(struct lowering **out, const struct hypar_plan *plan,
                                   const struct hypar_lower_options *options,
                                   struct lowering_cache *cache, struct hypar_error *err)
{
    struct arena arena = { 0 };
    struct lowering *s = NEW(&arena, struct lowering, 1);
    s->arena = arena;
    s->cache = cache ? cache : &s->own;
    s->plan = plan;
    s->graph = plan->graph;
    s->err = err;
    NEW(&s->scratch, char, 1); /* keep the arena's first block */
    if (options)
        s->options = *options;
    enum hypar_status status = make(s);
    if (status != HYPAR_OK) {
        hp_lowering_free(s);
        s = NULL;
    }
    *out = s;
    return status;
}

void hp_lowering_free(struct lowering *s)
{
    if (!s)
        return;
    hp_arena_free(&s->scratch);
    hp_arena_free(&s->own.arena);
    hp_arena_free(&s->arena);
}

enum hypar_status hp_lowering_lay_out(struct lowering *s, const int *op, int n,
                                      struct hypar_error *err)
{
    s->err = err;
    for (int i = 0; i < n; i++) {
        TRY(hp_check_local_bn(s, op[i]));
        lay_out(s, op[i]);
    }
    return HYPAR_OK;
}

/* An exchange between two changed operators is settled once, after both have their parts. */
enum hypar_status hp_lowering_exchange(struct lowering *s, const int *op, int n,
                                       struct hypar_error *err)
{
    const struct training_graph *k = &s->training;
    s->err = err;
    s->change++;
    for (int i = 0; i < n; i++)
        for (int t = k->access_start[op[i]]; t < k->access_start[op[i] + 1]; t++) {
            int exchange = k->accessed[t];
            if (s->settled[exchange] == s->change)
                continue;
            s->settled[exchange] = s->change;
            TRY(settle(s, exchange));
        }
    return HYPAR_OK;
}
