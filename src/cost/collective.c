/* The cost of a way: the load on every directed link in every round. Hockney's model: latency,
 * and bytes over bandwidth, where messages that cross a link at the same time share its
 * bandwidth. */
#include "cost/collective.h"

#include "base/sort.h"
#include "cost/collective_rounds.h"
#include "machine/machine.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* In groups up to this size routes between pairs are kept, because they are looked up
 * repeatedly. */
enum { MAX_KEPT_GROUP = 64 };

struct used_link {
    int link;  /* directed */
    int round; /* the last round in which it carried a message */
    double s_per_byte, latency_s;
    double load;  /* pieces in this round */
    double total; /* pieces in all rounds of the way */
};

struct passage {
    int first, n; /* numbers of used links in path_link[]; n 0: not known yet */
    double latency_s;
};

/* The links that a group uses, numbered as they are met, and the routes between its devices. */
struct traffic {
    const struct hypar_machine *machine;
    const int *device;
    int n_devices;
    struct arena scratch;
    int n_links, link_capacity;
    struct used_link *link;
    int *number; /* by directed link: number + 1; NULL: too many links for so few paths */
    int *slot, n_slots;   /* then a hash table of the same; the size is a power of two */
    struct passage *kept; /* [from * n_devices + to]; NULL for large groups */
    int *path_link, n_path_links, path_capacity;
    int *route; /* of the longest route's length */
    int round;
    int64_t crossed; /* links visited so far */
};

/* A limit of some seconds: for a group on a ring of 8,192 devices not all algorithms can be
 * costed. The first one always is; those beyond the limit are left out. */
static const int64_t MAX_CROSSED = 1 << 28;

/* Prepare for about `n_paths` paths; between devices of `group` unless it is NULL. */
static void begin_traffic(struct traffic *t, const struct hypar_machine *machine,
                          const int *group, int n_paths)
{
    enum { FEW_LINKS = 256, LINKS_OF_A_PATH = 32 };
    int n_links = 2 * hypar_machine_link_count(machine);
    *t = (struct traffic){ .machine = machine, .device = group, .n_devices = n_paths };
    t->route = NEW(&t->scratch, int, hypar_machine_longest_route(machine) + 1);
    if (group && n_paths <= MAX_KEPT_GROUP)
        t->kept = NEW(&t->scratch, struct passage, n_paths * n_paths);
    if (n_links <= FEW_LINKS || n_links / LINKS_OF_A_PATH <= n_paths)
        t->number = NEW(&t->scratch, int, n_links);
}

static int hash_slot(const struct traffic *t, int link)
{
    unsigned mask = (unsigned)t->n_slots - 1, at = (unsigned)link * 0x9e3779b1u;
    for (at ^= at >> 15;; at++) {
        int number = t->slot[at & mask] - 1;
        if (number < 0 || t->link[number].link == link)
            return (int)(at & mask);
    }
}

static void rehash(struct traffic *t)
{
    t->n_slots = t->n_slots ? 4 * t->n_slots : 256;
    t->slot = NEW(&t->scratch, int, t->n_slots);
    for (int i = 0; i < t->n_links; i++)
        t->slot[hash_slot(t, t->link[i].link)] = i + 1;
}

/* Where the number of a directed link is stored, or will be. */
static int *place_of(struct traffic *t, int link)
{
    if (t->number)
        return &t->number[link];
    if (2 * t->n_links >= t->n_slots)
        rehash(t);
    return &t->slot[hash_slot(t, link)];
}

/* The number of a directed link. */
static int link_number(struct traffic *t, int link)
{
    int *place = place_of(t, link);
    if (*place)
        return *place - 1;
    struct hypar_link figures = hypar_machine_link(t->machine, link / 2);
    t->link = GROW(&t->scratch, struct used_link, t->link, t->n_links, &t->link_capacity);
    t->link[t->n_links] = (struct used_link){ .link = link,
                                              .round = -1,
                                              .s_per_byte = 1 / figures.bytes_per_s,
                                              .latency_s = figures.latency_s };
    *place = ++t->n_links;
    return t->n_links - 1;
}

/* Append the route between two devices (numbers of the machine) to path_link[]. */
static struct passage find_path(struct traffic *t, int from, int to)
{
    struct passage path = { .first = t->n_path_links };
    path.n = hypar_machine_route(t->machine, from, to, t->route,
                                 hypar_machine_longest_route(t->machine));
    for (int i = 0; i < path.n; i++) {
        int number = link_number(t, t->route[i]);
        t->path_link = GROW(&t->scratch, int, t->path_link, t->n_path_links, &t->path_capacity);
        t->path_link[t->n_path_links++] = number;
        path.latency_s += t->link[number].latency_s;
    }
    return path;
}

/* The path between two devices; valid until the next call. */
static struct passage path_between(struct traffic *t, int from, int to)
{
    if (!t->kept) {
        t->n_path_links = 0;
        return find_path(t, t->device[from], t->device[to]);
    }
    struct passage *path = &t->kept[from * t->n_devices + to];
    if (path->n == 0)
        *path = find_path(t, t->device[from], t->device[to]);
    return *path;
}

/* Put the pieces of a message on a path in this round; returns the longest time so far, per
 * byte of a piece, for which one of its links is held. `repeat`: how often this happens in
 * all. */
static double put_on(struct traffic *t, const struct passage *path, const struct comm_hop *hop,
                     int repeat)
{
    double held = 0;
    for (int i = 0; i < path->n; i++) {
        struct used_link *link = &t->link[t->path_link[path->first + i]];
        double pieces = hop->n_pieces * hp_message_share(hop->up_of, hop->down_of, i, path->n);
        if (link->round != t->round) {
            link->round = t->round;
            link->load = 0;
        }
        link->load += pieces;
        link->total += pieces * repeat;
        double time = link->load * link->s_per_byte;
        held = time > held ? time : held;
    }
    return held;
}

/* The same of a message of so many bytes, alone in its round. */
static void put_bytes(struct traffic *t, const struct passage *path, double bytes)
{
    for (int i = 0; i < path->n; i++)
        t->link[t->path_link[path->first + i]].total += bytes;
}

/* The totals of a way, kept until all links are known and can be sorted. */
struct totals {
    int n;
    double *pieces; /* by link number; zero beyond n */
};

static struct totals take_totals(struct traffic *t)
{
    struct totals totals = { t->n_links, NEW(&t->scratch, double, t->n_links) };
    for (int i = 0; i < t->n_links; i++) {
        totals.pieces[i] = t->link[i].total;
        t->link[i].total = 0;
    }
    return totals;
}

/* Link numbers in the order of the links: by merging runs, because routes often ascend. */
static int *sort_links(struct traffic *t)
{
    int n = t->n_links;
    int *order = NEW(&t->scratch, int, n), *other = NEW(&t->scratch, int, n);
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int width = 1; width < n; width *= 2) {
        for (int low = 0; low < n; low += 2 * width) {
            int middle = low + width < n ? low + width : n;
            int high = middle + width < n ? middle + width : n;
            for (int a = low, b = middle, at = low; at < high; at++)
                if (b >= high ||
                    (a < middle && t->link[order[a]].link < t->link[order[b]].link))
                    other[at] = order[a++];
                else
                    other[at] = order[b++];
        }
        int *swap = order;
        order = other;
        other = swap;
    }
    return order;
}

static void write_links(struct arena *arena, const struct traffic *t, const int *order,
                        const struct totals *totals, double pieces_per_whole,
                        struct comm_way *way)
{
    for (int i = 0; i < totals->n; i++)
        way->n_links += totals->pieces[i] > 0;
    struct link_share *share = NEW(arena, struct link_share, way->n_links);
    way->link = share;
    for (int i = 0; i < t->n_links; i++) {
        int number = order[i];
        if (number < totals->n && totals->pieces[number] > 0)
            *share++ = (struct link_share){ t->link[number].link,
                                            totals->pieces[number] / pieces_per_whole *
                                                t->link[number].s_per_byte };
    }
}

static void estimate_round(struct traffic *t, const struct comm_rounds *rounds,
                           const struct comm_round *round, struct comm_way *way)
{
    double latency_s = 0, held = 0;
    t->round++;
    for (int h = round->first; h < round->first + round->n; h++) {
        const struct comm_hop *hop = &rounds->hop[h];
        struct passage path = path_between(t, hop->from, hop->to);
        double time = put_on(t, &path, hop, round->repeat);
        t->crossed += path.n;
        held = time > held ? time : held;
        latency_s = path.latency_s > latency_s ? path.latency_s : latency_s;
    }
    way->n_messages += (int64_t)round->n * round->repeat * rounds->chunks;
    way->fixed_s += latency_s * round->repeat;
    way->s_per_byte += held * round->repeat / rounds->pieces_per_whole;
}

/* The first chunk takes the time of its rounds; the others follow at the pace of the busiest
 * link. */
static void estimate_chunks(const struct traffic *t, const struct comm_rounds *rounds,
                            struct comm_way *way)
{
    double busiest = 0;
    for (int i = 0; i < t->n_links && rounds->chunks > 1; i++)
        busiest = fmax(busiest, t->link[i].total * t->link[i].s_per_byte);
    busiest /= rounds->pieces_per_whole;
    way->s_per_byte += (rounds->chunks - 1) * busiest;
    way->s_per_byte /= rounds->chunks;
}

/* A row of the table as a way, without its links. */
struct candidate {
    struct comm_way way;
    struct totals totals;
    int pieces_per_whole;
};

struct candidates {
    struct candidate *at; /* of the traffic's scratch arena */
    int n, capacity;
};

/* Cost one algorithm, and add it to the candidates unless it takes too long to cost and there
 * is another. Returns whether it was added. */
static bool estimate(struct traffic *t, const struct comm_algorithm *algorithm,
                     const struct comm_group *group, int block, struct candidates *out)
{
    bool only = out->n == 0;
    struct candidate c = { .way = { .algorithm = algorithm->name, .block = block } };
    struct comm_rounds rounds;
    struct arena arena = { 0 };
    hp_comm_rounds(&arena, t->machine, algorithm, group, block, &rounds);
    for (int r = 0; r < rounds.n_rounds && (only || t->crossed <= MAX_CROSSED); r++)
        if (rounds.round[r].repeat > 0)
            estimate_round(t, &rounds, &rounds.round[r], &c.way);
    estimate_chunks(t, &rounds, &c.way);
    c.pieces_per_whole = rounds.pieces_per_whole;
    hp_arena_free(&arena);
    c.totals = take_totals(t);
    if (!only && t->crossed > MAX_CROSSED)
        return false;
    out->at = GROW(&t->scratch, struct candidate, out->at, out->n, &out->capacity);
    out->at[out->n++] = c;
    return true;
}

/* The sizes of the blocks at each level of the machine. A machine of listed links has the prime
 * factors as levels; their bandwidths, not needed here, would take long to find. */
static int block_sizes(const struct hypar_machine *machine, int *block)
{
    struct hypar_level level[HYPAR_MAX_LEVELS];
    int factor[HYPAR_MAX_LEVELS], size = machine->n_devices;
    bool listed = machine->network != NULL;
    int n = listed ? hp_prime_factors(size, factor) : machine->topology->levels(machine, level);
    for (int l = 0; l < n; l++)
        block[l] = size /= listed ? factor[l] : level[l].ways;
    return n;
}

/* Cost the row once for each way to divide the group into blocks; levels that divide it alike
 * count once. */
static void estimate_blocks(struct traffic *t, const struct comm_algorithm *algorithm,
                            const struct comm_group *group, struct candidates *out)
{
    int block[HYPAR_MAX_LEVELS], first = out->n;
    int n_blocks = block_sizes(t->machine, block);
    for (int b = 0; b < n_blocks; b++) {
        if (!hp_comm_algorithm_fits(t->machine, algorithm, group, block[b]) ||
            !estimate(t, algorithm, group, block[b], out) || out->n < first + 2)
            continue;
        const struct comm_way *now = &out->at[out->n - 1].way, *last = &out->at[out->n - 2].way;
        out->n -= now->fixed_s == last->fixed_s && now->s_per_byte == last->s_per_byte;
    }
}

/* Cost the rows of the group's kind: the one of this name, or all that the machine's library
 * has and that need not be asked for. */
static void estimate_rows(struct traffic *t, const struct comm_group *group, const char *name,
                          struct candidates *out)
{
    const struct comm_algorithm *row;
    bool nccl = hp_machine_has(t->machine, OPTION_NCCL);
    for (int i = 0; (row = hp_comm_algorithm(i)); i++) {
        bool wanted =
            name ? strcmp(row->name, name) == 0 : !row->asked_for && (row->nccl || !nccl);
        if (row->kind != group->kind || group->n_devices < row->min_devices || !wanted)
            continue;
        int block = row->needs == ON_NODES || row->needs == BY_SWITCHES
                        ? hp_machine_node_size(t->machine)
                        : 0;
        if (row->needs == IN_BLOCKS || row->needs == IN_ANY_BLOCKS)
            estimate_blocks(t, row, group, out);
        else if (hp_comm_algorithm_fits(t->machine, row, group, block))
            estimate(t, row, group, block, out);
    }
}

static void add_overhead(struct comm_way *way, struct comm_overhead overhead)
{
    way->overhead = overhead;
    way->fixed_s += overhead.fixed_s;
    way->s_per_byte += overhead.s_per_byte;
}

const struct comm_model *hp_comm_model_named(struct arena *arena,
                                             const struct hypar_machine *machine,
                                             const struct comm_group *group, const char *name)
{
    assert(group->kind != COMM_EXCHANGE && group->n_devices > 0);
    struct candidates candidates = { 0 };
    struct traffic traffic;
    begin_traffic(&traffic, machine, group->device, group->n_devices);
    estimate_rows(&traffic, group, name, &candidates);
    if (candidates.n == 0)
        estimate_rows(&traffic, group, NULL, &candidates);
    int n = candidates.n;
    struct comm_model *model = NEW(arena, struct comm_model, 1);
    struct comm_way *way = NEW(arena, struct comm_way, n);
    const int *order = sort_links(&traffic);
    for (int w = 0; w < n; w++) {
        const struct candidate *c = &candidates.at[w];
        way[w] = c->way;
        add_overhead(&way[w], hp_comm_overhead(machine, group));
        write_links(arena, &traffic, order, &c->totals, c->pieces_per_whole, &way[w]);
    }
    hp_arena_free(&traffic.scratch);
    *model = (struct comm_model){ n, way };
    return model;
}

const struct comm_model *hp_comm_model(struct arena *arena, const struct hypar_machine *machine,
                                       const struct comm_group *group)
{
    return hp_comm_model_named(arena, machine, group, NULL);
}

const struct comm_way *hp_comm_best_way(const struct comm_model *model, double bytes)
{
    const struct comm_way *best = &model->way[0];
    for (int w = 1; w < model->n_ways; w++) {
        const struct comm_way *way = &model->way[w];
        if (way->fixed_s + bytes * way->s_per_byte < best->fixed_s + bytes * best->s_per_byte)
            best = way;
    }
    return best;
}

/* A message in the order of service on the links of its route. */
struct arrival {
    int message;
    double latency_s; /* of its whole route */
    double bytes;
};

static int by_latest(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    if (x->latency_s != y->latency_s)
        return x->latency_s > y->latency_s ? -1 : 1;
    return (x->bytes > y->bytes) -
           (x->bytes < y->bytes); /* so that sums do not depend on the sort */
}

/* When a link is done that is never idle while a message has reached it: for the worst latency,
 * the messages with at least this latency cross the link after it. All links are processed
 * together, the latest messages first. The messages of each link are never stored, since on a
 * ring these are the square of its devices. */
static void find_longest(struct traffic *t, const struct message *message,
                         const struct arrival *latest, int n, struct comm_way *way)
{
    double *held_s = NEW(&t->scratch, double, t->n_links);
    int slowest = -1; /* among equals the link met first */
    for (int i = 0; i < n; i++) {
        const struct message *m = &message[latest[i].message];
        t->n_path_links = 0;
        struct passage path = find_path(t, m->from, m->to);
        for (int k = path.first; k < path.first + path.n; k++) {
            int link = t->path_link[k];
            held_s[link] += m->bytes * t->link[link].s_per_byte;
            double done_s = latest[i].latency_s + held_s[link];
            double most_s = way->fixed_s + way->s_per_byte;
            if (done_s > most_s || (done_s == most_s && link < slowest)) {
                slowest = link;
                way->fixed_s = latest[i].latency_s;
                way->s_per_byte = held_s[link];
            }
        }
    }
}

void hp_messages_way(struct arena *arena, const struct hypar_machine *machine,
                     const struct message *message, int n, struct comm_way *way)
{
    struct traffic t;
    begin_traffic(&t, machine, NULL, n);
    struct arrival *latest = NEW(&t.scratch, struct arrival, n);
    *way = (struct comm_way){ .algorithm = "direct", .n_messages = n };
    for (int i = 0; i < n; i++) {
        t.n_path_links = 0;
        struct passage path = find_path(&t, message[i].from, message[i].to);
        put_bytes(&t, &path, message[i].bytes);
        latest[i] = (struct arrival){ i, path.latency_s, message[i].bytes };
    }
    if (n)
        hp_sort(latest, n, sizeof *latest, by_latest);
    find_longest(&t, message, latest, n, way);
    add_overhead(way, hp_messages_overhead(&t.scratch, machine, message, n));
    struct totals totals = take_totals(&t);
    write_links(arena, &t, sort_links(&t), &totals, 1, way);
    hp_arena_free(&t.scratch);
}
