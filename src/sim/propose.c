#include "sim/propose.h"

#include <string.h>

void hp_proposal_begin(struct proposal *p, const struct hypar_plan *plan)
{
    *p = (struct proposal){ 0 };
    int n = hypar_machine_device_count(plan->machine);
    for (int op = 0; op < plan->graph->n_ops; op++)
        n = plan->ops[op].n_devices > n ? plan->ops[op].n_devices : n;
    p->device_capacity = n > HP_MAX_PROPOSED ? n : HP_MAX_PROPOSED;
    p->device = NEW(&p->arena, int, p->device_capacity);
    for (int a = 0; a < MAX_AXES; a++)
        p->sizes[a] = NEW(&p->arena, int64_t, p->device_capacity);
}

void hp_proposal_end(struct proposal *p)
{
    hp_arena_free(&p->arena);
}

static int below(struct random *random, int n)
{
    return (int)hp_random_below(random, n);
}

/* Axes that may be split. */
static int open_axes(const struct nest *nest, int axis[MAX_AXES])
{
    int n = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].role != HYPAR_INNER &&
            (nest->axis[a].extent > 1 || nest->axis[a].role == HYPAR_COPY))
            axis[n++] = a;
    return n;
}

/* Degrees: small factors on random axes while there are devices for them. */
static int draw_degrees(struct random *random, const struct nest *nest, int n_devices,
                        struct split *split)
{
    int axis[MAX_AXES], n_axes = open_axes(nest, axis), parts = 1;
    int most = n_devices < HP_MAX_PROPOSED ? n_devices : HP_MAX_PROPOSED;
    *split = (struct split){ 0 };
    for (int a = 0; a < nest->n_axes; a++)
        split->degree[a] = 1;
    while (n_axes && below(random, 6)) {
        int a = axis[below(random, n_axes)];
        int factor = below(random, 4) ? 2 : 2 + below(random, most);
        if (parts * factor > most)
            break;
        split->degree[a] *= factor;
        parts *= factor;
    }
    return parts;
}

/* One split in eight is uneven along one of its axes. */
static void draw_sizes(struct random *random, const struct nest *nest, struct proposal *out)
{
    if (below(random, 8))
        return;
    for (int a = 0; a < nest->n_axes; a++) {
        int degree = out->split.degree[a];
        int64_t left = nest->axis[a].extent;
        if (degree < 2 || nest->axis[a].role == HYPAR_COPY || left < degree)
            continue;
        for (int i = 0; i < degree; i++) {
            int64_t fair = left / (degree - i);
            out->sizes[a][i] = i == degree - 1 ? left : hp_random_below(random, 2 * fair + 1);
            if (out->sizes[a][i] > left)
                out->sizes[a][i] = left;
            left -= out->sizes[a][i];
        }
        out->split.sizes[a] = out->sizes[a];
        return;
    }
}

static void draw_devices(struct random *random, const int *device, int n_devices, int parts,
                         int *out)
{
    enum { FIRST_ONES, ALIGNED, STRIDED, ANY, N_STYLES };
    int style = below(random, 2) ? below(random, N_STYLES) : below(random, ANY);
    int first = style == FIRST_ONES ? 0 : below(random, n_devices);
    int stride = style == STRIDED && n_devices > 2 ? 2 : 1;
    if (style == ALIGNED)
        first = first / parts * parts;
    for (int i = 0; i < parts; i++)
        out[i] = style == ANY ? device[below(random, n_devices)]
                              : device[(first + i * stride) % n_devices];
}

void hp_propose(struct random *random, const struct hypar_plan *plan, struct proposal *out)
{
    out->op = below(random, plan->graph->n_ops);
    const struct nest *nest = plan->graph->ops[out->op].nest;
    int stage = plan->ops[out->op].stage;
    const int *device = stage < 0 ? plan->all_devices : plan->stages[stage].device;
    int n_devices = stage < 0 ? plan->n_all_devices : plan->stages[stage].n_devices;
    bool turns = stage >= 0 && plan->stages[stage].share == HYPAR_SHARE_MINIBATCH;
    int replicas = turns ? plan->stages[stage].replicas : 1;
    int most = n_devices / replicas, room = out->device_capacity / replicas;
    int parts = draw_degrees(random, nest, most < room ? most : room, &out->split);
    draw_sizes(random, nest, out);
    for (int i = 0; i < replicas; i++)
        draw_devices(random, device + i * most, most, parts, out->device + i * parts);
}

void hp_proposal_save(const struct hypar_plan *plan, int op, struct proposal *out)
{
    const struct op_plan *p = &plan->ops[op];
    const struct nest *nest = plan->graph->ops[op].nest;
    out->op = op;
    out->split = p->split;
    for (int a = 0; a < nest->n_axes; a++) {
        out->split.begins[a] = NULL;
        if (!p->split.sizes[a])
            continue;
        memcpy(out->sizes[a], p->split.sizes[a],
               (size_t)p->split.degree[a] * sizeof *out->sizes[a]);
        out->split.sizes[a] = out->sizes[a];
    }
    memcpy(out->device, p->device, (size_t)p->n_devices * sizeof *out->device);
}

void hp_proposal_apply(struct hypar_plan *plan, const struct proposal *p)
{
    hp_plan_set(plan, p->op, &p->split, p->device);
}
