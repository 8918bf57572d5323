/* The split and the devices of one operator: read from a plan, and written into one. */
#include "plan/config.h"

#include <string.h>

#include "plan/check.h"

struct op_config hp_config_of(const struct hypar_plan *plan, int op, struct arena *arena)
{
    const struct op_plan *p = &plan->ops[op];
    const struct nest *nest = plan->graph->ops[op].nest;
    struct op_config c = { .op = op,
                           .split = p->split,
                           .n_parts = p->n_parts,
                           .replicas = p->n_devices / p->n_parts };
    for (int a = 0; a < nest->n_axes; a++) {
        c.split.begins[a] = NULL;
        if (p->split.sizes[a])
            c.split.sizes[a] =
                memcpy(NEW(arena, int64_t, hp_degree(&p->split, a)), p->split.sizes[a],
                       (size_t)hp_degree(&p->split, a) * sizeof(int64_t));
    }
    c.device =
        memcpy(NEW(arena, int, p->n_devices), p->device, (size_t)p->n_devices * sizeof(int));
    return c;
}

/* Where the devices of an operator's stage belong; NULL: there are no stages. */
static const struct device_home *stage_home(const struct hypar_plan *plan, int op,
                                            struct arena *arena)
{
    int s = plan->ops[op].stage;
    if (s < 0)
        return NULL;
    const struct hypar_stage *stage = &plan->stages[s];
    struct device_home *home = NEW(arena, struct device_home, plan->n_all_devices);
    for (int d = 0; d < plan->n_all_devices; d++)
        home[d].stage = -1;
    for (int i = 0; i < stage->n_devices; i++)
        home[stage->device[i]] =
            (struct device_home){ s, s, i / (stage->n_devices / stage->replicas) };
    return home;
}

static enum hypar_status read_config(struct op_config *c, const struct hypar_plan *plan,
                                     struct arena *scratch, struct hypar_error *err)
{
    const struct nest *nest = plan->graph->ops[c->op].nest;
    int available;
    TRY(hp_check_split(nest, &c->split, err));
    TRY(hp_check_replicas(plan, c->op, &c->split, err));
    c->n_parts = hp_part_count(nest, &c->split);
    c->replicas = (int)hp_plan_devices_needed(plan, c->op, 1);
    if (!c->device && !hp_plan_has_default(plan, c->op, c->n_parts, &available))
        return hp_fail(err, HYPAR_INFEASIBLE, "%d parts for %d devices, none of which is named",
                       c->n_parts, available);
    if (!c->device)
        return HYPAR_OK;
    return hp_check_devices(plan, c->op, c->device, c->n_parts,
                            stage_home(plan, c->op, scratch), err);
}

enum hypar_status hp_config_read(struct op_config *out, const struct hypar_plan *plan,
                                 const struct hypar_split *split, struct arena *scratch,
                                 struct hypar_error *err)
{
    if (split->op < 0 || split->op >= plan->graph->n_ops)
        return hp_fail(err, HYPAR_INFEASIBLE, "operator %d of %d", split->op,
                       plan->graph->n_ops);
    *out = (struct op_config){ .op = split->op, .device = split->device };
    for (int a = 0; a < plan->graph->ops[split->op].nest->n_axes; a++) {
        out->split.degree[a] = split->degree[a];
        out->split.sizes[a] = split->sizes[a];
    }
    return hp_in(err, read_config(out, plan, scratch, err), "op '%s'",
                 plan->graph->ops[split->op].name);
}

void hp_config_apply(struct hypar_plan *plan, const struct op_config *c)
{
    hp_plan_set(plan, c->op, &c->split, c->device);
}

bool hp_config_is_so(const struct hypar_plan *plan, const struct op_config *c)
{
    const struct op_plan *now = &plan->ops[c->op];
    const struct nest *nest = plan->graph->ops[c->op].nest;
    for (int a = 0; a < nest->n_axes; a++) {
        int degree = hp_degree(&c->split, a);
        const int64_t *sizes = c->split.sizes[a];
        if (degree != hp_degree(&now->split, a))
            return false;
        if (sizes && hp_sizes_even(nest->axis[a].extent, degree, sizes))
            sizes = NULL; /* as the plan drops them */
        if (!sizes != !now->split.sizes[a] ||
            (sizes && memcmp(sizes, now->split.sizes[a], (size_t)degree * sizeof *sizes) != 0))
            return false;
    }
    return memcmp(c->device, now->device, (size_t)now->n_devices * sizeof(int)) == 0;
}

/* Following --------------------------------------------------------------------------- */

/* The axis of the other operator that corresponds to each axis of one operator. */
struct pairing {
    const struct nest *from, *to;
    const struct split *split; /* of from */
    int to_axis[MAX_AXES];     /* by axis of from: -1 none */
    int rest;                  /* parts along axes of from that have none */
    int sample;                /* axis of `to` that is divided by the rest too; -1: none */
};

static void pair_axes(struct pairing *p, int from_operand, int to_operand, int n_dims)
{
    bool taken[MAX_AXES] = { false };
    for (int a = 0; a < p->from->n_axes; a++)
        p->to_axis[a] = -1;
    for (int d = 0; d < n_dims; d++) {
        int a = hp_dividing_axis(p->from, from_operand, d);
        int b = hp_dividing_axis(p->to, to_operand, d);
        if (a < 0 || b < 0 || p->to_axis[a] >= 0 || taken[b])
            continue;
        p->to_axis[a] = b;
        taken[b] = true;
    }
    p->to_axis[p->from->n_axes - 1] = p->to->n_axes - 1; /* copies */
}

/* Sizes that `to` can have too. */
static const int64_t *same_sizes(const struct pairing *p, int axis)
{
    const struct hypar_axis *a = &p->from->axis[axis], *b = &p->to->axis[p->to_axis[axis]];
    return b->role != HYPAR_COPY && a->extent == b->extent ? p->split->sizes[axis] : NULL;
}

static void divide(struct pairing *p, struct split *split)
{
    p->rest = 1;
    for (int b = 0; b < p->to->n_axes; b++)
        split->degree[b] = 1;
    for (int a = 0; a < p->from->n_axes; a++) {
        int degree = hp_degree(p->split, a), b = p->to_axis[a];
        if (b < 0 || degree == 1) {
            p->rest *= degree;
            continue;
        }
        split->degree[b] = degree;
        split->sizes[b] = same_sizes(p, a);
    }
    p->sample = -1;
    for (int b = 0; b < p->to->n_axes && p->rest > 1; b++) {
        const struct hypar_axis *axis = &p->to->axis[b];
        if (axis->role == HYPAR_SAMPLE && axis->splittable &&
            axis->extent >= (int64_t)split->degree[b] * p->rest)
            p->sample = b;
    }
    if (p->sample >= 0) {
        split->degree[p->sample] *= p->rest;
        split->sizes[p->sample] = NULL;
    }
}

/* The part of `from` that a part of `to` goes with. */
static int part_with(const struct pairing *p, const int *coordinate)
{
    int part = 0, below = p->rest;
    int along = p->sample >= 0 ? coordinate[p->sample] % p->rest : 0; /* of the rest */
    for (int a = 0; a < p->from->n_axes; a++) {
        int degree = hp_degree(p->split, a), b = p->to_axis[a], at = 0;
        if (degree > 1 && b < 0) {
            below /= degree;
            at = along / below % degree;
        } else if (degree > 1) {
            at = b == p->sample ? coordinate[b] / p->rest : coordinate[b];
        }
        part = part * degree + at;
    }
    return part;
}

struct op_config hp_config_follow(const struct hypar_graph *graph, int tensor,
                                  const struct op_config *from, int to, struct arena *arena)
{
    const struct op *source = &graph->ops[from->op], *target = &graph->ops[to];
    struct pairing p = { .from = source->nest, .to = target->nest, .split = &from->split };
    struct op_config c = { .op = to, .replicas = from->replicas };
    if (p.from == p.to) { /* two operators of one kind that share a parameter */
        c = *from;
        c.op = to;
        return c;
    }
    pair_axes(&p, hp_operand_of(source, tensor), hp_operand_of(target, tensor),
              graph->tensors[tensor].shape.n_dims);
    divide(&p, &c.split);
    c.n_parts = hp_part_count(p.to, &c.split);
    int *device = NEW(arena, int, c.replicas *c.n_parts), coordinate[MAX_AXES];
    for (int part = 0; part < c.n_parts; part++) {
        hp_part_coordinates(p.to, &c.split, part, coordinate);
        int with = part_with(&p, coordinate);
        for (int r = 0; r < c.replicas; r++)
            device[r * c.n_parts + part] = from->device[r * from->n_parts + with];
    }
    c.device = device;
    return c;
}
