/* Reports trials of the simulator: delta against full simulation, and calibration. */
#include <hypar/report.h>

#include <string.h>

#include "report/table.h"

static void delta_text(FILE *to, const struct hypar_delta_check *c)
{
    struct arena arena = { 0 };
    fprintf(to, "%s of one operator, in full and by delta: %s\n",
            hp_count(&arena, c->changes, "change"),
            c->mismatches ? hp_count(&arena, c->mismatches, "mismatch") : "no mismatch");
    if (c->mismatches)
        fprintf(to, "The first: %s\n", c->first_mismatch);
    fprintf(to, "One change takes %s in full (lower and simulate), %s by delta",
            hp_time_text(&arena, c->full_us * 1e-6), hp_time_text(&arena, c->delta_us * 1e-6));
    if (c->delta_us > 0)
        fprintf(to, ": %.3g times as fast", c->full_us / c->delta_us);
    fprintf(to, "; %s\n", hp_count(&arena, c->tasks, "task"));
    hp_arena_free(&arena);
}

void hypar_report_delta_check(FILE *to, const struct hypar_delta_check *check,
                              enum hypar_format format)
{
    if (format == HYPAR_JSON)
        PUT_OBJECT(&(struct json_writer){ .file = to }, NULL, false,
                   INT("changes", check->changes), INT("mismatches", check->mismatches),
                   NUMBER("full_us", check->full_us), NUMBER("delta_us", check->delta_us),
                   INT("tasks", check->tasks),
                   ONLY_IF(check->mismatches, TEXT("first_mismatch", check->first_mismatch)));
    else
        delta_text(to, check);
}

/* The next kind of device of the plan's machine, in the order of the devices from `*device` on;
 * NULL past the last. */
static const char *next_kind(const struct hypar_machine *machine, int *device)
{
    int n = hypar_machine_is_uniform(machine) ? 1 : hypar_machine_device_count(machine);
    for (; *device < n; ++*device) {
        const char *name = hypar_machine_device(machine, *device)->name;
        int before = 0;
        while (strcmp(hypar_machine_device(machine, before)->name, name) != 0)
            before++;
        if (before == *device) {
            ++*device;
            return name;
        }
    }
    return NULL;
}

void hypar_report_calibration(FILE *to, const struct hypar_plan *plan, double measured_s,
                              double efficiency, enum hypar_format format)
{
    const struct hypar_machine *machine = hypar_plan_machine(plan);
    const char *kind;
    if (format == HYPAR_JSON) {
        struct json_writer w = { .file = to };
        hp_json_begin_object(&w, NULL, false);
        PUT(&w, NUMBER("measured_s", measured_s), NUMBER("efficiency", efficiency));
        hp_json_begin_array(&w, "devices", true);
        for (int i = 0; (kind = next_kind(machine, &i));)
            hp_json_put_string(&w, NULL, kind);
        hp_json_end_array(&w);
        hp_json_end_object(&w);
        return;
    }
    char b[32];
    fprintf(to, "A step takes %s, as measured, where dense kernels on",
            hypar_format_quantity(b, measured_s, HYPAR_UNIT_SECONDS));
    for (int i = 0, n = 0; (kind = next_kind(machine, &i)); n++)
        fprintf(to, "%s %s", n ? "," : "", kind);
    fprintf(to, " reach %.4g of the peak.\n", efficiency);
}
