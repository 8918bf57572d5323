/* Fitting: constants are recovered from the times that they predict. */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <hypar/fit.h>
#include <hypar/report.h>

#include "base/random.h"
#include "fit/fit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/length.h"

static char folder[64], table[96], device[96];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/hypar-fit-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(table, sizeof table, "%s/ops.csv", folder);
    snprintf(device, sizeof device, "%s/mine.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(table);
    unlink(device);
    return rmdir(folder);
}

static double uniform(struct random *random)
{
    return (double)hp_random_below(random, 1 << 30) / (1 << 30);
}

static int size(struct random *random, int least, int most)
{
    return (int)(least * pow((double)most / least, uniform(random)));
}

enum { SHAPES = 60 };
static int n_shapes = SHAPES / 6; /* so that it takes little time */

/* Rows of many shapes, without times. */
static void write_shapes(FILE *to)
{
    struct random random = { 11 };
    fputs("op,shape,pass,seconds\n", to);
    for (int i = 0; i < n_shapes; i++) {
        int n = size(&random, 16, 16384), c = 16 * size(&random, 2, 512),
            k = 16 * size(&random, 2, 512);
        fprintf(to, "linear,n=%d c=%d k=%d,y,1\n", n, c, k);
        fprintf(to, "linear,n=%d c=%d k=%d,dw,1\n", 16 * n, c, k);
        fprintf(to, "linear,n=%d c=%d k=%d,y,1\n", 4 * n, c, k + 1);
        fprintf(to, "relu,n=%d c=%d,y,1\n", n, c);
        fprintf(to, "softmax,n=%d c=%d,m+y,1\n", n, c);
        fprintf(to, "linear,n=%d c=%d k=%d,db,1\n", n, c, k);
        fprintf(to, "embedding,n=%d v=50000 k=%d,dw,1\n", n, k);
    }
}

/* The times of the table, whose last column they are, as the device of a machine has them,
 * times exp(noise), and one row in `every` as nothing explains. */
static void write_times(FILE *to, const struct hypar_machine *machine, double noise, int every)
{
    struct random random = { 5 };
    struct measured measured = { 0 };
    double value[FIGURE_COUNT];
    struct predictor predictor;
    struct csv csv;
    struct hypar_error err = { 0 };
    struct hypar_fit_options options = { .device = "h200", .precision = HYPAR_BF16 };
    struct measured_reading how = {
        .device = "h200", .word = "h200", .folder = folder, .options = &options
    };
    if (hp_csv_read_file(&csv, &measured.arena, table, &err) != HYPAR_OK ||
        hp_measured_add(&measured, &csv, &how, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    for (int c = 0; c < csv.n_columns; c++)
        fprintf(to, "%s%c", csv.heading[c], c + 1 < csv.n_columns ? ',' : '\n');
    for (int f = 0; f < FIGURE_COUNT; f++)
        value[f] = f < OPTION_COUNT ? machine->parts[0].value[f] : NAN;
    hp_predictor_begin(&predictor, &measured, &machine->parts[0]);
    hp_predictor_set(&predictor, value);
    for (int i = 0; i < measured.n_rows; i++) {
        double seconds;
        if (hp_predict_row(&predictor, i, &seconds, &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        seconds *= exp(noise * (2 * uniform(&random) - 1)) * (every && i % every == 0 ? 9 : 1);
        for (int c = 0; c + 1 < csv.n_columns; c++)
            fprintf(to, "%s,", csv.row[i].field[c]);
        fprintf(to, "%.17g\n", seconds);
    }
    hp_predictor_end(&predictor);
    hp_measured_free(&measured);
}

/* A table with times. */
static void write_table(void (*write_rows)(FILE *to), const char *word, double noise, int every)
{
    struct hypar_machine *machine;
    char *text;
    size_t n;
    FILE *file = fopen(table, "w");
    assert_non_null(file);
    write_rows(file);
    fclose(file);
    assert_int_equal(hypar_machine_read(&machine, word, NULL), HYPAR_OK);
    file = open_memstream(&text, &n);
    assert_non_null(file);
    write_times(file, machine, noise, every);
    fclose(file);
    file = fopen(table, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(text);
    hypar_machine_free(machine);
}

static struct hypar_fit *fit_to(const char *name)
{
    struct hypar_fit *fit;
    struct hypar_error err = { 0 };
    const char *path = table;
    struct hypar_fit_options options = { .device = name, .precision = HYPAR_BF16 };
    if (hypar_fit(&fit, &path, 1, &options, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return fit;
}

static struct hypar_fit_constant constant_of(const struct hypar_fit *fit, const char *name)
{
    struct hypar_fit_constant constant;
    for (int i = 0; hypar_fit_constant(fit, i, &constant); i++)
        if (strcmp(constant.name, name) == 0)
            return constant;
    fail_msg("no constant %s", name);
    return constant;
}

static const struct {
    const char *name, *option;
    double value, tolerance;
} truth[] = {
    { "efficiency", "efficiency", 0.8, 0.03 },
    { "reduction_length", "reduction-length", 150, 0.1 },
    { "output_length", "output-length", 90, 0.1 },
    { "unaligned_efficiency", "unaligned-efficiency", 0.25, 0.04 },
    { "stream_efficiency", "stream-efficiency", 0.85, 0.04 },
    { "row_efficiency", "row-efficiency", 0.4, 0.04 },
    { "column_efficiency", "column-efficiency", 0.3, 0.04 },
    { "scatter_efficiency", "scatter-efficiency", 0.02, 0.04 },
    { "kernel_s", "kernel-time", 2.5e-6, 0.04 },
};
enum { N_TRUTH = sizeof truth / sizeof truth[0] };

/* What the device of the table has beside. */
#define OTHERS                                                                                 \
    ",product-efficiency=0,compiled-column-efficiency=0,window-efficiency=0,reduction-time=0," \
    "column-time=0,summed-time=0,vector-rate=0"

static void true_word(char *word, size_t n)
{
    size_t at = (size_t)snprintf(word, n, "cluster:1x1,device=h200" OTHERS);
    for (int i = 0; i < N_TRUTH; i++)
        at += (size_t)snprintf(word + at, n - at, ",%s=%g", truth[i].option, truth[i].value);
}

/* The device as if nothing had been measured on it. */
static const char unmeasured[] =
    "h200,efficiency=0.5,reduction-length=0,output-length=0,unaligned-efficiency=0,"
    "stream-efficiency=0,row-efficiency=0,column-efficiency=0,scatter-efficiency=0,"
    "kernel-time=0,eager-launch=0,compiled-launch=0" OTHERS;

static void known_constants_are_found_again(void **state)
{
    (void)state;
    static const struct {
        double noise;
        int every;
    } cases[] = { { 0, 0 }, { 0.1, 0 }, { 0.1, 12 } };
    char word[512];
    n_shapes = (int)length_of(NULL, SHAPES / 2, SHAPES, SHAPES);
    true_word(word, sizeof word);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        write_table(write_shapes, word, cases[c].noise, cases[c].every);
        struct hypar_fit *fit = fit_to(unmeasured);
        struct hypar_fit_group all;
        assert_true(hypar_fit_group(fit, 0, &all));
        for (int i = 0; i < N_TRUTH; i++) {
            struct hypar_fit_constant constant = constant_of(fit, truth[i].name);
            print_message("%-22s %g -> %g (%g)\n", truth[i].name, constant.before,
                          constant.after, truth[i].value);
            assert_true(constant.fitted && constant.error < 0.2);
            assert_true(fabs(log(constant.after / truth[i].value)) <=
                        (cases[c].noise > 0 ? truth[i].tolerance : 0.002));
        }
        assert_false(constant_of(fit, "eager_launch_s").fitted);
        assert_false(constant_of(fit, "latency_s").fitted);
        assert_true(all.rows == 7 * n_shapes && all.before.median > 3 * all.after.median);
        assert_true(all.after.median <= 0.6 * cases[c].noise + 0.002);
        assert_true(all.has_held_out && all.held_out.median <= 0.6 * cases[c].noise + 0.002);
        struct hypar_fit_row row;
        for (int i = 0; hypar_fit_row(fit, i, &row); i++)
            assert_int_equal(row.outlier, cases[c].every && i % cases[c].every == 0);
        hypar_fit_free(fit);
    }
    n_shapes = SHAPES / 6;
}

/* A device that is written is the one that was fitted, and nothing is left to fit. */
static void devices_are_read_back(void **state)
{
    (void)state;
    char word[512];
    struct hypar_machine *machine;
    true_word(word, sizeof word);
    write_table(write_shapes, word, 0.05, 0);
    struct hypar_fit *fit = fit_to(unmeasured);
    FILE *file = fopen(device, "w");
    assert_non_null(file);
    hypar_fit_write(fit, "mine", file);
    fclose(file);
    snprintf(word, sizeof word, "cluster:1x2,device=%s", device);
    assert_int_equal(hypar_machine_read(&machine, word, NULL), HYPAR_OK);
    assert_string_equal(hypar_machine_device(machine, 0)->name, "mine");
    assert_non_null(strstr(machine->parts[0].type.source, "ops.csv, 70 rows, median error"));
    for (int i = 0; i < N_TRUTH; i++) {
        struct hypar_fit_constant constant = constant_of(fit, truth[i].name);
        for (int o = 0; o < OPTION_COUNT; o++)
            if (strcmp(hp_machine_options[o].key, truth[i].name) == 0)
                assert_true(machine->parts[0].value[o] == constant.after);
    }
    struct hypar_fit *again = fit_to(device);
    struct hypar_fit_group first, second;
    assert_true(hypar_fit_group(fit, 0, &first) && hypar_fit_group(again, 0, &second));
    assert_true(second.before.median == first.after.median);
    assert_true(fabs(second.after.median - first.after.median) < 0.002);
    hypar_fit_free(again);
    hypar_fit_free(fit);
    hypar_machine_free(machine);
}

/* A time that the rows do not have is none; one that no row tells of stays. */
static void what_is_not_there_becomes_none(void **state)
{
    (void)state;
    write_table(
        write_shapes,
        "cluster:1x1,device=h200,efficiency=0.8,stream-efficiency=0.9,"
        "row-efficiency=0.5,column-efficiency=0.5,scatter-efficiency=0.1,kernel-time=0" OTHERS,
        0.05, 0);
    struct hypar_fit *fit = fit_to("h200,kernel-time=5us,eager-launch=3us,latency=4us" OTHERS);
    struct hypar_fit_constant kernel = constant_of(fit, "kernel_s");
    assert_true(kernel.fitted && kernel.after < 1e-8);
    assert_true(constant_of(fit, "eager_launch_s").after == 3e-6);
    assert_true(constant_of(fit, "latency_s").after == 4e-6);
    hypar_fit_free(fit);
}

/* Collectives decide the figures of links. */
static void write_collectives(FILE *to)
{
    fputs("collective,devices,bytes,machine,seconds\n", to);
    for (int devices = 2; devices <= 8; devices *= 2)
        for (double bytes = 1 << 10; bytes <= 1 << 28; bytes *= 4) {
            fprintf(to, "all_reduce,%d,%.0f,,1\n", devices, bytes);
            fprintf(to, "all-gather,%d,%.0f,cluster:2x4,1\n", devices, bytes);
        }
}

static void links_are_found_from_collectives(void **state)
{
    (void)state;
    write_table(write_collectives, "cluster:1x8,device=h200,latency=7us,inter-latency=20us",
                0.05, 0);
    struct hypar_fit *fit = fit_to("h200");
    struct hypar_fit_constant near = constant_of(fit, "latency_s"),
                              far = constant_of(fit, "inter_latency_s");
    assert_true(near.fitted && fabs(near.after / 7e-6 - 1) < 0.03);
    assert_true(far.fitted && fabs(far.after / 20e-6 - 1) < 0.05);
    assert_false(constant_of(fit, "efficiency").fitted);
    hypar_fit_free(fit);
}

/* Steps decide how long launches take. */
static const int widths[] = { 32, 64, 256, 1024, 2048, 8192 };
enum { WIDTHS = sizeof widths / sizeof widths[0] };

static void plan_path(char *path, size_t n, int i)
{
    snprintf(path, n, "%s/plan%d.json", folder, i);
}

static void write_steps(FILE *to)
{
    fputs("plan,framework,seconds\n", to);
    for (int i = 0; i < WIDTHS; i++) {
        char path[128];
        plan_path(path, sizeof path, i);
        FILE *plan = fopen(path, "w");
        assert_non_null(plan);
        fprintf(plan,
                "{\"format\": \"hypar-plan/1\", \"model\": \"mlp:512-%d-%d-10\", \"batch\": "
                "%d, \"machine\": \"cluster:1x1,%s\", \"precision\": \"bf16\", \"ops\": "
                "[{\"name\": \"*\"}]}",
                widths[i], widths[i], 64 * (i + 1), "device=h200");
        fclose(plan);
        fprintf(to, "%s,eager,1\n%s,compiled,1\n", path, path);
    }
}

static void launches_are_found_from_steps(void **state)
{
    (void)state;
    char word[512];
    true_word(word, sizeof word);
    strcat(word, ",eager-launch=9us,compiled-launch=4us");
    write_table(write_steps, word, 0.02, 0);
    char *begin = strstr(word, "h200"), *end = strstr(word, ",eager");
    strcpy(end, ",eager-launch=0,compiled-launch=0"); /* all that operators decide is known */
    struct hypar_fit *fit = fit_to(begin);
    struct hypar_fit_constant eager = constant_of(fit, "eager_launch_s"),
                              compiled = constant_of(fit, "compiled_launch_s");
    print_message("launches %g %g\n", eager.after, compiled.after);
    assert_true(eager.fitted && fabs(eager.after / 9e-6 - 1) < 0.05);
    assert_true(compiled.fitted && fabs(compiled.after / 4e-6 - 1) < 0.1);
    hypar_fit_free(fit);
    for (int i = 0; i < WIDTHS; i++) {
        char path[128];
        plan_path(path, sizeof path, i);
        unlink(path);
    }
}

/* What is told is the same each time. */
static void fits_are_deterministic(void **state)
{
    (void)state;
    char word[512], *text[2];
    true_word(word, sizeof word);
    write_table(write_shapes, word, 0.2, 7);
    for (int i = 0; i < 2; i++) {
        struct hypar_fit *fit = fit_to(unmeasured);
        size_t n;
        FILE *file = open_memstream(&text[i], &n);
        assert_non_null(file);
        hypar_report_fit(file, fit, HYPAR_JSON);
        fclose(file);
        hypar_fit_free(fit);
    }
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

/* Constants are looked for within what options and times of a framework can have; the vendor's
 * figures are none. */
static void constants_are_options(void **state)
{
    (void)state;
    struct constant_row row;
    bool found[FIGURE_COUNT] = { false };
    int n = 0;
    for (; hp_constant(n, &row); n++) {
        print_message("%s %g\n", row.name, row.start);
        assert_true(row.least >= row.low && row.most <= row.high);
        assert_true(row.start >= row.least && row.start <= row.most && row.least > 0);
        assert_false(found[row.figure]);
        found[row.figure] = true;
    }
    assert_true(n <= MAX_VARIABLES);
    assert_true(found[OPTION_COUNT] && found[OPTION_COUNT + 1]); /* layer_s, bucket_s */
    assert_true(found[OPTION_EFFICIENCY] && found[OPTION_KERNEL] && found[OPTION_LATENCY] &&
                found[OPTION_STREAM] && found[OPTION_EAGER_LAUNCH]);
    assert_false(found[OPTION_BF16] || found[OPTION_MEMORY] || found[OPTION_MEMORY_BANDWIDTH] ||
                 found[OPTION_INTER] || found[OPTION_NICS] || found[OPTION_ENERGY] ||
                 found[OPTION_ADD]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_constants_are_found_again),
        cmocka_unit_test(devices_are_read_back),
        cmocka_unit_test(what_is_not_there_becomes_none),
        cmocka_unit_test(links_are_found_from_collectives),
        cmocka_unit_test(launches_are_found_from_steps),
        cmocka_unit_test(fits_are_deterministic),
        cmocka_unit_test(constants_are_options),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
