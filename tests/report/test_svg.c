/* Pictures are the same in every locale: a host program may have set a locale that writes
 * "12,5", which SVG reads as two numbers. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/hypar.h>

#include "report/svg/svg.h"
#include "tests/simulated.h"

struct drawn {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
    struct hypar_sim *sim;
    struct hypar_exploration *map;
};

static void put_plan(FILE *to, const struct drawn *d)
{
    hypar_report_plan(to, hypar_found_plan(d->found), NULL, HYPAR_SVG);
}

static void put_timeline(FILE *to, const struct drawn *d)
{
    hypar_report_timeline(to, d->sim, HYPAR_SVG);
}

static void put_comparison(FILE *to, const struct drawn *d)
{
    static const struct hypar_compared rows[] = {
        { .planner = "dp", .step = { .step_s = 3e-3 }, .fits = true },
        { .planner = "hypar", .step = { .step_s = 1e-3 }, .fits = true },
    };
    hypar_report_comparison(
        to,
        &(struct hypar_comparison){
            .graph = d->graph, .machine = d->machine, .dp_step_s = 3e-3, .n = 2, .row = rows },
        HYPAR_SVG);
}

static void put_map(FILE *to, const struct drawn *d)
{
    hypar_report_exploration(to, d->map, HYPAR_SVG);
}

static void put_lines(FILE *to, const struct drawn *d)
{
    (void)d;
    double x[] = { 1, 2, 7 }, y[] = { 0.3, 1.1, 2.5 };
    struct svg_series line = { .name = "line", .n = 3, .x = x, .y = y };
    hp_svg_plot(to, &(struct svg_plot){ .title = "",
                                        .subtitle = "",
                                        .x_label = "",
                                        .y_label = "",
                                        .mark_x = 2,
                                        .mark_y = 1.1,
                                        .n_series = 1,
                                        .series = &line });
}

/* What is drawn, without the words in it, which may be in the locale's writing. */
static char *shapes(void (*put)(FILE *to, const struct drawn *d), const struct drawn *d)
{
    char *text;
    size_t length, n = 0;
    bool within = false;
    FILE *file = open_memstream(&text, &length);
    put(file, d);
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < length; i++) {
        within = within ? text[i] != '>' : text[i] == '<';
        if (within)
            text[n++] = text[i];
    }
    text[n] = '\0';
    return text;
}

static struct drawn draw(void)
{
    struct drawn d;
    struct hypar_error err;
    if (hypar_import(&d.graph, "lenet-c", NULL, &err) != HYPAR_OK ||
        hypar_machine_read(&d.machine, "htree:8", &err) != HYPAR_OK ||
        hypar_search(&d.found, d.graph, d.machine,
                     &(struct hypar_search_options){ .planner = "hypar" }, &err) != HYPAR_OK ||
        hypar_explore(&d.map, d.graph, d.machine,
                      &(struct hypar_explore_options){ .levels = "H1,H2" }, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    d.sim =
        simulate(hypar_found_plan(d.found), &(struct hypar_sim_options){ .timeline = true });
    return d;
}

static void release(struct drawn *d)
{
    hypar_exploration_free(d->map);
    hypar_sim_free(d->sim);
    hypar_found_free(d->found);
    hypar_machine_free(d->machine);
    hypar_graph_free(d->graph);
}

static void a_locale_changes_no_shape(void **state)
{
    (void)state;
    static void (*const put[])(FILE *, const struct drawn *) = { put_plan, put_timeline,
                                                                 put_comparison, put_map,
                                                                 put_lines };
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) {
        print_message("skipped: no locale that writes a comma\n");
        skip();
    }
    setlocale(LC_NUMERIC, "C");
    struct drawn d = draw();
    for (size_t i = 0; i < sizeof put / sizeof *put; i++) {
        char *plain = shapes(put[i], &d);
        if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
            setlocale(LC_NUMERIC, "fr_FR.UTF-8");
        char *foreign = shapes(put[i], &d);
        setlocale(LC_NUMERIC, "C");
        assert_string_equal(foreign, plain);
        free(foreign);
        free(plain);
    }
    release(&d);
}

/* Coordinates are to a hundredth of a pixel, and no longer than they need to be. */
static void numbers_are_short(void **state)
{
    (void)state;
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    hp_svg_begin_rect(file, 12.5, 1e-9, 100.0 / 3, 7);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, "<rect x=\"12.5\" y=\"0\" width=\"33.33\" height=\"7\"");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_locale_changes_no_shape),
        cmocka_unit_test(numbers_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
