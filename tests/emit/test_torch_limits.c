/* Limits of PyTorch: plans that are accepted, and plans that are refused by operator and
 * axis. */
#include "tests/plan/plans.h"

#include "emit/torch_limits.h"
#include "tests/random_graph.h"

#define LLAMA "llama:layers=4,hidden=64,heads=8,ffn=96,seq=16,vocab=100"
#define MLP   "mlp:32-32-32-10"

static const struct {
    const char *model, *machine, *rest;
    const char *why; /* NULL: it is taken */
} cases[] = {
    { MLP, "full:4", "'ops':[{'name':'*','split':{'n':4}}]", NULL },
    { MLP, "full:4", "'layout':{'data':2,'tensor':2}", NULL },
    { LLAMA, "full:8", "'layout':{'data':2,'tensor':4}", NULL },
    { LLAMA, "full:8", "'layout':{'data':2,'tensor':4,'sequence_parallel':true}", NULL },
    { LLAMA, "full:8",
      "'layout':{'data':2,'tensor':2,'pipeline':2,'micro_batches':4,'shard':'parameters',"
      "'recompute':'full'}",
      NULL },
    { LLAMA, "full:4", "'layout':{'data':2,'pipeline':2,'chunks':2,'micro_batches':4}", NULL },
    { LLAMA, "full:4", "'layout':{'data':4,'shard':'gradients'}", NULL },
    { LLAMA, "full:3", "'layout':{'tensor':3}",
      "op 'layers.0.q_proj': axis 'k' of 64 is split 3 ways, PyTorch's parts are those of "
      "torch.chunk(); expected a number that divides it" }, /* 3, 3 and 2 heads */
    { LLAMA, "full:2", "'layout':{'pipeline':2,'micro_batches':4,'schedule':'zb-h1'}",
      "PyTorch has no schedule 'zb-h1', expected gpipe, 1f1b, interleaved" },
    { LLAMA, "full:2", "'layout':{'pipeline':2,'micro_batches':4,'schedule':'zb-h2'}",
      "PyTorch has no schedule 'zb-h2', expected gpipe, 1f1b, interleaved" },
    { LLAMA, "full:4", "'layout':{'pipeline':4,'micro_batches':2}",
      "PyTorch's schedule '1f1b' has at least as many micro-batches as stages, 4, not 2; "
      "expected gpipe" },
    { LLAMA, "full:4", "'layout':{'pipeline':4,'micro_batches':2,'schedule':'gpipe'}", NULL },
    { LLAMA, "full:2", "'layout':{'pipeline':2,'micro_batches':1,'schedule':'none'}", NULL },
    { LLAMA, "full:2", "'layout':{'pipeline':2,'micro_batches':2,'schedule':'none'}",
      "PyTorch has no schedule 'none', expected gpipe, 1f1b, interleaved" },
    { LLAMA, "full:4", "'batch':6,'layout':{'data':2,'pipeline':2,'micro_batches':2}",
      "op 'embed_tokens': axis 'n' is split 2 ways in each of 2 micro-batches, PyTorch's have "
      "equal parts; expected a batch that they divide, not 6" },
    { "vgg11:image=32", "full:4", "'ops':[{'name':'*','split':{'n':4}}]", NULL },
    { "vgg11:image=32", "full:4", "'ops':[{'name':'*','split':{'n':2,'h':2}}]",
      "op 'conv1_1': axis 'h' is split 2 ways, PyTorch's DTensor splits a convolution by "
      "samples alone, it has no halo exchange and no rule for channels; expected one of n, r" },
    { "vgg11:image=32", "full:4", "'layout':{'data':2,'tensor':2}",
      "op 'conv1_1': axis 'k' is split 2 ways, PyTorch's DTensor splits a convolution by "
      "samples alone, it has no halo exchange and no rule for channels; expected one of n, r" },
};

/* The plan of a case. */
static struct hypar_plan *read_case(size_t i)
{
    char text[1024];
    struct hypar_plan *plan;
    struct hypar_error err = { 0 };
    const char *batch = strstr(cases[i].rest, "'batch'") ? "" : "'batch':16,";
    snprintf(text, sizeof text, "{'format':'hypar-plan/1','model':'%s',%s'machine':'%s',%s}",
             cases[i].model, batch, cases[i].machine, cases[i].rest);
    if (plan_from(&plan, text, &err) != HYPAR_OK)
        fail_msg("%s: %s", text, err.text);
    return plan;
}

static void test_cases(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hypar_plan *plan = read_case(i);
        struct hypar_error err = { 0 };
        struct arena arena = { 0 };
        struct mesh mesh;
        enum hypar_status status = hp_torch_can_run(plan, &mesh, &arena, &err);
        if (!cases[i].why && status != HYPAR_OK)
            fail_msg("%s %s: %s", cases[i].model, cases[i].rest, err.text);
        if (cases[i].why && status == HYPAR_OK)
            fail_msg("%s %s: taken, expected: %s", cases[i].model, cases[i].rest, cases[i].why);
        if (cases[i].why)
            assert_string_equal(err.text, cases[i].why);
        hp_arena_free(&arena);
        hypar_plan_free(plan);
    }
    (void)state;
}

/* What is taken has a schedule that PyTorch knows by name. */
static void test_schedules(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hypar_plan *plan = read_case(i);
        if (!cases[i].why)
            assert_non_null(hp_torch_schedule(plan->schedule.kind));
        hypar_plan_free(plan);
    }
    (void)state;
}

/* Every dimension of the mesh belongs to an axis of the operator, drawn at random. */
static void lay(struct random *random, struct hypar_plan *plan, int op, const int *size,
                int n_dims)
{
    const struct nest *nest = plan->graph->ops[op].nest;
    struct split split = { 0 };
    for (int d = 0, last = 0; d < n_dims; d++) { /* in the order of axes, as parts are placed */
        int axis;
        do
            axis = (int)draw(random, last, nest->n_axes - 1);
        while (!nest->axis[axis].splittable);
        split.degree[axis] = (split.degree[axis] > 1 ? split.degree[axis] : 1) * size[d];
        last = axis;
    }
    hp_plan_set(plan, op, &split, NULL);
}

/* All copies, which every operator can have. */
static void copy(struct hypar_plan *plan, int op, int n)
{
    struct split split = { 0 };
    split.degree[plan->graph->ops[op].nest->n_axes - 1] = n;
    hp_plan_set(plan, op, &split, NULL);
}

/* The operator that a refusal names: "op 'fc1': ...". */
static int named(const struct hypar_graph *graph, const char *text)
{
    char name[256];
    if (sscanf(text, "op '%255[^']':", name) != 1)
        return -1;
    return hypar_graph_find_op(graph, name);
}

/* A refusal names an operator, once, and an axis that it splits; with copies in its place it is
 * taken, or another one is refused. */
static int refusals(struct hypar_plan *plan, int n, int seed)
{
    bool *copied = calloc((size_t)plan->graph->n_ops, sizeof *copied);
    struct hypar_error err = { 0 };
    struct arena arena = { 0 };
    struct mesh mesh;
    int times = 0;
    for (; hp_torch_can_run(plan, &mesh, &arena, &err) != HYPAR_OK; times++) {
        int op = named(plan->graph, err.text);
        const char *axis = strstr(err.text, "axis '");
        if (op < 0 || copied[op] || !axis)
            fail_msg("seed %d: %s", seed, err.text);
        int a = hp_nest_axis(plan->graph->ops[op].nest, axis[6]);
        if (a < 0 || hypar_plan_degree(plan, op, a) < 2)
            fail_msg("seed %d: not split: %s", seed, err.text);
        copied[op] = true;
        copy(plan, op, n);
    }
    for (int op = 0; op < plan->graph->n_ops; op++) { /* what is taken is of the table */
        const struct nest *nest = plan->graph->ops[op].nest;
        for (int a = 0; a < nest->n_axes; a++)
            assert_true(hypar_plan_degree(plan, op, a) == 1 || hp_torch_axes(nest) >> a & 1);
    }
    hp_arena_free(&arena);
    free(copied);
    return times;
}

static void test_random(void **state)
{
    int taken = 0, all = 0;
    for (int seed = 1; seed <= 1000; seed++) {
        struct random random = { (uint64_t)seed };
        int size[3], n_dims = (int)draw(&random, 1, 3), n = 1;
        for (int d = 0; d < n_dims; d++)
            n *= size[d] = 2;
        char word[32];
        struct hypar_machine *machine;
        snprintf(word, sizeof word, "full:%d", n);
        assert_int_equal(hypar_machine_read(&machine, word, NULL), HYPAR_OK);
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_plan *plan =
            hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
        for (int op = 0; op < graph->n_ops; op++)
            lay(&random, plan, op, size, n_dims);
        taken += graph->n_ops - refusals(plan, n, seed);
        all += graph->n_ops;
        hypar_plan_free(plan);
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
    print_message("%d of %d operators of random plans are taken\n", taken, all);
    assert_in_range(taken, all / 10, all - all / 10);
    (void)state;
}

/* Every operator has its axes for samples and copies; those that PyTorch has no rule for have
 * no others. */
static void test_axes(void **state)
{
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        struct random random = { (uint64_t)kind + 1 };
        if (kind == OP_OPAQUE)
            continue;
        struct hypar_graph *graph = random_graph(&random, (enum op_kind)kind);
        for (int op = 0; op < graph->n_ops; op++) {
            const struct nest *nest = graph->ops[op].nest;
            axis_set axes = hp_torch_axes(nest);
            for (int a = 0; a < nest->n_axes; a++) {
                const struct hypar_axis *axis = &nest->axis[a];
                bool always = axis->role == HYPAR_SAMPLE || axis->role == HYPAR_COPY;
                assert_true(!always || !axis->splittable || axes >> a & 1);
                assert_true(axis->splittable || !(axes >> a & 1));
                assert_false(nest->kind == OP_CONV && !always && axes >> a & 1);
            }
        }
        hypar_graph_free(graph);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
