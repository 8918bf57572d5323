/* OptCNN's t_S: summing the gradients of a parameter over the parts that share it. */
#include "cost/papers/sync.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "cost/collective.h"

/* The groups of a placement: the first part of each group, and offsets from its device to the
 * others. */
struct replica_groups {
    int n_replicas, n_groups;
    int *offset, *first;
};

/* All sums of coordinate * stride over the axes in `axes`. */
static int *offsets(struct arena *arena, const struct nest *nest, const struct placement *p,
                    axis_set axes, int *count)
{
    int total = 1, n = 1;
    for (int a = 0; a < nest->n_axes; a++)
        total *= axes >> a & 1 ? p->axis[a].degree : 1;
    int *sum = NEW(arena, int, total);
    for (int a = 0; a < nest->n_axes; a++) {
        if (!(axes >> a & 1))
            continue;
        for (int i = n * p->axis[a].degree - 1; i >= 0; i--)
            sum[i] = sum[i / p->axis[a].degree] + i % p->axis[a].degree * p->axis[a].stride;
        n *= p->axis[a].degree;
    }
    *count = total;
    return sum;
}

static struct replica_groups find_groups(struct arena *arena, const struct nest *nest,
                                         const struct placement *p, axis_set replicas)
{
    struct replica_groups g;
    g.offset = offsets(arena, nest, p, replicas, &g.n_replicas);
    g.first = offsets(arena, nest, p, ~replicas, &g.n_groups);
    return g;
}

/* Parameter server ----------------------------------------------------------------------- */

/* Each device of a group of devices exchanges 1/r with every replica outside the group: |G| (r
 * - c) / r leaves group G, if c of the r replicas are in G. */
static double server_by_groups(const struct topology_view *f, const struct nest *nest,
                               const struct placement *p, axis_set replicas, int n_replicas)
{
    double most = 0, moved = 0; /* over a link; to or from a device */
    for (int c = 0; c < f->n_cuts; c++) {
        const struct cut *cut = &f->cut[c];
        for (int g = 0, n = hp_cut_groups(cut, p); g < n; g++) {
            int here = 1, left = p->n_parts - g * cut->size;
            for (int a = 0; a < nest->n_axes; a++)
                if (replicas >> a & 1)
                    here *= f->on[p->axis_id[a]].group[cut->first + g].n;
            double load = (double)(left < cut->size ? left : cut->size) * (n_replicas - here) /
                          n_replicas;
            most = fmax(most, load * cut->s_per_byte);
            moved = cut->size == 1 ? fmax(moved, load) : moved;
        }
    }
    return most + moved * f->copy_s_per_byte[0];
}

static double server_by_pairs(const struct topology_view *f,
                              const struct replica_groups *groups, struct arena *scratch)
{
    double *load = NEW(scratch, double, hp_load_count(f) + 1);
    for (int g = 0; g < groups->n_groups; g++)
        for (int i = 0; i < groups->n_replicas; i++)
            for (int j = 0; j < groups->n_replicas; j++)
                if (i != j)
                    hp_load_add(f, load, groups->first[g] + groups->offset[i],
                                groups->first[g] + groups->offset[j], 1.0 / groups->n_replicas,
                                false);
    return hp_load_most(f, load);
}

/* Each replica sends its share of the gradient to all others, then receives theirs: the same
 * cost twice. */
static void server_cost(const struct topology_view *f, const struct nest *nest,
                        const struct placement *p, axis_set replicas, struct arena *scratch,
                        struct sync_cost *out)
{
    struct replica_groups groups = find_groups(scratch, nest, p, replicas);
    double s_per_byte;
    if (f->kind ==
        TOPOLOGY_PAIRS) /* a share over each link; a device copies all its own shares */
        s_per_byte =
            groups.n_replicas > 1
                ? (f->cut[0].s_per_byte + (groups.n_replicas - 1) * f->copy_s_per_byte[0]) /
                      groups.n_replicas
                : 0;
    else if (f->kind == TOPOLOGY_TREE && !p->scattered)
        s_per_byte = server_by_groups(f, nest, p, replicas, groups.n_replicas);
    else
        s_per_byte = server_by_pairs(f, &groups, scratch);
    *out = (struct sync_cost){ 2 * f->latency_s[p->n_parts], 2 * s_per_byte };
}

/* All-reduce ----------------------------------------------------------------------------- */

static const struct comm_model *group_model(struct optcnn_model *m, const int *device, int n)
{
    size_t bytes = (size_t)n * sizeof *device;
    int known = hp_table_get(&m->groups, device, bytes);
    if (known >= 0)
        return m->group[known];
    int *kept = NEW(m->arena, int, n);
    for (int i = 0; i < n; i++)
        kept[i] = device[i];
    m->group =
        GROW(m->arena, const struct comm_model *, m->group, m->n_groups, &m->group_capacity);
    m->group[m->n_groups] = hp_comm_model(
        m->arena, m->topology->machine,
        &(struct comm_group){ .kind = COMM_ALL_REDUCE, .n_devices = n, .device = kept });
    hp_table_put(&m->groups, m->arena, kept, bytes, m->n_groups);
    return m->group[m->n_groups++];
}

/* The same algorithm in all groups at once: the slowest group, or the link that they hold
 * longest together. */
static struct sync_cost together(const struct comm_model *const *model, int n_groups,
                                 int algorithm, double *held)
{
    struct sync_cost out = { 0, 0 };
    for (int g = 0; g < n_groups; g++) {
        const struct comm_way *w = &model[g]->way[algorithm];
        out.fixed_s = fmax(out.fixed_s, w->fixed_s);
        out.s_per_byte = fmax(out.s_per_byte, w->s_per_byte);
        for (int l = 0; l < w->n_links; l++)
            held[w->link[l].link] += w->link[l].s_per_byte;
    }
    for (int g = 0; g < n_groups; g++) {
        const struct comm_way *w = &model[g]->way[algorithm];
        for (int l = 0; l < w->n_links; l++) {
            out.s_per_byte = fmax(out.s_per_byte, held[w->link[l].link]);
            held[w->link[l].link] = 0;
        }
    }
    return out;
}

/* Fill the costs, taken from the arena; returns the number of algorithms that all groups can
 * use. */
static int all_reduce_costs(struct optcnn_model *m, const struct nest *nest,
                            const struct placement *p, axis_set replicas, struct arena *scratch,
                            struct sync_cost **out)
{
    struct replica_groups groups = find_groups(scratch, nest, p, replicas);
    int *device = NEW(scratch, int, groups.n_replicas), n = INT_MAX;
    double *held = NEW(scratch, double, 2 * hypar_machine_link_count(m->topology->machine) + 1);
    const struct comm_model **model = NEW(scratch, const struct comm_model *, groups.n_groups);
    for (int g = 0; g < groups.n_groups; g++) {
        for (int i = 0; i < groups.n_replicas; i++)
            device[i] = groups.first[g] + groups.offset[i];
        hp_sort_ints(device, groups.n_replicas);
        model[g] = group_model(m, device, groups.n_replicas);
        n = model[g]->n_ways < n ? model[g]->n_ways : n;
    }
    *out = NEW(m->arena, struct sync_cost, n);
    for (int w = 0; w < n; w++)
        (*out)[w] = together(model, groups.n_groups, w, held);
    return n;
}

/* Replicas with equal placements have equal costs, which are computed once. */
static const struct sync_costs *costs_of(struct optcnn_model *m, const struct nest *nest,
                                         const struct placement *p, axis_set replicas)
{
    int key[MAX_AXES], n = 0;
    for (int a = 0; a < nest->n_axes; a++)
        if (p->axis_id[a] != 0)
            key[n++] = replicas >> a & 1 ? -p->axis_id[a] : p->axis_id[a];
    void **known = hp_memo(&m->syncs, m->arena, key, (size_t)n * sizeof *key);
    if (*known)
        return *known;
    struct arena scratch = { 0 };
    struct sync_costs *costs = NEW(m->arena, struct sync_costs, 1);
    costs->n = 1;
    if (m->sync == HYPAR_SYNC_ALL_REDUCE) {
        costs->n = all_reduce_costs(m, nest, p, replicas, &scratch, &costs->cost);
    } else {
        costs->cost = NEW(m->arena, struct sync_cost, 1);
        server_cost(m->topology, nest, p, replicas, &scratch, costs->cost);
    }
    hp_arena_free(&scratch);
    return *known = costs;
}

double hp_sync_s(struct optcnn_model *m, const struct nest *nest, const struct placement *p,
                 axis_set replicas, double bytes)
{
    const struct sync_costs *costs = costs_of(m, nest, p, replicas);
    double least = INFINITY;
    for (int i = 0; i < costs->n; i++)
        least = fmin(least, costs->cost[i].fixed_s + bytes * costs->cost[i].s_per_byte);
    return least;
}
