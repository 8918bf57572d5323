/* Measured steps of a user's cluster: made by simulating plans on a machine with known figures, these
 * figures come back, and steps that were not fitted are predicted. */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <hypar/fit.h>
#include <hypar/search.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The plans are for a device as the user thinks it is; the truth reaches less. */
#define SAID  "device=h100"
#define TRUTH "device=h100,efficiency=0.6,inter-efficiency=0.5"

static const struct {
    const char *model, *cluster;
    int batch;
} steps[] = {
    { "mlp:8192-8192-8192", "cluster:1x1", 8192 }, { "mlp:8192-8192-8192", "cluster:2x4", 65536 },
    { "mlp:4096-4096-4096", "cluster:1x4", 8192 }, { "mlp:4096-16384-4096", "cluster:1x2", 32768 },
    { "alexnet", "cluster:1x1", 512 },             { "alexnet", "cluster:4x2", 2048 },
    { "mlp:16384-16384", "cluster:1x1", 16384 },   { "alexnet", "cluster:1x4", 1024 },
    { "mlp:8192-8192", "cluster:2x2", 65536 },
};
enum { STEPS = sizeof steps / sizeof *steps };

static char folder[64];

static void path_of(char path[96], int step)
{
    snprintf(path, 96, step < 0 ? "%s/steps.csv" : "%s/%d.json", folder, step);
}

static struct hypar_machine *machine_with(int step, const char *device)
{
    char word[200];
    struct hypar_machine *machine;
    struct hypar_error err;
    snprintf(word, sizeof word, "%s,%s", steps[step].cluster, device);
    if (hypar_machine_read(&machine, word, &err) != HYPAR_OK)
        fail_msg("%s: %s", word, err.text);
    return machine;
}

/* The seconds of the plan on a machine; writes the plan to `to`, if given. */
static double simulate(int step, const char *device, FILE *to)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine = machine_with(step, device);
    struct hypar_found *found;
    struct hypar_sim *sim;
    struct hypar_error err;
    struct hypar_import_options import = { .batch = steps[step].batch };
    struct hypar_search_options search = {
        .planner = "dp", .model = steps[step].model, .memory_bytes = 1e15
    };
    if (hypar_import(&graph, steps[step].model, &import, &err) != HYPAR_OK ||
        hypar_search(&found, graph, machine, &search, &err) != HYPAR_OK ||
        hypar_simulate(&sim, hypar_found_plan(found), NULL, &err) != HYPAR_OK)
        fail_msg("%s: %s", steps[step].model, err.text);
    double seconds = hypar_sim_summary(sim).step_s;
    if (to)
        hypar_plan_write(hypar_found_plan(found), to);
    hypar_sim_free(sim);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return seconds;
}

static int write_steps(void **state)
{
    (void)state;
    char path[96];
    snprintf(folder, sizeof folder, "/tmp/hypar-steps-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    path_of(path, -1);
    FILE *table = fopen(path, "w");
    fputs("plan,seconds\n", table);
    for (int i = 0; i < STEPS; i++) {
        path_of(path, i);
        FILE *plan = fopen(path, "w");
        simulate(i, SAID, plan);
        fclose(plan);
        fprintf(table, "%d.json,%.9g\n", i, simulate(i, TRUTH, NULL));
    }
    return fclose(table);
}

static int remove_steps(void **state)
{
    (void)state;
    for (int i = -1; i < STEPS; i++) {
        char path[96];
        path_of(path, i);
        unlink(path);
    }
    return rmdir(folder);
}

static double fitted(const struct hypar_fit *fit, const char *name)
{
    struct hypar_fit_constant constant;
    for (int i = 0; hypar_fit_constant(fit, i, &constant); i++)
        if (strcmp(constant.name, name) == 0)
            return constant.after;
    fail_msg("no figure '%s'", name);
    return 0;
}

static void figures_come_back(void **state)
{
    (void)state;
    char path[96];
    const char *const paths[] = { path };
    struct hypar_fit *fit;
    struct hypar_error err;
    struct hypar_fit_options options = { .device = "h100" };
    path_of(path, -1);
    if (hypar_fit(&fit, paths, 1, &options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct hypar_fit_group all;
    struct hypar_fit_row row;
    assert_true(hypar_fit_group(fit, 0, &all));
    print_message("before: mean %.1f %%, after %.1f, held out %.1f\n", 100 * all.before.mean,
                  100 * all.after.mean, 100 * all.held_out.mean);
    for (int i = 0; hypar_fit_row(fit, i, &row); i++) {
        print_message("%-34s %8.3f ms, predicted %8.3f, moves %s\n", steps[i].model,
                      1e3 * row.measured_s, 1e3 * row.after_s, row.moves ? row.moves : "none");
        assert_non_null(row.moves);
    }
    for (int i = 0; hypar_fit_doubt(fit, i); i++)
        print_message("%s\n", hypar_fit_doubt(fit, i));
    assert_true(all.before.mean > 0.1);
    assert_true(all.after.mean < 0.02);
    assert_true(all.has_held_out && all.held_out.mean < 0.1);
    print_message("efficiency %.3f\n", fitted(fit, "efficiency"));
    assert_true(fabs(fitted(fit, "efficiency") / 0.6 - 1) < 0.1);
    hypar_fit_free(fit);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(figures_come_back) };
    return cmocka_run_group_tests(tests, write_steps, remove_steps);
}
