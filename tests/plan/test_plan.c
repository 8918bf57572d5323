/* Building, checking, writing and reading plans. */
#include "tests/plan/plans.h"

#include <dirent.h>
#include <unistd.h>

#include "base/random.h"

#define HEAD "{'format':'hypar-plan/1','model':'mlp:8-6-4','batch':12,'machine':'full:4',"

static struct hypar_plan *must_read(const char *text)
{
    struct hypar_plan *plan;
    struct hypar_error err = { 0 };
    if (plan_from(&plan, text, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return plan;
}

/* Written and read again, a plan is written the same. */
static void check_round_trip(const struct hypar_plan *plan)
{
    struct hypar_error err = { 0 };
    struct hypar_plan *again;
    char *first = plan_text(plan);
    if (hp_plan_read_text(&again, first, strlen(first), "plan", NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    char *second = plan_text(again);
    assert_string_equal(first, second);
    hypar_plan_free(again);
    free(first);
    free(second);
}

static const char written[] =
    "{\n"
    "  \"format\": \"hypar-plan/1\",\n"
    "  \"model\": \"mlp:8-6-4\",\n"
    "  \"graph_hash\": \"%016llx\",\n"
    "  \"batch\": 12,\n"
    "  \"machine\": \"full:4\",\n"
    "  \"precision\": \"bf16\",\n"
    "  \"optimizer\": \"adam\",\n"
    "  \"seed\": 9,\n"
    "  \"ops\": [\n"
    "    {\"name\": \"fc1\", \"kind\": \"linear\", \"split\": {\"n\": 2, \"k\": 2}, "
    "\"sizes\": {\"n\": [7, 5]}, \"devices\": [0, 1, 0, 1]},\n"
    "    {\"name\": \"relu1\", \"kind\": \"relu\", \"split\": {\"n\": 2}, \"devices\": [0, 1], "
    "\"recompute\": true},\n"
    "    {\"name\": \"fc2\", \"kind\": \"linear\", \"split\": {}, \"devices\": [3], "
    "\"shard\": \"optimizer\"},\n"
    "    {\"name\": \"loss\", \"kind\": \"cross_entropy\", \"split\": {\"n\": 2}, "
    "\"devices\": [2, 3]}\n"
    "  ],\n"
    "  \"stages\": [\n"
    "    {\"ops\": [\"fc1\", \"relu1\"], \"devices\": [0, 1], \"replicas\": 1, "
    "\"share\": \"batch\"},\n"
    "    {\"ops\": [\"fc2\", \"loss\"], \"devices\": [2, 3], \"replicas\": 1, "
    "\"share\": \"batch\"}\n"
    "  ],\n"
    "  \"schedule\": {\"name\": \"gpipe\", \"micro_batches\": 3, \"stash\": false, "
    "\"vertical_sync\": false}\n"
    "}\n";

/* Axes and operators in another order, even sizes spelled out, defaults left out: all the same.
 */
static void test_written_form(void **state)
{
    (void)state;
    struct hypar_plan *plan = must_read(
        HEAD "'precision':'bf16','optimizer':'adam','seed':9,"
             "'ops':[{'name':'fc2','shard_state':true,'devices':[3],'split':{'n':1}},"
             "{'name':'fc1','split':{'k':2,'n':2},'sizes':{'k':[3,3],'n':[7,5]},"
             "'devices':[0,1,0,1]},"
             "{'name':'relu1','split':{'n':2},'recompute':true},{'name':'*','split':{'n':2}}],"
             "'stages':[{'ops':['relu1','fc1'],'devices':[0,1]},"
             "{'ops':['fc2','loss'],'devices':[2,3]}],"
             "'schedule':{'name':'gpipe','micro_batches':3}}");
    char expected[sizeof written + 16], *text = plan_text(plan);
    snprintf(expected, sizeof expected, written,
             (unsigned long long)hypar_graph_info(hypar_plan_graph(plan)).hash);
    assert_string_equal(text, expected);
    free(text);
    check_round_trip(plan);
    hypar_plan_free(plan);
}

/* What numbers take: written where it differs from the default, and kept by copies. */
static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *given, *written;
        enum hypar_precision precision, gradients;
        double room; /* of device 0, 16 GB */
    } rows[] = {
        { "", "fp32\",\n  \"optimizer\": \"sgd\",\n  \"seed\"", HYPAR_FP32, HYPAR_FP32, 16e9 },
        { ",'precision':'tf32'", "tf32\",\n  \"optimizer\"", HYPAR_TF32, HYPAR_TF32, 16e9 },
        { ",'precision':'fp16','gradient_precision':'fp16','dropout_masks':'drawn'",
          "fp16\",\n  \"optimizer\": \"sgd\",\n  \"seed\"", HYPAR_FP16, HYPAR_FP16, 16e9 },
        { ",'precision':'fp16','gradient_precision':'fp32','dropout_masks':'kept',"
          "'framework_memory_bytes':2e9",
          "fp16\",\n  \"gradient_precision\": \"fp32\",\n  \"optimizer\": \"sgd\",\n"
          "  \"dropout_masks\": \"kept\",\n  \"framework_memory_bytes\": 2000000000,\n",
          HYPAR_FP16, HYPAR_FP32, 14e9 },
        { ",'framework_memory_bytes':17e9", "\"framework_memory_bytes\": 17000000000,\n",
          HYPAR_FP32, HYPAR_FP32, 1 },
        { ",'memory_limit_bytes':3e9,'framework_memory_bytes':2e9",
          "\"framework_memory_bytes\": 2000000000,\n  \"memory_limit_bytes\": 3000000000,\n",
          HYPAR_FP32, HYPAR_FP32, 1e9 },
        { ",'memory_limit_bytes':1", "\"memory_limit_bytes\": 1,\n", HYPAR_FP32, HYPAR_FP32,
          1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char given[512];
        snprintf(given, sizeof given, HEAD "'ops':[{'name':'*'}]%s}", rows[i].given);
        struct hypar_plan *plan = must_read(given), *copy = hp_plan_copy(plan);
        char *text = plan_text(plan), *again = plan_text(copy);
        assert_non_null(strstr(text, rows[i].written));
        assert_string_equal(text, again);
        assert_int_equal(hypar_plan_settings(copy).precision, rows[i].precision);
        assert_int_equal(hypar_plan_gradient_precision(copy), rows[i].gradients);
        assert_true(hp_plan_fullest(copy, 0).has == rows[i].room);
        assert_int_equal(hypar_plan_check_memory(copy, 0, NULL),
                         rows[i].room > 1 ? HYPAR_OK : HYPAR_INFEASIBLE);
        check_round_trip(plan);
        free(text);
        free(again);
        hypar_plan_free(copy);
        hypar_plan_free(plan);
    }
}

/* Written where something differs from the default, kept by copies, and gone by when nothing
 * else is said. */
static void test_simulation(void **state)
{
    (void)state;
    static const struct {
        const char *given, *written;
    } rows[] = {
        { "", NULL },
        { ",'simulation':null", NULL },
        { ",'simulation':{}", NULL },
        { ",'simulation':{'all_reduce':'auto','bucket_bytes':0,'no_overlap':false}", NULL },
        { ",'simulation':{'no_overlap':true,'all_reduce':'ring'}",
          "\"as\": \"compiled,overlap=none\",\n  \"simulation\": {\"all_reduce\": "
          "\"ring\"}\n" },
        { ",'simulation':{'expand_collectives':true,'half_duplex':true,'one_class':true,'local_"
          "bn':true,"
          "'bucket_bytes':2.5e7}",
          "\"as\": \"compiled,bucket_bytes=25000000\",\n  \"simulation\": {\"local_bn\": true, "
          "\"half_duplex\": "
          "true, \"one_class\": true, \"expand_collectives\": true}\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char given[512];
        snprintf(given, sizeof given, HEAD "'ops':[{'name':'*'}]%s}", rows[i].given);
        struct hypar_plan *plan = must_read(given), *copy = hp_plan_copy(plan);
        char *text = plan_text(plan), *again = plan_text(copy);
        if (rows[i].written)
            assert_non_null(strstr(text, rows[i].written));
        else
            assert_null(strstr(text, "simulation"));
        assert_string_equal(text, again);
        check_round_trip(plan);
        free(text);
        free(again);
        hypar_plan_free(copy);
        hypar_plan_free(plan);
    }
}

static void test_getters(void **state)
{
    (void)state;
    struct hypar_plan *plan = must_read(
        HEAD
        "'seed':5,'ops':[{'name':'fc1','split':{'n':5,'k':2},'sizes':{'n':[4,4,4,0,0]},"
        "'devices':[0,1,2,3,0,1,2,3,0,1]},{'name':'*','split':{'n':4},'recompute':true}]}");
    const struct hypar_graph *graph = hypar_plan_graph(plan);
    int fc1 = hypar_graph_find_op(graph, "fc1"), loss = hypar_graph_find_op(graph, "loss");
    int n = 0, k = hp_nest_axis(graph->ops[fc1].nest, 'k');
    assert_string_equal(hypar_plan_model(plan), "mlp:8-6-4");
    assert_int_equal(hypar_machine_device_count(hypar_plan_machine(plan)), 4);
    assert_int_equal(hypar_plan_settings(plan).precision, HYPAR_FP32);
    assert_int_equal(hypar_plan_settings(plan).optimizer, HYPAR_SGD);
    assert_int_equal(hypar_plan_settings(plan).seed, 5);
    assert_int_equal(hypar_plan_degree(plan, fc1, n), 5);
    assert_int_equal(hypar_plan_degree(plan, fc1, k), 2);
    assert_int_equal(hypar_plan_part_size(plan, fc1, n, 2), 4);
    assert_int_equal(hypar_plan_part_size(plan, fc1, n, 3), 0);
    assert_int_equal(hypar_plan_op(plan, fc1).n_parts, 10);
    assert_int_equal(hypar_plan_op(plan, fc1).n_devices, 10);
    assert_int_equal(hypar_plan_op(plan, fc1).device[9], 1);
    assert_int_equal(hypar_plan_op(plan, loss).device[3], 3);
    assert_false(hypar_plan_op(plan, fc1).recompute);
    assert_true(hypar_plan_op(plan, loss).recompute);
    assert_int_equal(hypar_plan_op(plan, loss).shard, HYPAR_SHARD_NONE);
    assert_int_equal(hypar_plan_op(plan, loss).stage, -1);
    assert_int_equal(hypar_plan_stage_count(plan), 0);
    assert_int_equal(hypar_plan_schedule(plan).kind, HYPAR_SCHEDULE_NONE);
    assert_int_equal(hypar_plan_schedule(plan).micro_batches, 1);
    check_round_trip(plan);
    hypar_plan_free(plan);
}

/* PipeDream: the devices of replica 0, then of replica 1; by default the first of each group.
 */
static void test_replicas(void **state)
{
    (void)state;
    struct hypar_plan *plan =
        must_read("{'format':'hypar-plan/1','model':'mlp:8-6-4','machine':'full:8',"
                  "'ops':[{'name':'fc1','split':{'n':2},'devices':[1,0,2,3]},{'name':'*'}],"
                  "'stages':[{'ops':['fc1','relu1'],'devices':[0,1,2,3],'replicas':2,"
                  "'share':'minibatch'},{'ops':['fc2','loss'],'devices':[4]}],"
                  "'schedule':{'name':'pipedream'}}");
    static const int fc1[] = { 1, 0, 2, 3 }, relu1[] = { 0, 2 };
    assert_int_equal(hypar_plan_op(plan, 0).n_parts, 2);
    assert_int_equal(hypar_plan_op(plan, 0).n_devices, 4);
    assert_memory_equal(plan->ops[0].device, fc1, sizeof fc1);
    assert_int_equal(hypar_plan_op(plan, 1).n_devices, 2);
    assert_memory_equal(plan->ops[1].device, relu1, sizeof relu1);
    assert_int_equal(hypar_plan_op(plan, 2).device[0], 4);
    assert_true(hypar_plan_schedule(plan).stash);
    assert_int_equal(hypar_plan_stage_count(plan), 2);
    assert_int_equal(hypar_plan_stage(plan, 0).replicas, 2);
    assert_int_equal(hypar_plan_stage(plan, 0).share, HYPAR_SHARE_MINIBATCH);
    assert_int_equal(hypar_plan_op(plan, 3).stage, 1);
    check_round_trip(plan);
    hypar_plan_free(plan);
}

static void test_machine_object(void **state)
{
    (void)state;
    struct hypar_machine *machine;
    struct hypar_graph *graph;
    assert_int_equal(hypar_machine_read(&machine, "cluster:2x2,device=a100", NULL), HYPAR_OK);
    assert_int_equal(hypar_import(&graph, "mlp:8-6-4", NULL, NULL), HYPAR_OK);
    struct hypar_plan_settings settings = { .model = "mlp:8-6-4" };
    struct hypar_plan *plan = hp_plan_new(graph, machine, &settings);
    assert_int_equal(hypar_plan_check(plan, NULL), HYPAR_OK);
    check_round_trip(plan);
    hypar_plan_free(plan);
    hypar_graph_free(graph);
    hypar_machine_free(machine);
}

static void test_overrides(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\":\"hypar-plan/1\",\"model\":\"none\",\"machine\":\"none\","
        "\"ops\":[{\"name\":\"*\",\"split\":{\"n\":3}}]}";
    struct hypar_plan *plan;
    struct hypar_error err;
    struct hypar_plan_read_options options = { .model = "mlp:8-6-4", .machine = "full:3" };
    assert_int_equal(hp_plan_read_text(&plan, text, sizeof text - 1, "plan", &options, &err),
                     HYPAR_OK);
    assert_string_equal(hypar_plan_model(plan), "mlp:8-6-4");
    assert_int_equal(hypar_machine_device_count(hypar_plan_machine(plan)), 3);
    check_round_trip(plan);
    hypar_plan_free(plan);
    options.machine = "full:2";
    assert_int_equal(hp_plan_read_text(&plan, text, sizeof text - 1, "plan", &options, &err),
                     HYPAR_INFEASIBLE);
    assert_string_equal(err.text,
                        "plan: op 'fc1': its 3 parts need devices to be listed: there are 2");
}

/* What a planner does: HyPar's nested sizes over four devices, then another split in its place.
 */
static void test_building(void **state)
{
    (void)state;
    struct hypar_machine *machine;
    struct hypar_graph *graph;
    struct hypar_error err = { 0 };
    int64_t sizes[4];
    assert_int_equal(hypar_machine_read(&machine, "htree:4", &err), HYPAR_OK);
    assert_int_equal(
        hypar_import(&graph, "mlp:8-6-4", &(struct hypar_import_options){ .batch = 10 }, &err),
        HYPAR_OK);
    struct hypar_plan_settings settings = { .model = "mlp:8-6-4", .machine_word = "htree:4" };
    struct hypar_plan *plan = hp_plan_new(graph, machine, &settings);
    struct split split = { .degree = { 4 } };
    hp_nested_sizes(10, (const int[]){ 2, 2 }, 2, sizes);
    split.sizes[0] = sizes;
    for (int op = 0; op < graph->n_ops; op++)
        hp_plan_set(plan, op, &split, (const int[]){ 3, 2, 1, 0 });
    assert_int_equal(hypar_plan_check(plan, &err), HYPAR_OK);
    assert_int_equal(hypar_plan_part_size(plan, 0, 0, 2), 3);
    assert_int_equal(hypar_plan_op(plan, 0).device[0], 3);
    check_round_trip(plan);

    const int *room = plan->ops[0].device;
    hp_plan_set(plan, 0, &(struct split){ .degree = { 2 } }, (const int[]){ 1, 3 });
    assert_ptr_equal(plan->ops[0].device, room);
    assert_int_equal(hypar_plan_op(plan, 0).n_parts, 2);
    assert_int_equal(hypar_plan_part_size(plan, 0, 0, 1), 5);
    hp_plan_set(plan, 1, &(struct split){ .degree = { 2 } }, NULL);
    assert_int_equal(hypar_plan_op(plan, 1).device[1], 1);
    assert_int_equal(hypar_plan_check(plan, &err), HYPAR_OK);
    hp_plan_set(plan, 0, &(struct split){ .degree = { 2 } }, (const int[]){ 1, 4 });
    assert_int_equal(hypar_plan_check(plan, &err), HYPAR_INFEASIBLE);
    assert_string_equal(err.text, "op 'fc1': device 4 is not in the machine, expected 0 to 3");
    hypar_plan_free(plan);
    hypar_graph_free(graph);
    hypar_machine_free(machine);
}

/* A random split of every operator, on random devices, that must pass and come back. */
static void randomise(struct hypar_plan *plan, struct random *random)
{
    static int64_t sizes[4];
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct nest *nest = plan->graph->ops[op].nest;
        struct split split = { .degree = { 0 } };
        int a = (int)hp_random_below(random, nest->n_axes), devices[16];
        int b = (int)hp_random_below(random, nest->n_axes);
        if (nest->axis[a].splittable)
            split.degree[a] = 4;
        if (nest->axis[a].splittable && nest->axis[a].role != HYPAR_COPY) {
            hp_nested_sizes(nest->axis[a].extent, (const int[]){ 2, 2 }, 2, sizes);
            split.sizes[a] = sizes;
        }
        if (b != a && nest->axis[b].splittable)
            split.degree[b] = 1 + (int)hp_random_below(random, 4);
        for (int i = 0; i < 16; i++)
            devices[i] = (int)hp_random_below(random, plan->n_all_devices);
        hp_plan_set(plan, op, &split, devices);
        plan->ops[op].recompute = hp_random_below(random, 2);
        if (hp_op_has_params(plan->graph, op))
            plan->ops[op].shard = (enum hypar_shard)hp_random_below(random, 4);
        plan->ops[op].shard_over = plan->ops[op].shard ? (int)hp_random_below(random, 3) : 0;
    }
    for (int t = 0; t < 2 * plan->graph->n_tensors; t++) { /* users of one agree */
        int tensor = t % plan->graph->n_tensors;
        const int start = plan->graph->use_start[tensor];
        for (int u = start + 1; u < plan->graph->use_start[tensor + 1] &&
                                plan->graph->tensors[tensor].kind == TENSOR_PARAM;
             u++) {
            struct op_plan *user = &plan->ops[plan->graph->use[u].op];
            user->shard = plan->ops[plan->graph->use[start].op].shard;
            user->shard_over = plan->ops[plan->graph->use[start].op].shard_over;
        }
    }
}

static void test_random_plans(void **state)
{
    (void)state;
    static const char *const models[] = { "mlp:8-6-4", "lenet5", "resnet18:image=32,classes=10",
                                          "gpt:layers=2,hidden=8,heads=2,seq=4,vocab=16" };
    uint64_t seed = 31;
    printf("seed %llu\n", (unsigned long long)seed);
    struct random random = { seed };
    struct hypar_machine *machine;
    assert_int_equal(hypar_machine_read(&machine, "torus:3x3", NULL), HYPAR_OK);
    for (int m = 0; m < 4; m++) {
        struct hypar_graph *graph;
        struct hypar_error err = { 0 };
        assert_int_equal(hypar_import(&graph, models[m], NULL, &err), HYPAR_OK);
        struct hypar_plan_settings settings = { .model = models[m],
                                                .machine_word = "torus:3x3" };
        struct hypar_plan *plan = hp_plan_new(graph, machine, &settings);
        for (int round = 0; round < 5; round++) {
            randomise(plan, &random);
            if (hypar_plan_check(plan, &err) != HYPAR_OK)
                fail_msg("%s", err.text);
            check_round_trip(plan);
        }
        hypar_plan_free(plan);
        hypar_graph_free(graph);
    }
    hypar_machine_free(machine);
}

/* A plan text with random bytes changed is read or refused, with a line, and nothing else. */
static void test_damaged_plans(void **state)
{
    (void)state;
    uint64_t seed = 5;
    printf("seed %llu\n", (unsigned long long)seed);
    struct random random = { seed };
    struct hypar_plan *plan = must_read(
        HEAD "'ops':[{'name':'fc1','split':{'n':2},'sizes':{'n':[7,5]}},{'name':'*'}],"
             "'stages':[{'ops':['fc1','relu1'],'devices':[0,1]},{'ops':['fc2','loss'],"
             "'devices':[2,3]}]}");
    char *text = plan_text(plan), *copy = strdup(text);
    size_t n = strlen(text);
    struct hypar_plan_read_options options = { .model = "mlp:8-6-4", .machine = "full:4" };
    for (int round = 0; round < 3000; round++) {
        static const char bytes[] = "0123456789-{}[],:\"nkxrq \\";
        struct hypar_plan *read;
        struct hypar_error err = { 0 };
        memcpy(copy, text, n + 1);
        for (int i = (int)hp_random_below(&random, 3); i >= 0; i--)
            copy[hp_random_below(&random, (int64_t)n)] =
                bytes[hp_random_below(&random, sizeof bytes - 1)];
        enum hypar_status status = hp_plan_read_text(&read, copy, n, "plan", &options, &err);
        assert_true(status == HYPAR_OK ? read != NULL : !read && err.text[0]);
        hypar_plan_free(read);
    }
    free(text);
    free(copy);
    hypar_plan_free(plan);
}

/* A model's path is meant from where the plan lies. */
static void test_relative_model(void **state)
{
    (void)state;
    char folder[] = "/tmp/hypar-plan-XXXXXX", path[64], model[64];
    struct hypar_graph *graph;
    struct hypar_plan *plan;
    struct hypar_error err = { 0 };
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/plan.json", folder);
    snprintf(model, sizeof model, "%s/model.json", folder);
    assert_int_equal(hypar_import(&graph, "mlp:8-6-4", NULL, &err), HYPAR_OK);
    FILE *file = fopen(model, "w");
    hypar_graph_write(graph, file);
    fclose(file);
    file = fopen(path, "w");
    fputs("{\"format\":\"hypar-plan/1\",\"model\":\"model.json\",\"machine\":\"full:2\","
          "\"ops\":[{\"name\":\"*\"}]}",
          file);
    fclose(file);
    if (hypar_plan_read(&plan, path, NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    assert_string_equal(hypar_plan_model(plan), "model.json");
    assert_int_equal(hypar_graph_info(hypar_plan_graph(plan)).hash,
                     hypar_graph_info(graph).hash);
    hypar_plan_free(plan);
    hypar_graph_free(graph);
    unlink(path);
    unlink(model);
    rmdir(folder);
    assert_int_equal(hypar_plan_read(&plan, path, NULL, &err), HYPAR_UNREADABLE);
    assert_null(plan);
}

static void test_examples(void **state)
{
    (void)state;
    DIR *folder = opendir("examples/plans");
    int n = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[300];
        struct hypar_plan *plan;
        struct hypar_error err = { 0 };
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "examples/plans/%s", entry->d_name);
        if (hypar_plan_read(&plan, path, NULL, &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        check_round_trip(plan);
        hypar_plan_free(plan);
        n++;
    }
    closedir(folder);
    assert_true(n >= 4);
}

/* The plan that the documentation shows. */
static void test_documentation(void **state)
{
    (void)state;
    static char text[PLAN_TEXT_BYTES];
    struct hypar_plan *plan;
    struct hypar_error err = { 0 };
    FILE *file = fopen("docs/formats-plan.md", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *begin = strstr(text, "```json\n");
    assert_non_null(begin);
    begin += strlen("```json\n");
    size_t n = (size_t)(strstr(begin, "```") - begin);
    if (hp_plan_read_text(&plan, begin, n, "docs/formats-plan.md", NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    check_round_trip(plan);
    hypar_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_form),   cmocka_unit_test(test_simulation),
        cmocka_unit_test(test_numbers),        cmocka_unit_test(test_getters),
        cmocka_unit_test(test_replicas),       cmocka_unit_test(test_machine_object),
        cmocka_unit_test(test_overrides),      cmocka_unit_test(test_building),
        cmocka_unit_test(test_random_plans),   cmocka_unit_test(test_damaged_plans),
        cmocka_unit_test(test_relative_model), cmocka_unit_test(test_examples),
        cmocka_unit_test(test_documentation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
