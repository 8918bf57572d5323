/* Machines as JSON, "hypar-machine/1". Three forms: one part, several parts, explicit nodes and
 * links (network.c). Every figure is written; missing ones get the defaults of a word. */
#include "machine/machine.h"

#include <math.h>
#include <string.h>

#define FORMAT "hypar-machine/1"

static void put_options(struct json_writer *w, const struct part *part, bool of_device)
{
    for (int o = 0; o < OPTION_COUNT; o++) {
        const struct option_row *row = &hp_machine_options[o];
        if (hp_option_applies(part, (enum option)o) &&
            (row->scope == SCOPE_DEVICE) == of_device)
            hp_json_put_number(w, row->key, part->value[o]);
    }
}

bool hp_part_own_source(const struct part *part)
{
    const struct hypar_device_type *type = hp_device_type_find(part->type.device.name);
    const char *source = part->type.source;
    return source && *source && !(type && type->source && strcmp(type->source, source) == 0);
}

static void write_part(struct json_writer *w, const struct part *part)
{
    hp_json_put_string(w, "topology", part->topology->text.name);
    hp_json_begin_array(w, "shape", true);
    for (int d = 0; d < part->n_dims; d++)
        hp_json_put_int(w, NULL, part->dim[d]);
    hp_json_end_array(w);
    hp_json_begin_object(w, "device", false);
    hp_json_put_string(w, "name", part->type.device.name);
    if (hp_part_own_source(part))
        hp_json_put_string(w, "source", part->type.source);
    put_options(w, part, true);
    hp_json_end_object(w);
    put_options(w, part, false);
}

/* Write the figures in which runs of nodes, parts p..end-1, differ from their cluster. */
static void write_nodes(struct json_writer *w, const struct hypar_machine *machine, int p,
                        int end, const struct part *whole)
{
    if (p + 1 == end)
        return;
    hp_json_begin_array(w, "nodes", false);
    for (int node = 0; p < end; node += machine->parts[p++].dim[0]) {
        const struct part *run = &machine->parts[p];
        if (hp_parts_alike(run, whole))
            continue;
        hp_json_begin_object(w, NULL, true);
        hp_json_put_int(w, "node", node);
        if (run->dim[0] > 1)
            hp_json_put_int(w, "count", run->dim[0]);
        for (int o = 0; o < OPTION_COUNT; o++)
            if (hp_option_applies(run, (enum option)o) && run->value[o] != whole->value[o])
                hp_json_put_number(w, hp_machine_options[o].key, run->value[o]);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
}

void hp_machine_write_json(struct json_writer *w, const char *key,
                           const struct hypar_machine *machine)
{
    struct part whole;
    hp_json_begin_object(w, key, false);
    hp_json_put_string(w, "format", FORMAT);
    if (machine->network) {
        hp_network_write(w, machine);
    } else if (hp_part_whole(machine, 0, &whole) == machine->n_parts) {
        write_part(w, &whole);
        write_nodes(w, machine, 0, machine->n_parts, &whole);
    } else {
        hp_json_begin_array(w, "parts", false);
        for (int p = 0, end; p < machine->n_parts; p = end) {
            end = hp_part_whole(machine, p, &whole);
            hp_json_begin_object(w, NULL, false);
            write_part(w, &whole);
            write_nodes(w, machine, p, end, &whole);
            hp_json_end_object(w);
        }
        hp_json_end_array(w);
    }
    hp_json_end_object(w);
}

/* Put the place of `at` in front of the reason `why`. */
static enum hypar_status blame(const struct json *at, enum hypar_status status,
                               const struct hypar_error *why, struct hypar_error *err)
{
    if (status != HYPAR_OK)
        hp_json_fail(at, err, "%s", why->text);
    return status;
}

enum hypar_status hp_option_json(const struct json *at, enum option option, double *value,
                                 struct hypar_error *err)
{
    const struct option_row *row = &hp_machine_options[option];
    return (row->whole ? hp_json_whole : hp_json_number)(at, row->low, row->high, value, err);
}

enum hypar_status hp_part_read_option(struct part *part, const struct json *object,
                                      enum option option, struct hypar_error *err)
{
    const struct option_row *row = &hp_machine_options[option];
    struct json member = hp_json_member(object, row->key);
    if (!member.value)
        return HYPAR_OK;
    double value;
    struct hypar_error why;
    TRY(hp_option_json(&member, option, &value, err));
    TRY(blame(&member, hp_option_check(part, option, value, &why), &why, err));
    part->value[option] = value;
    return HYPAR_OK;
}

enum figures { OF_DEVICE = 1, OF_LINKS = 2 };

/* No other keys than these and those of the part's figures of these scopes. */
static enum hypar_status check_keys(const struct part *part, const struct json *at,
                                    unsigned scopes, const char *const *others,
                                    struct hypar_error *err)
{
    const char *keys[OPTION_COUNT + 6];
    int n = 0;
    for (; others[n]; n++)
        keys[n] = others[n];
    for (int o = 0; o < OPTION_COUNT; o++) {
        bool device = hp_machine_options[o].scope == SCOPE_DEVICE;
        if (hp_option_applies(part, (enum option)o) && scopes & (device ? OF_DEVICE : OF_LINKS))
            keys[n++] = hp_machine_options[o].key;
    }
    keys[n] = NULL;
    return hp_json_only(at, keys, err);
}

/* A device unknown to the table: peaks and memory must be given, the rest is assumed. */
static struct hypar_device_type unknown_type(const char *name)
{
    struct hypar_device_type type = *hp_device_type_find(MACHINE_ASSUMED_DEVICE);
    type.device.name = name;
    hp_device_unmeasured(&type.device);
    type.link_efficiency = type.nic_efficiency = 0;
    type.source = NULL;
    type.device.fp64_op_per_s = type.device.fp32_op_per_s = type.device.tf32_op_per_s = NAN;
    type.device.fp16_op_per_s = type.device.bf16_op_per_s = NAN;
    type.device.memory_bytes = 0;
    type.device.memory_bytes_per_s = NAN;
    type.link_bytes_per_s = type.nic_bytes_per_s = NAN;
    return type;
}

enum hypar_status hp_part_choose_type(struct part *part, const struct json *at,
                                      const char *name, bool may_be_new,
                                      struct hypar_error *err)
{
    const struct hypar_device_type *type = hp_device_type_find(name);
    struct hypar_error why;
    bool here = part->topology && !part->topology->default_device;
    if (here && strcmp(name, "local") != 0)
        return hp_json_fail(at, err, "device '%.40s', expected 'local'", name);
    if (!here && !type && !may_be_new)
        TRY(blame(at, hp_device_type_get(&type, name, &why), &why, err));
    part->known = here || type;
    part->type = here ? hp_local_device(part->n_devices) : type ? *type : unknown_type(name);
    return HYPAR_OK;
}

/* A file name inside a file is relative to that file. */
static enum hypar_status read_device_file(struct part *part, const struct json *at,
                                          const char *name, struct hypar_error *err)
{
    char folder[HYPAR_PLACE_BYTES];
    const struct json *root = at;
    struct hypar_error why;
    while (root->parent)
        root = root->parent;
    hypar_file_folder(root->key, folder);
    const char *path =
        name[0] == '/' ? name : hp_arena_printf(part->arena, "%s%s", folder, name);
    return blame(at, hp_part_read_device_file(part, path, &why), &why, err);
}

enum hypar_status hp_part_read_device(struct part *part, const struct json *at,
                                      struct hypar_error *err)
{
    const char *name;
    char path[HYPAR_PLACE_BYTES];
    if (hp_json_is_string(at)) {
        TRY(hp_json_string(at, &name, err));
        if (hp_device_is_file(name))
            return read_device_file(part, at, name, err);
        if (!hp_device_type_find(name) && hp_site_find(HYPAR_SITE_DEVICES, name, path))
            return read_device_file(part, at, path, err);
        return hp_part_choose_type(part, at, name, false, err);
    }
    TRY(hp_json_object(at, err));
    TRY(check_keys(part, at, OF_DEVICE,
                   (const char *const[]){ "name", "count", "source", NULL }, err));
    struct json name_member = hp_json_member(at, "name"),
                source_member = hp_json_member(at, "source");
    TRY(hp_json_name(&name_member, &name, err));
    if (hp_device_is_file(name))
        TRY(read_device_file(part, &name_member, name, err));
    else
        TRY(hp_part_choose_type(part, at, name, true, err));
    if (source_member.value)
        TRY(hp_json_string(&source_member, &part->type.source, err));
    for (int o = 0; o < OPTION_COUNT; o++)
        if (hp_machine_options[o].scope == SCOPE_DEVICE)
            TRY(hp_part_read_option(part, at, (enum option)o, err));
    return HYPAR_OK;
}

static enum hypar_status read_shape(struct part *part, const struct json *object,
                                    struct hypar_error *err)
{
    struct json shape = hp_json_member(object, "shape");
    int64_t dim[MACHINE_MAX_DIMS];
    TRY(hp_json_array(&shape, MACHINE_MAX_DIMS, err));
    int n = hp_json_length(&shape);
    for (struct json element = { 0 }; hp_json_each(&shape, &element);)
        TRY(hp_json_int(&element, 1, MACHINE_MAX_DEVICES, &dim[element.index], err));
    struct hypar_error why;
    return blame(&shape, hp_part_set_shape(part, dim, n, &why), &why, err);
}

static enum hypar_status read_factors(const struct part *part, struct node_figures *figures,
                                      const struct json *at, struct hypar_error *err)
{
    double factor;
    struct hypar_error why;
    TRY(hp_json_object(at, err));
    TRY(check_keys(part, at, OF_DEVICE | OF_LINKS, (const char *const[]){ "peak", NULL }, err));
    struct json peak = hp_json_member(at, "peak");
    if (peak.value)
        TRY(hp_json_number(&peak, 1e-9, 1e9, &factor, err));
    for (int i = 0; peak.value && i < N_PEAK_OPTIONS; i++)
        TRY(blame(&peak, hp_node_set(part, figures, hp_peak_options[i], true, factor, &why),
                  &why, err));
    for (int o = 0; o < OPTION_COUNT; o++) {
        struct json member = hp_json_member(at, hp_machine_options[o].key);
        if (!member.value)
            continue;
        TRY(hp_json_number(&member, 1e-9, 1e9, &factor, err));
        TRY(blame(&member, hp_node_set(part, figures, (enum option)o, true, factor, &why), &why,
                  err));
    }
    return HYPAR_OK;
}

/* {"node": 17, "times": {"peak": 0.8}, "inter_bytes_per_s": 25e9} */
static enum hypar_status read_node(struct part *part, const struct json *at,
                                   struct hypar_error *err)
{
    int64_t first, count = 1;
    double value;
    struct hypar_error why;
    struct node_figures *figures;
    struct json times;
    TRY(hp_json_object(at, err));
    TRY(check_keys(part, at, OF_DEVICE | OF_LINKS,
                   (const char *const[]){ "node", "count", "times", NULL }, err));
    TRY(HP_JSON_READ(at, err, JSON_INT("node", &first, 0, part->dim[0] - 1),
                     JSON_ANY("times", &times), JSON_OTHERS));
    TRY(HP_JSON_READ(at, err, JSON_INT("?count", &count, 1, part->dim[0] - first),
                     JSON_OTHERS));
    TRY(blame(at, hp_part_node_figures(part, first, first + count - 1, &figures, &why), &why,
              err));
    for (int o = 0; o < OPTION_COUNT; o++) {
        const struct option_row *row = &hp_machine_options[o];
        struct json member = hp_json_member(at, row->key);
        if (!member.value)
            continue;
        TRY(hp_option_json(&member, (enum option)o, &value, err));
        TRY(blame(&member, hp_node_set(part, figures, (enum option)o, false, value, &why), &why,
                  err));
    }
    return times.value ? read_factors(part, figures, &times, err) : HYPAR_OK;
}

static enum hypar_status read_nodes(struct part *part, const struct json *object,
                                    struct hypar_error *err)
{
    struct json list = hp_json_member(object, "nodes");
    if (!list.value)
        return HYPAR_OK;
    TRY(hp_json_array(&list, MACHINE_MAX_NODE_FIGURES, err));
    for (struct json element = { 0 }; hp_json_each(&list, &element);)
        TRY(read_node(part, &element, err));
    return HYPAR_OK;
}

static enum hypar_status read_part(struct part *part, const struct json *object,
                                   struct arena *arena, struct hypar_error *err)
{
    TRY(hp_json_object(object, err));
    struct json name_member = hp_json_member(object, "topology");
    const char *name;
    const struct topology *topology;
    struct hypar_error why;
    TRY(hp_json_string(&name_member, &name, err));
    TRY(blame(&name_member, hp_topology_get(&topology, name, strlen(name), &why), &why, err));

    hp_part_begin(part, topology, arena);
    bool nodes = topology->scope == SCOPE_CLUSTER;
    TRY(check_keys(part, object, OF_LINKS,
                   (const char *const[]){ "format", "topology", "shape", "device",
                                          nodes ? "nodes" : NULL, NULL },
                   err));
    TRY(read_shape(part, object, err));
    struct json device = hp_json_member(object, "device");
    if (device.value)
        TRY(hp_part_read_device(part, &device, err));
    else
        TRY(hp_part_choose_type(part, object,
                                topology->default_device ? topology->default_device : "local",
                                false, err));
    for (int o = 0; o < OPTION_COUNT; o++)
        if (hp_machine_options[o].scope != SCOPE_DEVICE &&
            hp_option_applies(part, (enum option)o))
            TRY(hp_part_read_option(part, object, (enum option)o, err));
    return read_nodes(part, object, err);
}

static enum hypar_status read_parts(struct hypar_machine **out, const struct json *at,
                                    struct arena *arena, struct hypar_error *err)
{
    struct json list = hp_json_member(at, "parts");
    struct part *parts;
    struct hypar_error why;
    int n = 1;
    if (!list.value) {
        parts = NEW(arena, struct part, 1);
        TRY(read_part(parts, at, arena, err));
        return blame(at, hp_machine_from_parts(out, parts, n, &why), &why, err);
    }
    TRY(hp_json_only(at, (const char *const[]){ "format", "parts", NULL }, err));
    TRY(hp_json_array(&list, MACHINE_MAX_PARTS, err));
    n = hp_json_length(&list);
    if (n == 0)
        return hp_json_fail(&list, err, "is empty, expected at least one part");
    parts = NEW(arena, struct part, n);
    for (struct json element = { 0 }; hp_json_each(&list, &element);)
        TRY(read_part(&parts[element.index], &element, arena, err));
    return blame(&list, hp_machine_from_parts(out, parts, n, &why), &why, err);
}

enum hypar_status hp_machine_read_json(struct hypar_machine **out, const struct json *at,
                                       struct hypar_error *err)
{
    *out = NULL;
    const char *text;
    if (hp_json_is_string(at)) {
        struct hypar_error why;
        TRY(hp_json_string(at, &text, err));
        return blame(at, hp_machine_read_word(out, text, &why), &why, err);
    }
    TRY(hp_json_format(at, FORMAT, err));
    if (hp_json_member(at, "devices").value)
        return hp_network_read(out, at, err);

    struct arena arena = { 0 };
    enum hypar_status status = read_parts(out, at, &arena, err);
    hp_arena_free(&arena);
    return status;
}
