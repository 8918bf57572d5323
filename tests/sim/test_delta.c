/* Plans that change one operator at a time: the timeline by delta equals the full one, task by
 * task, on random graphs and on networks of the zoo.
 *
 *     HYPAR_DELTA_PAIRS   how many random pairs of graph and plan (600)
 *     HYPAR_DELTA_SEED    the first seed (1)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <hypar/search.h>
#include <hypar/sim.h>

#include "search/mcmc/propose.h"
#include "sim/delta/delta.h"
#include "sim/full/timeline.h"
#include "tests/random_plan.h"

enum { CHANGES = 12 };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* In the second, third and fourth a pass of a random graph takes a few picoseconds or none and
 * a message none: everything is a tie. */
static const char *const words[] = {
    "full:4",
    "full:4,latency=0s,bandwidth=1e18B/s,fp64=1e15,memory-bandwidth=1e15B/s",
    "cluster:2x3,latency=0s,bandwidth=1e18B/s,fp64=1e18,memory-bandwidth=1e18B/s",
    "ring:5,latency=1ns,bandwidth=1e18B/s,fp64=1e18,memory-bandwidth=1e18B/s",
    "cluster:2x2,inter=1GB/s",
    "torus:2x3",
    "mesh:3x2,bandwidth=1MB/s,latency=100us",
    "htree:8",
    "cluster:1x2,device=h100+cluster:2x2,device=a100",
    "full:1",
};

static const struct setting {
    bool expand_collectives, no_overlap, local_bn;
    double bucket_bytes;
} settings[] = {
    { false, false, false, 0 }, { true, false, false, 0 }, { false, true, false, 0 },
    { false, false, true, 0 },  { false, true, true, 0 },  { true, false, true, 1e4 },
};

static struct hypar_sim_options options_of(const struct setting *s)
{
    return (struct hypar_sim_options){ .lower = { .bucket_bytes = s->bucket_bytes,
                                                  .local_bn = s->local_bn },
                                       .expand_collectives = s->expand_collectives,
                                       .no_overlap = s->no_overlap };
}

static struct hypar_machine *machine_of(const char *word)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (hypar_machine_read(&machine, word, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return machine;
}

/* Random graphs and plans ------------------------------------------------------------------ */

struct tally {
    int64_t pairs, changes, micro_batched;
};

/* Operators that mix samples (a sum over the batch) allow one micro-batch only; a batch norm
 * split along an attribute has no local statistics. */
static enum hypar_status check_plan(struct hypar_plan *plan, struct hypar_sim_options *options,
                                    int64_t seed, struct hypar_delta_check *check,
                                    struct hypar_error *err)
{
    enum hypar_status status = hypar_check_delta(check, plan, options, CHANGES, seed, err);
    bool shared =
        plan->schedule.kind == HYPAR_SCHEDULE_INTERLEAVED ||
        plan->schedule.kind == HYPAR_SCHEDULE_SLOTS; /* for their micro-batches only */
    if (status == HYPAR_UNSUPPORTED && !shared && plan->schedule.micro_batches > 1) {
        struct hypar_schedule schedule = plan->schedule;
        schedule.micro_batches = 1;
        hp_plan_set_schedule(plan, &schedule);
        status = hypar_check_delta(check, plan, options, CHANGES, seed, err);
    }
    if (status == HYPAR_UNSUPPORTED && options->lower.local_bn) {
        options->lower.local_bn = false;
        status = hypar_check_delta(check, plan, options, CHANGES, seed, err);
    }
    return status;
}

static void check_pair(uint64_t seed, const struct hypar_machine *machine,
                       const struct setting *setting, struct tally *tally)
{
    struct random random = { seed };
    struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
    struct hypar_plan *plan =
        random_plan(&random, graph, machine, &(struct plan_focus){ -1, -1, -1, false });
    struct hypar_sim_options options = options_of(setting);
    struct hypar_delta_check check;
    struct hypar_error err;
    if (check_plan(plan, &options, (int64_t)seed, &check, &err) != HYPAR_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, hypar_machine_word(machine),
                 err.text);
    if (check.mismatches)
        fail_msg("seed %llu, %s, setting %d: %lld of %d changes differ: %s",
                 (unsigned long long)seed, hypar_machine_word(machine),
                 (int)(setting - settings), (long long)check.mismatches, CHANGES,
                 check.first_mismatch);
    tally->pairs++;
    tally->changes += check.changes;
    tally->micro_batched += plan->schedule.micro_batches > 1;
    hypar_plan_free(plan);
    hypar_graph_free(graph);
}

static void random_plans(void **state)
{
    (void)state;
    struct hypar_machine *machine[COUNT(words)];
    struct tally tally = { 0 };
    uint64_t first = number_from("HYPAR_DELTA_SEED", 1);
    uint64_t pairs = number_from("HYPAR_DELTA_PAIRS", 600);
    for (size_t i = 0; i < COUNT(words); i++)
        machine[i] = machine_of(words[i]);
    for (uint64_t seed = first; seed < first + pairs; seed++)
        check_pair(seed, machine[seed % COUNT(words)], /* every pair of the two in time */
                   &settings[seed / COUNT(words) % COUNT(settings)], &tally);
    for (size_t i = 0; i < COUNT(words); i++)
        hypar_machine_free(machine[i]);
    print_message("  %lld pairs, %lld changes, %lld pairs in micro-batches\n",
                  (long long)tally.pairs, (long long)tally.changes,
                  (long long)tally.micro_batched);
}

/* The zoo ---------------------------------------------------------------------------------- */

/* Passes of small networks take a few picoseconds or none, messages none. */
#define TIED "full:4,latency=0s,bandwidth=1e18B/s,fp32=1e18,memory-bandwidth=1e18B/s"

static const struct network {
    const char *model, *machine;
    int batch, micro_batches, changes;
    struct setting setting;
} networks[] = {
    { "lenet5", "full:4", 32, 1, 300, { .local_bn = false } },
    { "lenet5", "full:4", 32, 1, 100, { .expand_collectives = true } },
    { "lenet5", "cluster:2x2", 32, 1, 100, { .no_overlap = true } },
    { "lenet5", TIED, 4, 1, 300, { .local_bn = false } },
    { "lenet5", TIED, 4, 1, 100, { .expand_collectives = true } },
    { "lenet5", "htree:4", 34, 4, 50, { .local_bn = false } }, /* two sizes */
    { "alexnet", "cluster:1x4", 64, 1, 100, { .local_bn = false } },
    { "mlp:16-16-16-16-16", TIED, 16, 1, 300, { .local_bn = false } },
    { "alexnet", "torus:2x2", 64, 1, 50, { .expand_collectives = true } },
    { "alexnet", "cluster:2x2", 64, 1, 50, { .bucket_bytes = 25e6 } },
    { "resnet18:image=32", "cluster:2x2", 16, 1, 40, { .local_bn = true } },
    { "resnet18:image=32", "ring:4", 16, 1, 40, { .local_bn = false } },
    { "bert:layers=2,seq=16", "cluster:2x2", 8, 1, 60, { .local_bn = false } },
    { "rnnlm:steps=3", "full:4", 16, 1, 60, { .local_bn = false } },
    /* devices that run kernels, compiled: what is passed on depends on both ends */
    { "resnet18:image=32", "cluster:2x2,device=h200", 16, 1, 60, { .local_bn = false } },
    { "bert:layers=2,seq=16", "full:4,device=h200", 8, 1, 100, { .local_bn = false } },
    { "gpt:layers=1,hidden=64,heads=4,seq=16,vocab=64",
      "cluster:2x2,device=a100",
      8,
      1,
      100,
      { .expand_collectives = true } },
};

static struct hypar_plan *data_parallel(const struct network *n, struct hypar_graph **graph,
                                        const struct hypar_machine *machine)
{
    struct hypar_import_options options = { .batch = n->batch };
    struct hypar_search_options search = { .planner = "dp", .memory_bytes = 1e15 };
    struct hypar_found *found = NULL;
    struct hypar_error err;
    if (hypar_import(graph, n->model, &options, &err) != HYPAR_OK ||
        hypar_search(&found, *graph, machine, &search, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct hypar_plan *plan = hp_plan_copy(hypar_found_plan(found));
    hp_plan_set_schedule(plan, &(struct hypar_schedule){ .micro_batches = n->micro_batches });
    hypar_found_free(found);
    return plan;
}

static void zoo(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(networks); i++) {
        const struct network *n = &networks[i];
        struct hypar_sim_options options = options_of(&n->setting);
        struct hypar_machine *machine = machine_of(n->machine);
        struct hypar_delta_check check;
        struct hypar_graph *graph;
        struct hypar_error err;
        struct hypar_plan *plan = data_parallel(n, &graph, machine);
        if (hypar_check_delta(&check, plan, &options, n->changes, 1, &err) != HYPAR_OK)
            fail_msg("%s on %s: %s", n->model, n->machine, err.text);
        if (check.mismatches)
            fail_msg("%s on %s: %lld of %d changes differ: %s", n->model, n->machine,
                     (long long)check.mismatches, n->changes, check.first_mismatch);
        assert_int_equal(check.changes, n->changes);
        assert_true(check.tasks > graph->n_ops / 2 && check.full_us > 0 && check.delta_us > 0);
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

/* Undoing ---------------------------------------------------------------------------------- */

/* All times of a timeline, folded into a number. */
static uint64_t fingerprint(const struct delta *delta)
{
    const struct timing *timing = hp_delta_timing(delta);
    uint64_t hash = HP_HASH_START;
    for (int block = 0; block < timing->blocks->n_blocks; block++)
        for (int t = 0; t < timing->blocks->size[block]; t++) {
            struct times times = hp_delta_times(delta, block, t);
            hash = hp_hash(hash, &block, sizeof block);
            hash = hp_hash(hash, &times, sizeof times);
        }
    return hash;
}

/* Whatever is tried and taken back leaves no trace: the timeline of the start, every time. */
static void undone_changes_leave_no_trace(void **state)
{
    enum { TRIES = 400 };
    (void)state;
    static const struct network n = { .model = "lenet5", .batch = 32, .micro_batches = 1 };
    struct hypar_machine *machine = machine_of("cluster:2x2");
    struct hypar_graph *graph;
    struct hypar_plan *plan = data_parallel(&n, &graph, machine);
    struct proposer proposer;
    struct proposal was, now;
    struct random random = { 7 };
    struct delta *delta;
    struct hypar_error err;
    struct hypar_sim_options options = { 0 };
    assert_int_equal(hp_delta_new(&delta, plan, &options, NULL, &err), HYPAR_OK);
    uint64_t start = fingerprint(delta);
    int other = 0;
    hp_proposer_begin(&proposer, plan, NULL);
    hp_proposal_begin(&was, graph);
    hp_proposal_begin(&now, graph);
    for (int i = 0; i < TRIES; i++) {
        if (!hp_propose(&proposer, &random, MOVE_ONE, &now))
            continue;
        hp_proposal_save(plan, &now, &was);
        hp_proposal_apply(plan, &now);
        assert_int_equal(hp_delta_change(delta, now.op, now.n, HP_MAX_TICKS, &err), HYPAR_OK);
        other += fingerprint(delta) != start;
        hp_proposal_apply(plan, &was);
        hp_delta_undo(delta);
        if (fingerprint(delta) != start)
            fail_msg("change %d of operator %d is not undone", i, now.op[0]);
    }
    assert_true(other > TRIES / 2);
    hp_proposal_end(&was);
    hp_proposal_end(&now);
    hp_proposer_end(&proposer);
    hp_delta_free(delta);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* A change that cannot be lowered (a batch norm split along h has no local statistics), taken
 * back, leaves the length of the plan as it was, which earlier changes had made another. */
static void refused_changes_leave_the_length(void **state)
{
    (void)state;
    static const struct network n = { .model = "resnet18", .batch = 8, .micro_batches = 2 };
    struct hypar_machine *machine = machine_of("full:2");
    struct hypar_graph *graph;
    struct hypar_plan *plan = data_parallel(&n, &graph, machine);
    struct hypar_sim_options options = { .lower = { .local_bn = true } };
    struct arena arena = { 0 };
    struct delta *delta;
    struct hypar_error err;
    int conv = 0, norm = 0, h = 0;
    while (graph->ops[norm].kind != OP_BATCH_NORM)
        norm++;
    while (graph->ops[norm].nest->axis[h].role != HYPAR_ATTRIBUTE)
        h++;
    assert_int_equal(hp_delta_new(&delta, plan, &options, NULL, &err), HYPAR_OK);
    struct op_config now = hp_config_of(plan, conv, &arena); /* on one device: kept */
    for (int a = 0; a < graph->ops[conv].nest->n_axes; a++)
        now.split.degree[a] = 1;
    hp_config_apply(plan, &now);
    assert_int_equal(hp_delta_change(delta, &conv, 1, HP_MAX_TICKS, &err), HYPAR_OK);
    hp_delta_keep(delta);
    ticks length = hp_delta_length(delta);
    struct op_config was = hp_config_of(plan, norm, &arena);
    now = was;
    for (int a = 0; a < graph->ops[norm].nest->n_axes; a++)
        now.split.degree[a] = a == h ? 2 : 1;
    hp_config_apply(plan, &now);
    assert_int_equal(hp_delta_change(delta, &norm, 1, HP_MAX_TICKS, &err), HYPAR_UNSUPPORTED);
    hp_config_apply(plan, &was);
    hp_delta_undo(delta);
    assert_int_equal(hp_delta_length(delta), length);
    hp_arena_free(&arena);
    hp_delta_free(delta);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

/* Memory ----------------------------------------------------------------------------------- */

/* Of all arenas that changes take from. */
static size_t bytes_held(const struct delta *delta, const struct sim_cache *cache)
{
    const struct timing *t = hp_delta_timing(delta);
    return hp_sim_cache_bytes(cache) + hp_arena_bytes(&cache->costs.scratch) +
           hp_arena_bytes(&t->arena) + hp_arena_bytes(&t->bucket_arena) +
           hp_arena_bytes(&t->blocks->arena) + hp_arena_bytes(&t->blocks->scratch) +
           hp_arena_bytes(&t->blocks->bucket_arena) + hp_arena_bytes(&t->lowering->arena) +
           hp_arena_bytes(&t->lowering->scratch);
}

/* A change tried, and kept or taken back. */
static void try_change(struct hypar_plan *plan, struct delta *delta, const struct proposal *now,
                       struct proposal *was, struct random *random)
{
    struct hypar_error err;
    hp_proposal_save(plan, now, was);
    hp_proposal_apply(plan, now);
    assert_int_equal(hp_delta_change(delta, now->op, now->n, HP_MAX_TICKS, &err), HYPAR_OK);
    if (hp_random_below(random, 2)) {
        hp_delta_keep(delta);
        return;
    }
    hp_proposal_apply(plan, was);
    hp_delta_undo(delta);
}

/* A chain of changes that come again and again takes no more memory once it has seen every
 * layout and every exchange; not with buckets either, which are made anew each time. */
static void a_long_chain_takes_no_more_memory(void **state)
{
    enum { FIRST = 2000, ALL = 20000, PROPOSALS = 12 };
    static const struct network n = { .model = "mlp:8-8-8", .batch = 4, .micro_batches = 1 };
    (void)state;
    for (int expand = 0; expand < 2; expand++) {
        struct hypar_sim_options how = { .lower = { .bucket_bytes = 300 },
                                         .expand_collectives = expand };
        struct hypar_machine *machine = machine_of("full:2");
        struct hypar_graph *graph;
        struct hypar_plan *plan = data_parallel(&n, &graph, machine);
        struct sim_cache *cache = hp_sim_cache_new(plan, &how);
        struct proposer proposer;
        struct proposal was, now[PROPOSALS];
        struct random random = { 7 };
        struct delta *delta;
        size_t first = 0, most = 0;
        assert_int_equal(hp_delta_new(&delta, plan, &how, cache, NULL), HYPAR_OK);
        hp_proposer_begin(&proposer, plan, NULL);
        hp_proposal_begin(&was, graph);
        for (int i = 0; i < PROPOSALS; i++) {
            hp_proposal_begin(&now[i], graph);
            while (!hp_propose(&proposer, &random, MOVE_ONE, &now[i]))
                ;
        }
        for (int i = 0; i < ALL; i++) {
            const struct proposal *next = &now[hp_random_below(&random, PROPOSALS)];
            size_t *so_far = i < FIRST ? &first : &most, held;
            try_change(plan, delta, next, &was, &random);
            held = bytes_held(delta, cache);
            *so_far = held > *so_far ? held : *so_far;
        }
        if (most > first)
            fail_msg("%zu bytes after %d changes, at most %zu later", first, FIRST, most);
        for (int i = 0; i < PROPOSALS; i++)
            hp_proposal_end(&now[i]);
        hp_proposal_end(&was);
        hp_proposer_end(&proposer);
        hp_delta_free(delta);
        hp_sim_cache_free(cache);
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

/* Time is counted up to 4e6 s: what takes longer is refused, in full and by delta. */
static void too_long_is_refused(void **state)
{
    (void)state;
    static const struct network n = { .model = "vgg-a", .batch = 32, .micro_batches = 1 };
    struct hypar_machine *machine = machine_of("full:4,bandwidth=1B/s");
    struct hypar_graph *graph;
    struct hypar_plan *plan = data_parallel(&n, &graph, machine);
    struct hypar_sim_options options = { 0 };
    struct hypar_sim *sim;
    struct delta *delta;
    assert_int_equal(hypar_simulate(&sim, plan, NULL, NULL), HYPAR_UNSUPPORTED);
    assert_null(sim);
    assert_int_equal(hp_delta_new(&delta, plan, &options, NULL, NULL), HYPAR_UNSUPPORTED);
    assert_null(delta);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans),
        cmocka_unit_test(zoo),
        cmocka_unit_test(undone_changes_leave_no_trace),
        cmocka_unit_test(refused_changes_leave_the_length),
        cmocka_unit_test(a_long_chain_takes_no_more_memory),
        cmocka_unit_test(too_long_is_refused),
    };
    return cmocka_run_group_tests_name("sim/delta", tests, NULL, NULL);
}
