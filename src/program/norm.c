/* The norm of all gradients, for clipping. Every device adds up the squares of its share of the
 * gradients; these sums are summed over devices like any other tensor.
 *
 * The sum is a tensor of one element. It uses the place of the loss's own gradient, { loss,
 * gradient }, which is 1 and never computed. */
#include "plan/schedules.h"
#include "program/lowering.h"

enum hypar_status hp_check_clip(const struct hypar_plan *plan, struct hypar_error *err)
{
    if (plan->clip > 0 && hp_is_delayed(plan))
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "gradients are clipped by the norm of all of them, and under schedule "
                       "pipedream stages update on their own");
    return HYPAR_OK;
}

/* The devices that divide a cell among them: its owners, which sum it; without owners, the
 * devices that compute it; without these, its receivers. After the sums all of them have the
 * whole cell. */
static const int *sharers(const struct cell *cell, int *n)
{
    if (cell->n_owners && hp_is_in(cell->receiver, cell->n_receivers, cell->owner[0])) {
        *n = cell->n_owners;
        return cell->owner;
    }
    *n = cell->n_kept ? cell->n_kept : cell->n_receivers;
    return cell->n_kept ? cell->kept : cell->receiver;
}

struct range hp_norm_share(const struct cell *cell, int device)
{
    int n;
    const int *list = sharers(cell, &n);
    for (int i = 0; i < n; i++)
        if (list[i] == device)
            return hp_even_part(cell->elements, n, i);
    return (struct range){ 0, 0 };
}

/* The elements of a gradient that each device has, by position in the list of devices. */
static void count_elements(const struct pattern *p, const int *of_device, double *elements)
{
    for (int c = 0; c < p->n_cells; c++) {
        int n;
        const int *list = sharers(&p->cell[c], &n);
        for (int i = 0; i < n; i++) {
            struct range share = hp_even_part(p->cell[c].elements, n, i);
            elements[of_device[list[i]]] += (double)(share.hi - share.lo);
        }
    }
}

/* The devices that update a parameter, ascending, and how many gradient elements each has. */
static void find_devices(struct lowering *s)
{
    const struct training_graph *k = &s->training;
    int n_devices = hypar_machine_device_count(s->plan->machine);
    int *device = NEW(&s->arena, int, n_devices), *of_device = NEW(&s->arena, int, n_devices);
    double *elements = NEW(&s->arena, double, n_devices);
    for (int d = k->n_exchanges; d < k->norm; d++) {
        if (!k->exchange[d].place.grad)
            continue;
        const struct update_devices *u = hp_update_devices(s, d);
        for (int i = 0; i < u->n; i++)
            of_device[u->device[i]] = 1;
    }
    int n = 0;
    for (int i = 0; i < n_devices; i++) {
        bool updates = of_device[i] == 1;
        of_device[i] = updates ? n : -1;
        if (updates)
            device[n++] = i;
    }
    for (int d = k->n_exchanges; d < k->norm; d++)
        if (k->exchange[d].place.grad)
            count_elements(hp_exchange_pattern(s, 0, d), of_device, elements);
    s->norm = (struct update_devices){ n, device, elements, of_device };
}

/* Each device writes one partial sum and reads the whole sum, as the replicas of the loss's
 * operator do with the loss. */
static struct op_parts parts_of(struct lowering *s)
{
    const struct nest *nest = s->graph->ops[s->graph->tensors[s->graph->loss].producer].nest;
    int n = s->norm.n;
    struct range *range = NEW(&s->arena, struct range, n * nest->n_axes);
    int *rank = NEW(&s->arena, int, n);
    for (int i = 0; i < n; i++) {
        hp_whole_ranges(nest, range + i * nest->n_axes);
        rank[i] = i;
    }
    return (struct op_parts){ .nest = nest,
                              .split = NEW(&s->arena, struct split, 1),
                              .n_parts = n,
                              .n_each = 1,
                              .device = s->norm.device,
                              .range = range,
                              .empty = NEW(&s->arena, bool, n),
                              .n_live = n,
                              .rank = rank };
}

enum hypar_status hp_find_norm(struct lowering *s)
{
    struct lowering_cache *cache = s->cache;
    struct pattern *p;
    if (s->training.norm < 0)
        return HYPAR_OK;
    find_devices(s);
    struct op_parts parts = parts_of(s);
    const struct op *op = &s->graph->ops[s->graph->tensors[s->graph->loss].producer];
    struct exchange_side side = { .parts = &parts,
                                  .operand = hp_output_operand(op, s->graph->loss) };
    struct exchange_sides sides = {
        .writer = &side, .reader = &side, .n_writers = 1, .n_readers = 1
    };
    TRY(hp_find_pattern(&cache->arena, &s->scratch, NULL, &sides, &p, s->err));
    p->id = cache->n_patterns;
    cache->patterns = GROW(&cache->arena, struct pattern *, cache->patterns, cache->n_patterns,
                           &cache->pattern_capacity);
    cache->patterns[cache->n_patterns++] = p;
    s->tail[s->training.norm - s->training.n_exchanges] = p;
    return HYPAR_OK;
}
