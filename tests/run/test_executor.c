/* The executor detects errors: a correct program is made wrong in one place at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/all_ranks.h"
#include "tests/check_program.h"
#include "tests/random_data.h"

enum { BATCH = 8, MICRO_BATCHES = 4 };

struct fixture {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    struct hypar_program *program;
    struct arena arena;
    struct run_data data;
};

/* Two linear layers in two stages of two devices each, under 1F1B: the first split by outputs,
 * the second by inputs; or both by samples, which sums gradients at the end. */
static void set_up(struct fixture *f, bool by_samples)
{
    struct hypar_error err;
    *f = (struct fixture){ 0 };
    struct hypar_import_options options = { .batch = BATCH };
    if (hypar_import(&f->graph, "mlp:6-8-6", &options, &err) ||
        hypar_machine_read(&f->machine, "full:4", &err))
        fail_msg("%s", err.text);
    f->plan = hp_plan_new(f->graph, f->machine, &(struct hypar_plan_settings){ 0 });
    int ops[2][16], n[2] = { 0, 0 }, devices[] = { 0, 1, 2, 3 }, linears = 0;
    for (int op = 0; op < f->graph->n_ops; op++) {
        linears += f->graph->ops[op].kind == OP_LINEAR;
        int stage = linears > 1;
        ops[stage][n[stage]++] = op;
    }
    for (int s = 0; s < 2; s++)
        hp_plan_add_stage(f->plan, &(struct hypar_stage){ .op = ops[s],
                                                          .n_ops = n[s],
                                                          .device = devices + 2 * s,
                                                          .n_devices = 2,
                                                          .replicas = 1 });
    hp_plan_set_schedule(f->plan, &(struct hypar_schedule){ .kind = HYPAR_SCHEDULE_1F1B,
                                                            .micro_batches = MICRO_BATCHES });
    for (int op = 0; op < f->graph->n_ops; op++) {
        const struct nest *nest = f->graph->ops[op].nest;
        struct split split = { .degree = { 0 } };
        int k = hp_nest_axis(nest, 'k'), c = hp_nest_axis(nest, 'c');
        int axis = f->plan->ops[op].stage == 0 && k >= 0 ? k : c;
        split.degree[by_samples ? hp_nest_axis(nest, 'n') : axis] = 2;
        hp_plan_set(f->plan, op, &split, NULL);
    }
    if (hypar_lower(&f->program, f->plan, NULL, &err))
        fail_msg("%s", err.text);
    f->data = random_data(&f->arena, f->graph, REAL_F64, 1);
}

static void tear_down(struct fixture *f)
{
    hypar_program_free(f->program);
    hypar_plan_free(f->plan);
    hypar_machine_free(f->machine);
    hypar_graph_free(f->graph);
    hp_arena_free(&f->arena);
}

/* A step beside the unsplit run. */
static enum hypar_status step(struct fixture *f, enum task_order order, bool few_tags,
                              struct hypar_error *err)
{
    struct optimizer sgd = hp_optimizer(HYPAR_SGD);
    struct unsplit_run *reference = unsplit_run_new(
        f->graph, &f->data,
        &(struct unsplit_settings){ .micro_batches = MICRO_BATCHES, .optimizer = sgd });
    struct all_ranks *ranks;
    struct all_ranks_settings settings = { .data = &f->data,
                                           .order = order,
                                           .optimizer = sgd,
                                           .reference = reference,
                                           .few_tags = few_tags };
    enum hypar_status status = all_ranks_new(&ranks, f->program, &settings, err);
    if (status == HYPAR_OK)
        status = all_ranks_step(ranks, err);
    all_ranks_free(ranks);
    unsplit_run_free(reference);
    return status;
}

static void right_programs(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct fixture f;
        struct hypar_error err = { 0 };
        set_up(&f, i & 1);
        if (step(&f, i & 2 ? ORDER_LATEST : ORDER_NUMBERS, i & 4, &err))
            fail_msg("%s", err.text);
        tear_down(&f);
    }
}

/* Ways to go wrong ----------------------------------------------------------------- */

/* The first cell of the body that moves. */
static struct cell *first_cell(struct hypar_program *p)
{
    for (int t = 0; t < p->first[1]; t++)
        if (p->task[t].kind == TASK_COMM)
            return &hp_task_pattern(p, t)->cell[hp_task_comm(p, t)->cell[0]];
    fail_msg("nothing moves");
    return NULL;
}

static void forget_a_receiver(struct hypar_program *p)
{
    first_cell(p)->n_receivers--;
}

static void send_twice(struct hypar_program *p)
{
    static const int twice[] = { 2, 2 };
    first_cell(p)->receiver = twice;
    first_cell(p)->n_receivers = 2;
}

/* Tasks of a kind wait for task 0 only. */
static void drop_edges(struct hypar_program *p, enum task_kind kind)
{
    for (int t = 0; t < p->n_tasks; t++)
        for (int64_t i = p->after_start[t]; i < p->after_start[t + 1]; i++)
            if (p->task[t].kind == kind)
                ((int *)p->after)[i] = 0;
}

static void drop_edges_of_comms(struct hypar_program *p)
{
    drop_edges(p, TASK_COMM);
}

static void drop_edges_of_computations(struct hypar_program *p)
{
    drop_edges(p, TASK_COMPUTE);
}

/* Backward computations wait for task 0 instead of forward ones. */
static void drop_edges_to_forward(struct hypar_program *p)
{
    for (int t = 0; t < p->first[p->n_bodies]; t++)
        for (int64_t i = p->after_start[t]; i < p->after_start[t + 1]; i++) {
            const struct task *after = &p->task[p->after[i]];
            if (p->task[t].phase != PHASE_FORWARD && after->kind == TASK_COMPUTE &&
                after->phase == PHASE_FORWARD)
                ((int *)p->after)[i] = 0;
        }
}

static void backward_before_forward(struct hypar_program *p)
{
    struct slot_list *list = p->schedule->list; /* of stage 0 */
    for (int i = 0; i < list->n_slots - 1; i++) /* all but the update */
        list->slot[i].phase =
            list->slot[i].phase == PHASE_FORWARD ? PHASE_BACKWARD : PHASE_FORWARD;
}

/* The update of stage 0 in front of `n` slots. */
static void move_update(struct hypar_program *p, int n)
{
    struct slot_list *list = p->schedule->list;
    struct slot update = list->slot[list->n_slots - 1];
    for (int i = list->n_slots - 1; i > list->n_slots - 1 - n; i--)
        list->slot[i] = list->slot[i - 1];
    list->slot[list->n_slots - 1 - n] = update;
}

static void update_first(struct hypar_program *p)
{
    move_update(p, p->schedule->list->n_slots - 1);
}

static void update_before_the_last(struct hypar_program *p)
{
    move_update(p, 1);
}

static void other_order_of_micro_batches(struct hypar_program *p)
{
    struct slot *slot = p->schedule->list->slot; /* forward 0, 1 becomes forward 1, 0 */
    int first = slot[0].micro;
    slot[0].micro = slot[1].micro;
    slot[1].micro = first;
}

static void make_a_cycle(struct hypar_program *p)
{
    for (int t = 0; t < p->first[1]; t++)
        if (p->task[t].kind == TASK_COMPUTE && p->after_start[t] < p->after_start[t + 1]) {
            ((int *)p->after)[p->after_start[t]] = t;
            return;
        }
}

static void update_too_soon(struct hypar_program *p)
{
    drop_edges(p, TASK_UPDATE);
}

static const struct {
    const char *name;
    void (*spoil)(struct hypar_program *program);
    enum task_order order;
    bool by_samples;
    bool few_tags;        /* too few to tell micro-batches apart */
    const char *expected; /* "deadlock" of a cell sent twice: nobody takes the second */
} wrongs[] = {
    { "a receiver is forgotten", forget_a_receiver, ORDER_NUMBERS, false, 0, "lacks" },
    { "a cell is sent twice", send_twice, ORDER_NUMBERS, false, 0, "deadlock" },
    { "comms wait for nobody", drop_edges_of_comms, ORDER_LATEST, false, 0, "lacks" },
    { "comms wait for nobody", drop_edges_of_comms, ORDER_LATEST, true, 0, "lacks" },
    { "computations wait for nobody", drop_edges_of_computations, ORDER_NUMBERS, false, 0,
      "lacks" },
    { "computations wait for nobody", drop_edges_of_computations, ORDER_LATEST, false, 0,
      "lacks" },
    { "backward waits for no forward", drop_edges_to_forward, ORDER_LATEST, false, 0, "lacks" },
    { "backward before forward", backward_before_forward, ORDER_NUMBERS, false, 0, "deadlock" },
    { "another order in one stage", other_order_of_micro_batches, ORDER_NUMBERS, false, true,
      "expected" },
    { "a cycle", make_a_cycle, ORDER_LATEST, false, 0, "a cycle of edges" },
    { "a cycle", make_a_cycle, ORDER_NUMBERS, false, 0, "deadlock" },
    { "updates wait for nobody", update_too_soon, ORDER_LATEST, false, 0, "lacks" },
    { "updates wait for nobody", update_too_soon, ORDER_NUMBERS, true, 0, "expected" },
    { "the update comes first", update_first, ORDER_NUMBERS, false, 0, "lacks" },
    { "the update is a slot too soon", update_before_the_last, ORDER_NUMBERS, false, 0,
      "expected" },
};

static void wrong_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        struct fixture f;
        struct hypar_error err = { 0 };
        set_up(&f, wrongs[i].by_samples);
        wrongs[i].spoil(f.program);
        enum hypar_status status = step(&f, wrongs[i].order, wrongs[i].few_tags, &err);
        if (status != HYPAR_RUNTIME || !strstr(err.text, wrongs[i].expected))
            fail_msg("%s: '%s', expected '... %s ...'", wrongs[i].name, err.text,
                     wrongs[i].expected);
        tear_down(&f);
    }
}

/* Tags tell the micro-batches of messages: where there are enough, stages may take them in
 * different orders. */
static void tags_tell_micro_batches(void **state)
{
    (void)state;
    struct fixture f;
    struct hypar_error err = { 0 };
    set_up(&f, false);
    other_order_of_micro_batches(f.program);
    if (step(&f, ORDER_NUMBERS, 0, &err))
        fail_msg("%s", err.text);
    tear_down(&f);
}

/* The check of programs sees this without running one. */
static void sent_twice(void **state)
{
    (void)state;
    struct fixture f;
    struct hypar_error err = { 0 };
    set_up(&f, false);
    if (check_program(f.program, &err))
        fail_msg("%s", err.text);
    send_twice(f.program);
    assert_int_equal(check_program(f.program, &err), HYPAR_RUNTIME);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_programs),
        cmocka_unit_test(wrong_programs),
        cmocka_unit_test(tags_tell_micro_batches),
        cmocka_unit_test(sent_twice),
    };
    return cmocka_run_group_tests_name("run: executor", tests, NULL, NULL);
}
