/* Finds the classes of a machine's nodes, and the subsets of devices that leave some out. */
#include "search/subsets.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/sort.h"
#include "cost/kernel.h"
#include "machine/network.h"
#include "search/bound.h"
#include "search/limits.h"

enum {
    /* The most classes of which all unions are looked at: 30. Each takes a bound, and where
     * that is below the best step a run of the planners. */
    MOST_CLASSES = 5,
    /* The most units that are looked at one by one. */
    MOST_UNITS = 1 << 16,
};

struct unit {
    int first, n; /* devices */
    int class;
    double op_per_s, bytes_per_s; /* of a device; into the unit */
};

struct picking {
    struct arena *arena;
    const struct problem *problem;
    int n_units, n_classes;
    struct unit *unit;
    int *lead; /* [class]: its first unit */
    struct subsets out;
};

/* Units ---------------------------------------------------------------------------------- */

/* The bandwidth at which half of the other devices are reached, or better. */
static double median_route(struct arena *arena, const struct hypar_machine *machine, int device)
{
    struct arena_mark mark = hp_arena_mark(arena);
    int n = machine->n_devices, *link = NEW(arena, int, machine->longest_route + 1);
    double *width = NEW(arena, double, n);
    for (int to = 0, k = 0; to < n; to++) {
        int hops = hypar_machine_route(machine, device, to, link, machine->longest_route);
        for (int i = 0; i < hops; i++) {
            double here = hypar_machine_link(machine, link[i] / 2).bytes_per_s;
            width[k] = i == 0 || here < width[k] ? here : width[k];
        }
        k += to != device;
    }
    double median = hp_median(width, n - 1);
    hp_arena_release(arena, mark);
    return median;
}

/* What a device can send into its node, and of a node to others: slower nodes come first in
 * either. */
static double link_rate(struct picking *p, int device)
{
    const struct hypar_machine *m = p->problem->machine;
    if (m->n_parts == 0) /* without a table of routes each of them takes long to find */
        return m->network->next ? median_route(p->arena, m, device) : 0;
    const struct part *part = hp_part_of(m, device);
    return part->value[OPTION_NICS] * hp_part_card_bytes_per_s(part);
}

static bool are_alike(const struct picking *p, const struct unit *a, const struct unit *b)
{
    const struct hypar_machine *m = p->problem->machine;
    if (m->n_parts == 0)
        return a->bytes_per_s == b->bytes_per_s &&
               hp_devices_equal(hypar_machine_device(m, a->first),
                                hypar_machine_device(m, b->first));
    const struct part *x = hp_part_of(m, a->first), *y = hp_part_of(m, b->first);
    return x == y || (a->n == b->n && strcmp(x->type.device.name, y->type.device.name) == 0 &&
                      hp_parts_alike(x, y));
}

static void add_unit(struct picking *p, int first, int n)
{
    enum hypar_precision precision = p->problem->options->precision;
    struct unit *u = &p->unit[p->n_units++];
    const struct hypar_device *device = hypar_machine_device(p->problem->machine, first);
    *u = (struct unit){ .first = first,
                        .n = n,
                        .op_per_s = hp_dense_op_per_s(device, precision),
                        .bytes_per_s = link_rate(p, first) };
    while (u->class < p->n_classes && !are_alike(p, &p->unit[p->lead[u->class]], u))
        u->class ++;
    if (u->class == p->n_classes)
        p->lead[p->n_classes++] = p->n_units - 1;
}

/* Nodes of a cluster, or devices; none of other machines. */
static void find_units(struct picking *p)
{
    const struct hypar_machine *m = p->problem->machine;
    bool cluster = m->n_parts > 0 && m->topology->scope == SCOPE_CLUSTER;
    int n = m->n_parts == 0 ? m->n_devices : cluster ? hp_machine_rows(m) : 0;
    if (n < 2 || n > MOST_UNITS || (m->n_parts == 0 && n > HP_SOME * HP_FEW))
        return;
    p->unit = NEW(p->arena, struct unit, n);
    p->lead = NEW(p->arena, int, n);
    for (int d = 0, end; d < m->n_devices; d = end) {
        for (end = d + 1;
             cluster && end < m->n_devices && hp_machine_node(m, end) == hp_machine_node(m, d);)
            end++;
        add_unit(p, d, end - d);
    }
}

/* Subsets -------------------------------------------------------------------------------- */

/* "node 14", "nodes 0 to 13", "node 3 and 4 others". */
static const char *without_text(const struct picking *p, const bool *kept, int n_out)
{
    const char *unit = p->problem->machine->n_parts ? "node" : "device";
    int first = 0, last = p->n_units - 1;
    while (kept[first])
        first++;
    while (kept[last])
        last--;
    if (n_out == 1)
        return hp_arena_printf(p->arena, "%s %d", unit, first);
    if (n_out == 2 || last - first + 1 == n_out)
        return hp_arena_printf(p->arena, "%ss %d %s %d", unit, first, n_out == 2 ? "and" : "to",
                               last);
    return hp_arena_printf(p->arena, "%s %d and %d others", unit, first, n_out - 1);
}

static void add_subset(struct picking *p, const bool *kept)
{
    struct subset s = { .device = NEW(p->arena, int, p->problem->machine->n_devices) };
    int n_out = 0;
    for (int u = 0; u < p->n_units; u++) {
        n_out += !kept[u];
        for (int d = 0; d < p->unit[u].n && kept[u]; d++)
            s.device[s.n++] = p->unit[u].first + d;
    }
    if (s.n == 0 || n_out == 0)
        return;
    for (int i = 0; i < p->out.n; i++)
        if (p->out.subset[i].n == s.n &&
            memcmp(p->out.subset[i].device, s.device, (size_t)s.n * sizeof *s.device) == 0)
            return;
    s.number = p->out.n;
    s.without = without_text(p, kept, n_out);
    p->out.subset = GROW(p->arena, struct subset, p->out.subset, p->out.n, &p->out.capacity);
    p->out.subset[p->out.n++] = s;
}

/* The kept unit that is the slowest, the last among equals; -1: none. */
static int slowest_kept(const struct picking *p, const bool *kept)
{
    int slowest = -1;
    for (int u = 0; u < p->n_units; u++) {
        const struct unit *a = &p->unit[u], *b = &p->unit[slowest < 0 ? u : slowest];
        if (kept[u] && (a->op_per_s < b->op_per_s ||
                        (a->op_per_s == b->op_per_s && a->bytes_per_s <= b->bytes_per_s)))
            slowest = u;
    }
    return slowest;
}

/* ... with the slowest units left out until the devices divide the batch, or are a power of
 * two. */
static void add_even(struct picking *p, const bool *all, bool power)
{
    bool *kept = NEW(p->arena, bool, p->n_units);
    int64_t batch = p->problem->graph->batch;
    int n = 0, out;
    memcpy(kept, all, (size_t)p->n_units * sizeof *kept);
    for (int u = 0; u < p->n_units; u++)
        n += kept[u] ? p->unit[u].n : 0;
    while ((power ? n > 0 && !hp_is_power_of_two(n) : batch % (n ? n : 1) != 0) &&
           (out = slowest_kept(p, kept)) >= 0) {
        kept[out] = false;
        n -= p->unit[out].n;
    }
    add_subset(p, kept);
}

static void add_classes(struct picking *p, const bool *class)
{
    bool *kept = NEW(p->arena, bool, p->n_units);
    for (int u = 0; u < p->n_units; u++)
        kept[u] = class[p->unit[u].class];
    add_subset(p, kept);
    add_even(p, kept, false);
    add_even(p, kept, true);
}

static void add_unions(struct picking *p)
{
    bool *class = NEW(p->arena, bool, p->n_classes);
    for (int set = (1 << p->n_classes) - 1; set > 0; set--) {
        for (int c = 0; c < p->n_classes; c++)
            class[c] = set >> c & 1;
        add_classes(p, class);
    }
}

static void add_without_one(struct picking *p)
{
    bool *kept = NEW(p->arena, bool, p->n_units);
    for (int c = 0; c < p->n_classes; c++) {
        for (int u = 0; u < p->n_units; u++)
            kept[u] = p->unit[u].class != c;
        add_subset(p, kept);
    }
}

/* Classes that are at least as fast as one of them, by devices or by links. */
static void add_faster(struct picking *p, bool by_links)
{
    bool *class = NEW(p->arena, bool, p->n_classes);
    for (int least = 0; least < p->n_classes; least++) {
        const struct unit *b = &p->unit[p->lead[least]];
        for (int c = 0; c < p->n_classes; c++) {
            const struct unit *a = &p->unit[p->lead[c]];
            class[c] = by_links ? a->bytes_per_s >= b->bytes_per_s : a->op_per_s >= b->op_per_s;
        }
        add_classes(p, class);
    }
}

/* Find the units that a plan uses, and the number of units that it leaves idle. */
static bool *find_used(struct picking *p, const struct hypar_plan *plan, int *n_idle)
{
    bool *device = NEW(p->arena, bool, p->problem->machine->n_devices);
    bool *used = NEW(p->arena, bool, p->n_units);
    *n_idle = 0;
    for (int op = 0; op < plan->graph->n_ops; op++)
        for (int i = 0; i < plan->ops[op].n_devices; i++)
            device[plan->ops[op].device[i]] = true;
    for (int u = 0; u < p->n_units; u++) {
        for (int d = 0; d < p->unit[u].n; d++)
            used[u] |= device[p->unit[u].first + d];
        *n_idle += !used[u];
    }
    return used;
}

const char *hp_idle_reason(struct arena *arena, const struct problem *problem,
                           const struct hypar_plan *plan, double step_s, double all_s)
{
    struct picking p = { .arena = arena, .problem = problem };
    int n_idle = 0;
    find_units(&p);
    if (p.n_classes < 2)
        return NULL;
    const bool *used = find_used(&p, plan, &n_idle);
    if (n_idle == 0 || all_s <= step_s)
        return NULL;
    const char *units = without_text(&p, used, n_idle);
    if (!(all_s < INFINITY))
        return hp_arena_printf(arena, "no plan was found that fits with %s", units);
    double part = all_s / step_s - 1;
    return hp_arena_printf(arena, "%s would slow the step by %.*f %%", units,
                           part < 0.01 ? 2 : 0, 100 * part);
}

bool hp_uses_all_units(const struct problem *problem, const struct hypar_plan *plan)
{
    struct arena scratch = { 0 };
    struct picking p = { .arena = &scratch, .problem = problem };
    int n_idle = 0;
    find_units(&p);
    find_used(&p, plan, &n_idle);
    hp_arena_free(&scratch);
    return n_idle == 0;
}

/* The problem on these devices. */
static double least_seconds(const struct problem *problem, const struct subset *s)
{
    struct hypar_machine *machine;
    struct problem there = *problem;
    if (hp_machine_subset(&machine, problem->machine, s->device, s->n, NULL) != HYPAR_OK)
        return 0;
    there.machine = machine;
    double least_s = hp_step_bound(&there).step_s;
    hypar_machine_free(machine);
    return least_s;
}

static int by_bound(const void *a, const void *b)
{
    const struct subset *x = a, *y = b;
    if (x->least_s != y->least_s)
        return x->least_s < y->least_s ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

struct subsets hp_subsets(struct arena *arena, const struct problem *problem)
{
    struct picking p = { .arena = arena, .problem = problem };
    find_units(&p);
    if (p.n_classes < 2)
        return p.out;
    if (p.n_classes <= MOST_CLASSES) {
        add_unions(&p);
    } else {
        add_without_one(&p);
        add_faster(&p, false);
        add_faster(&p, true);
    }
    for (int i = 0; i < p.out.n; i++)
        p.out.subset[i].least_s = least_seconds(problem, &p.out.subset[i]);
    hp_sort(p.out.subset, p.out.n, sizeof *p.out.subset, by_bound);
    return p.out;
}

struct subsets hp_subsets_without_one(struct arena *arena, const struct problem *problem)
{
    struct picking p = { .arena = arena, .problem = problem };
    find_units(&p);
    if (p.n_classes > 1 && p.n_classes <= MOST_CLASSES)
        add_without_one(&p);
    return p.out;
}
