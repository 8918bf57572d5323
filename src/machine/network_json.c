/* The explicit form of a machine as JSON: {"format", "devices": [device with "count", ...],
 * "switches": n, "links": [{...}, ...]}, and figures of all links beside them. */
#include "machine/network.h"

#include <math.h>
#include <string.h>

/* The default figures of links, as in a word: links at a device have those of any topology,
 * links between switches those between the nodes of a cluster. */
struct usual {
    /* By figure of a link; NAN: must be given. */
    double at_device[N_LINK_FIGURES], between_switches[N_LINK_FIGURES];
};

static struct usual usual_of(const struct part *part)
{
    struct usual usual;
    for (int f = 0; f < N_LINK_FIGURES; f++) {
        enum option at_device = hp_link_figures[f],
                    between = at_device == OPTION_LINK_EFFICIENCY ? OPTION_INTER_EFFICIENCY
                              : at_device == OPTION_LATENCY       ? OPTION_INTER_LATENCY
                                                                  : at_device;
        bool given = at_device == OPTION_BANDWIDTH;
        usual.at_device[f] = given ? NAN : hp_option_default(part, at_device);
        usual.between_switches[f] = given ? NAN : hp_option_default(part, between);
    }
    return usual;
}

/* One element of "devices": a run of *count devices that begins at `first`. */
static enum hypar_status read_run(struct arena *arena, const struct json *at, int first,
                                  struct device_run *run, struct usual *usual, int64_t *count,
                                  struct hypar_error *err)
{
    struct part part;
    struct hypar_error why;
    *count = 1;
    hp_part_begin(&part, &hp_explicit, arena);
    TRY(hp_part_read_device(&part, at, err));
    *usual = usual_of(&part);
    part.value[OPTION_BANDWIDTH] = 1; /* links have their own */
    if (hp_part_finish(&part, &why) != HYPAR_OK)
        return hp_json_fail(at, err, "%s", why.text);
    if (hp_json_is_object(at))
        TRY(HP_JSON_READ(at, err, JSON_INT("?count", count, 1, MACHINE_MAX_NODES - first),
                         JSON_OTHERS));
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

/* The contents of "devices" and of the other members of its object. */
struct listed {
    struct device_run *runs; /* equal devices with consecutive numbers */
    int n_runs, n_devices, n_nodes;
    struct usual *usual;        /* by element of "devices" */
    int *element;               /* by device */
    double all[N_LINK_FIGURES]; /* of all links without a figure of their own; NAN: not given */
};

static enum hypar_status read_runs(struct arena *arena, const struct json *list,
                                   struct listed *l, struct hypar_error *err)
{
    TRY(hp_json_array(list, MACHINE_MAX_NODES, err));
    int n = hp_json_length(list);
    if (n == 0)
        return hp_json_fail(list, err, "is empty, expected at least one device");
    l->runs = NEW(arena, struct device_run, n);
    l->usual = NEW(arena, struct usual, n);
    l->element = NEW(arena, int, MACHINE_MAX_NODES);
    for (struct json element = { 0 }; hp_json_each(list, &element);) {
        int i = element.index;
        struct device_run *run = &l->runs[l->n_runs];
        int64_t count;
        if (l->n_devices == MACHINE_MAX_NODES)
            return hp_json_fail(list, err, "more than %d devices", MACHINE_MAX_NODES);
        TRY(read_run(arena, &element, l->n_devices, run, &l->usual[i], &count, err));
        for (int64_t k = 0; k < count; k++)
            l->element[l->n_devices++] = i;
        l->n_runs += l->n_runs == 0 || !same_run(run - 1, run);
    }
    return HYPAR_OK;
}

static enum hypar_status read_figure(const struct json *at, int figure, double *value,
                                     struct hypar_error *err)
{
    struct json member = hp_json_member(at, hp_machine_options[hp_link_figures[figure]].key);
    if (!member.value && !isnan(*value))
        return HYPAR_OK;
    return hp_option_json(&member, hp_link_figures[figure], value, err);
}

/* The defaults of the device at the end of a link, of two devices the one with the smaller
 * number; a link between switches has those of device 0. */
static const double *usual_figures(const struct listed *l, int from, int to)
{
    int device = from < to ? from : to;
    return device < l->n_devices ? l->usual[l->element[device]].at_device
                                 : l->usual[l->element[0]].between_switches;
}

/* A name that an option of the command can contain: "nvlink" in "nvlink.latency=1us". */
static enum hypar_status read_class(struct hypar_machine *machine, const struct json *at,
                                    int *class, struct hypar_error *err)
{
    const char *name;
    TRY(hp_json_string(at, &name, err));
    if (!hp_is_plain_name(name, strlen(name)))
        return hp_json_fail(at, err,
                            "expected at most %d letters, digits, '.', '_' and '-', a letter "
                            "or a digit first",
                            MACHINE_MAX_NAME);
    *class = hp_network_add_class(machine, name);
    return *class >= 0 ? HYPAR_OK
                       : hp_json_fail(at, err, "more than %d classes", NETWORK_MAX_CLASSES);
}

static enum hypar_status read_link(struct hypar_machine *machine, struct listed_link *link,
                                   const struct json *at, const struct listed *l,
                                   struct hypar_error *err)
{
    struct json class;
    int from, to;
    TRY(HP_JSON_READ(at, err, JSON_WHOLE("from", &from, 0, l->n_nodes - 1),
                     JSON_WHOLE("to", &to, 0, l->n_nodes - 1), JSON_KEY("bytes_per_s"),
                     JSON_KEY("link_efficiency"), JSON_KEY("latency_s"),
                     JSON_KEY("energy_j_per_bit"), JSON_ANY("class", &class)));
    if (from == to)
        return hp_json_fail(at, err, "joins node %d to itself", from);
    const double *usual = usual_figures(l, from, to);
    link->link.from = from;
    link->link.to = to;
    for (int f = 0; f < N_LINK_FIGURES; f++) {
        double *value = hp_link_figure(link, hp_link_figures[f]);
        *value = isnan(l->all[f]) ? usual[f] : l->all[f];
        TRY(read_figure(at, f, value, err));
    }
    return class.value ? read_class(machine, &class, &link->class, err) : HYPAR_OK;
}

static enum hypar_status read_all(struct arena *arena, const struct json *at, struct listed *l,
                                  int64_t *n_switches, struct hypar_error *err)
{
    struct json list = hp_json_member(at, "devices"), switches = hp_json_member(at, "switches");
    TRY(read_runs(arena, &list, l, err));
    if (switches.value)
        TRY(hp_json_int(&switches, 0, MACHINE_MAX_NODES - l->n_devices, n_switches, err));
    l->n_nodes = l->n_devices + (int)*n_switches;
    for (int f = 0; f < N_LINK_FIGURES; f++) {
        l->all[f] = NAN;
        if (hp_json_member(at, hp_machine_options[hp_link_figures[f]].key).value)
            TRY(read_figure(at, f, &l->all[f], err));
    }
    return HYPAR_OK;
}

static enum hypar_status read_network(struct hypar_machine **out, const struct json *at,
                                      struct arena *arena, struct hypar_error *err)
{
    static const char *const keys[] = { "format",    "devices",          "switches",
                                        "links",     "bytes_per_s",      "link_efficiency",
                                        "latency_s", "energy_j_per_bit", NULL };
    struct listed l = { 0 };
    struct listed_link *links;
    int64_t n_switches = 0;
    TRY(hp_json_only(at, keys, err));
    TRY(read_all(arena, at, &l, &n_switches, err));
    struct json list = hp_json_member(at, "links");
    TRY(hp_json_array(&list, NETWORK_MAX_LINKS, err));

    int n_links = hp_json_length(&list);
    *out = hp_network_new(l.runs, l.n_runs, l.n_devices, (int)n_switches, n_links, &links);
    for (struct json element = { 0 }; hp_json_each(&list, &element);)
        TRY(read_link(*out, &links[element.index], &element, &l, err));
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
    for (int l = 0; l < machine->network->n_listed; l++) {
        struct listed_link link = machine->network->listed[l];
        hp_json_begin_object(w, NULL, true);
        hp_json_put_int(w, "from", link.link.from);
        hp_json_put_int(w, "to", link.link.to);
        for (int f = 0; f < N_LINK_FIGURES; f++)
            hp_json_put_number(w, hp_machine_options[hp_link_figures[f]].key,
                               *hp_link_figure(&link, hp_link_figures[f]));
        if (link.class >= 0)
            hp_json_put_string(w, "class", machine->network->class[link.class]);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}
