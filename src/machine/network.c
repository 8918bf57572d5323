/* A machine of explicit nodes and links, and its routes. A route has the fewest links; among
 * those the widest bottleneck; among those, link by link, the links that earlier routes use
 * least, as the forwarding tables of switches are filled. A table holds the next link of every
 * node towards each device while it is small; otherwise a route is searched on demand, ignoring
 * earlier routes. */
#include "machine/network.h"

#include <math.h>
#include <string.h>

#include "base/csr.h"
#include "base/table.h"

enum {
    MAX_TABLE_WORK = 1 << 26
}; /* steps to fill the table of next links; bounds its size too */

/* The arrays of one search, n_nodes each. */
struct search {
    int *next; /* -1: none */
    int *hops;
    double *width; /* of the bottleneck */
    int *queue;
    int *sources;  /* devices whose routes pass through */
    int64_t *load; /* [directed link]: its routes, of all searches so far */
};

static struct search search_new(struct arena *arena, const struct hypar_machine *machine)
{
    int n_nodes = machine->network->n_nodes;
    return (struct search){
        .next = NEW(arena, int, n_nodes),
        .hops = NEW(arena, int, n_nodes),
        .width = NEW(arena, double, n_nodes),
        .queue = NEW(arena, int, n_nodes),
        .sources = NEW(arena, int, n_nodes),
        .load = NEW(arena, int64_t, 2 * (int64_t)machine->n_links),
    };
}

/* Breadth-first from `to`, so that a node's width is final before the search leaves it. Returns
 * the number of nodes reached. */
static int measure(const struct network *network, int to, struct search *s)
{
    for (int v = 0; v < network->n_nodes; v++) {
        s->next[v] = s->hops[v] = -1;
        s->width[v] = 0;
    }
    int n = 0;
    s->hops[to] = 0;
    s->width[to] = INFINITY;
    s->queue[n++] = to;
    for (int q = 0; q < n; q++) {
        int u = s->queue[q];
        for (int i = network->first_out[u]; i < network->first_out[u + 1]; i++) {
            int v = hp_network_head(network, network->out[i]);
            if (s->hops[v] < 0) {
                s->hops[v] = s->hops[u] + 1;
                s->queue[n++] = v;
            }
            double width = fmin(s->width[u], network->links[network->out[i] / 2].bytes_per_s);
            if (s->hops[v] == s->hops[u] + 1)
                s->width[v] = fmax(s->width[v], width);
        }
    }
    return n;
}

static bool begins_best(const struct network *network, const struct search *s, int v,
                        int directed)
{
    int u = hp_network_head(network, directed);
    return s->hops[u] == s->hops[v] - 1 &&
           fmin(s->width[u], network->links[directed / 2].bytes_per_s) == s->width[v];
}

/* Of v's links that begin a best route, the one with the fewest routes. Equal links take turns
 * by destination, so that they share the load when nothing is known. */
static int least_loaded(const struct network *network, const struct search *s, int v, int to)
{
    int end = network->first_out[v + 1], n_equal = 0, i = network->first_out[v];
    int64_t least = INT64_MAX;
    for (int k = i; k < end; k++) {
        int64_t load = s->load[network->out[k]];
        if (load > least || !begins_best(network, s, v, network->out[k]))
            continue;
        n_equal = load < least ? 1 : n_equal + 1;
        least = load;
    }
    for (int skip = to % n_equal;; i++)
        if (s->load[network->out[i]] == least && begins_best(network, s, v, network->out[i]) &&
            skip-- == 0)
            return network->out[i];
}

/* The best routes of all devices to `to`. The farthest node chooses first, so a node knows
 * everything that passes through it. */
static void search_to(const struct hypar_machine *machine, int to, struct search *s)
{
    const struct network *network = machine->network;
    int n = measure(network, to, s);
    for (int v = 0; v < network->n_nodes; v++)
        s->sources[v] = v < machine->n_devices;
    for (int q = n - 1; q > 0; q--) {
        int v = s->queue[q], link = s->next[v] = least_loaded(network, s, v, to);
        s->load[link] += s->sources[v];
        s->sources[hp_network_head(network, link)] += s->sources[v];
    }
}

static void index_links(struct arena *arena, struct network *network, int n_links)
{
    struct csr out = { .arena = arena, .n_keys = network->n_nodes };
    while (hp_csr_pass(&out))
        for (int l = 0; l < n_links; l++) {
            hp_csr_put(&out, network->links[l].from, 2 * l);
            hp_csr_put(&out, network->links[l].to, 2 * l + 1);
        }
    network->first_out = out.start;
    network->out = out.item;
}

/* Check that every device is reached, bound the longest route, fill the table if it is
 * small. */
static enum hypar_status find_routes(struct hypar_machine *machine, struct hypar_error *err)
{
    struct network *network = machine->network;
    int n = machine->n_devices, n_nodes = network->n_nodes;
    struct arena scratch = { 0 };
    struct search s = search_new(&scratch, machine);
    enum hypar_status status = HYPAR_OK;

    measure(network, 0, &s);
    int longest = 0;
    for (int d = 0; d < n; d++) {
        longest = s.hops[d] > longest ? s.hops[d] : longest;
        if (s.hops[d] < 0 && status == HYPAR_OK)
            status = hp_fail(err, HYPAR_INVALID, "no links lead from device 0 to device %d", d);
    }
    machine->longest_route = 2 * longest < n_nodes ? 2 * longest : n_nodes - 1;

    int64_t work = (int64_t)n * (n_nodes + 2 * (int64_t)machine->n_links);
    if (status == HYPAR_OK && work <= MAX_TABLE_WORK) {
        network->next = NEW(&machine->arena, int, (int64_t)n *n_nodes);
        machine->longest_route = 0;
        for (int to = 0; to < n; to++) {
            search_to(machine, to, &s);
            memcpy(network->next + (size_t)to * (size_t)n_nodes, s.next,
                   (size_t)n_nodes * sizeof *s.next);
            for (int d = 0; d < n; d++)
                if (s.hops[d] > machine->longest_route)
                    machine->longest_route = s.hops[d];
        }
    }
    hp_arena_free(&scratch);
    return status;
}

static int route(const struct hypar_machine *machine, int from, int to, int *links, int max)
{
    const struct network *network = machine->network;
    struct path path = { links, max, 0 };
    struct arena scratch = { 0 };
    const int *next = network->next;
    if (next) {
        next += (size_t)to * (size_t)network->n_nodes;
    } else if (from != to) {
        struct search s = search_new(&scratch, machine);
        search_to(machine, to, &s);
        next = s.next;
    }
    for (int at = from; at != to; at = hp_network_head(network, next[at]))
        hp_path_add(&path, next[at] / 2, next[at] % 2);
    hp_arena_free(&scratch);
    return path.count;
}

static struct hypar_link get_link(const struct hypar_machine *machine, int index)
{
    return machine->network->links[index];
}

double hp_network_routed_bytes_per_s(const struct hypar_machine *machine, int parent, int group,
                                     const int *device_at)
{
    struct arena scratch = { 0 };
    int *path = NEW(&scratch, int, machine->longest_route);
    double *load = NEW(&scratch, double, 2 * machine->n_links), slowest_s = 0;
    for (int d = 0; d < machine->n_devices; d++) {
        int to = hp_counterpart(d, parent, group);
        int from = device_at ? device_at[d] : d;
        int n =
            route(machine, from, device_at ? device_at[to] : to, path, machine->longest_route);
        for (int i = 0; i < n; i++) {
            load[path[i]]++;
            double time_s = load[path[i]] / machine->network->links[path[i] / 2].bytes_per_s;
            slowest_s = fmax(slowest_s, time_s);
        }
    }
    hp_arena_free(&scratch);
    return group / slowest_s;
}

/* Does the route of two devices take this one of their links? */
static bool is_route(const struct network *network, int from, int to, int link)
{
    return network->next[(size_t)to * (size_t)network->n_nodes + (size_t)from] / 2 == link;
}

/* The total bandwidth of the links between a group and the rest of its parent; of the group
 * with the least. */
static double joining_bytes_per_s(const struct hypar_machine *machine, int parent, int group)
{
    struct arena scratch = { 0 };
    double *sum = NEW(&scratch, double, machine->n_devices / group), least = INFINITY;
    for (int l = 0; l < machine->n_links; l++) {
        const struct hypar_link *link = &machine->network->links[l];
        int from = link->from / group, to = link->to / group;
        if (link->from >= machine->n_devices || link->to >= machine->n_devices || from == to ||
            link->from / parent != link->to / parent)
            continue;
        if (is_route(machine->network, link->from, link->to, l))
            sum[from] += link->bytes_per_s;
        if (is_route(machine->network, link->to, link->from, l))
            sum[to] += link->bytes_per_s;
    }
    for (int g = 0; g < machine->n_devices / group; g++)
        least = fmin(least, sum[g]);
    hp_arena_free(&scratch);
    return least;
}

/* Where devices are joined directly, the link that a route takes says little about the total
 * bandwidth of these links. */
static double level_bytes_per_s(const struct hypar_machine *machine, int parent, int group)
{
    double routed = hp_network_routed_bytes_per_s(machine, parent, group, NULL);
    return fmax(routed, joining_bytes_per_s(machine, parent, group));
}

/* Without the table the exact value would take too long: use the bandwidth of one route. */
static double one_route_bytes_per_s(const struct hypar_machine *machine, int to)
{
    struct arena scratch = { 0 };
    int *path = NEW(&scratch, int, machine->longest_route);
    int n = route(machine, 0, to, path, machine->longest_route);
    double width = INFINITY;
    for (int i = 0; i < n; i++)
        width = fmin(width, machine->network->links[path[i] / 2].bytes_per_s);
    hp_arena_free(&scratch);
    return width;
}

static int levels(const struct hypar_machine *machine, struct hypar_level *out)
{
    int factors[HYPAR_MAX_LEVELS];
    int n = hp_prime_factors(machine->n_devices, factors), parent = machine->n_devices;
    for (int l = 0; l < n; l++) {
        int group = parent / factors[l];
        out[l] = (struct hypar_level){
            .ways = factors[l],
            .bytes_per_s = machine->network->next ? level_bytes_per_s(machine, parent, group)
                                                  : one_route_bytes_per_s(machine, group),
        };
        parent = group;
    }
    return n;
}

const struct topology hp_explicit = {
    { "explicit", "a JSON file", "nodes and links listed one by one" },
    .default_device = "v100",
    .scope = SCOPE_SIMPLE,
    .link = get_link,
    .route = route,
    .levels = levels,
    .cycle = hp_network_cycle,
    .rank = hp_network_rank,
};

const enum option hp_link_figures[N_LINK_FIGURES] = { OPTION_BANDWIDTH, OPTION_LINK_EFFICIENCY,
                                                      OPTION_LATENCY, OPTION_ENERGY };

double *hp_link_figure(struct listed_link *link, enum option option)
{
    return option == OPTION_BANDWIDTH         ? &link->link.bytes_per_s
           : option == OPTION_LINK_EFFICIENCY ? &link->efficiency
           : option == OPTION_LATENCY         ? &link->link.latency_s
           : option == OPTION_ENERGY          ? &link->link.energy_j_per_bit
                                              : NULL;
}

struct hypar_machine *hp_network_new(const struct device_run *runs, int n_runs, int n_devices,
                                     int n_switches, int n_links, struct listed_link **links)
{
    struct hypar_machine *machine = hp_machine_new(&hp_explicit);
    struct arena *arena = &machine->arena;
    machine->n_devices = n_devices;
    machine->n_switches = n_switches;
    machine->n_links = n_links;
    machine->n_runs = n_runs;
    machine->runs = NEW(arena, struct device_run, n_runs);
    for (int r = 0; r < n_runs; r++) {
        machine->runs[r] = runs[r];
        machine->runs[r].device.name = hp_arena_strdup(arena, runs[r].device.name);
        if (runs[r].source)
            machine->runs[r].source = hp_arena_strdup(arena, runs[r].source);
    }
    hp_settle_rooflines(machine);
    machine->network = NEW(arena, struct network, 1);
    machine->network->n_nodes = n_devices + n_switches;
    machine->network->n_listed = n_links;
    machine->network->links = NEW(arena, struct hypar_link, n_links);
    *links = machine->network->listed = NEW(arena, struct listed_link, n_links);
    for (int l = 0; l < n_links; l++)
        (*links)[l] = (struct listed_link){ .efficiency = 1, .class = -1 };
    return machine;
}

int hp_network_class(const struct network *network, const char *name)
{
    for (int c = 0; c < network->n_classes; c++)
        if (strcmp(network->class[c], name) == 0)
            return c;
    return -1;
}

int hp_network_add_class(struct hypar_machine *machine, const char *name)
{
    struct network *network = machine->network;
    int known = hp_network_class(network, name);
    if (known >= 0 || network->n_classes == NETWORK_MAX_CLASSES)
        return known;
    network->class[network->n_classes] = hp_arena_strdup(&machine->arena, name);
    return network->n_classes++;
}

/* Merge several links of one latency between the same two devices: their traffic is divided
 * over all of them. (Behind switches, routes divide it by destination.) The bandwidth of a link
 * is what messages reach. */
static void merge_links(struct hypar_machine *machine)
{
    struct pair {
        int64_t low, high;
        double latency_s;
    };
    struct arena scratch = { 0 };
    struct table known = { 0 };
    struct hypar_link *links = machine->network->links;
    int n_listed = machine->network->n_listed, n = 0;
    double *efficiency = NEW(&scratch, double, n_listed);
    struct pair *pair = NEW(&scratch, struct pair, n_listed);
    for (int l = 0; l < n_listed; l++) {
        const struct listed_link *listed = &machine->network->listed[l];
        const struct hypar_link *link = &listed->link;
        bool up = link->from < link->to,
             direct = (up ? link->to : link->from) < machine->n_devices;
        pair[l] = (struct pair){ up ? link->from : link->to, up ? link->to : link->from,
                                 link->latency_s + 0.0 }; /* no -0 */
        int at = direct ? hp_table_put(&known, &scratch, &pair[l], sizeof *pair, n) : n;
        if (at == n) {
            efficiency[n] = listed->efficiency;
            links[n++] = *link;
            continue;
        }
        double sum = links[at].bytes_per_s + link->bytes_per_s, share = link->bytes_per_s / sum;
        efficiency[at] += (listed->efficiency - efficiency[at]) * share;
        links[at].energy_j_per_bit +=
            (link->energy_j_per_bit - links[at].energy_j_per_bit) * share;
        links[at].bytes_per_s = fmin(sum, hp_machine_options[OPTION_BANDWIDTH].high);
    }
    for (int l = 0; l < n; l++)
        links[l].bytes_per_s *= efficiency[l];
    machine->n_links = n;
    hp_arena_free(&scratch);
}

enum hypar_status hp_network_finish(struct hypar_machine *machine, struct hypar_error *err)
{
    merge_links(machine);
    index_links(&machine->arena, machine->network, machine->n_links);
    return find_routes(machine, err);
}
