/* The evaluation of candidates whose closed forms are far off: beside all of them simulated. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "search/evaluate/evaluate.h"

enum { MOST_CANDIDATES = 64, N_SEEDS = 40 };

struct setting {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_search_options options;
    struct arena arena;
    struct problem problem;
    int n;
    struct hypar_layout layout[MOST_CANDIDATES];
    struct reduced_step step[MOST_CANDIDATES]; /* simulated */
    bool built[MOST_CANDIDATES];               /* by the evaluation */
};

static enum hypar_status build(void *planner, const void *candidate, struct hypar_plan **out,
                               struct hypar_error *err)
{
    struct setting *s = planner;
    const struct hypar_layout *layout = candidate;
    s->built[layout - s->layout] = true;
    *out = hp_plan_new(s->graph, s->machine, &s->problem.settings);
    enum hypar_status status = hp_plan_set_layout(*out, layout, err);
    if (status != HYPAR_OK) {
        hypar_plan_free(*out);
        *out = NULL;
    }
    return status;
}

/* As many micro-batches as samples, and one more: a plan that the check refuses. */
static enum hypar_status build_invalid(void *planner, const void *candidate,
                                       struct hypar_plan **out, struct hypar_error *err)
{
    struct setting *s = planner;
    (void)candidate;
    (void)err;
    *out = hp_plan_new(s->graph, s->machine, &s->problem.settings);
    hp_plan_set_schedule(*out,
                         &(struct hypar_schedule){ .micro_batches = s->graph->batch + 1 });
    return HYPAR_OK;
}

static const struct generator generator = { .build = build, .off = 1.5 };

/* All degrees of four devices, with one to eight micro-batches. */
static void open_setting(struct setting *s)
{
    struct hypar_import_options import = { .batch = 16 };
    struct hypar_error err;
    *s = (struct setting){ .options = { .optimizer = HYPAR_ADAM } };
    if (hypar_import(&s->graph, "mlp:64-64-64-64-8", &import, &err) ||
        hypar_machine_read(&s->machine, "cluster:2x2", &err))
        fail_msg("%s", err.text);
    s->problem = hp_problem(&s->arena, s->graph, s->machine, &s->options);
    for (int tensor = 1; tensor <= 4; tensor *= 2)
        for (int pipeline = 1; tensor * pipeline <= 4; pipeline *= 2)
            for (int micro = 1; micro <= 4; micro *= 2) {
                struct hypar_layout layout = { .data = 4 / tensor / pipeline,
                                               .tensor = tensor,
                                               .pipeline = pipeline,
                                               .chunks = 1,
                                               .micro_batches = micro };
                struct hypar_plan *plan;
                layout.schedule = hp_layout_schedule(&layout);
                s->layout[s->n] = layout;
                if (build(s, &s->layout[s->n], &plan, &err) != HYPAR_OK)
                    continue;
                if (hp_simulate_reduced(&s->problem, plan, NULL, &s->step[s->n], &err))
                    fail_msg("%s", err.text);
                hypar_plan_free(plan);
                s->n++;
            }
    assert_true(s->n > 12);
}

static void close_setting(struct setting *s)
{
    hypar_graph_free(s->graph);
    hypar_machine_free(s->machine);
    hp_arena_free(&s->arena);
}

/* A factor between 1/8 and 8. */
static double wrong(struct random *random)
{
    return pow(2, 6 * hp_random_unit(random) - 3);
}

/* Closed forms of steps and of memory are off by up to 8 times: the best that fits is found. */
static void finds_the_best_that_fits(void **state)
{
    struct setting s;
    int n_fit = 0, n_refused = 0;
    (void)state;
    open_setting(&s);
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        struct random random = { seed };
        struct evaluation e;
        struct hypar_error err;
        double best_s = INFINITY, least = INFINITY;
        double limit =
            s.step[(int)(hp_random_unit(&random) * s.n)].memory.need * (seed % 4 ? 1 : 0.1);
        s.options.memory_bytes = limit;
        hp_evaluation_begin(&e, &s.problem, &s.arena, &generator, &s);
        for (int i = 0; i < s.n; i++) {
            double need = s.step[i].memory.need;
            best_s = need <= limit ? fmin(best_s, s.step[i].step_s) : best_s;
            least = fmin(least, need);
            struct estimate estimate = { .candidate = &s.layout[i],
                                         .step_s = s.step[i].step_s * wrong(&random),
                                         .memory = { .device = -1 },
                                         .tasks = hp_reduced_tasks(&s.problem, 1, 4, 1),
                                         .alike = (uint64_t)i };
            hp_note_memory(&estimate.memory, 0, need * wrong(&random), limit);
            hp_add_candidate(&e, &estimate);
        }
        hp_evaluate_candidates(&e);
        print_message("seed %d: limit %g B, best %g s, found %g s\n", (int)seed, limit, best_s,
                      hp_evaluation_fits(&e) ? e.best.step_s : NAN);
        assert_int_equal(hp_evaluation_fits(&e), best_s < INFINITY);
        if (hp_evaluation_fits(&e)) {
            assert_true(e.best.step_s == best_s);
            hypar_plan_free(e.plan);
            n_fit++;
        } else {
            assert_int_equal(hp_refuse(&e, &err), HYPAR_INFEASIBLE);
            assert_true(least > limit && strlen(err.text) > 0);
            n_refused++;
        }
    }
    assert_true(n_fit > N_SEEDS / 2 && n_refused > 0);
    close_setting(&s);
}

/* A candidate whose lower bound is above memory is not built while others fit. */
static void bounds_leave_candidates_out(void **state)
{
    struct setting s;
    struct evaluation e;
    (void)state;
    open_setting(&s);
    hp_evaluation_begin(&e, &s.problem, &s.arena, &generator, &s);
    memset(s.built, 0, sizeof s.built);
    for (int i = 0; i < s.n; i++) {
        struct estimate estimate = { .candidate = &s.layout[i],
                                     .step_s = s.step[i].step_s,
                                     .least_part = i % 2 ? 1.5 : 0.5,
                                     .tasks = 1,
                                     .alike = (uint64_t)i };
        hp_add_candidate(&e, &estimate);
    }
    hp_evaluate_candidates(&e);
    for (int i = 0; i < s.n; i++)
        assert_int_equal(s.built[i], i % 2 == 0);
    hypar_plan_free(e.plan);
    close_setting(&s);
}

static void invalid_plans_are_no_candidates(void **state)
{
    static const struct generator invalid = { .build = build_invalid, .off = 1.5 };
    struct setting s;
    struct evaluation e;
    struct estimate estimate = { .step_s = 1, .tasks = 1 };
    struct hypar_error err;
    (void)state;
    open_setting(&s);
    hp_evaluation_begin(&e, &s.problem, &s.arena, &invalid, &s);
    estimate.candidate = &s.layout[0];
    hp_add_candidate(&e, &estimate);
    hp_evaluate_candidates(&e);
    assert_null(e.plan);
    assert_int_equal(hp_refuse(&e, &err), HYPAR_INFEASIBLE);
    assert_non_null(strstr(err.text, "17 micro-batches of a batch of 16"));
    close_setting(&s);
}

/* A later round of a search has a budget of its own, and forgets nothing of the first. */
static void further_budgets_are_added(void **state)
{
    struct setting s;
    struct evaluation e;
    (void)state;
    open_setting(&s);
    hp_evaluation_begin(&e, &s.problem, &s.arena, &generator, &s);
    double most_tasks = e.most_tasks;
    e.tasks = 1000;
    e.parts = 100;
    hp_evaluate_further(&e, 0.25);
    assert_true(e.tasks == 1000 && e.parts == 100);
    assert_true(e.most_tasks == 1000 + most_tasks / 4);
    close_setting(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_best_that_fits),
        cmocka_unit_test(bounds_leave_candidates_out),
        cmocka_unit_test(invalid_plans_are_no_candidates),
        cmocka_unit_test(further_budgets_are_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
