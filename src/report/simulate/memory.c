/* The memory of a plan's devices, itemised: will it fit? */
#include <hypar/report.h>

#include <string.h>

#include "base/json.h"
#include "plan/plan.h"
#include "report/simulate/devices.h"
#include "report/put.h"

enum { MOST_ROWS = 16, N_ITEMS = 7 };

/* What the peak is made of, once for all reports. */
struct item {
    const char *name, *key;
    double bytes;
};

static void itemise(const struct hypar_memory *m, struct item item[N_ITEMS])
{
    const struct item all[N_ITEMS] = {
        { "parameters", "parameters_bytes", m->parameters },
        { "gradients", "gradients_bytes", m->gradients },
        { "optimizer", "optimizer_bytes", m->optimizer },
        { "weight versions", "weight_versions_bytes", m->weight_versions },
        { "activations", "activations_bytes", m->activations },
        { "buffers", "buffers_bytes", m->buffers },
        { "framework", "framework_bytes", m->framework },
    };
    for (int i = 0; i < N_ITEMS; i++)
        item[i] = all[i];
}

void hp_put_memory(struct json_writer *w, const struct hypar_memory *memory)
{
    struct item item[N_ITEMS];
    itemise(memory, item);
    hp_json_begin_object(w, "memory", true);
    for (int i = 0; i < N_ITEMS; i++)
        hp_json_put_number(w, item[i].key, item[i].bytes);
    hp_json_put_number(w, "recompute_saves_bytes", memory->recompute_saves);
    hp_json_put_number(w, "saved_bytes", memory->saved);
    hp_json_put_number(w, "limit_bytes", memory->limit);
    hp_json_end_object(w);
}

const char *hp_model_words(struct arena *arena, const struct hypar_plan *plan)
{
    const char *model = hypar_plan_model(plan), *file = model, *dot = NULL;
    const char *name = hypar_graph_name(plan->graph);
    const char *end = model + hypar_model_path_length(model);
    if (!hypar_model_is_path(model))
        return hp_shown(arena, model);
    for (const char *c = model; c < end; c++)
        if (*c == '/')
            file = c + 1;
    for (const char *c = file + 1; c < end; c++)
        if (*c == '.')
            dot = c;
    size_t n = (size_t)((dot ? dot : end) - file);
    if (strlen(name) == n && strncmp(name, file, n) == 0)
        return hp_shown(arena, hp_arena_printf(arena, "%s%s", name, end));
    return hp_shown(arena, hp_arena_printf(arena, "%s (%s)", name, file));
}

char *hp_precision_words(struct arena *arena, enum hypar_precision precision,
                         enum hypar_precision gradients)
{
    const char *text = hypar_precision_text(precision);
    return gradients == precision ? hp_arena_strdup(arena, text)
                                  : hp_arena_printf(arena, "%s with %s gradients", text,
                                                    hypar_precision_text(gradients));
}

char *hp_settings_text(struct arena *arena, enum hypar_precision precision,
                       enum hypar_precision gradients, enum hypar_optimizer optimizer)
{
    return hp_arena_printf(
        arena, "%s%s%s%s", precision == HYPAR_FP32 ? "" : ", ",
        precision == HYPAR_FP32 ? "" : hp_precision_words(arena, precision, gradients),
        optimizer == HYPAR_SGD ? "" : ", ",
        optimizer == HYPAR_SGD ? "" : hypar_optimizer_text(optimizer));
}

char *hp_memory_items(struct arena *arena, const struct hypar_memory *memory)
{
    struct item item[N_ITEMS];
    char b[32], *text = hp_arena_strdup(arena, "");
    itemise(memory, item);
    for (int i = 0; i < N_ITEMS; i++)
        if (item[i].bytes > 0)
            text = hp_arena_printf(arena, "%s%s%s %s", text, *text ? ", " : "", item[i].name,
                                   hypar_format_quantity(b, item[i].bytes, HYPAR_UNIT_BYTES));
    return text;
}

static void memory_json(FILE *to, const struct hypar_memory *memory, int n, int most)
{
    struct json_writer w = { .file = to };
    hp_json_begin_object(&w, NULL, false);
    hp_json_put_bool(&w, "fits", memory[most].peak <= memory[most].limit);
    hp_json_put_int(&w, "fullest_device", most);
    hp_json_put_number(&w, "peak_memory_bytes", memory[most].peak);
    hp_json_begin_array(&w, "devices", false);
    for (int i = 0; i < n; i++) {
        hp_json_begin_object(&w, NULL, true);
        hp_json_put_number(&w, "peak_memory_bytes", memory[i].peak);
        hp_put_memory(&w, &memory[i]);
        hp_json_end_object(&w);
    }
    hp_json_end_array(&w);
    hp_json_end_object(&w);
}

/* Which items are anywhere above zero: the columns of the table. */
struct shown {
    const struct hypar_memory *memory;
    bool item[N_ITEMS];
};

static void cells(const void *of, int device, struct columns *table, struct arena *arena)
{
    const struct shown *shown = of;
    const struct hypar_memory *m = &shown->memory[device];
    struct item item[N_ITEMS];
    itemise(m, item);
    for (int i = 0; i < N_ITEMS; i++)
        if (shown->item[i])
            hp_quantity_cell(table, arena, item[i].bytes, HYPAR_UNIT_BYTES);
    hp_quantity_cell(table, arena, m->peak, HYPAR_UNIT_BYTES);
    hp_quantity_cell(table, arena, m->limit, HYPAR_UNIT_BYTES);
    hp_cell(table, arena, "%s", m->peak <= m->limit ? "fits" : "too little");
}

static void memory_table(FILE *to, struct arena *arena, const struct hypar_memory *memory,
                         int n)
{
    struct shown shown = { .memory = memory };
    struct columns table = { 0 };
    struct item item[N_ITEMS];
    const char *align = "l";
    for (int d = 0; d < n; d++) {
        itemise(&memory[d], item);
        for (int i = 0; i < N_ITEMS; i++)
            shown.item[i] |= item[i].bytes > 0;
    }
    hp_cell(&table, arena, "device");
    for (int i = 0; i < N_ITEMS; i++)
        if (shown.item[i]) {
            align = hp_arena_printf(arena, "%sr", align);
            hp_cell(&table, arena, "%s", item[i].name);
        }
    table.align = hp_arena_printf(arena, "%srrl", align);
    hp_cell(&table, arena, "peak");
    hp_cell(&table, arena, "of");
    hp_cell(&table, arena, "%s", "");
    int left =
        hp_device_rows(&table, arena, &(struct device_rows){ n, &shown, cells }, MOST_ROWS);
    hp_columns_print(&table, to);
    if (left < n) {
        char count[64], least[32], most[32];
        double lo = memory[left].peak, hi = lo;
        for (int d = left; d < n; d++) {
            lo = memory[d].peak < lo ? memory[d].peak : lo;
            hi = memory[d].peak > hi ? memory[d].peak : hi;
        }
        fprintf(to, "and %s: peak %s to %s\n", hp_count(count, n - left, "more", "more"),
                hypar_format_quantity(least, lo, HYPAR_UNIT_BYTES),
                hypar_format_quantity(most, hi, HYPAR_UNIT_BYTES));
    }
}

char *hp_tight_text(struct arena *arena, const struct hypar_memory *m)
{
    char saves[32];
    if (m->peak > m->limit || m->peak <= 0.9 * m->limit || m->framework > 0)
        return NULL;
    char *text = hp_arena_printf(
        arena,
        "Tight: %.1f %% of the memory is left; a framework with its libraries often needs a "
        "tenth (--framework-memory counts it)",
        100 * (1 - m->peak / m->limit));
    if (m->recompute_saves > 0)
        text =
            hp_arena_printf(arena, "%s; --recompute full would save up to %s", text,
                            hypar_format_quantity(saves, m->recompute_saves, HYPAR_UNIT_BYTES));
    return hp_arena_printf(arena, "%s.", text);
}

static void memory_text(FILE *to, const struct hypar_plan *plan,
                        const struct hypar_memory *memory, int n, int most)
{
    struct arena arena = { 0 };
    const struct hypar_memory *m = &memory[most];
    struct memory_text text = hp_memory_text(m->peak, m->limit);
    char devices[64], saves[32];
    hp_put_line(to, "%s, batch %lld, %s, %s, on %s", hp_model_words(&arena, plan),
                (long long)hypar_graph_batch(hypar_plan_graph(plan)),
                hp_precision_words(&arena, hypar_plan_precision(plan),
                                   hypar_plan_gradient_precision(plan)),
                hypar_optimizer_text(hypar_plan_optimizer(plan)),
                hp_count(devices, n, "device", "devices"));
    fputc('\n', to);
    memory_table(to, &arena, memory, n);
    fputc('\n', to);
    hp_put_line(to, "%s: device %d, the fullest, needs %s of %s (%.1f %%).",
                m->peak <= m->limit ? "It fits" : "It does not fit", most, text.need, text.has,
                100 * m->peak / m->limit);
    char *tight = hp_tight_text(&arena, m);
    if (tight)
        hp_wrap(to, tight, 0);
    else if (m->recompute_saves > 0)
        fprintf(to, "Recomputing activations would save up to %s there.\n",
                hypar_format_quantity(saves, m->recompute_saves, HYPAR_UNIT_BYTES));
    hp_arena_free(&arena);
}

enum hypar_status hypar_report_memory(FILE *to, const struct hypar_plan *plan,
                                      const struct hypar_lower_options *options,
                                      double limit_bytes, enum hypar_format format,
                                      struct hypar_error *err)
{
    struct arena arena = { 0 };
    int n = hypar_machine_device_count(hypar_plan_machine(plan));
    struct hypar_memory *memory = NEW(&arena, struct hypar_memory, n);
    enum hypar_status status = hypar_plan_memory(plan, options, memory, err);
    for (int d = 0; d < n && limit_bytes > 0; d++)
        memory[d].limit = limit_bytes;
    if (status == HYPAR_OK) {
        struct hypar_memory fullest;
        int most = hypar_fullest_memory(memory, n, 0, &fullest);
        if (format == HYPAR_JSON)
            memory_json(to, memory, n, most);
        else
            memory_text(to, plan, memory, n, most);
        status = hypar_check_fullest(&fullest, most, err);
    }
    hp_arena_free(&arena);
    return status;
}
