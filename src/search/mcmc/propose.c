/* Keeps lists of changes, and draws a random split and random devices for one operator. */
#include "search/mcmc/propose.h"

#include <string.h>

#include "cost/work.h"

void hp_proposer_begin(struct proposer *p, const struct hypar_plan *plan, const bool *fixed)
{
    *p = (struct proposer){ .plan = plan, .fixed = fixed };
    p->groups = hp_groups(&p->arena, plan->graph, fixed);
    if (hypar_machine_is_uniform(plan->machine))
        return;
    double *speed = NEW(&p->arena, double, plan->n_all_devices);
    for (int d = 0; d < plan->n_all_devices; d++)
        speed[d] = hp_dense_op_per_s(hypar_machine_device(plan->machine, d), plan->precision);
    p->speed = speed;
}

void hp_proposer_end(struct proposer *p)
{
    hp_arena_free(&p->arena);
}

/* Lists ------------------------------------------------------------------------------- */

void hp_proposal_begin(struct proposal *p, const struct hypar_graph *graph)
{
    *p = (struct proposal){ 0 };
    p->op = NEW(&p->arena, int, graph->n_ops);
    p->at = NEW(&p->arena, int, graph->n_ops);
    p->config = NEW(&p->arena, struct op_config, graph->n_ops);
    memset(p->at, -1, (size_t)graph->n_ops * sizeof *p->at);
    p->empty = hp_arena_mark(&p->arena);
}

void hp_proposal_end(struct proposal *p)
{
    hp_arena_free(&p->arena);
}

void hp_proposal_clear(struct proposal *p)
{
    for (int i = 0; i < p->n; i++)
        p->at[p->op[i]] = -1;
    p->n = 0;
    hp_arena_release(&p->arena, p->empty);
}

void hp_proposal_add(struct proposal *p, const struct op_config *config)
{
    if (p->at[config->op] >= 0)
        return;
    p->at[config->op] = p->n;
    p->op[p->n] = config->op;
    p->config[p->n++] = *config;
}

static bool is_admitted(const struct hypar_plan *plan, const struct op_config *c)
{
    const struct nest *nest = plan->graph->ops[c->op].nest;
    int s = plan->ops[c->op].stage;
    if (s < 0 || plan->stages[s].share != HYPAR_SHARE_BATCH)
        return true;
    for (int a = 0; a < nest->n_axes; a++)
        if (nest->axis[a].role == HYPAR_SAMPLE)
            return c->split.degree[a] % plan->stages[s].replicas == 0;
    return true;
}

void hp_proposal_tidy(const struct hypar_plan *plan, struct proposal *p)
{
    int kept = 0;
    for (int i = 0; i < p->n; i++) {
        struct op_config config = p->config[i];
        p->at[config.op] = -1;
        if (hp_config_is_so(plan, &config) || !is_admitted(plan, &config))
            continue;
        p->at[config.op] = kept;
        p->op[kept] = config.op;
        p->config[kept++] = config;
    }
    p->n = kept;
}

void hp_proposal_save(const struct hypar_plan *plan, const struct proposal *p,
                      struct proposal *out)
{
    hp_proposal_clear(out);
    for (int i = 0; i < p->n; i++) {
        struct op_config config = hp_config_of(plan, p->op[i], &out->arena);
        hp_proposal_add(out, &config);
    }
}

void hp_proposal_apply(struct hypar_plan *plan, const struct proposal *p)
{
    for (int i = 0; i < p->n; i++)
        hp_config_apply(plan, &p->config[i]);
}

/* Groups ------------------------------------------------------------------------------ */

static bool may_change(const struct proposer *p, int op, int stage)
{
    return !(p->fixed && p->fixed[op]) && p->plan->ops[op].stage == stage;
}

static void add_with_followers(const struct proposer *p, const struct op_config *leader,
                               struct proposal *out)
{
    const struct groups *g = p->groups;
    int stage = p->plan->ops[leader->op].stage;
    if (!may_change(p, leader->op, stage))
        return;
    hp_proposal_add(out, leader);
    for (int i = g->member_start[leader->op] + 1; i < g->member_start[leader->op + 1]; i++) {
        int op = g->member[i], from = out->at[g->producer[op]];
        if (from < 0 || !may_change(p, op, stage))
            continue;
        struct op_config follower =
            hp_config_follow(g->graph, g->via[op], &out->config[from], op, &out->arena);
        hp_proposal_add(out, &follower);
    }
}

/* A tensor that both operators read or write; -1: none. */
static int shared_tensor(const struct hypar_graph *g, int a, int b)
{
    for (int i = 0; i < g->ops[a].nest->n_operands; i++)
        for (int k = 0; g->ops[a].tensor[i] >= 0 && k < g->ops[b].nest->n_operands; k++)
            if (g->ops[a].tensor[i] == g->ops[b].tensor[k])
                return g->ops[a].tensor[i];
    return -1;
}

void hp_proposal_add_group(const struct proposer *p, const struct op_config *leader,
                           bool whole_family, struct proposal *out)
{
    const struct groups *g = p->groups;
    int family = g->family[leader->op];
    add_with_followers(p, leader, out);
    for (int i = family < 0 ? 0 : g->family_start[family];
         whole_family && family >= 0 && i < g->family_start[family + 1]; i++) {
        int tensor = shared_tensor(g->graph, leader->op, g->family_member[i]);
        if (g->family_member[i] == leader->op || tensor < 0 ||
            p->plan->ops[g->family_member[i]].stage != p->plan->ops[leader->op].stage)
            continue;
        struct op_config other =
            hp_config_follow(g->graph, tensor, leader, g->family_member[i], &out->arena);
        add_with_followers(p, &other, out);
    }
}

/* Drawing ----------------------------------------------------------------------------- */

static int below(struct random *random, int n)
{
    return (int)hp_random_below(random, n);
}

int hp_pool_place(const struct device_pool *pool, int group, int device)
{
    const int *list = pool->device + group * pool->each;
    if (device < pool->each && list[device] == device)
        return device;
    int i = 0;
    while (list[i] != device)
        i++;
    return i;
}

int hp_draw_neighbour(struct random *random, const struct hypar_graph *g, int op, int *tensor)
{
    int t = g->ops[op].tensor[below(random, g->ops[op].nest->n_operands)];
    if (t < 0 || g->tensors[t].kind == TENSOR_STAT)
        return -1;
    int n_uses = g->use_start[t + 1] - g->use_start[t];
    bool written = g->tensors[t].producer >= 0;
    if (n_uses + written == 0)
        return -1;
    int i = below(random, n_uses + written);
    *tensor = t;
    return i == n_uses ? g->tensors[t].producer : g->use[g->use_start[t] + i].op;
}

/* The number of parts: often the number of devices or one of its divisors. */
static int draw_count(struct random *random, int n)
{
    int kind = below(random, 8), count = n;
    if (kind < 3 || n == 1)
        return n;
    if (kind == 7)
        return 1 + below(random, n);
    do
        count = kind == 3 ? 1 + below(random, n < 4 ? n : 4) : 1 + below(random, n);
    while (n % count);
    return count;
}

struct drawn_set hp_draw_set(struct random *random, int n, struct arena *arena)
{
    struct drawn_set set = { .n = draw_count(random, n) };
    set.place = NEW(arena, int, set.n);
    int style = below(random, 16), stride = 1, first;
    if (style < 8) { /* aligned */
        first = below(random, (n + set.n - 1) / set.n) * set.n;
    } else if (style < 11) { /* as far apart as possible: one in each node, for example */
        stride = n / set.n;
        first = below(random, stride);
    } else {
        first = below(random, n);
    }
    for (int i = 0; i < set.n; i++)
        set.place[i] = style < 15 ? (first + i * stride) % n : below(random, n);
    return set;
}

/* A random axis that can be divided by another `factor`; -1: none was drawn. */
static int draw_axis(struct random *random, const struct nest *nest, const struct split *split,
                     int factor)
{
    for (int tries = 0; tries < 4; tries++) {
        int a = below(random, nest->n_axes);
        const struct hypar_axis *axis = &nest->axis[a];
        bool rare = axis->role == HYPAR_COPY || axis->role == HYPAR_REDUCTION;
        if (!axis->splittable || (rare && below(random, 4)))
            continue;
        if (axis->role == HYPAR_COPY || axis->extent >= (int64_t)split->degree[a] * factor)
            return a;
    }
    return -1;
}

/* Divide by the prime factors of `count`, each along a random axis, mostly the axis of the
 * previous factor. */
static int draw_degrees(struct random *random, const struct nest *nest, int count,
                        struct split *split)
{
    int parts = 1, last = -1;
    for (int a = 0; a < nest->n_axes; a++)
        split->degree[a] = 1;
    for (int factor = 2; count > 1; factor++)
        for (; count % factor == 0; count /= factor) {
            bool again = last >= 0 && below(random, 3) && nest->axis[last].role != HYPAR_COPY &&
                         nest->axis[last].extent >= (int64_t)split->degree[last] * factor;
            int a = again ? last : draw_axis(random, nest, split, factor);
            if (a < 0)
                continue;
            split->degree[a] *= factor;
            parts *= factor;
            last = a;
        }
    return parts;
}

/* Set the sizes along an axis: in proportion to the speed of the devices, or at random. */
static void draw_sizes(const struct proposer *p, struct random *random, struct op_config *c,
                       int axis, struct arena *arena)
{
    const struct nest *nest = p->plan->graph->ops[c->op].nest;
    int degree = c->split.degree[axis], coordinate[MAX_AXES];
    double *weight = NEW(arena, double, degree);
    int64_t *sizes = NEW(arena, int64_t, degree);
    for (int part = 0; part < c->n_parts && p->speed; part++) {
        hp_part_coordinates(nest, &c->split, part, coordinate);
        weight[coordinate[axis]] += p->speed[c->device[part]];
    }
    for (int i = 0; i < degree && !p->speed; i++)
        weight[i] = 0.25 + hp_random_unit(random);
    hp_weighted_sizes(nest->axis[axis].extent, degree, weight, sizes);
    c->split.sizes[axis] = sizes;
}

static void maybe_draw_sizes(const struct proposer *p, struct random *random,
                             struct op_config *c, struct arena *arena)
{
    const struct nest *nest = p->plan->graph->ops[c->op].nest;
    if (p->speed ? below(random, 4) == 0 : below(random, 48) > 0)
        return;
    for (int a = 0; a < nest->n_axes; a++)
        if (c->split.degree[a] > 1 && nest->axis[a].role != HYPAR_COPY) {
            draw_sizes(p, random, c, a, arena);
            if (!p->speed)
                return;
        }
}

/* The place of each part in a set of devices: row-major, with the axes in random order. */
static const int *order_parts(struct random *random, const struct nest *nest,
                              const struct split *split, int parts, struct arena *arena)
{
    int axis[MAX_AXES], n = 0, coordinate[MAX_AXES];
    for (int a = 0; a < nest->n_axes; a++)
        if (split->degree[a] > 1)
            axis[n++] = a;
    for (int i = n - 1; i > 0; i--) {
        int k = below(random, i + 1), swap = axis[i];
        axis[i] = axis[k];
        axis[k] = swap;
    }
    int *order = NEW(arena, int, parts);
    for (int part = 0; part < parts; part++) {
        hp_part_coordinates(nest, split, part, coordinate);
        for (int i = 0; i < n; i++)
            order[part] = order[part] * split->degree[axis[i]] + coordinate[axis[i]];
    }
    return order;
}

static const int *put_on(const struct device_pool *pool, const struct drawn_set *set,
                         const int *order, int parts, struct arena *arena)
{
    int *device = NEW(arena, int, pool->groups *parts);
    for (int g = 0; g < pool->groups; g++)
        for (int i = 0; i < parts; i++)
            device[g * parts + i] =
                pool->device[g * pool->each + set->place[order ? order[i] : i]];
    return device;
}

/* In one of three cases, the devices of an operator that exchanges data with `op`, in the order
 * of its parts, so that shared data can stay on its device. Else a random set. */
static struct drawn_set draw_set_for(const struct proposer *p, struct random *random, int op,
                                     const struct device_pool *pool, struct arena *arena)
{
    int tensor, from = -1;
    if (below(random, 3) == 0)
        from = hp_draw_neighbour(random, p->plan->graph, op, &tensor);
    if (from < 0 || from == op || p->plan->ops[from].stage != p->plan->ops[op].stage)
        return hp_draw_set(random, pool->each, arena);
    struct drawn_set set = { .n = p->plan->ops[from].n_parts };
    set.place = NEW(arena, int, set.n);
    for (int i = 0; i < set.n; i++)
        set.place[i] = hp_pool_place(pool, 0, p->plan->ops[from].device[i]);
    return set;
}

struct op_config hp_draw_config(const struct proposer *p, struct random *random, int op,
                                struct arena *arena)
{
    const struct nest *nest = p->plan->graph->ops[op].nest;
    struct device_pool pool = hp_device_pool(p->plan, op);
    struct drawn_set set = draw_set_for(p, random, op, &pool, arena);
    struct op_config c = { .op = op, .replicas = pool.groups };
    c.n_parts = draw_degrees(random, nest, set.n, &c.split);
    const int *order = order_parts(random, nest, &c.split, c.n_parts, arena);
    c.device = put_on(&pool, &set, order, c.n_parts, arena);
    maybe_draw_sizes(p, random, &c, arena);
    return c;
}

struct op_config hp_config_on(const struct proposer *p, int op, int axis,
                              const struct drawn_set *set, struct arena *arena)
{
    const struct nest *nest = p->plan->graph->ops[op].nest;
    struct device_pool pool = hp_device_pool(p->plan, op);
    struct op_config c = { .op = op, .replicas = pool.groups, .n_parts = 1 };
    for (int a = 0; a < nest->n_axes; a++)
        c.split.degree[a] = 1;
    if (axis >= 0)
        c.split.degree[axis] = c.n_parts = set->n;
    c.device = put_on(&pool, set, NULL, c.n_parts, arena);
    if (p->speed && axis >= 0 && nest->axis[axis].role != HYPAR_COPY)
        draw_sizes(p, NULL, &c, axis, arena);
    return c;
}
