/* Reports one machine: its devices, links, levels and nodes. */
#include <hypar/report.h>

#include <math.h>
#include <string.h>

#include "machine/network.h"
#include "report/put.h"

#define AS_GIVEN "* as given, not as in the table of devices\n"

void hp_put_device(struct json_writer *w, const struct hypar_device *d)
{
    hp_json_put_string(w, "name", d->name);
    double value;
    const char *key;
    for (int i = 0; (key = hypar_device_figure(d, i, &value)); i++)
        hp_json_put_number(w, key, value);
}

/* The number of equal devices from `i` on. */
static int run_of_devices(const struct hypar_machine *m, int i)
{
    int n = 1;
    while (i + n < hypar_machine_device_count(m) &&
           memcmp(hypar_machine_device(m, i + n), hypar_machine_device(m, i),
                  sizeof(struct hypar_device)) == 0)
        n++;
    return n;
}

/* The run that a device belongs to. */
static const struct device_run *run_of(const struct hypar_machine *m, int device)
{
    int r = 0;
    while (r + 1 < m->n_runs && m->runs[r + 1].first <= device)
        r++;
    return &m->runs[r];
}

/* "~" marks an assumed figure. */
static const char *mark(uint64_t assumed, enum option option)
{
    return assumed >> option & 1 ? "~" : "";
}

/* The number of listed links, all (class -1) or of one class, and the least and the largest
 * value of a figure. */
struct range {
    int n_links;
    double least, most;
};

static struct range range_of(const struct network *network, int class, enum option figure)
{
    struct range range = { 0, INFINITY, 0 };
    for (int l = 0; l < network->n_listed; l++) {
        struct listed_link link = network->listed[l];
        if (class >= 0 && link.class != class)
            continue;
        range.n_links++;
        range.least = fmin(range.least, *hp_link_figure(&link, figure));
        range.most = fmax(range.most, *hp_link_figure(&link, figure));
    }
    return range;
}

static void classes_json(struct json_writer *w, const struct network *network)
{
    hp_json_begin_array(w, "link_classes", false);
    for (int c = 0; c < network->n_classes; c++) {
        struct range bandwidth = range_of(network, c, OPTION_BANDWIDTH),
                     latency = range_of(network, c, OPTION_LATENCY);
        PUT_OBJECT(
            w, NULL, true, TEXT("name", network->class[c]), INT("links", bandwidth.n_links),
            NUMBER("least_bytes_per_s", bandwidth.least),
            NUMBER("most_bytes_per_s", bandwidth.most),
            NUMBER("least_latency_s", latency.least), NUMBER("most_latency_s", latency.most));
    }
    hp_json_end_array(w);
}

static void machine_json(FILE *to, const struct hypar_machine *m)
{
    struct json_writer w = { .file = to };
    struct hypar_level level[HYPAR_MAX_LEVELS];
    int n_levels = hypar_machine_levels(m, level);
    hp_json_begin_object(&w, NULL, false);
    PUT(&w, ONLY_IF(hypar_machine_word(m), TEXT("word", hypar_machine_word(m))),
        TEXT("topology", hypar_machine_topology(m)),
        INT("devices", hypar_machine_device_count(m)),
        INT("switches", hypar_machine_switch_count(m)),
        INT("links", hypar_machine_link_count(m)));
    if (m->network && m->network->n_classes)
        classes_json(&w, m->network);
    hp_json_begin_array(&w, "device_types", false);
    for (int i = 0; i < hypar_machine_device_count(m); i += run_of_devices(m, i)) {
        hp_json_begin_object(&w, NULL, true);
        hp_json_put_int(&w, "count", run_of_devices(m, i));
        hp_put_device(&w, hypar_machine_device(m, i));
        if (run_of(m, i)->source)
            hp_json_put_string(&w, "source", run_of(m, i)->source);
        hp_json_end_object(&w);
    }
    hp_json_end_array(&w);
    hp_json_begin_array(&w, "levels", false);
    for (int l = 0; l < n_levels; l++) {
        PUT_OBJECT(&w, NULL, true, INT("ways", level[l].ways),
                   NUMBER("bytes_per_s", level[l].bytes_per_s),
                   NUMBER("latency_s", level[l].latency_s));
    }
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}

static void level_rows(FILE *to, struct arena *arena, const struct hypar_level *level, int n,
                       uint64_t assumed)
{
    struct columns levels = { .align = "lrrr" };
    static const char *const heading[] = { "level", "ways", "bandwidth", "latency" };
    for (int i = 0; i < 4; i++)
        hp_cell(&levels, arena, "%s", heading[i]);
    for (int l = 0; l < n; l++) {
        hp_cell(&levels, arena, "H%d", l + 1);
        hp_cell(&levels, arena, "%d", level[l].ways);
        hp_quantity_cell(&levels, arena, level[l].bytes_per_s, HYPAR_UNIT_BANDWIDTH);
        hp_cell(&levels, arena, "%s%s", mark(assumed, OPTION_LATENCY),
                hp_time_text(arena, level[l].latency_s));
    }
    hp_columns_print(&levels, to);
}

/* The row of the table of devices with this name; NULL: none. */
static const struct hypar_device_type *type_named(const char *name)
{
    const struct hypar_device_type *type;
    for (int i = 0; (type = hypar_device_type(i)); i++)
        if (strcmp(type->device.name, name) == 0)
            return type;
    return NULL;
}

/* Every figure of a device that can be set, and its source. */
static void figure_rows(FILE *to, struct arena *arena, const struct device_run *run)
{
    struct columns table = { .align = "lrw" };
    const struct hypar_device *d = &run->device;
    const struct hypar_device_type *type = type_named(d->name);
    bool given = false;
    const char *zeros = "";
    double value, usual = 0;
    hp_cell(&table, arena, "%s", d->name);
    hp_cell(&table, arena, "%s", "");
    hp_cell(&table, arena, "%s", "");
    for (int o = 0, i = 0; o < OPTION_COUNT; o++) {
        const struct option_row *row = &hp_machine_options[o];
        if (row->scope != SCOPE_DEVICE)
            continue;
        hypar_device_figure(d, i, &value);
        if (type)
            hypar_device_figure(&type->device, i, &usual);
        i++;
        if (value == 0) {
            zeros = hp_arena_printf(arena, "%s%s%s", zeros, *zeros ? ", " : "", row->text.name);
            continue;
        }
        bool differs = type && !isnan(usual) && usual != value;
        given |= differs;
        hp_cell(&table, arena, "%s%s", row->text.name,
                differs ? "*" : mark(run->assumed, (enum option)o));
        hp_constant_cell(&table, arena, value, row->unit);
        hp_cell(&table, arena, "%s", row->text.summary);
    }
    hp_columns_print(&table, to);
    if (*zeros)
        hp_put_line(to, "0, without effect: %s", zeros);
    if (given)
        fputs(AS_GIVEN, to);
    if (run->assumed)
        hp_put_line(to, "~ assumed: peaks from those that were given, the rest as of %s",
                    MACHINE_ASSUMED_DEVICE);
    const char *source = run->source ? run->source : type ? type->source : NULL;
    if (source)
        hp_put_line(to, "From: %s", hp_shown(arena, source));
}

/* Each kind of device once, up to a limit. Nodes with their own figures have a separate
 * table. */
static void all_figures(FILE *to, struct arena *arena, const struct hypar_machine *m)
{
    enum { MOST = 16 };
    const struct hypar_device *kind[MOST];
    int n = 0;
    for (int i = 0; n < MOST && i < hypar_machine_device_count(m); i += run_of_devices(m, i)) {
        int same = 0;
        kind[n] = hypar_machine_device(m, i);
        if (m->n_parts && hp_part_of(m, i)->own)
            continue;
        while (memcmp(kind[same], kind[n], sizeof *kind[n]) != 0)
            same++;
        if (same < n)
            continue;
        fputc('\n', to);
        figure_rows(to, arena, run_of(m, i));
        n++;
    }
}

static void link_heading(struct columns *table, struct arena *arena, const char *text)
{
    hp_cell(table, arena, "%s", text);
    hp_cell(table, arena, "%s", "");
    hp_cell(table, arena, "%s", "");
}

/* Every figure of a part's links that can be set. */
static void part_link_rows(FILE *to, struct arena *arena, const struct part *part,
                           const char *heading)
{
    struct columns table = { .align = "lrw" };
    struct part plain = *part; /* with the default links of its device */
    bool given = false;
    for (int o = 0; o < OPTION_COUNT; o++)
        if (hp_machine_options[o].scope != SCOPE_DEVICE)
            plain.value[o] = NAN;
    link_heading(&table, arena, heading);
    for (int o = 0; o < OPTION_COUNT; o++) {
        const struct option_row *row = &hp_machine_options[o];
        if (row->scope == SCOPE_DEVICE || !hp_option_applies(part, (enum option)o))
            continue;
        double usual = hp_option_default(&plain, (enum option)o);
        bool differs = part->known && !isnan(usual) && usual != part->value[o];
        given |= differs;
        hp_cell(&table, arena, "%s%s", row->text.name,
                differs ? "*" : mark(part->assumed, (enum option)o));
        hp_constant_cell(&table, arena, part->value[o], row->unit);
        hp_cell(&table, arena, "%s", row->text.summary);
    }
    fputc('\n', to);
    hp_columns_print(&table, to);
    if (given)
        fputs(AS_GIVEN, to);
}

static void range_cell(struct columns *table, struct arena *arena, struct range range,
                       enum hypar_unit unit)
{
    char a[32], b[32];
    bool plain = unit == HYPAR_UNIT_COUNT;
    snprintf(a, sizeof a, "%.3g", range.least);
    snprintf(b, sizeof b, "%.3g", range.most);
    const char *low = plain ? a : hypar_format_quantity(a, range.least, unit),
               *high = plain ? b : hypar_format_quantity(b, range.most, unit);
    if (range.least == range.most)
        hp_cell(table, arena, "%s", low);
    else
        hp_cell(table, arena, "%s to %s", low, high);
}

static void listed_link_rows(FILE *to, struct arena *arena, const struct network *network)
{
    struct columns table = { .align = "lrw" };
    if (network->n_listed == 0)
        return;
    link_heading(&table, arena, "links");
    for (int f = 0; f < N_LINK_FIGURES; f++) {
        const struct option_row *row = &hp_machine_options[hp_link_figures[f]];
        hp_cell(&table, arena, "%s", row->text.name);
        range_cell(&table, arena, range_of(network, -1, hp_link_figures[f]), row->unit);
        hp_cell(&table, arena, "%s", row->text.summary);
    }
    fputc('\n', to);
    hp_columns_print(&table, to);
}

/* The classes of links that a sweep may name. */
static void class_rows(FILE *to, struct arena *arena, const struct network *network)
{
    struct columns table = { .align = "lrrr" };
    static const char *const heading[] = { "class", "links", "bandwidth", "latency" };
    if (network->n_classes == 0)
        return;
    for (int i = 0; i < 4; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    for (int c = 0; c < network->n_classes; c++) {
        struct range bandwidth = range_of(network, c, OPTION_BANDWIDTH);
        hp_cell(&table, arena, "%s", network->class[c]);
        hp_cell(&table, arena, "%d", bandwidth.n_links);
        range_cell(&table, arena, bandwidth, HYPAR_UNIT_BANDWIDTH);
        range_cell(&table, arena, range_of(network, c, OPTION_LATENCY), HYPAR_UNIT_SECONDS);
    }
    fputc('\n', to);
    hp_columns_print(&table, to);
}

static void all_link_rows(FILE *to, struct arena *arena, const struct hypar_machine *m)
{
    if (m->network) {
        listed_link_rows(to, arena, m->network);
        class_rows(to, arena, m->network);
    }
    struct part whole;
    for (int p = 0, part = 1; p < m->n_parts; part++) {
        bool only = p == 0 && hp_part_whole(m, p, &whole) == m->n_parts;
        p = hp_part_whole(m, p, &whole);
        part_link_rows(to, arena, &whole,
                       only ? "links" : hp_arena_printf(arena, "links of part %d", part));
    }
}

/* "17" or "16-31", as in a machine's word; for one of several parts, "part 2: 17". */
static const char *nodes_text(struct arena *arena, const struct part *run, int first, int part)
{
    const char *before = part ? hp_arena_printf(arena, "part %d: ", part) : "";
    int node = run->first_node - first, n = run->dim[0];
    return n == 1 ? hp_arena_printf(arena, "%s%d", before, node)
                  : hp_arena_printf(arena, "%s%d-%d", before, node, node + n - 1);
}

/* The figures in which single nodes differ from their cluster. */
static void node_rows(FILE *to, struct arena *arena, const struct hypar_machine *m)
{
    struct columns table = { .align = "llrr" };
    static const char *const heading[] = { "node", "figure", "here", "other nodes" };
    struct part whole;
    for (int i = 0; i < 4; i++)
        hp_cell(&table, arena, "%s", heading[i]);
    int rows = 0, first = 0, part = 0;
    for (int p = 0, end = 0; p < m->n_parts; p++) {
        const struct part *run = &m->parts[p];
        if (p == end) {
            end = hp_part_whole(m, p, &whole);
            first = run->first_node;
            part++;
        }
        const char *nodes =
            nodes_text(arena, run, first, part == 1 && end == m->n_parts ? 0 : part);
        for (int o = 0; o < OPTION_COUNT; o++) {
            if (!hp_option_applies(run, (enum option)o) || run->value[o] == whole.value[o])
                continue;
            enum hypar_unit unit = hp_machine_options[o].unit;
            hp_cell(&table, arena, "%s", nodes);
            hp_cell(&table, arena, "%s", hp_machine_options[o].text.name);
            hp_constant_cell(&table, arena, run->value[o], unit);
            hp_constant_cell(&table, arena, whole.value[o], unit);
            rows++;
        }
    }
    if (rows == 0)
        return;
    fputc('\n', to);
    hp_columns_print(&table, to);
}

/* Report listed links that no route uses: of several links between the same two devices that
 * differ in latency, one carries everything. Only for machines that are small enough to compute
 * all routes. */
static void idle_links_line(FILE *to, struct arena *arena, const struct hypar_machine *m)
{
    enum { LOOKED_AT = 1 << 24 };
    int n = m->n_devices, idle = 0;
    if (m->n_parts || (int64_t)n * (n + m->n_switches + 2 * (int64_t)m->n_links) > LOOKED_AT)
        return;
    bool *used = NEW(arena, bool, m->n_links);
    int *path = NEW(arena, int, m->longest_route);
    for (int from = 0; from < n; from++)
        for (int to_device = 0; to_device < n; to_device++)
            for (int i = hypar_machine_route(m, from, to_device, path, m->longest_route); i--;)
                used[path[i] / 2] = true;
    const char *which = "";
    for (int l = 0; l < m->n_links; l++)
        if (!used[l] && idle++ < 4)
            which = hp_arena_printf(arena, "%s%s%d - %d", which, *which ? ", " : "",
                                    hypar_machine_link(m, l).from, hypar_machine_link(m, l).to);
    if (!idle)
        return;
    fputc('\n', to);
    hp_put_line(to,
                "On no route between devices: %d of %d links (%s%s). Parallel "
                "links of two devices are added up only if their latencies are "
                "equal.",
                idle, m->n_links, which, idle > 4 ? ", ..." : "");
}

static void machine_text(FILE *to, const struct hypar_machine *m)
{
    struct arena arena = { 0 };
    struct columns devices = { .align = "lrrrrr" };
    struct hypar_level level[HYPAR_MAX_LEVELS];
    int n_levels = hypar_machine_levels(m, level);
    uint64_t links_assumed =
        m->n_parts ? m->runs[0].assumed : 0; /* otherwise links have their own figures */
    char b[32], n_devices[64], n_switches[64], n_links[64];
    static const char *const device_heading[] = { "devices", "fp32/s", "fp16/s",
                                                  "bf16/s",  "memory", "bytes/s" };
    fprintf(to, "%s: %s, %s, %s, %s\n\n",
            hypar_machine_word(m) ? hypar_machine_word(m) : "machine",
            hypar_machine_topology(m),
            hp_count(n_devices, hypar_machine_device_count(m), "device", "devices"),
            hp_count(n_switches, hypar_machine_switch_count(m), "switch", "switches"),
            hp_count(n_links, hypar_machine_link_count(m), "link", "links"));
    for (int i = 0; i < 6; i++)
        hp_cell(&devices, &arena, "%s", device_heading[i]);
    for (int i = 0; i < hypar_machine_device_count(m); i += run_of_devices(m, i)) {
        const struct hypar_device *d = hypar_machine_device(m, i);
        uint64_t assumed = run_of(m, i)->assumed;
        hp_cell(&devices, &arena, "%d x %s", run_of_devices(m, i), d->name);
        hp_cell(&devices, &arena, "%s", hp_metric(b, d->fp32_op_per_s));
        hp_cell(&devices, &arena, "%s%s", mark(assumed, OPTION_FP16),
                hp_metric(b, d->fp16_op_per_s));
        hp_cell(&devices, &arena, "%s%s", mark(assumed, OPTION_BF16),
                hp_metric(b, d->bf16_op_per_s));
        hp_quantity_cell(&devices, &arena, (double)d->memory_bytes, HYPAR_UNIT_BYTES);
        hp_quantity_cell(&devices, &arena, d->memory_bytes_per_s, HYPAR_UNIT_BANDWIDTH);
    }
    hp_columns_print(&devices, to);
    if (n_levels) {
        fputc('\n', to);
        level_rows(to, &arena, level, n_levels, links_assumed);
    }
    all_link_rows(to, &arena, m);
    node_rows(to, &arena, m);
    idle_links_line(to, &arena, m);
    all_figures(to, &arena, m);
    hp_arena_free(&arena);
}

void hypar_report_machine(FILE *to, const struct hypar_machine *machine,
                          enum hypar_format format)
{
    if (!machine)
        hp_machine_tables(to, format);
    else if (format == HYPAR_JSON)
        machine_json(to, machine);
    else
        machine_text(to, machine);
}
