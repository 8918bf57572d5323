/* Does the interpreter notice? A right program is made wrong in one place at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "run/interpret.h"
#include "run/reference.h"

enum { BATCH = 8, MICRO_BATCHES = 4 };

struct fixture {
    struct hypar_graph *graph;
    struct hypar_machine *machine;
    struct hypar_plan *plan;
    struct hypar_program *program;
    struct arena arena;
    struct run_data data;
};

/* Two linear layers in two stages of two devices each: the first split by outputs, the second
 * by inputs, under 1F1B. */
static void set_up(struct fixture *f)
{
    struct hypar_error err;
    *f = (struct fixture){ 0 };
    struct hypar_import_options options = { .batch = BATCH };
    if (hypar_import(&f->graph, "mlp:6-8-6", &options, &err) ||
        hypar_machine_read(&f->machine, "full:4", &err))
        fail_msg("%s", err.text);
    f->plan = hp_plan_new(f->graph, f->machine, &(struct plan_settings){ 0 });
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
        split.degree[f->plan->ops[op].stage == 0 && k >= 0 ? k : c] = 2;
        hp_plan_set(f->plan, op, &split, NULL);
    }
    if (hypar_lower(&f->program, f->plan, NULL, &err))
        fail_msg("%s", err.text);
    f->data = hp_random_data(&f->arena, f->graph, REAL_F64, 1);
}

static void tear_down(struct fixture *f)
{
    hypar_program_free(f->program);
    hypar_plan_free(f->plan);
    hypar_machine_free(f->machine);
    hypar_graph_free(f->graph);
    hp_arena_free(&f->arena);
}

/* A step; the loss as device 2 knows it. */
static enum hypar_status step(struct fixture *f, enum interpret_order order, double *loss,
                              struct hypar_error *err)
{
    struct interpreter *it = hp_interpreter_new(
        f->program, &f->data,
        &(struct interpret_settings){ .order = order, .optimizer = hp_optimizer(HYPAR_SGD) });
    enum hypar_status status = hp_interpret_step(it, err);
    const struct view *view =
        hp_interpreter_view(it, 2, (struct place){ f->graph->loss, false }, 0);
    *loss = status == HYPAR_OK && view ? *(const double *)view->data : NAN;
    hp_interpreter_free(it);
    return status;
}

static void a_right_program(void **state)
{
    (void)state;
    struct fixture f;
    struct hypar_error err = { "" };
    double loss;
    set_up(&f);
    struct reference_run *reference =
        hp_reference_new(f.graph, &f.data,
                         &(struct reference_settings){ .micro_batches = 1,
                                                       .optimizer = hp_optimizer(HYPAR_SGD) });
    hp_reference_step(reference);
    for (int order = ORDER_RANKS; order <= ORDER_LATEST; order++) {
        if (step(&f, (enum interpret_order)order, &loss, &err))
            fail_msg("%s", err.text);
        assert_true(fabs(loss - hp_reference_loss(reference, 0)) < 1e-12);
    }
    hp_reference_free(reference);
    tear_down(&f);
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

static void backward_before_forward(struct hypar_program *p)
{
    struct slot_list *list = p->schedule->list; /* of stage 0 */
    for (int i = 0; i < list->n_slots - 1; i++) /* all but the update */
        list->slot[i].phase =
            list->slot[i].phase == PHASE_FORWARD ? PHASE_BACKWARD : PHASE_FORWARD;
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
    enum interpret_order order;
    const char *expected;
} wrongs[] = {
    { "a receiver is forgotten", forget_a_receiver, ORDER_RANKS, "lacks some of" },
    { "a cell is sent twice", send_twice, ORDER_RANKS, "sends device 2 what it has" },
    { "comms wait for nobody", drop_edges_of_comms, ORDER_LATEST, "before its contributions" },
    { "computations wait for nobody", drop_edges_of_computations, ORDER_RANKS,
      "lacks some of" },
    { "backward before forward", backward_before_forward, ORDER_RANKS, "deadlock" },
    { "another order in one stage", other_order_of_micro_batches, ORDER_RANKS,
      "comes in turn" },
    { "a cycle", make_a_cycle, ORDER_LATEST, "a cycle of edges" },
    { "a cycle", make_a_cycle, ORDER_RANKS, "deadlock" },
    { "updates wait for nobody", update_too_soon, ORDER_LATEST, "before the gradient" },
};

static void wrong_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        struct fixture f;
        struct hypar_error err = { "" };
        double loss;
        set_up(&f);
        wrongs[i].spoil(f.program);
        enum hypar_status status = step(&f, wrongs[i].order, &loss, &err);
        if (status != HYPAR_RUNTIME || !strstr(err.text, wrongs[i].expected))
            fail_msg("%s: '%s', expected '... %s ...'", wrongs[i].name, err.text,
                     wrongs[i].expected);
        tear_down(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_program),
        cmocka_unit_test(wrong_programs),
    };
    return cmocka_run_group_tests_name("run: interpreter", tests, NULL, NULL);
}
