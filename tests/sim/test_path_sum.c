/* A critical path added up: the rows are complete, and computation of other stages is the
 * bubble. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/path_sum.h"
#include "tests/scratch_file.h"
#include "tests/simulated.h"

/* Stages of two layers each, on devices on which only arithmetic takes time. */
#define PIPELINE(schedule, micro_batches)                                                     \
    "{\"format\": \"hypar-plan/1\", \"model\": \"mlp:512-512-512-512-512-512-512-512-512\", " \
    "\"batch\": 64, "                                                                         \
    "\"machine\": \"full:4,latency=0s,bandwidth=1e18B/s,memory-bandwidth=1e18B/s\", "         \
    "\"layout\": {\"pipeline\": 4, "                                                          \
    "\"schedule\": \"" schedule "\", \"micro_batches\": " micro_batches "}}"

static struct hypar_plan *plan_of(const char *text)
{
    struct hypar_plan *plan;
    struct hypar_error err;
    if (hypar_plan_read(&plan, scratch_file(0, text, strlen(text)), NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return plan;
}

/* The bubble of a step with a flush is p - 1 of the m + p - 1 times that a stage takes; a
 * little less here, as the first layer has no error to send back. */
static void bubbles(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        int micro_batches;
    } cases[] = {
        { PIPELINE("gpipe", "4"), 4 },
        { PIPELINE("gpipe", "16"), 16 },
        { PIPELINE("1f1b", "8"), 8 },
        { PIPELINE("1f1b", "32"), 32 }, /* the path goes through all stages */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hypar_plan *plan = plan_of(cases[i].plan);
        struct hypar_sim *sim = simulate(plan, &(struct hypar_sim_options){ .timeline = true });
        struct arena arena = { 0 };
        struct path_sum sum = hp_add_up_path(sim, &arena);
        double rows_s = 0, kinds_s = 0, m = cases[i].micro_batches;
        for (int r = 0; r < sum.n; r++) {
            rows_s += sum.row[r].seconds;
            assert_true(r == 0 || sum.row[r].seconds <= sum.row[r - 1].seconds);
        }
        for (int k = 0; k < PATH_KINDS; k++)
            kinds_s += sum.kind_s[k];
        assert_true(sum.whole_s == hypar_sim_summary(sim).step_s);
        expect_near("rows", rows_s, sum.whole_s, 1e-9);
        expect_near("kinds", kinds_s, sum.whole_s, 1e-9);
        double stage_s = sum.kind_s[PATH_BUBBLE] + sum.kind_s[PATH_COMPUTE];
        expect_near("bubble", sum.kind_s[PATH_BUBBLE], stage_s * 3 / (m + 3), 0.16);
        /* nothing is sent, so waiting is waiting for other stages: one number for both */
        expect_near("simulated", hypar_sim_stage(sim, sum.busiest).bubble,
                    sum.kind_s[PATH_BUBBLE] / sum.whole_s, 1e-3);
        assert_true(sum.kind_s[PATH_BUBBLE] + sum.kind_s[PATH_EXCHANGE] <=
                    sum.whole_s - hypar_sim_device(sim, sum.busiest).busy_s + 1e-12);
        hp_arena_free(&arena);
        hypar_sim_free(sim);
        hypar_plan_free(plan);
    }
}

/* Events tell by themselves what is done, how, and whether it is done again. */
static void facts(void **state)
{
    (void)state;
    struct hypar_plan *plan = plan_of(
        "{\"format\": \"hypar-plan/1\", \"model\": \"gpt2:layers=2,seq=16\", \"batch\": 8, "
        "\"machine\": \"full:4\", \"layout\": {\"data\": 2, \"pipeline\": 2, "
        "\"micro_batches\": 2, \"recompute\": \"full\"}}");
    struct hypar_sim *sim = simulate(plan, &(struct hypar_sim_options){ .timeline = true });
    struct hypar_sim_event e;
    int again = 0, ways = 0;
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++) {
        const char *rest = e.name + e.what_bytes;
        char way[64] = "";
        bool computed = e.kind != HYPAR_EVENT_COMM && e.kind != HYPAR_EVENT_UPDATE;
        assert_int_equal(strncmp(rest, " part ", 6) == 0, computed);
        assert_int_equal(computed && strncmp(rest - 6, " again", 6) == 0, e.again);
        if (e.way)
            snprintf(way, sizeof way, " (%s)", e.way);
        assert_int_equal(strncmp(rest, way, strlen(way)), 0);
        again += e.again;
        ways += e.way != NULL;
    }
    assert_true(ways > 0);
    assert_true(again > 0);
    struct arena arena = { 0 };
    assert_true(hp_add_up_path(sim, &arena).kind_s[PATH_AGAIN] > 0);
    hp_arena_free(&arena);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bubbles), cmocka_unit_test(facts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
