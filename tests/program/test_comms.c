/* Small plans, and the names of the communications that they must give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "program/program.h"

enum { MAX_PARTS = 64, MAX_TEXT = 512 };

/* A plan in short, one word for each operator: "fc1=n2k2@0101" is fc1 split in two by n and in
 * two by k on devices 0, 1, 0, 1; without '@' on 0, 1, 2, ...; operator '*' is every one. Those
 * not named are whole on device 0. '!' at the end: computed again in the backward half.
 *
 * What is expected is every communication of one place, in order: kind, devices, bytes. A
 * tensor of the network "mlp:12-12-12" has 12 x 12 elements, 576 bytes. */
static const struct {
    const char *title, *model;
    int batch, micro_batches;
    const char *plan, *place; /* "d " in front: the gradient */
    const char *expected;
} cases[] = {
    /* clang-format off */
    { "samples split: gradients", "mlp:12-12-12", 12, 1, "*=n4", "d fc1.w", "all-reduce 0123 3456" },
    { "samples split: the loss", "mlp:12-12-12", 12, 1, "*=n4", "loss", "all-reduce 0123 24" },
    { "samples split: nothing else", "mlp:12-12-12", 12, 1, "*=n4", "d relu1", "" },
    { "gradients once a step", "mlp:12-12-12", 12, 3, "*=n2", "d fc2.w", "all-reduce 01 1152" },
    { "partial sums read whole", "mlp:12-12-12", 12, 1, "fc1=c2 relu1=r2", "fc1", "all-reduce 01 1152" },
    { "partial sums: each its weights", "mlp:12-12-12", 12, 1, "fc1=c2 relu1=r2", "d fc1.w", "" },
    { "features read whole", "mlp:12-12-12", 12, 1, "fc1=k3 relu1=c3 fc2=r3", "relu1", "all-gather 012 1152" },
    { "... by two", "mlp:12-12-12", 12, 1, "fc1=k2 relu1=c2 fc2=r2", "relu1", "all-gather 01 576" },
    { "... in micro-batches", "mlp:12-12-12", 12, 2, "fc1=k2 relu1=c2 fc2=r2", "relu1", "all-gather 01 288" },
    { "... and samples split", "mlp:12-12-12", 12, 1, "fc1=n2k2 relu1=n2c2 fc2=n2r2", "relu1",
      "all-gather 01 288, all-gather 23 288" },
    { "... in micro-batches too", "mlp:12-12-12", 12, 3, "fc1=n2k2 relu1=n2c2 fc2=n2r2", "relu1",
      "all-gather 01 96, all-gather 23 96" },
    { "features, then partial sums", "mlp:12-12-12", 12, 1, "fc1=k2 relu1=c2 fc2=c2 loss=r2", "relu1", "" },
    { "... errors neither", "mlp:12-12-12", 12, 1, "fc1=k2 relu1=c2 fc2=c2 loss=r2", "d relu1", "" },
    { "... but the result", "mlp:12-12-12", 12, 1, "fc1=k2 relu1=c2 fc2=c2 loss=r2", "fc2", "all-reduce 01 1152" },
    { "... and the error before", "mlp:12-12-12-12", 12, 1, "fc1=r2 relu1=r2 fc2=k2 relu2=c2 fc3=c2 loss=r2",
      "d relu1", "all-reduce 01 1152" },
    { "samples to features", "mlp:12-12-12", 12, 1, "fc1=n4 relu1=c4", "fc1", "all-to-all 0123 432" },
    { "... by three", "mlp:12-12-12", 12, 1, "fc1=n3 relu1=c3", "fc1", "all-to-all 012 384" },
    { "... and back", "mlp:12-12-12", 12, 1, "fc1=n3 relu1=c3", "d fc1", "all-to-all 012 384" },
    { "... by two", "mlp:12-12-12", 12, 1, "fc1=n2 relu1=c2", "fc1", "send 01 144, send 01 144" },
    { "partial sums to samples", "mlp:12-12-12", 12, 1, "fc1=c2 relu1=n2", "fc1", "reduce-scatter 01 576" },
    { "... by three", "mlp:12-12-12", 12, 1, "fc1=c3 relu1=n3", "fc1", "reduce-scatter 012 1152" },
    { "rows of a convolution", "lenet5", 2, 1, "pool1=h2 conv2=h2", "pool1", "send 01 1344, send 01 1344" },
    { "... and back: errors are sums", "lenet5", 2, 1, "pool1=h2 conv2=h2", "d pool1", "reduce-scatter 01 2688" },
    { "one device to one", "mlp:12-12-12", 12, 1, "relu1=@1", "fc1", "send 01 576" },
    { "one to several", "mlp:12-12-12", 12, 1, "relu1=r3", "fc1", "broadcast 012 1152" },
    { "several to one of them", "mlp:12-12-12", 12, 1, "fc1=c3", "fc1", "reduce 012 1152" },
    { "several to another", "mlp:12-12-12", 12, 1, "fc1=c3 relu1=@3", "fc1", "reduce 0123 1728" },
    { "several to one of them and another", "mlp:12-12-12", 12, 1, "fc1=c2 relu1=r2@02", "fc1", "exchange 012 1152" },
    { "a reader that has no piece", "mlp:12-12-12", 12, 1, "fc1=k4@0101 relu1=r3", "fc1",
      "broadcast 012 576, broadcast 012 576" },
    { "... though there are as many pieces", "mlp:12-12-12", 12, 1, "fc1=k3@010 relu1=r3", "fc1",
      "broadcast 012 768, broadcast 012 384" },
    { "a contributor that gets no piece", "mlp:12-12-12", 12, 1, "fc1=c3 relu1=n4@0101", "fc1",
      "reduce 012 576, reduce 012 576" },
    { "... though there are as many pieces", "mlp:12-12-12", 12, 1, "fc1=c3 relu1=n3@010", "fc1",
      "reduce 012 768, reduce 012 384" },
    { "what is added after sums: to the first part", "tests/data/scatter-add.json", 2, 1, "scale=@2 scatter=t2@01",
      "scale", "send 02 192" },
    { "... computed again: once more", "tests/data/scatter-add.json", 2, 1, "scale=@2! scatter=t2@01!", "scale",
      "send 02 192, send 02 192" },
    { "one device", "mlp:12-12-12", 12, 1, "*=n4@0000", "d fc1.w", "" },
    /* clang-format on */
};

enum { N_CASES = sizeof cases / sizeof cases[0] };

/* "n2k2@0101!" */
static void set_op(struct hypar_plan *plan, int op, const char *text)
{
    struct split split = { .degree = { 0 } };
    int device[MAX_PARTS], n = 0;
    for (; *text && *text != '@' && *text != '!'; text += 2) {
        int axis = hp_nest_axis(plan->graph->ops[op].nest, text[0]);
        if (axis < 0 || text[1] < '1' || text[1] > '9')
            fail_msg("'%s': no such split '%s'", plan->graph->ops[op].name, text);
        split.degree[axis] = text[1] - '0';
    }
    if (*text == '@')
        for (text++; *text && *text != '!' && n < MAX_PARTS; text++)
            device[n++] = *text - '0';
    hp_plan_set(plan, op, &split, n ? device : NULL);
    plan->ops[op].recompute = *text == '!';
}

static void set_ops(struct hypar_plan *plan, const char *text)
{
    char name[32], split[32];
    for (int length; sscanf(text, " %31[^=]=%31s%n", name, split, &length) == 2; text += length)
        for (int op = 0, found = 0; op < plan->graph->n_ops || !found; op++) {
            if (op == plan->graph->n_ops)
                fail_msg("no operator '%s'", name);
            if (strcmp(name, "*") != 0 && strcmp(name, plan->graph->ops[op].name) != 0)
                continue;
            set_op(plan, op, split);
            found = 1;
        }
}

/* Every communication of a place: "all-reduce 0123 3456, ..." */
static void describe(const struct hypar_program *p, const char *place, char *text)
{
    bool grad = strncmp(place, "d ", 2) == 0, found = false;
    size_t length = 0;
    text[0] = 0;
    for (int t = 0; t < p->n_tasks; t++) { /* of the first micro-batch, of the step */
        int b = hp_task_body(p, t);
        if (p->task[t].kind != TASK_COMM || (b != 0 && b != p->n_bodies))
            continue;
        const struct comm *comm = hp_task_comm(p, t);
        struct place what = hp_task_place(p, t);
        if (what.grad != grad ||
            strcmp(p->plan->graph->tensors[what.tensor].name, place + 2 * grad) != 0)
            continue;
        char devices[16] = "";
        for (int d = 0; d < comm->n_devices && d < 15; d++)
            devices[d] = (char)('0' + comm->device[d]);
        length +=
            (size_t)snprintf(text + length, MAX_TEXT - length, "%s%s %s %g", length ? ", " : "",
                             hp_comm_text(comm->kind), devices, hp_task_bytes(p, t));
        assert_true(length < MAX_TEXT);
    }
    for (int t = 0; t < p->plan->graph->n_tensors; t++)
        found |= strcmp(p->plan->graph->tensors[t].name, place + 2 * grad) == 0;
    if (!found)
        fail_msg("no tensor '%s'", place + 2 * grad);
}

static bool check_case(int i)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine = NULL;
    struct hypar_program *program;
    struct hypar_error err;
    struct hypar_import_options options = { .batch = cases[i].batch };
    char text[MAX_TEXT];
    if (hypar_import(&graph, cases[i].model, &options, &err) ||
        hypar_machine_read(&machine, "full:4", &err))
        fail_msg("%s", err.text);
    struct hypar_plan *plan = hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
    hp_plan_set_schedule(plan,
                         &(struct hypar_schedule){ .micro_batches = cases[i].micro_batches });
    set_ops(plan, cases[i].plan);
    if (hypar_lower(&program, plan, NULL, &err))
        fail_msg("%s: %s", cases[i].title, err.text);
    describe(program, cases[i].place, text);
    bool same = strcmp(text, cases[i].expected) == 0;
    if (!same)
        print_error("%s: %s in %d: '%s' moves by \"%s\", expected \"%s\"\n", cases[i].title,
                    cases[i].plan, cases[i].micro_batches, cases[i].place, text,
                    cases[i].expected);
    hypar_program_free(program);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return same;
}

static void names(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < N_CASES; i++)
        wrong += !check_case(i);
    assert_int_equal(wrong, 0);
}

/* Every kind of communication is the first one of some case. */
static void every_kind_has_a_case(void **state)
{
    (void)state;
    for (enum comm_kind kind = 0; kind < COMM_KIND_COUNT; kind++) {
        const char *name = hp_comm_text(kind);
        bool found = false;
        for (int i = 0; i < N_CASES; i++)
            found |= strncmp(cases[i].expected, name, strlen(name)) == 0 &&
                     cases[i].expected[strlen(name)] == ' ';
        if (!found)
            fail_msg("no case has a communication of kind '%s'", name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(every_kind_has_a_case),
    };
    return cmocka_run_group_tests_name("program: names of communications", tests, NULL, NULL);
}
