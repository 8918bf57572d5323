/* Where images lie in the memory of a rank whose back end wants their channels innermost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "program/program.h"
#include "run/exec/rank.h"

static struct rank *rank_of(const struct hypar_program *program, bool channels_last)
{
    struct rank_options how = { .in_order = true, .channels_last = channels_last };
    struct rank *rank;
    struct hypar_error err;
    if (hp_rank_make(&rank, program, 0, &how, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return rank;
}

/* By the buffers of values: how many have channels innermost, and the steps of one that has. */
static int count(const struct hypar_program *program, bool channels_last)
{
    struct rank *rank = rank_of(program, channels_last);
    int n = 0;
    for (int i = 0; i < rank->buffers.n; i++) {
        const struct buffer *b = &rank->buffers.buffer[i];
        const struct tensor *t = &rank->graph->tensors[b->place.tensor];
        struct strides at =
            hp_place_in_buffer(&rank->buffers, rank->graph, i, b->place, &b->box);
        const struct range *extent = b->box.dim;
        bool inner =
            b->box.n_dims == 4 && extent[1].hi > 1 && extent[3].hi > 1 && at.stride[1] == 1;
        n += inner;
        assert_true(!inner || t->kind != TENSOR_PARAM);
        if (inner)
            assert_int_equal(at.stride[2], at.stride[3] * extent[3].hi);
    }
    hp_rank_free(rank);
    return n;
}

/* Convolutions' images, and those of what follows them, have; queries, keys and scores of heads
 * have not, though they have four dimensions, and weights have not. */
static void test_channels(void **state)
{
    static const struct {
        const char *model;
        bool images;
    } cases[] = { { "resnet18", true }, { "gpt2:layers=1,attention=unfused", false } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hypar_import_options options = { .batch = 2 };
        struct hypar_layout layout = { .data = 1, .tensor = 1, .pipeline = 1 };
        struct hypar_graph *graph;
        struct hypar_machine *machine;
        struct hypar_program *program;
        struct hypar_error err = { 0 };
        if (hypar_import(&graph, cases[i].model, &options, &err) ||
            hypar_machine_read(&machine, "full:1", &err))
            fail_msg("%s", err.text);
        struct hypar_plan *plan = hp_plan_new(
            graph, machine, &(struct hypar_plan_settings){ .precision = HYPAR_BF16 });
        if (hp_plan_set_layout(plan, &layout, &err) || hypar_plan_check(plan, &err) ||
            hypar_lower(&program, plan, NULL, &err))
            fail_msg("%s: %s", cases[i].model, err.text);
        assert_int_equal(count(program, false), 0);
        assert_int_equal(count(program, true) > 20, cases[i].images);
        hypar_program_free(program);
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_channels) };
    return cmocka_run_group_tests_name("run: images", tests, NULL, NULL);
}
