/* Plans of graphs with measured choices: against all plans of small random graphs, and for the
 * published instance. The test computes the cost of a plan from the plan and the graph
 * alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "graph/graph.h"
#include "search/choices/cover.h"
#include "tests/search/pipelines.h"

/* What a stage costs ---------------------------------------------------------------------- */

/* A stage in all detail. */
struct one_stage {
    const struct hypar_graph *graph;
    const bool *inside; /* by operator, as below */
    const bool *again;
    int degree, replicas, in_flight;
};

struct cost {
    double load_s, memory_bytes;
};

static const struct op_choice *choice_of(const struct one_stage *s, int op)
{
    const struct op_choices *all = s->graph->ops[op].choices;
    for (int i = 0; i < all->n; i++)
        if (all->choice[i].degree == s->degree && all->choice[i].recompute == s->again[op])
            return &all->choice[i];
    return NULL;
}

static int writer_of(const struct hypar_graph *g, int op, int input)
{
    return g->tensors[g->ops[op].tensor[input]].producer;
}

/* Is output `op` read across the border by an operator that does not list what it is sent? */
static bool sent_once(const struct one_stage *s, int op)
{
    const struct hypar_graph *g = s->graph;
    for (int reader = 0; reader < g->n_ops; reader++)
        for (int i = 0; i < g->ops[reader].nest->n_inputs; i++)
            if (writer_of(g, reader, i) == op && s->inside[op] != s->inside[reader] &&
                !g->ops[reader].choices->input_bytes)
                return true;
    return false;
}

/* Of edges into `op` from other stages: what is sent, and exchanged for it. */
static double bytes_in(const struct one_stage *s, int op, const struct op_choice *choice)
{
    const struct op *o = &s->graph->ops[op];
    double bytes = 0;
    for (int i = 0; i < o->nest->n_inputs; i++) {
        int writer = writer_of(s->graph, op, i);
        if (writer < 0 || s->inside[writer])
            continue;
        bytes += choice->in_sync_bytes[i];
        bytes += o->choices->input_bytes ? o->choices->input_bytes[i] : 0;
    }
    return bytes;
}

static double bytes_out(const struct one_stage *s, int op, const struct op_choice *choice)
{
    const struct hypar_graph *g = s->graph;
    double bytes = 0;
    int use = 0;
    for (int reader = 0; reader < g->n_ops; reader++)
        for (int i = 0; i < g->ops[reader].nest->n_inputs; i++) {
            if (writer_of(g, reader, i) != op)
                continue;
            if (!s->inside[reader]) {
                const double *sent = g->ops[reader].choices->input_bytes;
                bytes += choice->out_sync_bytes[use] + (sent ? sent[i] : 0);
            }
            use++;
        }
    return bytes;
}

/* INFINITY where an operator was not measured so. */
static struct cost cost_of(const struct one_stage *s, double bytes_per_s)
{
    const struct hypar_graph *g = s->graph;
    double n = (double)g->batch, d = s->replicas, bytes = 0, seconds = 0, weights = 0;
    struct cost cost = { 0, 0 };
    for (int op = 0; op < g->n_ops; op++) {
        struct op_measure m;
        if (sent_once(s, op) && hp_op_measured(g, op, &m))
            bytes += m.output_bytes / n;
        if (!s->inside[op])
            continue;
        const struct op_choice *choice = choice_of(s, op);
        if (!choice)
            return (struct cost){ INFINITY, INFINITY };
        bytes += bytes_in(s, op, choice) + bytes_out(s, op, choice);
        seconds += choice->seconds;
        weights += choice->parameter_bytes;
        cost.memory_bytes += choice->stash_bytes * s->in_flight + choice->fixed_bytes;
    }
    cost.load_s =
        (seconds + 2 * bytes / bytes_per_s) / d + 4 * (d - 1) / d * weights / n / bytes_per_s;
    return cost;
}

/* The slowest stage of a plan, whose devices and memory must suffice. */
static double plan_load_s(const struct hypar_plan *plan, double bytes_per_s,
                          double memory_bytes)
{
    const struct hypar_graph *g = hypar_plan_graph(plan);
    bool *inside = calloc((size_t)g->n_ops, sizeof *inside);
    bool *again = calloc((size_t)g->n_ops, sizeof *again);
    int replicas = 0, devices = 0, n_stages = hypar_plan_stage_count(plan);
    double worst_s = 0;
    for (int op = 0; op < g->n_ops; op++)
        again[op] = hypar_plan_op(plan, op).recompute;
    for (int s = n_stages - 1; s >= 0; s--) {
        struct hypar_stage stage = hypar_plan_stage(plan, s);
        struct one_stage one = {
            g, inside, again, stage.n_devices / stage.replicas, stage.replicas, 0
        };
        replicas += stage.replicas;
        devices += stage.n_devices;
        one.in_flight = (replicas + stage.replicas - 1) / stage.replicas;
        assert_int_equal(g->batch % stage.replicas, 0);
        for (int op = 0; op < g->n_ops; op++)
            inside[op] = hypar_plan_op(plan, op).stage == s;
        for (int i = 0; i < stage.n_ops; i++)
            assert_int_equal(hypar_plan_op(plan, stage.op[i]).n_parts, one.degree);
        struct cost cost = cost_of(&one, bytes_per_s);
        assert_true(cost.memory_bytes <= memory_bytes * (1 + 1e-12));
        worst_s = fmax(worst_s, cost.load_s);
    }
    assert_true(devices <= hypar_machine_device_count(hypar_plan_machine(plan)));
    assert_true(replicas <= g->batch);
    free(inside);
    free(again);
    return worst_s;
}

/* Every plan ------------------------------------------------------------------------------ */

enum { MAX_OPS = 5, MAX_DEGREE = 3 };

struct oracle {
    const struct hypar_graph *graph;
    double bytes_per_s, memory_bytes;
    struct hypar_search_options options;
    unsigned before[MAX_OPS]; /* operators that each one reads of, as a set */
};

static bool closed(const struct oracle *o, unsigned set)
{
    for (int i = 0; i < o->graph->n_ops; i++)
        if (set >> i & 1 && o->before[i] & ~set)
            return false;
    return true;
}

/* The operators of a set that were measured with recomputation. */
static unsigned measured_again(const struct oracle *o, unsigned set, int degree)
{
    static const bool again[MAX_OPS] = { true, true, true, true, true };
    unsigned out = 0;
    for (int i = 0; i < o->graph->n_ops; i++)
        if (choice_of(
                &(struct one_stage){ .graph = o->graph, .again = again, .degree = degree }, i))
            out |= 1u << i;
    return out & set;
}

/* The least load of a stage over what is computed again. */
static double stage_s(const struct oracle *o, unsigned set, int degree, int replicas,
                      int in_flight)
{
    const struct hypar_search_options *options = &o->options;
    bool inside[MAX_OPS], again[MAX_OPS];
    double best = INFINITY;
    for (unsigned ways = 0; ways < 1u << MAX_OPS; ways++) {
        if (ways & ~set)
            continue;
        if (options->recompute_given &&
            ways != (options->recompute == HYPAR_RECOMPUTE_FULL ? measured_again(o, set, degree)
                                                                : 0))
            continue;
        for (int i = 0; i < MAX_OPS; i++) {
            inside[i] = set >> i & 1;
            again[i] = ways >> i & 1;
        }
        struct cost cost =
            cost_of(&(struct one_stage){ o->graph, inside, again, degree, replicas, in_flight },
                    o->bytes_per_s);
        if (cost.memory_bytes <= o->memory_bytes)
            best = fmin(best, cost.load_s);
    }
    return best;
}

/* The best for the operators of `set` on so many devices, in front of stages with `behind`
 * replicas in all. */
static double best_s(const struct oracle *o, unsigned set, int devices, int behind, int stages)
{
    const struct hypar_search_options *options = &o->options;
    double best = INFINITY;
    if (set == 0)
        return !options->stages || stages == options->stages ? 0 : INFINITY;
    if (options->max_pipeline && stages == options->max_pipeline)
        return INFINITY;
    for (unsigned rest = 0; rest < set; rest++) {
        if (rest & ~set || !closed(o, rest))
            continue;
        for (int t = 1; t <= MAX_DEGREE; t++)
            for (int d = 1; t * d <= devices && behind + d <= o->graph->batch; d++) {
                if (o->graph->batch % d || (options->max_tensor && t > options->max_tensor))
                    continue;
                int in_flight = (behind + d + d - 1) / d;
                double s = stage_s(o, set & ~rest, t, d, in_flight);
                if (isfinite(s))
                    best =
                        fmin(best,
                             fmax(s, best_s(o, rest, devices - t * d, behind + d, stages + 1)));
            }
    }
    return best;
}

/* Small whole numbers, so that there are ties. */
static double some(struct random *random, int most)
{
    return (double)hp_random_below(random, (uint64_t)most + 1);
}

static void add_choices(struct graph_builder *b, struct random *random, int n_inputs)
{
    struct op_choice choice[2 * MAX_DEGREE];
    double in[2 * MAX_DEGREE][MAX_OPS], out[2 * MAX_DEGREE], sent[MAX_OPS];
    struct op_choices all = { .choice = choice, .n_inputs = n_inputs, .n_uses = 1 };
    for (int t = 1; t <= MAX_DEGREE; t++)
        for (int again = 0; again < 2; again++) {
            if (hp_random_below(random, 4) == 0 && !(t == 1 && !again))
                continue;
            for (int i = 0; i < n_inputs; i++)
                in[all.n][i] = t == 1 ? 0 : some(random, 3);
            out[all.n] = some(random, 2);
            choice[all.n] = (struct op_choice){ .degree = t,
                                                .recompute = again,
                                                .seconds = some(random, 12),
                                                .parameter_bytes = some(random, 8),
                                                .stash_bytes = some(random, again ? 3 : 8),
                                                .fixed_bytes = some(random, again ? 9 : 5),
                                                .in_sync_bytes = in[all.n],
                                                .out_sync_bytes = &out[all.n] };
            all.n++;
        }
    for (int i = 0; i < n_inputs; i++)
        sent[i] = some(random, 6);
    if (hp_random_below(random, 2))
        all.input_bytes = sent;
    struct hypar_error err;
    if (hp_build_choices(b, &all, &err))
        fail_msg("%s", err.text);
}

static struct hypar_graph *random_graph(struct oracle *o, struct random *random)
{
    static const char *const names[MAX_OPS] = { "a", "b", "c", "d", "e" };
    static const int64_t batches[] = { 1, 2, 3, 4, 6, 12 };
    int64_t batch = batches[hp_random_below(random, 6)];
    struct graph_builder *b = hp_build("random", batch);
    int data = hp_build_input(b, "data", &(struct hypar_shape){ 2, { batch, 1 } }, false, 0);
    int n = 1 + (int)hp_random_below(random, MAX_OPS), tensor[MAX_OPS];
    struct hypar_graph *graph;
    struct hypar_error err;
    for (int i = 0; i < n; i++) {
        int inputs[MAX_OPS], n_inputs = 0;
        o->before[i] = 0;
        for (int j = 0; j < i; j++)
            if (hp_random_below(random, 2)) {
                inputs[n_inputs++] = tensor[j];
                o->before[i] |= 1u << j;
            }
        if (n_inputs == 0)
            inputs[n_inputs++] = data;
        double bytes = some(random, 6) * (double)batch;
        struct op_request request = { .kind = OP_OPAQUE,
                                      .name = names[i],
                                      .n_inputs = n_inputs,
                                      .inputs = inputs,
                                      .attrs = ATTRS({ ATTR_SHAPE, 2, V(0, 1) },
                                                     { ATTR_OUTPUT_BYTES, 1, V(bytes) }) };
        if (hp_build_op(b, &request, &tensor[i], &err))
            fail_msg("%s", err.text);
        add_choices(b, random, n_inputs);
    }
    if (hp_build_finish(b, &graph, &err))
        fail_msg("%s", err.text);
    return graph;
}

static struct hypar_search_options random_options(struct random *random, double memory_bytes)
{
    struct hypar_search_options o = { .planner = "hybrid", .memory_bytes = memory_bytes };
    switch (hp_random_below(random, 8)) {
    case 0:
        o.stages = 1 + (int64_t)hp_random_below(random, 3);
        break;
    case 1:
        o.max_pipeline = 1 + (int)hp_random_below(random, 3);
        break;
    case 2:
        o.max_tensor = 1 + (int)hp_random_below(random, 2);
        break;
    case 3:
        o.recompute_given = true;
        o.recompute = hp_random_below(random, 2) ? HYPAR_RECOMPUTE_FULL : 0;
        break;
    default:
        break;
    }
    return o;
}

/* Returns whether there is a plan. */
static bool check_random(struct random *random, int number)
{
    struct oracle o = { .bytes_per_s = 1 + some(random, 8) };
    struct hypar_graph *graph = random_graph(&o, random);
    char word[80];
    int n_devices = 2 + (int)hp_random_below(random, 4);
    snprintf(word, sizeof word, "full:%d,bandwidth=%gB/s", n_devices, o.bytes_per_s);
    struct hypar_machine *machine = machine_of(word);
    struct hypar_found *found;
    struct hypar_error err;
    o.graph = graph;
    o.memory_bytes = 10 + some(random, 60);
    o.options = random_options(random, o.memory_bytes);
    double best = best_s(&o, (1u << graph->n_ops) - 1, n_devices, 0, 0);
    enum hypar_status status = hypar_search(&found, graph, machine, &o.options, &err);
    if (!isfinite(best)) {
        assert_int_equal(status, HYPAR_INFEASIBLE);
    } else {
        if (status != HYPAR_OK)
            fail_msg("case %d: %s, expected %g s", number, err.text, best);
        const struct hypar_pipeline_view *view = hypar_found_pipeline(found);
        assert_true(view->all_states && hypar_found_info(found).exact);
        assert_near(view->bottleneck_s, best);
        assert_near(plan_load_s(hypar_found_plan(found), o.bytes_per_s, o.memory_bytes), best);
        hypar_found_free(found);
    }
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return isfinite(best);
}

static void no_plan_is_better_than_the_chosen_one(void **state)
{
    enum { CASES = 3000, SEED = 17 };
    struct random random = { SEED };
    (void)state;
    int n_plans = 0;
    for (int i = 0; i < CASES; i++)
        n_plans += check_random(&random, i);
    printf("seed %d: %d of %d have a plan\n", SEED, n_plans, CASES);
    assert_true(n_plans > CASES / 2 && n_plans < CASES);
}

/* Against all subsets; some items save the same. */
static void enough_is_saved_in_the_least_time(void **state)
{
    enum { CASES = 3000, SEED = 18, MOST = 10 };
    struct random random = { SEED };
    struct arena arena = { 0 };
    struct cover cover;
    (void)state;
    hp_cover_new(&cover, &arena, MOST);
    for (int i = 0; i < CASES; i++) {
        double extra[MOST], saved[MOST], best = INFINITY, need = 1 + some(&random, 60);
        int n = (int)hp_random_below(&random, MOST + 1);
        for (int k = 0; k < n; k++) {
            extra[k] = some(&random, 20);
            saved[k] = 1 + some(&random, 15);
            cover.item[k] = (struct cover_item){ .extra_s = extra[k], .saved = saved[k] };
        }
        for (unsigned set = 0; set < 1u << n; set++) {
            double s = 3, m = 0;
            for (int k = 0; k < n; k++) {
                s += set >> k & 1 ? extra[k] : 0;
                m += set >> k & 1 ? saved[k] : 0;
            }
            best = m >= need ? fmin(best, s) : best;
        }
        cover.n = n;
        assert_true(hp_cover_need(&cover, need, 3, 1e9) == best);
        assert_true(hp_cover_need(&cover, need, 3, best) == best || !isfinite(best));
        assert_true(!isfinite(hp_cover_need(&cover, need, 3, best - 1)) || !isfinite(best));
    }
    assert_true(cover.given_up == 0);
    hp_arena_free(&arena);
}

/* The published instance ------------------------------------------------------------------ */

/* Piper's program prints these for BERT-32: 1,920 micro-batches, 25 GiB/s. */
static const struct {
    double gib;
    int devices;
    double sample_s;
} published[] = {
    { 8, 8, 0.165856 },  { 8, 64, 0.0202006 },  { 8, 512, 0.00256113 },
    { 80, 8, 0.122007 }, { 80, 64, 0.0156502 }, { 80, 512, 0.00227252 },
};

static void published_plans_are_no_better(void **state)
{
    const char *folder = getenv("HYPAR_PIPER_INPUTS");
    char path[512], word[80];
    (void)state;
    snprintf(path, sizeof path, "%s/bert32a100.json", folder ? folder : "../shared/data/piper");
    FILE *file = fopen(path, "r");
    if (!file) {
        printf("skipped: no %s; HYPAR_PIPER_INPUTS names the folder of Piper's inputs\n", path);
        skip();
    }
    fclose(file);
    struct hypar_graph *graph = graph_of(path);
    assert_int_equal(graph->batch, 1920);
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        double memory_bytes = published[i].gib * 0x1p30, bytes_per_s = 25 * 0x1p30;
        snprintf(word, sizeof word, "full:%d,bandwidth=25GiB/s", published[i].devices);
        struct hypar_machine *machine = machine_of(word);
        struct hypar_found *found = search(
            graph, machine,
            (struct hypar_search_options){ .planner = "hybrid", .memory_bytes = memory_bytes });
        double sample_s = plan_load_s(hypar_found_plan(found), bytes_per_s, memory_bytes);
        printf("%3d devices of %2g GiB: %.6g s, published %g s\n", published[i].devices,
               published[i].gib, sample_s, published[i].sample_s);
        assert_true(sample_s <= published[i].sample_s * (1 + 5e-6)); /* as it is printed */
        assert_near(sample_s, hypar_found_pipeline(found)->bottleneck_s);
        hypar_found_free(found);
        hypar_machine_free(machine);
    }
    hypar_graph_free(graph);
}

/* What is refused ------------------------------------------------------------------------- */

static void refuses(struct hypar_search_options options, const char *why)
{
    struct hypar_graph *graph = graph_of("tests/data/piper/mask.json");
    struct hypar_machine *machine = machine_of("full:4,bandwidth=25GB/s");
    struct hypar_found *found;
    struct hypar_error err;
    options.planner = "hybrid";
    assert_int_equal(hypar_search(&found, graph, machine, &options, &err), HYPAR_INFEASIBLE);
    if (!strstr(err.text, why))
        fail_msg("'%s', expected '%s'", err.text, why);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
}

static void options_are_kept_to_or_refused(void **state)
{
    (void)state;
    refuses((struct hypar_search_options){ .micro_batches = 4 }, "expected 12");
    refuses((struct hypar_search_options){ .memory_bytes = 1e9 }, "1 GB of memory");
    refuses(
        (struct hypar_search_options){ .shard = HYPAR_SHARD_OPTIMIZER, .shard_given = true },
        "divided");
    refuses((struct hypar_search_options){ .recompute = HYPAR_RECOMPUTE_SELECTIVE,
                                           .recompute_given = true },
            "full recomputation or none");
    refuses((struct hypar_search_options){ .stages = 5 }, "of 5 stages");
    refuses((struct hypar_search_options){ .layout.schedule = HYPAR_SCHEDULE_GPIPE },
            "expected schedule 1f1b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_is_better_than_the_chosen_one),
        cmocka_unit_test(enough_is_saved_in_the_least_time),
        cmocka_unit_test(options_are_kept_to_or_refused),
        cmocka_unit_test(published_plans_are_no_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
