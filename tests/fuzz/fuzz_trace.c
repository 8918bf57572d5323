/* Any text: a measured step, which is the plan's or is not, or one line. */
#include "measured/step.h"

#include <hypar/search.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A plan whose traces are in the corpus, simulated once. */
static const struct hypar_sim *simulated(void)
{
    static struct hypar_graph *graph;
    static struct hypar_machine *machine;
    static struct hypar_found *found;
    static struct hypar_sim *sim;
    struct hypar_sim_options how = { .timeline = true };
    if (sim)
        return sim;
    if (hypar_import(&graph, "mlp:4-3-2", &(struct hypar_import_options){ .batch = 2 }, NULL) ||
        hypar_machine_read(&machine, "local:2", NULL) ||
        hypar_search(&found, graph, machine, &(struct hypar_search_options){ .planner = "dp" },
                     NULL) ||
        hypar_simulate(&sim, hypar_found_plan(found), &how, NULL))
        abort();
    return sim;
}

/* Adds a step of PyTorch's profiler to a profile. Other steps are refused, and so is a step of
 * PyTorch that does not fit the plan; a refusal has its line. */
static void profile(FILE *to, const struct hypar_measured_step *step)
{
    struct hypar_profile *profile = hypar_profile_new();
    struct hypar_measured_added added;
    struct hypar_error err = { 0 };
    enum hypar_status status =
        hypar_measured_step_add(step, simulated(), profile, &added, &err);
    if ((status == HYPAR_OK) != !*err.text || (!step->torch && status == HYPAR_OK))
        abort();
    hypar_profile_write(profile, to);
    hypar_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hypar_measured_step *step;
    struct hypar_error err = { 0 };
    char *text = NULL;
    size_t n;
    enum hypar_status status =
        hp_measured_read_text(&step, (const char *)data, size, "text", &err);
    if ((status == HYPAR_OK) != (step != NULL))
        abort();
    if (step) {
        FILE *to = open_memstream(&text, &n);
        if (!to)
            abort();
        status = hypar_report_measured(to, step, simulated(), true, HYPAR_TEXT, &err);
        if (status == HYPAR_OK)
            hypar_report_measured_trace(to, step, simulated(), NULL);
        if (status == HYPAR_OK)
            profile(to, step);
        fclose(to);
        free(text);
    }
    if ((status != HYPAR_OK && !*err.text) || strchr(err.text, '\n'))
        abort();
    hypar_measured_step_free(step);
    return 0;
}
