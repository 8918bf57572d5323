/* Measured steps of a user's cluster: made by simulating plans on a machine with known figures,
 * run as a framework with known ones, with the noise of clocks. These figures come back, and
 * the files that a fit to ten steps writes predict ten others. */
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

/* How the steps of the second test are run: the host takes its time, and nobody
 * computes while gradients are summed. */
#define RUN_AS "compiled,layer_s=2ms,overlap=gathers+tensor+sequence+stages"

static const struct {
    const char *model, *cluster;
    int batch;
} steps[] = {
    { "mlp:8192-8192-8192", "cluster:1x1", 8192 },
    { "alexnet", "cluster:1x1", 512 },
    { "gpt:layers=4,seq=128", "cluster:1x1", 4 },
    { "gpt:layers=8,seq=128", "cluster:1x4", 8 },
    { "mlp:8192-8192-8192", "cluster:2x4", 8192 },
    { "alexnet", "cluster:4x2", 1024 },
    { "gpt:layers=6,seq=128", "cluster:1x2", 4 },
    { "mlp:8192-8192", "cluster:2x2", 8192 },
    { "alexnet", "cluster:2x2", 256 },
    { "mlp:4096-16384-4096", "cluster:2x1", 4096 },
    /* these are predicted */
    { "mlp:8192-8192-8192-8192", "cluster:1x1", 4096 },
    { "mlp:8192-8192-8192", "cluster:2x2", 8192 },
    { "gpt:layers=8,seq=128", "cluster:1x2", 4 },
    { "gpt:layers=12,seq=128", "cluster:1x1", 2 },
    { "alexnet", "cluster:1x1", 64 },
    { "alexnet", "cluster:2x4", 1024 },
    { "mlp:12288-12288", "cluster:1x1", 4096 },
    { "gpt:layers=2,seq=1024", "cluster:2x2", 8 },
    { "mlp:8192-8192-8192", "cluster:4x2", 16384 },
    { "mlp:4096-4096-4096-4096", "cluster:2x1", 2048 },
};
enum { STEPS = sizeof steps / sizeof *steps, FITTED = 10 };

static char folder[64];

/* Files beside the plans. */
enum { TABLE = -1, DEVICE = -2, FRAMEWORK = -3 };

static void path_of(char path[96], int step)
{
    if (step == TABLE)
        snprintf(path, 96, "%s/steps.csv", folder);
    else
        snprintf(path, 96, "%s/%d.json", folder, step);
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

/* Write a plan for the step to a file of its own. */
static void write_plan(int step)
{
    char path[96];
    struct hypar_graph *graph;
    struct hypar_machine *machine = machine_with(step, SAID);
    struct hypar_found *found;
    struct hypar_error err;
    struct hypar_import_options import = { .batch = steps[step].batch };
    struct hypar_search_options search = { .planner = "dp",
                                           .model = steps[step].model,
                                           .memory_bytes = 1e15 };
    if (hypar_import(&graph, steps[step].model, &import, &err) != HYPAR_OK ||
        hypar_search(&found, graph, machine, &search, &err) != HYPAR_OK)
        fail_msg("%s: %s", steps[step].model, err.text);
    path_of(path, step);
    FILE *to = fopen(path, "w");
    hypar_plan_write(hypar_found_plan(found), to);
    fclose(to);
    hypar_found_free(found);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* The seconds of the step's plan on its machine of such devices, run as `as`. */
static double simulate(int step, const char *device, const char *as)
{
    char path[96], word[200];
    struct hypar_framework *framework;
    struct hypar_plan *plan;
    struct hypar_sim *sim;
    struct hypar_error err;
    struct hypar_plan_read_options how = { .machine = word };
    path_of(path, step);
    snprintf(word, sizeof word, "%s,%s", steps[step].cluster, device);
    if (hypar_framework_read(&framework, as, &err) != HYPAR_OK)
        fail_msg("%s: %s", as, err.text);
    how.framework = framework;
    if (hypar_plan_read(&plan, path, &how, &err) != HYPAR_OK ||
        hypar_simulate(&sim, plan, NULL, &err) != HYPAR_OK)
        fail_msg("%s: %s", path, err.text);
    double seconds = hypar_sim_summary(sim).step_s;
    hypar_sim_free(sim);
    hypar_plan_free(plan);
    hypar_framework_free(framework);
    return seconds;
}

/* A factor about 1: nearly normal, with this standard deviation. */
static double noisy(unsigned *seed, double deviation)
{
    double sum = 0; /* of twelve uniform numbers, which have a variance of 1 together */
    for (int i = 0; i < 12; i++) {
        *seed = *seed * 1103515245u + 12345u;
        sum += (double)(*seed >> 8 & 0xffff) / 0x10000 - 0.5;
    }
    return 1 + deviation * sum;
}

/* The steps that are fitted, measured with such an error on such devices run as `as`. */
static void write_table(const char *device, const char *as, double deviation)
{
    char path[96];
    unsigned seed = 1;
    path_of(path, TABLE);
    FILE *table = fopen(path, "w");
    fputs("plan,seconds\n", table);
    for (int i = 0; i < FITTED; i++)
        fprintf(table, "%d.json,%.9g\n", i, noisy(&seed, deviation) * simulate(i, device, as));
    fclose(table);
}

static int write_steps(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/hypar-steps-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    for (int i = 0; i < STEPS; i++)
        write_plan(i);
    return 0;
}

static int remove_steps(void **state)
{
    (void)state;
    for (int i = FRAMEWORK; i < STEPS; i++) {
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

static struct hypar_fit *fit_steps(void)
{
    char path[96];
    const char *const paths[] = { path };
    struct hypar_fit *fit;
    struct hypar_error err;
    struct hypar_fit_options options = { .device = "h100" };
    path_of(path, TABLE);
    if (hypar_fit(&fit, paths, 1, &options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    for (int i = 0; hypar_fit_doubt(fit, i); i++)
        print_message("%s\n", hypar_fit_doubt(fit, i));
    return fit;
}

static void figures_come_back(void **state)
{
    (void)state;
    struct hypar_fit_group all;
    struct hypar_fit_row row;
    write_table(TRUTH, "compiled", 0);
    struct hypar_fit *fit = fit_steps();
    assert_true(hypar_fit_group(fit, 0, &all));
    print_message("before: mean %.1f %%, after %.1f, held out %.1f\n", 100 * all.before.mean,
                  100 * all.after.mean, 100 * all.held_out.mean);
    for (int i = 0; hypar_fit_row(fit, i, &row); i++) {
        print_message("%-24s %8.3f ms, predicted %8.3f, moves %s\n", steps[i].model,
                      1e3 * row.measured_s, 1e3 * row.after_s, row.moves ? row.moves : "none");
        assert_non_null(row.moves);
    }
    assert_int_equal(hypar_fit_info(fit).n_choices, 0);
    assert_true(all.before.mean > 0.1);
    assert_true(all.after.mean < 0.02);
    assert_true(all.has_held_out && all.held_out.mean < 0.1);
    print_message("efficiency %.3f\n", fitted(fit, "efficiency"));
    assert_true(fabs(fitted(fit, "efficiency") / 0.6 - 1) < 0.1);
    hypar_fit_free(fit);
}

/* The two files that a fit writes. */
static void write_files(const struct hypar_fit *fit, const char *device, const char *as)
{
    FILE *to = fopen(device, "w");
    hypar_fit_write(fit, "mine", to);
    fclose(to);
    to = fopen(as, "w");
    hypar_framework_write(hypar_fit_info(fit).framework, to);
    fclose(to);
}

static void files_predict_other_steps(void **state)
{
    (void)state;
    char device[96], as[96], word[120];
    struct hypar_fit_constant constant;
    write_table(TRUTH, RUN_AS, 0.03);
    struct hypar_fit *fit = fit_steps();
    const struct hypar_fit_info info = hypar_fit_info(fit);
    for (int i = 0; hypar_fit_constant(fit, i, &constant); i++)
        if (constant.fitted)
            print_message("%s: %g -> %g\n", constant.name, constant.before, constant.after);
    for (int i = 0; i < info.n_choices; i++)
        print_message("%s: %s -> %s, %d rows\n", info.choice[i].name, info.choice[i].before,
                      info.choice[i].after, info.choice[i].rows);
    assert_non_null(info.framework);
    assert_true(fabs(fitted(fit, "layer_s") / 2e-3 - 1) < 0.1);
    assert_true(info.framework->waits[HYPAR_TRAFFIC_GRADIENTS]);
    assert_int_equal(info.n_choices, 1);
    path_of(device, DEVICE);
    path_of(as, FRAMEWORK);
    write_files(fit, device, as);
    hypar_fit_free(fit);
    snprintf(word, sizeof word, "device=%s", device);
    double before = 0, after = 0, most = 0;
    for (int i = FITTED; i < STEPS; i++) {
        double truth = simulate(i, TRUTH, RUN_AS), predicted = simulate(i, word, as);
        double off = fabs(predicted / truth - 1);
        before += fabs(simulate(i, SAID, "compiled") / truth - 1) / (STEPS - FITTED);
        after += off / (STEPS - FITTED);
        most = fmax(most, off);
        print_message("%-24s %8.3f ms, predicted %8.3f\n", steps[i].model, 1e3 * truth,
                      1e3 * predicted);
    }
    print_message("others: mean %.1f %% before, %.1f after, at most %.1f\n", 100 * before,
                  100 * after, 100 * most);
    assert_true(before > 0.2);
    assert_true(after < 0.05 && most < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(figures_come_back),
                                        cmocka_unit_test(files_predict_other_steps) };
    return cmocka_run_group_tests(tests, write_steps, remove_steps);
}
