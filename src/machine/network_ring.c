/* Rings through devices of a machine of listed links: the order in which a collective passes
 * from one device to the next. A short tour over the routes is a cycle of neighbours where
 * there is one, and seldom crosses a link twice. Among the tours found, the one whose busiest
 * link is least busy is chosen. */
#include "machine/network.h"

#include "base/sort.h"
#include "base/table.h"
#include "machine/tour.h"

#include <math.h>
#include <string.h>

enum {
    STEPS = 1024, /* of the search, for each device; for the first few, twice as many */
    FEW = 64,
    PATIENCE = 32,      /* further tours to examine when no link can be less busy */
    UNIT = 128,         /* the shortest length between two devices */
    MAX_KEPT = 1 << 22, /* devices in all kept rings */
};

/* How long the busiest link is held in a round: by a piece from each device one way, the other
 * way, and by two pieces both ways; the longest latency of a step; and how long all links
 * together are held, which delays other traffic. */
struct quality {
    double forth_s, back_s, two_way_s, latency_s, all_s;
};

struct ring {
    const struct hypar_machine *machine;
    const struct network *network;
    struct arena arena;
    int n;
    const int *device;       /* rising */
    int *length;             /* [n * n], for the search */
    int *forth, *two_way;    /* [directed link]: its pieces */
    int *crossed, n_crossed; /* links with pieces */
    struct quality bound, by_number, found;
    int *order;   /* the best so far */
    int patience; /* what is left of PATIENCE */
};

/* Quality -------------------------------------------------------------------------------- */

static double add_pieces(struct ring *r, int from, int to, bool forwards)
{
    const struct network *network = r->network;
    const int *next = network->next + (size_t)to * (size_t)network->n_nodes;
    double latency_s = 0;
    for (int at = from; at != to; at = hp_network_head(network, next[at])) {
        int link = next[at];
        if (r->two_way[link]++ == 0)
            r->crossed[r->n_crossed++] = link;
        r->forth[link] += forwards;
        latency_s += network->links[link / 2].latency_s;
    }
    return latency_s;
}

static struct quality quality_of(struct ring *r, const int *order)
{
    struct quality q = { 0 };
    for (int i = 0; i < r->n; i++) {
        int a = r->device[order[i]], b = r->device[order[i + 1 < r->n ? i + 1 : 0]];
        double there_s = add_pieces(r, a, b, true), back_s = add_pieces(r, b, a, false);
        q.latency_s = fmax(q.latency_s, fmax(there_s, back_s));
    }
    while (r->n_crossed > 0) {
        int link = r->crossed[--r->n_crossed];
        double s_per_byte = 1 / r->network->links[link / 2].bytes_per_s;
        q.forth_s = fmax(q.forth_s, r->forth[link] * s_per_byte);
        q.back_s = fmax(q.back_s, (r->two_way[link] - r->forth[link]) * s_per_byte);
        q.two_way_s = fmax(q.two_way_s, r->two_way[link] * s_per_byte);
        q.all_s += r->two_way[link] * s_per_byte;
        r->forth[link] = r->two_way[link] = 0;
    }
    return q;
}

/* A bound: every device sends one piece, or two, over its fastest links. */
static struct quality best_quality(const struct ring *r)
{
    const struct network *network = r->network;
    struct quality q = { 0 };
    for (int i = 0; i < r->n; i++) {
        double first_s = INFINITY, second_s = INFINITY, latency_s = INFINITY;
        int d = r->device[i];
        for (int k = network->first_out[d]; k < network->first_out[d + 1]; k++) {
            const struct hypar_link *link = &network->links[network->out[k] / 2];
            double s = 1 / link->bytes_per_s;
            second_s = fmin(second_s, fmax(first_s, s));
            first_s = fmin(first_s, s);
            latency_s = fmin(latency_s, link->latency_s);
        }
        q.forth_s = q.back_s = fmax(q.forth_s, first_s);
        q.two_way_s = fmax(q.two_way_s, fmin(2 * first_s, second_s));
        q.latency_s = fmax(q.latency_s, latency_s);
        q.all_s += 2 * first_s;
    }
    return q;
}

/* Does `a` keep no link busier than `b`, in each direction of traffic? */
static bool is_harmless(const struct quality *a, const struct quality *b)
{
    return a->forth_s <= b->forth_s && a->back_s <= b->back_s && a->two_way_s <= b->two_way_s;
}

/* The time of a collective: one way, or both ways with half of each piece. */
static double time_of(const struct quality *q)
{
    return fmin(fmax(q->forth_s, q->back_s), q->two_way_s / 2);
}

static bool is_better(const struct quality *a, const struct quality *b)
{
    double one = time_of(a), other = time_of(b);
    double one_sum = a->forth_s + a->back_s + a->two_way_s,
           other_sum = b->forth_s + b->back_s + b->two_way_s;
    if (one != other)
        return one < other;
    if (one_sum != other_sum)
        return one_sum < other_sum;
    if (a->latency_s != b->latency_s)
        return a->latency_s < b->latency_s;
    return a->all_s < b->all_s * (1 - 1e-9);
}

/* No link can be less busy. */
static bool has_least_load(const struct ring *r)
{
    return is_harmless(&r->found, &r->bound);
}

/* The same, with one link from each device to the next. */
static bool is_best(const struct ring *r)
{
    return has_least_load(r) && r->found.latency_s <= r->bound.latency_s &&
           r->found.all_s <= r->bound.all_s * (1 + 1e-9);
}

/* Take the tour if it is the best so far. True: none is better, or looking further is not worth
 * it. */
static bool judge(void *who, const int *tour)
{
    struct ring *r = who;
    struct quality q = quality_of(r, tour);
    if (is_harmless(&q, &r->by_number) && is_better(&q, &r->found)) {
        r->found = q;
        memcpy(r->order, tour, (size_t)r->n * sizeof *tour);
    }
    return is_best(r) || (has_least_load(r) && r->patience-- <= 0);
}

/* Search --------------------------------------------------------------------------------- */

/* Fill distance[from] with the seconds that a byte holds the links to device `to`, one after
 * the other. `known`, by node, is the number of this device + 1 where far_s is right. */
static void measure_to(const struct hypar_machine *machine, int to, int *known, double *far_s,
                       int *path, float *distance)
{
    const struct network *network = machine->network;
    const int *next = network->next + (size_t)to * (size_t)network->n_nodes;
    known[to] = to + 1;
    far_s[to] = 0;
    for (int from = 0; from < machine->n_devices; from++) {
        int n = 0, at = from;
        for (; known[at] != to + 1; at = hp_network_head(network, next[at]))
            path[n++] = at;
        for (double s = far_s[at]; n > 0;) {
            at = path[--n];
            s += 1 / network->links[next[at] / 2].bytes_per_s;
            far_s[at] = s;
            known[at] = to + 1;
        }
        distance[from] = (float)far_s[from];
    }
}

/* Distances between all devices: [to * n_devices + from], computed once for the machine. */
static const float *distances(const struct hypar_machine *machine)
{
    struct network *network = machine->network;
    float *all = atomic_load(&network->distance), *known_by_now = NULL;
    if (all)
        return all;
    struct arena scratch = { 0 };
    int n = machine->n_devices, *known = NEW(&scratch, int, network->n_nodes);
    int *path = NEW(&scratch, int, network->n_nodes);
    double *far_s = NEW(&scratch, double, network->n_nodes);
    all = hp_array_new((size_t)n * (size_t)n * sizeof *all);
    for (int to = 0; to < n; to++)
        measure_to(machine, to, known, far_s, path, all + (size_t)to * (size_t)n);
    hp_arena_free(&scratch);
    if (atomic_compare_exchange_strong(&network->distance, &known_by_now, all))
        return all;
    hp_array_free(all); /* another thread was faster */
    return known_by_now;
}

static void find_lengths(struct ring *r)
{
    int n = r->n;
    const float *distance = distances(r->machine);
    size_t all = (size_t)r->machine->n_devices;
    float least_s = INFINITY;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            if (a != b)
                least_s =
                    fminf(least_s, distance[(size_t)r->device[a] * all + (size_t)r->device[b]]);
    r->length = NEW(&r->arena, int, (int64_t)n *n);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < a; b++) {
            size_t i = (size_t)r->device[a], k = (size_t)r->device[b];
            double both = ((double)distance[i * all + k] + distance[k * all + i]) /
                          (2 * (double)least_s) * UNIT;
            r->length[(int64_t)a * n + b] = r->length[(int64_t)b * n + a] =
                both < TOUR_MAX_LENGTH ? (int)(both + .5) : TOUR_MAX_LENGTH;
        }
}

/* The best order, as indices of r->device. */
static void find_order(struct ring *r)
{
    int n_links = 2 * r->machine->n_links;
    r->forth = NEW(&r->arena, int, n_links);
    r->two_way = NEW(&r->arena, int, n_links);
    r->crossed = NEW(&r->arena, int, n_links);
    for (int i = 0; i < r->n; i++)
        r->order[i] = i;
    r->bound = best_quality(r);
    r->found = r->by_number = quality_of(r, r->order);
    if (is_best(r))
        return;
    find_lengths(r);
    r->patience = PATIENCE;
    hp_tour_search(&(struct tour_problem){ r->n, r->length, judge, r },
                   STEPS * ((int64_t)r->n + (r->n < FEW ? r->n : FEW)));
}

/* Kept rings ----------------------------------------------------------------------------- */

static struct kept_ring *find_kept(struct kept_ring *ring, const int *device, int n)
{
    while (ring &&
           (ring->n != n || memcmp(ring->device, device, (size_t)n * sizeof *device) != 0))
        ring = ring->other;
    return ring;
}

/* Two threads may keep the same ring, which does no harm. */
static void keep(struct network *network, _Atomic(struct kept_ring *) *slot,
                 const struct ring *r)
{
    size_t bytes = (size_t)r->n * sizeof *r->device;
    if (atomic_fetch_add(&network->n_kept, r->n) > MAX_KEPT) {
        atomic_fetch_sub(&network->n_kept, r->n);
        return;
    }
    struct kept_ring *ring = hp_array_new(sizeof *ring + 2 * bytes);
    ring->n = r->n;
    memcpy(ring->device, r->device, bytes);
    memcpy(ring->device + r->n, r->order, bytes);
    ring->other = atomic_load(slot);
    while (!atomic_compare_exchange_weak(slot, &ring->other, ring))
        ;
}

void hp_network_free(struct network *network)
{
    hp_array_free(atomic_load(&network->rank));
    hp_array_free(atomic_load(&network->distance));
    for (int s = 0; s < NETWORK_RING_SLOTS; s++)
        for (struct kept_ring *ring = atomic_load(&network->ring[s]); ring;) {
            struct kept_ring *other = ring->other;
            hp_array_free(ring);
            ring = other;
        }
}

/* A device of a group and its position there. */
struct ring_place {
    int device, index;
};

static int by_device(const void *a, const void *b)
{
    const struct ring_place *x = a, *y = b;
    return (x->device > y->device) - (x->device < y->device);
}

bool hp_network_cycle(struct arena *scratch, const struct hypar_machine *machine,
                      const int *device, int n, int *order)
{
    struct network *network = machine->network;
    if (n < 4 || !network->next) /* without the table each route would take a search */
        return false;
    struct ring_place *place = NEW(scratch, struct ring_place, n);
    int *rising = NEW(scratch, int, n);
    for (int i = 0; i < n; i++)
        place[i] = (struct ring_place){ device[i], i };
    hp_sort(place, n, sizeof *place, by_device);
    for (int i = 0; i < n; i++)
        rising[i] = place[i].device;

    uint64_t hash = hp_hash(HP_HASH_START, rising, (size_t)n * sizeof *rising);
    _Atomic(struct kept_ring *) *slot = &network->ring[hash % NETWORK_RING_SLOTS];
    const struct kept_ring *kept = find_kept(atomic_load(slot), rising, n);
    struct ring r = { .machine = machine, .network = network, .n = n, .device = rising };
    r.order = NEW(scratch, int, n);
    if (kept) {
        memcpy(r.order, kept->device + n, (size_t)n * sizeof *order);
    } else {
        find_order(&r);
        keep(network, slot, &r);
        hp_arena_free(&r.arena);
    }
    for (int i = 0; i < n; i++)
        order[i] = place[r.order[i]].index;
    return true;
}
