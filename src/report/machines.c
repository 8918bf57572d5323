/* The topologies, options and devices that a machine can be made of. */
#include <hypar/report.h>

#include "base/json.h"
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
    hp_json_end_object(&w);
}

void hypar_report_machines(FILE *to, enum hypar_format format)
{
    if (format == HYPAR_JSON)
        machines_json(to);
    else
        machines_text(to);
}
