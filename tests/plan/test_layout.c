/* Plans from a layout: the divided axis of each operator, devices, stages, refusals, and the
 * file form. */
#include "tests/plan/plans.h"

#include "base/clock.h"

#define LLAMA "llama:layers=4,hidden=64,heads=8,ffn=96,seq=16,vocab=100"
#define BERT  "bert:layers=4,hidden=64,heads=8,seq=16,vocab=100"

/* A plan's text: 16 samples, or what is said there. */
static const char *layout_text(const char *model, const char *machine, const char *rest)
{
    static char text[PLAN_TEXT_BYTES];
    snprintf(text, sizeof text, "{'format':'hypar-plan/1','model':'%s',%s'machine':'%s',%s}",
             model, strstr(rest, "'batch'") ? "" : "'batch':16,", machine, rest);
    return text;
}

static struct hypar_plan *must_read(const char *model, const char *machine, const char *rest)
{
    struct hypar_plan *plan;
    struct hypar_error err = { 0 };
    if (plan_from(&plan, layout_text(model, machine, rest), &err) != HYPAR_OK)
        fail_msg("%s: %s: %s", model, rest, err.text);
    return plan;
}

/* "n=2 k=4" of an operator. */
static const char *split_text(const struct hypar_plan *plan, const char *name)
{
    static char text[64];
    int op = hypar_graph_find_op(plan->graph, name), n = 0;
    assert_true(op >= 0);
    text[0] = 0;
    for (int a = 0; a < plan->graph->ops[op].nest->n_axes; a++)
        if (hypar_plan_degree(plan, op, a) > 1)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%s=%d", n ? " " : "",
                          plan->graph->ops[op].nest->axis[a].name,
                          hypar_plan_degree(plan, op, a));
    return text;
}

#define D2T4 "'layout':{'data':2,'tensor':4}"
#define SP   "'layout':{'data':2,'tensor':4,'sequence_parallel':true}"

static const struct {
    const char *model, *layout, *op, *split;
} splits[] = {
    { LLAMA, D2T4, "embed_tokens", "n=2 v=4" }, /* vocabulary */
    { LLAMA, D2T4, "layers.0.input_norm", "n=2 r=4" },
    { LLAMA, SP, "layers.0.input_norm", "n=2 t=4" },
    { LLAMA, D2T4, "layers.3.q_proj", "n=2 k=4" }, /* columns, heads, rows */
    { LLAMA, D2T4, "layers.3.k_proj", "n=2 k=4" },
    { LLAMA, D2T4, "layers.3.rope_q", "n=2 a=4" },
    { LLAMA, D2T4, "layers.3.attn", "n=2 a=4" },
    { LLAMA, D2T4, "layers.3.o_proj", "n=2 c=4" },
    { LLAMA, D2T4, "layers.3.attn.add", "n=2 r=4" },
    { LLAMA, SP, "layers.3.attn.add", "n=2 t=4" },
    { LLAMA, D2T4, "layers.0.gate_proj", "n=2 k=4" },
    { LLAMA, D2T4, "layers.0.up_proj", "n=2 k=4" },
    { LLAMA, D2T4, "layers.0.silu", "n=2 c=4" },
    { LLAMA, D2T4, "layers.0.gate", "n=2 c=4" },
    { LLAMA, D2T4, "layers.0.down_proj", "n=2 c=4" },
    { LLAMA, D2T4, "lm_head", "n=2 k=4" },
    { LLAMA, D2T4, "loss", "n=2 c=4" }, /* cross-entropy of a divided vocabulary */
    { BERT, D2T4, "embeddings.word", "n=2 v=4" },
    { BERT, D2T4, "embeddings.type", "n=2 r=4" }, /* two rows */
    { BERT, SP, "embeddings.position.add", "n=2 t=4" },
    { BERT, D2T4, "layer.1.ffn.in", "n=2 k=4" },
    { BERT, D2T4, "layer.1.ffn.gelu", "n=2 c=4" },
    { BERT, D2T4, "layer.1.ffn.out", "n=2 c=4" },
    { BERT, D2T4, "layer.1.ffn.dropout", "n=2 r=4" },
    { BERT, SP, "layer.1.ffn.norm", "n=2 t=4" },
    { "llama:layers=1,hidden=64,heads=8,kv_heads=4,ffn=96,seq=16,vocab=100", D2T4,
      "layers.0.attn", "n=2 a=4" },                /* heads in groups: by those of k and v */
    { "mlp:32-32-32-32", D2T4, "fc1", "n=2 k=4" }, /* a chain of pairs */
    { "mlp:32-32-32-32", D2T4, "relu1", "n=2 c=4" },
    { "mlp:32-32-32-32", D2T4, "fc2", "n=2 c=4" },
    { "mlp:32-32-32-32", D2T4, "relu2", "n=2 r=4" },
    { "vgg16", D2T4, "conv1_1", "n=2 k=4" },
    { "vgg16", D2T4, "conv1_2", "n=2 c=4" },
    { "vgg16", D2T4, "pool1", "n=2 r=4" },
    { "vgg16", D2T4, "conv5_3", "n=2 k=4" }, /* with what it is flattened to */
    { "vgg16", D2T4, "fc1", "n=2 c=4" },
    { "lenet5", D2T4, "conv1", "n=2 k=4" }, /* unevenly: 6 channels, 2, 2, 1, 1 */
};

static void divides_operators(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        struct hypar_plan *plan = must_read(splits[i].model, "full:8", splits[i].layout);
        if (strcmp(split_text(plan, splits[i].op), splits[i].split) != 0)
            fail_msg("%s: %s: '%s' is split '%s', expected '%s'", splits[i].model,
                     splits[i].layout, splits[i].op, split_text(plan, splits[i].op),
                     splits[i].split);
        hypar_plan_free(plan);
    }
}

/* 6 heads over 4: 2, 2, 1, 1; q, k and v and the rows follow heads. */
static void keeps_heads_whole(void **state)
{
    (void)state;
    struct hypar_plan *plan =
        must_read("llama:layers=1,hidden=48,heads=6,ffn=96,seq=16,vocab=100", "full:8", D2T4);
    static const struct {
        const char *op;
        char axis;
        int size[4];
    } cases[] = { { "layers.0.attn", 'a', { 2, 2, 1, 1 } },
                  { "layers.0.q_proj", 'k', { 16, 16, 8, 8 } },
                  { "layers.0.v_proj", 'k', { 16, 16, 8, 8 } },
                  { "layers.0.o_proj", 'c', { 16, 16, 8, 8 } } };
    for (int i = 0; i < 4; i++) {
        int op = hypar_graph_find_op(plan->graph, cases[i].op);
        int axis = hp_nest_axis(plan->graph->ops[op].nest, cases[i].axis);
        for (int part = 0; part < 4; part++)
            assert_int_equal(hypar_plan_part_size(plan, op, axis, part), cases[i].size[part]);
    }
    hypar_plan_free(plan);
}

/* Device = (stage * data + replica) * tensor + part. */
static void numbers_devices(void **state)
{
    (void)state;
    struct hypar_plan *plan =
        must_read(LLAMA, "cluster:4x4", "'layout':{'data':2,'tensor':4,'pipeline':2}");
    int op = hypar_graph_find_op(plan->graph, "layers.2.q_proj");
    assert_int_equal(hypar_plan_stage_count(plan), 2);
    assert_int_equal(hypar_plan_op(plan, op).stage, 1);
    for (int replica = 0; replica < 2; replica++)
        for (int part = 0; part < 4; part++)
            assert_int_equal(hypar_plan_op(plan, op).device[4 * replica + part],
                             8 + 4 * replica + part);
    assert_int_equal(hypar_plan_stage(plan, 1).replicas, 2);
    hypar_plan_free(plan);
}

/* Written, read and written again: the same; with the layout as a line of its own. */
static char *check_round_trip(const struct hypar_plan *plan)
{
    struct hypar_plan *again;
    struct hypar_error err = { 0 };
    char *first = plan_text(plan);
    if (hp_plan_read_text(&again, first, strlen(first), "plan", NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    char *second = plan_text(again);
    assert_string_equal(first, second);
    hypar_plan_free(again);
    free(second);
    return first;
}

/* The first operator of each stage. */
static void check_stages(const char *model, const char *layout, int n, const char *const *first)
{
    char machine[32];
    snprintf(machine, sizeof machine, "full:%d", n);
    struct hypar_plan *plan = must_read(model, machine, layout);
    assert_int_equal(hypar_plan_stage_count(plan), n);
    for (int s = 0; s < n; s++)
        assert_string_equal(plan->graph->ops[hypar_plan_stage(plan, s).op[0]].name, first[s]);
    hypar_plan_free(plan);
}

static void cuts_stages(void **state)
{
    (void)state;
    check_stages(LLAMA, "'layout':{'pipeline':2}", 2,
                 (const char *const[]){ "embed_tokens", "layers.2.input_norm" });
    check_stages(LLAMA, "'layout':{'pipeline':4}", 4,
                 (const char *const[]){ "embed_tokens", "layers.1.input_norm",
                                        "layers.2.input_norm", "layers.3.input_norm" });
    /* the last one has the output layer, too */
    check_stages(
        LLAMA, "'layout':{'pipeline':3}", 3,
        (const char *const[]){ "embed_tokens", "layers.1.input_norm", "layers.3.input_norm" });
    /* interleaved: every other stage is on the same devices */
    struct hypar_plan *plan = must_read(
        LLAMA, "full:4", "'layout':{'data':2,'pipeline':2,'chunks':2,'micro_batches':2}");
    assert_int_equal(hypar_plan_stage_count(plan), 4);
    assert_int_equal(hypar_plan_schedule(plan).kind, HYPAR_SCHEDULE_INTERLEAVED);
    for (int s = 0; s < 4; s++)
        assert_int_equal(hypar_plan_stage(plan, s).device[0], s % 2 * 2);
    free(check_round_trip(plan));
    hypar_plan_free(plan);
    check_stages("lenet5", "'layout':{'pipeline':2}", 2,
                 (const char *const[]){ "conv1", "conv2" });
}

static const struct {
    const char *model, *machine, *rest, *error;
} bad[] = {
    { LLAMA, "full:8", "'layout':{'data':2,'tensor':2,'pipeline':3}",
      "plan: layout: data 2 x tensor 2 x pipeline 3, expected 8, the devices of the machine" },
    { LLAMA, "full:8", "'layout':{'data':1048576,'tensor':1048576,'pipeline':1048576}",
      "plan: layout: data 1048576 x tensor 1048576 x pipeline 1048576, expected 8, the devices "
      "of "
      "the machine" },
    { LLAMA, "full:16", "'layout':{'tensor':16}",
      "plan: layout: tensor 16: op 'layers.0.attn' has 8 heads, expected at least as many" },
    { LLAMA, "full:5", "'layout':{'pipeline':5}",
      "plan: layout: pipeline 5: the model has 4 layers, expected at least as many" },
    { LLAMA, "full:2", "'layout':{'data':2,'micro_batches':9}",
      "plan: layout: 9 micro-batches x data 2, expected at most 16, the samples of the batch" },
    { LLAMA, "full:2", "'layout':{'pipeline':2,'schedule':'pipedream'}",
      "plan: layout: schedule 'pipedream', expected one that ends with a flush and whose order "
      "of slots is not listed" },
    { LLAMA, "full:2", "'layout':{'pipeline':2,'chunks':3,'micro_batches':2}",
      "plan: layout: pipeline 2 with chunks 3: 6 stages do not divide the 4 layers of the "
      "model" },
    { LLAMA, "full:2", "'layout':{'pipeline':2,'chunks':2,'micro_batches':3}",
      "plan: schedule 'interleaved': 3 micro-batches, expected a multiple of the 2 groups of "
      "devices" },
    { LLAMA, "full:2", "'layout':{'data':2,'schedule':'1f1b'}",
      "plan: layout: schedule '1f1b' needs a pipeline, expected 'none'" },
    { LLAMA, "full:2", "'layout':{'pipeline':2,'chunks':2,'schedule':'gpipe'}",
      "plan: layout: chunks 2 need schedule 'interleaved', not 'gpipe'" },
    { "lenet5", "full:2", "'layout':{'tensor':2,'sequence_parallel':true}",
      "plan: layout: sequence_parallel: no operator has a sequence (axis t) to divide" },
    { LLAMA, "full:2", "'layout':{'data':2},'stages':[]",
      "plan: stages: beside 'layout', which says it" },
    { LLAMA, "full:2", "'layout':{'data':2},'schedule':{'name':'none'}",
      "plan: schedule: beside 'layout', which says it" },
    { LLAMA, "full:2", "'layout':{'data':2},'recompute':'full'",
      "plan: recompute: beside 'layout', which says it" },
    { LLAMA, "full:2", "'layout':{'data':2},'ops':[{'name':'*'}]",
      "plan: ops[0]: '*' beside 'layout', which says how the rest is" },
    { LLAMA, "full:2", "'layout':{'data':0}",
      "plan: layout.data: expected an integer in 1..1048576, not 0" },
    { LLAMA, "full:2", "'layout':{'dat':2}",
      "plan: layout: unknown member 'dat', did you mean data?" },
    { LLAMA, "full:2", "'layout':{'tensor':2,'shard':'optimizer'}",
      "plan: layout: shard 'optimizer' needs replicas, expected data above 1" },
    { LLAMA, "full:4", "'layout':{'data':4,'shard':'optimizer','shard_over':3}",
      "plan: layout: shard_over 3, expected a divisor of data 4" },
    { LLAMA, "full:4", "'layout':{'data':4,'shard_over':2}",
      "plan: layout: shard_over 2, but nothing is sharded" },
    { LLAMA, "full:2", "'layout':{'pipeline':2,'first_layers':4}",
      "plan: layout: first_layers 4, last_layers 0, expected that 2 stages share all of 4 "
      "layers" },
    { LLAMA, "full:2", "'layout':{'data':2,'first_layers':1}",
      "plan: layout: first_layers 1, last_layers 0, expected a pipeline of two or more "
      "stages" },
    { LLAMA, "full:2", "'layout':[2]", "plan: layout: expected an object, not an array" },
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct hypar_plan *plan;
        struct hypar_error err = { 0 };
        const char *text = layout_text(bad[i].model, bad[i].machine, bad[i].rest);
        assert_int_not_equal(plan_from(&plan, text, &err), HYPAR_OK);
        assert_string_equal(err.text, bad[i].error);
        assert_null(plan);
    }
}

static void is_written_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\"layout\": {\"data\": 2, \"tensor\": 4, \"pipeline\": 1, \"micro_batches\": 1, "
        "\"schedule\": \"none\", \"shard\": \"parameters\"}",
        "\"layout\": {\"data\": 1, \"tensor\": 2, \"pipeline\": 4, \"micro_batches\": 8, "
        "\"schedule\": \"gpipe\", \"sequence_parallel\": true, \"recompute\": \"full\"}",
        "\"layout\": {\"data\": 4, \"tensor\": 1, \"pipeline\": 2, \"micro_batches\": 2, "
        "\"schedule\": \"1f1b\", \"first_layers\": 1, \"last_layers\": 3, "
        "\"shard\": \"optimizer\", \"shard_over\": 2}",
    };
    static const char *const given[] = {
        "'layout':{'tensor':4,'data':2,'shard':'parameters'}",
        "'layout':{'tensor':2,'pipeline':4,'micro_batches':8,'schedule':'gpipe',"
        "'sequence_parallel':true,'recompute':'full'},'ops':[]",
        "'layout':{'data':4,'pipeline':2,'micro_batches':2,'first_layers':1,'last_layers':3,"
        "'shard':'optimizer','shard_over':2}",
    };
    for (int i = 0; i < 3; i++) {
        struct hypar_plan *plan = must_read(LLAMA, "full:8", given[i]);
        char *text = check_round_trip(plan);
        assert_non_null(strstr(text, texts[i]));
        assert_null(strstr(text, "\"ops\""));
        assert_null(strstr(text, "\"stages\""));
        free(text);
        hypar_plan_free(plan);
    }
}

/* Operators beside the layout override it; one that says what it says is not written. */
static void is_overridden(void **state)
{
    (void)state;
    struct hypar_plan *plan =
        must_read(LLAMA, "full:8",
                  "'layout':{'tensor':2,'pipeline':4,'recompute':'full'},'ops':["
                  "{'name':'layers.1.attn','split':{'q':2},'recompute':true},"
                  "{'name':'layers.1.gate','split':{'n':2},'devices':[3,3]},"
                  "{'name':'layers.1.silu','split':{'c':2},'recompute':true},"
                  "{'name':'layers.1.up_proj'}]");
    assert_string_equal(split_text(plan, "layers.1.attn"), "q=2");
    assert_string_equal(split_text(plan, "layers.1.gate"), "n=2");
    assert_string_equal(split_text(plan, "layers.1.up_proj"), "");
    assert_string_equal(split_text(plan, "layers.1.q_proj"), "k=2");
    char *text = check_round_trip(plan);
    assert_non_null(strstr(text, "\"layout\""));
    assert_non_null(strstr(text, "    {\"name\": \"layers.1.attn\", \"kind\": \"attention\", "
                                 "\"split\": {\"q\": 2}, \"devices\": [2, 3], \"recompute\": "
                                 "true},\n    {\"name\": \"layers.1.up_proj\""));
    assert_null(strstr(text, "silu"));
    free(text);
    struct hypar_plan *copy = hp_plan_copy(plan);
    free(check_round_trip(copy));
    assert_int_equal(hypar_plan_layout(copy)->pipeline, 4);
    hypar_plan_free(copy);
    hypar_plan_free(plan);
}

/* Another schedule than the layout's: it is written out, operator by operator. */
static void is_left(void **state)
{
    (void)state;
    struct hypar_plan *plan = must_read(LLAMA, "full:8", "'layout':{'tensor':2,'pipeline':4}");
    hp_plan_set_schedule(
        plan, &(struct hypar_schedule){ .kind = HYPAR_SCHEDULE_GPIPE, .micro_batches = 2 });
    char *text = check_round_trip(plan);
    assert_null(strstr(text, "\"layout\""));
    assert_non_null(strstr(text, "\"stages\""));
    free(text);
    hypar_plan_free(plan);
}

/* The published runs of Megatron-LM: built in under a second. */
static void builds_large_ones(void **state)
{
    (void)state;
    static const struct {
        const char *model, *machine, *layout;
        int stages;
    } runs[] = {
        { "gpt3-175b", "cluster:128x8",
          "'batch':1536,'layout':{'data':8,'tensor':8,'pipeline':16,'micro_batches':192,"
          "'chunks':3,'sequence_parallel':true,'recompute':'selective','shard':'optimizer'}",
          48 },
        { "gpt:layers=105,hidden=20480,heads=128,seq=2048,vocab=51200", "cluster:280x8",
          "'batch':2240,'layout':{'data':8,'tensor':8,'pipeline':35,'micro_batches':280,"
          "'schedule':'interleaved','chunks':3,'sequence_parallel':true}",
          105 },
        { "gpt:layers=128,hidden=25600,heads=160,seq=2048,vocab=51200", "cluster:64x8",
          "'layout':{'tensor':8,'pipeline':64,'sequence_parallel':true}", 64 },
    };
    for (int i = 0; i < 3; i++) {
        double start = hp_now_s();
        struct hypar_plan *plan = must_read(runs[i].model, runs[i].machine, runs[i].layout);
        double seconds = hp_now_s() - start;
        assert_int_equal(hypar_plan_stage_count(plan), runs[i].stages);
        if (seconds > 1)
            fail_msg("%s takes %.1f s", runs[i].model, seconds);
        hypar_plan_free(plan);
    }
}

/* The stage of the first operator of each layer. */
static void has_layers_as_told(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        int stage[4]; /* by layer */
    } rows[] = { { "", { 0, 0, 1, 1 } },
                 { ",'first_layers':1", { 0, 1, 1, 1 } },
                 { ",'last_layers':1", { 0, 0, 0, 1 } },
                 { ",'first_layers':3,'last_layers':1", { 0, 0, 0, 1 } } };
    char rest[200], op[40];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(rest, sizeof rest, "'layout':{'pipeline':2,'data':4%s}", rows[i].more);
        struct hypar_plan *plan = must_read(LLAMA, "full:8", rest);
        for (int layer = 0; layer < 4; layer++) {
            snprintf(op, sizeof op, "layers.%d.q_proj", layer);
            assert_int_equal(plan->ops[hypar_graph_find_op(plan->graph, op)].stage,
                             rows[i].stage[layer]);
        }
        hypar_plan_free(plan);
    }
}

static void divides_among_some_replicas(void **state)
{
    (void)state;
    struct hypar_plan *plan =
        must_read(LLAMA, "full:8", "'layout':{'data':8,'shard':'optimizer','shard_over':4}");
    int op = hypar_graph_find_op(plan->graph, "layers.0.q_proj");
    assert_int_equal(plan->ops[op].shard_over, 4);
    hypar_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divides_operators),
        cmocka_unit_test(keeps_heads_whole),
        cmocka_unit_test(numbers_devices),
        cmocka_unit_test(cuts_stages),
        cmocka_unit_test(refuses),
        cmocka_unit_test(is_written_back),
        cmocka_unit_test(is_overridden),
        cmocka_unit_test(is_left),
        cmocka_unit_test(builds_large_ones),
        cmocka_unit_test(has_layers_as_told),
        cmocka_unit_test(divides_among_some_replicas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
