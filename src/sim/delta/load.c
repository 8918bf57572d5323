/* A lower bound of each device's computing time, operator by operator. */
#include "sim/delta/load.h"

#include <string.h>

/* The work of one operator with given parts on each device that has a part. Operators with the
 * same parts may differ in their passes (the first operator of a network sends no error on) and
 * in the parameters that they share. */
struct op_load {
    struct op_load *next; /* the next one with the same parts */
    uint32_t passes;
    operand_set own;
    int n;
    int *device;
    double *busy;
};

/* Parameters with one reader that reads them whole. A parameter that is only added to partial
 * sums is read by some parts, and a divided one is updated by its owners: both are left out. */
static void find_own(struct loads *l, const struct training_graph *k)
{
    l->own = NEW(&l->arena, operand_set, l->costs->graph->n_ops);
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_tail; d++) {
        const struct reader *reader = k->exchange[d].reader;
        if (k->exchange[d].place.grad && k->exchange[d].n_readers == 1 && !reader->only_adds &&
            k->exchange[d].division == DIVIDE_NOT)
            l->own[reader->op] |= (operand_set)1 << reader->operand;
    }
}

void hp_loads_begin(struct loads *l, struct task_costs *costs,
                    const struct training_graph *training)
{
    size_t n_ops = (size_t)costs->graph->n_ops;
    *l = (struct loads){ .costs = costs };
    l->passes =
        memcpy(NEW(&l->arena, uint32_t, n_ops), training->passes, n_ops * sizeof *l->passes);
    l->place = NEW(&l->arena, int, costs->n_devices);
    for (int i = 0; i < costs->n_devices; i++)
        l->place[i] = -1;
    find_own(l, training);
}

void hp_loads_end(struct loads *l)
{
    hp_arena_free(&l->arena);
}

static void list_devices(struct loads *l, const struct op_parts *parts, struct op_load *load)
{
    for (int part = 0; part < parts->n_parts; part++) {
        int device = parts->device[part];
        if (parts->empty[part] || l->place[device] >= 0)
            continue;
        l->place[device] = load->n;
        load->device[load->n++] = device;
    }
}

/* Parts on one device may read the same elements of a parameter, so only the largest counts. */
static void add_updates(struct loads *l, const struct op_parts *parts, int operand,
                        struct op_load *load)
{
    struct arena_mark mark = hp_arena_mark(&l->arena);
    int64_t *most = NEW(&l->arena, int64_t, load->n);
    for (int part = 0; part < parts->n_parts; part++) {
        if (parts->empty[part])
            continue;
        struct box box =
            hp_region(parts->nest, operand, parts->range + part * parts->nest->n_axes);
        int64_t elements = hp_box_elements(&box),
                *largest = &most[l->place[parts->device[part]]];
        *largest = elements > *largest ? elements : *largest;
    }
    for (int i = 0; i < load->n; i++)
        load->busy[i] += (double)hp_update_time(l->costs, load->device[i], (double)most[i]);
    hp_arena_release(&l->arena, mark);
}

static struct op_load *make_load(struct loads *l, int op, const struct op_parts *parts)
{
    struct op_load *load = NEW(&l->arena, struct op_load, 1);
    load->passes = l->passes[op];
    load->own = l->own[op];
    load->device = NEW(&l->arena, int, parts->n_live);
    load->busy = NEW(&l->arena, double, parts->n_live);
    list_devices(l, parts, load);
    for (int pass = 0; load->passes >> pass; pass++) {
        if (!(load->passes >> pass & 1))
            continue;
        const ticks *time = hp_pass_times(l->costs, op, pass, parts);
        for (int part = 0; part < parts->n_parts; part++)
            if (!parts->empty[part])
                load->busy[l->place[parts->device[part]]] += (double)time[part];
    }
    for (int o = 0; load->own >> o; o++)
        if (load->own >> o & 1)
            add_updates(l, parts, o, load);
    for (int i = 0; i < load->n; i++)
        l->place[load->device[i]] = -1;
    return load;
}

void hp_loads_count(struct loads *l, double *busy, int op, const struct op_parts *parts,
                    int sign)
{
    while (l->op_parts_capacity <= parts->id)
        l->of_op_parts = GROW(&l->arena, struct op_load *, l->of_op_parts, l->op_parts_capacity,
                              &l->op_parts_capacity);
    struct op_load *load = l->of_op_parts[parts->id];
    while (load && (load->passes != l->passes[op] || load->own != l->own[op]))
        load = load->next;
    if (!load) {
        load = make_load(l, op, parts);
        load->next = l->of_op_parts[parts->id];
        l->of_op_parts[parts->id] = load;
    }
    for (int i = 0; i < load->n; i++)
        busy[load->device[i]] += sign * load->busy[i];
}
