/* Reading and writing the explicit form of a machine:
 * {"format", "devices": [device with "count", ...], "switches": n, "links": [{...}, ...]} */
#include "machine/network.h"

#include <string.h>

/* One element of "devices": a run that begins at `first`, of *count devices. */
static enum hypar_status read_run(struct arena *arena, const struct json *at, int first,
                                  struct device_run *run, int64_t *count,
                                  struct hypar_error *err)
{
    struct json member = hp_json_member(at, "count");
    struct part part;
    struct hypar_error why;
    *count = 1;
    hp_part_begin(&part, &hp_explicit, arena);
    TRY(hp_part_read_device(&part, at, err));
    part.value[OPTION_BANDWIDTH] = 1; /* links come with their own figures */
    if (hp_part_finish(&part, &why) != HYPAR_OK)
        return hp_json_fail(at, err, "%s", why.text);
    if (member.value)
        TRY(hp_json_int(&member, 1, MACHINE_MAX_NODES - first, count, err));
    *run = (struct device_run){ first, hp_part_device(&part),
                                hp_part_own_source(&part)
                                    ? hp_arena_strdup(arena, part.type.source)
                                    : NULL,
                                part.assumed };
    return HYPAR_OK;
}

static bool same_run(const struct device_run *a, const struct device_run *b)
{
    bool source =
        a->source && b->source ? strcmp(a->source, b->source) == 0 : a->source == b->source;
    return source && a->assumed == b->assumed && hp_devices_equal(&a->device, &b->device);
}

/* The runs of "devices": equal devices with numbers that follow each other. */
static enum hypar_status read_runs(struct arena *arena, const struct json *list,
                                   struct device_run **runs, int *n_runs, int *n_devices,
                                   struct hypar_error *err)
{
    TRY(hp_json_array(list, MACHINE_MAX_NODES, err));
    int n = hp_json_length(list);
    if (n == 0)
        return hp_json_fail(list, err, "is empty, expected at least one device");
    *runs = NEW(arena, struct device_run, n);
    *n_runs = *n_devices = 0;
    for (int i = 0; i < n; i++) {
        struct json element = hp_json_element(list, i);
        struct device_run *run = &(*runs)[*n_runs];
        int64_t count;
        TRY(read_run(arena, &element, *n_devices, run, &count, err));
        *n_devices += (int)count;
        if (*n_devices > MACHINE_MAX_NODES)
            return hp_json_fail(list, err, "more than %d devices", MACHINE_MAX_NODES);
        *n_runs += *n_runs == 0 || !same_run(run - 1, run);
    }
    return HYPAR_OK;
}

static enum hypar_status read_link(struct hypar_link *link, const struct json *at, int n_nodes,
                                   struct hypar_error *err)
{
    static const char *const keys[] = {
        "from", "to", "bytes_per_s", "latency_s", "energy_j_per_bit", NULL
    };
    const struct hypar_device_type *usual = hp_device_type_find("v100");
    int64_t from, to;
    TRY(hp_json_object(at, err));
    TRY(hp_json_only(at, keys, err));
    struct json member = hp_json_member(at, "from");
    TRY(hp_json_int(&member, 0, n_nodes - 1, &from, err));
    member = hp_json_member(at, "to");
    TRY(hp_json_int(&member, 0, n_nodes - 1, &to, err));
    if (from == to)
        return hp_json_fail(at, err, "joins node %lld to itself", (long long)from);
    *link = (struct hypar_link){ .from = (int)from,
                                 .to = (int)to,
                                 .latency_s = usual->latency_s,
                                 .energy_j_per_bit = usual->energy_j_per_bit };

    const struct option_row *rows = hp_machine_options;
    const struct {
        enum option option;
        double *value;
        bool optional;
    } figures[] = {
        { OPTION_BANDWIDTH, &link->bytes_per_s, false },
        { OPTION_LATENCY, &link->latency_s, true },
        { OPTION_ENERGY, &link->energy_j_per_bit, true },
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const struct option_row *row = &rows[figures[i].option];
        member = hp_json_member(at, row->key);
        if (member.value || !figures[i].optional)
            TRY(hp_json_number(&member, row->low, row->high, figures[i].value, err));
    }
    return HYPAR_OK;
}

static enum hypar_status read_network(struct hypar_machine **out, const struct json *at,
                                      struct arena *arena, struct hypar_error *err)
{
    static const char *const keys[] = { "format", "devices", "switches", "links", NULL };
    struct device_run *runs = NULL;
    struct hypar_link *links;
    int n_runs = 0, n_devices = 0;
    int64_t n_switches = 0;
    TRY(hp_json_only(at, keys, err));
    struct json list = hp_json_member(at, "devices");
    TRY(read_runs(arena, &list, &runs, &n_runs, &n_devices, err));
    struct json switches = hp_json_member(at, "switches");
    if (switches.value)
        TRY(hp_json_int(&switches, 0, MACHINE_MAX_NODES - n_devices, &n_switches, err));
    list = hp_json_member(at, "links");
    TRY(hp_json_array(&list, NETWORK_MAX_LINKS, err));

    int n_links = hp_json_length(&list);
    *out = hp_network_new(runs, n_runs, n_devices, (int)n_switches, n_links, &links);
    for (int l = 0; l < n_links; l++) {
        struct json element = hp_json_element(&list, l);
        TRY(read_link(&links[l], &element, n_devices + (int)n_switches, err));
    }
    struct hypar_error why;
    if (hp_network_finish(*out, &why) != HYPAR_OK)
        return hp_json_fail(&list, err, "%s", why.text);
    return HYPAR_OK;
}

enum hypar_status hp_network_read(struct hypar_machine **out, const struct json *at,
                                  struct hypar_error *err)
{
    struct arena arena = { 0 };
    *out = NULL;
    enum hypar_status status = read_network(out, at, &arena, err);
    hp_arena_free(&arena);
    if (status != HYPAR_OK) {
        hypar_machine_free(*out);
        *out = NULL;
    }
    return status;
}

static void write_device(struct json_writer *w, const struct device_run *run, int count)
{
    const struct hypar_device *device = &run->device;
    hp_json_begin_object(w, NULL, true);
    hp_json_put_int(w, "count", count);
    hp_json_put_string(w, "name", device->name);
    if (run->source)
        hp_json_put_string(w, "source", run->source);
    double value;
    const char *key;
    for (int i = 0; (key = hypar_device_figure(device, i, &value)); i++)
        hp_json_put_number(w, key, value);
    hp_json_end_object(w);
}

void hp_network_write(struct json_writer *w, const struct hypar_machine *machine)
{
    hp_json_begin_array(w, "devices", false);
    for (int r = 0; r < machine->n_runs; r++) {
        int end = r + 1 < machine->n_runs ? machine->runs[r + 1].first : machine->n_devices;
        write_device(w, &machine->runs[r], end - machine->runs[r].first);
    }
    hp_json_end_array(w);
    hp_json_put_int(w, "switches", machine->n_switches);
    hp_json_begin_array(w, "links", false);
    for (int l = 0; l < machine->n_links; l++) {
        struct hypar_link link = hypar_machine_link(machine, l);
        hp_json_begin_object(w, NULL, true);
        hp_json_put_int(w, "from", link.from);
        hp_json_put_int(w, "to", link.to);
        hp_json_put_number(w, "bytes_per_s", link.bytes_per_s);
        hp_json_put_number(w, "latency_s", link.latency_s);
        hp_json_put_number(w, "energy_j_per_bit", link.energy_j_per_bit);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}
