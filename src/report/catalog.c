/* What there is: models, operators, devices and topologies. */
#include <hypar/report.h>

#include <string.h>

#include "base/json.h"
#include "graph/graph.h"
#include "report/columns.h"
#include "report/put.h"

/* Models ------------------------------------------------------------------------------ */

static void model_row(struct columns *table, struct arena *arena,
                      const struct hypar_model_info *info, const struct hypar_graph *g)
{
    char buffer[32];
    hp_cell(table, arena, "%s", info->name);
    hp_cell(table, arena, "%s", hp_thousands(buffer, hypar_graph_params(g)));
    hp_cell(table, arena, "%s", hp_metric(buffer, hypar_graph_flops_per_sample(g)));
    hp_cell(table, arena, "%d", hypar_graph_op_count(g));
    hp_cell(table, arena, "%d", hypar_graph_layer_count(g));
    hp_cell(table, arena, "%lld", (long long)hypar_graph_batch(g));
    hp_cell(table, arena, "%s", info->summary);
}

static void model_json(struct json_writer *w, const struct hypar_model_info *info,
                       const struct hypar_graph *g)
{
    hp_json_begin_object(w, NULL, true);
    hp_json_put_string(w, "name", info->name);
    hp_put_graph_figures(w, g);
    hp_json_put_int(w, "batch", hypar_graph_batch(g));
    hp_json_put_string(w, "summary", info->summary);
    hp_json_put_string(w, "options", info->options);
    hp_json_end_object(w);
}

void hypar_report_models(FILE *to, enum hypar_format format)
{
    struct arena arena = { 0 };
    struct columns table = { .align = "lrrrrrl" };
    struct json_writer w = { .file = to };
    static const char *const heading[] = { "model", "parameters", "FLOP/sample",
                                           "ops",   "layers",     "batch",
                                           "" };
    for (int i = 0; i < 7; i++)
        hp_cell(&table, &arena, "%s", heading[i]);
    if (format == HYPAR_JSON)
        hp_json_begin_array(&w, NULL, false);
    for (int i = 0; i < hypar_model_count(); i++) {
        const struct hypar_model_info info = hypar_model_at(i);
        struct hypar_graph *g;
        if (hypar_import(&g, info.name, NULL, NULL) != HYPAR_OK)
            continue; /* a model of the zoo always builds; a test holds it to that */
        if (format == HYPAR_JSON)
            model_json(&w, &info, g);
        else
            model_row(&table, &arena, &info, g);
        hypar_graph_free(g);
    }
    if (format == HYPAR_JSON) {
        hp_json_end_array(&w);
    } else {
        hp_columns_print(&table, to);
        fputs("\nOptions follow a colon: bert-base:seq=128, resnet18:image=32,classes=10, "
              "mlp:784-8192-10.\n",
              to);
    }
    hp_arena_free(&arena);
}

/* Operators --------------------------------------------------------------------------- */

void hypar_report_ops(FILE *to, enum hypar_format format)
{
    struct arena arena = { 0 };
    struct columns table = { .align = "llll" };
    struct json_writer w = { .file = to };
    static const char *const heading[] = { "operator", "axes", "index maps", "" };
    for (int i = 0; i < 4; i++)
        hp_cell(&table, &arena, "%s", heading[i]);
    if (format == HYPAR_JSON)
        hp_json_begin_array(&w, NULL, false);
    for (int k = 0; k < OP_KIND_COUNT; k++) {
        const struct op_traits *row = &hp_op[k];
        if (format == HYPAR_JSON) {
            hp_json_begin_object(&w, NULL, true);
            hp_json_put_string(&w, "name", row->name);
            hp_json_put_string(&w, "axes", row->axes);
            hp_json_put_string(&w, "operands", row->operands);
            hp_json_put_string(&w, "passes", row->passes);
            hp_json_put_string(&w, "attributes", row->attrs);
            hp_json_put_string(&w, "summary", row->summary);
            hp_json_end_object(&w);
            continue;
        }
        hp_cell(&table, &arena, "%s", row->name);
        hp_cell(&table, &arena, "%s", row->axes);
        int shown = (int)strcspn(row->operands, ";"); /* statistics are inner workings */
        hp_cell(&table, &arena, "%.*s", shown, row->operands);
        hp_cell(&table, &arena, "%s", row->summary);
    }
    if (format == HYPAR_JSON) {
        hp_json_end_array(&w);
    } else {
        hp_columns_print(&table, to);
        fputs("\nAxes: S sample, A attribute, P parameter, R reduction, I never split; every "
              "operator "
              "also has r, copies.\n* one axis per dimension: n; n c; n t c; n c h w by rank.  "
              "h~i a "
              "window of i taps.  (a,d) a product.  ? optional.  # integers.\n",
              to);
    }
    hp_arena_free(&arena);
}

/* Machines ---------------------------------------------------------------------------- */

static void device_rows(FILE *to, struct arena *arena)
{
    struct columns table = { .align = "lrrrrrr" };
    static const char *const heading[] = { "device", "fp64/s",  "fp32/s", "bf16/s",
                                           "memory", "bytes/s", "link" };
    for (int i = 0; i < 7; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    const struct hypar_device_type *type;
    for (int i = 0; (type = hypar_device_type(i)); i++) {
        char b[32];
        const struct hypar_device *d = &type->device;
        hp_cell(&table, arena, "%s", d->name);
        hp_cell(&table, arena, "%s", hp_metric(b, d->fp64_op_per_s));
        hp_cell(&table, arena, "%s", hp_metric(b, d->fp32_op_per_s));
        hp_cell(&table, arena, "%s", hp_metric(b, d->bf16_op_per_s));
        hp_cell(&table, arena, "%s",
                hypar_format_quantity(b, (double)d->memory_bytes, HYPAR_UNIT_BYTES));
        hp_cell(&table, arena, "%s",
                hypar_format_quantity(b, d->memory_bytes_per_s, HYPAR_UNIT_BANDWIDTH));
        hp_cell(&table, arena, "%s",
                hypar_format_quantity(b, type->link_bytes_per_s, HYPAR_UNIT_BANDWIDTH));
    }
    hp_columns_print(&table, to);
    fputs("\nWhere the figures come from:\n", to);
    for (int i = 0; (type = hypar_device_type(i)); i++) {
        fprintf(to, "%-12s", type->device.name);
        hp_wrap(to, type->source, 12);
    }
}

static void machines_text(FILE *to)
{
    struct arena arena = { 0 };
    struct columns topologies = { .align = "ll" }, options = { .align = "ll" };
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
