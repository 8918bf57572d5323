/* Planners through the public header: their promises hold for the plan itself, for large
 * networks, any number of devices and unequal devices; bad requests give one clear line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cost/kernel.h"
#include "search/levels/levels.h"
#include "tests/length.h"
#include "tests/partition_oracle.h"

struct task {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
};

static struct task task(const char *model, const char *machine, int64_t batch)
{
    struct task t;
    struct hypar_error err;
    if (hypar_import(&t.graph, model, &(struct hypar_import_options){ .batch = batch }, &err))
        fail_msg("%s", err.text);
    if (hypar_machine_read(&t.machine, machine, &err))
        fail_msg("%s", err.text);
    return t;
}

static void release(struct task *t)
{
    hypar_machine_free(t->machine);
    hypar_graph_free(t->graph);
}

static struct hypar_found *search(const struct task *t,
                                  const struct hypar_search_options *options)
{
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_search(&found, t->graph, t->machine, options, &err))
        fail_msg("%s", err.text);
    return found;
}

static struct hypar_found *search_for(const struct task *t, const char *planner, bool joint)
{
    return search(t, &(struct hypar_search_options){ .planner = planner, .joint = joint });
}

/* A plan and its levels --------------------------------------------------------------- */

/* What the digit of a layer divides: an axis of its operator, by the role of axes. */
static int divided_axis(const struct hypar_graph *g, int op, char digit)
{
    static const enum hypar_role roles[] = { HYPAR_SAMPLE, HYPAR_REDUCTION, HYPAR_PARAMETER };
    int n = hypar_graph_op(g, op).n_axes;
    for (int a = 0; a < n; a++)
        if (hypar_graph_axis(g, op, a).role == roles[digit - '0'] &&
            hypar_graph_axis(g, op, a).splittable)
            return a;
    for (int a = 0; digit == '1' && a < n; a++) /* groups: their channels are divided */
        if (hypar_graph_axis(g, op, a).role == HYPAR_PARAMETER)
            return a;
    return n - 1; /* copies */
}

/* A weighted layer's degrees and devices follow from its digits alone: the device's digit of a
 * level is the next digit of its place on the axis that the level divides. */
static void check_layer(const struct hypar_plan *plan, const struct hypar_partition_view *view,
                        int i)
{
    const struct hypar_graph *g = hypar_plan_graph(plan);
    int op = view->layer_op[i], n_axes = hypar_graph_op(g, op).n_axes;
    int degree[HYPAR_MAX_AXES], n = hypar_machine_device_count(hypar_plan_machine(plan));
    for (int a = 0; a < n_axes; a++)
        degree[a] = 1;
    for (int h = 0; h < view->n_levels; h++)
        degree[divided_axis(g, op, view->level[h][i])] *= view->ways[h];
    for (int a = 0; a < n_axes; a++) {
        assert_int_equal(hypar_plan_degree(plan, op, a), degree[a]);
        int64_t sum = 0;
        for (int k = 0; k < degree[a]; k++)
            sum += hypar_plan_part_size(plan, op, a, k);
        if (a < n_axes - 1)
            assert_int_equal(sum, hypar_graph_axis(g, op, a).extent);
    }
    for (int d = 0; d < n; d++) {
        int place[HYPAR_MAX_AXES] = { 0 }, below = n, part = 0;
        for (int h = 0; h < view->n_levels; h++) {
            int *at = &place[divided_axis(g, op, view->level[h][i])];
            below /= view->ways[h];
            *at = *at * view->ways[h] + d / below % view->ways[h];
        }
        for (int a = 0; a < n_axes; a++)
            part = part * degree[a] + place[a];
        assert_int_equal(hypar_plan_op(plan, op).device[part], d);
    }
}

/* The cost that is reported, evaluated a second time from the types; joins are not in the view,
 * so the types come from solving once more. */
static void check_cost(const struct task *t, const char *planner, bool joint,
                       const struct hypar_partition_view *view)
{
    struct arena arena = { 0 };
    struct hypar_error err;
    struct hypar_search_options options = { .planner = planner, .joint = joint };
    struct problem problem = { .graph = t->graph, .machine = t->machine, .options = &options };
    struct partition again;
    double elements[MAX_LEVELS];
    problem.layered = hp_layered(&arena, t->graph);
    problem.n_levels = hypar_machine_levels(t->machine, problem.level);
    struct partition_problem p =
        hp_set_up_partition(&problem, &arena, hp_find_planner(planner)->rules);
    assert_int_equal(hp_partition(&arena, &p, &again, &err), HYPAR_OK);
    double total = oracle_cost(&p, again.type, elements);
    assert_true(view->total_elements <= total * (1 + 1e-9));
    assert_true(view->total_elements >= total * (1 - 1e-9));
    for (int h = 0; h < view->n_levels; h++) {
        assert_true(view->level_elements[h] <= elements[h] * (1 + 1e-9));
        assert_true(view->level_elements[h] >= elements[h] * (1 - 1e-9));
        for (int i = 0; i < view->n_layers; i++) {
            enum layer_type type = again.type[(size_t)h * (size_t)again.n_nodes +
                                              (size_t)problem.layered->layer[i]];
            assert_int_equal(view->level[h][i], type == TYPE_CHANNEL ? '1' : '0' + (int)type);
        }
    }
    hp_arena_free(&arena);
}

static void check_found(const struct task *t, const struct hypar_found *found,
                        const char *planner, bool joint)
{
    const struct hypar_partition_view *view = hypar_found_partition(found);
    const struct hypar_plan *plan = hypar_found_plan(found);
    assert_non_null(view);
    assert_int_equal(hypar_plan_check(plan, NULL), HYPAR_OK);
    assert_int_equal(view->n_layers, hypar_graph_layer_count(t->graph));
    assert_true(view->total_bytes == 8 * view->total_elements);
    check_cost(t, planner, joint, view);
    for (int i = 0; i < view->n_layers; i++)
        check_layer(plan, view, i);
}

/* The networks that the paper's reviewers missed, on powers of two and on other numbers. */
static void large_networks(void **state)
{
    (void)state;
    static const char *const models[] = { "resnet50",    "resnet152",  "inception-v3",
                                          "densenet121", "bert-large", "gpt2-xl",
                                          "nmt" };
    static const char *const machines[] = {
        "full:16,device=h100", "htree:1024,device=h100",  "full:3,device=h100",
        "full:6,device=h100",  "cluster:3x4,device=h100",
    };
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
        for (size_t k = 0; k < sizeof machines / sizeof machines[0]; k++) {
            struct task t = task(models[m], machines[k], 0);
            struct hypar_found *found = search_for(&t, "hypar", false);
            print_message("%s on %s: %.6g elements in %.1f ms\n", models[m], machines[k],
                          hypar_found_partition(found)->total_elements,
                          1e3 * hypar_found_info(found).seconds);
            check_found(&t, found, "hypar", false);
            hypar_found_free(found);
            release(&t);
        }
}

static void all_planners(void **state)
{
    (void)state;
    static const char *const models[] = { "lenet-c",      "alexnet-t",     "resnet18",
                                          "mobilenet-v2", "bert:layers=2", "nmt:steps=3" };
    static const char *const machines[] = { "htree:8", "full:6", "torus:3x3", "full:1" };
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
        for (size_t k = 0; k < sizeof machines / sizeof machines[0]; k++) {
            if (!in_length((int)(m + k), 6, 2))
                continue;
            struct task t = task(models[m], machines[k], 0);
            print_message("%s on %s\n", models[m], machines[k]);
            for (int i = 0; hypar_planner(i); i++) {
                if (hp_planner_at(i)->takes & TAKES_FIX || !hp_planner_at(i)->plan)
                    continue; /* test_flexflow.c, and of auto below */
                const char *name = hypar_planner(i)->name;
                struct hypar_found *found = search_for(&t, name, false);
                const struct hypar_partition_view *view = hypar_found_partition(found);
                assert_int_equal(hypar_plan_check(hypar_found_plan(found), NULL), HYPAR_OK);
                if (strcmp(name, "hypar") == 0 || strcmp(name, "accpar") == 0 ||
                    strcmp(name, "dp") == 0 || strcmp(name, "mp") == 0)
                    check_found(&t, found, name, false);
                if (strcmp(name, "owt") == 0) /* its plan splits k where the paper counts mp */
                    check_cost(&t, name, false, view);
                for (int h = 0; strcmp(name, "dp") == 0 && h < view->n_levels; h++)
                    assert_int_equal(strspn(view->level[h], "0"), view->n_layers);
                hypar_found_free(found);
            }
            release(&t);
        }
}

/* More choices are never worse, all levels at once never above level by level. */
static void joint_is_never_above(void **state)
{
    (void)state;
    static const char *const models[] = { "sfc",        "sconv",        "lenet-c",
                                          "cifar-c",    "vgg-a",        "lenet5",
                                          "resnet18",   "mobilenet-v2", "gpt:layers=2",
                                          "nmt:steps=3" };
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
        for (int levels = 1; levels <= 11; levels += levels > 3 ? 3 : 1) {
            if (levels > 4 && !in_length((int)m, 5, 1))
                continue;
            char machine[32];
            snprintf(machine, sizeof machine, "htree:%d", 1 << levels);
            struct task t = task(models[m], machine, 0);
            struct hypar_found *greedy = search_for(&t, "hypar", false);
            struct hypar_found *joint = search_for(&t, "hypar", true);
            double least = hypar_found_partition(joint)->total_elements;
            assert_true(least <= hypar_found_partition(greedy)->total_elements);
            assert_true(hypar_found_info(joint).lower_bound_elements <= least * (1 + 1e-9));
            assert_int_equal(hypar_found_info(joint).exact, levels <= 10);
            hypar_found_free(greedy);
            hypar_found_free(joint);
            release(&t);
        }
}

static void three_types_are_exact_up_to_64(void **state)
{
    (void)state;
    static const char *const models[] = { "lenet-c", "alexnet-hypar", "resnet18" };
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
        for (int n = 16; n <= 128; n *= 2) {
            char machine[32];
            snprintf(machine, sizeof machine, "htree:%d", n);
            struct task t = task(models[m], machine, 256);
            struct hypar_found *two = search_for(&t, "hypar", true);
            struct hypar_found *three = search_for(&t, "accpar", true);
            struct hypar_found *greedy = search_for(&t, "accpar", false);
            double least = hypar_found_partition(three)->total_elements;
            assert_true(least <= hypar_found_partition(greedy)->total_elements);
            if (n <= 64) {
                assert_true(hypar_found_info(three).exact);
                assert_true(least <= hypar_found_partition(two)->total_elements);
            }
            hypar_found_free(two);
            hypar_found_free(three);
            hypar_found_free(greedy);
            release(&t);
        }
}

static double simulated_merit(const struct hypar_found *found, enum hypar_objective objective)
{
    const struct hypar_simulated *s = hypar_found_simulated(found);
    assert_non_null(s);
    return objective == HYPAR_TIME   ? s->step.step_s
           : objective == HYPAR_COMM ? s->step.comm_bytes
                                     : hypar_energy_total_j(&s->step.energy);
}

/* No planner whose plan fits has a better one, but for rounding (auto takes the safer of two
 * equals); those that do not fit are named. */
static void check_auto(const struct task *t, struct hypar_search_options options)
{
    static const struct hypar_sim_options simulation;
    const enum hypar_objective objective = options.objective;
    struct hypar_found *best = search(t, &options);
    struct hypar_search_info info = hypar_found_info(best);
    double merit = simulated_merit(best, objective);
    assert_true(hypar_found_simulated(best)->step.fits);
    options.simulation = &simulation;
    for (int i = 0; hypar_planner(i); i++) {
        struct hypar_found *found;
        options.planner = hypar_planner(i)->name;
        hypar_keep_options(&options, options.planner);
        if (!hp_planner_at(i)->plan || hp_planner_at(i)->not_in_auto)
            continue;
        bool fits = hypar_search(&found, t->graph, t->machine, &options, NULL) == HYPAR_OK;
        if (fits)
            fits = hypar_found_simulated(found)->step.fits;
        if (fits)
            assert_true(0.999 * merit <= simulated_merit(found, objective));
        bool named = fits;
        for (int k = 0; k < info.n_left_out; k++)
            named |= strcmp(info.left_out[k].planner, options.planner) == 0;
        assert_true(named);
        hypar_found_free(found);
    }
    hypar_found_free(best);
}

static void auto_is_the_best(void **state)
{
    (void)state;
    static const char *const models[] = { "vgg-a", "resnet18", "gpt:layers=2" };
    static const double memory_bytes[] = { 0, 2.2e9 }; /* some do not fit into that */
    for (size_t m = 0; m < 3; m++)
        for (int objective = HYPAR_TIME; objective <= HYPAR_ENERGY; objective++)
            for (size_t limit = 0; limit < 2; limit++) {
                /* short: each model, each objective and each limit once; full: each two of
                 * the three */
                if (!(full_length() || (int)m == objective) ||
                    !(soak_length() || limit == (m + (size_t)objective) / 2 % 2))
                    continue;
                struct task t = task(models[m], "cluster:2x4", 64);
                print_message("auto for %s, objective %d, limit %g\n", models[m], objective,
                              memory_bytes[limit]);
                check_auto(&t, (struct hypar_search_options){
                                   .objective = (enum hypar_objective)objective,
                                   .memory_bytes = memory_bytes[limit] });
                release(&t);
            }
}

/* Where steps are small a random search has a try, for time alone, and has to gain something.
 */
static void auto_searches_at_random(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine;
        enum hypar_objective objective;
        int64_t proposals;
        bool found;
    } rows[] = {
        { "mlp:784-1024-1024-10", "full:6", HYPAR_TIME, 0, true },
        { "mlp:784-1024-1024-10", "full:12", HYPAR_TIME, 0, true },
        { "mlp:784-1024-1024-10", "full:16", HYPAR_COMM, 0, false },
        { "resnet18", "full:1", HYPAR_TIME, 0, false }, /* nothing to gain */
        { "mlp:784-1024-1024-10", "full:64", HYPAR_TIME, 1500, true },
        { "mlp:784-1024-1024-10", "full:64", HYPAR_TIME, 0, true }, /* on a part of it */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!in_length((int)i, 3, 1) || (i == 5 && !soak_length())) /* half a minute */
            continue;
        struct task t = task(rows[i].model, rows[i].machine, 64);
        struct hypar_search_options options = { .objective = rows[i].objective,
                                                .proposals = rows[i].proposals };
        struct hypar_found *found = search(&t, &options);
        print_message("%s on %s: %s\n", rows[i].model, rows[i].machine,
                      hypar_found_info(found).planner);
        assert_int_equal(strcmp(hypar_found_info(found).planner, "flexflow") == 0,
                         rows[i].found);
        hypar_found_free(found);
        release(&t);
    }
}

/* Weights fit into that, activations in no plan: the plan that needs least, and it says so. */
static void auto_needs_least(void **state)
{
    (void)state;
    static const struct hypar_sim_options simulation;
    struct task t = task("vgg-a", "cluster:2x4", 64);
    struct hypar_search_options options = { .memory_bytes = 140e6 };
    struct hypar_found *best = search(&t, &options);
    struct hypar_memory fullest = hypar_found_simulated(best)->fullest;
    assert_false(hypar_found_simulated(best)->step.fits);
    assert_true(fullest.limit == 140e6 && fullest.peak > fullest.limit);
    options.simulation = &simulation;
    int others = 0;
    for (int i = 0; hypar_planner(i); i++) {
        struct hypar_found *found;
        options.planner = hypar_planner(i)->name;
        if (!hp_planner_at(i)->plan || hp_planner_at(i)->not_in_auto ||
            hypar_search(&found, t.graph, t.machine, &options, NULL) != HYPAR_OK)
            continue;
        assert_true(fullest.peak <= hypar_found_simulated(found)->fullest.peak);
        hypar_found_free(found);
        others++;
    }
    assert_true(others >= 2);
    hypar_found_free(best);
    release(&t);
}

/* Where devices have different memories the others, who divide alike, have nothing that fits,
 * or no plan at all; hybrid leaves small ones idle, flexflow moves what is too much. */
static void auto_repairs(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine;
        enum hypar_objective objective;
        int64_t proposals;
        int refused; /* planners without a plan or with one that does not fit, at least */
    } rows[] = {
        { "lenet5", "cluster:1x2,memory=2MB+cluster:1x2,memory=50kB", HYPAR_TIME, 0, 6 },
        { "lenet5", "cluster:1x2,memory=2MB+cluster:1x2,memory=50kB", HYPAR_COMM, 0, 6 },
        { "lenet5", "cluster:1x2,memory=2MB+cluster:1x2,memory=200kB", HYPAR_TIME, 0, 6 },
        { "alexnet", "cluster:1x1,memory=2GB+cluster:1x3,memory=50kB", HYPAR_ENERGY, 0, 6 },
        { "lenet5", "cluster:1x1+cluster:1x31,memory=16kB", HYPAR_TIME, 20, 6 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!in_length((int)i, 4, 1))
            continue;
        struct task t = task(rows[i].model, rows[i].machine, 0);
        struct hypar_refusals refusals;
        struct hypar_search_options options = { .objective = rows[i].objective,
                                                .proposals = rows[i].proposals,
                                                .refusals = &refusals };
        struct hypar_found *found = search(&t, &options);
        assert_true(strcmp(hypar_found_info(found).planner, "flexflow") == 0 ||
                    strcmp(hypar_found_info(found).planner, "hybrid") == 0 ||
                    hypar_found_info(found).made_for); /* another, without the small devices */
        assert_true(hypar_found_simulated(found)->step.fits);
        if (refusals.n < rows[i].refused)
            fail_msg("row %d: %d refusals", (int)i, refusals.n);
        hypar_found_free(found);
        release(&t);
    }
}

/* Whatever there is to say is said whole: what is needed at least and what there is in one
 * line, and the reason of every planner beside it. */
static void auto_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine, *line;
        const char *flexflow; /* what it says; NULL: it was not asked, as nothing can fit */
        const char *expert;   /* what 3d says: state that does not fit is not simulated */
    } rows[] = {
        { "gpt3-175b", "full:4",
          "no plan fits: weights, gradients and sgd state are 1.4 TB, all devices together "
          "have "
          "64 GB; they need 349 GB on device 0, which has 16 GB, in the nearest plan (optcnn)",
          NULL, "weights, gradients and sgd state need" },
        { "lenet5", "cluster:1x2,memory=240kB+cluster:1x2,memory=50kB",
          "no plan fits: weights, gradients and sgd state need 123 kB on device 2, which has "
          "50 kB, in the nearest plan (optcnn)",
          "no plan found that fits", "weights, gradients and sgd state need" },
        { "gpt2-xl", "cluster:1x1,memory=12GB+cluster:1x15,memory=100MB", NULL,
          "it takes long here", "weights, gradients and sgd state need" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct task t = task(rows[i].model, rows[i].machine, 0);
        struct hypar_refusals refusals;
        struct hypar_search_options options = { .refusals = &refusals };
        struct hypar_found *found;
        struct hypar_error err;
        int n = 0;
        assert_int_equal(hypar_search(&found, t.graph, t.machine, &options, &err),
                         HYPAR_INFEASIBLE);
        print_message("%s\n", err.text);
        if (rows[i].line)
            assert_string_equal(err.text, rows[i].line);
        for (int p = 0; hypar_planner(p); p++) {
            bool flexflow = strcmp(hypar_planner(p)->name, "flexflow") == 0;
            bool expert = strcmp(hypar_planner(p)->name, "3d") == 0;
            if (flexflow ? !rows[i].flexflow
                         : !hp_planner_at(p)->plan || hp_planner_at(p)->not_in_auto)
                continue;
            assert_string_equal(refusals.by[n].planner, hypar_planner(p)->name);
            assert_true(strlen(refusals.by[n].why.text) + 1 < sizeof refusals.by[n].why.text);
            if (flexflow)
                assert_non_null(strstr(refusals.by[n].why.text, rows[i].flexflow));
            if (expert)
                assert_non_null(strstr(refusals.by[n].why.text, rows[i].expert));
            n++;
        }
        assert_int_equal(refusals.n, n);
        release(&t);
    }
}

/* What cannot be simulated is judged in closed form, what would take long from a part of it,
 * and says why. */
static void auto_in_closed_form(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine;
        int64_t batch;
        const char *why;
        bool closed;
    } rows[] = {
        { "tests/data/pipedream/chain.txt", "full:2", 0, "no loss", true },
        { "gpt2-xl", "cluster:64x8,memory=1TB", 512, "takes long", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!full_length() && rows[i].batch == 512)
            continue; /* cli/plan and cli/explore have large machines */
        struct task t = task(rows[i].model, rows[i].machine, rows[i].batch);
        struct hypar_found *best = search(&t, &(struct hypar_search_options){ 0 });
        double step_s = hypar_found_prediction(best).step_s;
        assert_null(hypar_found_simulated(best));
        assert_non_null(strstr(hypar_found_info(best).not_simulated, rows[i].why));
        struct hypar_partial_step part = hypar_found_info(best).part;
        assert_true(rows[i].closed ? part.step_s == 0 : part.step_s == step_s);
        assert_true(part.devices <= part.all_devices &&
                    part.fullest.peak <= part.fullest.limit);
        for (int p = 0; hypar_planner(p) && rows[i].closed; p++) {
            struct hypar_search_options options = { .planner = hypar_planner(p)->name };
            struct hypar_found *found;
            if (!hp_planner_at(p)->plan || hp_planner_at(p)->not_in_auto ||
                hypar_search(&found, t.graph, t.machine, &options, NULL) != HYPAR_OK)
                continue;
            assert_true(step_s <= hypar_found_prediction(found).step_s);
            assert_null(hypar_found_simulated(found)); /* nobody asked for it */
            assert_null(hypar_found_info(found).not_simulated);
            hypar_found_free(found);
        }
        hypar_found_free(best);
        release(&t);
    }
}

/* Nothing is given whose memory was not looked at, whether or not it is simulated as a whole;
 * parameters that are to be divided are, before anything is refused. */
static void auto_looks_at_memory(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine;
        int64_t batch;
        enum hypar_shard shard;
    } rows[] = {
        { "gpt2-xl", "cluster:64x8,memory=2GB", 512, HYPAR_SHARD_NONE },
        { "vgg-a", "cluster:2x4,memory=900MB", 64, HYPAR_SHARD_OPTIMIZER },
        { "tests/data/pipedream/chain.txt", "full:2", 0, HYPAR_SHARD_NONE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!full_length() && rows[i].batch == 512)
            continue; /* cli/plan and cli/explore have large machines */
        struct task t = task(rows[i].model, rows[i].machine, rows[i].batch);
        struct hypar_search_options options = { .shard = rows[i].shard,
                                                .optimizer = HYPAR_ADAM };
        struct hypar_found *found = search(&t, &options);
        struct hypar_error err = { 0 };
        enum hypar_status status = hypar_plan_fits(hypar_found_plan(found), 0, NULL, &err);
        print_message("%s: %s\n", hypar_found_info(found).planner, err.text);
        assert_true(status == HYPAR_OK || status == HYPAR_UNSUPPORTED); /* cannot be lowered */
        hypar_found_free(found);
        release(&t);
    }
}

/* The same request, the same plan file. */
static void deterministic(void **state)
{
    (void)state;
    struct task t = task("inception-v3", "cluster:2x6", 64);
    char *text[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        FILE *file = open_memstream(&text[i], &size[i]);
        struct hypar_found *found = search_for(&t, "accpar", true);
        hypar_plan_write(hypar_found_plan(found), file);
        fclose(file);
        hypar_found_free(found);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(text[0], text[1], size[0]);
    free(text[0]);
    free(text[1]);
    release(&t);
}

/* Devices that differ ----------------------------------------------------------------- */

/* Data parallel: samples in proportion to speed, to a sample. */
static void shares_follow_speed(void **state)
{
    (void)state;
    struct task t =
        task("mlp:64-128-10", "cluster:1x2,device=h100+cluster:1x2,device=a100", 1000);
    struct hypar_found *found = search_for(&t, "dp", false);
    const struct hypar_plan *plan = hypar_found_plan(found);
    const struct hypar_device *h100 = hypar_machine_device(t.machine, 0);
    const struct hypar_device *a100 = hypar_machine_device(t.machine, 2);
    double fast = h100->fp32_op_per_s * h100->efficiency;
    double slow = a100->fp32_op_per_s * a100->efficiency;
    for (int op = 0; op < hypar_graph_info(t.graph).n_ops; op++) {
        int n = divided_axis(t.graph, op, '0');
        if (hypar_graph_axis(t.graph, op, n).role != HYPAR_SAMPLE)
            continue;
        assert_int_equal(hypar_plan_degree(plan, op, n), 4);
        for (int i = 0; i < 4; i++) {
            double want = 1000 * (i < 2 ? fast : slow) / (2 * fast + 2 * slow);
            double got = (double)hypar_plan_part_size(plan, op, n, i);
            assert_true(got >= want - 1 && got <= want + 1);
        }
    }
    hypar_found_free(found);
    release(&t);
}

/* The busiest device's parts, summed by the model of kernels; where these are not known,
 * operations at the device's efficiency. */
static double longest_s(const struct task *t, const struct hypar_plan *plan, bool kernels)
{
    double most = 0;
    for (int d = 0; d < hypar_machine_device_count(t->machine); d++) {
        double seconds = 0;
        struct kernel_place at = { .device = hypar_machine_device(t->machine, d),
                                   .precision = HYPAR_FP32,
                                   .kernels = HYPAR_KERNELS_COMPILED };
        for (int op = 0; op < t->graph->n_ops; op++)
            for (int i = 0; i < plan->ops[op].n_parts; i++) {
                const struct op *o = &t->graph->ops[op];
                struct range range[MAX_AXES];
                if (plan->ops[op].device[i] != d ||
                    !hp_part_ranges(o->nest, &plan->ops[op].split, i, range))
                    continue;
                if (kernels)
                    seconds += hp_op_seconds(o->nest, hp_done_passes(t->graph, o), range,
                                             hp_present(o), &at);
                for (int p = 0; p < o->nest->n_passes && !kernels; p++) {
                    struct work w =
                        hp_pass_work(o->nest, p, range, ~(operand_set)0, HYPAR_FP32);
                    seconds +=
                        (2 * w.macs + w.other) / hp_dense_op_per_s(at.device, HYPAR_FP32);
                }
            }
        most = seconds > most ? seconds : most;
    }
    return most;
}

static void computing_is_by_kernels(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine;
        bool kernels;
    } row[] = {
        { "vgg-a", "cluster:2x3,device=h100", true },
        { "resnet18", "htree:8,device=a100", true },
        { "gpt2:layers=2", "cluster:1x2,device=h100+cluster:1x2,device=a100", true },
        { "gpt2:layers=2", "cluster:1x2,device=h100+cluster:1x2,device=v100", false },
        { "vgg-a", "htree:8", false },
        { "mlp:64-128-10", "cluster:1x2,device=v100+cluster:1x2,device=k80", false },
    };
    static const char *const planner[] = { "dp", "hypar", "accpar" };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        for (size_t k = 0; k < sizeof planner / sizeof planner[0]; k++) {
            struct task t = task(row[i].model, row[i].machine, 100);
            struct hypar_found *found = search_for(&t, planner[k], false);
            double want = longest_s(&t, hypar_found_plan(found), row[i].kernels);
            double got = hypar_found_prediction(found).compute_s;
            if (!(fabs(got - want) <= 1e-9 * want))
                fail_msg("%s on %s by %s: %.12g s, expected %.12g s", row[i].model,
                         row[i].machine, planner[k], got, want);
            hypar_found_free(found);
            release(&t);
        }
}

static void different_devices(void **state)
{
    (void)state;
    static const char *const machines[] = {
        "cluster:1x4,device=h100+cluster:1x4,device=a100",
        "cluster:2x4,device=v100+cluster:1x4,device=k80",
        "cluster:1x1,device=h200+cluster:1x2,device=p100",
    };
    static const char *const models[] = { "lenet-c", "vgg-a", "resnet18", "bert:layers=2",
                                          "nmt:steps=3" };
    for (size_t k = 0; k < sizeof machines / sizeof machines[0]; k++)
        for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
            if (!in_length((int)(m + k), 5, 2))
                continue;
            struct task t = task(models[m], machines[k], 96);
            print_message("%s on %s\n", models[m], machines[k]);
            for (int i = 0; hypar_planner(i); i++) {
                bool is_auto = !hp_planner_at(i)->plan; /* it takes as long as all others */
                if (hp_planner_at(i)->takes & TAKES_FIX ||
                    (is_auto && (m > 0 || !full_length())))
                    continue;
                struct hypar_found *found = search_for(&t, hypar_planner(i)->name, false);
                assert_int_equal(hypar_plan_check(hypar_found_plan(found), NULL), HYPAR_OK);
                hypar_found_free(found);
            }
            struct hypar_found *found = search_for(&t, "accpar", false);
            check_cost(&t, "accpar", false, hypar_found_partition(found));
            hypar_found_free(found);
            release(&t);
        }
}

/* Bad requests ------------------------------------------------------------------------ */

static const struct {
    const char *model, *machine;
    int64_t batch;
    struct hypar_search_options options;
    enum hypar_status status;
    const char *part; /* of the message */
} bad[] = {
    { "lenet-c", "htree:4", 0, { .planner = "frob" }, HYPAR_USAGE, "unknown planner 'frob'" },
    { "lenet-c", "htree:4", 0, { .planner = "" }, HYPAR_USAGE, "unknown planner ''" },
    { "lenet-c",
      "htree:16",
      8,
      { .planner = "dp" },
      HYPAR_INFEASIBLE,
      "batch of 8 over 16 devices" },
    { "lenet-c",
      "htree:16",
      8,
      { .planner = "owt" },
      HYPAR_INFEASIBLE,
      "batch of 8 over 16 devices" },
    { "gpt3-175b",
      "full:2",
      0,
      { .planner = "hypar" },
      HYPAR_INFEASIBLE,
      "weights, gradients and sgd state need" },
    { "vgg-a",
      "full:4",
      0,
      { .planner = "dp", .memory_bytes = 1e6 },
      HYPAR_INFEASIBLE,
      "weights, gradients and sgd state need" },
    { "gpt3-175b",
      "full:2",
      0,
      { .planner = "auto" },
      HYPAR_INFEASIBLE,
      "weights, gradients and sgd state are 1.4 TB" },
};

static void bad_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct task t = task(bad[i].model, bad[i].machine, bad[i].batch);
        struct hypar_error err = { 0 };
        struct hypar_found *found;
        enum hypar_status status =
            hypar_search(&found, t.graph, t.machine, &bad[i].options, &err);
        print_message("%s\n", err.text);
        assert_int_equal(status, bad[i].status);
        assert_null(found);
        assert_non_null(strstr(err.text, bad[i].part));
        assert_null(strchr(err.text, '\n'));
        release(&t);
    }
    struct hypar_machine *machine;
    struct hypar_error err;
    assert_int_not_equal(hypar_machine_read(&machine, "htree:0", &err), HYPAR_OK);
    print_message("%s\n", err.text);
    assert_non_null(strstr(err.text, "size 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_networks),
        cmocka_unit_test(all_planners),
        cmocka_unit_test(joint_is_never_above),
        cmocka_unit_test(three_types_are_exact_up_to_64),
        cmocka_unit_test(auto_is_the_best),
        cmocka_unit_test(auto_searches_at_random),
        cmocka_unit_test(auto_needs_least),
        cmocka_unit_test(auto_repairs),
        cmocka_unit_test(auto_says_why),
        cmocka_unit_test(auto_in_closed_form),
        cmocka_unit_test(auto_looks_at_memory),
        cmocka_unit_test(deterministic),
        cmocka_unit_test(shares_follow_speed),
        cmocka_unit_test(computing_is_by_kernels),
        cmocka_unit_test(different_devices),
        cmocka_unit_test(bad_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
