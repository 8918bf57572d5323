/* Planner hybrid: what it finds in closed form against all that there is, and its plans beside
 * those of others. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "program/lowering.h"
#include "search/hybrid/pipeline.h"
#include "tests/random_graph.h"
#include "tests/simulated.h"

/* Random graphs --------------------------------------------------------------------------- */

static const char *const machines[] = {
    "full:4",
    "cluster:2x2,device=a100",
    "htree:4",
    "ring:3",
    "cluster:1x2,device=h100+cluster:1x2,device=a100",
};
enum { N_MACHINES = sizeof machines / sizeof *machines };

struct case_of {
    struct arena arena;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_search_options options;
    struct problem problem;
    struct hybrid h;
};

/* False: such a graph cannot be lowered, or is too large for looking at everything. */
static bool make_case(struct case_of *c, uint64_t seed)
{
    enum { MOST_OPS = 6 };
    struct random random = { seed * 0x9e3779b97f4a7c15 };
    struct hypar_error err;
    *c = (struct case_of){ .options = { .simulation = NULL } };
    c->graph = random_graph(&random, OP_KIND_COUNT);
    if (hypar_machine_read(&c->machine, machines[seed % N_MACHINES], &err))
        fail_msg("%s", err.text);
    c->problem =
        (struct problem){ .graph = c->graph, .machine = c->machine, .options = &c->options };
    return c->graph->n_ops <= MOST_OPS &&
           hp_hybrid_begin(&c->h, &c->arena, &c->problem, &err) == HYPAR_OK;
}

static void end_case(struct case_of *c)
{
    hp_hybrid_end(&c->h);
    hypar_graph_free(c->graph);
    hypar_machine_free(c->machine);
    hp_arena_free(&c->arena);
}

static int draws(const char *name, int by_default)
{
    const char *given = getenv(name);
    return given ? atoi(given) : by_default;
}

/* Every choice of states, one after another; false: that was the last. */
static bool next_choice(const struct case_of *c, const struct submesh *submesh, int *state)
{
    for (int v = 0; v < c->h.model.n_vars; v++) {
        if (++state[v] < submesh->states[c->h.model.var[v].class].n)
            return true;
        state[v] = 0;
    }
    return false;
}

static double cost_of(struct case_of *c, const struct submesh *submesh, const double *sync_s,
                      const int *state)
{
    struct submesh_model *m = &c->h.model;
    double sum = 0;
    for (int op = 0; op < c->graph->n_ops; op++) {
        const struct op_cost *cost = hp_op_cost(m, submesh, state, op);
        sum += cost->forward_s + cost->backward_s +
               cost->param_elements * sync_s[cost->param_parts];
    }
    for (int t = 0; t < m->n_terms; t++)
        sum += hp_submesh_term(m, submesh, m->term[t].class, state[m->term[t].writer],
                               state[m->term[t].reader]);
    return sum;
}

/* The solver's choice of splits is the best of all, though few exchanges were worked out. */
static void splits_are_best(void **unused)
{
    (void)unused;
    enum { MOST_CHOICES = 20000 };
    int n = draws("HYPAR_HYBRID_GRAPHS", 1200), looked = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
        struct case_of c;
        double choices = 1, least_s, sync_s[8];
        struct submesh *submesh = NULL;
        for (int i = 0; i < 8; i++)
            sync_s[i] = (double)(seed % 3) * 1e-9 / (i ? i : 1);
        bool usable = make_case(&c, seed);
        int size = hypar_machine_device_count(c.machine);
        if (usable)
            submesh =
                hp_submesh(&c.h.model, &(struct submesh_shape){ 0, size, c.graph->batch });
        for (int v = 0; submesh && v < c.h.model.n_vars; v++)
            choices *= submesh->states[c.h.model.var[v].class].n;
        if (submesh && choices <= MOST_CHOICES) {
            struct submesh_problem p = { .hi = c.graph->n_ops, .sync_s = sync_s };
            int *state = NEW(&c.arena, int, c.h.model.n_vars),
                *tried = NEW(&c.arena, int, c.h.model.n_vars);
            double best_s = INFINITY;
            assert_int_equal(hp_submesh_solve(&c.h.model, submesh, &p, state, &least_s, NULL),
                             HYPAR_OK);
            do
                best_s = fmin(best_s, cost_of(&c, submesh, sync_s, tried));
            while (next_choice(&c, submesh, tried));
            if (fabs(least_s - best_s) > 1e-9 * best_s ||
                fabs(cost_of(&c, submesh, sync_s, state) - best_s) > 1e-9 * best_s)
                fail_msg("seed %llu: found %.12g s, best %.12g s", (unsigned long long)seed,
                         least_s, best_s);
            looked++;
        }
        end_case(&c);
    }
    print_message("  %d graphs, every split of each\n", looked);
    assert_true(looked > n / 20);
}

/* What tables say before an exchange is worked out is no more than what it takes. */
static void bounds_are_below(void **unused)
{
    (void)unused;
    int n = draws("HYPAR_HYBRID_GRAPHS", 1200);
    for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
        struct case_of c;
        struct submesh *submesh = NULL;
        if (make_case(&c, seed))
            submesh = hp_submesh(
                &c.h.model, &(struct submesh_shape){ 0, hypar_machine_device_count(c.machine),
                                                     c.graph->batch });
        for (int t = 0; submesh && t < c.h.model.n_term_classes; t++) {
            const struct term_class *term = &c.h.model.term_class[t];
            int n_to = submesh->states[term->reader].n;
            for (int i = 0; i < submesh->states[term->writer].n; i++)
                for (int j = 0; j < n_to; j++) {
                    if (term->writer_var == term->reader_var && i != j)
                        continue;
                    double bound_s = submesh->term_s[t][i * n_to + j];
                    double exact_s = hp_submesh_term(&c.h.model, submesh, t, i, j);
                    if (bound_s > exact_s + 1e-11) /* times are whole picoseconds */
                        fail_msg("seed %llu, tensor %d: %.12g s, bounded by %.12g s",
                                 (unsigned long long)seed, term->exchange->place.tensor,
                                 exact_s, bound_s);
                }
        }
        end_case(&c);
    }
}

/* The step of the pipeline whose stages begin at the units that `cuts` has bits of. */
static double step_of(struct case_of *c, const struct pipeline_shape *shape, unsigned cuts)
{
    double sum_s = 0, most_s = 0;
    int n = c->h.units.n, lo = 0, k = shape->groups;
    for (int hi = 1; hi <= n; hi++) {
        if (hi < n && !(cuts >> hi & 1))
            continue;
        struct stage_choice choice;
        struct stage_place place = { .n_devices = shape->n_devices,
                                     .in_flight = fmin((double)shape->step.micro_batches, k),
                                     .room = INFINITY };
        place.first =
            hypar_machine_is_uniform(c->machine) ? 0 : (shape->groups - k) * shape->n_devices;
        if (!hp_choose_stage(&c->h, &shape->step, &place, lo, hi, &choice))
            return INFINITY;
        sum_s += choice.time_s + 2 * choice.border_s;
        most_s = fmax(most_s, fmax(choice.time_s, choice.border_s));
        lo = hi;
        k--;
    }
    return k ? INFINITY : sum_s + (double)(shape->step.micro_batches - 1) * most_s;
}

/* No other cut has a shorter step, in closed form. */
static void cuts_are_best(void **unused)
{
    (void)unused;
    int n = draws("HYPAR_HYBRID_GRAPHS", 1200), looked = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
        struct case_of c;
        bool usable = make_case(&c, seed);
        int devices = hypar_machine_device_count(c.machine);
        for (int groups = 2; usable && groups <= devices && groups <= c.h.units.n; groups++) {
            struct pipeline_shape shape = { .n_devices = devices / groups,
                                            .room = 1,
                                            .groups = groups,
                                            .chunks = 1,
                                            .schedule = HYPAR_SCHEDULE_1F1B,
                                            .step = { .micro_batches = 1 + (int)(seed % 3) } };
            struct candidate found;
            double best_s = INFINITY;
            bool fits = hp_cut_pipeline(&c.h, &shape, &found);
            for (unsigned cuts = 0; cuts < 1u << c.h.units.n; cuts += 2)
                if (__builtin_popcount(cuts) == groups - 1)
                    best_s = fmin(best_s, step_of(&c, &shape, cuts));
            if (fits != (best_s < INFINITY) ||
                (fits && fabs(found.step_s - best_s) > 1e-9 * best_s))
                fail_msg("seed %llu, %d stages: found %.12g s, best %.12g s",
                         (unsigned long long)seed, groups, found.step_s, best_s);
            looked++;
        }
        end_case(&c);
    }
    print_message("  %d pipelines, every cut of each\n", looked);
    assert_true(looked > n / 10);
}

/* Models ---------------------------------------------------------------------------------- */

static double planned_s(const char *model, int64_t batch, const char *machine,
                        struct hypar_search_options how, double *closed_s)
{
    struct hypar_import_options import = { .batch = batch };
    struct hypar_sim_options simulation = { .framework = HYPAR_FRAMEWORK_COMPILED };
    struct hypar_graph *graph;
    struct hypar_machine *on;
    struct hypar_found *found;
    struct hypar_error err;
    double step_s = INFINITY;
    how.simulation = &simulation;
    if (hypar_import(&graph, model, &import, &err) || hypar_machine_read(&on, machine, &err))
        fail_msg("%s", err.text);
    if (hypar_search(&found, graph, on, &how, &err) == HYPAR_OK) {
        const struct hypar_simulated *s = hypar_found_simulated(found);
        assert_non_null(s);
        if (s->step.fits)
            step_s = s->step.step_s;
        if (closed_s)
            *closed_s = hypar_found_prediction(found).step_s;
        hypar_found_free(found);
    }
    hypar_graph_free(graph);
    hypar_machine_free(on);
    return step_s;
}

static const struct {
    const char *model;
    int64_t batch;
    const char *machine;
    double memory_bytes;
} trained[] = {
    { "gpt2", 64, "cluster:1x8,device=a100", 0 },
    { "gpt2", 64, "cluster:2x4,device=a100,nics=1", 3e9 },
    { "bert-base", 64, "cluster:2x4,device=h100", 0 },
    { "vgg16", 64, "cluster:1x8,device=v100", 0 },
    { "resnet50", 64, "torus:2x4", 0 },
    { "alexnet", 128, "htree:8", 0 },
};

/* The closed form is near what is simulated, and an expert's plan is not faster. */
static void beside_experts(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof trained / sizeof *trained; i++) {
        double closed_s;
        struct hypar_search_options how = { .planner = "hybrid",
                                            .precision = HYPAR_BF16,
                                            .optimizer = HYPAR_ADAM,
                                            .memory_bytes = trained[i].memory_bytes };
        double hybrid_s =
            planned_s(trained[i].model, trained[i].batch, trained[i].machine, how, &closed_s);
        how.planner = "3d";
        double expert_s =
            planned_s(trained[i].model, trained[i].batch, trained[i].machine, how, NULL);
        print_message("  %-10s %-32s %8.4g s, closed form %8.4g s; 3d %8.4g s\n",
                      trained[i].model, trained[i].machine, hybrid_s, closed_s, expert_s);
        assert_true(hybrid_s < INFINITY);
        assert_true(hybrid_s <= 1.01 * expert_s);
        assert_true(fabs(closed_s / hybrid_s - 1) < 0.15);
    }
}

static struct hypar_found *plan_gpt2(const struct hypar_search_options *how,
                                     struct hypar_graph **graph, struct hypar_machine **machine)
{
    struct hypar_import_options import = { .batch = 32 };
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_import(graph, "gpt2", &import, &err) ||
        hypar_machine_read(machine, "cluster:1x8,device=a100", &err) ||
        hypar_search(&found, *graph, *machine, how, &err))
        fail_msg("%s", err.text);
    return found;
}

static void keeps_to_options(void **unused)
{
    (void)unused;
    struct hypar_search_options how = { .planner = "hybrid",
                                        .stages = 4,
                                        .micro_batches = 8,
                                        .max_tensor = 1,
                                        .recompute_given = true,
                                        .shard = HYPAR_SHARD_OPTIMIZER,
                                        .shard_given = true };
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_found *found = plan_gpt2(&how, &graph, &machine);
    const struct hypar_plan *plan = hypar_found_plan(found);
    assert_int_equal(hypar_plan_stage_count(plan), 4);
    assert_int_equal(hypar_plan_schedule(plan).micro_batches, 8);
    for (int op = 0; op < graph->n_ops; op++) {
        assert_false(plan->ops[op].recompute);
        if (hp_op_has_params(graph, op))
            assert_int_equal(plan->ops[op].shard, HYPAR_SHARD_OPTIMIZER);
        for (int a = 0; a < graph->ops[op].nest->n_axes; a++)
            if (graph->ops[op].nest->axis[a].role != HYPAR_COPY)
                assert_true(a == hp_sample_axis(graph->ops[op].nest) ||
                            hp_degree(&plan->ops[op].split, a) == 1);
    }
    hypar_found_free(found);
    hypar_graph_free(graph);
    hypar_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_below), cmocka_unit_test(splits_are_best),
        cmocka_unit_test(cuts_are_best),    cmocka_unit_test(beside_experts),
        cmocka_unit_test(keeps_to_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
