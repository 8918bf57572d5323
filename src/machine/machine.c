/* Making a machine from its parts, and the functions of the public header that describe it. */
#include "machine/network.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/word.h"

struct hypar_machine *hp_machine_new(const struct topology *topology)
{
    struct arena arena = { 0 };
    struct hypar_machine *machine = NEW(&arena, struct hypar_machine, 1);
    machine->topology = topology;
    machine->arena = arena;
    return machine;
}

void hypar_machine_free(struct hypar_machine *machine)
{
    if (!machine)
        return;
    if (machine->network)
        hp_network_free(machine->network);
    hp_arena_free(&machine->arena);
}

static enum hypar_status number_devices(struct hypar_machine *machine, struct hypar_error *err)
{
    int64_t devices = 0;
    for (int p = 0; p < machine->n_parts; p++) {
        machine->parts[p].first_device = (int)devices;
        devices += machine->parts[p].n_devices;
        if (devices > MACHINE_MAX_DEVICES)
            return hp_fail(err, HYPAR_UNSUPPORTED, "more than %d devices", MACHINE_MAX_DEVICES);
    }
    machine->n_devices = (int)devices;
    return HYPAR_OK;
}

static enum hypar_status count_nodes(struct hypar_machine *machine, struct hypar_error *err)
{
    int64_t switches, links, longest;
    machine->topology->count(machine, &switches, &links, &longest);
    if (links > MACHINE_MAX_LINKS)
        return hp_fail(err, HYPAR_UNSUPPORTED, "%lld links, expected at most %d",
                       (long long)links, MACHINE_MAX_LINKS);
    machine->n_switches = (int)switches;
    machine->n_links = (int)links;
    machine->longest_route = (int)longest;
    return HYPAR_OK;
}

/* Record where each part begins, so that the part of a device or of a card is found by
 * bisection. */
static void number_nodes(struct hypar_machine *machine)
{
    int node = 0, card = machine->n_devices;
    for (int p = 0; p < machine->n_parts; p++) {
        struct part *part = &machine->parts[p];
        bool cluster = part->topology->scope == SCOPE_CLUSTER && part->n_dims == 2;
        int nodes = cluster ? part->dim[0] : 1;
        part->first_node = node;
        part->first_card = card;
        node += nodes;
        card += cluster ? nodes * (int)part->value[OPTION_NICS] : 0;
    }
}

/* Nodes with their own figures share the texts of their cluster: its devices have one name. */
static void keep_texts(struct arena *arena, struct part *part)
{
    if (part->continued) {
        part->type = part[-1].type;
        part->path = part[-1].path;
        return;
    }
    part->type.device.name = hp_arena_strdup(arena, part->type.device.name);
    if (part->type.source)
        part->type.source = hp_arena_strdup(arena, part->type.source);
    if (part->path)
        part->path = hp_arena_strdup(arena, part->path);
}

/* Nodes of a cluster that differ in links alone extend the run before. */
static void add_run(struct hypar_machine *machine, const struct part *part)
{
    struct device_run run = { part->first_device, hp_part_device(part),
                              hp_part_own_source(part) ? part->type.source : NULL,
                              part->assumed };
    const struct device_run *before = &machine->runs[machine->n_runs - 1];
    if (!part->continued || !hp_devices_equal(&before->device, &run.device) ||
        before->assumed != run.assumed)
        machine->runs[machine->n_runs++] = run;
}

/* Figures that all nodes share are equal in all parts; rails need a card at each device. */
static enum hypar_status check_fabric(const struct hypar_machine *machine,
                                      struct hypar_error *err)
{
    static const enum option shared[] = { OPTION_RAILS, OPTION_LEAF, OPTION_OVERSUBSCRIPTION };
    const struct part *first = machine->parts;
    if (first->topology->scope != SCOPE_CLUSTER)
        return HYPAR_OK;
    for (int p = 0; p < machine->n_parts; p++) {
        const struct part *part = &machine->parts[p];
        for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
            if (part->value[shared[i]] != first->value[shared[i]])
                return hp_fail(err, HYPAR_INVALID,
                               "%s differs between nodes, expected one value for all",
                               hp_machine_options[shared[i]].text.name);
        if (part->value[OPTION_RAILS] > 0 &&
            (part->value[OPTION_NICS] != part->dim[1] || part->dim[1] != first->dim[1]))
            return hp_fail(
                err, HYPAR_INVALID,
                "rails with %g cards a node, expected one for each of its %d devices",
                part->value[OPTION_NICS], first->dim[1]);
    }
    return HYPAR_OK;
}

static enum hypar_status fill(struct hypar_machine *machine, struct hypar_error *err)
{
    struct arena *arena = &machine->arena;
    TRY(number_devices(machine, err));
    machine->runs = NEW(arena, struct device_run, machine->n_parts);
    for (int p = 0; p < machine->n_parts; p++) {
        struct part *part = &machine->parts[p];
        TRY(hp_part_finish(part, err));
        keep_texts(arena, part);
        add_run(machine, part);
    }
    hp_settle_rooflines(machine);
    TRY(check_fabric(machine, err));
    number_nodes(machine);
    TRY(count_nodes(machine, err));
    for (int p = 0; p < machine->n_parts; p++) {
        machine->parts[p].arena = NULL;
        if (machine->parts[p].row) { /* variants of the machine need its defaults again */
            double *row = NEW(arena, double, OPTION_COUNT);
            memcpy(row, machine->parts[p].row, OPTION_COUNT * sizeof *row);
            machine->parts[p].row = row;
        }
    }
    return HYPAR_OK;
}

/* A machine without a word. */
static enum hypar_status make(struct hypar_machine **out, const struct part *parts, int n_parts,
                              struct hypar_error *err)
{
    *out = NULL;
    for (int p = 0; n_parts > 1 && p < n_parts; p++)
        if (!parts[p].topology->joins)
            return hp_fail(err, HYPAR_UNSUPPORTED, "%s cannot be joined, only clusters can",
                           parts[p].topology->text.name);

    struct hypar_machine *machine = hp_machine_new(parts[0].topology);
    enum hypar_status status = hp_parts_expand(&machine->arena, parts, n_parts, &machine->parts,
                                               &machine->n_parts, err);
    if (status == HYPAR_OK)
        status = fill(machine, err);
    if (status == HYPAR_OK)
        *out = machine;
    else
        hypar_machine_free(machine);
    return status;
}

enum hypar_status hp_machine_from_parts(struct hypar_machine **out, const struct part *parts,
                                        int n_parts, struct hypar_error *err)
{
    TRY(make(out, parts, n_parts, err));
    (*out)->word = hp_machine_make_word(&(*out)->arena, *out);
    return HYPAR_OK;
}

enum hypar_status hp_machine_with(struct hypar_machine **out,
                                  const struct hypar_machine *machine, const char *device,
                                  const double value[OPTION_COUNT], struct hypar_error *err)
{
    struct arena arena = { 0 };
    *out = NULL;
    if (machine->n_parts == 0)
        return hp_fail(err, HYPAR_UNSUPPORTED,
                       "a machine of explicit links, expected a topology");
    struct part *parts = NEW(&arena, struct part, machine->n_parts);
    for (int p = 0; p < machine->n_parts; p++) {
        parts[p] = machine->parts[p];
        if (strcmp(parts[p].type.device.name, device) != 0)
            continue;
        for (int o = 0; o < OPTION_COUNT; o++)
            if (!isnan(value[o]) && hp_option_applies(&parts[p], (enum option)o))
                parts[p].value[o] = value[o];
    }
    enum hypar_status status = make(out, parts, machine->n_parts, err);
    hp_arena_free(&arena);
    return status;
}

/* Without opening the file: a pipe can be opened only once. */
static bool can_open(const char *path)
{
    struct stat status;
    return access(path, R_OK) == 0 && stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

static bool ends_in_json(const char *word)
{
    size_t n = strlen(word);
    return n >= 5 && strcmp(word + n - 5, ".json") == 0;
}

/* Does the text begin like a word, and have an option? */
static bool has_options(const char *word)
{
    size_t n = strcspn(word, ":");
    return word[n] && hp_topology_find(word, n) && strchr(word, '=');
}

bool hp_machine_may_be_path(const char *word)
{
    return (ends_in_json(word) && !has_options(word)) ||
           (*word && !strchr(word, ':') && !hp_topology_find(word, strlen(word)));
}

static bool names_a_file(const char *word)
{
    return hp_machine_may_be_path(word) && (ends_in_json(word) || strcmp(word, "-") == 0 ||
                                            strchr(word, '/') || can_open(word));
}

static enum hypar_status read_file(struct hypar_machine **out, const char *path,
                                   struct hypar_error *err)
{
    struct json_document *document;
    TRY(hp_json_read_file(&document, path, err));
    struct json root = hp_json_root(document);
    enum hypar_status status = hp_machine_read_json(out, &root, err);
    hp_json_free(document);
    return status;
}

/* The name is neither a topology nor a machine of the site. If the site has none, the message
 * lists topologies only. */
static enum hypar_status unknown_name(const char *name, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    const char *before[16], *const *names;
    char known[400];
    int n_topologies = 0, n;
    const struct hypar_device_type *type;
    if (hp_device_type_get(&type, name, NULL) == HYPAR_OK)
        return hp_fail(err, HYPAR_SYNTAX,
                       "'%.40s' is a device, expected a machine of such devices, as "
                       "cluster:2x8,device=%.40s",
                       name, name);
    for (; hp_topologies[n_topologies]; n_topologies++)
        before[n_topologies] = hp_topologies[n_topologies]->text.name;
    n = n_topologies;
    names = hp_site_names(&scratch, HYPAR_SITE_MACHINES, before, &n);
    hp_fail(err, HYPAR_SYNTAX, "unknown topology%s '%.40s', %s",
            n > n_topologies ? " or machine" : "", name,
            hp_expected(known, sizeof known, name, names, n, "hypar machines"));
    hp_arena_free(&scratch);
    return HYPAR_SYNTAX;
}

enum hypar_status hypar_machine_read(struct hypar_machine **out, const char *word,
                                     struct hypar_error *err)
{
    char path[HYPAR_PLACE_BYTES];
    *out = NULL;
    if (names_a_file(word))
        return read_file(out, word, err);
    bool name = hp_machine_may_be_path(word) && strlen(word) <= MACHINE_MAX_WORD;
    if (name && hp_site_find(HYPAR_SITE_MACHINES, word, path))
        return read_file(out, path, err);
    return hp_in(err, name ? unknown_name(word, err) : hp_machine_read_word(out, word, err),
                 "machine '%.100s'", word);
}

void hypar_machine_write(const struct hypar_machine *machine, FILE *to)
{
    hp_machine_write_json(&(struct json_writer){ .file = to }, NULL, machine);
}

const char *hypar_machine_word(const struct hypar_machine *machine)
{
    return machine->word;
}

const char *hypar_machine_topology(const struct hypar_machine *machine)
{
    return machine->topology->text.name;
}

int hypar_machine_device_count(const struct hypar_machine *machine)
{
    return machine->n_devices;
}

int hypar_machine_switch_count(const struct hypar_machine *machine)
{
    return machine->n_switches;
}

int hypar_machine_link_count(const struct hypar_machine *machine)
{
    return machine->n_links;
}

int hypar_machine_longest_route(const struct hypar_machine *machine)
{
    return machine->longest_route;
}

const struct hypar_device *hypar_machine_device(const struct hypar_machine *machine, int i)
{
    if (i < 0 || i >= machine->n_devices)
        return NULL;
    int low = 0, high = machine->n_runs; /* runs[low].first <= i < runs[high].first */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (machine->runs[middle].first <= i)
            low = middle;
        else
            high = middle;
    }
    return &machine->runs[low].device;
}

/* All members after the name are numbers of eight bytes, without padding. */
bool hp_devices_equal(const struct hypar_device *a, const struct hypar_device *b)
{
    return strcmp(a->name, b->name) == 0 &&
           memcmp(&a->fp64_op_per_s, &b->fp64_op_per_s,
                  sizeof *a - offsetof(struct hypar_device, fp64_op_per_s)) == 0;
}

bool hp_kernels_known(const struct hypar_device *device)
{
    static const struct hypar_kernel_figures not_measured;
    struct hypar_kernel_figures rates = device->kernels;
    rates.eager_launch_s = 0; /* the host's */
    return memcmp(&rates, &not_measured,
                  offsetof(struct hypar_kernel_figures, comm_latency_s)) != 0;
}

void hp_settle_rooflines(struct hypar_machine *machine)
{
    bool settled = false, known = false, unknown = false;
    for (int r = 0; r < machine->n_runs; r++) {
        const struct hypar_device *device = &machine->runs[r].device;
        settled |= device->roofline != 0;
        *(hp_kernels_known(device) ? &known : &unknown) = true;
    }
    if (!settled && !(known && unknown))
        return;
    for (int r = 0; r < machine->n_runs; r++)
        machine->runs[r].device.roofline = 1;
    for (int p = 0; p < machine->n_parts; p++)
        machine->parts[p].type.device.roofline = 1;
}

bool hypar_machine_is_uniform(const struct hypar_machine *machine)
{
    for (int r = 1; r < machine->n_runs; r++)
        if (!hp_devices_equal(&machine->runs[0].device, &machine->runs[r].device))
            return false;
    return true;
}

struct hypar_link hypar_machine_link(const struct hypar_machine *machine, int link)
{
    if (link < 0 || link >= machine->n_links)
        return (struct hypar_link){ 0 };
    return machine->topology->link(machine, link);
}

int hypar_machine_route(const struct hypar_machine *machine, int from, int to, int *links,
                        int max)
{
    if (from < 0 || from >= machine->n_devices || to < 0 || to >= machine->n_devices)
        return 0;
    return machine->topology->route(machine, from, to, links, max);
}

static double route_latency_s(const struct hypar_machine *machine, int from, int to,
                              int *scratch)
{
    double latency_s = 0;
    int n = machine->topology->route(machine, from, to, scratch, machine->longest_route);
    for (int i = 0; i < n; i++)
        latency_s += machine->topology->link(machine, scratch[i] / 2).latency_s;
    return latency_s;
}

int hypar_machine_levels(const struct hypar_machine *machine, struct hypar_level *levels)
{
    int n = machine->topology->levels(machine, levels);
    struct arena arena = { 0 };
    int *scratch = NEW(&arena, int, machine->longest_route + 1);
    for (int l = 0, group = machine->n_devices; l < n; l++) {
        group /= levels[l].ways;
        levels[l].latency_s = machine->runs[0].device.kernels.comm_latency_s +
                              route_latency_s(machine, 0, group, scratch);
    }
    hp_arena_free(&arena);
    return n;
}

int hp_prime_factors(int n, int *factors)
{
    int count = 0;
    for (int p = 2; p * p <= n; p++)
        for (; n % p == 0; n /= p)
            factors[count++] = p;
    if (n > 1)
        factors[count++] = n;
    return count;
}

double hp_idle_w(const struct hypar_machine *machine)
{
    double sum = 0;
    for (int r = 0; r < machine->n_runs; r++) {
        int next = r + 1 < machine->n_runs ? machine->runs[r + 1].first : machine->n_devices;
        sum += (next - machine->runs[r].first) * machine->runs[r].device.idle_w;
    }
    return sum;
}
