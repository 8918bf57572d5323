/* Planner optcnn against all configurations, one by one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hypar/program.h>

#include "base/random.h"
#include "plan/framework.h"
#include "search/layerwise/optcnn.h"
#include "tests/length.h"
#include "tests/random_graph.h"

static void near(double got, double want, const char *what)
{
    if (!(fabs(got - want) <= 1e-9 * (fabs(want) > 1e-30 ? fabs(want) : 1e-30)))
        fail_msg("%s: got %.17g, want %.17g", what, got, want);
}

/* The planner's own space and tables, once more. */
struct world {
    struct arena arena;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_search_options options;
    struct topology_view topology;
    struct optcnn_model model;
    struct optcnn_space space;
    struct optcnn_tables tables;
};

static void begin_with(struct world *w, struct hypar_graph *graph, const char *machine,
                       const char *axes, enum hypar_sync sync)
{
    struct hypar_error err;
    *w = (struct world){ .graph = graph };
    w->options =
        (struct hypar_search_options){ .planner = "optcnn", .axes = axes, .sync = sync };
    if (hypar_machine_read(&w->machine, machine, &err) ||
        hp_topology_view(&w->topology, &w->arena, w->machine, &err))
        fail_msg("%s: %s", machine, err.text);
    w->model = (struct optcnn_model){ .arena = &w->arena,
                                      .graph = graph,
                                      .topology = &w->topology,
                                      .framework = hp_framework_row("compiled"),
                                      .sync = sync };
    w->topology.once = sync == HYPAR_SYNC_ALL_REDUCE;
    struct problem problem = { .graph = graph,
                               .machine = w->machine,
                               .options = &w->options,
                               .layered = hp_layered(&w->arena, graph) };
    hp_optcnn_space(&w->space, &w->arena, &problem, &w->topology, axes, 1e9);
    hp_optcnn_tables(&w->tables, &w->model, &w->space);
}

static void begin(struct world *w, struct hypar_graph *graph, const char *machine,
                  const char *axes)
{
    begin_with(w, graph, machine, axes, HYPAR_SYNC_ALL_REDUCE);
}

static void end(struct world *w)
{
    hypar_machine_free(w->machine);
    hypar_graph_free(w->graph);
    hp_arena_free(&w->arena);
}

static double assignments(const struct world *w)
{
    double n = 1;
    for (int v = 0; v < w->space.n_vars; v++)
        n *= w->tables.n_states[v];
    return n;
}

/* Depth first, without leaving anything out (the paper's baseline). Of each edge the later
 * variable adds its cost. */
struct depth_first {
    const struct optcnn_tables *tables;
    int n_vars, *state, *first; /* [var]: its edges in edge[], up to the next one's */
    struct elimination_edge *edge;
};

static double descend(const struct depth_first *d, int v, double sum)
{
    if (v == d->n_vars)
        return sum;
    double best = INFINITY;
    for (int s = 0; s < d->tables->n_states[v]; s++) {
        double with = sum + d->tables->cost[v][s];
        d->state[v] = s;
        for (int e = d->first[v]; e < d->first[v + 1]; e++) {
            const struct elimination_edge *edge = &d->edge[e];
            with += edge->pair[d->state[edge->u] * d->tables->n_states[edge->v] +
                               d->state[edge->v]];
        }
        double found = descend(d, v + 1, with);
        best = found < best ? found : best;
    }
    return best;
}

static double least(struct world *w)
{
    struct depth_first d = { .tables = &w->tables, .n_vars = w->space.n_vars };
    int n = 0;
    d.state = NEW(&w->arena, int, d.n_vars + 1);
    d.first = NEW(&w->arena, int, d.n_vars + 1);
    d.edge = NEW(&w->arena, struct elimination_edge, w->tables.n_pairs + 1);
    for (int v = 0; v < d.n_vars; v++) {
        d.first[v] = n;
        for (int e = 0; e < w->tables.n_pairs; e++) {
            const struct elimination_edge *edge = &w->tables.pairs[e];
            if ((edge->u > edge->v ? edge->u : edge->v) == v)
                d.edge[n++] = *edge;
        }
    }
    d.first[d.n_vars] = n;
    return descend(&d, 0, 0);
}

static double cost_of(struct world *w, const int *state)
{
    struct optcnn_cost c = hp_optcnn_cost(&w->model, &w->space, &w->tables, state);
    return c.compute_s + c.transfer_s + c.sync_s;
}

static double table_sum(const struct world *w, const int *state)
{
    double sum = 0;
    for (int v = 0; v < w->space.n_vars; v++)
        sum += w->tables.cost[v][state[v]];
    for (int e = 0; e < w->tables.n_pairs; e++) {
        const struct elimination_edge *edge = &w->tables.pairs[e];
        sum += edge->pair[state[edge->u] * w->tables.n_states[edge->v] + state[edge->v]];
    }
    return sum;
}

/* What the planner says, its plan being in order. */
static struct hypar_found *search(const struct world *w)
{
    struct hypar_found *found;
    struct hypar_error err;
    if (hypar_search(&found, w->graph, w->machine, &w->options, &err))
        fail_msg("%s", err.text);
    assert_int_equal(hypar_plan_check(hypar_found_plan(found), NULL), HYPAR_OK);
    return found;
}

static double planned(const struct world *w)
{
    struct hypar_found *found = search(w);
    double s = hypar_found_prediction(found).step_s;
    assert_true(hypar_found_info(found).exact);
    near(hypar_found_info(found).lower_bound_s, s, "lower bound");
    hypar_found_free(found);
    return s;
}

static void check(struct world *w, const char *what, struct random *random, double most)
{
    int *state = NEW(&w->arena, int, w->space.n_vars + 1);
    double found = planned(w);
    for (int i = 0; i < 20; i++) { /* tables are what they stand for */
        for (int v = 0; v < w->space.n_vars; v++)
            state[v] = (int)hp_random_below(random, w->tables.n_states[v]);
        double sum = table_sum(w, state);
        near(cost_of(w, state), sum, what);
        assert_true(found <= sum * (1 + 1e-9));
    }
    if (assignments(w) <= most)
        near(found, least(w), what);
}

/* Networks ------------------------------------------------------------------------------- */

/* Done when lenet5 and alexnet with 4 devices equal exhaustive search. */
static void small_networks(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine, *axes;
        enum hypar_sync sync;
    } cases[] = {
        { "lenet5", "full:4", "nkhw", HYPAR_SYNC_SERVER },
        { "lenet5", "cluster:2x2", "nkhw", HYPAR_SYNC_ALL_REDUCE },
        { "lenet5", "htree:4", "nkhwtc", HYPAR_SYNC_SERVER },
        { "lenet5", "full:3", "nkhw", HYPAR_SYNC_ALL_REDUCE },
        { "lenet5", "full:5", "nkhw", HYPAR_SYNC_SERVER },
        { "lenet5", "ring:6", "nkh", HYPAR_SYNC_ALL_REDUCE },
        { "lenet5", "cluster:1x2,device=h100+cluster:1x2,device=a100", "nkhw",
          HYPAR_SYNC_SERVER },
        { "lenet-c", "cluster:2x4", "nk", HYPAR_SYNC_ALL_REDUCE },
        { "mlp:64-128-64-10", "torus:2x4", "nkc", HYPAR_SYNC_SERVER },
        { "alexnet", "cluster:1x4", "nkhw", HYPAR_SYNC_ALL_REDUCE },
        { "alexnet", "full:4", "nkhw", HYPAR_SYNC_SERVER },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_error err;
        struct random random = { i };
        struct world w;
        if (hypar_import(&graph, cases[i].model, &(struct hypar_import_options){ .batch = 128 },
                         &err))
            fail_msg("%s", err.text);
        begin_with(&w, graph, cases[i].machine, cases[i].axes, cases[i].sync);
        print_message("%s on %s by %s: %.0f assignments\n", cases[i].model, cases[i].machine,
                      cases[i].axes, assignments(&w));
        assert_true(assignments(&w) <= 3e8);
        check(&w, cases[i].model, &random, 3e8);
        end(&w);
    }
}

/* 15 configurations of four dimensions on four devices, 6 of two (the paper's C). */
static void paper_counts(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_error err;
    struct world w;
    assert_int_equal(hypar_import(&graph, "alexnet", NULL, &err), HYPAR_OK);
    begin(&w, graph, "full:4", "nkhw");
    for (int v = 0; v < w.space.n_vars; v++) {
        bool conv = graph->ops[w.space.lead[v]].kind == OP_CONV;
        assert_int_equal(w.tables.n_states[v], conv ? 15 : 6);
    }
    end(&w);
}

/* Random graphs -------------------------------------------------------------------------- */

static void random_graphs(void **state)
{
    (void)state;
    static const char *const machines[] = { "full:2",      "full:3",      "cluster:2x2",
                                            "cluster:1x4", "ring:4",      "htree:4",
                                            "full:5",      "cluster:2x3", "torus:2x2" };
    static const char *const axes[] = { "nkhw", "nkhwt", "nkhwtc", "n", "nkc" };
    int64_t wanted = length_of("HYPAR_OPTCNN_GRAPHS", 250, 2000, 5000);
    int exhaustive = 0, graphs = 0;
    for (uint64_t seed = 1; exhaustive < wanted; seed++) {
        char what[64];
        struct random random = { seed };
        struct world w;
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        /* slow devices without latency are worth using */
        char machine[128];
        snprintf(machine, sizeof machine, "%s%s", machines[hp_random_below(&random, 9)],
                 one_in(&random, 3)
                     ? ""
                     : ",latency=0us,fp32=1GFLOP/s,memory-bandwidth=1GB/s,device=h100");
        begin_with(&w, graph, machine, axes[hp_random_below(&random, 5)],
                   one_in(&random, 2) ? HYPAR_SYNC_SERVER : HYPAR_SYNC_ALL_REDUCE);
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        exhaustive += assignments(&w) <= 20000;
        check(&w, what, &random, 20000);
        graphs++;
        end(&w);
    }
    print_message("%d graphs, %d of them exhaustively\n", graphs, exhaustive);
}

/* Plans ---------------------------------------------------------------------------------- */

/* Parts on the first devices, as many as the degrees say, everything within the machine; and
 * what the program sends is what the model says where both mean the same: nothing replicated,
 * nothing read twice. */
static void plans_are_ordinary(void **state)
{
    (void)state;
    static const char *const models[] = { "resnet18",    "inception-v3",  "mobilenet-v2",
                                          "densenet121", "bert:layers=2", "nmt:steps=3" };
    static const char *const machines[] = { "cluster:2x4", "full:6", "full:3", "torus:2x4" };
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
        for (size_t k = 0; k < sizeof machines / sizeof machines[0]; k++) {
            struct hypar_graph *graph = NULL;
            struct hypar_machine *machine = NULL;
            struct hypar_found *found = NULL;
            struct hypar_program *program = NULL;
            struct hypar_error err;
            if (hypar_import(&graph, models[m], NULL, &err) ||
                hypar_machine_read(&machine, machines[k], &err) ||
                hypar_search(&found, graph, machine,
                             &(struct hypar_search_options){ .planner = "optcnn" }, &err))
                fail_msg("%s on %s: %s", models[m], machines[k], err.text);
            const struct hypar_plan *plan = hypar_found_plan(found);
            if (hypar_plan_check(plan, &err) || hypar_lower(&program, plan, NULL, &err))
                fail_msg("%s on %s: %s", models[m], machines[k], err.text);
            const struct hypar_layerwise_view *view = hypar_found_layerwise(found);
            struct hypar_prediction p = hypar_found_prediction(found);
            near(p.step_s, view->compute_s + view->transfer_s + view->sync_s, "Eq. 1");
            near(p.comm_bytes, view->transfer_bytes + view->sync_bytes, "bytes");
            assert_false(view->thinned);
            print_message("%s on %s: %.1f ms, model %.4g MB, program %.4g MB\n", models[m],
                          machines[k], 1e3 * hypar_found_info(found).seconds,
                          1e-6 * p.comm_bytes, 1e-6 * hypar_program_totals(program).comm_bytes);
            hypar_program_free(program);
            hypar_found_free(found);
            hypar_machine_free(machine);
            hypar_graph_free(graph);
        }
}

/* On a chain of layers divided by samples and channels the program sends just what t_X and t_S
 * count: gradients summed and handed back, tensors moved there and their errors back. */
static void bytes_are_the_programs(void **state)
{
    (void)state;
    static const char *const models[] = { "mlp:64-256-128-10", "lenet5", "alexnet-optcnn" };
    static const char *const machines[] = { "full:2", "full:4", "cluster:2x2" };
    for (int m = 0; m < 3; m++)
        for (int k = 0; k < 3; k++) {
            struct hypar_graph *graph;
            struct hypar_error err;
            struct world w;
            assert_int_equal(hypar_import(&graph, models[m],
                                          &(struct hypar_import_options){ .batch = 64 }, &err),
                             HYPAR_OK);
            begin(&w, graph, machines[k], "nk");
            struct hypar_found *found = search(&w);
            struct hypar_program *program;
            assert_int_equal(hypar_lower(&program, hypar_found_plan(found), NULL, &err),
                             HYPAR_OK);
            const struct hypar_layerwise_view *view = hypar_found_layerwise(found);
            double sent = hypar_program_totals(program).comm_bytes;
            double model = view->transfer_bytes + view->sync_bytes;
            print_message("%s on %s: model %.0f, program %.0f bytes\n", models[m], machines[k],
                          model, sent);
            assert_true(fabs(sent - model) <= 0.01 * sent + 4096);
            hypar_program_free(program);
            hypar_found_free(found);
            end(&w);
        }
}

/* Within memory; and refused, with what is needed, where nothing fits. */
static void memory(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_error err;
    struct world w;
    assert_int_equal(hypar_import(&graph, "vgg16", NULL, &err), HYPAR_OK);
    begin(&w, graph, "full:4", "nkhw");
    struct hypar_found *free_found = search(&w);
    double need = hypar_found_prediction(free_found).state_bytes;
    double fastest = hypar_found_prediction(free_found).step_s;
    for (double part = 0.95; part > 0.3; part -= 0.2) {
        struct hypar_found *found;
        w.options.memory_bytes = part * need;
        enum hypar_status status = hypar_search(&found, graph, w.machine, &w.options, &err);
        if (status != HYPAR_OK) {
            print_message("%s\n", err.text);
            assert_int_equal(status, HYPAR_INFEASIBLE);
            assert_non_null(strstr(err.text, "weights, gradients and sgd state need"));
            continue;
        }
        struct hypar_prediction p = hypar_found_prediction(found);
        struct hypar_search_info info = hypar_found_info(found);
        print_message("%.0f of %.0f bytes: step %g, at least %g, without limit %g\n",
                      p.state_bytes, part * need, p.step_s, info.lower_bound_s, fastest);
        assert_true(p.state_bytes <= part * need);
        assert_true(p.step_s >= fastest && info.lower_bound_s >= fastest * (1 - 1e-9));
        assert_true(info.lower_bound_s <= p.step_s * (1 + 1e-9));
        hypar_found_free(found);
    }
    w.options.memory_bytes = 1e6;
    struct hypar_found *none;
    assert_int_equal(hypar_search(&none, graph, w.machine, &w.options, &err), HYPAR_INFEASIBLE);
    w.options = (struct hypar_search_options){ .planner = "optcnn", .axes = "nz" };
    assert_int_equal(hypar_search(&none, graph, w.machine, &w.options, &err), HYPAR_USAGE);
    assert_non_null(strstr(err.text, "'nz'"));
    hypar_found_free(free_found);
    end(&w);
}

/* The same request, the same plan; and many devices: fewer configurations, said so. */
static void many_devices(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_error err;
    char *text[2];
    size_t size[2];
    assert_int_equal(
        hypar_import(&graph, "resnet18", &(struct hypar_import_options){ .batch = 4096 }, &err),
        HYPAR_OK);
    assert_int_equal(hypar_machine_read(&machine, "cluster:128x8,device=h100", &err), HYPAR_OK);
    for (int i = 0; i < 2; i++) {
        struct hypar_found *found;
        if (hypar_search(&found, graph, machine,
                         &(struct hypar_search_options){ .planner = "optcnn" }, &err))
            fail_msg("%s", err.text);
        assert_true(hypar_found_layerwise(found)->thinned);
        assert_false(hypar_found_info(found).exact);
        assert_true(hypar_found_info(found).lower_bound_s == 0);
        FILE *file = open_memstream(&text[i], &size[i]);
        hypar_plan_write(hypar_found_plan(found), file);
        fclose(file);
        hypar_found_free(found);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(text[0], text[1], size[0]);
    free(text[0]);
    free(text[1]);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_networks),         cmocka_unit_test(paper_counts),
        cmocka_unit_test(random_graphs),          cmocka_unit_test(plans_are_ordinary),
        cmocka_unit_test(bytes_are_the_programs), cmocka_unit_test(memory),
        cmocka_unit_test(many_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
