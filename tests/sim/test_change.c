/* Changes of several operators at once: proposals are valid, delta equals full simulation,
 * undoing restores the state, a limit is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "search/mcmc/propose.h"
#include "sim/delta/delta.h"
#include "sim/full/timeline.h"
#include "tests/random_plan.h"

/* How plans are lowered and simulated. */
static const struct hypar_sim_options plain = { 0 };
static const struct hypar_sim_options no_overlap = { .no_overlap = true };
static const struct hypar_sim_options expanded = { .expand_collectives = true };
static const struct hypar_sim_options local = { .lower = { .local_bn = true } };

static ticks in_full(const struct hypar_plan *plan, const struct hypar_sim_options *way)
{
    struct lowering *lowering;
    assert_int_equal(hp_lowering_make(&lowering, plan, &way->lower, NULL, NULL), HYPAR_OK);
    struct timing *timing = hp_timing_new(lowering, NULL, way, NULL);
    ticks length = hp_timeline_run(timing, NULL);
    hp_timing_free(timing);
    hp_lowering_free(lowering);
    return length;
}

struct walk {
    struct hypar_plan *plan;
    const struct hypar_sim_options *way;
    struct delta *delta;
    struct proposer proposer;
    struct proposal now, was;
    struct random random;
    int64_t made[MOVE_COUNT], several, hopeless, failed, kept;
};

static bool begin(struct walk *w, struct hypar_plan *plan, const struct hypar_sim_options *way,
                  const bool *fixed, uint64_t seed)
{
    *w = (struct walk){ .plan = plan, .way = way, .random = { seed } };
    if (hp_delta_new(&w->delta, plan, way, NULL, NULL) != HYPAR_OK)
        return false;
    hp_proposer_begin(&w->proposer, plan, fixed);
    hp_proposal_begin(&w->now, plan->graph);
    hp_proposal_begin(&w->was, plan->graph);
    return true;
}

static void end(struct walk *w)
{
    hp_delta_free(w->delta);
    hp_proposer_end(&w->proposer);
    hp_proposal_end(&w->now);
    hp_proposal_end(&w->was);
}

static void take_back(struct walk *w, ticks was)
{
    hp_proposal_apply(w->plan, &w->was);
    hp_delta_undo(w->delta);
    assert_true(hp_delta_length(w->delta) == was);
    /* no change at all stays within what there is */
    assert_int_equal(hp_delta_change(w->delta, w->now.op, 0, was, NULL), HYPAR_OK);
    assert_true(hp_delta_length(w->delta) == was);
    hp_delta_undo(w->delta);
}

/* One proposal, held against the full simulation; kept one time in three. */
static void step(struct walk *w, enum move move)
{
    struct hypar_error err = { 0 };
    ticks before = hp_delta_length(w->delta), limit = HP_MAX_TICKS;
    if (!hp_propose(&w->proposer, &w->random, move, &w->now))
        return;
    w->made[move]++;
    w->several += w->now.n > 1;
    hp_proposal_save(w->plan, &w->now, &w->was);
    hp_proposal_apply(w->plan, &w->now);
    if (hypar_plan_check(w->plan, &err) != HYPAR_OK)
        fail_msg("move %d: %s", (int)move, err.text);
    if (hp_random_below(&w->random, 2))
        limit = before / 2 + hp_random_below(&w->random, before + 1);
    enum hypar_status status = hp_delta_change(w->delta, w->now.op, w->now.n, limit, &err);
    if (status != HYPAR_OK) {
        w->failed++;
        take_back(w, before);
        return;
    }
    ticks length = hp_delta_length(w->delta), full = in_full(w->plan, w->way);
    if (length > limit) {
        w->hopeless += length != full;
        assert_true(full >= length);
        take_back(w, before);
        return;
    }
    if (length != full)
        fail_msg("move %d of %d operators: %lld ticks by delta, %lld in full", (int)move,
                 w->now.n, (long long)length, (long long)full);
    if (hp_random_below(&w->random, 3)) {
        take_back(w, before);
    } else {
        hp_delta_keep(w->delta);
        w->kept++;
    }
}

static const struct {
    const char *model, *machine;
    const struct hypar_sim_options *way;
} places[] = {
    { "lenet5", "full:4,device=p100", &plain },
    { "rnnlm:steps=3,hidden=32,vocab=100", "full:3", &plain },
    { "nmt:steps=2,hidden=32,vocab=64", "cluster:2x2", &plain },
    { "resnet18:image=32,classes=10", "cluster:1x2,device=h100+cluster:1x3,device=a100",
      &plain },
    { "googlenet:image=64", "full:5", &plain },
    { "gpt:layers=2,hidden=32,heads=2,seq=16,vocab=64", "torus:2x4", &plain },
    { "lenet5", "full:4", &no_overlap },
    { "lenet5", "torus:2x2", &expanded },
    { "resnet18:image=32,classes=10", "cluster:2x2", &local },
};

static struct hypar_plan *whole_plan(const struct hypar_graph *graph,
                                     const struct hypar_machine *machine)
{
    struct hypar_plan_settings settings = { 0 };
    return hp_plan_new(graph, machine, &settings);
}

static void every_move(void **state)
{
    (void)state;
    enum { STEPS = 140 };
    int64_t made[MOVE_COUNT] = { 0 }, several = 0, hopeless = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_error err = { 0 };
        struct walk w;
        if (hypar_import(&graph, places[i].model, NULL, &err) != HYPAR_OK ||
            hypar_machine_read(&machine, places[i].machine, &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        struct hypar_plan *plan = whole_plan(graph, machine);
        assert_true(begin(&w, plan, places[i].way, NULL, 17 + i));
        for (int s = 0; s < STEPS; s++)
            step(&w, (enum move)(s % MOVE_COUNT));
        print_message("%s on %s: %lld kept, %lld failed\n", places[i].model, places[i].machine,
                      (long long)w.kept, (long long)w.failed);
        assert_true(w.kept > 0);
        assert_true(w.failed > 0 || places[i].way != &local);
        for (int m = 0; m < MOVE_COUNT; m++)
            made[m] += w.made[m];
        several += w.several;
        hopeless += w.hopeless;
        end(&w);
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
    for (int m = 0; m < MOVE_COUNT; m++)
        assert_true(made[m] > 10);
    assert_true(several > 100);
    print_message("%lld changes of several operators, %lld known to be hopeless\n",
                  (long long)several, (long long)hopeless);
    assert_true(hopeless > 40);
}

/* Stages and micro-batches, copies, empty parts, several parts on one device. */
static void random_pairs(void **state)
{
    (void)state;
    enum { PAIRS = 1000, STEPS = 14 };
    static const char *const machines[] = { "full:1", "full:3", "htree:4", "cluster:2x3" };
    struct plan_focus none = { -1, -1, -1, false };
    for (uint64_t seed = 1; seed <= PAIRS; seed++) {
        struct random random = { seed * 0x9e3779b97f4a7c15u };
        struct hypar_machine *machine;
        struct walk w;
        assert_int_equal(hypar_machine_read(&machine, machines[seed % 4], NULL), HYPAR_OK);
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_plan *plan = random_plan(&random, graph, machine, &none);
        struct hypar_error err;
        enum hypar_shard most = plan->schedule.kind == HYPAR_SCHEDULE_PIPEDREAM
                                    ? HYPAR_SHARD_OPTIMIZER
                                    : HYPAR_SHARD_PARAMETERS;
        enum hypar_shard shard = (enum hypar_shard)(seed / 4 % (most + 1));
        if (hypar_plan_shard_all(plan, shard, 0, &err) != HYPAR_OK)
            hypar_plan_shard_all(plan, HYPAR_SHARD_NONE, 0, &err);
        if (begin(&w, plan, &plain, NULL, seed)) {
            for (int s = 0; s < STEPS; s++)
                step(&w, (enum move)(s % MOVE_COUNT));
            end(&w);
        }
        hypar_plan_free(plan);
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
}

static void fixed_ones_stay(void **state)
{
    (void)state;
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct walk w;
    bool fixed[64] = { false };
    assert_int_equal(hypar_import(&graph, "lenet5", NULL, NULL), HYPAR_OK);
    assert_int_equal(hypar_machine_read(&machine, "full:4", NULL), HYPAR_OK);
    for (int op = 0; op < graph->n_ops; op += 3)
        fixed[op] = true;
    struct hypar_plan *plan = whole_plan(graph, machine);
    assert_true(begin(&w, plan, &plain, fixed, 3));
    for (int s = 0; s < 2000; s++)
        if (hp_propose(&w.proposer, &w.random, (enum move)(s % MOVE_COUNT), &w.now))
            for (int i = 0; i < w.now.n; i++)
                assert_false(fixed[w.now.op[i]]);
    end(&w);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Following ----------------------------------------------------------------------------- */

static const struct follow_case {
    const char *from, *to;
    const char *split; /* of from: axis and degree, one digit each */
    const char *want;  /* of to */
} follow_cases[] = {
    { "conv1", "tanh1", "n4", "n4" },       { "conv1", "tanh1", "k2h2", "c2h2" },
    { "tanh1", "pool1", "w4", "w4" },       { "conv1", "tanh1", "c1n2", "n2" },
    { "pool2", "flatten", "n2c2", "n2c2" }, { "pool2", "flatten", "h4", "n4" },
    { "pool2", "flatten", "n2w2", "n4" },   { "fc1", "tanh3", "k4", "c4" },
    { "fc1", "tanh3", "c4", "n4" },         { "fc1", "tanh3", "r4", "r4" },
};

static struct split split_of(const struct nest *nest, const char *text)
{
    struct split split = { 0 };
    for (int a = 0; a < nest->n_axes; a++)
        split.degree[a] = 1;
    for (; *text; text += 2)
        split.degree[hp_nest_axis(nest, text[0])] = text[1] - '0';
    return split;
}

static void followers_stay_with_their_data(void **state)
{
    (void)state;
    struct hypar_graph *g;
    struct arena arena = { 0 };
    static const int device[] = { 5, 3, 7, 1 };
    assert_int_equal(hypar_import(&g, "lenet5", NULL, NULL), HYPAR_OK);
    for (size_t i = 0; i < sizeof follow_cases / sizeof follow_cases[0]; i++) {
        const struct follow_case *c = &follow_cases[i];
        int from = hypar_graph_find_op(g, c->from), to = hypar_graph_find_op(g, c->to);
        assert_true(from >= 0 && to >= 0);
        const struct nest *nest = g->ops[to].nest;
        struct op_config config = { .op = from, .replicas = 1, .device = device };
        config.split = split_of(g->ops[from].nest, c->split);
        config.n_parts = hp_part_count(g->ops[from].nest, &config.split);
        int tensor = g->ops[from].tensor[g->ops[from].nest->n_inputs];
        struct op_config got = hp_config_follow(g, tensor, &config, to, &arena);
        struct split want = split_of(nest, c->want);
        for (int a = 0; a < nest->n_axes; a++)
            if (got.split.degree[a] != want.degree[a])
                fail_msg("%s %s: %s has degree %d along %s, expected %d", c->from, c->split,
                         c->to, got.split.degree[a], nest->axis[a].name, want.degree[a]);
        for (int part = 0; part < got.n_parts; part++)
            assert_int_equal(got.device[part], device[part]);
    }
    hp_arena_free(&arena);
    hypar_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_move),
        cmocka_unit_test(random_pairs),
        cmocka_unit_test(fixed_ones_stay),
        cmocka_unit_test(followers_stay_with_their_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
