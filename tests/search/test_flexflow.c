/* FlexFlow's search and exhaustive search, compared with each other and with plain counting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "search/evaluate/judge.h"
#include "search/mcmc/propose.h"
#include "tests/length.h"

struct study {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
};

static struct study study(const char *model, const char *machine, int64_t batch)
{
    struct study t;
    struct hypar_error err = { 0 };
    struct hypar_import_options import = { .batch = batch };
    if (hypar_import(&t.graph, model, &import, &err) != HYPAR_OK ||
        hypar_machine_read(&t.machine, machine, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return t;
}

static void release(struct study *t)
{
    hypar_graph_free(t->graph);
    hypar_machine_free(t->machine);
}

static struct hypar_found *search(const struct study *t,
                                  const struct hypar_search_options *options)
{
    struct hypar_found *found;
    struct hypar_error err = { 0 };
    if (hypar_search(&found, t->graph, t->machine, options, &err) != HYPAR_OK)
        fail_msg("%s: %s", options->planner, err.text);
    return found;
}

static double simulated_s(const struct hypar_plan *plan)
{
    struct hypar_sim *sim;
    assert_int_equal(hypar_simulate(&sim, plan, NULL, NULL), HYPAR_OK);
    double step_s = hypar_sim_summary(sim).step_s;
    hypar_sim_free(sim);
    return step_s;
}

/* The step of a planner's plan, whether it fits or not; 0: it has none. */
static double op_pass_of(const struct study *t, const char *planner)
{
    struct hypar_search_options options = { .planner = planner, .memory_bytes = 1e300 };
    struct hypar_found *found;
    if (hypar_search(&found, t->graph, t->machine, &options, NULL) != HYPAR_OK)
        return 0;
    double step_s = simulated_s(hypar_found_plan(found));
    hypar_found_free(found);
    return step_s;
}

/* Exhaustive search --------------------------------------------------------------------- */

/* Every plan of the exhaustive search's space, one after another, in full. */
struct count {
    struct hypar_plan *plan;
    struct proposer proposer;
    struct proposal now;
    double best_s;
    int64_t plans;
};

static void count_from(struct count *c, int leader);

static void count_split(struct count *c, int leader, struct split *split, int axis, int parts)
{
    const struct groups *g = c->proposer.groups;
    int op = g->leaders[leader], n = c->plan->n_all_devices;
    const struct nest *nest = c->plan->graph->ops[op].nest;
    if (axis < nest->n_axes) {
        const struct hypar_axis *a = &nest->axis[axis];
        bool open = a->splittable && a->role != HYPAR_COPY && a->role != HYPAR_REDUCTION;
        for (int degree = 1; degree <= (open ? n : 1); degree++) {
            split->degree[axis] = degree;
            if (degree == 1 || degree <= a->extent)
                count_split(c, leader, split, axis + 1, parts * degree);
        }
        return;
    }
    for (int first = 0; n % parts == 0 && first < n; first += parts) {
        struct op_config config = { .op = op, .split = *split, .n_parts = parts };
        config.replicas = 1;
        config.device = c->plan->all_devices + first;
        hp_proposal_clear(&c->now);
        hp_proposal_add_group(&c->proposer, &config, true, &c->now);
        hp_proposal_apply(c->plan, &c->now);
        count_from(c, leader + 1);
    }
}

static void count_from(struct count *c, int leader)
{
    const struct groups *g = c->proposer.groups;
    while (leader < g->n_leaders) {
        int family = g->family[g->leaders[leader]];
        if (family < 0 || g->family_member[g->family_start[family]] == g->leaders[leader])
            break;
        leader++; /* one of its family decides */
    }
    if (leader < g->n_leaders) {
        struct split split = { 0 };
        count_split(c, leader, &split, 0, 1);
        return;
    }
    double step_s = simulated_s(c->plan);
    c->best_s = c->plans++ && c->best_s < step_s ? c->best_s : step_s;
}

static void exhaustive_is_exact(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine;
        int64_t batch;
    } cases[] = {
        { "mlp:8-16-4", "full:4", 16 },
        { "mlp:512-256-64", "full:3,bandwidth=1GB/s", 24 },
        { "mlp:4096-4096-4096-10", "full:2", 64 },
        { "mlp:2048-64-512", "cluster:2x2,intra=10GB/s,inter=1GB/s,latency=1us", 256 },
        { "mlp:1024-1024", "cluster:1x1,device=h100+cluster:1x2,device=k80", 300 },
        { "rnnlm:steps=2,layers=1,hidden=32,vocab=50", "full:2", 16 },
        { "lenet5", "full:2,bandwidth=5GB/s", 64 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct study t = study(cases[i].model, cases[i].machine, cases[i].batch);
        struct hypar_search_options options = { .planner = "exhaustive" };
        struct hypar_found *found = search(&t, &options);
        struct hypar_plan_settings settings = { 0 };
        struct count c = { .plan = hp_plan_new(t.graph, t.machine, &settings) };
        hp_proposer_begin(&c.proposer, c.plan, NULL);
        hp_proposal_begin(&c.now, t.graph);
        count_from(&c, 0);
        print_message("%s on %s: %lld plans, %lld simulated, %.6g us\n", cases[i].model,
                      cases[i].machine, (long long)c.plans,
                      (long long)hypar_found_info(found).evaluated, 1e6 * c.best_s);
        assert_true(hypar_found_prediction(found).step_s == c.best_s);
        assert_true(hypar_found_info(found).exact);
        assert_true(hypar_found_info(found).evaluated <= c.plans);
        hp_proposal_end(&c.now);
        hp_proposer_end(&c.proposer);
        hypar_plan_free(c.plan);
        hypar_found_free(found);
        release(&t);
    }
}

/* FlexFlow ----------------------------------------------------------------------------- */

/* The paper: the optimum of LeNet and of a small RNNLM on 4 devices in under a second. */
static void reaches_the_optimum(void **state)
{
    (void)state;
    int seeds = (int)length_of("HYPAR_SEEDS", 3, 8, 20);
    static const char *const models[] = { "lenet5", "rnnlm:steps=2,hidden=64" };
    static const char *const machines[] = { "full:4", "full:4,device=p100" };
    for (size_t m = 0; m < 4; m++) {
        struct study t = study(models[m / 2], machines[m % 2], 0);
        struct hypar_search_options options = { .planner = "exhaustive" };
        struct hypar_found *best = search(&t, &options);
        double best_s = hypar_found_prediction(best).step_s, worst = 1, longest_s = 0;
        int reached = 0;
        options.planner = "flexflow";
        for (int seed = 0; seed < seeds; seed++) {
            options.seed = seed;
            struct hypar_found *found = search(&t, &options);
            double ratio = hypar_found_prediction(found).step_s / best_s;
            double seconds = hypar_found_info(found).seconds;
            reached += ratio <= 1;
            worst = ratio > worst ? ratio : worst;
            longest_s = seconds > longest_s ? seconds : longest_s;
            hypar_found_free(found);
        }
        print_message("%s on %s: %d of %d seeds reach %.6g us, the worst %.4f; %.2f s\n",
                      models[m / 2], machines[m % 2], reached, seeds, 1e6 * best_s, worst,
                      longest_s);
        assert_true(reached >= seeds - 1);
        hypar_found_free(best);
        release(&t);
    }
}

static const struct {
    const char *model, *machine;
    int64_t batch;
} places[] = {
    { "lenet5", "full:3", 32 }, /* uneven: 10, 11, 11 */
    { "alexnet", "full:5", 64 },
    { "alexnet", "cluster:2x2,device=p100,intra=20GB/s,inter=3GB/s", 64 },
    { "resnet18:image=64", "full:3,bandwidth=2GB/s", 33 },
    { "mlp:784-8192-10", "cluster:1x2,device=h100+cluster:1x2,device=k80", 100 },
    { "rnnlm:steps=4,hidden=256", "cluster:1x3,device=v100+cluster:1x2,device=p100", 64 },
    { "nmt:steps=2,hidden=128,vocab=1000", "cluster:2x2,inter=1GB/s", 32 },
    { "vgg11:image=64", "htree:4,bandwidth=10GB/s,device=v100", 6 },
    { "mlp:64-64-10", "full:1", 8 },
    { "lenet5", "torus:2x3", 4 }, /* fewer samples than devices: dp has no plan */
};

/* Three and five devices, uneven parts, devices that differ, islands: never slower than the
 * planners that it begins with, and what it says is what the simulator says. */
static void never_slower(void **state)
{
    (void)state;
    static const char *const others[] = { "dp", "owt", "hypar", "optcnn" };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct study t = study(places[i].model, places[i].machine, places[i].batch);
        struct hypar_search_options options = { .planner = "flexflow", .proposals = 800 };
        struct hypar_found *found = search(&t, &options);
        double step_s = hypar_found_prediction(found).step_s;
        assert_int_equal(hypar_plan_check(hypar_found_plan(found), NULL), HYPAR_OK);
        assert_true(simulated_s(hypar_found_plan(found)) == step_s);
        assert_int_equal(hypar_found_info(found).proposals, 800);
        print_message("%s on %s: %.6g us", places[i].model, places[i].machine, 1e6 * step_s);
        for (size_t o = 0; o < sizeof others / sizeof others[0]; o++) {
            double theirs = hp_find_planner(others[o]) ? op_pass_of(&t, others[o]) : 0;
            print_message(", %s %.6g", others[o], 1e6 * theirs);
            assert_true(theirs == 0 || step_s <= theirs);
        }
        print_message("\n");
        hypar_found_free(found);
        release(&t);
    }
}

static char *text_of(const struct hypar_plan *plan, size_t *size)
{
    char *text;
    FILE *file = open_memstream(&text, size);
    hypar_plan_write(plan, file);
    fclose(file);
    return text;
}

static void same_text(const struct hypar_found *a, const struct hypar_found *b, bool same)
{
    size_t size[2];
    char *text[2] = { text_of(hypar_found_plan(a), &size[0]),
                      text_of(hypar_found_plan(b), &size[1]) };
    assert_true((size[0] == size[1] && memcmp(text[0], text[1], size[0]) == 0) == same);
    free(text[0]);
    free(text[1]);
}

/* The same seed, the same plan, on one thread or four; and by the count of a timed search. */
static void repeats(void **state)
{
    (void)state;
    struct study t = study("alexnet", "cluster:2x2,intra=20GB/s,inter=3GB/s", 64);
    struct hypar_search_options options = { .planner = "flexflow", .threads = 1, .seed = 3 };
    options.proposals = 1000;
    struct hypar_found *one = search(&t, &options);
    options.threads = 4;
    struct hypar_found *four = search(&t, &options);
    same_text(one, four, true);
    assert_int_equal(hypar_found_info(one).accepted, hypar_found_info(four).accepted);
    hypar_found_free(one);
    hypar_found_free(four);
    options.proposals = 0;
    options.budget_s = 0.05;
    struct hypar_found *timed = search(&t, &options);
    options.budget_s = 0;
    options.proposals = hypar_found_info(timed).proposals;
    struct hypar_found *counted = search(&t, &options);
    same_text(timed, counted, true);
    hypar_found_free(timed);
    hypar_found_free(counted);
    release(&t);
}

static void improves_a_plan(void **state)
{
    (void)state;
    struct study t = study("alexnet", "full:4,bandwidth=3GB/s", 128);
    struct hypar_search_options options = { .planner = "dp" };
    struct hypar_found *dp = search(&t, &options);
    double dp_s = simulated_s(hypar_found_plan(dp));
    options = (struct hypar_search_options){ .start = hypar_found_plan(dp), .proposals = 800 };
    struct hypar_found *better = search(&t, &options);
    assert_string_equal(hypar_found_info(better).planner, "flexflow");
    assert_string_equal(hypar_found_info(better).start, "start");
    assert_true(hypar_found_info(better).start_s == dp_s);
    assert_true(hypar_found_prediction(better).step_s < dp_s);
    options.start = hypar_found_plan(better);
    struct hypar_found *again = search(&t, &options);
    assert_true(hypar_found_prediction(again).step_s <= hypar_found_prediction(better).step_s);
    hypar_found_free(again);
    hypar_found_free(better);
    hypar_found_free(dp);
    release(&t);
}

static void keeps_what_is_fixed(void **state)
{
    (void)state;
    static const char *const planners[] = { "flexflow", "exhaustive", NULL };
    static const char *const fix[] = { "conv2:k=2,h=2", "fc1:unsplit", "tanh4:c=4" };
    struct study t = study("lenet5", "full:4", 0);
    for (int p = 0; p < 3; p++) {
        struct hypar_search_options options = {
            .planner = planners[p], .fix = fix, .n_fix = 3, .proposals = 400
        };
        if (planners[p])
            hypar_keep_options(&options, planners[p]);
        struct hypar_found *found = search(&t, &options);
        const struct hypar_plan *plan = hypar_found_plan(found);
        int conv = hypar_graph_find_op(t.graph, "conv2");
        int fc = hypar_graph_find_op(t.graph, "fc1");
        int tanh = hypar_graph_find_op(t.graph, "tanh4");
        assert_int_equal(hypar_plan_op(plan, conv).n_parts, 4);
        assert_int_equal(hypar_plan_degree(plan, conv, 1), 2);
        assert_int_equal(hypar_plan_degree(plan, conv, 3), 2);
        assert_int_equal(hypar_plan_op(plan, fc).n_parts, 1);
        assert_int_equal(hypar_plan_op(plan, fc).device[0], 0);
        assert_int_equal(hypar_plan_op(plan, tanh).n_parts, 4);
        hypar_found_free(found);
    }
    release(&t);
}

/* Under stages, on the first devices of its own; under pipedream, of every replica's. */
static void keeps_what_is_fixed_in_stages(void **state)
{
    (void)state;
    static const char *const planners[] = { "1f1b", "gpipe", "pipedream" };
    struct study t = study("lenet5", "full:4", 12);
    int fc = hypar_graph_find_op(t.graph, "fc3"), conv = hypar_graph_find_op(t.graph, "conv1");
    for (size_t p = 0; p < sizeof planners / sizeof planners[0]; p++) {
        bool pipedream = strcmp(planners[p], "pipedream") == 0;
        const char *fix[] = { pipedream ? "conv1:unsplit" : "conv1:n=2", "fc3:n=2" };
        struct hypar_search_options first = { .planner = planners[p],
                                              .stages = pipedream ? 0 : 2 };
        struct hypar_found *start = search(&t, &first);
        struct hypar_search_options then = { .planner = "flexflow",
                                             .start = hypar_found_plan(start),
                                             .fix = fix,
                                             .n_fix = pipedream ? 1 : 2,
                                             .proposals = 100 };
        struct hypar_found *found = search(&t, &then);
        const struct hypar_plan *plan = hypar_found_plan(found);
        assert_int_equal(hypar_plan_check(plan, NULL), HYPAR_OK);
        assert_int_equal(hypar_plan_op(plan, conv).n_parts, pipedream ? 1 : 2);
        if (pipedream) /* as it was: a step in the long run, not of the window */
            assert_true(hypar_found_info(found).start_s == simulated_s(then.start));
        const struct hypar_stage *last = &plan->stages[plan->n_stages - 1];
        for (int i = 0; i < 2 && !pipedream; i++)
            assert_int_equal(hypar_plan_op(plan, fc).device[i], last->device[i]);
        for (int i = 0; i < plan->ops[conv].n_devices && pipedream; i++)
            assert_int_equal(plan->ops[conv].device[i], plan->stages[0].device[i]);
        hypar_found_free(found);
        if (pipedream) { /* a replica is one device here */
            struct hypar_error err = { 0 };
            fix[0] = "conv1:k=2";
            assert_int_equal(hypar_search(&found, t.graph, t.machine, &then, &err),
                             HYPAR_INFEASIBLE);
            assert_non_null(strstr(err.text, "fix 'conv1:k=2': 2 parts, but a replica of its "
                                             "stage has 1 device"));
        }
        hypar_found_free(start);
    }
    release(&t);
}

/* Memory ------------------------------------------------------------------------------- */

static double peak_of(const struct hypar_plan *plan)
{
    struct hypar_memory memory[8];
    double most = 0;
    assert_int_equal(hypar_plan_memory(plan, NULL, memory, NULL), HYPAR_OK);
    for (int d = 0; d < hypar_machine_device_count(plan->machine); d++)
        most = memory[d].peak > most ? memory[d].peak : most;
    return most;
}

/* Within limits that some starts exceed, and that all do. */
static void stays_within_memory(void **state)
{
    (void)state;
    static const char *const models[] = { "alexnet", "resnet18:image=64",
                                          "nmt:steps=2,hidden=128,vocab=1000",
                                          "mlp:4096-512-4096-512" };
    static const char *const starts[] = { "dp", "owt", "hypar" };
    int repaired = 0;
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        struct study t = study(models[m], "full:4", 64);
        double least = 1e300, most = 0;
        for (int i = 0; i < 3; i++) {
            struct hypar_search_options plain = { .planner = starts[i] };
            struct hypar_found *found = search(&t, &plain);
            double peak = peak_of(hypar_found_plan(found));
            least = peak < least ? peak : least;
            most = peak > most ? peak : most;
            hypar_found_free(found);
        }
        for (int i = 0; i < 3; i++) {
            struct hypar_search_options options = { .planner = "flexflow", .proposals = 200 };
            struct hypar_found *found;
            options.memory_bytes = i == 0 ? (least + most) / 2 : i == 1 ? least : 0.97 * least;
            enum hypar_status status = hypar_search(&found, t.graph, t.machine, &options, NULL);
            assert_true(i == 2 || status == HYPAR_OK);
            assert_true(!found || peak_of(hypar_found_plan(found)) <= options.memory_bytes);
            repaired += i == 2 && status == HYPAR_OK;
            hypar_found_free(found);
        }
        release(&t);
    }
    print_message("%d found although no start fits\n", repaired);
    assert_true(repaired > 0);
}

static const struct {
    const char *model, *machine;
    struct hypar_search_options options;
    const char *fix;
    enum hypar_status status;
    const char *part;
} bad[] = {
    { "alexnet",
      "full:4",
      { .planner = "flexflow", .memory_bytes = 1e6 },
      NULL,
      HYPAR_INFEASIBLE,
      "the nearest needs" },
    { "lenet5",
      "full:2",
      { .planner = "exhaustive", .memory_bytes = 1e3 },
      NULL,
      HYPAR_INFEASIBLE,
      "the nearest needs" },
    { "alexnet",
      "full:4",
      { .planner = "exhaustive" },
      NULL,
      HYPAR_UNSUPPORTED,
      "plans of 8 operators on 4 devices" },
    { "gpt3-175b",
      "full:1024",
      { .planner = "flexflow", .memory_bytes = 1e300 },
      NULL,
      HYPAR_UNSUPPORTED,
      "tasks" },
    { "lenet5",
      "full:4",
      { .planner = "hypar" },
      "conv1:n=2",
      HYPAR_USAGE,
      "--fix is for planners auto, hybrid, flexflow and exhaustive, not hypar" },
    { "lenet5", "full:4", { .planner = "flexflow" }, "conv1", HYPAR_USAGE, "as conv1:n=2" },
    { "lenet5", "full:4", { .planner = "flexflow" }, ":n=2", HYPAR_USAGE, "as conv1:n=2" },
    { "lenet5", "full:4", { .planner = "flexflow" }, "conv1:n", HYPAR_USAGE, "such as n=2" },
    { "lenet5", "full:4", { .planner = "flexflow" }, "conv1:n=2,", HYPAR_USAGE, "such as" },
    { "lenet5", "full:4", { .planner = "flexflow" }, "conv1:n=0", HYPAR_USAGE, "such as" },
    { "lenet5",
      "full:4",
      { .planner = "flexflow" },
      "conv1:n=99999999999",
      HYPAR_USAGE,
      "such as" },
    { "lenet5", "full:4", { .planner = "flexflow" }, "conv1:n=2,n=2", HYPAR_USAGE, "twice" },
    { "lenet5",
      "full:4",
      { .planner = "flexflow" },
      "conv9:n=2",
      HYPAR_INFEASIBLE,
      "perhaps 'conv" },
    { "lenet5",
      "full:4",
      { .planner = "flexflow" },
      "conv1:q=2",
      HYPAR_INFEASIBLE,
      "no axis 'q'" },
    { "lenet5",
      "full:4",
      { .planner = "flexflow" },
      "conv1:i=2",
      HYPAR_INFEASIBLE,
      "cannot be split" },
    { "lenet5",
      "full:4",
      { .planner = "flexflow" },
      "conv1:n=8",
      HYPAR_INFEASIBLE,
      "8 parts on a machine of 4 devices" },
};

static void bad_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct study t = study(bad[i].model, bad[i].machine, 0);
        struct hypar_search_options options = bad[i].options;
        struct hypar_error err = { 0 };
        struct hypar_found *found;
        options.fix = &bad[i].fix;
        options.n_fix = bad[i].fix != NULL;
        enum hypar_status status = hypar_search(&found, t.graph, t.machine, &options, &err);
        print_message("%s\n", err.text);
        assert_int_equal(status, bad[i].status);
        assert_null(found);
        assert_non_null(strstr(err.text, bad[i].part));
        release(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exhaustive_is_exact),
        cmocka_unit_test(reaches_the_optimum),
        cmocka_unit_test(never_slower),
        cmocka_unit_test(repeats),
        cmocka_unit_test(improves_a_plan),
        cmocka_unit_test(keeps_what_is_fixed),
        cmocka_unit_test(stays_within_memory),
        cmocka_unit_test(bad_requests),
        cmocka_unit_test(keeps_what_is_fixed_in_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
