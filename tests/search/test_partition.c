/* The partition against a second implementation of the papers' model
 * (tests/partition_oracle.c): the counted exchange agrees with the tables, each level of the
 * greedy search is a minimum, and all levels at once give the minimum of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "model/zoo/layers.h"
#include "tests/partition_oracle.h"

enum {
    TWO = 1u << TYPE_I | 1u << TYPE_II | 1u << TYPE_CHANNEL,
    THREE = TWO | 1u << TYPE_III,
    MOST_CHOICES = 1 << 17, /* that are tried one by one */
};

static void near(double got, double want, const char *what)
{
    double slack = 1e-9 * (want > 1 ? want : 1);
    if (!(got >= want - slack && got <= want + slack))
        fail_msg("%s: got %.17g, want %.17g", what, got, want);
}

/* Solve greedily and jointly; hold both against the oracle, and against everything there is
 * where that is not too much. Returns the number of exhaustive searches. */
static int check(struct partition_problem p, const char *what)
{
    struct arena arena = { 0 };
    struct hypar_error err;
    struct partition greedy, joint;
    double elements[MAX_LEVELS];
    int tried = 0;
    p.joint = false;
    if (hp_partition(&arena, &p, &greedy, &err))
        fail_msg("%s: %s", what, err.text);
    near(greedy.total_elements, oracle_cost(&p, greedy.type, elements), what);
    double groups = 1;
    for (int h = 0; h < p.n_levels; h++) {
        near(greedy.level_elements[h], elements[h], what);
        if (oracle_choices(&p, h, h + 1) <= MOST_CHOICES) {
            near(groups * greedy.level_elements[h], oracle_least(&p, greedy.type, h, h + 1),
                 what);
            assert_true(greedy.exact);
            tried++;
        }
        groups *= p.ways[h];
    }
    p.joint = true;
    if (hp_partition(&arena, &p, &joint, &err))
        fail_msg("%s: %s", what, err.text);
    near(joint.total_elements, oracle_cost(&p, joint.type, NULL), what);
    assert_true(joint.total_elements <= greedy.total_elements);
    assert_true(joint.lower_bound <= joint.total_elements * (1 + 1e-9));
    if (oracle_choices(&p, 0, p.n_levels) <= MOST_CHOICES) {
        near(joint.total_elements, oracle_least(&p, NULL, 0, p.n_levels), what);
        assert_true(joint.exact);
        tried++;
    }
    hp_arena_free(&arena);
    return tried;
}

/* Networks ---------------------------------------------------------------------------- */

/* A graph on `n_levels` of `ways` sides with some types for its weighted layers. */
static int check_graph(const struct hypar_graph *graph, int n_levels, int ways, unsigned types)
{
    struct arena arena = { 0 };
    char what[128];
    struct partition_problem p = { .layered = hp_layered(&arena, graph), .n_levels = n_levels };
    unsigned *allowed = NEW(&arena, unsigned, n_levels *p.layered->n_nodes);
    for (int i = 0; i < n_levels * p.layered->n_nodes; i++) {
        const struct layer_node *node = &p.layered->node[i % p.layered->n_nodes];
        allowed[i] = node->weighted && node->types & types ? node->types & types : node->types;
    }
    p.allowed = allowed;
    for (int h = 0; h < n_levels; h++)
        p.ways[h] = ways;
    snprintf(what, sizeof what, "%s, %d levels of %d, %s types", graph->name, n_levels, ways,
             types == TWO ? "two" : "three");
    int tried = check(p, what);
    print_message("%s: %d variables, %d edges, %d exhaustive searches\n", what,
                  p.layered->n_vars, p.layered->n_edges, tried);
    hp_arena_free(&arena);
    return tried;
}

static int check_model(const char *model, int n_levels, int ways, unsigned types)
{
    struct hypar_graph *graph;
    struct hypar_error err;
    if (hypar_import(&graph, model, NULL, &err))
        fail_msg("%s", err.text);
    int tried = check_graph(graph, n_levels, ways, types);
    hypar_graph_free(graph);
    return tried;
}

/* The paper's chains: every level; all levels of the shorter ones. */
static void chains(void **state)
{
    (void)state;
    static const char *const models[] = { "sfc",   "sconv", "lenet-c", "cifar-c", "alexnet-t",
                                          "vgg-a", "vgg-b", "vgg-c",   "vgg-d" };
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        assert_true(check_model(models[i], 4, 2, TWO) >= 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(check_model(models[i], 4, 2, TWO), 5); /* 65,536 columns */
        assert_int_equal(check_model(models[i], 2, 2, THREE), 3);
        assert_int_equal(check_model(models[i], 2, 3, THREE), 3);
    }
    assert_int_equal(check_model("cifar-c", 3, 2, TWO), 4);
    assert_int_equal(check_model("mlp:784-500-10", 5, 2, THREE), 6);
    assert_int_equal(check_model("mlp:784-500-10", 8, 2, TWO), 9);
}

/* Branches, joins, shared and transposed parameters, in cut-down networks. */
static void branches(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int n_levels;
        unsigned types;
    } cases[] = {
        { "nmt:steps=1,layers=1", 2, TWO },   { "nmt:steps=1,layers=1", 1, THREE },
        { "nmt:steps=2,layers=1", 1, TWO },   { "rnnlm:steps=2,layers=1", 3, TWO },
        { "rnnlm:steps=3,layers=2", 2, TWO }, { "rnnlm:steps=2,layers=1", 2, THREE },
        { "rnntc:steps=3,layers=2", 3, TWO }, { "bert:layers=1", 1, TWO },
        { "gpt:layers=1", 1, TWO },           { "llama:layers=1", 1, TWO },
        { "vit-b-16:layers=1", 1, TWO },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int ways = 2; ways <= 3; ways++)
            assert_true(check_model(cases[i].model, cases[i].n_levels, ways, cases[i].types) >
                        0);
}

/* Cut-down networks that are not in the zoo: two residual blocks, one with a convolution on its
 * short cut; a block of four branches; a block that joins all that went before; groups. */
static int residual(struct net *net, int x)
{
    int y = conv(net, "a1", x, 16, 3, 1, 1);
    y = add(net, "add_a", conv(net, "a2", relu(net, "relu_a", y), 8, 3, 1, 1), x);
    int skip = conv(net, "short", y, 32, 1, 2, 0);
    return add(net, "add_b", conv(net, "b1", y, 32, 3, 2, 1), skip);
}

static int inception(struct net *net, int x)
{
    int branch[4] = { conv(net, "one", x, 16, 1, 1, 0), conv(net, "two", x, 8, 3, 1, 1),
                      conv(net, "three", x, 4, 5, 1, 2), max_pool(net, "pool", x, 3, 1, 1) };
    return conv(net, "after", hp_net_concat(net, "concat", branch, 4, 1), 24, 1, 1, 0);
}

static int dense(struct net *net, int x)
{
    int all[4] = { x };
    for (int i = 1; i < 4; i++) {
        int y = i == 1 ? x : hp_net_concat(net, hp_net_label(net, "join%d", i), all, i, 1);
        all[i] = conv(net, hp_net_label(net, "conv%d", i), y, 12, 3, 1, 1);
    }
    return hp_net_concat(net, "join", all, 4, 1);
}

static int grouped(struct net *net, int x)
{
    int y = conv(net, "expand", x, 48, 1, 1, 0);
    y = hp_net_depthwise(net, "depthwise", y, square(3, 1, 1));
    return add(net, "add", conv(net, "project", y, 8, 1, 1, 0), x);
}

static void cut_down(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int (*build)(struct net *net, int x);
    } cases[] = { { "residual", residual },
                  { "inception", inception },
                  { "dense", dense },
                  { "grouped", grouped } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_error err;
        struct hypar_graph *graph;
        struct net net = { .builder = hp_build(cases[i].name, 8), .batch = 8, .err = &err };
        int x = conv(&net, "stem", images(&net, 3, 16), 8, 3, 1, 1);
        x = apply(&net, OP_GLOBAL_AVG_POOL, "mean", cases[i].build(&net, x));
        hp_net_classify(&net, linear_bias(&net, "fc", x, 10));
        assert_int_equal(net.status, HYPAR_OK);
        assert_int_equal(hp_build_finish(net.builder, &graph, &err), HYPAR_OK);
        for (int ways = 2; ways <= 3; ways++) {
            assert_int_equal(check_graph(graph, 1, ways, TWO), 2);
            assert_int_equal(check_graph(graph, 1, ways, THREE), 2);
            check_graph(graph, 2, ways, TWO);
            check_graph(graph, 4, ways, TWO);
            check_graph(graph, 3, ways, THREE);
        }
        hypar_graph_free(graph);
    }
}

/* Random problems --------------------------------------------------------------------- */

static double random_size(struct random *random)
{
    return (double)(1 + hp_random_below(random, 1 << hp_random_below(random, 16)));
}

static unsigned random_types(struct random *random, bool weighted)
{
    unsigned types = weighted ? (unsigned)hp_random_below(random, 1 << TYPE_COUNT)
                              : 1u << TYPE_I | 1u << TYPE_CHANNEL;
    return types ? types : 1u << TYPE_I;
}

/* A graph of a few nodes; some weighted ones share a variable, whose types are the first's. */
static struct layered *random_layered(struct arena *arena, struct random *random)
{
    struct layered *l = NEW(arena, struct layered, 1);
    l->n_nodes = 2 + (int)hp_random_below(random, 5);
    l->node = NEW(arena, struct layer_node, l->n_nodes);
    l->edge = NEW(arena, struct layer_edge, 3 * l->n_nodes);
    for (int n = 0; n < l->n_nodes; n++) {
        struct layer_node *node = &l->node[n];
        int other = n && hp_random_below(random, 4) == 0 ? (int)hp_random_below(random, n) : n;
        bool shares = other < n && l->node[other].weighted;
        node->weighted = shares || hp_random_below(random, 4) != 0;
        node->types = shares ? (1u << TYPE_COUNT) - 1 : random_types(random, node->weighted);
        node->var = shares ? l->node[other].var : l->n_vars++;
        node->swapped = shares && hp_random_below(random, 2);
        node->sizes = (struct layer_sizes){ random_size(random), random_size(random),
                                            random_size(random), 0 };
        if (hp_random_below(random, 8) == 0)
            node->sizes.frozen = node->sizes.weight;
        int n_edges = n ? 1 + (int)hp_random_below(random, 2) : 0;
        for (int e = 0; e < n_edges; e++)
            l->edge[l->n_edges++] =
                (struct layer_edge){ (int)hp_random_below(random, n), n, random_size(random) };
    }
    return l;
}

static void random_problems(void **state)
{
    (void)state;
    int tried = 0;
    for (uint64_t seed = 1; seed <= 6000; seed++) {
        struct arena arena = { 0 };
        struct random random = { seed };
        char what[32];
        struct partition_problem p = { .layered = random_layered(&arena, &random) };
        p.n_levels = 1 + (int)hp_random_below(&random, 4);
        for (int h = 0; h < p.n_levels; h++) {
            p.ways[h] = 2 + (hp_random_below(&random, 3) == 0);
            if (p.ways[h] == 2 && hp_random_below(&random, 4) == 0)
                p.least_share[h] = 0.05 + 0.4 * hp_random_unit(&random);
        }
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        while (p.n_levels > 1 && oracle_choices(&p, 0, p.n_levels) > 3000)
            p.n_levels--;
        tried += check(p, what);
        hp_arena_free(&arena);
    }
    print_message("%d exhaustive searches\n", tried);
    assert_true(tried > 8000);
}

/* Where nothing is allowed, the layer and the level are named. */
static void nothing_allowed(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_error err;
    struct arena arena = { 0 };
    struct partition found;
    assert_int_equal(hypar_import(&graph, "lenet-c", NULL, &err), HYPAR_OK);
    struct partition_problem p = { .layered = hp_layered(&arena, graph),
                                   .n_levels = 2,
                                   .ways = { 2, 2 } };
    unsigned allowed[] = { TWO, TWO, TWO, TWO, TWO, TWO, 0, TWO };
    p.allowed = allowed;
    assert_int_equal(hp_partition(&arena, &p, &found, &err), HYPAR_INVALID);
    assert_string_equal(err.text, "'fc1' cannot be divided as asked at level H2");
    hp_arena_free(&arena);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains),          cmocka_unit_test(branches),
        cmocka_unit_test(cut_down),        cmocka_unit_test(random_problems),
        cmocka_unit_test(nothing_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
