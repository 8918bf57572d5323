/* Of plans that are equally fast auto and hybrid take the simpler one, and say so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hypar/search.h>

#include "cost/calibration.h"
#include "search/evaluate/simpler.h"

struct found_on {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found;
};

static struct found_on search(const char *model, int64_t batch, const char *word,
                              const char *planner)
{
    struct hypar_import_options import = { .batch = batch };
    static const struct hypar_sim_options simulation;
    struct hypar_search_options how = { .planner = planner, .simulation = &simulation };
    struct found_on f;
    struct hypar_error err;
    if (hypar_import(&f.graph, model, &import, &err) != HYPAR_OK ||
        hypar_machine_read(&f.machine, word, &err) != HYPAR_OK ||
        hypar_search(&f.found, f.graph, f.machine, &how, &err) != HYPAR_OK)
        fail_msg("%s: %s", model, err.text);
    return f;
}

static void release(struct found_on *f)
{
    hypar_found_free(f->found);
    hypar_machine_free(f->machine);
    hypar_graph_free(f->graph);
}

/* Two devices, or three in two stages with four micro-batches, gain a few microseconds, which
 * predictions of such steps do not tell: the faster plan is taken, and the simpler one named.
 */
static void tiny_steps(void **state)
{
    (void)state;
    struct found_on f = search("lenet5", 16, "full:4", "auto");
    const struct hypar_search_info info = hypar_found_info(f.found);
    assert_non_null(info.simpler);
    assert_non_null(strstr(info.simpler, " instead of "));
    release(&f);
}

/* Where devices gain much, or steps are long, the faster plan is taken, without a word. */
static void gains(void **state)
{
    (void)state;
    struct found_on f = search("mlp:4096-4096-4096-1000", 64, "full:4", "hybrid");
    assert_int_equal(hypar_plan_idle_devices(hypar_found_plan(f.found)), 0);
    assert_null(hypar_found_info(f.found).simpler);
    release(&f);
}

static void equal_steps(void **state)
{
    (void)state;
    assert_true(hp_are_equal(1, 1.0005) && hp_are_equal(1.0005, 1));
    assert_false(hp_are_equal(1, 1.01));
}

static void order(void **state)
{
    (void)state;
    struct plan_figures a = { { 2, 1, 1, 3 } }, b = { { 2, 2, 1, 1 } }, c = { { 3, 1, 1, 1 } };
    struct arena arena = { 0 };
    assert_true(hp_compare_simpler(&a, &b) < 0 && hp_compare_simpler(&c, &b) > 0);
    assert_true(hp_compare_simpler(&a, &a) == 0);
    assert_string_equal(hp_simpler_text(&arena, &a, &b), "1 stage instead of 2");
    assert_string_equal(hp_simpler_text(&arena, &b, &c), "2 devices instead of 3");
    hp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),
        cmocka_unit_test(equal_steps),
        cmocka_unit_test(tiny_steps),
        cmocka_unit_test(gains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
