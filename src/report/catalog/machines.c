/* The topologies, options and devices that a machine can be made of. */
#include <hypar/report.h>

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "machine/machine.h"
#include "report/columns.h"
#include "report/put.h"

static void device_rows(FILE *to, struct arena *arena)
{
    struct columns table = { .align = "lrrrrrrr" };
    static const char *const heading[] = { "device", "fp64/s", "fp32/s", "tf32/s",
                                           "fp16/s", "bf16/s", "memory", "bytes/s" };
    for (int i = 0; i < 8; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    const struct hypar_device_type *type;
    for (int i = 0; (type = hypar_device_type(i)); i++) {
        char b[32];
        const struct hypar_device *d = &type->device;
        hp_cell(&table, arena, "%s", d->name);
        hp_cell(&table, arena, "%s", hp_metric(b, d->fp64_op_per_s));
        hp_cell(&table, arena, "%s", hp_metric(b, d->fp32_op_per_s));
        hp_cell(&table, arena, "%s", hp_metric(b, d->tf32_op_per_s));
        hp_cell(&table, arena, "%s", hp_metric(b, d->fp16_op_per_s));
        hp_cell(&table, arena, "%s", hp_metric(b, d->bf16_op_per_s));
        hp_quantity_cell(&table, arena, (double)d->memory_bytes, HYPAR_UNIT_BYTES);
        hp_quantity_cell(&table, arena, d->memory_bytes_per_s, HYPAR_UNIT_BANDWIDTH);
    }
    hp_columns_print(&table, to);
}

/* What decides how long an exchange takes, and how near computing comes to its peak. */
static void link_rows(FILE *to, struct arena *arena)
{
    struct columns table = { .align = "lrrrrrlr" };
    static const char *const heading[] = { "device",  "efficiency",   "links", "each",
                                           "latency", "network card", "for",   "energy/bit" };
    for (int i = 0; i < 8; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    const struct hypar_device_type *type;
    for (int i = 0; (type = hypar_device_type(i)); i++) {
        hp_cell(&table, arena, "%s", type->device.name);
        hp_cell(&table, arena, "%.3g", type->device.efficiency);
        hp_cell(&table, arena, "%d", type->ports);
        hp_quantity_cell(&table, arena, type->link_bytes_per_s, HYPAR_UNIT_BANDWIDTH);
        hp_quantity_cell(&table, arena, type->latency_s, HYPAR_UNIT_SECONDS);
        hp_quantity_cell(&table, arena, type->nic_bytes_per_s, HYPAR_UNIT_BANDWIDTH);
        if (type->devices_per_card > 0)
            hp_cell(&table, arena, "%d device%s", type->devices_per_card,
                    type->devices_per_card > 1 ? "s" : "");
        else
            hp_cell(&table, arena, "a node");
        hp_quantity_cell(&table, arena, type->energy_j_per_bit, HYPAR_UNIT_JOULES);
    }
    hp_columns_print(&table, to);
}

/* Of devices whose collectives were measured; those of others take what their links do. */
static void collective_rows(FILE *to, struct arena *arena)
{
    struct columns table = { .align = "lrrrr" };
    static const char *const heading[] = { "collectives", "share of links", "of cards",
                                           "every comm", "copies" };
    for (int i = 0; i < 5; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    const struct hypar_device_type *type;
    for (int i = 0; (type = hypar_device_type(i)); i++) {
        if (type->device.kernels.comm_latency_s <= 0)
            continue;
        hp_cell(&table, arena, "%s", type->device.name);
        hp_cell(&table, arena, "%.3g", type->link_efficiency);
        hp_cell(&table, arena, "%.3g", type->nic_efficiency);
        hp_quantity_cell(&table, arena, type->device.kernels.comm_latency_s,
                         HYPAR_UNIT_SECONDS);
        hp_quantity_cell(&table, arena, type->device.kernels.copy_bytes_per_s,
                         HYPAR_UNIT_BANDWIDTH);
    }
    hp_columns_print(&table, to);
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

/* Reads a machine of the site. Topologies have their names first: what is called like one is
 * found by its path alone. */
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

/* Machines and devices of the site, a line each; a bad file says what is wrong with it. */
static void site_rows(FILE *to, struct arena *arena)
{
    struct columns machines = { .align = "lrw" }, devices = { .align = "lw" };
    struct hypar_site_files *files = hypar_site_files(HYPAR_SITE_MACHINES);
    const struct hypar_site_file *file;
    for (int i = 0; (file = hypar_site_file(files, i)); i++) {
        struct hypar_machine *machine;
        struct hypar_error err;
        char count[64];
        if (i == 0) {
            hp_cell(&machines, arena, "machine of this site");
            hp_cell(&machines, arena, "%s", "");
            hp_cell(&machines, arena, "%s", "");
        }
        bool good = read_site_machine(&machine, file, &err) == HYPAR_OK;
        hp_cell(&machines, arena, "%s", file->name);
        hp_cell(&machines, arena, "%s",
                good ? hp_count(count, hypar_machine_device_count(machine), "device", "devices")
                     : "-");
        hp_cell(&machines, arena, "%s", hp_shown(arena, good ? file->path : err.text));
        hypar_machine_free(machine);
    }
    if (hypar_site_file(files, 0)) {
        hp_columns_print(&machines, to);
        fputc('\n', to);
    }
    hypar_site_files_free(files);
    files = hypar_site_files(HYPAR_SITE_DEVICES);
    for (int i = 0; (file = hypar_site_file(files, i)); i++) {
        if (i == 0) {
            hp_cell(&devices, arena, "device of this site");
            hp_cell(&devices, arena, "%s", "");
        }
        hp_cell(&devices, arena, "%s", file->name);
        hp_cell(&devices, arena, "%s%s", hp_shown(arena, file->path),
                hp_device_type_get(&(const struct hypar_device_type *){ NULL }, file->name,
                                   NULL) == HYPAR_OK
                    ? ": has the name of a device of the table, expected another name"
                    : "");
    }
    if (hypar_site_file(files, 0)) {
        hp_columns_print(&devices, to);
        fputc('\n', to);
    }
    hypar_site_files_free(files);
}

static void site_json(struct json_writer *w)
{
    struct hypar_site_files *files = hypar_site_files(HYPAR_SITE_MACHINES);
    const struct hypar_site_file *file;
    hp_json_begin_array(w, "site_machines", false);
    for (int i = 0; (file = hypar_site_file(files, i)); i++) {
        struct hypar_machine *machine;
        struct hypar_error err;
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", file->name);
        hp_json_put_string(w, "path", file->path);
        if (read_site_machine(&machine, file, &err) == HYPAR_OK)
            hp_json_put_int(w, "devices", hypar_machine_device_count(machine));
        else
            hp_json_put_string(w, "error", err.text);
        hypar_machine_free(machine);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
    hypar_site_files_free(files);
    files = hypar_site_files(HYPAR_SITE_DEVICES);
    hp_json_begin_array(w, "site_devices", false);
    for (int i = 0; (file = hypar_site_file(files, i)); i++) {
        hp_json_begin_object(w, NULL, true);
        hp_json_put_string(w, "name", file->name);
        hp_json_put_string(w, "path", file->path);
        hp_json_end_object(w);
    }
    hp_json_end_array(w);
    hypar_site_files_free(files);
}

static void machines_text(FILE *to)
{
    struct arena arena = { 0 };
    struct columns topologies = { .align = "lw" }, options = { .align = "lw" };
    const struct hypar_topology *topology;
    const struct hypar_machine_option *option;
    hp_cell(&topologies, &arena, "topology");
    hp_cell(&topologies, &arena, "%s", "");
    for (int i = 0; (topology = hypar_topology(i)); i++) {
        hp_cell(&topologies, &arena, "%s", topology->syntax);
        hp_cell(&topologies, &arena, "%s", topology->summary);
    }
    hp_cell(&options, &arena, "option");
    hp_cell(&options, &arena, "%s", "");
    for (int i = 0; (option = hypar_machine_option(i)); i++) {
        hp_cell(&options, &arena, "%s=%s", option->name, option->example);
        hp_cell(&options, &arena, "%s", option->summary);
    }
    hp_columns_print(&topologies, to);
    fputc('\n', to);
    site_rows(to, &arena);
    hp_columns_print(&options, to);
    fputc('\n', to);
    device_rows(to, &arena);
    fputc('\n', to);
    link_rows(to, &arena);
    fputc('\n', to);
    collective_rows(to, &arena);
    fputc('\n', to);
    sources(to);
    hp_arena_free(&arena);
}

static void machines_json(FILE *to)
{
    struct json_writer w = { .file = to };
    const struct hypar_topology *topology;
    const struct hypar_device_type *type;
    hp_json_begin_object(&w, NULL, false);
    hp_json_begin_array(&w, "topologies", false);
    for (int i = 0; (topology = hypar_topology(i)); i++) {
        hp_json_begin_object(&w, NULL, true);
        hp_json_put_string(&w, "name", topology->name);
        hp_json_put_string(&w, "syntax", topology->syntax);
        hp_json_put_string(&w, "summary", topology->summary);
        hp_json_end_object(&w);
    }
    hp_json_end_array(&w);
    hp_json_begin_array(&w, "devices", false);
    for (int i = 0; (type = hypar_device_type(i)); i++) {
        hp_json_begin_object(&w, NULL, true);
        hp_put_device(&w, &type->device);
        hp_json_put_int(&w, "ports", type->ports);
        hp_json_put_number(&w, "link_bytes_per_s", type->link_bytes_per_s);
        hp_json_put_number(&w, "nic_bytes_per_s", type->nic_bytes_per_s);
        hp_json_put_int(&w, "devices_per_card", type->devices_per_card);
        hp_json_put_number(&w, "link_efficiency",
                           type->link_efficiency > 0 ? type->link_efficiency : 1);
        hp_json_put_number(&w, "nic_efficiency",
                           type->nic_efficiency > 0 ? type->nic_efficiency : 1);
        hp_json_put_number(&w, "latency_s", type->latency_s);
        hp_json_put_number(&w, "energy_j_per_bit", type->energy_j_per_bit);
        hp_json_put_string(&w, "source", type->source);
        hp_json_end_object(&w);
    }
    hp_json_end_array(&w);
    site_json(&w);
    hp_json_end_object(&w);
}

void hypar_report_machines(FILE *to, enum hypar_format format)
{
    if (format == HYPAR_JSON)
        machines_json(to);
    else
        machines_text(to);
}
