/* Reports the memory of a plan's devices by its contents, and whether it fits. */
#include <hypar/report.h>

#include <string.h>

#include "machine/machine.h"
#include "plan/memory_terms.h"
#include "report/put.h"
#include "sim/task_costs.h"

enum { MOST_ROWS = 16 };

#define ALWAYS  0
#define NONZERO (LEFT_OUT | IF_POSITIVE)
#define ITEM(member, level, shown, words, meaning) \
    { words, #member "_bytes", AS_BYTES, AT(struct hypar_memory, member), IF_ANY | shown },

/* The terms of the peak, then other figures of a device's memory. */
/* clang-format off */
const struct column hp_memory_columns[] = {
    HYPAR_MEMORY_TERMS(ITEM)
    { NULL, "allocated_bytes", AS_BYTES, AT(struct hypar_memory, allocated), NONZERO },
    { NULL, "reserved_bytes", AS_BYTES, AT(struct hypar_memory, reserved), NONZERO },
    { NULL, "recompute_saves_bytes", AS_BYTES, AT(struct hypar_memory, recompute_saves) },
    { NULL, "saved_bytes", AS_BYTES, AT(struct hypar_memory, saved) },
    { "of", "limit_bytes", AS_BYTES, AT(struct hypar_memory, limit), .at = 3 },
    { 0 },
};
/* clang-format on */

struct device_row {
    int device;
    struct hypar_memory memory;
    const char *verdict;
};

static const struct column device_columns[] = {
    { "device", NULL, AS_INT, AT(struct device_row, device), TO_THE_LEFT },
    { "peak", "peak_memory_bytes", AS_BYTES, AT(struct device_row, memory.peak), .at = 2 },
    { "", "memory", AS_RECORD, AT(struct device_row, memory), INSIDE, .at = 1,
      .of = hp_memory_columns },
    { "", NULL, AS_TEXT, AT(struct device_row, verdict) },
    { 0 },
};

const char *hp_model_words(struct arena *arena, const struct hypar_plan *plan)
{
    const char *model = hypar_plan_model(plan), *file = model, *dot = NULL;
    const char *name = plan->graph->name;
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

const char *hp_unmeasured_names(struct arena *arena, const struct hypar_machine *machine)
{
    const char *names = "", *before = "";
    if (!hypar_machine_device(machine, 0)->roofline)
        return NULL;
    for (int d = 0; d < hypar_machine_device_count(machine); d++) {
        const struct hypar_device *device = hypar_machine_device(machine, d);
        if (hp_kernels_known(device) || strcmp(device->name, before) == 0)
            continue;
        before = device->name;
        names = hp_joined(arena, names, " and ", device->name);
    }
    return *names ? names : "others";
}

/* ", all by the roofline: ..." where the framework has kernels that the machine's devices do
 * not all have. */
static const char *roofline_text(struct arena *arena, const struct hypar_machine *machine,
                                 const struct hypar_framework *framework)
{
    const char *names = hp_unmeasured_names(arena, machine);
    return names && framework->kernels != HYPAR_KERNELS_NONE
               ? hp_arena_printf(
                     arena, ", all by the roofline: the kernels of %s were not measured", names)
               : "";
}

char *hp_run_as_text(struct arena *arena, const struct hypar_machine *machine,
                     const struct hypar_framework *framework)
{
    int n = hypar_machine_device_count(machine), kinds = 0;
    char *text = hp_arena_printf(arena, "Run as %s on", hp_framework_word(arena, framework));
    const struct hypar_device *before = NULL;
    for (int d = 0; d < n && kinds < 3; d++) {
        const struct hypar_device *device = hypar_machine_device(machine, d);
        if (before && strcmp(before->name, device->name) == 0)
            continue;
        before = device;
        text = hp_arena_printf(arena,
                               kinds == 0   ? "%s %s"
                               : kinds == 1 ? "%s and %s"
                                            : "%s, and others than %s",
                               text, device->name);
        kinds++;
    }
    const char *usual = machine->topology ? machine->topology->default_device : NULL;
    return usual && kinds == 1 && strcmp(before->name, usual) == 0
               ? hp_arena_printf(arena, "%s, the default device", text)
               : hp_arena_printf(arena, "%s%s", text, roofline_text(arena, machine, framework));
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
    char *text = hp_arena_strdup(arena, "");
    for (const struct memory_term *t = hp_memory_terms; t->words; t++)
        if (hp_memory_term(memory, t) > 0)
            text = hp_arena_printf(arena, "%s%s%s %s", text, *text ? ", " : "", t->words,
                                   hp_bytes_text(arena, hp_memory_term(memory, t)));
    return text;
}

/* Write a row for each device. Returns the first device that text leaves out. */
static int device_rows(struct table_writer *table, const struct hypar_memory *memory, int n)
{
    int shown = 0;
    hp_table_begin(table, "devices");
    for (int d = 0; d < n; d++) {
        struct device_row row = { d, memory[d],
                                  memory[d].peak <= memory[d].limit ? "fits" : "too little" };
        shown += hp_table_row(table, &row);
    }
    hp_table_end(table);
    return shown;
}

static void memory_table(FILE *to, struct arena *arena, const struct hypar_memory *memory,
                         int n)
{
    struct table_writer table = {
        .column = device_columns, .to = to, .most = MOST_ROWS, .alike = true
    };
    int left = device_rows(&table, memory, n);
    if (left == n)
        return;
    double least = memory[left].peak, most = least;
    for (int d = left; d < n; d++) {
        least = memory[d].peak < least ? memory[d].peak : least;
        most = memory[d].peak > most ? memory[d].peak : most;
    }
    fprintf(to, "and %s: peak %s to %s\n", hp_count(arena, n - left, "more|more"),
            hp_bytes_text(arena, least), hp_bytes_text(arena, most));
}

const char *hp_certainty_text(struct arena *arena, const struct hypar_memory *m)
{
    double p = 100 * hypar_memory_probability(m);
    if (!(m->error_spread > 0))
        return "";
    return p > 99 ? " with over 99 %" : hp_arena_printf(arena, " with %.0f %%", p);
}

const char *hp_fits_text(struct arena *arena, const struct hypar_memory *m)
{
    const char *certainty = hp_certainty_text(arena, m);
    return *certainty ? hp_arena_printf(arena, ": fits%s", certainty) : "";
}

char *hp_memory_line(struct arena *arena, const struct hypar_plan *plan, int device,
                     double limit_bytes)
{
    const struct hypar_device *d = hypar_machine_device(plan->machine, device);
    struct memory_how how = hp_memory_how(plan);
    how.certainty = 0;
    double usable = hp_usable_bytes(d, &how);
    how.certainty = HP_USUAL_CERTAINTY;
    double filled = hp_usable_bytes(d, &how);
    if (limit_bytes != usable || (usable == (double)d->memory_bytes && filled == usable))
        return NULL;
    char *text = hp_arena_printf(arena, "Memory of %s: %s", d->name,
                                 hp_bytes_text(arena, (double)d->memory_bytes));
    if (usable != (double)d->memory_bytes)
        text = hp_arena_printf(arena, "%s by its name (in GiB), %s usable by programs", text,
                               hp_bytes_text(arena, usable));
    if (filled == usable)
        return hp_arena_printf(arena, "%s.", text);
    return hp_arena_printf(arena,
                           "%s, of which planners fill %s: %s are kept free, as predictions "
                           "are not exact.",
                           text, hp_bytes_text(arena, filled),
                           hp_bytes_text(arena, usable - filled));
}

char *hp_tight_text(struct arena *arena, const struct hypar_memory *m)
{
    if (m->peak > m->limit || m->peak <= 0.9 * m->limit || m->framework > 0 ||
        m->error_spread > 0)
        return NULL;
    char *text = hp_arena_printf(
        arena,
        "Tight: %.1f %% of the memory is left; a framework with its libraries often needs a "
        "tenth (--framework-memory counts it)",
        100 * (1 - m->peak / m->limit));
    if (m->recompute_saves > 0)
        text = hp_arena_printf(arena, "%s; --recompute full saves %s at most", text,
                               hp_bytes_text(arena, m->recompute_saves));
    return hp_arena_printf(arena, "%s.", text);
}

/* The plan with full recomputation, counted: more than activations lies at the peak then. */
static void recomputed_text(FILE *to, struct arena *arena, const struct hypar_plan *plan,
                            const struct hypar_memory *now)
{
    struct hypar_memory then;
    struct hypar_plan *changed = hypar_plan_copy(plan);
    hp_plan_set_recompute(changed, HYPAR_RECOMPUTE_FULL);
    enum hypar_status status = hypar_plan_fits(changed, now->limit, &then, NULL);
    hypar_plan_free(changed);
    if ((status == HYPAR_OK || status == HYPAR_INFEASIBLE) && then.peak < now->peak)
        hp_put_line(to, "With --recompute full the fullest device would need %s, %s less.",
                    hp_bytes_text(arena, then.peak),
                    hp_bytes_text(arena, now->peak - then.peak));
}

static void memory_text(FILE *to, const struct hypar_plan *plan,
                        const struct hypar_memory *memory, int n, int most)
{
    struct arena arena = { 0 };
    const struct hypar_memory *m = &memory[most];
    struct memory_text text = hp_memory_text(m->peak, m->limit);
    hp_put_line(
        to, "%s, batch %lld, %s, %s, on %s", hp_model_words(&arena, plan),
        (long long)plan->graph->batch,
        hp_precision_words(&arena, plan->precision, hypar_plan_gradient_precision(plan)),
        hypar_optimizer_text(plan->optimizer), hp_count(&arena, n, "device"));
    fputc('\n', to);
    memory_table(to, &arena, memory, n);
    fputc('\n', to);
    hp_put_line(to, "%s%s: device %d, the fullest, needs %s of %s%s (%.1f %%).",
                m->peak <= m->limit ? "It fits" : "It does not fit",
                m->peak <= m->limit ? hp_certainty_text(&arena, m) : "", most, text.need,
                text.has, hp_limit_words(plan, m->limit), 100 * m->peak / m->limit);
    if (m->allocated > 0)
        hp_put_line(to,
                    "The framework's allocator hands out %s there and holds %s; the rest lies "
                    "outside it.",
                    hp_bytes_text(&arena, m->allocated), hp_bytes_text(&arena, m->reserved));
    char *tight = hp_tight_text(&arena, m);
    if (tight)
        hp_wrap(to, tight, 0);
    else if (m->recompute_saves > 0)
        recomputed_text(to, &arena, plan, m);
    char *line = hp_memory_line(&arena, plan, most, m->limit);
    if (line)
        hp_put_line(to, "%s", line);
    hp_arena_free(&arena);
}

enum hypar_status hypar_report_memory(FILE *to, const struct hypar_plan *plan,
                                      const struct hypar_sim_options *options,
                                      double limit_bytes, enum hypar_format format,
                                      struct hypar_error *err)
{
    struct arena arena = { 0 };
    int n = hypar_machine_device_count(hypar_plan_machine(plan));
    struct hypar_memory *memory = NEW(&arena, struct hypar_memory, n);
    struct hypar_plan *own = options ? hp_simulated_plan(plan, options) : NULL;
    plan = own ? own : plan;
    enum hypar_status status =
        hypar_plan_memory(plan, options ? &options->lower : NULL, memory, err);
    for (int d = 0; d < n && limit_bytes > 0; d++)
        memory[d].limit = limit_bytes;
    if (status == HYPAR_OK) {
        struct hypar_memory fullest;
        int most = hypar_fullest_memory(memory, n, 0, &fullest);
        if (format == HYPAR_JSON) {
            struct json_writer w = { .file = to };
            hp_json_begin_object(&w, NULL, false);
            PUT(&w, FLAG("fits", fullest.peak <= fullest.limit),
                ONLY_IF(fullest.error_spread > 0,
                        NUMBER("fits_probability", hypar_memory_probability(&fullest))),
                INT("fullest_device", most), NUMBER("peak_memory_bytes", fullest.peak));
            device_rows(&(struct table_writer){ .column = device_columns, .json = &w }, memory,
                        n);
            hp_json_end_object(&w);
        } else {
            memory_text(to, plan, memory, n, most);
        }
        status = hypar_check_fullest(plan, &fullest, most, err);
    }
    hypar_plan_free(own);
    hp_arena_free(&arena);
    return status;
}
