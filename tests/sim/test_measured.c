/* The share of a step that comes from a profile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile/profile.h"
#include "sim/timing.h"
#include "tests/random_plan.h"

enum { PLANS = 200 };

/* A number above 0 for every part of a pass, on the device where it lies. */
static void measure(struct hypar_profile *profile, const struct lowering *s,
                    const struct op_pass *op_pass)
{
    for (int b = 0; b < s->n_bodies; b++) {
        const struct op_parts *l = s->body[b].parts[op_pass->op];
        for (int part = 0; part < l->n_parts; part++) {
            const struct range *range = l->range + part * l->nest->n_axes;
            int64_t extent[MAX_AXES];
            for (int a = 0; a < l->nest->n_axes; a++)
                extent[a] = range[a].hi - range[a].lo;
            struct measured_pass at = {
                .device = hypar_machine_device(s->plan->machine, l->device[part])->name,
                .precision = s->plan->precision,
                .nest = l->nest,
                .pass = op_pass->pass,
                .extent = extent,
            };
            if (!l->empty[part])
                assert_int_equal(hp_profile_add(profile, &at, 1e-3, NULL), HYPAR_OK);
        }
    }
}

static bool takes_time(const struct lowering *s, int op_pass)
{
    return !hp_is_view(s->graph->ops[s->training.op_pass[op_pass].op].nest);
}

/* Pass by pass: each one that is measured counts, with those that are alike, and at the end all
 * do. */
static void check_plan(const struct lowering *s, uint64_t seed)
{
    struct hypar_profile *profile = hypar_profile_new();
    struct hypar_sim_measured m = hp_count_measured(s, profile);
    int passes = 0, before = 0;
    assert_true(m.asked && m.measured == 0 && !m.calibrated);
    for (int i = 0; i < s->training.n_op_passes; i++) {
        if (!takes_time(s, i))
            continue;
        passes++;
        measure(profile, s, &s->training.op_pass[i]);
        m = hp_count_measured(s, profile);
        if (m.measured < passes || m.measured < before)
            fail_msg("seed %llu: %d passes measured, expected %d or more",
                     (unsigned long long)seed, m.measured, passes);
        before = m.measured;
    }
    assert_int_equal(m.passes, passes);
    assert_int_equal(m.measured, passes);
    hypar_profile_set_efficiency(profile, hypar_machine_device(s->plan->machine, 0)->name, .5);
    assert_true(hp_count_measured(s, profile).calibrated);
    assert_false(hp_count_measured(s, NULL).asked);
    hypar_profile_free(profile);
}

static void every_measured_pass_counts(void **state)
{
    (void)state;
    struct hypar_machine *machine;
    int made = 0;
    assert_int_equal(
        hypar_machine_read(&machine, "cluster:1x2,device=v100+cluster:1x2,device=a100", NULL),
        HYPAR_OK);
    for (uint64_t seed = 1; seed <= PLANS; seed++) {
        struct random random = { seed * 0x9e3779b97f4a7c15 };
        struct plan_focus none = { -1, -1, -1, false };
        struct lowering *lowering;
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_plan *plan = random_plan(&random, graph, machine, &none);
        if (hp_lowering_make(&lowering, plan, NULL, NULL, NULL) == HYPAR_OK) {
            check_plan(lowering, seed);
            made++;
            hp_lowering_free(lowering);
        }
        hypar_plan_free(plan);
        hypar_graph_free(graph);
    }
    assert_true(made > PLANS / 2);
    hypar_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_measured_pass_counts) };
    return cmocka_run_group_tests_name("sim: measured", tests, NULL, NULL);
}
