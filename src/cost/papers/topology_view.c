/* A machine in OptCNN's cost model: cuts of a tree, pairs, or routes; and operators placed on
 * its first devices. */
#include "cost/papers/topology_view.h"

#include <string.h>

#include "base/error.h"
#include "cost/collective.h"
#include "machine/machine.h"

/* The machine ---------------------------------------------------------------------------- */

/* Are all nodes equal, with one card each? Then all devices of a node leave it by the same
 * link. */
static bool one_card_per_node(const struct hypar_machine *m, int per_node)
{
    enum { CARD = 1, MOST = 4 };
    int first[MOST], last[MOST], n = hypar_machine_device_count(m);
    if (per_node >= n || per_node <= 1)
        return true;
    hypar_machine_route(m, 0, n - 1, first, MOST);
    hypar_machine_route(m, per_node - 1, n - 1, last, MOST);
    return first[CARD] == last[CARD];
}

/* Devices of a node: those that device 0 reaches without leaving the node. */
static int devices_per_node(const struct hypar_machine *m)
{
    int node = hp_machine_node_size(m);
    if (node > 0)
        return node;
    int n = hypar_machine_device_count(m), longest = hypar_machine_longest_route(m), i = 1;
    while (i < n && hypar_machine_route(m, 0, i, NULL, 0) < longest)
        i++;
    return longest <= 2 ? n : i;
}

static const int most_devices[TOPOLOGY_KIND_COUNT] = {
    [TOPOLOGY_TREE] = 4096, [TOPOLOGY_PAIRS] = 1024, [TOPOLOGY_ROUTED] = 128
};

static enum topology_kind kind_of(const struct hypar_machine *m)
{
    switch (m->topology->shape) {
    case NETWORK_TREE:
        return TOPOLOGY_TREE;
    case NETWORK_PAIRS:
        return TOPOLOGY_PAIRS;
    case NETWORK_NODES:
        if (!hypar_machine_is_uniform(m))
            return TOPOLOGY_ROUTED;
        /* On a large machine the cards of a node count as one of their total width. */
        return (one_card_per_node(m, devices_per_node(m)) &&
                hypar_machine_longest_route(m) <= 4) ||
                       hypar_machine_device_count(m) > most_devices[TOPOLOGY_ROUTED]
                   ? TOPOLOGY_TREE
                   : TOPOLOGY_ROUTED;
    default:
        return TOPOLOGY_ROUTED;
    }
}

/* A cut that is at least as wide as the cuts below it together never decides. */
static bool decides(const struct topology_view *f, int size, double bytes_per_s)
{
    for (int i = 0; i < f->n_cuts; i++)
        if (bytes_per_s * f->cut[i].s_per_byte * f->cut[i].size >= size * (1 - 1e-9))
            return false;
    return true;
}

static void add_cut(struct topology_view *f, int size, double bytes_per_s)
{
    int n = f->n_devices / size;
    if (f->n_cuts == TOPOLOGY_MAX_CUTS || !decides(f, size, bytes_per_s))
        return;
    f->cut[f->n_cuts++] = (struct cut){
        .size = size, .n_groups = n, .first = f->n_groups, .s_per_byte = 1 / bytes_per_s
    };
    f->n_groups += (n + TOPOLOGY_LANES - 1) / TOPOLOGY_LANES * TOPOLOGY_LANES;
}

static void find_cuts(struct topology_view *f)
{
    struct hypar_level level[HYPAR_MAX_LEVELS];
    int n = hypar_machine_levels(f->machine, level), size = 1;
    for (int h = n - 1; h >= 0; h--) {
        add_cut(f, size, level[h].bytes_per_s);
        size *= level[h].ways;
    }
}

static double route_latency_s(const struct hypar_machine *m, int *links, int max, int from,
                              int to)
{
    double sum = 0;
    int n = hypar_machine_route(m, from, to, links, max);
    for (int i = 0; i < n; i++)
        sum += hypar_machine_link(m, links[i] / 2).latency_s;
    return sum;
}

/* Fill copy_s_per_byte; returns the latency of a comm, that of the slowest device. */
static double find_overhead(struct topology_view *f)
{
    double comm_latency_s = 0;
    f->copy_s_per_byte = NEW(f->arena, double, f->n_devices);
    for (int d = 0; d < f->n_devices; d++) {
        const struct hypar_device *device = hypar_machine_device(f->machine, d);
        f->copy_s_per_byte[d] = hp_copy_s_per_byte(device);
        if (device->kernels.comm_latency_s > comm_latency_s)
            comm_latency_s = device->kernels.comm_latency_s;
    }
    return comm_latency_s;
}

static void find_latencies(struct topology_view *f)
{
    int longest = hypar_machine_longest_route(f->machine);
    int *links = NEW(f->arena, int, longest + 1);
    double comm_latency_s = find_overhead(f);
    f->latency_s = NEW(f->arena, double, f->n_devices + 1);
    for (int d = 1; d < f->n_devices; d++) {
        double s = comm_latency_s + route_latency_s(f->machine, links, longest, 0, d);
        f->latency_s[d + 1] = s > f->latency_s[d] ? s : f->latency_s[d];
    }
}

static void keep_routes(struct topology_view *f)
{
    int n = f->n_devices, used = 0, longest = hypar_machine_longest_route(f->machine);
    f->route_start = NEW(f->arena, int, n *n + 1);
    f->route = NEW(f->arena, int, n *n *longest + 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            f->route_start[i * n + j] = used;
            used += hypar_machine_route(f->machine, i, j, f->route + used, longest);
        }
    f->route_start[n * n] = used;
    f->n_links = 2 * hypar_machine_link_count(f->machine);
    f->link_s_per_byte = NEW(f->arena, double, f->n_links + 1);
    for (int l = 0; l < f->n_links; l++)
        f->link_s_per_byte[l] = 1 / hypar_machine_link(f->machine, l / 2).bytes_per_s;
}

static void find_runs(struct topology_view *f)
{
    const struct hypar_device *before = NULL;
    f->run = NEW(f->arena, int, f->n_devices);
    for (int d = 0; d < f->n_devices; d++) {
        const struct hypar_device *device = hypar_machine_device(f->machine, d);
        if (device != before)
            f->run[f->n_runs++] = d;
        before = device;
    }
}

enum hypar_status hp_topology_view(struct topology_view *out, struct arena *arena,
                                   const struct hypar_machine *machine, struct hypar_error *err)
{
    int n = hypar_machine_device_count(machine);
    *out = (struct topology_view){ .machine = machine, .arena = arena, .n_devices = n };
    out->kind = kind_of(machine);
    if (n > most_devices[out->kind])
        return hp_fail(err, HYPAR_UNSUPPORTED, "%d devices as %s, expected at most %d", n,
                       hypar_machine_topology(machine), most_devices[out->kind]);
    if (out->kind == TOPOLOGY_TREE)
        find_cuts(out);
    else if (out->kind == TOPOLOGY_PAIRS)
        add_cut(out, 1, n > 1 ? hypar_machine_link(machine, 0).bytes_per_s : 1);
    else
        keep_routes(out);
    find_latencies(out);
    find_runs(out);
    struct placement whole = { .n_parts = 1 };
    hp_place(out, NULL, &whole); /* axis_id 0 */
    return HYPAR_OK;
}

/* Placements ---------------------------------------------------------------------------- */

/* The coordinates of `axis` on the devices first .. first + size - 1. They are consecutive if
 * one of stride, extent and group divides the next. The first group may hold the whole axis. */
static bool digits_of(const struct axis_placement *axis, int first, int size,
                      struct digits *out)
{
    int span = axis->degree * axis->stride;
    *out = (struct digits){ 0, axis->degree };
    if (axis->degree == 1 || (first == 0 && span <= size) || size % span == 0)
        return size % span == 0 || axis->degree == 1;
    if (axis->stride % size == 0) {
        *out = (struct digits){ first / axis->stride % axis->degree, 1 };
        return true;
    }
    if (size % axis->stride || span % size)
        return false;
    *out = (struct digits){ first / axis->stride % axis->degree, size / axis->stride };
    return true;
}

static struct axis_groups describe_axis(const struct topology_view *f,
                                        const struct axis_placement *axis)
{
    struct axis_groups on = { .group = NEW(f->arena, struct digits, f->n_groups),
                              .count = NEW(f->arena, double, f->n_groups) };
    for (int c = 0; c < f->n_cuts; c++)
        for (int g = 0; g < f->cut[c].n_groups; g++) {
            int at = f->cut[c].first + g;
            if (!digits_of(axis, g * f->cut[c].size, f->cut[c].size, &on.group[at]))
                on.inexact |= 1u << c;
            on.count[at] = on.group[at].n;
        }
    return on;
}

static int number_of(struct topology_view *f, struct axis_placement axis)
{
    int known = hp_table_get(&f->known, &axis, sizeof axis);
    if (known >= 0)
        return known;
    struct axis_placement *key = NEW(f->arena, struct axis_placement, 1);
    *key = axis;
    f->axis = GROW(f->arena, struct axis_placement, f->axis, f->n_axis_ids, &f->axis_capacity);
    f->on = GROW(f->arena, struct axis_groups, f->on, f->n_axis_ids, &f->on_capacity);
    f->axis[f->n_axis_ids] = axis;
    f->on[f->n_axis_ids] = describe_axis(f, &axis);
    hp_table_put(&f->known, f->arena, key, sizeof *key, f->n_axis_ids);
    return f->n_axis_ids++;
}

static bool is_scattered(const struct topology_view *f, const struct nest *nest,
                         const struct placement *p)
{
    for (int c = 0; nest && c < f->n_cuts; c++)
        for (int a = 0; p->n_parts > f->cut[c].size && a < nest->n_axes; a++)
            if (f->on[p->axis_id[a]].inexact >> c & 1)
                return true;
    return false;
}

void hp_place(struct topology_view *topology, const struct nest *nest,
              struct placement *placement)
{
    placement->n_parts = 1;
    for (int a = 0; a < (nest ? nest->n_axes : 1); a++) {
        struct axis_placement *axis = &placement->axis[a];
        if (axis->degree <= 1)
            *axis = (struct axis_placement){ 1, 1 };
        placement->axis_id[a] = number_of(topology, *axis);
        placement->n_parts *= axis->degree;
    }
    placement->scattered = is_scattered(topology, nest, placement);
}

struct placement hp_place_row_major(struct topology_view *topology, const struct nest *nest,
                                    const int degree[MAX_AXES])
{
    struct placement p = { 0 };
    int stride = 1;
    for (int a = nest->n_axes - 1; a >= 0; a--) {
        p.axis[a] = (struct axis_placement){ degree[a], stride };
        stride *= degree[a] > 1 ? degree[a] : 1;
    }
    hp_place(topology, nest, &p);
    return p;
}

struct split hp_placement_split(const struct nest *nest, const struct placement *placement)
{
    struct split split = { 0 };
    for (int a = 0; a < nest->n_axes; a++)
        split.degree[a] = placement->axis[a].degree;
    return split;
}

void hp_placement_devices(const struct nest *nest, const struct placement *placement,
                          int *device)
{
    struct split split = hp_placement_split(nest, placement);
    int coordinate[MAX_AXES];
    for (int part = 0; part < placement->n_parts; part++) {
        hp_part_coordinates(nest, &split, part, coordinate);
        device[part] = 0;
        for (int a = 0; a < nest->n_axes; a++)
            device[part] += coordinate[a] * placement->axis[a].stride;
    }
}

/* Loads ---------------------------------------------------------------------------------- */

static int link_count(const struct topology_view *f)
{
    switch (f->kind) {
    case TOPOLOGY_TREE:
        return 2 * f->n_groups;
    case TOPOLOGY_PAIRS:
        return f->n_devices * f->n_devices;
    default:
        return f->n_links;
    }
}

int hp_load_count(const struct topology_view *f)
{
    return link_count(f) + 2 * f->n_devices;
}

void hp_load_add(const struct topology_view *f, double *load, int i, int j, double elements,
                 bool receiving)
{
    double *moved = load + link_count(f);
    moved[j] += elements * f->copy_s_per_byte[j];
    if (!receiving)
        moved[f->n_devices + i] += elements * f->copy_s_per_byte[i];
    if (f->kind == TOPOLOGY_PAIRS) {
        load[i * f->n_devices + j] += elements * f->cut[0].s_per_byte;
        return;
    }
    if (f->kind == TOPOLOGY_ROUTED) {
        const int *end = f->route + f->route_start[i * f->n_devices + j + 1];
        for (const int *l = f->route + f->route_start[i * f->n_devices + j]; l < end; l++)
            load[*l] += elements * f->link_s_per_byte[*l];
        return;
    }
    for (int c = 0; c < f->n_cuts; c++) {
        const struct cut *cut = &f->cut[c];
        if (i / cut->size == j / cut->size)
            continue;
        load[cut->first + j / cut->size] += elements * cut->s_per_byte;
        if (!receiving)
            load[f->n_groups + cut->first + i / cut->size] += elements * cut->s_per_byte;
    }
}

static double largest(const double *value, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = value[i] > most ? value[i] : most;
    return most;
}

double hp_load_most(const struct topology_view *f, const double *load)
{
    int n = link_count(f);
    return largest(load, n) + largest(load + n, hp_load_count(f) - n);
}
