/* Some devices of a machine, as a machine of its own. Nodes of a cluster become nodes with
 * fewer devices, or are left out; of listed links, devices that are left out become switches,
 * so that routes stay as they are. */
#include "machine/machine.h"

#include "machine/network.h"

struct picking {
    const struct hypar_machine *machine;
    const int *device;
    int n;
};

/* The devices of one node that begin at device[at]: how many follow each other. */
static int node_end(const struct picking *p, int at)
{
    int end = at + 1, node = hp_machine_node(p->machine, p->device[at]);
    while (end < p->n && hp_machine_node(p->machine, p->device[end]) == node)
        end++;
    return end;
}

/* A node with `n` of the devices of a node of `from`, and its share of the cards. */
static struct part node_of(const struct part *from, int n)
{
    struct part node = *from;
    double cards = from->value[OPTION_NICS] * n / from->dim[1];
    node.dim[0] = 1;
    node.dim[1] = node.n_devices = n;
    if (n < from->dim[1])
        node.value[OPTION_NICS] = cards < 1 ? 1 : (int)cards;
    node.continued = node.own = false; /* a node like the one before is joined to it */
    return node;
}

static enum hypar_status pick_nodes(struct hypar_machine **out, const struct picking *p,
                                    struct hypar_error *err)
{
    struct arena scratch = { 0 };
    struct part *parts = NULL;
    bool *taken = NEW(&scratch, bool, hp_machine_rows(p->machine));
    int n = 0, capacity = 0;
    enum hypar_status status = HYPAR_OK;
    for (int at = 0, end; at < p->n && status == HYPAR_OK; at = end) {
        end = node_end(p, at);
        struct part node = node_of(hp_part_of(p->machine, p->device[at]), end - at);
        bool *known = &taken[hp_machine_node(p->machine, p->device[at])];
        if (*known || n == MACHINE_MAX_RUNS)
            status = hp_fail(err, HYPAR_UNSUPPORTED,
                             "device %d: expected the devices of a node one after another, in "
                             "at most %d runs of equal nodes",
                             p->device[at], MACHINE_MAX_RUNS);
        *known = true;
        if (n > 0 && hp_nodes_alike(&parts[n - 1], &node)) {
            parts[n - 1].dim[0]++;
            parts[n - 1].n_devices += node.n_devices;
            continue;
        }
        parts = GROW(&scratch, struct part, parts, n, &capacity);
        parts[n++] = node;
    }
    if (status == HYPAR_OK)
        status = hp_machine_from_parts(out, parts, n, err);
    hp_arena_free(&scratch);
    return status;
}

/* By node of the machine: its number where `device` are the devices and all others switches. */
static int *number_nodes(struct arena *arena, const struct picking *p)
{
    int all = p->machine->n_devices + p->machine->n_switches, next = p->n;
    int *number = NEW(arena, int, all);
    for (int v = 0; v < all; v++)
        number[v] = -1;
    for (int i = 0; i < p->n; i++)
        number[p->device[i]] = i;
    for (int v = 0; v < all; v++)
        if (number[v] < 0)
            number[v] = next++;
    return number;
}

static enum hypar_status pick_listed(struct hypar_machine **out, const struct picking *p,
                                     struct hypar_error *err)
{
    struct arena scratch = { 0 };
    const struct hypar_machine *m = p->machine;
    const struct network *network = m->network;
    const int *number = number_nodes(&scratch, p);
    struct device_run *run = NEW(&scratch, struct device_run, p->n);
    struct listed_link *link;
    int n_runs = 0;
    for (int i = 0; i < p->n; i++) {
        int r = m->n_runs - 1;
        while (m->runs[r].first > p->device[i])
            r--;
        if (n_runs > 0 && hp_devices_equal(&run[n_runs - 1].device, &m->runs[r].device))
            continue;
        run[n_runs] = m->runs[r];
        run[n_runs++].first = i;
    }
    *out = hp_network_new(run, n_runs, p->n, network->n_nodes - p->n, network->n_listed, &link);
    for (int l = 0; l < network->n_listed; l++) {
        link[l] = network->listed[l];
        link[l].link.from = number[link[l].link.from];
        link[l].link.to = number[link[l].link.to];
    }
    for (int c = 0; c < network->n_classes; c++)
        hp_network_add_class(*out, network->class[c]);
    hp_arena_free(&scratch);
    enum hypar_status status = hp_network_finish(*out, err);
    if (status != HYPAR_OK) {
        hypar_machine_free(*out);
        *out = NULL;
    }
    return status;
}

enum hypar_status hp_machine_subset(struct hypar_machine **out,
                                    const struct hypar_machine *machine, const int *device,
                                    int n, struct hypar_error *err)
{
    struct picking p = { machine, device, n };
    bool cluster = machine->n_parts > 0 && machine->topology->scope == SCOPE_CLUSTER;
    *out = NULL;
    if (machine->n_parts == 0)
        return pick_listed(out, &p, err);
    if (cluster)
        return pick_nodes(out, &p, err);
    return hp_fail(err, HYPAR_UNSUPPORTED, "some devices of a %s, expected a cluster",
                   machine->topology->text.name);
}
