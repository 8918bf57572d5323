#include "cost/sync.h"

#include <math.h>
#include <stdlib.h>

#include "cost/collective.h"

/* The groups of a placement: a first part for each, and the others by what is to be added to
 * its device. */
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

/* Each device of a group of devices exchanges 1/r with every replica that is not among them:
 * what leaves group G is |G| (r - c) / r, c of the r replicas being in G. */
static double server_by_groups(const struct fabric *f, const struct nest *nest,
                               const struct placement *p, axis_set replicas, int n_replicas)
{
    double most = 0;
    for (int c = 0; c < f->n_cuts; c++) {
        const struct cut *cut = &f->cut[c];
        for (int g = 0, n = hp_groups(cut, p); g < n; g++) {
            int here = 1, left = p->n_parts - g * cut->size;
            for (int a = 0; a < nest->n_axes; a++)
                if (replicas >> a & 1)
                    here *= f->on[p->way[a]].group[cut->first + g].n;
            double load = (double)(left < cut->size ? left : cut->size) * (n_replicas - here) /
                          n_replicas;
            most = fmax(most, load * cut->s_per_byte);
        }
    }
    return most;
}

static double server_by_pairs(const struct fabric *f, const struct replica_groups *groups,
                              struct arena *scratch)
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

/* Seconds for each byte of a replica, one way; known for every way of placing replicas. */
static double server_s_per_byte(struct optcnn_model *m, const struct nest *nest,
                                const struct placement *p, axis_set replicas)
{
    const struct fabric *f = m->fabric;
    int key[MAX_AXES + 1] = { p->n_parts }, n = 1, n_replicas = 1;
    for (int a = 0; a < nest->n_axes; a++)
        if (replicas >> a & 1) {
            key[n++] = p->way[a];
            n_replicas *= p->axis[a].degree;
        }
    int known = hp_table_get(&m->syncs, key, (size_t)n * sizeof *key);
    if (known >= 0)
        return m->sync_s_per_byte[known];
    struct arena scratch = { 0 };
    struct replica_groups groups = find_groups(&scratch, nest, p, replicas);
    double s = 0;
    if (f->kind == FABRIC_PAIRS)
        s = n_replicas > 1 ? f->cut[0].s_per_byte / n_replicas : 0;
    else if (f->kind == FABRIC_TREE && !p->scattered)
        s = server_by_groups(f, nest, p, replicas, n_replicas);
    else
        s = server_by_pairs(f, &groups, &scratch);
    hp_arena_free(&scratch);
    int *kept = NEW(m->arena, int, n);
    for (int i = 0; i < n; i++)
        kept[i] = key[i];
    m->sync_s_per_byte =
        GROW(m->arena, double, m->sync_s_per_byte, m->n_syncs, &m->sync_capacity);
    m->sync_s_per_byte[m->n_syncs] = s;
    hp_table_put(&m->syncs, m->arena, kept, (size_t)n * sizeof *kept, m->n_syncs++);
    return s;
}

/* All-reduce ----------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

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
        m->arena, m->fabric->machine,
        &(struct comm_group){ .kind = COMM_ALL_REDUCE, .n_devices = n, .device = kept });
    hp_table_put(&m->groups, m->arena, kept, bytes, m->n_groups);
    return m->group[m->n_groups++];
}

/* All groups at once: the slowest of them, or the link that they hold longest together. */
static double all_reduce_s(struct optcnn_model *m, const struct nest *nest,
                           const struct placement *p, axis_set replicas, double bytes)
{
    struct arena scratch = { 0 };
    struct replica_groups groups = find_groups(&scratch, nest, p, replicas);
    int *device = NEW(&scratch, int, groups.n_replicas);
    double *held = NEW(&scratch, double, 2 * hypar_machine_link_count(m->fabric->machine) + 1);
    double most = 0;
    for (int g = 0; g < groups.n_groups; g++) {
        for (int i = 0; i < groups.n_replicas; i++)
            device[i] = groups.first[g] + groups.offset[i];
        qsort(device, (size_t)groups.n_replicas, sizeof *device, ascending);
        const struct comm_way *way =
            hp_comm_best_way(group_model(m, device, groups.n_replicas), bytes);
        most = fmax(most, way->fixed_s + bytes * way->s_per_byte);
        for (int l = 0; l < way->n_links; l++) {
            held[way->link[l].link] += bytes * way->link[l].s_per_byte;
            most = fmax(most, way->fixed_s + held[way->link[l].link]);
        }
    }
    hp_arena_free(&scratch);
    return most;
}

double hp_sync_s(struct optcnn_model *m, const struct nest *nest, const struct placement *p,
                 axis_set replicas, double bytes)
{
    if (m->sync == HYPAR_SYNC_ALL_REDUCE)
        return all_reduce_s(m, nest, p, replicas, bytes);
    return 2 *
           (server_s_per_byte(m, nest, p, replicas) * bytes + m->fabric->latency_s[p->n_parts]);
}
