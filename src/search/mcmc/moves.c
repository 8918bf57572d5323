/* The kinds of proposed changes: of one operator, or of several that belong together. With
 * changes of one operator at a time, every path from one good plan to another leads through bad
 * plans: the tensors between the changed operator and its neighbours must be exchanged. */
#include "search/mcmc/propose.h"

struct draw {
    const struct proposer *p;
    struct random *random;
    struct proposal *out;
    bool whole_family; /* change a whole family at once */
};

static int below(const struct draw *d, int n)
{
    return (int)hp_random_below(d->random, n);
}

static int draw_leader(const struct draw *d)
{
    const struct groups *g = d->p->groups;
    return g->leaders[below(d, g->n_leaders)];
}

static void move_one(const struct draw *d)
{
    int op = below(d, d->p->plan->graph->n_ops);
    if (d->p->fixed && d->p->fixed[op])
        return;
    struct op_config config = hp_draw_config(d->p, d->random, op, &d->out->arena);
    hp_proposal_add(d->out, &config);
}

static void move_group(const struct draw *d)
{
    struct op_config config = hp_draw_config(d->p, d->random, draw_leader(d), &d->out->arena);
    hp_proposal_add_group(d->p, &config, d->whole_family, d->out);
}

/* Branches and runs --------------------------------------------------------------------- */

/* The axis with this role that can be divided into `n` parts; else the sample axis; -1:
 * none. */
static int axis_with(const struct nest *nest, enum hypar_role role, int n)
{
    int sample = -1;
    if (n == 1)
        return -1;
    for (int a = 0; a < nest->n_axes; a++) {
        const struct hypar_axis *axis = &nest->axis[a];
        if (!axis->splittable || axis->role == HYPAR_COPY || axis->extent < n)
            continue;
        if (axis->role == role)
            return a;
        sample = axis->role == HYPAR_SAMPLE ? a : sample;
    }
    return sample;
}

/* One split and one set of devices for several operators. */
struct way {
    struct drawn_set set;
    enum hypar_role role;
    int stage;
};

static struct way draw_way(const struct draw *d, int leader)
{
    static const enum hypar_role roles[] = { HYPAR_SAMPLE, HYPAR_SAMPLE, HYPAR_PARAMETER,
                                             HYPAR_ATTRIBUTE };
    struct device_pool pool = hp_device_pool(d->p->plan, leader);
    return (struct way){ hp_draw_set(d->random, pool.each, &d->out->arena), roles[below(d, 4)],
                         d->p->plan->ops[leader].stage };
}

static void lay_out(const struct draw *d, const struct way *s, int leader)
{
    const struct nest *nest = d->p->plan->graph->ops[leader].nest;
    if (d->p->plan->ops[leader].stage != s->stage)
        return;
    struct op_config config =
        hp_config_on(d->p, leader, axis_with(nest, s->role, s->set.n), &s->set, &d->out->arena);
    hp_proposal_add_group(d->p, &config, d->whole_family, d->out);
}

/* A random first operator on the branch of `op`. */
static int draw_beginning(const struct draw *d, int op)
{
    const struct groups *g = d->p->groups;
    while (g->before[op] >= 0 && below(d, 8))
        op = g->before[op];
    return op;
}

static void move_branch(const struct draw *d)
{
    const struct groups *g = d->p->groups;
    int op = draw_beginning(d, draw_leader(d));
    struct way s = draw_way(d, op);
    for (; op >= 0; op = below(d, 12) ? g->next[op] : -1)
        if (g->leader[op] == op)
            lay_out(d, &s, op);
}

static void move_run(const struct draw *d)
{
    const struct groups *g = d->p->groups;
    int first = below(d, g->n_leaders), most = 2;
    struct way s = draw_way(d, g->leaders[first]);
    while (most < g->n_leaders && below(d, 2))
        most *= 2;
    for (int i = first; i < g->n_leaders && i < first + most; i++)
        lay_out(d, &s, g->leaders[i]);
}

/* Devices ------------------------------------------------------------------------------- */

/* The configuration of `op` with each device moved `by` places within its pool. */
static struct op_config shifted(const struct draw *d, int op, int by)
{
    struct op_config c = hp_config_of(d->p->plan, op, &d->out->arena);
    struct device_pool pool = hp_device_pool(d->p->plan, op);
    int *device = NEW(&d->out->arena, int, c.replicas *c.n_parts);
    for (int i = 0; i < c.replicas * c.n_parts; i++) {
        int group = i / c.n_parts;
        device[i] = pool.device[group * pool.each +
                                (hp_pool_place(&pool, group, c.device[i]) + by) % pool.each];
    }
    c.device = device;
    return c;
}

/* Move a branch by a number of devices, or move one group alone. */
static void move_devices(const struct draw *d)
{
    const struct groups *g = d->p->groups;
    int op = draw_leader(d);
    struct device_pool pool = hp_device_pool(d->p->plan, op);
    int stage = d->p->plan->ops[op].stage, by = 1 + below(d, pool.each);
    bool branch = below(d, 2);
    if (by < pool.each && below(d, 2)) /* often a divisor of the pool: whole nodes, halves,
                                        * ... */
        while (pool.each % by)
            by++;
    if (!branch) {
        struct op_config config = shifted(d, op, by);
        hp_proposal_add_group(d->p, &config, d->whole_family, d->out);
        return;
    }
    for (op = draw_beginning(d, op); op >= 0; op = below(d, 12) ? g->next[op] : -1) {
        struct op_config config = shifted(d, op, by);
        if (!(d->p->fixed && d->p->fixed[op]) && d->p->plan->ops[op].stage == stage)
            hp_proposal_add(d->out, &config);
    }
}

static void move_swap(const struct draw *d)
{
    const struct hypar_plan *plan = d->p->plan;
    int a = draw_leader(d), b = draw_leader(d);
    struct op_config first = hp_config_of(plan, a, &d->out->arena);
    struct op_config second = hp_config_of(plan, b, &d->out->arena);
    if (plan->ops[a].stage != plan->ops[b].stage || first.n_parts != second.n_parts)
        return;
    const int *device = first.device;
    first.device = second.device;
    second.device = device;
    hp_proposal_add_group(d->p, &first, d->whole_family, d->out);
    hp_proposal_add_group(d->p, &second, d->whole_family, d->out);
}

/* Neighbours ------------------------------------------------------------------------------ */

static void move_copy(const struct draw *d)
{
    const struct hypar_plan *plan = d->p->plan;
    const struct groups *g = d->p->groups;
    int op = draw_leader(d), tensor = -1, from = -1;
    for (int tries = 0; tries < 8 && (from < 0 || from == op); tries++)
        from = hp_draw_neighbour(d->random, g->graph, op, &tensor);
    if (from < 0 || from == op || plan->ops[from].stage != plan->ops[op].stage)
        return;
    struct op_config theirs = hp_config_of(plan, from, &d->out->arena);
    struct op_config mine = hp_config_follow(g->graph, tensor, &theirs, op, &d->out->arena);
    hp_proposal_add_group(d->p, &mine, d->whole_family, d->out);
}

static void (*const moves[MOVE_COUNT])(const struct draw *d) = {
    [MOVE_ONE] = move_one,       [MOVE_GROUP] = move_group, [MOVE_DEVICES] = move_devices,
    [MOVE_BRANCH] = move_branch, [MOVE_RUN] = move_run,     [MOVE_SWAP] = move_swap,
    [MOVE_COPY] = move_copy,
};

bool hp_propose(const struct proposer *proposer, struct random *random, enum move move,
                struct proposal *out)
{
    struct draw d = { proposer, random, out, hp_random_below(random, 4) > 0 };
    hp_proposal_clear(out);
    moves[move](&d);
    hp_proposal_tidy(proposer->plan, out);
    return out->n > 0;
}
