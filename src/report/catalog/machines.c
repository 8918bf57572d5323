/* Reports the topologies, options and devices that a machine can be built from. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "machine/machine.h"
#include "report/put.h"

/* Columns ------------------------------------------------------------------------------ */

static const struct column topology_columns[] = {
    { NULL, "name", AS_TEXT, AT(struct hypar_topology, name) },
    { "topology", "syntax", AS_TEXT, AT(struct hypar_topology, syntax) },
    { "", "summary", AS_TEXT, AT(struct hypar_topology, summary), WRAPS },
    { 0 },
};

struct type_row {
    const struct hypar_device_type *of;
    double memory_bytes, link_efficiency, nic_efficiency;
    const char *cards;
};

#define DEVICE(member)                       \
    .offset = offsetof(struct type_row, of), \
    .inner = offsetof(struct hypar_device_type, device.member), .flags = BEHIND
#define TYPE(member)                         \
    .offset = offsetof(struct type_row, of), \
    .inner = offsetof(struct hypar_device_type, member), .flags = BEHIND

/* Text has three tables; JSON has the members that are not figures of a device. */
enum { PEAKS = 1, LINKS = 2, COLLECTIVES = 4 };

static const struct column type_columns[] = {
    { "device", NULL, AS_TEXT, DEVICE(name), .when = PEAKS | LINKS },
    { "fp64/s", NULL, AS_METRIC, DEVICE(fp64_op_per_s), .when = PEAKS },
    { "fp32/s", NULL, AS_METRIC, DEVICE(fp32_op_per_s), .when = PEAKS },
    { "tf32/s", NULL, AS_METRIC, DEVICE(tf32_op_per_s), .when = PEAKS },
    { "fp16/s", NULL, AS_METRIC, DEVICE(fp16_op_per_s), .when = PEAKS },
    { "bf16/s", NULL, AS_METRIC, DEVICE(bf16_op_per_s), .when = PEAKS },
    { "memory", NULL, AS_BYTES, AT(struct type_row, memory_bytes), .when = PEAKS },
    { "bytes/s", NULL, AS_BANDWIDTH, DEVICE(memory_bytes_per_s), .when = PEAKS },
    { "efficiency", NULL, AS_NUMBER, DEVICE(efficiency), .when = LINKS },
    { "links", "ports", AS_INT, TYPE(ports), .when = LINKS },
    { "each", "link_bytes_per_s", AS_BANDWIDTH, TYPE(link_bytes_per_s), .when = LINKS },
    { "network card", "nic_bytes_per_s", AS_BANDWIDTH, TYPE(nic_bytes_per_s), .when = LINKS,
      .at = 2 },
    { "for", NULL, AS_TEXT, AT(struct type_row, cards), .when = LINKS, .at = 3 },
    { NULL, "devices_per_card", AS_INT, TYPE(devices_per_card) },
    { "collectives", NULL, AS_TEXT, DEVICE(name), .when = COLLECTIVES },
    { "share of links", NULL, AS_NUMBER, TYPE(link_efficiency), .when = COLLECTIVES },
    { "of cards", NULL, AS_NUMBER, TYPE(nic_efficiency), .when = COLLECTIVES },
    { "every comm", NULL, AS_SECONDS, DEVICE(kernels.comm_latency_s), .when = COLLECTIVES },
    { "copies", NULL, AS_BANDWIDTH, DEVICE(kernels.copy_bytes_per_s), .when = COLLECTIVES },
    { "lost beside", NULL, AS_NUMBER, DEVICE(kernels.comm_share), .when = COLLECTIVES },
    { NULL, "link_efficiency", AS_NUMBER, AT(struct type_row, link_efficiency) },
    { NULL, "nic_efficiency", AS_NUMBER, AT(struct type_row, nic_efficiency) },
    { "latency", "latency_s", AS_SECONDS, TYPE(latency_s), .when = LINKS, .at = 1 },
    { "energy/bit", "energy_j_per_bit", AS_JOULES, TYPE(energy_j_per_bit), .when = LINKS,
      .at = 4 },
    { NULL, "source", AS_TEXT, TYPE(source) },
    { 0 },
};

struct site_row {
    const char *name, *path, *error, *text, *count;
    double devices;
};

static const struct column machine_columns[] = {
    { "machine of this site", "name", AS_TEXT, AT(struct site_row, name) },
    { NULL, "path", AS_TEXT, AT(struct site_row, path) },
    { NULL, "devices", AS_NUMBER, AT(struct site_row, devices), LEFT_OUT },
    { NULL, "error", AS_TEXT, AT(struct site_row, error), LEFT_OUT },
    { "", NULL, AS_TEXT, AT(struct site_row, count), TO_THE_RIGHT },
    { "", NULL, AS_TEXT, AT(struct site_row, text), WRAPS },
    { 0 },
};

static const struct column device_columns[] = {
    { "device of this site", "name", AS_TEXT, AT(struct site_row, name) },
    { NULL, "path", AS_TEXT, AT(struct site_row, path) },
    { "", NULL, AS_TEXT, AT(struct site_row, text), WRAPS },
    { 0 },
};

/* Rows --------------------------------------------------------------------------------- */

static struct type_row type_row(const struct hypar_device_type *type)
{
    return (struct type_row){ type, (double)type->device.memory_bytes,
                              type->link_efficiency > 0 ? type->link_efficiency : 1,
                              type->nic_efficiency > 0 ? type->nic_efficiency : 1,
                              type->devices_per_card == 1 ? "1 device" : "a node" };
}

/* One of the tables of devices. The table of collectives has devices whose collectives were
 * measured; on other devices the links determine their time. */
static void type_rows(FILE *to, struct arena *arena, unsigned shows)
{
    const struct hypar_device_type *type;
    struct table_writer table = { .column = type_columns, .to = to, .shows = shows };
    hp_table_begin(&table, NULL);
    for (int i = 0; (type = hypar_device_type(i)); i++) {
        struct type_row row = type_row(type);
        if (type->devices_per_card > 1)
            row.cards = hp_arena_printf(arena, "%d devices", type->devices_per_card);
        if (shows != COLLECTIVES || type->device.kernels.comm_latency_s > 0)
            hp_table_row(&table, &row);
    }
    hp_table_end(&table);
    fputc('\n', to);
}

static void topology_rows(struct table_writer *table)
{
    const struct hypar_topology *topology;
    table->column = topology_columns;
    hp_table_begin(table, "topologies");
    for (int i = 0; (topology = hypar_topology(i)); i++)
        hp_table_row(table, topology);
    hp_table_end(table);
}

static void sources(FILE *to)
{
    const struct hypar_device_type *type;
    fputs("Where the figures come from:\n", to);
    for (int i = 0; (type = hypar_device_type(i)); i++) {
        fprintf(to, "%-12s", type->device.name);
        hp_wrap(to, type->source, 12);
    }
}

/* Read a machine of the site. A topology's name has precedence: a site machine with the same
 * name can only be given by its path. */
static enum hypar_status read_site_machine(struct hypar_machine **out,
                                           const struct hypar_site_file *file,
                                           struct hypar_error *err)
{
    const struct hypar_topology *topology;
    *out = NULL;
    for (int i = 0; (topology = hypar_topology(i)); i++)
        if (strcmp(topology->name, file->name) == 0)
            return hp_fail(err, HYPAR_INVALID,
                           "%s: has the name of a topology, expected another name; --on takes "
                           "its path",
                           file->path);
    return hypar_machine_read(out, file->path, err);
}

/* The machines and devices of the site; for a bad file, the row says what is wrong. */
static void site_rows(struct table_writer *machines, struct table_writer *devices,
                      struct arena *arena)
{
    struct hypar_site_files *files = hypar_site_files(HYPAR_SITE_MACHINES);
    const struct hypar_site_file *file;
    hp_table_begin(machines, "site_machines");
    for (int i = 0; (file = hypar_site_file(files, i)); i++) {
        struct hypar_machine *machine;
        struct hypar_error err;
        bool good = read_site_machine(&machine, file, &err) == HYPAR_OK;
        int n = good ? hypar_machine_device_count(machine) : 0;
        struct site_row row = { .name = file->name,
                                .path = file->path,
                                .error = good ? NULL : err.text,
                                .text = hp_shown(arena, good ? file->path : err.text),
                                .count = good ? hp_count(arena, n, "device") : "-",
                                .devices = good ? (double)n : (double)NAN };
        hp_table_row(machines, &row);
        hypar_machine_free(machine);
    }
    hp_table_end(machines);
    if (!machines->json && hypar_site_file(files, 0))
        fputc('\n', machines->to);
    hypar_site_files_free(files);
    files = hypar_site_files(HYPAR_SITE_DEVICES);
    hp_table_begin(devices, "site_devices");
    for (int i = 0; (file = hypar_site_file(files, i)); i++) {
        const struct hypar_device_type *type = NULL;
        bool taken = hp_device_type_get(&type, file->name, NULL) == HYPAR_OK;
        struct site_row row = { .name = file->name, .path = file->path };
        row.text = hp_arena_printf(
            arena, "%s%s", hp_shown(arena, file->path),
            taken ? ": has the name of a device of the table, expected another name" : "");
        hp_table_row(devices, &row);
    }
    hp_table_end(devices);
    if (!devices->json && hypar_site_file(files, 0))
        fputc('\n', devices->to);
    hypar_site_files_free(files);
}

static void machines_text(FILE *to)
{
    struct arena arena = { 0 };
    const struct hypar_machine_option *option;
    struct table_writer options = { .to = to, .texts = "option|~" };
    topology_rows(&(struct table_writer){ .to = to });
    fputc('\n', to);
    site_rows(&(struct table_writer){ .column = machine_columns, .to = to },
              &(struct table_writer){ .column = device_columns, .to = to }, &arena);
    hp_table_begin(&options, NULL);
    for (int i = 0; (option = hypar_machine_option(i)); i++)
        hp_table_row(&options, (const char *[]){ hp_arena_printf(&arena, "%s=%s", option->name,
                                                                 option->example),
                                                 option->summary });
    hp_table_end(&options);
    fputc('\n', to);
    for (unsigned shows = PEAKS; shows <= COLLECTIVES; shows *= 2)
        type_rows(to, &arena, shows);
    sources(to);
    hp_arena_free(&arena);
}

static void machines_json(FILE *to)
{
    struct arena arena = { 0 };
    struct json_writer w = { .file = to };
    const struct hypar_device_type *type;
    hp_json_begin_object(&w, NULL, false);
    topology_rows(&(struct table_writer){ .json = &w });
    hp_json_begin_array(&w, "devices", false);
    for (int i = 0; (type = hypar_device_type(i)); i++) {
        struct type_row row = type_row(type);
        hp_json_begin_object(&w, NULL, true);
        hp_put_device(&w, &type->device);
        hp_put_fields(&w, type_columns, &row);
        hp_json_end_object(&w);
    }
    hp_json_end_array(&w);
    site_rows(&(struct table_writer){ .column = machine_columns, .json = &w },
              &(struct table_writer){ .column = device_columns, .json = &w }, &arena);
    hp_json_end_object(&w);
    hp_arena_free(&arena);
}

void hp_machine_tables(FILE *to, enum hypar_format format)
{
    (format == HYPAR_JSON ? machines_json : machines_text)(to);
}
