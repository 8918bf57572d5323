/* Reports one machine: its devices, links, levels and nodes. */
#include <hypar/report.h>
#include <hypar/run.h>

#include <math.h>
#include <string.h>

#include "cost/calibration.h"
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
static const char *mark(option_set assumed, enum option option)
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

/* "12.5 GB/s", or "10 GB/s to 12.5 GB/s". */
static const char *range_text(struct arena *arena, struct range range, enum hypar_unit unit)
{
    const char *low = hp_figure_text(arena, range.least, unit);
    return range.least == range.most ? low
                                     : hp_arena_printf(arena, "%s to %s", low,
                                                       hp_figure_text(arena, range.most, unit));
}

struct class_row {
    const char *name;
    struct range bandwidth, latency;
    const char *bandwidth_text, *latency_text;
};

#define CLASS(member) AT(struct class_row, member)

static const struct column class_columns[] = {
    { "class", "name", AS_TEXT, CLASS(name) },
    { "links", "links", AS_INT, CLASS(bandwidth.n_links) },
    { "bandwidth", NULL, AS_TEXT, CLASS(bandwidth_text), TO_THE_RIGHT },
    { NULL, "least_bytes_per_s", AS_BANDWIDTH, CLASS(bandwidth.least) },
    { NULL, "most_bytes_per_s", AS_BANDWIDTH, CLASS(bandwidth.most) },
    { "latency", NULL, AS_TEXT, CLASS(latency_text), TO_THE_RIGHT },
    { NULL, "least_latency_s", AS_SECONDS, CLASS(latency.least) },
    { NULL, "most_latency_s", AS_SECONDS, CLASS(latency.most) },
    { 0 },
};

/* The classes of links that a sweep may name. */
static void class_rows(struct table_writer *table, struct arena *arena,
                       const struct network *network)
{
    table->column = class_columns;
    hp_table_begin(table, "link_classes");
    for (int c = 0; c < network->n_classes; c++) {
        struct class_row row = { .name = network->class[c],
                                 .bandwidth = range_of(network, c, OPTION_BANDWIDTH),
                                 .latency = range_of(network, c, OPTION_LATENCY) };
        row.bandwidth_text = range_text(arena, row.bandwidth, HYPAR_UNIT_BANDWIDTH);
        row.latency_text = range_text(arena, row.latency, HYPAR_UNIT_SECONDS);
        hp_table_row(table, &row);
    }
    hp_table_end(table);
}

struct level_row {
    char name[8];
    struct hypar_level of;
    const char *about; /* "~": an assumed latency */
};

static const struct column level_columns[] = {
    { "level", NULL, AS_TEXT, AT(struct level_row, name), INSIDE },
    { "ways", "ways", AS_INT, AT(struct level_row, of.ways) },
    { "bandwidth", "bytes_per_s", AS_BANDWIDTH, AT(struct level_row, of.bytes_per_s) },
    { "latency", "latency_s", AS_SECONDS, AT(struct level_row, of.latency_s),
      .prefix = offsetof(struct level_row, about) },
    { 0 },
};

static void level_rows(struct table_writer *table, const struct hypar_machine *m)
{
    struct hypar_level level[HYPAR_MAX_LEVELS];
    int n = hypar_machine_levels(m, level);
    table->column = level_columns;
    hp_table_begin(table, "levels");
    for (int l = 0; l < n; l++) {
        /* in a machine without parts, links have their own figures */
        option_set assumed = m->n_parts ? m->runs[0].assumed : 0;
        struct level_row row = { .of = level[l], .about = mark(assumed, OPTION_LATENCY) };
        snprintf(row.name, sizeof row.name, "H%d", l + 1);
        hp_table_row(table, &row);
    }
    hp_table_end(table);
}

#define CARD(member) AT(struct hypar_card, member)

static const struct column card_columns[] = {
    { "card", "name", AS_TEXT, CARD(name), INSIDE },
    { "capability", "compute_capability", AS_INT, CARD(arch) },
    { "multiprocessors", "multiprocessors", AS_INT, CARD(multiprocessors) },
    { "memory", "memory_bytes", AS_BYTES, CARD(memory_bytes) },
    { 0 },
};

/* The cards of this machine, on which `hypar train --device cuda` runs. The device "local" is
 * its processor. */
static void card_rows(struct table_writer *table, const struct hypar_machine *m)
{
    enum { MOST = 64 };
    struct hypar_card card[MOST];
    bool local = strcmp(hypar_machine_device(m, 0)->name, "local") == 0;
    int n = local ? hypar_cards(card, MOST) : 0;
    if (n == 0)
        return;
    if (table->to)
        fputc('\n', table->to);
    table->column = card_columns;
    hp_table_begin(table, "cards");
    for (int i = 0; i < n && i < MOST; i++)
        hp_table_row(table, &card[i]);
    hp_table_end(table);
}

static void machine_json(FILE *to, const struct hypar_machine *m)
{
    struct arena arena = { 0 };
    struct json_writer w = { .file = to };
    const char *word = hypar_machine_word(m);
    hp_json_begin_object(&w, NULL, false);
    PUT(&w, ONLY_IF(word, TEXT("word", word)), TEXT("topology", hypar_machine_topology(m)),
        INT("devices", hypar_machine_device_count(m)),
        INT("switches", hypar_machine_switch_count(m)),
        INT("links", hypar_machine_link_count(m)));
    if (m->network && m->network->n_classes)
        class_rows(&(struct table_writer){ .json = &w }, &arena, m->network);
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
    level_rows(&(struct table_writer){ .json = &w }, m);
    card_rows(&(struct table_writer){ .json = &w }, m);
    hp_json_end_object(&w);
    hp_arena_free(&arena);
}

/* Figures ------------------------------------------------------------------------------ */

/* A table of figures, which has a heading of its own: "h100", "links of part 2". */
struct figures {
    struct table_writer table;
    struct arena *arena;
    bool given; /* a figure is not the usual one */
};

static void begin_figures(struct figures *f, FILE *to, struct arena *arena, const char *heading)
{
    *f = (struct figures){ .table = { .to = to,
                                      .texts = hp_arena_printf(arena, "%s|>|~", heading) },
                           .arena = arena };
    hp_table_begin(&f->table, NULL);
}

/* Add a figure: "*" marks one that is not as usual, "~" one that is assumed. */
static void add_figure(struct figures *f, enum option option, const char *value, bool differs,
                       option_set assumed)
{
    const struct option_row *row = &hp_machine_options[option];
    f->given |= differs;
    hp_table_row(&f->table,
                 (const char *[]){ hp_arena_printf(f->arena, "%s%s", row->text.name,
                                                   differs ? "*" : mark(assumed, option)),
                                   value, row->text.summary });
}

/* The errors of predictions with a row of the table. */
static void calibration(FILE *to, struct arena *arena, const struct hypar_device_type *type)
{
    const struct hypar_calibration *c = type ? &type->calibration : NULL, none = { 0 };
    if (!c || c->rows == 0)
        hp_put_line(to,
                    "Not calibrated: a step may take %.2g to %.2g times the prediction, one "
                    "that is all convolutions from %.2g times.",
                    hp_interval(&none, 1, &(struct less_known){ 0 }).low_s,
                    hp_interval(&none, 1, &(struct less_known){ 0 }).high_s,
                    hp_interval(&none, 1, &(struct less_known){ .convolutions = 1 }).low_s);
    else
        hp_put_line(
            to, "Calibrated on %d rows (%s): measured steps were %.1f %% %s, spread %.1f %%.",
            c->rows, hp_shown(arena, c->on), 100 * fabs(expm1(c->bias)),
            c->bias < 0 ? "shorter" : "longer", 100 * expm1(c->spread));
}

/* Every figure of a device that can be set, and its source. */
static void figure_rows(FILE *to, struct arena *arena, const struct device_run *run)
{
    const struct hypar_device *d = &run->device;
    const struct hypar_device_type *type = hp_device_type_find(d->name);
    const char *zeros = "";
    double value, usual = 0;
    struct figures figures;
    begin_figures(&figures, to, arena, d->name);
    for (int o = 0, i = 0; o < OPTION_COUNT; o++) {
        const struct option_row *row = &hp_machine_options[o];
        if (row->scope != SCOPE_DEVICE)
            continue;
        hypar_device_figure(d, i, &value);
        if (type)
            hypar_device_figure(&type->device, i, &usual);
        i++;
        if (value == 0)
            zeros = hp_joined(arena, zeros, ", ", row->text.name);
        else
            add_figure(&figures, (enum option)o, hp_figure_text(arena, value, row->unit),
                       type && !isnan(usual) && usual != value, run->assumed);
    }
    hp_table_end(&figures.table);
    if (*zeros)
        hp_put_line(to, "0, without effect: %s", zeros);
    if (figures.given)
        fputs(AS_GIVEN, to);
    if (run->assumed)
        hp_put_line(to, "~ assumed: peaks from those that were given, the rest as of %s",
                    MACHINE_ASSUMED_DEVICE);
    const char *source = run->source ? run->source : type ? type->source : NULL;
    if (source)
        hp_put_line(to, "From: %s", hp_shown(arena, source));
    calibration(to, arena, type);
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

/* Every figure of a part's links that can be set. */
static void part_link_rows(FILE *to, struct arena *arena, const struct part *part,
                           const char *heading)
{
    struct part plain = *part; /* with the default links of its device */
    struct figures figures;
    for (int o = 0; o < OPTION_COUNT; o++)
        if (hp_machine_options[o].scope != SCOPE_DEVICE)
            plain.value[o] = NAN;
    fputc('\n', to);
    begin_figures(&figures, to, arena, heading);
    for (int o = 0; o < OPTION_COUNT; o++) {
        const struct option_row *row = &hp_machine_options[o];
        if (row->scope == SCOPE_DEVICE || !hp_option_applies(part, (enum option)o))
            continue;
        double usual = hp_option_default(&plain, (enum option)o);
        add_figure(&figures, (enum option)o, hp_figure_text(arena, part->value[o], row->unit),
                   part->known && !isnan(usual) && usual != part->value[o], part->assumed);
    }
    hp_table_end(&figures.table);
    if (figures.given)
        fputs(AS_GIVEN, to);
}

static void listed_link_rows(FILE *to, struct arena *arena, const struct network *network)
{
    struct figures figures;
    if (network->n_listed == 0)
        return;
    fputc('\n', to);
    begin_figures(&figures, to, arena, "links");
    for (int f = 0; f < N_LINK_FIGURES; f++) {
        enum option o = hp_link_figures[f];
        add_figure(&figures, o,
                   range_text(arena, range_of(network, -1, o), hp_machine_options[o].unit),
                   false, 0);
    }
    hp_table_end(&figures.table);
}

static void all_link_rows(FILE *to, struct arena *arena, const struct hypar_machine *m)
{
    if (m->network) {
        listed_link_rows(to, arena, m->network);
        if (m->network->n_classes)
            fputc('\n', to);
        class_rows(&(struct table_writer){ .to = to }, arena, m->network);
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
    struct table_writer table = { .to = to, .texts = "node|figure|>here|>other nodes" };
    struct part whole;
    int first = 0, part = 0;
    hp_table_begin(&table, NULL);
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
            enum hypar_unit unit = hp_machine_options[o].unit;
            if (hp_option_applies(run, (enum option)o) && run->value[o] != whole.value[o])
                hp_table_row(&table,
                             (const char *[]){ nodes, hp_machine_options[o].text.name,
                                               hp_figure_text(arena, run->value[o], unit),
                                               hp_figure_text(arena, whole.value[o], unit) });
        }
    }
    if (table.n_rows)
        fputc('\n', to);
    hp_table_end(&table);
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

/* "~989 T": a peak, and whether it is assumed. */
static char *peak_text(struct arena *arena, option_set assumed, enum option option, double peak)
{
    return hp_arena_printf(arena, "%s%s", mark(assumed, option), hp_metric(arena, peak));
}

static void run_rows(FILE *to, struct arena *arena, const struct hypar_machine *m)
{
    struct table_writer table = { .to = to,
                                  .texts = "devices|>fp32/s|>fp16/s|>bf16/s|>memory|>bytes/s" };
    hp_table_begin(&table, NULL);
    for (int i = 0; i < hypar_machine_device_count(m); i += run_of_devices(m, i)) {
        const struct hypar_device *d = hypar_machine_device(m, i);
        option_set assumed = run_of(m, i)->assumed;
        hp_table_row(&table,
                     (const char *[]){
                         hp_arena_printf(arena, "%d x %s", run_of_devices(m, i), d->name),
                         peak_text(arena, 0, OPTION_FP32, d->fp32_op_per_s),
                         peak_text(arena, assumed, OPTION_FP16, d->fp16_op_per_s),
                         peak_text(arena, assumed, OPTION_BF16, d->bf16_op_per_s),
                         hp_bytes_text(arena, (double)d->memory_bytes),
                         hp_figure_text(arena, d->memory_bytes_per_s, HYPAR_UNIT_BANDWIDTH) });
    }
    hp_table_end(&table);
}

static void machine_text(FILE *to, const struct hypar_machine *m)
{
    struct arena arena = { 0 };
    struct hypar_level level[HYPAR_MAX_LEVELS];
    fprintf(
        to, "%s: %s, %s, %s, %s\n\n", hypar_machine_word(m) ? hypar_machine_word(m) : "machine",
        hypar_machine_topology(m), hp_count(&arena, hypar_machine_device_count(m), "device"),
        hp_count(&arena, hypar_machine_switch_count(m), "switch"),
        hp_count(&arena, hypar_machine_link_count(m), "link"));
    run_rows(to, &arena, m);
    const char *unmeasured = hp_unmeasured_names(&arena, m);
    if (unmeasured)
        hp_put_line(to,
                    "The kernels of %s were not measured: passes of all devices take the "
                    "times of the roofline.",
                    unmeasured);
    if (hypar_machine_levels(m, level))
        fputc('\n', to);
    level_rows(&(struct table_writer){ .to = to }, m);
    card_rows(&(struct table_writer){ .to = to }, m);
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
